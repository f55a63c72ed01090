//! How programs come to functions and kernels.

use std::ffi::{c_char, c_int, c_void};

use super::wrap;
use crate::kernels::{forget_handles, is_kernel};
use crate::layout::Handle;
use crate::real;

wrap! {
    fn cuGetProcAddress(symbol: *const c_char, place: *mut *mut c_void, version: c_int, flags: u64) |call| {
        let status = call();
        if status == 0 {
            // SAFETY: the program's name, and what the driver has written for it.
            unsafe { real::wrap(symbol, place, version, flags) };
        }
        status
    }

    fn cuGetProcAddress_v2(
        symbol: *const c_char, place: *mut *mut c_void, version: c_int, flags: u64, _found: *mut c_int,
    ) |call| {
        let status = call();
        if status == 0 {
            // SAFETY: as above.
            unsafe { real::wrap(symbol, place, version, flags) };
        }
        status
    }

    fn cuLibraryGetKernel(kernel: *mut Handle, _library: Handle, _name: *const c_char) |call| {
        let status = call();
        if status == 0 {
            // SAFETY: the driver has written it there.
            is_kernel(unsafe { kernel.read() });
        }
        status
    }

    fn cuLibraryEnumerateKernels(kernels: *mut Handle, count: u32, _library: Handle) |call| {
        let status = call();
        if status == 0 {
            // SAFETY: the driver has written as many at most, and left the others as they were; only their addresses
            // are used.
            (0..count as usize).for_each(|index| is_kernel(unsafe { kernels.add(index).read() }));
        }
        status
    }

    fn cuModuleUnload(_module: Handle) |call| {
        let status = call();
        forget_handles();
        status
    }

    fn cuLibraryUnload(_library: Handle) |call| {
        let status = call();
        forget_handles();
        status
    }
}
