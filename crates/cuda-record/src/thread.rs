//! What is kept of each host thread, in one piece: reaching it costs a call.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::call_chain::end_of_stack;

/// A thread of the program.
pub struct Thread {
    /// It is in a call of the driver.
    inside: Cell<bool>,
    /// It is in a function of the host that a stream calls.
    in_host_function: Cell<bool>,
    number: Cell<u32>,
    end_of_stack: Cell<usize>,
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            inside: Cell::new(false),
            in_host_function: Cell::new(false),
            number: Cell::new(u32::MAX),
            end_of_stack: Cell::new(0),
        }
    };
}

/// A thread's number in the order of first calls, and where its stack ends.
#[must_use]
pub fn current() -> (u32, usize) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    THREAD.with(|thread| {
        if thread.number.get() == u32::MAX {
            thread.number.set(NEXT.fetch_add(1, Ordering::Relaxed));
            thread.end_of_stack.set(end_of_stack());
        }
        (thread.number.get(), thread.end_of_stack.get())
    })
}

/// Whether a function of the host calls, which no function of CUDA may be called by (CUDA Driver API,
/// `cuLaunchHostFunc`).
#[must_use]
pub fn is_in_host_function() -> bool {
    THREAD.with(|thread| thread.in_host_function.get())
}

/// Runs a function of the host.
pub fn host_function(function: impl FnOnce()) {
    THREAD.with(|thread| {
        // The thread is the driver's own, but what the function calls is the program's.
        let inside = thread.inside.replace(false);
        thread.in_host_function.set(true);
        function();
        thread.in_host_function.set(false);
        thread.inside.set(inside);
    });
}

/// A call of the driver. Where the wrappers stand before the driver's own names, its functions reach each other
/// through them: those calls are none of the program's.
pub struct Inside(());

impl Inside {
    /// Whether the thread is in one.
    #[must_use]
    pub fn is() -> bool {
        THREAD.with(|thread| thread.inside.get())
    }

    /// Begins one; it ends when the value goes.
    #[must_use]
    pub fn enter() -> Inside {
        THREAD.with(|thread| thread.inside.set(true));
        Inside(())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        THREAD.with(|thread| thread.inside.set(false));
    }
}
