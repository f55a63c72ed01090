//! Functions of the host that streams call: each is called by one of ours, so that it is known when it runs and what it
//! calls itself.

use std::ffi::{c_int, c_void};

use standstill_trace::{Call, Operation, Work};

use crate::layout::Handle;
use crate::real::driver_function;
use crate::recorder::with;
use crate::streams::Default;
use crate::thread::host_function;

driver_function!(cuLaunchHostFunc(stream: Handle, function: *mut c_void, argument: *mut c_void));
driver_function!(cuLaunchHostFunc_ptsz(stream: Handle, function: *mut c_void, argument: *mut c_void));

/// A function of the program and its argument.
struct HostCall {
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
    /// What the trace knows it by; 0 where nothing is recorded.
    operation: Operation,
}

/// It has ended, or will never begin; what it touched is not seen.
fn has_ended(operation: Operation) {
    with(|state| state.trace.note_at(0, Call::Reach { operation, accesses: Vec::new() }));
}

/// Calls what the program wanted to be called.
unsafe extern "C" fn call(call: *mut c_void) {
    // SAFETY: the driver calls once, with what `launch` gave it.
    let HostCall { function, argument, operation } = *unsafe { Box::from_raw(call.cast::<HostCall>()) };
    with(|state| state.trace.note_at(0, Call::Begin { operation }));
    // SAFETY: the program's promise.
    host_function(|| unsafe { function(argument) });
    has_ended(operation);
}

/// Puts a function into a stream that is not captured: a graph may call it any number of times. `None` where that
/// cannot be done in this way.
///
/// # Safety
/// As for `cuLaunchHostFunc`.
pub unsafe fn launch(
    stream: Handle,
    function: *mut c_void,
    argument: *mut c_void,
    default: Default,
) -> Option<c_int> {
    // SAFETY: an address of a function of this type, or zero.
    let function =
        unsafe { std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn(*mut c_void)>>(function) };
    let (function, mut operation) = (function?, 0);
    // Written down before it can begin.
    with(|state| {
        let stream = state.numbers.stream(&mut state.trace, stream, default);
        operation = state.trace.next_operation();
        let work = Work::HostFunction { accesses: None };
        state.trace.note(Call::Submit { operation, stream, work });
    });
    let made = Box::into_raw(Box::new(HostCall { function, argument, operation }));
    let ours = call as *mut c_void;
    // SAFETY: the program's stream.
    let status = unsafe {
        match default {
            Default::Legacy => cuLaunchHostFunc(stream, ours, made.cast()),
            Default::PerThread => cuLaunchHostFunc_ptsz(stream, ours, made.cast()),
        }
    };
    if status != Some(0) {
        has_ended(operation);
        // SAFETY: the driver has not taken it.
        drop(unsafe { Box::from_raw(made) });
    }
    status
}
