//! Memory barriers (PTX ISA, «mbarrier»): a 64-bit word of shared memory.

use standstill_kernel_ir::{MbarrierOperation, Op, Space};

use super::core::{Core, Step, lanes};
use crate::decode::code::Micro;
use crate::fault::FaultKind;

/// The contents of the word. The ISA leaves its layout open; this one is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mbarrier {
    /// Arrivals that are still missing in this phase.
    pub(crate) pending: u32,
    /// Arrivals of the next phase.
    pub(crate) expected: u32,
    /// Bytes that are still to come in this phase; more may have come than were announced.
    pub(crate) bytes: i32,
    /// Parity of the phase.
    pub(crate) phase: bool,
}

/// Bits of a count.
const COUNT: u32 = 20;
const COUNT_MASK: u64 = (1 << COUNT) - 1;
/// Bits of the bytes that are to come.
const BYTES: u32 = 22;
const BYTES_BIAS: i32 = 1 << (BYTES - 1);

impl Mbarrier {
    pub(crate) fn from_word(word: u64) -> Mbarrier {
        Mbarrier {
            pending: (word & COUNT_MASK) as u32,
            expected: (word >> COUNT & COUNT_MASK) as u32,
            bytes: (word >> (2 * COUNT) & ((1 << BYTES) - 1)) as i32 - BYTES_BIAS,
            phase: word >> 63 != 0,
        }
    }

    pub(crate) fn word(self) -> u64 {
        let bytes = (self.bytes + BYTES_BIAS) as u64 & ((1 << BYTES) - 1);
        u64::from(self.pending) & COUNT_MASK
            | (u64::from(self.expected) & COUNT_MASK) << COUNT
            | bytes << (2 * COUNT)
            | u64::from(self.phase) << 63
    }

    pub(crate) fn new(count: u32) -> Mbarrier {
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

    pub(crate) fn arrive(self, count: u32, drop: bool) -> Mbarrier {
        let expected = if drop { self.expected.saturating_sub(count) } else { self.expected };
        Mbarrier { pending: self.pending.saturating_sub(count), expected, ..self }.settle()
    }

    pub(crate) fn expect(self, bytes: u32) -> Mbarrier {
        Mbarrier { bytes: self.bytes.saturating_add(bytes as i32), ..self }
    }

    pub(crate) fn complete(self, bytes: u32) -> Mbarrier {
        Mbarrier { bytes: self.bytes.saturating_sub(bytes as i32), ..self }.settle()
    }
}

impl Core<'_> {
    /// Changes an mbarrier and gives its old word.
    pub(crate) fn change_mbarrier(
        &mut self,
        space: Space,
        lane: usize,
        address: u64,
        change: impl Fn(Mbarrier) -> Mbarrier,
    ) -> Result<u64, FaultKind> {
        self.update_memory(space, lane, address, 8, |word| change(Mbarrier::from_word(word)).word())
    }
}

/// `mbarrier.*`, lanes one after the other.
pub(crate) fn operate(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = core.code;
    let Some(whole) = code.operations.get(op.x as usize) else { return Step::Next };
    let Op::Mbarrier { operation, space, .. } = whole.op else { return Step::Next };
    for lane in lanes(core.active) {
        let address = core.read(whole.source(0), lane);
        let argument = whole.source(1).is_some().then(|| core.read(whole.source(1), lane));
        let number = argument.unwrap_or(0) as u32;
        let result = match operation {
            MbarrierOperation::Init => {
                core.update_memory(space, lane, address, 8, |_| Mbarrier::new(number).word())
            }
            MbarrierOperation::Invalidate => core.update_memory(space, lane, address, 8, |_| 0),
            MbarrierOperation::ExpectTransactions => {
                core.change_mbarrier(space, lane, address, |barrier| barrier.expect(number))
            }
            MbarrierOperation::CompleteTransactions => {
                core.change_mbarrier(space, lane, address, |barrier| barrier.complete(number))
            }
            MbarrierOperation::Arrive { drop, expect: true, .. } => {
                core.change_mbarrier(space, lane, address, |barrier| barrier.expect(number).arrive(1, drop))
            }
            MbarrierOperation::Arrive { drop, .. } => {
                let count = argument.map_or(1, |count| count as u32);
                core.change_mbarrier(space, lane, address, |barrier| barrier.arrive(count, drop))
            }
            MbarrierOperation::Wait { parity, .. } => core.read_memory(space, lane, address, 8).map(|word| {
                let waited = argument.unwrap_or(0);
                let phase = if parity { waited & 1 != 0 } else { Mbarrier::from_word(waited).phase };
                (Mbarrier::from_word(word).phase != phase).into()
            }),
            MbarrierOperation::PendingCount => Ok(Mbarrier::from_word(address).pending.into()),
        };
        match result {
            Ok(value) => core.write(whole.destination(0), lane, value),
            Err(kind) => return core.fail(kind, lane),
        }
    }
    Step::Next
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
