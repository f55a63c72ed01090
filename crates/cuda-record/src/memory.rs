//! What kind of memory an address is in, as far as calls have told.

use std::collections::BTreeMap;

use standstill_trace::Memory;

/// The program's allocations.
#[derive(Debug, Default)]
pub struct Ranges(BTreeMap<u64, (u64, Memory)>);

impl Ranges {
    /// Memory is there from now on.
    pub fn add(&mut self, address: u64, bytes: u64, memory: Memory) {
        self.0.insert(address, (bytes, memory));
    }

    /// It is gone.
    pub fn remove(&mut self, address: u64) {
        self.0.remove(&address);
    }

    /// What kind an address is in.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<Memory> {
        let (start, (bytes, memory)) = self.0.range(..=address).next_back()?;
        (address - start < *bytes).then_some(*memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_the_allocation_around_it() {
        let mut ranges = Ranges::default();
        ranges.add(100, 10, Memory::Pinned);
        ranges.add(110, 10, Memory::Device);
        let kinds: Vec<_> = [99, 100, 109, 110, 119, 120].map(|at| ranges.find(at)).to_vec();
        let (pinned, device) = (Some(Memory::Pinned), Some(Memory::Device));
        assert_eq!(kinds, [None, pinned, pinned, device, device, None]);
        ranges.remove(100);
        assert_eq!(ranges.find(105), None);
    }
}
