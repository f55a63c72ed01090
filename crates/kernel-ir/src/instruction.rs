//! Instructions: one [`Op`] each, with operands in the function's pool.
//!
//! The order of operands is given with each operation as «destinations ← sources».

use crate::{CallId, FunctionId, Guard, LocationId, OpaqueId, OperandRange, Space, Type};

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// What it does.
    pub op: Op,
    /// It takes effect only where this holds. Barriers of any kind, shuffles and other operations of
    /// all lanes, exits, calls and branches never have one: their guards become control flow.
    pub guard: Option<Guard>,
    /// What it writes and reads.
    pub operands: OperandRange,
    /// Where it stands in the source.
    pub location: LocationId,
    /// Byte offset in the input.
    pub offset: u32,
}

/// What an instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// A pure function of its sources: `d… ← a, b, c`. Flags written by `.cc` are one more
    /// destination, flags read by `addc` and the like one more source, both a register of the function.
    Arithmetic(Arithmetic),
    /// `d… ← address`; several destinations for vectors.
    Load(Access),
    /// `← address, value…`.
    Store(Access),
    /// `old ← address, operand[, new]`. For CAS the operands are compare and new value.
    /// A `red` has an absent destination.
    Atomic {
        /// How memory is accessed.
        access: Access,
        /// What is done to it.
        operation: AtomicOperation,
    },
    /// Block barrier: `[result] ← id, count, [predicate]`; `count` is absent for all threads of the block.
    Barrier {
        /// Sync, arrive or reduce.
        kind: BarrierKind,
        /// `.aligned`: all threads of the warp must execute it together (`bar` always is).
        aligned: bool,
        /// `bar.warp`-like forms never come here; see [`Op::WarpSync`].
        reduces: bool,
    },
    /// `bar.warp.sync`: `← mask`.
    WarpSync,
    /// `shfl`: `d, [predicate] ← value, lane, clamp, mask`; the mask is absent before `.sync`.
    Shuffle(ShuffleMode),
    /// `vote`: `d ← predicate, mask`; the mask is absent before `.sync`.
    Vote(VoteMode),
    /// `match`: `d, [predicate] ← value, mask`.
    Match {
        /// `.all` rather than `.any`.
        all: bool,
    },
    /// `redux.sync`: `d ← value, mask`.
    WarpReduce {
        /// What is done.
        operation: AtomicOperation,
        /// Type of the values.
        ty: Type,
    },
    /// `activemask`: `d ←`.
    ActiveMask,
    /// `elect.sync`: `leader, predicate ← mask`.
    Elect,
    /// An operation on an mbarrier: `[state or predicate] ← address, operands in PTX order`.
    /// The state operand of `test_wait` and `try_wait` without `.parity` is the second source, the
    /// parity likewise.
    Mbarrier {
        /// Which.
        operation: MbarrierOperation,
        /// Where the mbarrier lies.
        space: Space,
        /// Memory order.
        order: Order,
        /// Scope of the order.
        scope: Scope,
    },
    /// `cp.async`: `← shared address, global address, bytes, [source bytes]`.
    AsyncCopy {
        /// Bytes copied: 4, 8 or 16.
        bytes: u8,
    },
    /// `cp.async.commit_group`.
    AsyncCommit,
    /// `cp.async.wait_group N` (`← N`) or `wait_all` (`← absent`).
    AsyncWait,
    /// `cp.async.mbarrier.arrive`: `← address`.
    AsyncMbarrierArrive {
        /// `.noinc`: the arrival is not added to the pending count first.
        no_increment: bool,
    },
    /// `cp.async.bulk` and `cp.reduce.async.bulk`, with `.tensor` forms: `← operands in PTX order`.
    BulkCopy {
        /// From where to where.
        direction: BulkDirection,
        /// A tensor copy through a descriptor.
        tensor: bool,
        /// How completion is told.
        completion: BulkCompletion,
    },
    /// `cp.async.bulk.commit_group`.
    BulkCommit,
    /// `cp.async.bulk.wait_group N`: `← N`.
    BulkWait {
        /// `.read`: only the sources may be reused.
        read: bool,
    },
    /// Matrix and tensor-memory instructions: `d… ← sources in PTX order`. Their values are unknown.
    Matrix(MatrixKind),
    /// `barrier.cluster.arrive` or `.wait`.
    ClusterBarrier {
        /// `.arrive` rather than `.wait`.
        arrive: bool,
        /// `.aligned`.
        aligned: bool,
        /// Memory order: acquire for wait, release or relaxed for arrive.
        order: Order,
    },
    /// `fence`, `membar`.
    Fence {
        /// Between what.
        kind: FenceKind,
        /// Order; `membar` and `fence.sc` are sequentially consistent.
        order: Order,
        /// Scope.
        scope: Scope,
    },
    /// `nanosleep`: `← nanoseconds`.
    Nanosleep,
    /// `griddepcontrol.wait` or `.launch_dependents`.
    GridDependency {
        /// `.wait` rather than `.launch_dependents`.
        wait: bool,
    },
    /// `setmaxnreg`: `← registers`.
    SetMaximumRegisters,
    /// A life mark of the user's own allocator: `← address, bytes`.
    LifeMark {
        /// Freed rather than allocated.
        freed: bool,
    },
    /// A call; see [`crate::CallSite`] for its operands.
    Call(CallId),
    /// No effect on values or order (prefetch, cache hints, `pmevent`, `brkpt`): `← sources`.
    Hint,
    /// Not understood: `d… ← sources`, by the form of the operands.
    Opaque(OpaqueId),
}

