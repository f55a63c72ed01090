//! Copies and fills of the driver.

use std::ffi::c_int;

use standstill_cuda_driver::Status;
use standstill_cuda_driver::operation::Work;

use super::contexts::export_driver;
use super::forward;
use crate::address_space::Kind;
use crate::call::{Result, put};
use crate::copies::*;
use crate::layout::{ConstPointer, MemLocation, MemPoolProps, Pointer, PoolHandle, StreamHandle};
use crate::pools::*;
use crate::runtime::runtime;
use crate::streams::{Default, default_stream, enqueue, enqueue_and_wait, resolve};

const TO_DEVICE: c_int = 1;
const TO_HOST: c_int = 2;
const WITHIN: c_int = 3;
const BY_ADDRESS: c_int = 4;

forward! {
    fn cuMemcpy(to: Pointer, from: ConstPointer, bytes: usize) => cudaMemcpy(to, from, bytes, BY_ADDRESS);
    fn cuMemcpyAsync(to: Pointer, from: ConstPointer, bytes: usize, stream: StreamHandle)
        => cudaMemcpyAsync(to, from, bytes, BY_ADDRESS, stream);
    fn cuMemcpyHtoD_v2(to: Pointer, from: ConstPointer, bytes: usize) => cudaMemcpy(to, from, bytes, TO_DEVICE);
    fn cuMemcpyDtoH_v2(to: Pointer, from: ConstPointer, bytes: usize) => cudaMemcpy(to, from, bytes, TO_HOST);
    fn cuMemcpyDtoD_v2(to: Pointer, from: ConstPointer, bytes: usize) => cudaMemcpy(to, from, bytes, WITHIN);
    fn cuMemcpyHtoDAsync_v2(to: Pointer, from: ConstPointer, bytes: usize, stream: StreamHandle)
        => cudaMemcpyAsync(to, from, bytes, TO_DEVICE, stream);
    fn cuMemcpyDtoHAsync_v2(to: Pointer, from: ConstPointer, bytes: usize, stream: StreamHandle)
        => cudaMemcpyAsync(to, from, bytes, TO_HOST, stream);
    fn cuMemcpyDtoDAsync_v2(to: Pointer, from: ConstPointer, bytes: usize, stream: StreamHandle)
        => cudaMemcpyAsync(to, from, bytes, WITHIN, stream);
    fn cuMemAllocAsync(pointer: *mut u64, bytes: usize, stream: StreamHandle)
        => cudaMallocAsync(pointer, bytes, stream);
    fn cuMemAllocFromPoolAsync(pointer: *mut u64, bytes: usize, pool: PoolHandle, stream: StreamHandle)
        => cudaMallocFromPoolAsync(pointer, bytes, pool, stream);
    fn cuMemFreeAsync(pointer: Pointer, stream: StreamHandle) => cudaFreeAsync(pointer, stream);
    fn cuDeviceGetDefaultMemPool(pool: *mut PoolHandle, device: c_int) => cudaDeviceGetDefaultMemPool(pool, device);
    fn cuDeviceGetMemPool(pool: *mut PoolHandle, device: c_int) => cudaDeviceGetMemPool(pool, device);
    fn cuDeviceSetMemPool(device: c_int, pool: PoolHandle) => cudaDeviceSetMemPool(device, pool);
    fn cuMemPoolCreate(pool: *mut PoolHandle, properties: *const MemPoolProps) => cudaMemPoolCreate(pool, properties);
    fn cuMemPoolDestroy(pool: PoolHandle) => cudaMemPoolDestroy(pool);
    fn cuMemPoolTrimTo(pool: PoolHandle, bytes: usize) => cudaMemPoolTrimTo(pool, bytes);
    fn cuMemPoolGetAttribute(pool: PoolHandle, attribute: c_int, value: Pointer)
        => cudaMemPoolGetAttribute(pool, attribute, value);
    fn cuMemPoolSetAttribute(pool: PoolHandle, attribute: c_int, value: Pointer)
        => cudaMemPoolSetAttribute(pool, attribute, value);
    fn cuMemPoolGetAccess(flags: *mut c_int, pool: PoolHandle, location: *const MemLocation)
        => cudaMemPoolGetAccess(flags, pool, location);
    fn cuMemPoolSetAccess(pool: PoolHandle, list: Pointer, count: usize) => cudaMemPoolSetAccess(pool, list, count);
}

