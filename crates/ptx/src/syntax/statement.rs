//! Statements of a function body.

use standstill_kernel_ir::OperationMark;

use crate::span::Span;
use crate::syntax::opcode::OpcodeId;
use crate::syntax::operand::{Operand, RegisterNumber};

/// The guard of an instruction: `@p` or `@!p`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard(u32);

impl Guard {
    /// No guard.
    pub const NONE: Self = Self(u32::MAX);
    const NEGATED: u32 = 1 << 31;

    pub(crate) fn new(register: RegisterNumber, negated: bool) -> Self {
        Self(register.0 & !Self::NEGATED | if negated { Self::NEGATED } else { 0 })
    }

    /// The register tested and whether the instruction runs when it is false.
    pub fn get(self) -> Option<(RegisterNumber, bool)> {
        (self != Self::NONE).then_some((RegisterNumber(self.0 & !Self::NEGATED), self.0 & Self::NEGATED != 0))
    }
}

/// An index of an entry in [`Module::inlined`](crate::Module::inlined), or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InlinedIndex(pub(crate) u32);

impl InlinedIndex {
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The index.
    pub fn get(self) -> Option<usize> {
        (self != Self::NONE).then_some(self.0 as usize)
    }
}

/// A statement and where it begins.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Statement {
    /// First byte: the guard's or the opcode's.
    pub offset: u32,
    /// What it is.
    pub kind: StatementKind,
}

/// What a statement is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum StatementKind {
    /// An instruction.
    Instruction {
        /// Slots taken in the operand pool.
        slots: u16,
        /// Its opcode.
        opcode: OpcodeId,
        /// Its guard.
        guard: Guard,
        /// First slot in the operand pool.
        first: u32,
    },
    /// `name:`.
    Label(Span),
    /// `.loc`: the source place of what follows.
    Loc {
        /// Column, from 1; 0 where unknown.
        column: u16,
        /// File index of a `.file` directive.
        file: u32,
        /// Line, from 1; 0 where unknown.
        line: u32,
        /// The function inlined here and the place it was inlined at.
        inlined: InlinedIndex,
    },
    /// `{` of an inner block.
    Open,
    /// `}` of an inner block.
    Close,
    /// A variable declared in the body: its index in [`Module::variables`](crate::Module::variables).
    Variable(u32),
    /// `.branchtargets` or `.calltargets`, named by the label before it: slots in the operand pool.
    Targets {
        /// First slot.
        first: u32,
        /// Number of slots.
        slots: u32,
    },
    /// `.callprototype`, named by the label before it.
    Prototype(Span),
    /// `.pragma`, its text with the quotes.
    Pragma(Span),
    /// `// standstill.freed ADDR, BYTES;` or `// standstill.allocated ADDR, BYTES;`, or an `add` of the two into a
    /// register that is named `standstill_freed` or `standstill_allocated`: comments do not last in executables.
    LifeMark {
        /// Whether the memory was freed rather than allocated.
        freed: bool,
        /// Slots taken in the operand pool.
        slots: u16,
        /// First slot in the operand pool.
        first: u32,
    },
    /// An instruction into a register whose name marks an operation of a shared structure, without that register.
    OperationMark {
        /// What is marked.
        mark: OperationMark,
        /// Slots taken in the operand pool.
        slots: u16,
        /// First slot in the operand pool.
        first: u32,
    },
    /// An operand's guard register was never declared; the instruction's guard follows as a name.
    UndeclaredGuard {
        /// Whether the instruction runs when it is false.
        negated: bool,
        /// The guard's name.
        name: Span,
    },
}

/// What `.loc … function_name …, inlined_at …` adds to a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inlined {
    /// The label in `.debug_str` that holds the function's name; empty where none was given.
    pub function: Span,
    /// Bytes behind that label.
    pub function_offset: u32,
    /// File index of the call.
    pub file: u32,
    /// Line of the call.
    pub line: u32,
    /// Column of the call.
    pub column: u16,
}

const _: () = assert!(size_of::<Statement>() == 20 && size_of::<Operand>() == 12);
