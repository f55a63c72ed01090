//! NVIDIA's driver behind the wrapped functions: where each is, and what stands for it when a program asks by name.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The driver as the loader found it beside this library.
const LIBRARY: &CStr = c"libcuda-real.so";

/// What a function answers that this driver does not have (`CUDA_ERROR_NOT_FOUND`).
pub const NOT_FOUND: c_int = 500;

/// Newest version of the interface whose functions are all known here: what a program asks for at a later version may
/// have another signature, unless it is the very function that is exported.
const KNOWN: c_int = 13_000;
/// A program asks for functions whose stream 0 is the thread's own
/// (`CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`).
const PER_THREAD: u64 = 2;

/// A wrapped function.
pub struct Wrapped {
    /// Its exported name.
    pub name: &'static str,
    /// The wrapper.
    pub wrapper: *const c_void,
    /// The driver's function; 0 as long as it is not known.
    pub real: &'static AtomicUsize,
}

// SAFETY: addresses of functions, which stay.
unsafe impl Sync for Wrapped {}

static RESOLVED: Once = Once::new();

/// The driver's function of a wrapper.
#[inline]
pub fn function(real: &AtomicUsize) -> Option<usize> {
    match real.load(Ordering::Relaxed) {
        0 => {
            RESOLVED.call_once(resolve);
            Some(real.load(Ordering::Relaxed)).filter(|address| *address != 0)
        }
        known => Some(known),
    }
}

fn resolve() {
    for wrapped in crate::api::wrapped() {
        wrapped.real.store(find(wrapped.name), Ordering::Relaxed);
    }
}

/// The address of one of the driver's own functions; 0 when it has none of this name.
pub fn find(name: &str) -> usize {
    let Ok(name) = CString::new(name) else { return 0 };
    // SAFETY: the names end with a zero byte. The library is there already, as this one needs it.
    unsafe {
        let library = libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if library.is_null() { 0 } else { libc::dlsym(library, name.as_ptr()).addr() }
    }
}

/// A function of the driver that is only called, and is looked for when it is first needed.
macro_rules! driver_function {
    ($name:ident($($argument:ident: $ty:ty),* $(,)?)) => {
        /// The driver's function of this name; `None` when it has none.
        unsafe fn $name($($argument: $ty),*) -> Option<std::ffi::c_int> {
            static REAL: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(usize::MAX);
            let mut address = REAL.load(std::sync::atomic::Ordering::Relaxed);
            if address == usize::MAX {
                address = crate::real::find(stringify!($name));
                REAL.store(address, std::sync::atomic::Ordering::Relaxed);
            }
            if address == 0 {
                return None;
            }
            // SAFETY: the driver's function of this name has these parameters (CUDA Driver API).
            let real: unsafe extern "C" fn($($ty),*) -> std::ffi::c_int =
                unsafe { std::mem::transmute(address) };
            let _inside = crate::thread::here().enter();
            // SAFETY: the caller's promise.
            Some(unsafe { real($($argument),*) })
        }
    };
}
pub(crate) use driver_function;

/// Puts the wrapper in the place of a driver's function that the driver gave for this name.
///
/// # Safety
/// The name is a string, and the place holds what the driver wrote there.
pub unsafe fn wrap(symbol: *const c_char, place: *mut *mut c_void, version: c_int, flags: u64) {
    // SAFETY: the caller's promise.
    let (symbol, address) = unsafe {
        if symbol.is_null() || place.is_null() {
            return;
        }
        (CStr::from_ptr(symbol), place.read().addr())
    };
    if address == 0 {
        return;
    }
    RESOLVED.call_once(resolve);
    let mut exported = crate::api::wrapped();
    let same = exported.find(|wrapped| wrapped.real.load(Ordering::Relaxed) == address);
    let found = same.or_else(|| {
        let found = by_version(symbol.to_str().ok()?, version, flags)?;
        found.real.store(address, Ordering::Relaxed);
        Some(found)
    });
    if let Some(wrapped) = found {
        // SAFETY: the caller's promise.
        unsafe { place.write(wrapped.wrapper.cast_mut()) };
    }
}

/// The wrapped function that a name means at a version of the interface, for drivers that hand out other addresses
/// than they export.
fn by_version(symbol: &str, version: c_int, flags: u64) -> Option<&'static Wrapped> {
    if version > KNOWN {
        return None;
    }
    let per_thread = |name: &str| name.ends_with("_ptsz") || name.ends_with("_ptds");
    let family = crate::api::wrapped().filter(|wrapped| base(wrapped.name) == symbol);
    let wanted = flags & PER_THREAD != 0 && family.clone().any(|wrapped| per_thread(wrapped.name));
    let family = family.filter(|wrapped| per_thread(wrapped.name) == wanted);
    family.filter(|wrapped| since(wrapped.name) <= version).max_by_key(|wrapped| since(wrapped.name))
}

/// A name without what tells its versions apart.
fn base(name: &str) -> &str {
    let name = name.strip_suffix("_ptsz").or(name.strip_suffix("_ptds")).unwrap_or(name);
    name.strip_suffix("_v2").unwrap_or(name)
}

/// The version of the interface from which on a name means this function (`cudaTypedefs.h`).
fn since(name: &str) -> c_int {
    let plain = name.strip_suffix("_ptsz").or(name.strip_suffix("_ptds")).unwrap_or(name);
    match plain {
        "cuGetProcAddress_v2" | "cuGraphKernelNodeGetParams_v2" => 12_000,
        "cuGraphExecKernelNodeSetParams_v2" | "cuGraphExecUpdate_v2" => 12_000,
        "cuCtxSynchronize_v2" => 13_000,
        "cuStreamBeginCapture_v2" => 10_010,
        "cuMemHostRegister_v2" => 6_050,
        "cuStreamDestroy_v2" | "cuEventDestroy_v2" => 4_000,
        "cuIpcOpenMemHandle_v2" | "cuGraphInstantiate_v2" => 11_000,
        "cuEventElapsedTime_v2" => 12_080,
        "cuStreamWaitValue32_v2" | "cuStreamWaitValue64_v2" | "cuStreamBatchMemOp_v2" => 11_070,
        "cuGraphAddNode_v2" => 12_030,
        "cuStreamWriteValue32_v2" | "cuStreamWriteValue64_v2" => 11_070,
        _ if plain.ends_with("_v2") => 3_020,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_what_they_meant_at_a_version() {
        let check = |symbol, version, flags, expected: Option<&str>| {
            assert_eq!(by_version(symbol, version, flags).map(|found| found.name), expected, "{symbol}");
        };
        check("cuMemAlloc", 12_040, 0, Some("cuMemAlloc_v2"));
        check("cuMemAlloc", 2_000, 0, None);
        check("cuLaunchKernel", 12_040, 0, Some("cuLaunchKernel"));
        check("cuLaunchKernel", 12_040, PER_THREAD, Some("cuLaunchKernel_ptsz"));
        check("cuMemcpyHtoDAsync", 12_040, PER_THREAD, Some("cuMemcpyHtoDAsync_v2_ptsz"));
        check("cuMemAlloc", 12_040, PER_THREAD, Some("cuMemAlloc_v2"));
        check("cuMemAlloc", 14_000, 0, None);
        check("cuFutureThing", 12_040, 0, None);
    }
}
