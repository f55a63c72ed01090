//! Instructions: one [`Op`] each, with operands in the function's pool.
//!
//! The order of operands is given with each operation as «destinations ← sources».

use crate::{
    Arithmetic, CallId, FunctionId, Guard, LocationId, MatrixFragment, MatrixMultiply, OpaqueId,
    OperandRange, OperationMark, Space, Type,
};

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
        /// What a `.red` form gives. `bar.warp`-like forms never come here; see [`Op::WarpSync`].
        reduction: Option<BarrierReduction>,
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
        /// `cp.reduce`: what is done to the destination, by elements of this type; a copy replaces.
        reduction: Option<(AtomicOperation, Type)>,
        /// `.multicast::cluster`: to the blocks of the cluster that the last source names by bits.
        multicast: bool,
    },
    /// `st.async` and `red.async` to shared memory of the cluster: `← address, value…, mbarrier address`. The
    /// mbarrier's transaction count falls by the bytes written, once they are.
    AsyncStore {
        /// How memory is accessed.
        access: Access,
        /// What a reduction does to it; a store replaces.
        reduction: Option<AtomicOperation>,
    },
    /// `cp.async.bulk.commit_group`.
    BulkCommit,
    /// `cp.async.bulk.wait_group N`: `← N`.
    BulkWait {
        /// `.read`: only the sources may be reused.
        read: bool,
    },
    /// Matrix and tensor-memory instructions: `d… ← sources in PTX order`. The values of those of a
    /// warp are in [`crate::matrix`], all others are unknown.
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
    /// A mark of where an operation of a shared structure begins and ends; see [`OperationMark`] for its operands.
    OperationMark(OperationMark),
    /// A call; see [`crate::CallSite`] for its operands.
    Call(CallId),
    /// No effect on values or order (prefetch, cache hints, `pmevent`, `brkpt`): `← sources`.
    Hint,
    /// Not understood: `d… ← sources`, by the form of the operands.
    Opaque(OpaqueId),
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

/// What a reducing block barrier gives to all its threads, of their predicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BarrierReduction {
    /// `.popc`: the number of threads whose predicate holds.
    Count,
    /// `.and`: whether it holds for all.
    And,
    /// `.or`: whether it holds for any.
    Or,
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
    /// `mma.sync`, `wmma.mma`: all lanes of the warp together.
    Mma(MatrixMultiply),
    /// `ldmatrix`: `d… ← address`; `wmma.load`: `d… ← address, [stride]`.
    Load(MatrixFragment),
    /// `stmatrix`: `← address, value…`; `wmma.store`: `← address, value…, [stride]`.
    Store(MatrixFragment),
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
