//! Functions of the host that streams call: each is called by one of ours, so that it is known what it calls itself.

use std::ffi::{c_int, c_void};

use crate::layout::Handle;
use crate::real::driver_function;
use crate::streams::Default;
use crate::thread::host_function;

driver_function!(cuLaunchHostFunc(stream: Handle, function: *mut c_void, argument: *mut c_void));
driver_function!(cuLaunchHostFunc_ptsz(stream: Handle, function: *mut c_void, argument: *mut c_void));

/// A function of the program and its argument.
struct HostCall {
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
}

/// Calls what the program wanted to be called.
unsafe extern "C" fn call(call: *mut c_void) {
    // SAFETY: the driver calls once, with what `launch` gave it.
    let HostCall { function, argument } = *unsafe { Box::from_raw(call.cast::<HostCall>()) };
    // SAFETY: the program's promise.
    host_function(|| unsafe { function(argument) });
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
    let made = Box::into_raw(Box::new(HostCall { function: function?, argument }));
    let ours = call as *mut c_void;
    // SAFETY: the program's stream.
    let status = unsafe {
        match default {
            Default::Legacy => cuLaunchHostFunc(stream, ours, made.cast()),
            Default::PerThread => cuLaunchHostFunc_ptsz(stream, ours, made.cast()),
        }
    };
    if status != Some(0) {
        // SAFETY: the driver has not taken it.
        drop(unsafe { Box::from_raw(made) });
    }
    status
}
