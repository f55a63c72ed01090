//! Fences that a condition leaves out: on one way from a payload's store to the write of the flag there is a
//! fence, on the other there is none.

use std::cell::RefCell;

use standstill_kernel_ir::{BlockId, InstructionId, Op, Operand, Special, ValueId};

use super::flags::{Access, Poll};
use super::paths::{self, Exposed};
use super::roles;
use crate::kernel::Kernel;
use crate::threads::ThreadValues;

/// A fence that some threads or launches leave out.
pub(super) struct LeftOut {
    /// The fence.
    pub(super) fence: InstructionId,
    /// The branch that decides.
    pub(super) branch: BlockId,
    /// Thread indices alone decide, and threads of every block leave it out.
    pub(super) proved: bool,
}

/// The fence between a store and the write of a flag that is left out by a condition which decides nothing else
/// about the two sides.
pub(super) fn left_out(
    kernel: &Kernel<'_>,
    exposed: &Exposed,
    store: &Access,
    writer: &Access,
    poll: &Poll,
    load: &Access,
) -> Option<LeftOut> {
    let body = kernel.body;
    let block = |access: &Access| body.block_of(access.at);
    exposed.covers.iter().find_map(|&fence| {
        if !matches!(body.instruction(fence).map(|i| i.op), Some(Op::Fence { .. })) {
            return None;
        }
        let fenced = body.block_of(fence);
        let &[branch] = body.control_dependence.branches(fenced) else { return None };
        let condition = body.ssa.terminator(branch)?;
        let rests = Rests::of(kernel, condition);
        // Every thread that comes to the branch has stored. If it has met others since, or the flag's writer has
        // met it, the fence that counts is the writer's own.
        let meets = |id: InstructionId, instruction: &standstill_kernel_ir::Instruction| {
            paths::meets(body, id, instruction, true)
        };
        if !body.dominators.dominates(block(store), branch)
            || body.loops.innermost(branch) != body.loops.innermost(block(store))
            || body.loops.innermost(branch) != body.loops.innermost(fenced)
            || !(paths::before(body, fence, &meets).0.contains(body, store.at)
                || !rests.on_threads && paths::before(body, writer.at, &meets).0.contains(body, fence))
        {
            return None;
        }
        let sides = [block(writer), block(&poll.access), block(load)];
        if sides.iter().any(|&side| roles::stands_under(body, side, branch)) {
            return None;
        }
        if rests.on_blocks {
            return None;
        }
        let proved = rests.on_threads && !rests.on_others && rests.parameters.is_empty() && {
            let vector =
                ThreadValues::new(body, kernel.launch).and_then(|mut values| values.vector(condition));
            // Some take the fence and some do not; where all do the same there is nothing left out.
            vector.is_some_and(|vector| {
                vector.iter().any(|bits| bits & 1 == 0) && vector.iter().any(|bits| bits & 1 == 1)
            })
        };
        if !proved && (rests.on_threads || rests.on_others || rests.parameters.is_empty()) {
            return None;
        }
        // What is asked again on the way to one side may leave out that side, too.
        let asked_again = sides.iter().any(|&side| {
            branches_over(kernel, side).into_iter().any(|over| {
                body.ssa.terminator(over).is_some_and(|other| {
                    let other = Rests::of(kernel, other);
                    other.parameters.iter().any(|parameter| rests.parameters.contains(parameter))
                })
            })
        });
        (!asked_again).then_some(LeftOut { fence, branch, proved })
    })
}

/// The branches that decide whether a block runs, directly or through others.
fn branches_over(kernel: &Kernel<'_>, block: BlockId) -> Vec<BlockId> {
    let dependence = &kernel.body.control_dependence;
    let mut found: Vec<BlockId> = dependence.branches(block).to_vec();
    let mut next = 0;
    while let Some(&branch) = found.get(next) {
        next += 1;
        for &over in dependence.branches(branch) {
            if !found.contains(&over) && found.len() < 256 {
                found.push(over);
            }
        }
    }
    found
}

/// What a condition is computed from.
#[derive(Default)]
struct Rests {
    parameters: Vec<u32>,
    on_threads: bool,
    on_blocks: bool,
    /// Memory, or anything else that is not known.
    on_others: bool,
}

impl Rests {
    fn of(kernel: &Kernel<'_>, condition: ValueId) -> Rests {
        let found = RefCell::new(Rests::default());
        kernel.body.rests_on(condition, &|instruction| {
            let mut found = found.borrow_mut();
            for source in kernel.body.function.sources(instruction.operands) {
                match source {
                    Operand::Parameter { index, .. } => found.parameters.push(*index),
                    Operand::Special(Special::Tid(_) | Special::LaneId | Special::WarpId) => {
                        found.on_threads = true;
                    }
                    Operand::Special(Special::Ntid(_) | Special::WarpSize) => {}
                    Operand::Special(Special::Ctaid(_) | Special::Nctaid(_)) => found.on_blocks = true,
                    Operand::Special(_) => found.on_others = true,
                    _ => {}
                }
            }
            let is_parameter = matches!(
                instruction.op,
                Op::Load(access) if access.space == standstill_kernel_ir::Space::Param
            );
            found.on_others |= !is_parameter && !matches!(instruction.op, Op::Arithmetic(_));
            false
        });
        found.into_inner()
    }
}
