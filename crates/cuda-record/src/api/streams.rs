//! Streams, and waiting for them.

use std::ffi::{c_int, c_void};

use standstill_trace::{Call, Target, Work};

use super::{wrap, wrap_both};
use crate::graphs::captured;
use crate::host_calls::launch;
use crate::layout::Handle;
use crate::recorder::{State, with};
use crate::streams::{Default, Numbers};

/// A stream was made.
unsafe fn created(status: c_int, stream: *const Handle, flags: u32) -> c_int {
    if status == 0 {
        // SAFETY: the driver has written the stream there.
        let stream = unsafe { stream.read() };
        with(|State { trace, numbers, .. }| {
            numbers.create(trace, stream, flags);
        });
    }
    status
}

/// A call returned that waited for something, or said that it is done.
pub fn synchronised(status: c_int, target: impl FnOnce(&mut State) -> Option<Target>) -> c_int {
    if status == 0 {
        with(|state| {
            if let Some(target) = target(state) {
                state.trace.note(Call::Synchronise(target));
            }
        });
    } else if ENDS_ALL.contains(&status) {
        with(|state| {
            let target = context(state.numbers.contexts.current());
            state.trace.note(Call::Synchronise(target));
        });
    }
    status
}

/// Errors after which nothing of a context runs any more: «the context cannot be used» (CUDA Driver API, `CUresult`).
const ENDS_ALL: [c_int; 11] = [214, 220, 700, 702, 710, 714, 715, 716, 717, 718, 719];

/// All that a context was asked for.
fn context(number: u32) -> Target {
    if number == 0 { Target::Device } else { Target::Context(number) }
}

fn stream_done(status: c_int, stream: Handle, default: Default) -> c_int {
    synchronised(status, |State { trace, numbers, .. }| {
        Some(Target::Stream(numbers.stream(trace, stream, default)))
    })
}

/// A function of the host was put into a stream; what it touches is not seen.
unsafe fn host_function(status: c_int, stream: Handle, default: Default) -> c_int {
    // SAFETY: the stream that the driver has just taken.
    if status == 0 && !unsafe { captured(stream, default) } {
        with(|state| state.submit(stream, default, Work::HostFunction { accesses: Some(Vec::new()) }));
    }
    status
}

wrap! {
    fn cuStreamCreate(stream: *mut Handle, flags: u32) |call| {
        // SAFETY: the program's place for the result.
        unsafe { created(call(), stream, flags) }
    }

    fn cuStreamCreateWithPriority(stream: *mut Handle, flags: u32, _priority: c_int) |call| {
        // SAFETY: as above.
        unsafe { created(call(), stream, flags) }
    }

    fn cuGreenCtxStreamCreate(stream: *mut Handle, _context: Handle, flags: u32, _priority: c_int) |call| {
        // SAFETY: as above.
        unsafe { created(call(), stream, flags) }
    }

    fn cuStreamDestroy_v2(stream: Handle) |call| {
        // Before the driver can give the handle to another thread.
        with(|State { trace, numbers, .. }| numbers.destroy_stream(trace, stream));
        call()
    }

    fn cuCtxSynchronize() |call| {
        synchronised(call(), |state| Some(context(state.numbers.contexts.current())))
    }

    fn cuCtxSynchronize_v2(of: Handle) |call| {
        synchronised(call(), |State { numbers: Numbers { contexts, .. }, .. }| {
            Some(context(if of.is_null() { contexts.current() } else { contexts.number(of) }))
        })
    }

    fn cuCtxCreate_v2(_context: *mut Handle, _flags: u32, _device: c_int) |call| {
        with(|state| state.numbers.contexts.will_be_several());
        call()
    }

    fn cuCtxCreate_v3(
        _context: *mut Handle, _parameters: *mut c_void, _count: c_int, _flags: u32, _device: c_int,
    ) |call| {
        with(|state| state.numbers.contexts.will_be_several());
        call()
    }

    fn cuCtxCreate_v4(_context: *mut Handle, _parameters: *mut c_void, _flags: u32, _device: c_int) |call| {
        with(|state| state.numbers.contexts.will_be_several());
        call()
    }
}

wrap_both! {
    fn cuStreamSynchronize / cuStreamSynchronize_ptsz(stream: Handle) [default] |call| {
        stream_done(call(), stream, default)
    }

    fn cuStreamQuery / cuStreamQuery_ptsz(stream: Handle) [default] |call| {
        stream_done(call(), stream, default)
    }

    fn cuLaunchHostFunc / cuLaunchHostFunc_ptsz(
        stream: Handle, function: *mut c_void, argument: *mut c_void,
    ) [default] |call| {
        // SAFETY: the program's own arguments.
        unsafe {
            let ours = if captured(stream, default) { None } else { launch(stream, function, argument, default) };
            ours.unwrap_or_else(|| host_function(call(), stream, default))
        }
    }

    fn cuStreamAddCallback / cuStreamAddCallback_ptsz(
        stream: Handle, _function: *mut c_void, _argument: *mut c_void, _flags: u32,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { host_function(call(), stream, default) }
    }
}
