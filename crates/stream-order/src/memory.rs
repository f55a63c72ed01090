//! The program's memory: what there is, and how it came to be.

use std::ops::Range;

use rustc_hash::FxHashMap;
use standstill_trace::Allocation;

/// What there is.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Allocations that are no stream's, by first byte.
    allocations: FxHashMap<u64, (u64, Allocation)>,
    /// Memory of the program's own, whose accesses by the host are not seen.
    registered: Vec<Range<u64>>,
    /// Contexts of those that are not of the first.
    contexts: FxHashMap<u64, u32>,
    /// Sizes of stream-ordered allocations, by first byte.
    pooled: FxHashMap<u64, u64>,
}

/// Memory that is given back by a call that is no operation of a stream.
pub(crate) struct Freed {
    pub(crate) range: Range<u64>,
    pub(crate) kind: Allocation,
    /// Its context, if not the first.
    pub(crate) context: Option<u32>,
}

fn range(address: u64, bytes: u64) -> Range<u64> {
    address..address.saturating_add(bytes)
}

impl Memory {
    pub(crate) fn allocate(&mut self, address: u64, bytes: u64, kind: Allocation) {
        self.allocations.insert(address, (bytes, kind));
        if kind == Allocation::Registered {
            self.registered.push(range(address, bytes));
        }
    }

    pub(crate) fn set_context(&mut self, address: u64, context: u32) {
        self.contexts.insert(address, context);
    }

    pub(crate) fn is_registered(&self, address: u64) -> bool {
        self.registered.iter().any(|range| range.contains(&address))
    }

    /// A stream-ordered allocation.
    pub(crate) fn pool(&mut self, address: u64, bytes: u64) -> Range<u64> {
        self.pooled.insert(address, bytes);
        range(address, bytes)
    }

    /// A stream gives it back.
    pub(crate) fn unpool(&mut self, address: u64) -> Range<u64> {
        range(address, self.pooled.remove(&address).unwrap_or(1))
    }

    /// A call gives memory back.
    pub(crate) fn free(&mut self, address: u64) -> Freed {
        let (bytes, kind) = match self.pooled.remove(&address) {
            Some(bytes) => (bytes, Allocation::Pool),
            None => self.allocations.remove(&address).unwrap_or((0, Allocation::Device)),
        };
        self.registered.retain(|range| range.start != address);
        Freed { range: range(address, bytes), kind, context: self.contexts.remove(&address) }
    }
}
