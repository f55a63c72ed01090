//! The few instructions that waiting needs, decoded from 128-bit machine code (compute capability 7.0 on).
//!
//! NVIDIA does not document the encoding. The fields here were read off `nvdisasm -hex` for compiled
//! kernels (sm_80, sm_90 and sm_100, CUDA 13): the low 12 bits are the opcode, of which the upper three say
//! which operands are registers; bits 12 to 15 are the guard predicate; registers stand in bits 16 to 23
//! (written), 24 to 31, 32 to 39 and 64 to 71 (read).

/// The register that reads as zero.
pub(crate) const RZ: u8 = 255;
/// The uniform register that reads as zero.
pub(crate) const URZ: u8 = 63;
/// Bytes of an instruction.
pub(crate) const SIZE: u64 = 16;

/// A decoded instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instruction {
    /// Its address.
    pub(crate) pc: u64,
    /// The predicate that must hold for it to happen.
    pub(crate) guard: Guard,
    /// What it does.
    pub(crate) op: Op,
    raw: u128,
}

/// A guard predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Guard {
    /// Its number; 7 is always true.
    pub(crate) predicate: u8,
    /// Whether it must be false.
    pub(crate) negated: bool,
}

impl Guard {
    /// Whether the instruction happens whatever the predicates are.
    pub(crate) fn is_always(self) -> bool {
        self.predicate == 7 && !self.negated
    }
}

/// A value that is written in the instruction or stands in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operand {
    /// In the instruction.
    Value(u32),
    /// In this register.
    Register(u8),
}

/// A memory space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    /// Addressed through windows.
    Generic,
    /// Global memory.
    Global,
    /// Shared memory of the block.
    Shared,
}

/// An address: a register (two of them outside shared memory), a uniform register, and a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    /// Where it points.
    pub(crate) space: Space,
    /// The register, or the lower of two.
    pub(crate) register: u8,
    /// The uniform register that is added; [`URZ`] for none.
    pub(crate) uniform: u8,
    /// The constant that is added.
    pub(crate) offset: i32,
}

/// The lanes that a warp synchronisation names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mask {
    /// All lanes that have not exited.
    All,
    /// The lanes of this register's bits.
    Register(u8),
}

/// What an instruction at a block barrier does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BarrierAction {
    /// Arrives and waits.
    Sync,
    /// Arrives and goes on.
    Arrive,
    /// Arrives, waits and combines a value.
    Reduce,
}

/// What a memory access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessKind {
    /// A read that the compiler or the caches may answer from an old value.
    Load,
    /// A read that sees other threads' writes (volatile, relaxed or stronger).
    StrongLoad,
    /// A write.
    Store,
    /// A read-modify-write.
    Atomic,
    /// A compare-and-swap.
    CompareAndSwap,
}

/// What an instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// A block barrier. Without a count all threads of the block take part; `packed` means that one
    /// register holds the count in its upper half and the id in its lower one.
    Barrier {
        /// What the thread does there.
        action: BarrierAction,
        /// Its number.
        id: Operand,
        /// How many threads complete it.
        count: Option<Operand>,
        /// Whether id and count share a register.
        packed: bool,
    },
    /// Waits for lanes of the warp.
    WarpSync {
        /// Which.
        mask: Mask,
        /// Whether an operation of these lanes together follows.
        collective: bool,
    },
    /// Waits for the lanes that are to meet again at this convergence barrier.
    Reconverge(u8),
    /// An operation of several lanes together: its name.
    WarpOperation(&'static str),
    /// Waits on an mbarrier for a phase.
    MbarrierTry {
        /// The mbarrier's word.
        address: Address,
        /// The register with the parity in its highest bit.
        parity: u8,
    },
    /// Another operation on an mbarrier.
    Mbarrier(Address),
    /// Arrives at the cluster's barrier.
    ClusterArrive,
    /// Waits at the cluster's barrier.
    ClusterWait,
    /// A memory access.
    Access {
        /// What it does.
        kind: AccessKind,
        /// Where.
        address: Address,
    },
    /// A jump to an address.
    Branch(u64),
    /// A jump to an address in a register.
    IndirectBranch,
    /// A call.
    Call,
    /// A return.
    Return,
    /// The thread ends.
    Exit,
    /// The thread sleeps for a while.
    NanoSleep,
    /// Lets other lanes of the warp run.
    Yield,
    /// A trap.
    Trap,
    /// Anything else.
    Other,
}

