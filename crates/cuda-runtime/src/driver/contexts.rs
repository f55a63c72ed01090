//! Devices and contexts: there is one of each.

use std::cell::RefCell;
use std::ffi::{c_char, c_int};

use standstill_cuda_driver::Status;

use crate::call::{Result, put};
use crate::layout::Pointer;
use crate::runtime::runtime;

/// The handle of the only context.
const CONTEXT: usize = 0x5373_0000_0000_c0c0;

/// The version of the context's interface.
const API_VERSION: u32 = 3020;

thread_local! {
    /// Each thread has a stack of current contexts.
    static CURRENT: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Exports functions of the driver with a body of their own.
macro_rules! export_driver {
    ($(fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $ty),*) -> std::ffi::c_int {
            crate::driver::result(crate::call::enter(stringify!($name), || $body))
        }
    )*};
}

pub(crate) use export_driver;

fn only(device: c_int) -> Result {
    if device == 0 { Ok(()) } else { Err(Status::InvalidDevice) }
}

fn known(context: Pointer) -> Result {
    if context.addr() == CONTEXT { Ok(()) } else { Err(Status::DeviceUninitialized) }
}

fn context() -> Pointer {
    std::ptr::without_provenance_mut(CONTEXT)
}

export_driver! {
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) {
        only(ordinal)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(device, 0) }
    }

    fn cuDeviceGetName(into: *mut c_char, length: c_int, device: c_int) {
        only(device)?;
        let name = runtime().machine()?.card().name;
        let length = usize::try_from(length).map_err(|_| Status::InvalidValue)?;
        if into.is_null() || length == 0 {
            return Err(Status::InvalidValue);
        }
        let count = name.len().min(length - 1);
        // SAFETY: the program passes as many bytes as it says; the last is the zero.
        unsafe {
            std::ptr::copy_nonoverlapping(name.as_ptr().cast(), into, count);
            put(into.add(count), 0)
        }
    }

    fn cuDeviceGetUuid(into: *mut [u8; 16], device: c_int) {
        only(device)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(into, *b"standstill-sim-0") }
    }

    fn cuDeviceGetUuid_v2(into: *mut [u8; 16], device: c_int) {
        only(device)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(into, *b"standstill-sim-0") }
    }

    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) {
        only(device)?;
        let total = runtime().machine()?.card().memory;
        // SAFETY: the program's pointer for the result.
        unsafe { put(bytes, total as usize) }
    }

    fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) {
        only(device)?;
        let card = runtime().machine()?.card();
        // SAFETY: the program's pointers for the results.
        unsafe {
            put(major, card.major())?;
            put(minor, card.minor())
        }
    }

    fn cuDevicePrimaryCtxRetain(into: *mut Pointer, device: c_int) {
        only(device)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(into, context()) }
    }

    fn cuDevicePrimaryCtxRelease_v2(device: c_int) { only(device) }

    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, _flags: u32) { only(device) }

    fn cuDevicePrimaryCtxReset_v2(device: c_int) { only(device) }

    fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut u32, active: *mut c_int) {
        only(device)?;
        // SAFETY: the program's pointers for the results.
        unsafe {
            put(flags, 0)?;
            put(active, 1)
        }
    }

    fn cuCtxCreate_v2(into: *mut Pointer, _flags: u32, device: c_int) {
        only(device)?;
        CURRENT.with_borrow_mut(|stack| stack.push(CONTEXT));
        // SAFETY: the program's pointer for the result.
        unsafe { put(into, context()) }
    }

    fn cuCtxCreate_v3(into: *mut Pointer, _parameters: Pointer, _count: c_int, _flags: u32, device: c_int) {
        only(device)?;
        CURRENT.with_borrow_mut(|stack| stack.push(CONTEXT));
        // SAFETY: the program's pointer for the result.
        unsafe { put(into, context()) }
    }

    fn cuCtxCreate_v4(into: *mut Pointer, _parameters: Pointer, _flags: u32, device: c_int) {
        only(device)?;
        CURRENT.with_borrow_mut(|stack| stack.push(CONTEXT));
        // SAFETY: the program's pointer for the result.
        unsafe { put(into, context()) }
    }

    fn cuCtxDestroy_v2(old: Pointer) {
        known(old)?;
        CURRENT.with_borrow_mut(|stack| stack.pop());
        Ok(())
    }

    fn cuCtxSetCurrent(new: Pointer) {
        if !new.is_null() {
            known(new)?;
        }
        CURRENT.with_borrow_mut(|stack| {
            stack.pop();
            stack.extend((!new.is_null()).then_some(CONTEXT));
        });
        Ok(())
    }

    fn cuCtxGetCurrent(into: *mut Pointer) {
        let current = CURRENT.with_borrow(|stack| stack.last().copied()).unwrap_or(0);
        // SAFETY: the program's pointer for the result.
        unsafe { put(into, std::ptr::without_provenance_mut(current)) }
    }

    fn cuCtxPushCurrent_v2(new: Pointer) {
        known(new)?;
        CURRENT.with_borrow_mut(|stack| stack.push(CONTEXT));
        Ok(())
    }

    fn cuCtxPopCurrent_v2(into: *mut Pointer) {
        let old = CURRENT.with_borrow_mut(|stack| stack.pop()).ok_or(Status::DeviceUninitialized)?;
        if into.is_null() {
            return Ok(());
        }
        // SAFETY: the program's pointer for the result.
        unsafe { put(into, std::ptr::without_provenance_mut(old)) }
    }

    fn cuCtxGetDevice(device: *mut c_int) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(device, 0) }
    }

    fn cuCtxGetDevice_v2(device: *mut c_int, _context: Pointer) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(device, 0) }
    }

    fn cuCtxGetApiVersion(_context: Pointer, version: *mut u32) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(version, API_VERSION) }
    }

    fn cuCtxGetFlags(flags: *mut u32) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(flags, 0) }
    }

    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        // SAFETY: handed on as it came.
        match unsafe { crate::streams::cudaDeviceGetStreamPriorityRange(least, greatest) } {
            0 => Ok(()),
            _ => Err(Status::InvalidValue),
        }
    }

    fn cuCtxSynchronize() {
        crate::graphs::refuse_any_capture()?;
        runtime().machine()?.synchronise()
    }

    fn cuCtxSynchronize_v2(_context: Pointer) {
        crate::graphs::refuse_any_capture()?;
        runtime().machine()?.synchronise()
    }

    fn cuCtxSetLimit(limit: c_int, value: usize) {
        runtime().limits.lock().insert(limit, value);
        Ok(())
    }

    fn cuCtxGetLimit(value: *mut usize, limit: c_int) {
        let set = runtime().limits.lock().get(&limit).copied();
        // SAFETY: the program's pointer for the result.
        unsafe { put(value, set.unwrap_or(0)) }
    }

    fn cuCtxSetCacheConfig(_config: c_int) { Ok(()) }

    fn cuProfilerStart() { Ok(()) }

    fn cuProfilerStop() { Ok(()) }
}
