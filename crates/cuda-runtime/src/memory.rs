//! Allocation in all its forms.

use std::ffi::c_int;

use standstill_cuda_driver::{CallSite, Status};
use standstill_host_access::{self as host_access, Shared};
use standstill_trace::{Allocation as Traced, Call, Target};

use crate::address_space::{Allocation, Kind};
use crate::call::{Result, export, get, put};
use crate::layout::{ConstPointer, Extent, MemLocation, PitchedPtr, Pointer, PointerAttributes};
use crate::memory_faults;
use crate::runtime::runtime;

/// Rows of pitched memory begin at multiples of this.
const PITCH: usize = 512;
const PAGE: usize = 4096;

const HOST_FLAGS: u32 = 0x37;
const REGISTER_FLAGS: u32 = 0x1f;

/// Device memory of the program.
pub fn allocate(bytes: u64, kind: Kind) -> Result<u64> {
    let site = CallSite::here();
    let backend = runtime().machine()?.backend();
    let address = backend.allocate(bytes, site).inspect_err(|_| refused(bytes))?;
    remember(Allocation { address, bytes, kind, site })?;
    Ok(address)
}

/// Says why there is no such memory.
fn refused(bytes: u64) {
    let (total, free) = runtime().machine().map(|machine| machine.backend().capacity()).unwrap_or_default();
    let negative = if bytes > i64::MAX as u64 { ", which is a negative size," } else { "" };
    runtime().tell(format!(
        "an allocation of {bytes} bytes{negative} is refused: the card has {total}, of which {free} are free"
    ));
}

/// Takes an allocation into the table, and writes it down. Memory of a pool is written down by its operation.
fn remember(allocation: Allocation) -> Result {
    let Allocation { address, bytes, kind, .. } = allocation;
    runtime().addresses.lock().add(allocation);
    let kind = match kind {
        Kind::Device => Traced::Device,
        Kind::Managed => Traced::Managed,
        Kind::Pinned(_) => Traced::Pinned,
        Kind::Registered(_) => Traced::Registered,
        Kind::Pool(_) | Kind::Graph { .. } => return Ok(()),
    };
    runtime().machine()?.note(|| Call::Allocate { address, bytes, kind });
    Ok(())
}

/// Pages of the host that kernels reach at the same address, for a call of the program.
pub fn allocate_host(bytes: usize, kind: Kind, site: CallSite) -> Result<u64> {
    let backend = runtime().machine()?.backend();
    let pages = Pages::new(bytes, kind)?;
    let (program, device) = pages.sides();
    let address = program.expose_provenance() as u64;
    // SAFETY: the pages stay until `free_host` has unmapped them from the device.
    let mapped = unsafe { backend.map_host(address, device, bytes, site) };
    if let Err(status) = mapped {
        give_back(address, bytes);
        return Err(status);
    }
    remember(Allocation { address, bytes: bytes as u64, kind, site })?;
    Ok(address)
}

/// Pages of the host that kernels reach.
enum Pages {
    /// Where accesses of the program are watched: mapped once for it and once for the device.
    Watched(Shared),
    Plain(*mut u8),
}

impl Pages {
    fn new(bytes: usize, kind: Kind) -> Result<Pages> {
        if host_access::is_on()
            && let Ok(shared) = host_access::create(bytes, kind == Kind::Managed)
        {
            return Ok(Pages::Watched(shared));
        }
        let length = length(bytes).ok_or(Status::MemoryAllocation)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: new pages are asked for, at a place that the system chooses.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED { Err(Status::MemoryAllocation) } else { Ok(Pages::Plain(base.cast())) }
    }

    /// Where the program has them, and where the device does.
    fn sides(&self) -> (*mut u8, *mut u8) {
        match self {
            Pages::Watched(shared) => (shared.program, shared.device),
            Pages::Plain(base) => (*base, *base),
        }
    }
}

fn length(bytes: usize) -> Option<usize> {
    bytes.max(1).checked_next_multiple_of(PAGE)
}

/// Unmaps pages of [`allocate_host`] that nobody uses any more.
fn give_back(address: u64, bytes: usize) {
    if !host_access::remove(address as usize) {
        let length = length(bytes).unwrap_or(PAGE);
        // SAFETY: `Pages::new` made them, and nobody uses them.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(address as usize), length) };
    }
}

/// Gives host pages back when nothing that was submitted can use them any more.
fn free_host(allocation: Allocation) -> Result {
    let machine = runtime().machine()?;
    machine.note(|| Call::Free { address: allocation.address });
    machine.wait_all()?;
    let site = CallSite::here();
    machine.backend().unmap_host(allocation.address, site)?;
    runtime().addresses.lock().remove(allocation.address, site);
    if allocation.kind == Kind::Managed {
        machine.knows(Target::Device);
    }
    give_back(allocation.address, allocation.bytes as usize);
    Ok(())
}