/// How two numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Whether they are floating-point numbers.
    pub(crate) float: bool,
    /// Whether for being equal or not.
    pub(crate) exact: bool,
}

impl Instruction {
    /// Decodes the instruction at `pc`.
    pub(crate) fn decode(pc: u64, raw: u128) -> Instruction {
        let guard = Guard { predicate: (raw >> 12) as u8 & 7, negated: (raw >> 15) & 1 == 1 };
        Instruction { pc, guard, op: op(pc, raw), raw }
    }

    /// Whether it is a branch that a warp takes when its lanes are apart (`BRA.DIV`): the compiler puts a
    /// second copy of an operation of several lanes there.
    pub(crate) fn leaves_when_apart(&self) -> bool {
        matches!(self.op, Op::Branch(_)) && (self.raw >> 91) & 1 == 1
    }

    /// The place in constant bank 0 that it reads into its first register, when it does nothing else.
    pub(crate) fn reads_constant(&self) -> Option<u32> {
        let bank = (self.raw >> 54) as u32 & 0x1f;
        let plain = self.raw as u64 & 0xfff == 0xb82 && register(self.raw, 24) == RZ && bank == 0;
        (plain && self.guard.is_always()).then_some((self.raw >> 38) as u32 & 0xffff)
    }

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

    /// Whether its result depends on its operands alone: no memory, no clock, no other lane.
    pub(crate) fn is_steady(&self) -> bool {
        match (self.op, self.base()) {
            (Op::Other, 0x005 | 0x0b9 | 0x183) => false,
            (Op::Other, 0x119) => !CLOCKS.contains(&((self.raw >> 72) as u8)),
            (Op::Other, _) => true,
            _ => false,
        }
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

    /// Whether it reads a clock.
    pub(crate) fn reads_clock(&self) -> bool {
        match self.base() {
            0x005 => true,
            0x119 | 0x1c3 => CLOCKS.contains(&((self.raw >> 72) as u8)),
            _ => false,
        }
    }

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

    /// The 32 bits of an operand that is written in the instruction.
    pub(crate) fn immediate(&self) -> Option<u32> {
        (self.form() == 4).then_some((self.raw >> 32) as u32)
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

    /// Whether it reads an address of two registers.
    pub(crate) fn reads_wide_address(&self) -> bool {
        matches!(self.op, Op::Access { address, .. } if address.space != Space::Shared)
    }

    /// Whether it adds or compares in uniform registers: `UIADD3`, `UISETP`.
    pub(crate) fn is_uniform_count(&self) -> bool {
        matches!(self.base(), 0x090 | 0x08c)
    }

    /// Eight bits of its code.
    pub(crate) fn field(&self, at: u32) -> u8 {
        register(self.raw, at)
    }

    /// 32 bits of its code.
    pub(crate) fn field_of_32(&self, at: u32) -> u32 {
        (self.raw >> at) as u32
    }

    pub(crate) fn base(&self) -> u16 {
        (self.raw & 0x1ff) as u16
    }

    pub(crate) fn form(&self) -> u8 {
        (self.raw >> 9) as u8 & 7
    }
}

/// Special registers that are clocks.
const CLOCKS: std::ops::RangeInclusive<u8> = 0x50..=0x57;

fn register(raw: u128, at: u32) -> u8 {
    (raw >> at) as u8
}

fn op(pc: u64, raw: u128) -> Op {
    let high = (raw >> 64) as u64;
    let low = raw as u64;
    let access = |kind, space| Op::Access { kind, address: address(raw, space) };
    // Bits 13 to 15 of the upper half: the scope and strength of a load; 4 is the constant cache.
    let load = if matches!((high >> 13) & 7, 0 | 4) { AccessKind::Load } else { AccessKind::StrongLoad };
    match low & 0x1ff {
        0x11d => barrier(raw),
        0x148 => {
            let collective = (high >> 22) & 1 == 1;
            let mask = if low & 0xfff == 0x948 { Mask::All } else { Mask::Register(register(raw, 24)) };
            Op::WarpSync { mask, collective }
        }
        0x141 => Op::Reconverge((raw >> 16) as u8 & 0xf),
        0x189 => Op::WarpOperation("shuffle"),
        0x006 => Op::WarpOperation("vote"),
        0x086 => Op::WarpOperation("vote"),
        0x1a1 => Op::WarpOperation("match"),
        0x1c4 => Op::WarpOperation("reduction"),
        0x1a7 if low & 0xfff == 0x5a7 => {
            Op::MbarrierTry { address: address(raw, Space::Shared), parity: register(raw, 32) }
        }
        0x1a7 | 0x1b2 => Op::Mbarrier(address(raw, Space::Shared)),
        0x1c7 if low & 0xfff == 0xdc7 => Op::ClusterWait,
        0x1c7 => Op::ClusterArrive,
        0x180 => access(load, Space::Generic),
        0x181 => access(load, Space::Global),
        0x184 => access(AccessKind::Load, Space::Shared),
        0x185 => access(AccessKind::Store, Space::Generic),
        0x186 => access(AccessKind::Store, Space::Global),
        0x188 => access(AccessKind::Store, Space::Shared),
        0x18a => access(AccessKind::Atomic, Space::Generic),
        0x18b => access(AccessKind::CompareAndSwap, Space::Generic),
        0x18c => access(AccessKind::Atomic, Space::Shared),
        0x18d => access(AccessKind::CompareAndSwap, Space::Shared),
        0x18e => access(AccessKind::Atomic, Space::Global),
        0x1a8 => access(AccessKind::Atomic, Space::Global),
        0x1a9 => access(AccessKind::CompareAndSwap, Space::Global),
        0x147 => Op::Branch(target(pc, raw)),
        0x149 | 0x14a => Op::IndirectBranch,
        0x143 | 0x144 => Op::Call,
        0x150 => Op::Return,
        0x14d => Op::Exit,
        0x15d => Op::NanoSleep,
        0x146 => Op::Yield,
        0x15c => Op::Trap,
        _ => Op::Other,
    }
}

/// The target of a branch, in steps of four bytes from the next instruction: bits 34 to 81, then 16 to 23.
fn target(pc: u64, raw: u128) -> u64 {
    let upper = ((raw >> 34) as u64) << 16;
    // The sign is bit 81.
    let upper = (upper as i64) >> 8;
    let steps = upper | i64::from(register(raw, 16));
    pc.wrapping_add(SIZE).wrapping_add_signed(steps.wrapping_mul(4))
}

fn barrier(raw: u128) -> Op {
    let high = (raw >> 64) as u64;
    let action = match (high & 0x4000 != 0, high & 0x2000 != 0) {
        (true, _) => BarrierAction::Reduce,
        (false, true) => BarrierAction::Arrive,
        (false, false) => BarrierAction::Sync,
    };
    let form = raw as u64 & 0xfff;
    let held = Operand::Register(register(raw, 32));
    let written = Operand::Value((raw >> 54) as u32 & 0xf);
    let count = Some((raw >> 42) as u32 & 0xfff).filter(|count| *count != 0).map(Operand::Value);
    let (id, count, packed) = match form {
        0x31d => (held, Some(held), true),
        0x51d => (held, count, false),
        0x91d => (written, Some(held), false),
        _ => (written, count, false),
    };
    Op::Barrier { action, id, count, packed }
}

fn address(raw: u128, space: Space) -> Address {
    let high = (raw >> 64) as u64;
    let low = raw as u64;
    let offset = (low as i64 >> 40) as i32;
    // A uniform register is added in shared memory only; elsewhere the field names a descriptor.
    let uniform = match (space, low & 0x1ff) {
        (Space::Shared, 0x1a7 | 0x1b2) => high as u8 & 0x3f,
        (Space::Shared, 0x184) if (high >> 27) & 1 == 1 => register(raw, 32) & 0x3f,
        (Space::Shared, 0x184) => URZ,
        (Space::Shared, _) if matches!(low & 0xe00, 0x800 | 0xe00) => high as u8 & 0x3f,
        _ => URZ,
    };
    // The initialisation of an mbarrier has its address in a uniform register of another field.
    match low & 0x1ff {
        0x1b2 => Address { space, register: RZ, uniform: register(raw, 24) & 0x3f, offset },
        _ => Address { space, register: register(raw, 24), uniform, offset },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pc: u64, high: u64, low: u64, expected: Op) {
        let raw = u128::from(high) << 64 | u128::from(low);
        assert_eq!(Instruction::decode(pc, raw).op, expected, "{high:016x} {low:016x}");
    }

    #[test]
    fn barriers_have_their_id_and_count() {
        let barrier = |action, id, count, packed| Op::Barrier { action, id, count, packed };
        use BarrierAction::{Arrive, Reduce, Sync};
        use Operand::{Register, Value};
        check(0, 0x000fec0000010000, 0x7b1d, barrier(Sync, Value(0), None, false));
        check(0, 0x000fec0000010000, 0x0042000000007b1d, barrier(Sync, Value(1), Some(Value(128)), false));
        check(0, 0x000ff00000002000, 0x0084000000009b1d, barrier(Arrive, Value(2), Some(Value(256)), false));
        check(0, 0x0003e20000010000, 0x000000090000751d, barrier(Sync, Register(9), None, false));
        check(0, 0x0003ec0000010000, 0x000100090000751d, barrier(Sync, Register(9), Some(Value(64)), false));
        check(0, 0x0005e20000010000, 0x00c000050000791d, barrier(Sync, Value(3), Some(Register(5)), false));
        check(
            0,
            0x0007ec0000002000,
            0x000000040000731d,
            barrier(Arrive, Register(4), Some(Register(4)), true),
        );
        check(0, 0x000fec0000014800, 0x7b1d, barrier(Reduce, Value(0), None, false));
    }

    #[test]
    fn branches_go_both_ways() {
        check(0x450, 0x002fea0003800000, 0x0000000000100947, Op::Branch(0x4a0));
        check(0x4a0, 0x000fea000383ffff, 0xfffffffc00f08947, Op::Branch(0x470));
        check(0x7a0, 0x000fea000b800000, 0x0000000605447947, Op::Branch(0xcc0));
        check(0xd20, 0x000fea000383ffff, 0xfffffff800a47947, Op::Branch(0x7c0));
    }

    #[test]
    fn addresses_have_their_parts() {
        let access = |kind, space, register, uniform, offset| Op::Access {
            kind,
            address: Address { space, register, uniform, offset },
        };
        use AccessKind::{Atomic, CompareAndSwap, Load, Store, StrongLoad};
        check(0, 0x000e680000000800, 0x0000040000047984, access(Load, Space::Shared, 0, URZ, 4));
        check(0, 0x000e620008000800, 0x00002004ff007984, access(Load, Space::Shared, RZ, 4, 0x20));
        check(0, 0x0001e20000008000, 0x0000000512007388, access(Store, Space::Shared, 18, URZ, 0));
        check(0, 0x0001e20008000804, 0x0002000904007988, access(Store, Space::Shared, 4, 4, 0x200));
        check(0, 0x000f28000c1e1900, 0x0000200416197981, access(Load, Space::Global, 22, URZ, 0x20));
        check(0, 0x000ea8000c1f5900, 0x00018c080c047981, access(StrongLoad, Space::Global, 12, URZ, 0x18c));
        check(0, 0x000ea8000c10f900, 0x0000040a06097980, access(StrongLoad, Space::Generic, 6, URZ, 4));
        check(0, 0x000e64000b000004, 0x000014ffff04798c, access(Atomic, Space::Shared, RZ, 4, 0x14));
        check(0, 0x003ea400001ee107, 0x00000006040273a9, access(CompareAndSwap, Space::Global, 4, URZ, 0));
    }

    #[test]
    fn an_mbarrier_wait_has_its_word_and_parity() {
        let wait = |register, uniform, offset, parity| Op::MbarrierTry {
            address: Address { space: Space::Shared, register, uniform, offset },
            parity,
        };
        check(0, 0x000e240008000146, 0x00000000ff0075a7, wait(RZ, 6, 0, 0));
        check(0, 0x000ee4000802017f, 0x00000802070075a7, wait(7, URZ, 8, 2));
    }
}
