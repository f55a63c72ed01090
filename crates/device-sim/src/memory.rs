//! Global memory: allocations at 64-bit addresses, and host memory that kernels may reach.

pub(crate) mod ahead;
pub(crate) mod halves;
pub(crate) mod region;
mod table;
mod written;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use standstill_findings::Finding;

use crate::address;
use crate::follow::doubt::GlobalDoubts;
use region::Region;
pub(crate) use table::{Allocation, Table};

/// Allocations start at multiples of this, as the CUDA runtime's do.
const ALIGNMENT: u64 = 512;
/// Between two allocations lies at least this much that belongs to none, so that an access just past the
/// end is seen.
const GAP: u64 = 512;

/// What may go wrong with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The card has less free memory than was asked for.
    #[error("out of memory: {asked} bytes asked for, {free} free")]
    OutOfMemory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes free.
        free: u64,
    },
    /// No allocation holds all of these bytes.
    #[error("{bytes} bytes at {address:#x} are not in one allocation")]
    NotAllocated {
        /// First address.
        address: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// Not the first address of an allocation.
    #[error("{0:#x} is not the start of an allocation")]
    NotAStart(u64),
    /// An address range that is used already.
    #[error("{0:#x} overlaps an allocation")]
    Overlaps(u64),
}

/// What an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocationInfo {
    /// First address.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Host memory that was mapped.
    pub host: bool,
    /// The caller's own mark, given when it was allocated.
    pub mark: u64,
}

/// Global memory of a device. All methods may be called from several threads, also while kernels run.
#[derive(Debug)]
pub struct Memory {
    table: RwLock<Arc<Table>>,
    /// Counts changes of the table.
    version: AtomicU64,
    capacity: u64,
    /// It is known of marked allocations which of their bytes were written.
    watched: bool,
    doubts: GlobalDoubts,
}

impl Memory {
    pub(crate) fn new(capacity: u64, watched: bool) -> Memory {
        Memory {
            table: RwLock::default(),
            version: AtomicU64::new(0),
            capacity,
            watched,
            doubts: GlobalDoubts::default(),
        }
    }

    /// What is doubtful of its bytes.
    pub(crate) fn doubts(&self) -> &GlobalDoubts {
        &self.doubts
    }

    /// A finding when something in this range, which the host is about to see, comes from memory that nobody wrote, or
    /// has no known value; with the mark of the allocation that it came from.
    pub fn doubtful(&self, address: u64, bytes: u64) -> Option<(Finding, u64)> {
        let doubt = self.doubts.of(address, bytes);
        let origin = (doubt.some_unwritten || doubt.unknown).then(|| self.doubts.origin(doubt.origin))??;
        Some((crate::follow::copied(&origin), origin.mark))
    }

    /// The table as it is now.
    pub(crate) fn table(&self) -> Arc<Table> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes whenever something is allocated or freed.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    fn change<T>(&self, act: impl FnOnce(&mut Table) -> T) -> T {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let result = act(Arc::make_mut(&mut table));
        self.version.fetch_add(1, Ordering::Release);
        result
    }

    /// Bytes of the card, and how many of them are free.
    pub fn capacity(&self) -> (u64, u64) {
        (self.capacity, self.capacity.saturating_sub(self.table().used))
    }

    /// Allocates zeroed memory and gives its address, a multiple of 512.
    ///
    /// # Errors
    /// When the card, or this machine, has less free memory.
    pub fn allocate(&self, bytes: u64) -> Result<u64, MemoryError> {
        self.place(bytes, 0, false)
    }

    /// [`Memory::allocate`] with a mark that [`Memory::find`] gives back, such as the number of the call.
    ///
    /// # Errors
    /// When the card, or this machine, has less free memory.
    pub fn allocate_marked(&self, bytes: u64, mark: u64) -> Result<u64, MemoryError> {
        self.place(bytes, mark, self.watched)
    }

