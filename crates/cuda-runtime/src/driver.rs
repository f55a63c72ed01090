//! The driver interface's public functions (CUDA Driver API), for programs that use it directly: over the same
//! state as the runtime's, so that both can be mixed.
//!
//! NVIDIA's own runtime asks the driver for private tables and to prove itself. Neither is answered: such a program
//! is told how to link instead.

mod contexts;
mod lookup;
mod memory;
mod modules;
mod unprovided;

use std::ffi::{c_char, c_int};

use standstill_cuda_driver::{Status, status};

use crate::call::put;
use crate::devices::*;
use crate::events::*;
use crate::functions::*;
use crate::layout::{ConstPointer, EventHandle, Pointer, StreamHandle};
use crate::memory::*;
use crate::runtime::runtime;
use crate::streams::*;

/// What the driver answers; its numbers are the runtime's, but for those that the driver does not have.
pub(crate) fn result(code: c_int) -> c_int {
    let is = |status: Status| code == status.code();
    if is(Status::InvalidConfiguration) || is(Status::InvalidMemcpyDirection) || is(Status::InvalidPitchValue)
    {
        Status::InvalidValue.code()
    } else if is(Status::InvalidDeviceFunction) {
        Status::InvalidResourceHandle.code()
    } else if is(Status::InvalidSymbol) {
        Status::SymbolNotFound.code()
    } else {
        code
    }
}

/// Exports functions of the driver that do what one of the runtime does.
macro_rules! forward {
    ($(fn $name:ident($($argument:ident: $ty:ty),* $(,)?) => $to:ident($($passed:expr),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $ty),*) -> std::ffi::c_int {
            // SAFETY: the program's arguments are handed on as they came.
            crate::driver::result(unsafe { $to($($passed),*) })
        }
    )*};
}

pub(crate) use forward;

/// The runtime's number for the flag of pinned memory that the driver calls by another.
const PORTABLE: u32 = 1;

