//! Device code that a program loads by itself: libraries of the runtime, modules of the driver.

use std::collections::HashMap;
use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

use standstill_cuda_driver::Status;

use crate::call::{Result, export, get, put};
use crate::layout::{ConstPointer, FATBIN_WRAPPER_MAGIC, FatbinWrapper, Pointer};
use crate::registration::{fatbin_bytes, text};
use crate::runtime::runtime;

const FATBIN_MAGIC: u32 = 0xBA55_ED50;
const ELF_MAGIC: u32 = 0x464c_457f;

/// Handles of kernels, by the module's number and the kernel's name: the same kernel has one handle.
static KERNELS: Mutex<Option<HashMap<(usize, String), usize>>> = Mutex::new(None);

/// The bytes of device code that is given by its address alone.
///
/// # Safety
/// The address is that of a fatbin or its wrapper, an ELF file, or a text that ends with a zero byte.
unsafe fn code_bytes(code: ConstPointer) -> Result<&'static [u8]> {
    // SAFETY: every form has at least four bytes that can be read: the shortest text is `.version`.
    let magic = unsafe { get(code.cast::<u32>())? };
    // SAFETY: each form says itself how long it is.
    unsafe {
        match magic {
            FATBIN_WRAPPER_MAGIC => Ok(fatbin_bytes(get(code.cast::<FatbinWrapper>())?.data.addr())),
            FATBIN_MAGIC => Ok(fatbin_bytes(code.addr())),
            ELF_MAGIC => Ok(std::slice::from_raw_parts(code.cast(), elf_length(code)?)),
            _ => Ok(std::ffi::CStr::from_ptr(code.cast()).to_bytes()),
        }
    }
}

/// The length of a 64-bit ELF file, whose section headers stand last.
///
/// # Safety
/// The address is that of a whole file.
unsafe fn elf_length(code: ConstPointer) -> Result<usize> {
    let at = |offset: usize| code.cast::<u8>().wrapping_add(offset);
    // SAFETY: these fields are in the header (System V ABI, «ELF Header»).
    let (place, size, count) =
        unsafe { (get(at(40).cast::<u64>())?, get(at(58).cast::<u16>())?, get(at(60).cast::<u16>())?) };
    Ok(place as usize + usize::from(size) * usize::from(count))
}

/// Loads device code; gives the number of its unit.
pub fn load(bytes: &[u8]) -> Result<usize> {
    runtime().registrations.lock().load(bytes)
}

/// [`load`] of code that is given by its address.
///
/// # Safety
/// As for [`code_bytes`].
pub unsafe fn load_at(code: ConstPointer) -> Result<usize> {
    if code.is_null() {
        return Err(Status::InvalidValue);
    }
    // SAFETY: the caller's promise.
    load(unsafe { code_bytes(code)? })
}

/// [`load`] of a file's code.
pub fn load_file(path: *const c_char) -> Result<usize> {
    // SAFETY: the program passes a string.
    let path = unsafe { text(path) };
    load(&std::fs::read(path).map_err(|_| Status::FileNotFound)?)
}

/// The handle of a kernel of a unit.
pub fn kernel(unit: usize, name: &str) -> Result<usize> {
    let mut kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    let kernels = kernels.get_or_insert_default();
    if let Some(handle) = kernels.get(&(unit, name.to_owned())) {
        return Ok(*handle);
    }
    let mut registrations = runtime().registrations.lock();
    let found = registrations.kernel_of(unit, name)?;
    // An address of its own for each handle, which is never given back.
    let handle = std::ptr::from_ref(Box::leak(Box::new(0u64))).addr();
    registrations.add_kernel(handle, unit, found);
    kernels.insert((unit, name.to_owned()), handle);
    Ok(handle)
}

/// Handles of units: numbers from 1, since a null handle is none.
pub fn handle(unit: usize) -> usize {
    unit + 1
}

/// The unit behind a handle.
pub fn unit(handle: Pointer) -> Result<usize> {
    handle.addr().checked_sub(1).ok_or(Status::InvalidResourceHandle)
}

export! {
    enter fn cudaLibraryLoadData(
        library: *mut usize, code: ConstPointer, _options: Pointer, _values: Pointer, _count: u32,
        _library_options: Pointer, _library_values: Pointer, _library_count: u32,
    ) {
        // SAFETY: the program passes device code in one of its forms, and a pointer for the result.
        unsafe { put(library, handle(load_at(code)?)) }
    }

    enter fn cudaLibraryLoadFromFile(
        library: *mut usize, path: *const c_char, _options: Pointer, _values: Pointer, _count: u32,
        _library_options: Pointer, _library_values: Pointer, _library_count: u32,
    ) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(library, handle(load_file(path)?)) }
    }

    enter fn cudaLibraryUnload(library: Pointer) { unit(library).map(|_| ()) }

    enter fn cudaLibraryGetKernel(found: *mut usize, library: Pointer, name: *const c_char) {
        // SAFETY: the program passes a string and a pointer for the result.
        unsafe { put(found, kernel(unit(library)?, &text(name))?) }
    }

    enter fn cudaLibraryGetGlobal(
        address: *mut u64, bytes: *mut usize, library: Pointer, name: *const c_char,
    ) {
        // SAFETY: the program passes a string and pointers for the results, of which one may be null.
        unsafe { global(address, bytes, unit(library)?, &text(name)) }
    }

    enter fn cudaLibraryGetManaged(
        address: *mut u64, bytes: *mut usize, library: Pointer, name: *const c_char,
    ) {
        // SAFETY: the program passes a string and pointers for the results, of which one may be null.
        unsafe { global(address, bytes, unit(library)?, &text(name)) }
    }

    enter fn cudaLibraryGetKernelCount(count: *mut u32, library: Pointer) {
        let names = runtime().registrations.lock().kernel_names(unit(library)?)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(count, names.len() as u32) }
    }

    enter fn cudaLibraryEnumerateKernels(kernels: *mut usize, room: u32, library: Pointer) {
        let unit = unit(library)?;
        let names = runtime().registrations.lock().kernel_names(unit)?;
        for (index, name) in names.iter().take(room as usize).enumerate() {
            // SAFETY: the program says that there is room for so many.
            unsafe { put(kernels.add(index), kernel(unit, name)?)? };
        }
        Ok(())
    }
}

/// Address and size of a variable of a unit; either answer may not be wanted.
///
/// # Safety
/// The pointers are null or good for a result.
pub unsafe fn global(address: *mut u64, bytes: *mut usize, unit: usize, name: &str) -> Result {
    let (found, size) = runtime().registrations.lock().variable_of(unit, name)?;
    // SAFETY: the caller's promise.
    unsafe {
        if !address.is_null() {
            put(address, found)?;
        }
        if !bytes.is_null() {
            put(bytes, size as usize)?;
        }
    }
    Ok(())
}
