//! Modules, libraries, linking of PTX, kernels and launches of the driver.

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use standstill_cuda_driver::Status;
use standstill_cuda_driver::operation::Work;

use super::contexts::export_driver;
use super::forward;
use crate::call::{Result, get, put};
use crate::launches::{Wish, prepare, volume, wish_of, without_arguments};
use crate::layout::{
    ConstPointer, Dim3, FuncAttributes, LaunchAttribute, LaunchConfig, Pointer, StreamHandle,
};
use crate::modules::*;
use crate::registration::text;
use crate::runtime::runtime;
use crate::streams::{Default, enqueue, resolve};

forward! {
    fn cuLibraryLoadData(
        library: *mut usize, code: ConstPointer, a: Pointer, b: Pointer, c: u32, d: Pointer, e: Pointer, f: u32
    ) => cudaLibraryLoadData(library, code, a, b, c, d, e, f);
    fn cuLibraryLoadFromFile(
        library: *mut usize, path: *const c_char, a: Pointer, b: Pointer, c: u32, d: Pointer, e: Pointer, f: u32
    ) => cudaLibraryLoadFromFile(library, path, a, b, c, d, e, f);
    fn cuLibraryUnload(library: Pointer) => cudaLibraryUnload(library);
    fn cuLibraryGetKernel(found: *mut usize, library: Pointer, name: *const c_char)
        => cudaLibraryGetKernel(found, library, name);
    fn cuLibraryGetGlobal(address: *mut u64, bytes: *mut usize, library: Pointer, name: *const c_char)
        => cudaLibraryGetGlobal(address, bytes, library, name);
    fn cuLibraryGetKernelCount(count: *mut u32, library: Pointer) => cudaLibraryGetKernelCount(count, library);
}

/// `CUlaunchConfig`: as the runtime's, with the extents written out and a narrower size.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DriverLaunchConfig {
    grid: Dim3,
    block: Dim3,
    shared: u32,
    stream: StreamHandle,
    attributes: *const LaunchAttribute,
    count: u32,
}

/// Names in the list of `extra` (`CU_LAUNCH_PARAM_…`).
const BUFFER_POINTER: usize = 1;
const BUFFER_SIZE: usize = 2;

/// Launches with pointers to the arguments, or with all of them in one buffer.
///
/// # Safety
/// The program passes arguments as the CUDA Driver API says of `cuLaunchKernel`.
unsafe fn launch(
    function: ConstPointer,
    wish: &Wish,
    stream: StreamHandle,
    arguments: *const Pointer,
    extra: *const Pointer,
) -> Result {
    let stream = resolve(stream, Default::Legacy)?;
    let launch = if arguments.is_null() && !extra.is_null() {
        let mut launch = without_arguments(function, wish)?;
        // SAFETY: the caller's promise.
        unsafe { take_buffer(&mut launch.parameters, extra)? };
        launch
    } else {
        // SAFETY: the caller's promise.
        unsafe { prepare(function, wish, arguments)? }
    };
    enqueue(stream, Work::Launch(Arc::new(launch))).map(|_| ())
}

/// Copies the arguments out of a buffer that `extra` names.
///
/// # Safety
/// `extra` is a list of names and values that ends with a null pointer.
unsafe fn take_buffer(parameters: &mut [u8], mut extra: *const Pointer) -> Result {
    let (mut buffer, mut size) = (std::ptr::null_mut(), 0);
    loop {
        // SAFETY: the list has not ended yet.
        let (name, value) = unsafe { (get(extra)?, extra.add(1)) };
        match name.addr() {
            0 => break,
            // SAFETY: a value follows each name.
            BUFFER_POINTER => buffer = unsafe { get(value)? },
            // SAFETY: a value follows each name, here a pointer to a size.
            BUFFER_SIZE => size = unsafe { get(get(value)?.cast::<usize>())? },
            _ => return Err(Status::InvalidValue),
        }
        // SAFETY: a name and a value were there.
        extra = unsafe { extra.add(2) };
    }
    if buffer.is_null() || size < parameters.len() {
        return if parameters.is_empty() { Ok(()) } else { Err(Status::InvalidValue) };
    }
    // SAFETY: the program says that the buffer has at least so many bytes.
    unsafe { std::ptr::copy_nonoverlapping(buffer.cast(), parameters.as_mut_ptr(), parameters.len()) };
    Ok(())
}