/// Fills `count` elements.
fn set(to: ConstPointer, value: u32, element: u64, count: usize, stream: Option<StreamHandle>) -> Result {
    let width = (count as u64).checked_mul(element).ok_or(Status::InvalidValue)?;
    let Some((mut made, host)) = fill(to, width as usize, value, element, width, 1)? else { return Ok(()) };
    made.waits = host && stream.is_none();
    match stream {
        Some(stream) => enqueue(resolve(stream, Default::Legacy)?, Work::Fill(made)).map(|_| ()),
        None if host => enqueue_and_wait(default_stream(Default::Legacy)?, Work::Fill(made)),
        None => enqueue(default_stream(Default::Legacy)?, Work::Fill(made)).map(|_| ()),
    }
}

const ATTRIBUTE_CONTEXT: c_int = 1;
const ATTRIBUTE_MEMORY_TYPE: c_int = 2;
const ATTRIBUTE_DEVICE_POINTER: c_int = 3;
const ATTRIBUTE_HOST_POINTER: c_int = 4;
const ATTRIBUTE_IS_MANAGED: c_int = 8;
const ATTRIBUTE_DEVICE: c_int = 9;
const ATTRIBUTE_START: c_int = 11;
const ATTRIBUTE_SIZE: c_int = 12;

export_driver! {
    fn cuMemsetD8_v2(to: ConstPointer, value: u8, count: usize) { set(to, u32::from(value), 1, count, None) }

    fn cuMemsetD16_v2(to: ConstPointer, value: u16, count: usize) { set(to, u32::from(value), 2, count, None) }

    fn cuMemsetD32_v2(to: ConstPointer, value: u32, count: usize) { set(to, value, 4, count, None) }

    fn cuMemsetD8Async(to: ConstPointer, value: u8, count: usize, stream: StreamHandle) {
        set(to, u32::from(value), 1, count, Some(stream))
    }

    fn cuMemsetD16Async(to: ConstPointer, value: u16, count: usize, stream: StreamHandle) {
        set(to, u32::from(value), 2, count, Some(stream))
    }

    fn cuMemsetD32Async(to: ConstPointer, value: u32, count: usize, stream: StreamHandle) {
        set(to, value, 4, count, Some(stream))
    }

    fn cuMemGetAddressRange_v2(start: *mut u64, bytes: *mut usize, pointer: ConstPointer) {
        let found = runtime().addresses.lock().find(pointer.addr() as u64).ok_or(Status::SymbolNotFound)?;
        // SAFETY: the program's pointers for the results; either may be null.
        unsafe {
            if !start.is_null() {
                put(start, found.address)?;
            }
            if bytes.is_null() { Ok(()) } else { put(bytes, found.bytes as usize) }
        }
    }

    fn cuPointerGetAttribute(data: Pointer, attribute: c_int, pointer: ConstPointer) {
        let address = pointer.addr() as u64;
        let found = runtime().addresses.lock().find(address).ok_or(Status::InvalidValue)?;
        // Types of memory: 1 the host's, 2 the device's.
        let kind = if matches!(found.kind, Kind::Pinned(_) | Kind::Registered(_)) { 1u32 } else { 2 };
        // SAFETY: the program passes room for the attribute that it names.
        unsafe {
            match attribute {
                ATTRIBUTE_CONTEXT => put(data.cast::<u64>(), 0),
                ATTRIBUTE_MEMORY_TYPE => put(data.cast::<u32>(), kind),
                ATTRIBUTE_DEVICE_POINTER => put(data.cast::<u64>(), address),
                ATTRIBUTE_HOST_POINTER if found.kind.is_host() => put(data.cast::<u64>(), address),
                ATTRIBUTE_IS_MANAGED => put(data.cast::<u32>(), u32::from(found.kind == Kind::Managed)),
                ATTRIBUTE_DEVICE => put(data.cast::<c_int>(), 0),
                ATTRIBUTE_START => put(data.cast::<u64>(), found.address),
                ATTRIBUTE_SIZE => put(data.cast::<u64>(), found.bytes),
                _ => Err(Status::InvalidValue),
            }
        }
    }
}
