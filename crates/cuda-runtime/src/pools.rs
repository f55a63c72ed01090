//! Stream-ordered memory and its pools (CUDA C++ Programming Guide, «Stream Ordered Memory Allocator»).
//!
//! The address is chosen when the call is made; the memory is given back when the stream comes to the free.

use std::collections::HashMap;
use std::ffi::c_int;

use standstill_cuda_driver::operation::{StreamId, Work};
use standstill_cuda_driver::{CallSite, Status};

use crate::address_space::Kind;
use crate::call::{Result, export, export_both, get, put};
use crate::graphs;
use crate::handles::{self, decode, encode};
use crate::layout::{MemLocation, MemPoolProps, Pointer, PoolHandle, StreamHandle};
use crate::memory::allocate;
use crate::memory_faults;
use crate::runtime::runtime;
use crate::streams::{enqueue, resolve};

/// The device's own pool.
const DEFAULT: u64 = 0;

const RELEASE_THRESHOLD: c_int = 4;
const RESERVED_CURRENT: c_int = 5;
const LAST_ATTRIBUTE: c_int = 15;

/// Pools by number.
#[derive(Debug)]
pub struct Pools {
    next: u64,
    known: HashMap<u64, Pool>,
    current: u64,
}

#[derive(Debug, Clone, Default)]
struct Pool {
    attributes: HashMap<c_int, u64>,
}

impl Default for Pools {
    fn default() -> Self {
        Pools { next: 1, known: HashMap::from([(DEFAULT, Pool::default())]), current: DEFAULT }
    }
}

fn pool(handle: PoolHandle) -> Result<u64> {
    let number = decode(handles::Kind::Pool, handle).map_err(|_| Status::InvalidValue)?;
    let known = runtime().pools.lock().known.contains_key(&number);
    if known { Ok(number) } else { Err(Status::InvalidValue) }
}

fn allocate_in(pointer: *mut u64, bytes: usize, pool: u64, stream: StreamId) -> Result {
    if pointer.is_null() {
        return Err(Status::InvalidValue);
    }
    let address = if bytes == 0 {
        0
    } else {
        let kind = match graphs::is_capturing(stream) {
            true => Kind::Graph { given_back: false },
            false => Kind::Pool(pool),
        };
        let address = allocate(bytes as u64, kind)?;
        enqueue(stream, Work::Allocate { address, bytes: bytes as u64 })?;
        address
    };
    // SAFETY: the program's pointer for the result.
    unsafe { put(pointer, address) }
}

export_both! {
    fn cudaMallocAsync / cudaMallocAsync_ptsz(pointer: *mut u64, bytes: usize, stream: StreamHandle) [default] {
        let current = runtime().pools.lock().current;
        allocate_in(pointer, bytes, current, resolve(stream, default)?)
    }

    fn cudaMallocFromPoolAsync / cudaMallocFromPoolAsync_ptsz(
        pointer: *mut u64, bytes: usize, handle: PoolHandle, stream: StreamHandle,
    ) [default] {
        allocate_in(pointer, bytes, pool(handle)?, resolve(stream, default)?)
    }

    fn cudaFreeAsync / cudaFreeAsync_ptsz(pointer: Pointer, stream: StreamHandle) [default] {
        let stream = resolve(stream, default)?;
        if pointer.is_null() {
            return Ok(());
        }
        let address = pointer.addr() as u64;
        let found = runtime().addresses.lock().starting_at(address);
        let stays = match found.map(|found| found.kind) {
            Some(Kind::Pool(_) | Kind::Device) => false,
            Some(Kind::Graph { .. }) => true,
            _ => return Err(memory_faults::wrong_free(address, "cudaFreeAsync")),
        };
        let site = CallSite::here();
        if stays {
            runtime().addresses.lock().give_back(address);
        } else if !graphs::is_capturing(stream) {
            runtime().addresses.lock().remove(address, site);
        }
        enqueue(stream, Work::Free { address, site, stays }).map(|_| ())
    }
}

