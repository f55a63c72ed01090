//! Tests that a warp passes only with all its lanes: a mask that it made itself names all of them.

use standstill_kernel_ir::{Comparison, VoteMode};

use super::*;
use crate::loops::comparison;

/// Whether a block is reached only by lanes that have seen a mask of their warp name all lanes, and no condition behind that keeps
/// any of them away. `guilty` are the branches that the block stands under and whose condition differs within the warp.
///
/// Each lane that `activemask`, `match.any` or a ballot names gets the same mask (PTX ISA, «activemask», «match.sync», «vote.sync»): when
/// one sees all lanes in it, all see it.
pub(super) fn is_whole(kernel: &Kernel<'_>, guilty: &[BlockId], block: BlockId) -> bool {
    let body = kernel.body;
    guilty.iter().any(|&branch| {
        whole_side(body, branch).is_some_and(|side| {
            let behind = |block: BlockId| body.dominators.dominates(side, block);
            body.flow.predecessors(side) == [branch]
                && behind(block)
                && !guilty.iter().any(|&other| behind(other))
        })
    })
}

/// Where a branch goes with a whole warp, if it asks for one.
fn whole_side(body: &Body, branch: BlockId) -> Option<BlockId> {
    let terminator = body.function.blocks.get(branch.0 as usize)?.terminator;
    let Terminator::Branch { guard, taken, otherwise } = terminator else { return None };
    let (_, test, negated) = comparison(body, body.ssa.terminator(branch)?)?;
    let Op::Arithmetic(arithmetic) = test.op else { return None };
    let holds_when_equal = match arithmetic.comparison {
        Comparison::Eq => true,
        Comparison::Ne => false,
        _ => return None,
    };
    let is_all = |index| body.constant(test, index).is_some_and(|mask| mask as u32 == u32::MAX);
    let is_mask = |index| body.source_value(test, index).is_some_and(|value| names_lanes(body, value));
    if !(is_mask(0) && is_all(1) || is_mask(1) && is_all(0)) {
        return None;
    }
    let takes_whole = (holds_when_equal != negated) != guard.negated();
    Some(if takes_whole { taken } else { otherwise })
}

fn names_lanes(body: &Body, value: ValueId) -> bool {
    body.definition(value).is_some_and(|(_, instruction)| {
        instruction.guard.is_none()
            && matches!(
                instruction.op,
                Op::ActiveMask | Op::Match { all: false } | Op::Vote(VoteMode::Ballot)
            )
    })
}
