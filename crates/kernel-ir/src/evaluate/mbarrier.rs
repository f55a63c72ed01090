//! Memory barriers (PTX ISA, «mbarrier»): a 64-bit word of shared memory.

use crate::MbarrierOperation;

/// The contents of the word. The ISA leaves its layout open; this one is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mbarrier {
    /// Arrivals that are still missing in this phase.
    pub pending: u32,
    /// Arrivals of the next phase.
    pub expected: u32,
    /// Bytes that are still to come in this phase; more may have come than were announced.
    pub bytes: i32,
    /// Parity of the phase.
    pub phase: bool,
}

/// Bits of a count.
const COUNT: u32 = 20;
const COUNT_MASK: u64 = (1 << COUNT) - 1;
/// Bits of the bytes that are to come.
const BYTES: u32 = 22;
const BYTES_BIAS: i32 = 1 << (BYTES - 1);

impl Mbarrier {
    /// Reads the word.
    pub fn from_word(word: u64) -> Mbarrier {
        Mbarrier {
            pending: (word & COUNT_MASK) as u32,
            expected: (word >> COUNT & COUNT_MASK) as u32,
            bytes: (word >> (2 * COUNT) & ((1 << BYTES) - 1)) as i32 - BYTES_BIAS,
            phase: word >> 63 != 0,
        }
    }

    /// Writes the word.
    pub fn word(self) -> u64 {
        let bytes = (self.bytes + BYTES_BIAS) as u64 & ((1 << BYTES) - 1);
        u64::from(self.pending) & COUNT_MASK
            | (u64::from(self.expected) & COUNT_MASK) << COUNT
            | bytes << (2 * COUNT)
            | u64::from(self.phase) << 63
    }

    /// Of the first phase, with so many arrivals missing.
    pub fn new(count: u32) -> Mbarrier {
        Mbarrier { pending: count, expected: count, bytes: 0, phase: false }
    }

    /// The next phase begins when nothing is missing.
    fn settle(self) -> Mbarrier {
        if self.pending == 0 && self.bytes == 0 {
            Mbarrier { pending: self.expected, phase: !self.phase, ..self }
        } else {
            self
        }
    }

    /// So many arrive; with `drop` they are not expected in later phases.
    pub fn arrive(self, count: u32, drop: bool) -> Mbarrier {
        let expected = if drop { self.expected.saturating_sub(count) } else { self.expected };
        Mbarrier { pending: self.pending.saturating_sub(count), expected, ..self }.settle()
    }

    /// So many bytes are to come in this phase.
    pub fn expect(self, bytes: u32) -> Mbarrier {
        Mbarrier { bytes: self.bytes.saturating_add(bytes as i32), ..self }
    }

    /// So many bytes have come.
    pub fn complete(self, bytes: u32) -> Mbarrier {
        Mbarrier { bytes: self.bytes.saturating_sub(bytes as i32), ..self }.settle()
    }
}

/// The word after an operation; `argument` is its second source. A wait and a count leave it as it is.
pub fn after(operation: MbarrierOperation, word: u64, argument: Option<u64>) -> u64 {
    let barrier = Mbarrier::from_word(word);
    let number = argument.unwrap_or(0) as u32;
    let after = match operation {
        MbarrierOperation::Init => Mbarrier::new(number),
        MbarrierOperation::Invalidate => return 0,
        MbarrierOperation::ExpectTransactions => barrier.expect(number),
        MbarrierOperation::CompleteTransactions => barrier.complete(number),
        MbarrierOperation::Arrive { drop, expect: true, .. } => barrier.expect(number).arrive(1, drop),
        MbarrierOperation::Arrive { drop, .. } => {
            barrier.arrive(argument.map_or(1, |count| count as u32), drop)
        }
        MbarrierOperation::Wait { .. } | MbarrierOperation::PendingCount => return word,
    };
    after.word()
}

/// Whether the phase that is waited for is over: one with this parity, or that of a state that an arrival gave.
pub fn is_over(word: u64, parity: bool, waited: u64) -> bool {
    let phase = if parity { waited & 1 != 0 } else { Mbarrier::from_word(waited).phase };
    Mbarrier::from_word(word).phase != phase
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_needs_arrivals_and_bytes() {
        let word = |barrier: Mbarrier| Mbarrier::from_word(barrier.word());
        let barrier = word(Mbarrier::new(2));
        assert_eq!(barrier, Mbarrier { pending: 2, expected: 2, bytes: 0, phase: false });
        let barrier = word(barrier.expect(64).arrive(1, false));
        let barrier = word(barrier.arrive(1, true));
        assert_eq!(barrier, Mbarrier { pending: 0, expected: 1, bytes: 64, phase: false });
        let barrier = word(barrier.complete(64));
        assert_eq!(barrier, Mbarrier { pending: 1, expected: 1, bytes: 0, phase: true });
        // Bytes may come before they are announced.
        let early = word(barrier.complete(16));
        assert_eq!(early.bytes, -16);
        assert!(!word(early.expect(16).arrive(1, false)).phase);
    }
}