export! {
    enter fn cudaDeviceGetDefaultMemPool(handle: *mut PoolHandle, _device: c_int) {
        // SAFETY: the program's pointer for the result.
        unsafe { put(handle, encode(handles::Kind::Pool, DEFAULT)) }
    }

    enter fn cudaDeviceGetMemPool(handle: *mut PoolHandle, _device: c_int) {
        let current = runtime().pools.lock().current;
        // SAFETY: the program's pointer for the result.
        unsafe { put(handle, encode(handles::Kind::Pool, current)) }
    }

    enter fn cudaDeviceSetMemPool(_device: c_int, handle: PoolHandle) {
        let number = pool(handle)?;
        runtime().pools.lock().current = number;
        Ok(())
    }

    enter fn cudaMemPoolCreate(handle: *mut PoolHandle, properties: *const MemPoolProps) {
        // SAFETY: the program passes whole properties.
        let properties = unsafe { get(properties)? };
        if properties.alloc_type != 1 {
            return Err(Status::InvalidValue);
        }
        let mut pools = runtime().pools.lock();
        let number = pools.next;
        pools.next += 1;
        pools.known.insert(number, Pool::default());
        // SAFETY: the program's pointer for the result.
        unsafe { put(handle, encode(handles::Kind::Pool, number)) }
    }

    enter fn cudaMemPoolDestroy(handle: PoolHandle) {
        let number = pool(handle)?;
        if number == DEFAULT {
            return Err(Status::InvalidValue);
        }
        let mut pools = runtime().pools.lock();
        pools.known.remove(&number);
        if pools.current == number {
            pools.current = DEFAULT;
        }
        Ok(())
    }

    enter fn cudaMemPoolTrimTo(handle: PoolHandle, _bytes: usize) { pool(handle).map(|_| ()) }

    enter fn cudaMemPoolSetAttribute(handle: PoolHandle, attribute: c_int, value: Pointer) {
        let number = pool(handle)?;
        if !(1..=LAST_ATTRIBUTE).contains(&attribute) || value.is_null() {
            return Err(Status::InvalidValue);
        }
        // SAFETY: the attributes up to the threshold are of these sizes.
        let value = unsafe {
            if attribute < RELEASE_THRESHOLD { u64::from(get(value.cast::<u32>())?) } else { get(value.cast::<u64>())? }
        };
        if let Some(pool) = runtime().pools.lock().known.get_mut(&number) {
            pool.attributes.insert(attribute, value);
        }
        Ok(())
    }

    enter fn cudaMemPoolGetAttribute(handle: PoolHandle, attribute: c_int, value: Pointer) {
        let number = pool(handle)?;
        if !(1..=LAST_ATTRIBUTE).contains(&attribute) || value.is_null() {
            return Err(Status::InvalidValue);
        }
        let set = runtime().pools.lock().known.get(&number).and_then(|p| p.attributes.get(&attribute).copied());
        let used: u64 = runtime()
            .addresses
            .lock()
            .all()
            .filter(|range| range.kind == Kind::Pool(number))
            .map(|range| range.bytes)
            .sum();
        // SAFETY: the attributes up to the threshold are of these sizes.
        unsafe {
            match attribute {
                1..RELEASE_THRESHOLD => put(value.cast::<c_int>(), set.unwrap_or(1) as c_int),
                RELEASE_THRESHOLD => put(value.cast::<u64>(), set.unwrap_or(0)),
                RESERVED_CURRENT.. => put(value.cast::<u64>(), used),
                _ => Err(Status::InvalidValue),
            }
        }
    }

    enter fn cudaMemPoolSetAccess(handle: PoolHandle, _list: Pointer, _count: usize) { pool(handle).map(|_| ()) }

    enter fn cudaMemPoolGetAccess(flags: *mut c_int, handle: PoolHandle, _location: *const MemLocation) {
        pool(handle)?;
        // SAFETY: the program's pointer for the result; 3 is reading and writing.
        unsafe { put(flags, 3) }
    }
}
