//! The static single assignment view: which definition each use of a register reads.
//!
//! A function stays as it is; the view gives each definition a number ([`ValueId`]) and each place
//! that reads a register the number of the value read.

mod construct;
mod uses;

use crate::{BlockId, Function, InstructionId, Register, Terminator};

pub use uses::{User, Uses};

/// A value: what one definition produces, by its index in [`Ssa::values`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// «Not a register» in tables of values.
const ABSENT: u32 = u32::MAX;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueDef {
    /// A destination of an instruction.
    Instruction {
        /// The instruction.
        instruction: InstructionId,
        /// Position among its destinations.
        destination: u16,
        /// For a guarded instruction, the register's value before it, which stays where the guard does
        /// not hold: the value depends on the guard, the sources and this.
        previous: Option<ValueId>,
    },
    /// Values of one register that meet at the start of a block; see [`Ssa::incoming`].
    Phi {
        /// The block.
        block: BlockId,
        /// The register.
        register: Register,
        /// First entry in the list of incoming values.
        first: u32,
        /// Number of incoming values.
        count: u32,
    },
    /// A register that nothing was written to yet.
    Undefined(Register),
    /// A register that holds a piece of a parameter at entry.
    Entry(Register),
}

/// The view of one function.
///
/// Only reachable blocks count. Uses in other blocks read [`ValueDef::Undefined`]; definitions there
/// have a value that nothing reads.
#[derive(Debug, Clone, Default)]
pub struct Ssa {
    values: Vec<ValueDef>,
    /// Value of each operand of the pool: read for sources, written for destinations. After that, of
    /// each instruction's guard, of each block's terminator, and of each result piece at each return.
    slots: Vec<u32>,
    layout: Layout,
    /// Incoming values of phis.
    incoming: Vec<(BlockId, ValueId)>,
    /// Phis by block.
    phis: crate::Lists<ValueId>,
}

/// Where the parts of [`Ssa::slots`] start.
#[derive(Debug, Clone, Default)]
struct Layout {
    guards: u32,
    terminators: u32,
    results: u32,
    /// Result pieces per return.
    pieces: u32,
    /// Blocks that return, in increasing order.
    returns: Vec<BlockId>,
}

/// No more result values than this are kept, so that a hostile input cannot ask for any amount of memory.
const MOST_RESULTS: usize = 1 << 24;

impl Layout {
    fn of(function: &Function) -> Layout {
        let guards = function.operands.len() as u32;
        let terminators = guards + function.instructions.len() as u32;
        let results = terminators + function.blocks.len() as u32;
        let mut returns = Vec::new();
        if !function.result_pieces.is_empty() {
            let blocks = (0..).map(BlockId).zip(&function.blocks);
            returns.extend(
                blocks.filter(|(_, block)| block.terminator == Terminator::Return).map(|(block, _)| block),
            );
        }
        let pieces = function.result_pieces.len().min(MOST_RESULTS / returns.len().max(1)) as u32;
        Layout { guards, terminators, results, pieces, returns }
    }

    /// Number of slots.
    fn size(&self) -> usize {
        self.results as usize + self.returns.len() * self.pieces as usize
    }

    /// The first slot of a block's results.
    fn results_of(&self, block: BlockId) -> Option<u32> {
        let index = self.returns.binary_search(&block).ok()?;
        Some(self.results + index as u32 * self.pieces)
    }
}

impl Ssa {
    /// The pseudo-block from which the entry block's phis receive the value at entry, when the entry
    /// block also has predecessors.
    pub const OUTSIDE: BlockId = BlockId(u32::MAX);

    fn slot(&self, slot: u32) -> Option<ValueId> {
        self.slots.get(slot as usize).filter(|&&value| value != ABSENT).map(|&value| ValueId(value))
    }

    /// All values, by [`ValueId`].
    pub fn values(&self) -> &[ValueDef] {
        &self.values
    }

    /// Where a value comes from.
    pub fn definition(&self, value: ValueId) -> Option<ValueDef> {
        self.values.get(value.0 as usize).copied()
    }

    /// The value of an operand by its index in [`Function::operands`]: the one read by a source that is
    /// or contains a register, the one written by a destination. `None` for other operands.
    pub fn at(&self, operand: u32) -> Option<ValueId> {
        if operand < self.layout.guards { self.slot(operand) } else { None }
    }

    /// The value that an instruction's guard reads.
    pub fn guard(&self, instruction: InstructionId) -> Option<ValueId> {
        if instruction.0 < self.layout.terminators - self.layout.guards {
            self.slot(self.layout.guards + instruction.0)
        } else {
            None
        }
    }

    /// The value that a block's branch or switch reads.
    pub fn terminator(&self, block: BlockId) -> Option<ValueId> {
        if block.0 < self.layout.results - self.layout.terminators {
            self.slot(self.layout.terminators + block.0)
        } else {
            None
        }
    }

    /// The value of a result piece ([`Function::result_pieces`]) where a block returns.
    pub fn result(&self, block: BlockId, piece: u32) -> Option<ValueId> {
        if piece >= self.layout.pieces {
            return None;
        }
        self.slot(self.layout.results_of(block)? + piece)
    }

    /// The incoming values of a phi, each with the block that it comes from; empty for other values.
    pub fn incoming(&self, value: ValueId) -> &[(BlockId, ValueId)] {
        match self.definition(value) {
            Some(ValueDef::Phi { first, count, .. }) => {
                self.incoming.get(first as usize..first as usize + count as usize).unwrap_or(&[])
            }
            _ => &[],
        }
    }

    /// The phis at the start of a block.
    pub fn phis(&self, block: BlockId) -> &[ValueId] {
        self.phis.get(block.0)
    }

    /// The block of a value's definition; the entry for values that are there from the start.
    pub fn block(&self, value: ValueId, flow: &crate::ControlFlow) -> Option<BlockId> {
        match self.definition(value)? {
            ValueDef::Instruction { instruction, .. } => flow.instruction_block(instruction),
            ValueDef::Phi { block, .. } => Some(block),
            ValueDef::Undefined(_) | ValueDef::Entry(_) => Some(BlockId(0)),
        }
    }
}