    fn place(&self, bytes: u64, mark: u64, watched: bool) -> Result<u64, MemoryError> {
        let (_, free) = self.capacity();
        let full = MemoryError::OutOfMemory { asked: bytes, free };
        if bytes > free {
            return Err(full);
        }
        let size = usize::try_from(bytes.max(1)).map_err(|_| full)?;
        let region = Region::owned(size).ok_or(full)?;
        let region = Arc::new(if watched { region.watched().ok_or(full)? } else { region });
        self.change(|table| {
            let address = table.next.max(address::GLOBAL).next_multiple_of(ALIGNMENT);
            table.next = address.saturating_add(bytes.max(1)).saturating_add(GAP);
            table.used += bytes;
            table.insert(Allocation {
                address,
                bytes: bytes.max(1),
                counted: bytes,
                region,
                host: false,
                mark,
            });
            Ok(address)
        })
    }

    /// Allocates zeroed memory at an address, as where a launch is repeated that found it there.
    ///
    /// # Errors
    /// When the range overlaps another allocation or ends nowhere, or there is less free memory.
    pub fn allocate_at(&self, address: u64, bytes: u64) -> Result<(), MemoryError> {
        let (_, free) = self.capacity();
        let full = MemoryError::OutOfMemory { asked: bytes, free };
        let size = usize::try_from(bytes.max(1)).map_err(|_| full)?;
        if bytes > free || address.checked_add(bytes.max(1)).is_none() {
            return Err(full);
        }
        let region = Arc::new(Region::owned(size).ok_or(full)?);
        let end = address.saturating_add(bytes.max(1)).saturating_add(GAP);
        let bytes = bytes.max(1);
        let allocation = Allocation { address, bytes, counted: bytes, region, host: false, mark: 0 };
        self.change(|table| match table.overlaps(address, bytes) {
            true => Err(MemoryError::Overlaps(address)),
            false => {
                if address >= address::GLOBAL {
                    table.next = table.next.max(end);
                }
                table.used += bytes;
                table.insert(allocation);
                Ok(())
            }
        })
    }

    /// Makes host memory reachable for kernels at an address, which may be its own or another mapping of it.
    ///
    /// # Safety
    /// The bytes from `base` on must stay mapped, readable and writable until [`Memory::free`] of this address has
    /// returned and no grid runs any more that was there before, and nothing in Rust code may hold a
    /// reference to them.
    ///
    /// # Errors
    /// When the range overlaps another allocation.
    #[allow(unsafe_code, reason = "the caller vouches for memory of the host program")]
    pub unsafe fn map_host(
        &self,
        address: u64,
        base: *mut u8,
        bytes: usize,
        mark: u64,
    ) -> Result<u64, MemoryError> {
        // SAFETY: promised by the caller.
        let region = Arc::new(unsafe { Region::host(base, bytes) });
        let allocation = Allocation { address, bytes: bytes as u64, counted: 0, region, host: true, mark };
        self.change(|table| match table.overlaps(address, bytes as u64) {
            true => Err(MemoryError::Overlaps(address)),
            false => {
                table.insert(allocation);
                Ok(address)
            }
        })
    }

    /// Frees the allocation, or unmaps the host memory, that starts at `address`.
    ///
    /// # Errors
    /// When none starts there.
    pub fn free(&self, address: u64) -> Result<AllocationInfo, MemoryError> {
        self.change(|table| match table.remove(address) {
            Some(allocation) => {
                table.used = table.used.saturating_sub(allocation.counted);
                Ok(allocation.info())
            }
            None => Err(MemoryError::NotAStart(address)),
        })
    }

    /// The allocation that holds `address`.
    pub fn find(&self, address: u64) -> Option<AllocationInfo> {
        self.table().find(address).map(|allocation| allocation.info())
    }

    /// All allocations, by address.
    pub fn allocations(&self) -> Vec<AllocationInfo> {
        self.table().all().map(Allocation::info).collect()
    }

