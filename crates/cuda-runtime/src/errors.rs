//! Errors and versions.

use std::ffi::{c_char, c_int};

use standstill_cuda_driver::status;

use crate::call::{export, last, put};

/// The version that the driver would have: enough for programs of every runtime in use.
const DRIVER_VERSION: c_int = 13_000;

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> c_int {
    last(true)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> c_int {
    last(false)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(error: c_int) -> *const c_char {
    status::name(error).as_ptr().cast()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(error: c_int) -> *const c_char {
    status::text(error).as_ptr().cast()
}

export! {
    enter_always fn cudaDriverGetVersion(version: *mut c_int) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(version, DRIVER_VERSION) }
    }

    enter_always fn cudaRuntimeGetVersion(version: *mut c_int) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(version, crate::runtime::version()) }
    }

    enter_always fn cudaProfilerStart() { Ok(()) }

    enter_always fn cudaProfilerStop() { Ok(()) }
}
