//! The device as a whole: which there is, what it answers about itself, limits and waiting for it.

use std::ffi::{c_char, c_int};

use standstill_cuda_driver::Status;

use crate::call::{Result, export, put};
use crate::graphs;
use crate::layout::Pointer;
use crate::registration::text;
use crate::runtime::{runtime, version};

/// The place on the bus that the software GPU gives itself.
const BUS_ID: &[u8] = b"0000:00:00.0\0";

const PRINTF_LIMIT: c_int = 1;
const HEAP_LIMIT: c_int = 2;
const LAST_LIMIT: c_int = 6;

fn only_device(device: c_int) -> Result {
    if device == 0 { Ok(()) } else { Err(Status::InvalidDevice) }
}

fn properties(into: *mut u8, device: c_int, major: i32) -> Result {
    if into.is_null() {
        return Err(Status::InvalidValue);
    }
    only_device(device)?;
    let bytes = crate::properties::bytes(runtime().machine()?.card(), major);
    // SAFETY: the program passes a whole structure of its version, which is as large as these bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), into, bytes.len()) };
    Ok(())
}

export! {
    enter_always fn cudaGetDeviceCount(count: *mut c_int) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(count, 1) }
    }

    enter_always fn cudaGetDevice(device: *mut c_int) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(device, 0) }
    }

    enter fn cudaSetDevice(device: c_int) {
        only_device(device)?;
        runtime().machine().map(|_| ())
    }

    enter fn cudaInitDevice(device: c_int, _device_flags: u32, _flags: u32) {
        only_device(device)?;
        runtime().machine().map(|_| ())
    }

    enter fn cudaSetValidDevices(_devices: *const c_int, _count: c_int) { Ok(()) }

    enter fn cudaChooseDevice(device: *mut c_int, _wanted: Pointer) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(device, 0) }
    }

    enter fn cudaSetDeviceFlags(_flags: u32) { Ok(()) }

    enter fn cudaGetDeviceFlags(flags: *mut u32) {
        // SAFETY: the program's pointer for the result; host memory can be mapped.
        unsafe { put(flags, 8) }
    }

    enter_always fn cudaGetDeviceProperties(into: *mut u8, device: c_int) {
        properties(into, device, version() / 1000)
    }

    enter_always fn cudaGetDeviceProperties_v2(into: *mut u8, device: c_int) {
        properties(into, device, 12)
    }

    enter_always fn cudaDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) {
        only_device(device)?;
        let found = runtime().machine()?.card().attribute(attribute).ok_or(Status::InvalidValue)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(value, found) }
    }

    enter fn cudaDeviceGetPCIBusId(into: *mut c_char, length: c_int, device: c_int) {
        only_device(device)?;
        let length = usize::try_from(length).map_err(|_| Status::InvalidValue)?;
        if into.is_null() || length < BUS_ID.len() {
            return Err(Status::InvalidValue);
        }
        // SAFETY: the program passes as many bytes as it says.
        unsafe { std::ptr::copy_nonoverlapping(BUS_ID.as_ptr().cast(), into, BUS_ID.len()) };
        Ok(())
    }

    enter fn cudaDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char) {
        // SAFETY: the program passes a string.
        let id = unsafe { text(id) };
        if !BUS_ID.starts_with(id.as_bytes()) || id.is_empty() {
            return Err(Status::InvalidValue);
        }
        // SAFETY: the program's pointer for the result.
        unsafe { put(device, 0) }
    }

    enter fn cudaDeviceSynchronize() {
        graphs::refuse_any_capture()?;
        runtime().machine()?.synchronise()
    }

    enter fn cudaThreadSynchronize() { runtime().machine()?.synchronise() }

    enter_always fn cudaDeviceReset() {
        let machine = runtime().machine()?;
        // What was submitted is done first; an error of it was told already.
        let _ = machine.wait_all();
        machine.reset();
        crate::memory::free_all()
    }

    enter fn cudaDeviceSetLimit(limit: c_int, value: usize) {
        if !(0..=LAST_LIMIT).contains(&limit) {
            return Err(Status::UnsupportedLimit);
        }
        runtime().limits.lock().insert(limit, value);
        Ok(())
    }

    enter fn cudaDeviceGetLimit(value: *mut usize, limit: c_int) {
        let unset = match limit {
            0 => 1024,
            PRINTF_LIMIT | HEAP_LIMIT => 8 << 20,
            3..=LAST_LIMIT => 0,
            _ => return Err(Status::UnsupportedLimit),
        };
        let set = runtime().limits.lock().get(&limit).copied();
        // SAFETY: the program's pointer for the result.
        unsafe { put(value, set.unwrap_or(unset)) }
    }

    enter fn cudaDeviceSetCacheConfig(_config: c_int) { Ok(()) }

    enter fn cudaDeviceGetCacheConfig(config: *mut c_int) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(config, 0) }
    }

    enter fn cudaDeviceSetSharedMemConfig(_config: c_int) { Ok(()) }

    enter fn cudaDeviceGetSharedMemConfig(config: *mut c_int) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(config, 1) }
    }

    enter fn cudaDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) {
        only_device(device)?;
        only_device(peer)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(can, 0) }
    }

    enter fn cudaDeviceEnablePeerAccess(_peer: c_int, _flags: u32) { Err(Status::InvalidDevice) }

    enter fn cudaDeviceDisablePeerAccess(_peer: c_int) { Err(Status::PeerAccessNotEnabled) }

    enter fn cudaDeviceGetP2PAttribute(value: *mut c_int, _attribute: c_int, _from: c_int, _to: c_int) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(value, 0) }
    }

    enter fn cudaDeviceFlushGPUDirectRDMAWrites(_target: c_int, _scope: c_int) { Ok(()) }
}
