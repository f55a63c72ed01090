//! What is kept of each host thread, in one piece: reaching it costs a call.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::call_chain::end_of_stack;

/// A thread of the program.
#[derive(Debug)]
pub struct Thread {
    /// It is in a call of the driver.
    inside: Cell<bool>,
    /// It is in a function of the host that a stream calls.
    in_host_function: Cell<bool>,
    number: Cell<u32>,
    end_of_stack: Cell<usize>,
    /// It is the one that the process began with.
    first: Cell<bool>,
    /// Where Python keeps its state of this thread; 0 where that is to be asked for.
    pub python: Cell<usize>,
}

impl Thread {
    const fn new() -> Thread {
        Thread {
            inside: Cell::new(false),
            in_host_function: Cell::new(false),
            number: Cell::new(u32::MAX),
            end_of_stack: Cell::new(0),
            first: Cell::new(false),
            python: Cell::new(0),
        }
    }
}

/// Threads at hand, by the register that tells the processor's threads apart. To reach a variable of a thread a library
/// goes through the loader, and at every step of that way waits for memory.
static AT_HAND: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];
const SLOTS: usize = 256;
/// Slots that one thread can have.
const TRIES: usize = 8;

#[repr(align(64))]
struct Slot {
    /// Whose it is; 0 for nobody's.
    of: AtomicUsize,
    thread: Thread,
}

// SAFETY: only the thread whose it is touches the rest.
unsafe impl Sync for Slot {}

impl Slot {
    const fn new() -> Slot {
        Slot { of: AtomicUsize::new(0), thread: Thread::new() }
    }
}

/// What is kept of the calling thread.
#[inline(always)]
#[must_use]
pub fn here() -> &'static Thread {
    let own = thread_register();
    match AT_HAND.get(first_slot(own)) {
        Some(slot) if slot.of.load(Ordering::Relaxed) == own && own != 0 => &slot.thread,
        _ => elsewhere(own),
    }
}

fn first_slot(register: usize) -> usize {
    ((register >> 6) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 40 & (SLOTS - 1)
}

/// A thread that is not in its first slot.
#[cold]
fn elsewhere(own: usize) -> &'static Thread {
    thread_local! {
        /// Gives back the slot when the thread ends: its register may then be another one's.
        static GIVES_BACK: GivesBack = const { GivesBack(Cell::new(None)) };
        /// Where there is no slot for it.
        static THREAD: Thread = const { Thread::new() };
    }
    let mut slots = (0..TRIES).filter_map(|number| AT_HAND.get((first_slot(own) + number) % SLOTS));
    if own != 0 {
        if let Some(slot) = slots.clone().find(|slot| slot.of.load(Ordering::Relaxed) == own) {
            return &slot.thread;
        }
        let free =
            |slot: &&Slot| slot.of.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed).is_ok();
        // A thread that is ending has none any more.
        let slot = GIVES_BACK.try_with(|gives_back| {
            let slot = slots.find(free)?;
            gives_back.0.set(Some(slot));
            Some(slot)
        });
        if let Ok(Some(slot)) = slot {
            return &slot.thread;
        }
    }
    // SAFETY: nothing of it is dropped, and only this thread can have the reference: cells are not shared.
    THREAD.with(|thread| unsafe { &*std::ptr::from_ref(thread) })
}

struct GivesBack(Cell<Option<&'static Slot>>);

impl Drop for GivesBack {
    fn drop(&mut self) {
        let Some(slot) = self.0.get() else { return };
        let (Slot { of, thread }, new) = (slot, Thread::new());
        thread.inside.set(false);
        thread.in_host_function.set(false);
        thread.number.set(new.number.get());
        thread.python.set(0);
        of.store(0, Ordering::Release);
    }
}

/// What tells the threads of this process apart: it is free to read. 0 where that is not known.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[inline(always)]
fn thread_register() -> usize {
    let own: usize;
    // SAFETY: the first word there is its own address (System V ABI, «Thread-Local Storage»).
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) own, options(nostack, preserves_flags, readonly)) };
    own
}

#[cfg(all(target_arch = "aarch64", target_os = "linux"))]
#[inline(always)]
fn thread_register() -> usize {
    let own: usize;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mrs {}, tpidr_el0", out(reg) own, options(nostack, preserves_flags, nomem)) };
    own
}

#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux")))]
#[inline(always)]
fn thread_register() -> usize {
    0
}

/// A thread's number in the order of first calls, and where its stack ends.
#[must_use]
pub fn current() -> (u32, usize) {
    here().current()
}

impl Thread {
    /// Its number in the order of first calls, and where its stack ends.
    #[inline(always)]
    #[must_use]
    pub fn current(&self) -> (u32, usize) {
        if self.number.get() == u32::MAX {
            self.begin();
        }
        (self.number.get(), self.end_of_stack.get())
    }

    #[cold]
    fn begin(&self) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        self.number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        self.end_of_stack.set(end_of_stack());
        // SAFETY: take nothing.
        self.first.set(unsafe { libc::gettid() == libc::getpid() });
    }

    /// Whether the process began with it; false until its number is asked for.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.first.get()
    }

    /// Whether it is in a call of the driver.
    #[inline(always)]
    #[must_use]
    pub fn is_inside(&self) -> bool {
        self.inside.get()
    }

    /// Whether a function of the host calls, which no function of CUDA may be called by (CUDA Driver API,
    /// `cuLaunchHostFunc`).
    #[inline(always)]
    #[must_use]
    pub fn is_in_host_function(&self) -> bool {
        self.in_host_function.get()
    }

    /// Begins a call of the driver; it ends when the value goes.
    #[inline(always)]
    #[must_use]
    pub fn enter(&self) -> Inside<'_> {
        self.inside.set(true);
        Inside(self)
    }
}

/// Runs a function of the host.
pub fn host_function(function: impl FnOnce()) {
    let thread = here();
    // The thread is the driver's own, but what the function calls is the program's.
    let inside = thread.inside.replace(false);
    thread.in_host_function.set(true);
    function();
    thread.in_host_function.set(false);
    thread.inside.set(inside);
}

/// A call of the driver. Where the wrappers stand before the driver's own names, its functions reach each other
/// through them: those calls are none of the program's.
pub struct Inside<'a>(&'a Thread);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_a_place_of_its_own() {
        let own = std::ptr::from_ref(here());
        let number = current().0;
        let others: Vec<(usize, u32)> = (0..600)
            .map(|_| {
                let thread = std::thread::spawn(|| {
                    let (place, number) = (std::ptr::from_ref(here()).addr(), current().0);
                    assert_eq!((std::ptr::from_ref(here()).addr(), current().0), (place, number));
                    (place, number)
                });
                thread.join().unwrap()
            })
            .collect();
        assert!(others.iter().all(|(place, _)| *place != own.addr()));
        let mut numbers: Vec<u32> = others.into_iter().map(|(_, number)| number).chain([number]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 601);
        assert_eq!((std::ptr::from_ref(here()), current().0), (own, number));
    }
}