/// A pure function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arithmetic {
    /// Which function.
    pub operation: Operation,
    /// Type of the operation (of the destination, for conversions).
    pub ty: Type,
    /// Type of the source, for conversions, `set`, `slct`, `dp4a`.
    pub from: Type,
    /// For `setp`, `set`, `slct`; otherwise [`Comparison::None`].
    pub comparison: Comparison,
    /// How `setp` and `set` combine with their last source; otherwise [`BooleanOperation::None`].
    pub combine: BooleanOperation,
    /// Further modifiers.
    pub flags: ArithmeticFlags,
}

/// The function of an [`Arithmetic`] (PTX ISA, «Instruction Set»).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are PTX's own mnemonics")]
pub enum Operation {
    /// `mov`, also packing (several sources) and unpacking (several destinations).
    Mov,
    Cvt,
    /// `cvta`: a conversion between generic and a space; both address the same byte.
    Cvta,
    /// `mapa`: the address of a shared variable in another block of the cluster.
    Mapa,
    /// `getctarank`.
    GetCtaRank,
    /// `isspacep`: the second source is the number of the [`Space`] asked about.
    Isspacep,
    Add,
    Sub,
    Mul,
    Mad,
    Sad,
    Div,
    Rem,
    Abs,
    Neg,
    Min,
    Max,
    Popc,
    Clz,
    Bfind,
    Fns,
    Brev,
    Bfe,
    Bfi,
    Bmsk,
    Szext,
    Dp4a,
    Dp2a,
    /// `addc`, `subc`, `madc`: the last source is the carry flag.
    AddCarry,
    SubCarry,
    MadCarry,
    Fma,
    Rcp,
    Sqrt,
    Rsqrt,
    Sin,
    Cos,
    Lg2,
    Ex2,
    Tanh,
    Copysign,
    Testp,
    Setp,
    Set,
    Selp,
    Slct,
    And,
    Or,
    Xor,
    Not,
    Cnot,
    /// `lop3`: the fourth source is the table.
    Lop3,
    Shl,
    Shr,
    /// `shf.l` and `shf.r` (flag HIGH for left, WRAP for `.wrap`).
    Shf,
    Prmt,
}

/// Modifiers of an [`Arithmetic`], as a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ArithmeticFlags(pub u32);

impl ArithmeticFlags {
    /// `.lo`
    pub const LOW: u32 = 1 << 0;
    /// `.hi`; `.l` of `shf`
    pub const HIGH: u32 = 1 << 1;
    /// `.wide`
    pub const WIDE: u32 = 1 << 2;
    /// `.sat`
    pub const SATURATE: u32 = 1 << 3;
    /// `.ftz`
    pub const FLUSH: u32 = 1 << 4;
    /// `.approx`
    pub const APPROXIMATE: u32 = 1 << 5;
    /// `.rn`
    pub const NEAREST: u32 = 1 << 6;
    /// `.rz`
    pub const TOWARD_ZERO: u32 = 1 << 7;
    /// `.rm`
    pub const DOWN: u32 = 1 << 8;
    /// `.rp`
    pub const UP: u32 = 1 << 9;
    /// `.rni`
    pub const NEAREST_INTEGER: u32 = 1 << 10;
    /// `.rzi`
    pub const ZERO_INTEGER: u32 = 1 << 11;
    /// `.rmi`
    pub const DOWN_INTEGER: u32 = 1 << 12;
    /// `.rpi`
    pub const UP_INTEGER: u32 = 1 << 13;
    /// `.cc`
    pub const CARRY_OUT: u32 = 1 << 14;
    /// `.wrap`
    pub const WRAP: u32 = 1 << 15;
    /// `.clamp`
    pub const CLAMP: u32 = 1 << 16;
    /// `.shiftamt`
    pub const SHIFT_AMOUNT: u32 = 1 << 17;
    /// `.NaN`
    pub const NAN: u32 = 1 << 18;
    /// `.relu`
    pub const RELU: u32 = 1 << 19;
    /// `.full`
    pub const FULL: u32 = 1 << 20;
    /// `.rna`
    pub const NEAREST_AWAY: u32 = 1 << 21;
    /// A modifier that has no flag of its own: the value must be taken as unknown.
    pub const OTHER: u32 = 1 << 31;

