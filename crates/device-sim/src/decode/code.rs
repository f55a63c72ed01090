//! Decoded code: what the interpreter runs.

use std::sync::Arc;

use standstill_kernel_ir::{Arithmetic, BlockId, Function, FunctionId, InstructionId, Op, Special, Type};

use crate::exec::atomic::UNREAD;
use crate::exec::core::{Core, Step};
use crate::grid::block::BARRIERS;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;
/// One value of up to 32 bits for each lane.
pub(crate) type Row32 = [u32; LANES];
/// One value of up to 64 bits for each lane.
pub(crate) type Row64 = [u64; LANES];

/// A row that no vector of it crosses a line of the cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Aligned<T>(pub(crate) T);

/// What executes an operation for all lanes.
pub(crate) type Handler = for<'c> fn(&mut Core<'c>, &Micro) -> Step;

/// A row of registers of one plane, or of the code's constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    /// Set where the row is one of the code's constants.
    pub(crate) const CONSTANT: u32 = 1 << 31;
    /// Set where a predicate is to be negated.
    pub(crate) const NEGATED: u32 = 1 << 30;
    /// No row: a destination that is thrown away, a source that is absent.
    pub(crate) const NONE: Slot = Slot(u32::MAX);

    /// The row's index.
    #[inline(always)]
    pub(crate) fn row(self) -> usize {
        (self.0 & !(Slot::CONSTANT | Slot::NEGATED)) as usize
    }

    /// Whether it is a constant.
    #[inline(always)]
    pub(crate) fn is_constant(self) -> bool {
        self.0 & Slot::CONSTANT != 0
    }

    /// Whether a predicate is negated.
    #[inline(always)]
    pub(crate) fn is_negated(self) -> bool {
        self.0 & Slot::NEGATED != 0
    }
}

/// Registers are kept by width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Plane {
    /// Up to 32 bits.
    Narrow,
    /// 64 bits.
    Wide,
    /// Predicates: one bit for each lane.
    Predicate,
}

impl Plane {
    /// Where registers of a type are kept.
    pub(crate) fn of(ty: Type) -> Plane {
        match ty.bits() {
            1 => Plane::Predicate,
            2..=32 => Plane::Narrow,
            _ => Plane::Wide,
        }
    }
}

/// A row and its plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) plane: Plane,
    pub(crate) slot: Slot,
    /// The register's type, for what it keeps of a value.
    pub(crate) ty: Type,
}

impl Place {
    /// Nothing.
    pub(crate) const NONE: Place = Place { plane: Plane::Narrow, slot: Slot::NONE, ty: Type::None };

    /// Whether there is a row.
    pub(crate) fn is_some(self) -> bool {
        self.slot != Slot::NONE
    }
}

/// How the interpreter treats an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Calls the handler.
    Run,
    /// To `x`.
    Jump,
    /// To `a` where the guard holds, else to `b`.
    Branch,
    /// To the target of `a` in the list `x`.
    Switch,
    /// The start of a block that several come to.
    Join,
    /// Calls the handler, with the call `x`.
    Call,
    /// Back to the caller.
    Return,
    /// The thread ends.
    Exit,
    /// The launch ends.
    Trap,
}

/// A decoded operation. The meaning of `a`, `b`, `c`, `d`, `x` is the handler's.
#[derive(Clone, Copy)]
pub(crate) struct Micro {
    pub(crate) run: Handler,
    pub(crate) kind: Kind,
    /// Its kind is another than [`Kind::Run`]: that is asked of each operation, and answered faster here.
    pub(crate) steers: bool,
    /// It accesses memory or orders accesses.
    pub(crate) orders: bool,
    /// The predicate row of the guard, or [`Slot::NONE`].
    pub(crate) guard: Slot,
    pub(crate) d: Slot,
    pub(crate) a: Slot,
    pub(crate) b: Slot,
    pub(crate) c: Slot,
    pub(crate) x: u32,
}

/// The operation of a general handler, with all its operands.
#[derive(Debug, Clone)]
pub(crate) struct General {
    pub(crate) arithmetic: Arithmetic,
    pub(crate) destinations: Vec<Place>,
    pub(crate) sources: Vec<Place>,
}

/// An operation that is not arithmetic, with all its operands; addresses have their offsets added.
#[derive(Debug, Clone)]
pub(crate) struct Whole {
    pub(crate) op: Op,
    pub(crate) destinations: Vec<Place>,
    pub(crate) sources: Vec<Place>,
}

impl Whole {
    /// A destination; [`Place::NONE`] where there is none.
    pub(crate) fn destination(&self, index: usize) -> Place {
        self.destinations.get(index).copied().unwrap_or(Place::NONE)
    }

    /// A source; [`Place::NONE`] where there is none.
    pub(crate) fn source(&self, index: usize) -> Place {
        self.sources.get(index).copied().unwrap_or(Place::NONE)
    }
}

/// Where a decoded operation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Instruction(InstructionId),
    Terminator(BlockId),
}

