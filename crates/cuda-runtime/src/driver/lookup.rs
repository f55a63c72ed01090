//! Finding functions of the driver by name (CUDA Driver API, «Driver Entry Point Access»).

use std::ffi::{CString, c_char, c_int};

use standstill_cuda_driver::{CallSite, Status};

use super::contexts::export_driver;
use crate::call::{Result, export, put};
use crate::layout::{ConstPointer, Pointer};
use crate::registration::text;
use crate::runtime::runtime;

/// The newest versions of functions under one name end in these.
const SUFFIXES: [&str; 4] = ["_v4", "_v3", "_v2", ""];

/// Versions of functions that take other arguments than the ones before, and the version of CUDA that brought each
/// (`cudaTypedefs.h`): who asks as of an older one means the one before.
const SINCE: [(&str, c_int); 14] = [
    ("cuCtxCreate_v3", 11040),
    ("cuCtxCreate_v4", 12050),
    ("cuCtxGetDevice_v2", 13000),
    ("cuCtxSynchronize_v2", 13000),
    ("cuDeviceGetUuid_v2", 11040),
    ("cuEventElapsedTime_v2", 12080),
    ("cuGetProcAddress_v2", 12000),
    ("cuGraphAddNode_v2", 12030),
    ("cuGraphAddNode_v3", 13040),
    ("cuGraphNodeSetParams_v2", 13040),
    ("cuLaunchHostFunc_v2", 13010),
    ("cuMulticastBindAddr_v2", 13010),
    ("cuMulticastBindMem_v2", 13010),
    ("cuStreamGetCtx_v2", 12050),
];

/// The version that the runtime asks for.
const RUNTIME: c_int = 13000;

/// The functions by which an entry point is looked up answer with how it went.
const FOUND: c_int = 0;
const NOT_FOUND: c_int = 1;

/// The function of this library with this name, as of a version of CUDA.
fn find(name: &str, version: c_int) -> Option<Pointer> {
    let versioned = SUFFIXES.iter().map(|suffix| format!("{name}{suffix}"));
    let is_newer = |name: &str| SINCE.iter().any(|&(newer, since)| newer == name && version < since);
    let there = versioned.filter(|name| !is_newer(name));
    there.filter_map(|name| CString::new(name).ok()).find_map(|name| {
        // SAFETY: looks a name up among all loaded libraries.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    })
}

fn look_up(name: *const c_char, found: *mut Pointer, version: c_int, how: *mut c_int) -> Result {
    // SAFETY: the program passes a string, and pointers for the results, of which one may be null.
    unsafe {
        let name = text(name);
        let function = if name.starts_with("cu") { find(&name, version) } else { None };
        if !how.is_null() {
            put(how, if function.is_some() { FOUND } else { NOT_FOUND })?;
        }
        put(found, function.unwrap_or(std::ptr::null_mut()))?;
        if function.is_some() { Ok(()) } else { Err(Status::SymbolNotFound) }
    }
}

export_driver! {
    fn cuGetProcAddress(name: *const c_char, found: *mut Pointer, version: c_int, _flags: u64) {
        look_up(name, found, version, std::ptr::null_mut())
    }

    fn cuGetProcAddress_v2(
        name: *const c_char, found: *mut Pointer, version: c_int, _flags: u64, how: *mut c_int,
    ) {
        look_up(name, found, version, how)
    }

    fn cuGetExportTable(_table: *mut ConstPointer, _id: ConstPointer) {
        refuse_runtime();
        Err(Status::NotSupported)
    }
}

/// Says who has brought NVIDIA's own runtime, and what helps.
fn refuse_runtime() {
    let own = std::env::current_exe().unwrap_or_default().display().to_string();
    let caller = CallSite::here().frames().into_iter().next().map_or_else(|| own.clone(), |frame| frame.file);
    let (who, help) = match caller == own {
        true => ("the program".to_owned(), "Link it again with the shared runtime (`nvcc -cudart shared …`)"),
        false => (
            format!("{caller}, which the program has loaded,"),
            "Packages that bring it so (CuPy, PyTorch) do not run on the software GPU; what hands PTX to the \
             driver's interface, or uses the shared runtime, does",
        ),
    };
    runtime().tell(format!(
        "{who} has NVIDIA's CUDA runtime linked into it, which works with NVIDIA's driver only. {help}"
    ));
}

export! {
    enter fn cudaGetDriverEntryPoint(
        name: *const c_char, found: *mut Pointer, _flags: u64, how: *mut c_int,
    ) {
        look_up(name, found, RUNTIME, how)
    }

    enter fn cudaGetDriverEntryPointByVersion(
        name: *const c_char, found: *mut Pointer, version: u32, _flags: u64, how: *mut c_int,
    ) {
        look_up(name, found, c_int::try_from(version).unwrap_or(c_int::MAX), how)
    }
}