    /// Whether any of `bits` is set.
    pub fn has(self, bits: u32) -> bool {
        self.0 & bits != 0
    }
}

/// A comparison of `setp`, `set`, `slct`, `testp` has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs, reason = "the names are PTX's own; the U forms are true for NaN")]
pub enum Comparison {
    #[default]
    None,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Unsigned forms of the ordered comparisons: `lo`, `ls`, `hi`, `hs`.
    Lo,
    Ls,
    Hi,
    Hs,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

/// How `setp` combines its comparison with a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub enum BooleanOperation {
    #[default]
    None,
    And,
    Or,
    Xor,
}

/// How memory is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// Where.
    pub space: Space,
    /// Type of one element.
    pub ty: Type,
    /// Number of elements, 1 to 8.
    pub elements: u8,
    /// Memory order.
    pub order: Order,
    /// Scope of the order; meaningless for weak accesses.
    pub scope: Scope,
    /// `.nc`: through the read-only path; the code promises that nobody writes it.
    pub non_coherent: bool,
}

/// Memory order (PTX ISA, «Memory Consistency Model»).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum Order {
    #[default]
    Weak,
    Relaxed,
    Volatile,
    Mmio,
    Acquire,
    Release,
    AcquireRelease,
    SequentiallyConsistent,
}

/// Who must see the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum Scope {
    #[default]
    Cta,
    Cluster,
    Gpu,
    Sys,
}

/// What an atomic does to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum AtomicOperation {
    Add,
    And,
    Or,
    Xor,
    Min,
    Max,
    Inc,
    Dec,
    Exchange,
    CompareExchange,
}

/// How a thread takes part in a block barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BarrierKind {
    /// Arrives and waits.
    Sync,
    /// Arrives only.
    Arrive,
}

/// `shfl` modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum ShuffleMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// `vote` modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum VoteMode {
    All,
    Any,
    Uni,
    Ballot,
}

/// Operations on an mbarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MbarrierOperation {
    /// `init`: `← address, count`.
    Init,
    /// `inval`.
    Invalidate,
    /// `expect_tx`: `← address, bytes`.
    ExpectTransactions,
    /// `complete_tx`: `← address, bytes`.
    CompleteTransactions,
    /// `arrive`: `[state] ← address, [count]`, or with `.expect_tx` `← address, bytes`.
    Arrive {
        /// `arrive_drop`: one arrival fewer is expected from the next phase on.
        drop: bool,
        /// `.expect_tx`.
        expect: bool,
        /// `.noComplete`.
        no_complete: bool,
    },
    /// `test_wait` or `try_wait`: `predicate ← address, state or parity, [suspend time]`.
    Wait {
        /// `try_wait`: may suspend the thread.
        suspends: bool,
        /// `.parity`: the second source is the phase parity.
        parity: bool,
    },
    /// `pending_count`: `count ← state`.
    PendingCount,
}

/// From where to where a bulk copy goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum BulkDirection {
    GlobalToShared,
    SharedToGlobal,
    SharedToShared,
    GlobalToGlobal,
    Prefetch,
}

/// How the end of a bulk copy is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BulkCompletion {
    /// By transaction bytes on an mbarrier.
    Mbarrier,
    /// By bulk groups.
    Group,
    /// Not at all (prefetch).
    None,
}

/// Matrix and tensor-memory instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatrixKind {
    /// `mma.sync`, `wmma`: all lanes of the warp together.
    Mma,
    /// `ldmatrix`.
    Load,
    /// `stmatrix`.
    Store,
    /// `movmatrix`.
    Move,
    /// `wgmma.mma_async`.
    WarpgroupMma,
    /// `wgmma.fence`.
    WarpgroupFence,
    /// `wgmma.commit_group`.
    WarpgroupCommit,
    /// `wgmma.wait_group N`: `← N`.
    WarpgroupWait,
    /// `tcgen05.mma`.
    TensorMma,
    /// `tcgen05.ld`, `tcgen05.st`, `tcgen05.cp`, `tcgen05.shift`.
    TensorMove,
    /// `tcgen05.wait`.
    TensorWait,
    /// `tcgen05.commit`: `← mbarrier address`.
    TensorCommit,
    /// `tcgen05.fence`.
    TensorFence,
    /// `tcgen05.alloc`, `.dealloc`, `.relinquish_alloc_permit`.
    TensorAllocation,
}

/// Between what a fence orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FenceKind {
    /// Ordinary memory accesses of the thread.
    Thread,
    /// Ordinary accesses and the asynchronous proxy.
    AsyncProxy,
    /// Other proxies (alias, tensormap, texture, constant).
    OtherProxy,
    /// `fence.mbarrier_init`.
    MbarrierInit,
}

/// Who is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Callee {
    /// A function of the module, defined or only declared.
    Direct(FunctionId),
    /// By address; the possible targets when the code lists them.
    Indirect(Vec<FunctionId>),
    /// A name that the module does not even declare.
    Unknown(String),
}