/// A call with the rows of its pieces.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) target: Target,
    /// Position, offset and row of what is passed.
    pub(crate) arguments: Vec<(u32, u32, Place)>,
    /// Position, offset and row of what comes back.
    pub(crate) results: Vec<(u32, u32, Place)>,
}

/// Who is called.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Function(FunctionId),
    /// By the address in this row.
    Address(Place),
    /// Something that the device itself provides.
    Builtin(Builtin),
    /// Nobody.
    Missing(String),
}

/// What the device provides (CUDA's system calls).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builtin {
    Printf,
    Malloc,
    Free,
    AssertFail,
}

/// A list of jump targets.
pub(crate) type Targets = Vec<u32>;

/// A decoded function.
pub(crate) struct Code {
    pub(crate) function: Arc<Function>,
    pub(crate) ops: Vec<Micro>,
    pub(crate) origins: Vec<Origin>,
    /// First operation of each block.
    pub(crate) starts: Vec<u32>,
    pub(crate) constants32: Vec<Aligned<Row32>>,
    pub(crate) constants64: Vec<Aligned<Row64>>,
    pub(crate) general: Vec<General>,
    pub(crate) operations: Vec<Whole>,
    pub(crate) specials: Vec<Special>,
    pub(crate) calls: Vec<Call>,
    pub(crate) switches: Vec<Targets>,
    /// Rows of a frame.
    pub(crate) frame: Frame,
    /// Bytes of local memory of a frame.
    pub(crate) local_bytes: u32,
    /// Bytes of local memory that its variables take; what is allocated for it is rounded up.
    pub(crate) local_used: u32,
    /// The row of each register; not all have one.
    pub(crate) rows: Vec<Place>,
    /// Position, offset and row of parameters and results.
    pub(crate) parameters: Vec<(u32, u32, Place)>,
    pub(crate) results: Vec<(u32, u32, Place)>,
    /// What the function's loops depend on, worked out when one of them is suspected to spin.
    pub(crate) slices: crate::hang::slice::Slices,
}

impl Code {
    /// The number of the barrier at a place that all threads of the block wait at, and that gives nothing.
    #[inline(always)]
    pub(crate) fn whole_barrier(&self, pc: u32) -> Option<u32> {
        self.ops.get(pc as usize).map(|op| op.d.0).filter(|&id| (id as usize) < BARRIERS)
    }

    /// The position of the instruction that begins at a position, perhaps behind the start of its block; some have
    /// several operations.
    pub(crate) fn beginning(&self, position: u32) -> Option<u32> {
        let origin = |position: u32| self.origins.get(position as usize);
        let joins = |position: u32| self.ops.get(position as usize).is_some_and(|op| op.kind == Kind::Join);
        if joins(position) {
            return Some(position + 1);
        }
        let before = position.checked_sub(1);
        let begins = self.starts.contains(&position)
            || before.is_none_or(|before| joins(before) || origin(before) != origin(position));
        begins.then_some(position)
    }

    /// Whether an atomic operation stands at a position whose result nobody reads.
    pub(crate) fn reduces(&self, position: u32) -> bool {
        let instruction = match self.origins.get(position as usize) {
            Some(Origin::Instruction(id)) => self.function.instructions.get(id.0 as usize),
            _ => None,
        };
        instruction.is_some_and(|instruction| matches!(instruction.op, Op::Atomic { .. }))
            && self.ops.get(position as usize).is_some_and(|op| op.d == UNREAD)
    }

    /// The position of one of its operations.
    pub(crate) fn position(&self, op: &Micro) -> usize {
        std::ptr::from_ref(op).addr().wrapping_sub(self.ops.as_ptr().addr()) / size_of::<Micro>()
    }
}

/// How many rows of each plane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) narrow: usize,
    pub(crate) wide: usize,
    pub(crate) predicates: usize,
}

impl std::ops::Add for Frame {
    type Output = Frame;

    fn add(self, other: Frame) -> Frame {
        Frame {
            narrow: self.narrow + other.narrow,
            wide: self.wide + other.wide,
            predicates: self.predicates + other.predicates,
        }
    }
}

/// A kernel ready to run: its functions, and where its shared variables lie.
pub(crate) struct Kernel {
    pub(crate) id: FunctionId,
    pub(crate) name: String,
    pub(crate) functions: Vec<Option<Arc<Code>>>,
    pub(crate) static_shared: u32,
    /// Names and offsets of shared variables, for reports.
    pub(crate) shared_names: Vec<(String, u32, u64)>,
    pub(crate) parameter_offsets: Vec<crate::launch::ParameterInfo>,
    pub(crate) parameter_bytes: u32,
    /// Its blocks have nothing to do with each other; see [`super::independent`].
    pub(crate) independent: bool,
    /// Registers must be zero before a block begins: something reads them that may not have been written.
    pub(crate) clears: bool,
}

impl Kernel {
    /// The code of a function.
    pub(crate) fn code(&self, id: FunctionId) -> Option<&Arc<Code>> {
        self.functions.get(id.0 as usize)?.as_ref()
    }
}
