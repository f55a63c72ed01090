//! Who reads each value.

use super::{Ssa, ValueDef, ValueId};
use crate::{BlockId, Function, InstructionId, Lists};

/// A reader of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum User {
    /// A source of an instruction.
    Source {
        /// The instruction.
        instruction: InstructionId,
        /// Position among its sources.
        source: u16,
    },
    /// The guard of an instruction.
    Guard(InstructionId),
    /// A guarded instruction that keeps the value where its guard does not hold.
    Previous(InstructionId),
    /// The branch or switch at the end of a block.
    Terminator(BlockId),
    /// A result piece where a block returns.
    Result {
        /// The block.
        block: BlockId,
        /// The piece.
        piece: u32,
    },
    /// A phi.
    Phi(ValueId),
}

/// The users of every value.
#[derive(Debug, Clone, Default)]
pub struct Uses {
    users: Lists<User>,
}

impl Uses {
    /// Lists the users of each value of the view.
    pub fn build(function: &Function, ssa: &Ssa) -> Uses {
        let mut pairs: Vec<(u32, User)> = Vec::with_capacity(function.operands.len());
        let mut add = |value: Option<ValueId>, user| {
            if let Some(value) = value {
                pairs.push((value.0, user));
            }
        };
        for (index, instruction) in function.instructions.iter().enumerate() {
            let id = InstructionId(index as u32);
            let operands = instruction.operands;
            let first = operands.start + u32::from(operands.destinations);
            for source in 0..operands.sources {
                add(ssa.at(first + u32::from(source)), User::Source { instruction: id, source });
            }
            if instruction.guard.is_some() {
                add(ssa.guard(id), User::Guard(id));
            }
        }
        for index in 0..function.blocks.len() as u32 {
            let block = BlockId(index);
            add(ssa.terminator(block), User::Terminator(block));
            for piece in 0..function.result_pieces.len() as u32 {
                add(ssa.result(block, piece), User::Result { block, piece });
            }
        }
        for (index, value) in ssa.values.iter().enumerate() {
            match *value {
                ValueDef::Instruction { instruction, previous, .. } => {
                    add(previous, User::Previous(instruction));
                }
                ValueDef::Phi { .. } => {
                    let phi = ValueId(index as u32);
                    ssa.incoming(phi).iter().for_each(|&(_, value)| add(Some(value), User::Phi(phi)));
                }
                ValueDef::Undefined(_) | ValueDef::Entry(_) => {}
            }
        }
        Uses { users: Lists::from_pairs(ssa.values.len(), &pairs) }
    }

    /// The users of a value, in text order; phis last.
    pub fn of(&self, value: ValueId) -> &[User] {
        self.users.get(value.0)
    }
}