forward! {
    fn cuDriverGetVersion(version: *mut c_int) => driver_version(version);
    fn cuDeviceGetCount(count: *mut c_int) => cudaGetDeviceCount(count);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int)
        => cudaDeviceGetAttribute(value, attribute, device);
    fn cuDeviceGetPCIBusId(text: *mut c_char, length: c_int, device: c_int)
        => cudaDeviceGetPCIBusId(text, length, device);
    fn cuDeviceGetByPCIBusId(device: *mut c_int, text: *const c_char) => cudaDeviceGetByPCIBusId(device, text);
    fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int)
        => cudaDeviceCanAccessPeer(can, device, peer);

    fn cuStreamCreate(stream: *mut StreamHandle, flags: u32) => cudaStreamCreateWithFlags(stream, flags);
    fn cuStreamCreateWithPriority(stream: *mut StreamHandle, flags: u32, priority: c_int)
        => cudaStreamCreateWithPriority(stream, flags, priority);
    fn cuStreamDestroy_v2(stream: StreamHandle) => cudaStreamDestroy(stream);
    fn cuStreamSynchronize(stream: StreamHandle) => cudaStreamSynchronize(stream);
    fn cuStreamQuery(stream: StreamHandle) => cudaStreamQuery(stream);
    fn cuStreamWaitEvent(stream: StreamHandle, event: EventHandle, flags: u32)
        => cudaStreamWaitEvent(stream, event, flags);
    fn cuStreamGetFlags(stream: StreamHandle, flags: *mut u32) => cudaStreamGetFlags(stream, flags);
    fn cuStreamGetPriority(stream: StreamHandle, priority: *mut c_int) => cudaStreamGetPriority(stream, priority);
    fn cuStreamAddCallback(stream: StreamHandle, function: Pointer, data: Pointer, flags: u32)
        => cudaStreamAddCallback(stream, function, data, flags);
    fn cuStreamAttachMemAsync(stream: StreamHandle, pointer: Pointer, length: usize, flags: u32)
        => cudaStreamAttachMemAsync(stream, pointer, length, flags);
    fn cuLaunchHostFunc(stream: StreamHandle, function: Pointer, data: Pointer)
        => cudaLaunchHostFunc(stream, function, data);

    fn cuEventCreate(event: *mut EventHandle, flags: u32) => cudaEventCreateWithFlags(event, flags);
    fn cuEventDestroy_v2(event: EventHandle) => cudaEventDestroy(event);
    fn cuEventRecord(event: EventHandle, stream: StreamHandle) => cudaEventRecord(event, stream);
    fn cuEventRecordWithFlags(event: EventHandle, stream: StreamHandle, flags: u32)
        => cudaEventRecordWithFlags(event, stream, flags);
    fn cuEventQuery(event: EventHandle) => cudaEventQuery(event);
    fn cuEventSynchronize(event: EventHandle) => cudaEventSynchronize(event);
    fn cuEventElapsedTime(milliseconds: *mut f32, start: EventHandle, end: EventHandle)
        => cudaEventElapsedTime(milliseconds, start, end);
    fn cuEventElapsedTime_v2(milliseconds: *mut f32, start: EventHandle, end: EventHandle)
        => cudaEventElapsedTime(milliseconds, start, end);

    fn cuMemAlloc_v2(pointer: *mut u64, bytes: usize) => cudaMalloc(pointer, bytes);
    fn cuMemFree_v2(pointer: Pointer) => cudaFree(pointer);
    fn cuMemAllocPitch_v2(pointer: *mut u64, pitch: *mut usize, width: usize, height: usize, _element: u32)
        => cudaMallocPitch(pointer, pitch, width, height);
    fn cuMemAllocHost_v2(pointer: *mut u64, bytes: usize) => cudaMallocHost(pointer, bytes);
    fn cuMemHostAlloc(pointer: *mut u64, bytes: usize, flags: u32) => cudaHostAlloc(pointer, bytes, flags | PORTABLE);
    fn cuMemFreeHost(pointer: Pointer) => cudaFreeHost(pointer);
    fn cuMemHostRegister_v2(pointer: Pointer, bytes: usize, flags: u32) => cudaHostRegister(pointer, bytes, flags);
    fn cuMemHostUnregister(pointer: Pointer) => cudaHostUnregister(pointer);
    fn cuMemHostGetDevicePointer_v2(device: *mut u64, host: Pointer, flags: u32)
        => cudaHostGetDevicePointer(device, host, flags);
    fn cuMemHostGetFlags(flags: *mut u32, host: Pointer) => cudaHostGetFlags(flags, host);
    fn cuMemAllocManaged(pointer: *mut u64, bytes: usize, flags: u32) => cudaMallocManaged(pointer, bytes, flags);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) => cudaMemGetInfo(free, total);

    fn cuFuncSetAttribute(function: ConstPointer, attribute: c_int, value: c_int)
        => cudaFuncSetAttribute(function, attribute, value);
    fn cuFuncSetCacheConfig(function: ConstPointer, config: c_int) => cudaFuncSetCacheConfig(function, config);
    fn cuFuncSetSharedMemConfig(function: ConstPointer, config: c_int) => cudaFuncSetSharedMemConfig(function, config);
    fn cuKernelSetCacheConfig(kernel: ConstPointer, config: c_int, _device: c_int)
        => cudaFuncSetCacheConfig(kernel, config);
    fn cuKernelSetAttribute(attribute: c_int, value: c_int, kernel: ConstPointer, device: c_int)
        => cudaKernelSetAttributeForDevice(kernel, attribute, value, device);
    fn cuKernelGetName(name: *mut *const c_char, kernel: ConstPointer) => cudaFuncGetName(name, kernel);
    fn cuKernelGetParamInfo(kernel: ConstPointer, index: usize, offset: *mut usize, size: *mut usize)
        => cudaFuncGetParamInfo(kernel, index, offset, size);
    fn cuKernelGetParamCount(kernel: ConstPointer, count: *mut usize) => cudaFuncGetParamCount(kernel, count);
    fn cuFuncGetParamCount(function: ConstPointer, count: *mut usize) => cudaFuncGetParamCount(function, count);
    fn cuFuncGetName(name: *mut *const c_char, function: ConstPointer) => cudaFuncGetName(name, function);
    fn cuFuncGetParamInfo(function: ConstPointer, index: usize, offset: *mut usize, size: *mut usize)
        => cudaFuncGetParamInfo(function, index, offset, size);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: ConstPointer, threads: c_int, shared: usize
    ) => cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut c_int, function: ConstPointer, threads: c_int, shared: usize, _flags: u32
    ) => cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

unsafe extern "C" fn driver_version(version: *mut c_int) -> c_int {
    // SAFETY: the program's pointer for the result.
    unsafe { crate::errors::cudaDriverGetVersion(version) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: u32) -> c_int {
    if flags != 0 {
        return Status::InvalidValue.code();
    }
    runtime().machine().map_or_else(Status::code, |_| 0)
}

/// The names of the driver's codes are those of the runtime's in other letters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: c_int, name: *mut *const c_char) -> c_int {
    // SAFETY: the program's pointer for the result.
    let written = unsafe { put(name, status::driver_name(code).as_ptr().cast()) };
    written.map_or_else(Status::code, |()| 0)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: c_int, text: *mut *const c_char) -> c_int {
    // SAFETY: the program's pointer for the result.
    let written = unsafe { put(text, status::text(code).as_ptr().cast()) };
    written.map_or_else(Status::code, |()| 0)
}
