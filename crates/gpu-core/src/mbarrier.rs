//! The word of an mbarrier.
//!
//! NVIDIA does not document it ("opaque"). The fields were read off words of known state on sm_90:
//! bit 63 is the phase; bits 43 to 62 are minus the arrivals that the phase still waits for; bits 21 to 41 are
//! minus the bytes that it still waits for; bits 1 to 20 are minus the arrivals of a whole phase.

use std::fmt;

/// The 64-bit word of an mbarrier (compute capability 9.0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MbarrierWord(pub u64);

impl MbarrierWord {
    /// The parity of the phase that is under way.
    pub fn phase(self) -> u8 {
        (self.0 >> 63) as u8
    }

    /// Arrivals that the phase still waits for.
    pub fn pending(self) -> u32 {
        negated(self.0 >> 43, 20)
    }

    /// Arrivals of a whole phase.
    pub fn expected(self) -> u32 {
        negated(self.0 >> 1, 20)
    }

    /// Bytes that the phase still waits for.
    pub fn pending_bytes(self) -> u32 {
        negated(self.0 >> 21, 21)
    }
}

fn negated(field: u64, bits: u32) -> u32 {
    let size = 1u64 << bits;
    ((size - (field & (size - 1))) & (size - 1)) as u32
}

impl fmt::Display for MbarrierWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrived = self.expected().saturating_sub(self.pending());
        write!(f, "phase {}, {arrived} of {} arrived", self.phase(), self.expected())?;
        match self.pending_bytes() {
            0 => Ok(()),
            bytes => write!(f, ", {bytes} bytes to come"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_known_state() {
        let check = |word, phase, pending, expected, bytes| {
            let word = MbarrierWord(word);
            assert_eq!(
                (word.phase(), word.pending(), word.expected(), word.pending_bytes()),
                (phase, pending, expected, bytes)
            );
        };
        check(0x7ffc_0000_001f_fe00, 0, 128, 256, 0);
        check(0xffff_f800_001f_fffe, 1, 1, 1, 0);
        check(0x7fff_e000_001f_fff8, 0, 4, 4, 0);
        check(0x0000_03ff_801f_fffe, 0, 0, 1, 1024);
    }
}