fn plain(grid: [u32; 3], block: [u32; 3], shared: u32, cooperative: bool) -> Wish {
    Wish { grid, block, cluster: None, dynamic_shared: shared as usize, cooperative }
}

/// Attributes of functions by the driver's numbers.
const MAX_THREADS: c_int = 0;
const STATIC_SHARED: c_int = 1;
const CONSTANT: c_int = 2;
const LOCAL: c_int = 3;
const REGISTERS: c_int = 4;
const PTX_VERSION: c_int = 5;
const BINARY_VERSION: c_int = 6;
const MAX_DYNAMIC_SHARED: c_int = 8;

/// PTX that is being linked.
#[derive(Default)]
pub struct Link {
    parts: Vec<String>,
    /// The result, which stays while the link does.
    whole: Vec<u8>,
}

/// Kinds of input that hold PTX (`CUjitInputType`).
const INPUT_PTX: c_int = 1;
const INPUT_FATBIN: c_int = 2;

/// The answer about a kernel, by the driver's number of an attribute.
fn attribute_of(value: *mut c_int, attribute: c_int, function: ConstPointer) -> Result {
    let mut found = std::mem::MaybeUninit::<FuncAttributes>::uninit();
    // SAFETY: the structure is written whole when the answer is success.
    let found = unsafe {
        match crate::functions::cudaFuncGetAttributes(found.as_mut_ptr(), function) {
            0 => found.assume_init(),
            _ => return Err(Status::InvalidResourceHandle),
        }
    };
    let answer = match attribute {
        MAX_THREADS => found.max_threads_per_block,
        STATIC_SHARED => found.shared_size as c_int,
        CONSTANT => found.const_size as c_int,
        LOCAL => found.local_size as c_int,
        REGISTERS => found.registers,
        PTX_VERSION => found.ptx_version,
        BINARY_VERSION => found.binary_version,
        MAX_DYNAMIC_SHARED => found.max_dynamic_shared,
        _ => 0,
    };
    // SAFETY: the program's pointer for the result.
    unsafe { put(value, answer) }
}

