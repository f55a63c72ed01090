//! What each address of the program's device memory is.

use std::collections::{BTreeMap, VecDeque};

use standstill_cuda_driver::operation::Memory;
use standstill_cuda_driver::{CallSite, Status, host};

use crate::call::Result;
use crate::memory_faults;
use crate::runtime::runtime;

/// How memory was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `cudaMalloc` and its relatives.
    Device,
    /// Stream-ordered, from a pool.
    Pool(u64),
    /// A graph's, at the same address in each launch (CUDA C++ Programming Guide, «Graph Memory Nodes»); `given_back` when
    /// the graph or the program frees it.
    Graph {
        /// Something frees it.
        given_back: bool,
    },
    /// `cudaHostAlloc`, `cudaMallocHost`, with its flags.
    Pinned(u32),
    /// `cudaHostRegister`, with its flags.
    Registered(u32),
    /// `cudaMallocManaged`, or a managed variable.
    Managed,
}

impl Kind {
    /// Whether the bytes are the host's.
    pub fn is_host(self) -> bool {
        !self.is_device()
    }

    /// Whether the bytes are the device's own.
    pub fn is_device(self) -> bool {
        matches!(self, Kind::Device | Kind::Pool(_) | Kind::Graph { .. })
    }
}

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    pub address: u64,
    pub bytes: u64,
    pub kind: Kind,
    /// The call that made it.
    pub site: CallSite,
}

impl Allocation {
    /// Whether `bytes` bytes from `address` lie in it.
    pub fn holds(&self, address: u64, bytes: u64) -> bool {
        let inside = address.checked_sub(self.address).and_then(|offset| offset.checked_add(bytes));
        inside.is_some_and(|end| end <= self.bytes)
    }
}

/// All ranges by their first address.
#[derive(Debug, Default)]
pub struct AddressSpace {
    ranges: BTreeMap<u64, Allocation>,
    /// What was freed lately, and by which call.
    gone: VecDeque<(Allocation, CallSite)>,
}

/// So many freed ranges are remembered.
const REMEMBERED: usize = 4096;

impl AddressSpace {
    pub fn add(&mut self, allocation: Allocation) {
        self.ranges.insert(allocation.address, allocation);
    }

    /// The range that begins at the address.
    pub fn starting_at(&self, address: u64) -> Option<Allocation> {
        self.ranges.get(&address).copied()
    }

    /// Memory of a graph is freed, by the graph itself or by the program.
    pub fn give_back(&mut self, address: u64) {
        if let Some(Allocation { kind: Kind::Graph { given_back }, .. }) = self.ranges.get_mut(&address) {
            *given_back = true;
        }
    }

    /// Forgets a range that the program gives back by a call.
    pub fn remove(&mut self, address: u64, by: CallSite) {
        if let Some(allocation) = self.ranges.remove(&address) {
            if self.gone.len() == REMEMBERED {
                self.gone.pop_front();
            }
            self.gone.push_back((allocation, by));
        }
    }

    /// The freed range that held the address last, and the call that freed it.
    pub fn freed(&self, address: u64) -> Option<(Allocation, CallSite)> {
        self.gone.iter().rev().find(|(range, _)| range.holds(address, 1)).copied()
    }

    /// The range that holds the address.
    pub fn find(&self, address: u64) -> Option<Allocation> {
        let (_, range) = self.ranges.range(..=address).next_back()?;
        range.holds(address, 1).then_some(*range)
    }

    pub fn all(&self) -> impl Iterator<Item = &Allocation> {
        self.ranges.values()
    }
}

/// What an address is in, for a copy of `bytes` bytes.
#[derive(Debug, Clone)]
pub struct Classified {
    pub memory: Memory,
    /// `None` for pageable memory of the host.
    pub kind: Option<Kind>,
}

/// Tells device memory from the host's.
///
/// # Errors
/// When the range begins in device memory and ends outside of it.
pub fn classify(address: u64, bytes: u64) -> Result<Classified> {
    let found = runtime().addresses.lock().find(address);
    match found {
        Some(range) if range.holds(address, bytes) => Ok(Classified {
            memory: if range.kind.is_host() { Memory::Host } else { Memory::Device },
            kind: Some(range.kind),
        }),
        Some(range) if range.kind.is_host() => Ok(Classified { memory: Memory::Host, kind: None }),
        Some(range) => {
            memory_faults::beyond_end(range, address, bytes);
            Err(Status::InvalidValue)
        }
        // Variables of modules are the device's own.
        None if runtime().machine()?.backend().holds(address) => {
            Ok(Classified { memory: Memory::Device, kind: Some(Kind::Device) })
        }
        None if is_gone(address) => {
            memory_faults::freed(address);
            Err(Status::InvalidValue)
        }
        None => Ok(Classified { memory: Memory::Host, kind: None }),
    }
}

/// Whether the address was the device's and is nobody's now.
fn is_gone(address: u64) -> bool {
    let freed = runtime().addresses.lock().freed(address);
    // The system may have given pages of the host to somebody else since.
    freed.is_some_and(|(range, _)| !range.kind.is_host() || !host::is_own_memory(address))
}
