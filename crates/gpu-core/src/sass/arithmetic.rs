//! The arithmetic that loops are made of: counting, moving, comparing.

use super::{AccessKind, Instruction, Op, RZ, register};

/// How two numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Whether they are floating-point numbers.
    pub(crate) float: bool,
    /// Whether for being equal or not.
    pub(crate) exact: bool,
}

impl Instruction {
    /// Whether it adds whole numbers, or moves one: what a counter is made of. Multiplications by one count too.
    pub(crate) fn counts(&self) -> bool {
        let immediate = (self.raw >> 32) as u32;
        match (self.op, self.base()) {
            (Op::Other, 0x010 | 0x036) => true,
            (Op::Other, 0x002) => true,
            (Op::Other, 0x024) => self.form() == 4 && immediate == 1 || register(self.raw, 24) == RZ,
            _ => false,
        }
    }

    /// Whether it only moves a value.
    pub(crate) fn moves(&self) -> bool {
        match self.base() {
            0x002 => true,
            0x024 => register(self.raw, 24) == RZ,
            // An addition of nothing.
            0x010 => self.form() == 4 && self.immediate() == Some(0) && register(self.raw, 64) == RZ,
            0x036 => self.form() == 4 && self.immediate() == Some(0),
            _ => false,
        }
    }

    /// How two numbers are compared, for an instruction that does.
    pub(crate) fn comparison(&self) -> Option<Comparison> {
        let wide = (self.raw >> 76) as u8 & 0xf;
        let exact = |codes: &[u8], code: u8| codes.contains(&code);
        match (self.op, self.base()) {
            (Op::Other, 0x00b | 0x02a) => {
                Some(Comparison { float: true, exact: exact(&[2, 5, 10, 13], wide) })
            }
            (Op::Other, 0x00c) => Some(Comparison { float: false, exact: exact(&[2, 5], wide & 7) }),
            _ => None,
        }
    }

    /// Whether it counts a value in memory up or down, or may: an addition of something that is not zero.
    pub(crate) fn counts_in_memory(&self) -> bool {
        let operation = (self.raw >> 87) as u8 & 0xf;
        matches!(self.op, Op::Access { kind: AccessKind::Atomic, .. })
            && matches!(operation, 0 | 3 | 4)
            && register(self.raw, 32) != RZ
    }

    /// Whether it adds or compares in uniform registers: `UIADD3`, `UISETP`.
    pub(crate) fn is_uniform_count(&self) -> bool {
        matches!(self.base(), 0x090 | 0x08c)
    }
}