/// `cudaFree`: waits for the device first, as its documentation says of implicit synchronisation.
fn free(pointer: Pointer) -> Result {
    if pointer.is_null() {
        runtime().machine()?;
        return Ok(());
    }
    let address = pointer.addr() as u64;
    let found = runtime().addresses.lock().starting_at(address);
    match found {
        Some(found) if matches!(found.kind, Kind::Graph { .. }) => {
            let machine = runtime().machine()?;
            machine.note(|| Call::Free { address });
            machine.wait_all()?;
            runtime().addresses.lock().give_back(address);
            Ok(())
        }
        Some(found) if found.kind.is_device() => {
            let machine = runtime().machine()?;
            machine.note(|| Call::Free { address: found.address });
            machine.wait_all()?;
            if found.kind == Kind::Device {
                machine.knows(Target::Device);
            }
            let site = CallSite::here();
            runtime().addresses.lock().remove(found.address, site);
            machine.backend().free(found.address, site)
        }
        Some(found) if found.kind == Kind::Managed => free_host(found),
        _ => Err(memory_faults::wrong_free(address, "cudaFree")),
    }
}

/// Gives back everything that the program has allocated (`cudaDeviceReset`).
pub fn free_all() -> Result {
    let machine = runtime().machine()?;
    let site = CallSite::here();
    let all: Vec<Allocation> = runtime().addresses.lock().all().copied().collect();
    // Variables belong to their modules, which stay loaded.
    for range in all.iter().filter(|range| range.site != CallSite::default()) {
        runtime().addresses.lock().remove(range.address, site);
        if range.kind.is_host() {
            // The pages stay for threads of the program that may still be in them.
            machine.backend().unmap_host(range.address, site)?;
        } else {
            machine.backend().free(range.address, site)?;
        }
    }
    Ok(())
}

fn pinned(pointer: *mut u64, bytes: usize, flags: u32) -> Result {
    if pointer.is_null() || flags & !HOST_FLAGS != 0 {
        return Err(Status::InvalidValue);
    }
    let address = if bytes == 0 { 0 } else { allocate_host(bytes, Kind::Pinned(flags), CallSite::here())? };
    // SAFETY: the program's pointer for the result.
    unsafe { put(pointer, address) }
}