export_driver! {
    fn cuModuleLoadData(module: *mut usize, code: ConstPointer) {
        // SAFETY: the program passes device code in one of its forms, and a pointer for the result.
        unsafe { put(module, handle(load_at(code)?)) }
    }

    fn cuModuleLoadDataEx(
        module: *mut usize, code: ConstPointer, _count: u32, _options: Pointer, _values: Pointer,
    ) {
        // SAFETY: the program passes device code in one of its forms, and a pointer for the result.
        unsafe { put(module, handle(load_at(code)?)) }
    }

    fn cuModuleLoadFatBinary(module: *mut usize, code: ConstPointer) {
        // SAFETY: the program passes device code in one of its forms, and a pointer for the result.
        unsafe { put(module, handle(load_at(code)?)) }
    }

    fn cuModuleLoad(module: *mut usize, path: *const c_char) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(module, handle(load_file(path)?)) }
    }

    fn cuModuleUnload(module: Pointer) { unit(module).map(|_| ()) }

    fn cuModuleGetFunction(found: *mut usize, module: Pointer, name: *const c_char) {
        // SAFETY: the program passes a string and a pointer for the result.
        unsafe { put(found, kernel(unit(module)?, &text(name))?) }
    }

    fn cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, module: Pointer, name: *const c_char) {
        // SAFETY: the program passes a string and pointers for the results, of which one may be null.
        unsafe { global(address, bytes, unit(module)?, &text(name)) }
    }

    fn cuKernelGetFunction(function: *mut ConstPointer, kernel: ConstPointer) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(function, kernel) }
    }

    fn cuLibraryGetModule(module: *mut Pointer, library: Pointer) {
        unit(library)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(module, library) }
    }

    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: ConstPointer) {
        attribute_of(value, attribute, function)
    }

    // A kernel of a library and the function that it becomes are the same here, and so is the device.
    fn cuKernelGetAttribute(value: *mut c_int, attribute: c_int, kernel: ConstPointer, _device: c_int) {
        attribute_of(value, attribute, kernel)
    }

    fn cuLaunchKernel(
        function: ConstPointer, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32,
        stream: StreamHandle, arguments: *const Pointer, extra: *const Pointer,
    ) {
        let wish = plain([gx, gy, gz], [bx, by, bz], shared, false);
        // SAFETY: the program vouches for its arguments.
        unsafe { launch(function, &wish, stream, arguments, extra) }
    }

    fn cuLaunchCooperativeKernel(
        function: ConstPointer, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32,
        stream: StreamHandle, arguments: *const Pointer,
    ) {
        let wish = plain([gx, gy, gz], [bx, by, bz], shared, true);
        // SAFETY: the program vouches for its arguments.
        unsafe { launch(function, &wish, stream, arguments, std::ptr::null()) }
    }

    fn cuLaunchKernelEx(
        config: *const DriverLaunchConfig, function: ConstPointer, arguments: *const Pointer,
        extra: *const Pointer,
    ) {
        // SAFETY: the program passes a whole configuration, and vouches for its arguments.
        unsafe {
            let given = get(config)?;
            let config = LaunchConfig {
                grid: given.grid,
                block: given.block,
                dynamic_shared: given.shared as usize,
                stream: given.stream,
                attributes: given.attributes,
                count: given.count,
            };
            let (wish, stream) = wish_of(&config)?;
            launch(function, &wish, stream, arguments, extra)
        }
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid: *mut c_int, block: *mut c_int, function: ConstPointer, _shared_of: Pointer, shared: usize,
        limit: c_int,
    ) {
        let machine = runtime().machine()?;
        let kernel = runtime().registrations.lock().kernel(function)?;
        let most = kernel.bounds.required_block.or(kernel.bounds.maximum_block).map_or(1024, volume) as u32;
        let most = if limit > 0 { most.min(limit as u32) } else { most };
        let threads_at = |warps: u32| {
            let threads = warps * 32;
            let blocks = machine.card().blocks_per_multiprocessor(
                threads, kernel.registers, kernel.static_shared + shared as u64,
            );
            (blocks * u64::from(threads), threads, blocks)
        };
        let best = (1..=most / 32).map(threads_at).max().ok_or(Status::InvalidValue)?;
        // SAFETY: the program's pointers for the results.
        unsafe {
            put(grid, (best.2 * u64::from(machine.card().device.multiprocessors)) as c_int)?;
            put(block, best.1 as c_int)
        }
    }

    fn cuLinkCreate_v2(_count: u32, _options: Pointer, _values: Pointer, state: *mut *mut Link) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(state, Box::into_raw(Box::default())) }
    }

    fn cuLinkAddData_v2(
        state: *mut Link, kind: c_int, data: *const u8, size: usize, _name: *const c_char, _count: u32,
        _options: Pointer, _values: Pointer,
    ) {
        if !matches!(kind, INPUT_PTX | INPUT_FATBIN) {
            runtime().tell("only PTX can be linked for the software GPU; the program brings machine code");
            return Err(Status::NoKernelImageForDevice);
        }
        // SAFETY: the program passes what `cuLinkCreate` gave, and as many bytes as it says.
        let (link, bytes) = unsafe {
            (state.as_mut().ok_or(Status::InvalidValue)?, std::slice::from_raw_parts(data, size))
        };
        let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
        link.parts.push(standstill_cuda_driver::ptx_of(bytes).map_err(|_| Status::InvalidPtx)?);
        Ok(())
    }

    fn cuLinkComplete(state: *mut Link, code: *mut *const u8, size: *mut usize) {
        // SAFETY: the program passes what `cuLinkCreate` gave, and pointers for the results.
        unsafe {
            let link = state.as_mut().ok_or(Status::InvalidValue)?;
            link.whole = standstill_cuda_driver::link(&link.parts).into_bytes();
            link.whole.push(0);
            put(code, link.whole.as_ptr())?;
            if size.is_null() { Ok(()) } else { put(size, link.whole.len()) }
        }
    }

    fn cuLinkDestroy(state: *mut Link) {
        if !state.is_null() {
            // SAFETY: `cuLinkCreate` made this box, and the program destroys it once.
            drop(unsafe { Box::from_raw(state) });
        }
        Ok(())
    }
}