    /// Copies device memory to the host.
    ///
    /// # Errors
    /// When the bytes do not lie in one allocation.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        let bytes = into.len() as u64;
        self.inside(address, bytes, |region, offset| region.read(offset, into))
    }

    /// Copies host bytes to device memory.
    ///
    /// # Errors
    /// When the bytes do not lie in one allocation.
    pub fn write(&self, address: u64, from: &[u8]) -> Result<(), MemoryError> {
        self.doubts.set(address, from.len() as u64, None);
        self.inside(address, from.len() as u64, |region, offset| {
            region.note_written(offset, from.len());
            region.write(offset, from)
        })
    }

    /// Repeats a pattern over `bytes` bytes; a pattern that does not fit at the end is cut.
    ///
    /// # Errors
    /// When the bytes do not lie in one allocation.
    pub fn fill(&self, address: u64, pattern: &[u8], bytes: u64) -> Result<(), MemoryError> {
        let piece: Vec<u8> = pattern.iter().copied().cycle().take(pattern.len() * 1024).collect();
        let mut at = 0;
        while at < bytes && !piece.is_empty() {
            let length = (piece.len() as u64).min(bytes - at);
            self.write(address.saturating_add(at), piece.get(..length as usize).unwrap_or(&piece))?;
            at += length;
        }
        Ok(())
    }

    /// Copies within device memory; overlapping ranges give the bytes that were there before.
    ///
    /// # Errors
    /// When either range does not lie in one allocation.
    pub fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<(), MemoryError> {
        let outside = MemoryError::NotAllocated { address: from, bytes };
        let mut buffer = vec![0; usize::try_from(bytes).map_err(|_| outside)?];
        self.read(from, &mut buffer)?;
        self.write(to, &buffer)
    }

    fn inside(
        &self,
        address: u64,
        bytes: u64,
        act: impl FnOnce(&Region, usize) -> bool,
    ) -> Result<(), MemoryError> {
        let outside = MemoryError::NotAllocated { address, bytes };
        if bytes == 0 {
            return Ok(());
        }
        let table = self.table();
        let allocation = table.find(address).ok_or(outside)?;
        match act(&allocation.region, (address - allocation.address) as usize) {
            true => Ok(()),
            false => Err(outside),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_apart_and_zeroed() {
        let memory = Memory::new(1 << 20, false);
        let first = memory.allocate(100).unwrap();
        let second = memory.allocate(100).unwrap();
        assert!(second >= first + 100 + GAP);
        let mut bytes = [1; 4];
        memory.read(first + 96, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 4]);
        assert_eq!(
            memory.read(first + 97, &mut bytes),
            Err(MemoryError::NotAllocated { address: first + 97, bytes: 4 })
        );
        memory.fill(first, &[1, 2], 5).unwrap();
        memory.read(first + 2, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 2, 1, 0]);
        memory.copy(second, first, 4).unwrap();
        memory.read(second, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 2, 1, 2]);
        assert_eq!(memory.capacity(), (1 << 20, (1 << 20) - 200));
        assert!(matches!(memory.allocate(1 << 20), Err(MemoryError::OutOfMemory { .. })));
        assert_eq!(memory.free(first + 1), Err(MemoryError::NotAStart(first + 1)));
        memory.free(first).unwrap();
        assert_eq!(memory.find(first), None);
        assert_eq!(memory.free(first), Err(MemoryError::NotAStart(first)));
    }

    #[test]
    fn allocations_can_be_put_at_an_address() {
        let memory = Memory::new(1 << 20, false);
        let place = address::GLOBAL + 0x1000;
        memory.allocate_at(place, 8).unwrap();
        memory.write(place, &[7; 8]).unwrap();
        assert_eq!(memory.allocate_at(place + 7, 8), Err(MemoryError::Overlaps(place + 7)));
        assert_eq!(memory.allocate_at(place - 7, 8), Err(MemoryError::Overlaps(place - 7)));
        memory.allocate_at(place - 8, 8).unwrap();
        assert!(memory.allocate(8).unwrap() > place);
        for (address, bytes) in [(u64::MAX, 8), (64, 1 << 40), (64, u64::MAX)] {
            assert!(matches!(memory.allocate_at(address, bytes), Err(MemoryError::OutOfMemory { .. })));
        }
        assert_eq!(memory.capacity(), (1 << 20, (1 << 20) - 24));
    }
}