export! {
    enter fn cudaMalloc(pointer: *mut u64, bytes: usize) {
        if pointer.is_null() {
            return Err(Status::InvalidValue);
        }
        let address = if bytes == 0 { 0 } else { allocate(bytes as u64, Kind::Device)? };
        // SAFETY: the program's pointer for the result.
        unsafe { put(pointer, address) }
    }

    enter fn cudaFree(pointer: Pointer) { free(pointer) }

    enter fn cudaMallocHost(pointer: *mut u64, bytes: usize) { pinned(pointer, bytes, 0) }

    enter fn cudaHostAlloc(pointer: *mut u64, bytes: usize, flags: u32) { pinned(pointer, bytes, flags) }

    enter fn cudaFreeHost(pointer: Pointer) {
        if pointer.is_null() {
            return Ok(());
        }
        let found = runtime().addresses.lock().starting_at(pointer.addr() as u64);
        match found {
            Some(found) if matches!(found.kind, Kind::Pinned(_)) => free_host(found),
            _ => Err(memory_faults::wrong_free(pointer.addr() as u64, "cudaFreeHost")),
        }
    }

    enter fn cudaMallocManaged(pointer: *mut u64, bytes: usize, flags: u32) {
        if pointer.is_null() || bytes == 0 || !matches!(flags, 1 | 2) {
            return Err(Status::InvalidValue);
        }
        let address = allocate_host(bytes, Kind::Managed, CallSite::here())?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(pointer, address) }
    }

    enter fn cudaMallocPitch(pointer: *mut u64, pitch: *mut usize, width: usize, height: usize) {
        let row = width.checked_next_multiple_of(PITCH).ok_or(Status::InvalidValue)?;
        let bytes = row.checked_mul(height).ok_or(Status::MemoryAllocation)?;
        if pointer.is_null() || pitch.is_null() {
            return Err(Status::InvalidValue);
        }
        let address = if bytes == 0 { 0 } else { allocate(bytes as u64, Kind::Device)? };
        // SAFETY: the program's pointers for the results.
        unsafe {
            put(pointer, address)?;
            put(pitch, row)
        }
    }

    enter fn cudaMalloc3D(pointer: *mut PitchedPtr, extent: Extent) {
        let pitch = extent.width.checked_next_multiple_of(PITCH).ok_or(Status::InvalidValue)?;
        let bytes = pitch.checked_mul(extent.height).and_then(|slice| slice.checked_mul(extent.depth));
        let bytes = bytes.ok_or(Status::MemoryAllocation)?;
        if pointer.is_null() {
            return Err(Status::InvalidValue);
        }
        let address = if bytes == 0 { 0 } else { allocate(bytes as u64, Kind::Device)? };
        let ptr = std::ptr::with_exposed_provenance_mut(address as usize);
        // SAFETY: the program's pointer for the result.
        unsafe { put(pointer, PitchedPtr { ptr, pitch, xsize: extent.width, ysize: extent.height }) }
    }

    enter fn cudaHostRegister(pointer: Pointer, bytes: usize, flags: u32) {
        if pointer.is_null() || bytes == 0 || flags & !REGISTER_FLAGS != 0 {
            return Err(Status::InvalidValue);
        }
        let backend = runtime().machine()?.backend();
        let site = CallSite::here();
        let address = pointer.expose_provenance() as u64;
        // SAFETY: the program keeps registered memory until it has unregistered it.
        unsafe { backend.map_host(address, pointer.cast(), bytes, site)? };
        if standstill_cuda_driver::host::is_shared_memory(address) {
            runtime().machine()?.share_with_others();
        }
        let kind = Kind::Registered(flags);
        remember(Allocation { address, bytes: bytes as u64, kind, site })
    }

    enter fn cudaHostUnregister(pointer: Pointer) {
        let found = runtime().addresses.lock().starting_at(pointer.addr() as u64);
        match found {
            Some(Allocation { address, kind: Kind::Registered(_), .. }) => {
                let machine = runtime().machine()?;
                machine.note(|| Call::Free { address });
                machine.wait_all()?;
                let site = CallSite::here();
                runtime().addresses.lock().remove(address, site);
                machine.backend().unmap_host(address, site)
            }
            _ => Err(Status::HostMemoryNotRegistered),
        }
    }

    enter fn cudaHostGetDevicePointer(device: *mut u64, host: Pointer, _flags: u32) {
        let found = runtime().addresses.lock().find(host.addr() as u64);
        match found {
            // Host memory is reached at its own address.
            Some(found) if found.kind.is_host() => {
                // SAFETY: the program's pointer for the result.
                unsafe { put(device, host.addr() as u64) }
            }
            _ => Err(Status::InvalidValue),
        }
    }

    enter fn cudaHostGetFlags(flags: *mut u32, host: Pointer) {
        let found = runtime().addresses.lock().find(host.addr() as u64);
        match found.map(|found| found.kind) {
            // SAFETY: the program's pointer for the result.
            Some(Kind::Pinned(set) | Kind::Registered(set)) => unsafe { put(flags, set | 2) },
            _ => Err(Status::InvalidValue),
        }
    }

    enter fn cudaMemGetInfo(free: *mut usize, total: *mut usize) {
        let (all, left) = runtime().machine()?.backend().capacity();
        // SAFETY: the program's pointers for the results.
        unsafe {
            put(free, left as usize)?;
            put(total, all as usize)
        }
    }

    enter fn cudaPointerGetAttributes(attributes: *mut PointerAttributes, pointer: ConstPointer) {
        let address = pointer.addr() as u64;
        let found = runtime().addresses.lock().find(address).map(|found| found.kind);
        let own = runtime().machine()?.backend().holds(address);
        let same = pointer.cast_mut();
        let none = std::ptr::null_mut();
        let (kind, device_pointer, host_pointer) = match found {
            Some(kind) if kind.is_device() => (2, same, none),
            Some(Kind::Pinned(_) | Kind::Registered(_)) => (1, same, same),
            Some(Kind::Managed) => (3, same, same),
            _ if own => (2, same, none),
            _ => (0, none, same),
        };
        let device = if kind == 0 { -2 } else { 0 };
        // SAFETY: the program's pointer for the result.
        unsafe { put(attributes, PointerAttributes { kind, device, device_pointer, host_pointer }) }
    }

    enter fn cudaMemAdvise(pointer: ConstPointer, bytes: usize, _advice: c_int, _device: c_int) {
        managed_range(pointer, bytes)
    }

    enter fn cudaMemAdvise_v2(pointer: ConstPointer, bytes: usize, _advice: c_int, _location: MemLocation) {
        managed_range(pointer, bytes)
    }

    enter fn cudaMemRangeGetAttribute(
        data: *mut c_int, size: usize, attribute: c_int, pointer: ConstPointer, bytes: usize,
    ) {
        managed_range(pointer, bytes)?;
        if size < size_of::<c_int>() || !(1..=8).contains(&attribute) {
            return Err(Status::InvalidValue);
        }
        // Mostly read, accessed by: not set. Places: the host.
        let value = if matches!(attribute, 2 | 4) { -1 } else { 0 };
        // SAFETY: the program's pointer for the result, of at least this size.
        unsafe { put(data, value) }
    }
}

fn managed_range(pointer: ConstPointer, bytes: usize) -> Result {
    let address = pointer.addr() as u64;
    let found = runtime().addresses.lock().find(address);
    match found {
        Some(found) if found.kind == Kind::Managed && found.holds(address, bytes as u64) => Ok(()),
        _ => Err(Status::InvalidValue),
    }
}

/// Reads a C value of the program.
pub fn read<T: Copy>(pointer: *const T) -> Result<T> {
    // SAFETY: the program passes null or a pointer to a value.
    unsafe { get(pointer) }
}
