//! The few instructions that waiting needs, decoded from 128-bit machine code (compute capability 7.0 on).
//!
//! NVIDIA does not document the encoding. The fields here were read off `nvdisasm -hex` for compiled
//! kernels (sm_80, sm_90 and sm_100, CUDA 13): the low 12 bits are the opcode, of which the upper three say
//! which operands are registers; bits 12 to 15 are the guard predicate; registers stand in bits 16 to 23
//! (written), 24 to 31, 32 to 39 and 64 to 71 (read).

mod arithmetic;
mod dataflow;
mod decode;

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

impl Instruction {
    /// Decodes the instruction at `pc`.
    pub(crate) fn decode(pc: u64, raw: u128) -> Instruction {
        let guard = Guard { predicate: (raw >> 12) as u8 & 7, negated: (raw >> 15) & 1 == 1 };
        Instruction { pc, guard, op: decode::op(pc, raw), raw }
    }

    /// Whether it is a branch that a warp takes when its lanes are apart (`BRA.DIV`): the compiler puts a
    /// second copy of an operation of several lanes there.
    pub(crate) fn leaves_when_apart(&self) -> bool {
        matches!(self.op, Op::Branch(_)) && (self.raw >> 91) & 1 == 1
    }

    /// The 32 bits of an operand that is written in the instruction.
    pub(crate) fn immediate(&self) -> Option<u32> {
        (self.form() == 4).then_some((self.raw >> 32) as u32)
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

fn register(raw: u128, at: u32) -> u8 {
    (raw >> at) as u8
}
