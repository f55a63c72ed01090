//! What kind of memory an address is in, as far as calls have told.

use std::collections::BTreeMap;

use standstill_trace::Memory;

/// Addresses that are known again.
const RECENT: usize = 256;

/// Where all memory of a kind lies that the program ever had, from the first byte to the last.
#[derive(Debug, Clone, Copy)]
pub struct Spans([(u64, u64); 2]);

impl Spans {
    /// No memory yet.
    pub const NONE: Spans = Spans([(u64::MAX, 0); 2]);

    fn add(&mut self, address: u64, bytes: u64, memory: Memory) {
        let [devices, hosts] = &mut self.0;
        let (first, end) = if memory == Memory::Device { devices } else { hosts };
        (*first, *end) = ((*first).min(address), (*end).max(address.saturating_add(bytes)));
    }

    /// Whether a word may be an address of the program's memory.
    #[inline(always)]
    #[must_use]
    pub fn may_hold(&self, word: u64) -> bool {
        self.0.iter().any(|(first, end)| *first <= word && word < *end)
    }
}

/// The program's allocations.
#[derive(Debug)]
pub struct Ranges {
    pub spans: Spans,
    all: BTreeMap<u64, (u64, Memory)>,
    /// Addresses that were asked for: programs copy from and to the same places again and again.
    recent: Vec<(u64, Option<Memory>)>,
}

impl Default for Ranges {
    fn default() -> Ranges {
        Ranges { spans: Spans::NONE, all: BTreeMap::new(), recent: vec![(0, None); RECENT] }
    }
}

impl Ranges {
    /// Memory is there from now on.
    pub fn add(&mut self, address: u64, bytes: u64, memory: Memory) {
        self.recent.fill((0, None));
        self.spans.add(address, bytes, memory);
        self.all.insert(address, (bytes, memory));
    }

    /// It is gone.
    pub fn remove(&mut self, address: u64) {
        self.recent.fill((0, None));
        self.all.remove(&address);
    }

    /// What kind an address is in.
    #[must_use]
    pub fn find(&mut self, address: u64) -> Option<Memory> {
        let place = (address >> 8 ^ address >> 16) as usize % RECENT;
        let known = self.recent.get(place).filter(|(known, _)| *known == address && address != 0);
        if let Some((_, memory)) = known {
            return *memory;
        }
        let memory = self.look_up(address);
        if let Some(recent) = self.recent.get_mut(place) {
            *recent = (address, memory);
        }
        memory
    }

    fn look_up(&self, address: u64) -> Option<Memory> {
        let (start, (bytes, memory)) = self.all.range(..=address).next_back()?;
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
        let (pinned, device) = (Some(Memory::Pinned), Some(Memory::Device));
        for _ in 0..2 {
            let kinds: Vec<_> = [99, 100, 109, 110, 119, 120].map(|at| ranges.find(at)).to_vec();
            assert_eq!(kinds, [None, pinned, pinned, device, device, None]);
        }
        let held: Vec<bool> = [99, 100, 110, 119, 120].map(|word| ranges.spans.may_hold(word)).to_vec();
        assert_eq!(held, [false, true, true, true, false]);
        ranges.remove(100);
        assert_eq!(ranges.find(105), None);
    }
}
