//! Memory that a program and a device both reach, each at an address of its own.

use std::ffi::c_void;
use std::io;

use crate::regions::{PAGE, Region};
use crate::watch;

/// Pages that are mapped twice. What closes the program's side leaves the device's open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    /// Where the program has them.
    pub program: *mut u8,
    /// Where the device has them.
    pub device: *mut u8,
}

/// Makes zeroed memory and watches the program's side of it. `everywhere`: kernels may reach it without being given its
/// address.
///
/// # Errors
/// What the system answers.
pub fn create(bytes: usize, everywhere: bool) -> io::Result<Shared> {
    let length = bytes.max(1).checked_next_multiple_of(PAGE).ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: the name is a string, and the descriptor is closed below; mappings stay without it.
    let (file, sides) = unsafe {
        let file = libc::memfd_create(c"cuda host memory".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        let sized = libc::ftruncate(file, length as libc::off_t) == 0;
        (file, sized.then(|| [map(file, length), map(file, length)]))
    };
    let error = io::Error::last_os_error();
    // SAFETY: opened above.
    unsafe { libc::close(file) };
    match sides {
        Some([Some(program), Some(device)]) => {
            watch::add(Region::new(program.addr(), device.expose_provenance(), length, everywhere));
            Ok(Shared { program, device })
        }
        sides => {
            for side in sides.into_iter().flatten().flatten() {
                // SAFETY: mapped above, and given to nobody.
                unsafe { libc::munmap(side.cast(), length) };
            }
            Err(error)
        }
    }
}

/// # Safety
/// The file is open.
unsafe fn map(file: libc::c_int, length: usize) -> Option<*mut u8> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
    // SAFETY: new pages, at a place that the system chooses.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, file, 0) };
    (base != libc::MAP_FAILED).then_some(base.cast())
}

/// Gives back memory that [`create`] made; false when there is none at this address. Nobody may use it any more on
/// either side.
pub fn remove(program: usize) -> bool {
    let Some(region) = watch::take_out(program) else { return false };
    for side in [region.program, region.device] {
        // SAFETY: `create` made these pages, and nobody uses them.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut::<c_void>(side), region.bytes()) };
    }
    true
}

/// Where the device has these bytes of the program; `None` when they are not, or not all, in memory that
/// [`create`] made.
#[must_use]
pub fn device_side(program: usize, bytes: usize) -> Option<*mut u8> {
    watch::device_side(program, bytes).map(std::ptr::with_exposed_provenance_mut)
}
