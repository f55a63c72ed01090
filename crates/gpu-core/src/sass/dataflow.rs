//! Which registers and predicates an instruction reads and writes, and whether its result depends on them alone.

use super::{AccessKind, Instruction, Op, RZ, Space, register};

/// Special registers that are clocks.
const CLOCKS: std::ops::RangeInclusive<u8> = 0x50..=0x57;

impl Instruction {
    /// The registers that it writes: the first and how many. Nothing for an instruction that writes none, and
    /// at most what any instruction with that opcode writes.
    pub(crate) fn writes(&self) -> Option<(u8, u8)> {
        let first = register(self.raw, 16);
        let count = match self.op {
            Op::Access { kind: AccessKind::Store, .. }
            | Op::Barrier { .. }
            | Op::WarpSync { .. }
            | Op::Reconverge(_)
            | Op::Mbarrier(_)
            | Op::MbarrierTry { .. }
            | Op::ClusterArrive
            | Op::ClusterWait
            | Op::Branch(_)
            | Op::IndirectBranch
            | Op::Call
            | Op::Return
            | Op::Exit
            | Op::NanoSleep
            | Op::Yield
            | Op::Trap => return None,
            // Width in bits 73 to 75: 4 for 32 bits, 5 for 64, 6 for 128.
            Op::Access { .. } => match (self.raw >> 73) as u8 & 7 {
                5 => 2,
                6 => 4,
                _ => 1,
            },
            Op::WarpOperation(_) | Op::Other => match self.base() {
                // Compare instructions write predicates only; some write nothing.
                0x00b | 0x00c | 0x01c | 0x02a | 0x08c | 0x118 | 0x11a | 0x145 | 0x142 | 0x192 | 0x1ab
                | 0x18f => {
                    return None;
                }
                // Uniform instructions write uniform registers.
                0x080..=0x0bd | 0x0ca | 0x1c3 => return None,
                0x025 | 0x029 | 0x028 | 0x02b | 0x005 | 0x112 => 2,
                // A load of constants: width as above.
                0x182 if (self.raw >> 73) & 7 == 5 => 2,
                _ => 1,
            },
        };
        (first != RZ).then_some((first, count))
    }

    /// The general registers that it reads, as far as they may matter to its result.
    pub(crate) fn reads(&self) -> impl Iterator<Item = u8> {
        let second_is_register = matches!(self.form(), 1..=3) && !matches!(self.op, Op::Access { .. });
        // Multiply-add, add of three, logic of three, shift of two, byte permutation: these have a third operand.
        let has_third =
            matches!(self.base(), 0x010..=0x012 | 0x016 | 0x019 | 0x023..=0x027 | 0x02b | 0x031 | 0x035);
        // 64-bit operands are two registers.
        let wide = matches!(self.base(), 0x025 | 0x029 | 0x028 | 0x02a | 0x02b);
        let third = has_third.then(|| register(self.raw, 64)).filter(|register| *register != RZ);
        let above = third.filter(|_| wide).and_then(|register| register.checked_add(1));
        let registers = [
            Some(register(self.raw, 24)).filter(|_| self.has_first()),
            second_is_register.then(|| register(self.raw, 32)),
            third,
            above,
        ];
        registers.into_iter().flatten().filter(|register| *register != RZ)
    }

    /// Whether bits 24 to 31 name a register that is read. Moves and loads of constants or special registers have
    /// other things there.
    fn has_first(&self) -> bool {
        !matches!(self.base(), 0x002 | 0x005 | 0x119 | 0x143..=0x14d)
    }

    /// The predicates that a compare instruction writes.
    pub(crate) fn writes_predicates(&self) -> [Option<u8>; 2] {
        let field = |at: u32| Some((self.raw >> at) as u8 & 7).filter(|predicate| *predicate != 7);
        match self.op {
            Op::Other => match self.base() {
                0x00b | 0x00c | 0x02a | 0x01c => [field(81), field(84)],
                // Additions write carries there; logic writes whether the result is not zero.
                0x010 | 0x012 => [field(81), field(84)],
                _ => [None, None],
            },
            Op::Access { kind: AccessKind::Store, .. } => [None, None],
            Op::WarpOperation(_) | Op::MbarrierTry { .. } | Op::Access { .. } => [field(81), None],
            _ => [None, None],
        }
    }

    /// The predicates that a logic instruction on predicates reads.
    pub(crate) fn reads_predicates(&self) -> impl Iterator<Item = u8> {
        let field = |at: u32| (self.raw >> at) as u8 & 7;
        let fields = match (self.op, self.base()) {
            (Op::Other, 0x01c) => [field(68), field(77), field(87)],
            (Op::Other, 0x006 | 0x007 | 0x00b | 0x00c | 0x02a) => [field(87), 7, 7],
            (Op::WarpOperation(_), _) => [field(87), 7, 7],
            _ => [7; 3],
        };
        let guard = if self.guard.is_always() { 7 } else { self.guard.predicate };
        fields.into_iter().chain([guard]).filter(|predicate| *predicate != 7)
    }

    /// Whether its result depends on its operands alone: no memory, no clock, no other lane.
    pub(crate) fn is_steady(&self) -> bool {
        match (self.op, self.base()) {
            (Op::Other, 0x005 | 0x0b9 | 0x183) => false,
            (Op::Other, 0x119) => !CLOCKS.contains(&((self.raw >> 72) as u8)),
            (Op::Other, _) => true,
            _ => false,
        }
    }

    /// Whether it reads a clock.
    pub(crate) fn reads_clock(&self) -> bool {
        match self.base() {
            0x005 => true,
            0x119 | 0x1c3 => CLOCKS.contains(&((self.raw >> 72) as u8)),
            _ => false,
        }
    }

    /// The place in constant bank 0 that it reads into its first register, when it does nothing else.
    pub(crate) fn reads_constant(&self) -> Option<u32> {
        let bank = (self.raw >> 54) as u32 & 0x1f;
        let plain = self.raw as u64 & 0xfff == 0xb82 && register(self.raw, 24) == RZ && bank == 0;
        (plain && self.guard.is_always()).then_some((self.raw >> 38) as u32 & 0xffff)
    }

    /// Whether it reads an address of two registers.
    pub(crate) fn reads_wide_address(&self) -> bool {
        matches!(self.op, Op::Access { address, .. } if address.space != Space::Shared)
    }
}
