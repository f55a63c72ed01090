//! The table of allocations.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::AllocationInfo;
use super::region::Region;

/// A run of addresses and the bytes behind it.
#[derive(Debug, Clone)]
pub(crate) struct Allocation {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    /// What it takes of the card's memory.
    pub(crate) counted: u64,
    pub(crate) region: Arc<Region>,
    pub(crate) host: bool,
    pub(crate) mark: u64,
}

impl Allocation {
    pub(crate) fn info(&self) -> AllocationInfo {
        AllocationInfo {
            address: self.address,
            bytes: self.counted.max(if self.host { self.bytes } else { 0 }),
            host: self.host,
            mark: self.mark,
        }
    }
}

/// All allocations by address. Runs of one version share it, so that lookups need no lock.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    by_address: BTreeMap<u64, Arc<Allocation>>,
    pub(super) next: u64,
    pub(super) used: u64,
}

impl Table {
    /// The allocation that holds an address.
    pub(crate) fn find(&self, address: u64) -> Option<&Arc<Allocation>> {
        let (_, allocation) = self.by_address.range(..=address).next_back()?;
        (address - allocation.address < allocation.bytes).then_some(allocation)
    }

    /// The nearest allocation that begins at or below an address, though it may end before.
    pub(crate) fn below(&self, address: u64) -> Option<&Arc<Allocation>> {
        self.by_address.range(..=address).next_back().map(|(_, allocation)| allocation)
    }

    /// The first allocation that begins above an address.
    pub(crate) fn above(&self, address: u64) -> Option<&Arc<Allocation>> {
        let above = address.checked_add(1)?;
        self.by_address.range(above..).next().map(|(_, allocation)| allocation)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Allocation> {
        self.by_address.values().map(|allocation| &**allocation)
    }

    pub(super) fn overlaps(&self, address: u64, bytes: u64) -> bool {
        let last = address.saturating_add(bytes.saturating_sub(1));
        self.by_address.range(..=last).next_back().is_some_and(|(_, allocation)| {
            allocation.address.saturating_add(allocation.bytes.saturating_sub(1)) >= address
        })
    }

    pub(super) fn insert(&mut self, allocation: Allocation) {
        self.by_address.insert(allocation.address, Arc::new(allocation));
    }

    pub(super) fn remove(&mut self, address: u64) -> Option<Arc<Allocation>> {
        self.by_address.remove(&address)
    }
}
