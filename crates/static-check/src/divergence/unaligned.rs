//! Barriers without `.aligned`: threads of one warp may come to different ones of the same number, and what
//! counts is that each side of a branch comes to as many (PTX ISA, «barrier»).

use super::*;

/// Whether the threads that a divergent barrier's branches keep from it come to another barrier of the same
/// number instead, or leave the kernel because they were told so through memory, as warps with roles are.
pub(super) fn meets_by_number(kernel: &Kernel<'_>, at: InstructionId) -> bool {
    let body = kernel.body;
    let Some(number) = body.instruction(at).and_then(|i| number_of(body, i)) else { return false };
    let branches = guilty(kernel, body.block_of(at), Agreement::Block);
    !branches.is_empty()
        && branches.iter().all(|&branch| {
            let meeting = meeting(body, branch);
            let sides = body.flow.successors(branch);
            sides.iter().all(|&side| match walk(body, branch, side, meeting, number) {
                Side::Barrier => true,
                Side::Leaves => told_by_memory(kernel, branch),
                Side::ComesBack => false,
            })
        })
}

/// What happens on one side of a branch.
#[derive(PartialEq, Eq)]
enum Side {
    /// It comes to a barrier of the number before both sides meet again.
    Barrier,
    /// It leaves the kernel without one.
    Leaves,
    /// It comes back to the other side without one.
    ComesBack,
}

/// Where the sides of a branch meet before any of them comes to the branch again.
fn meeting(body: &Body, branch: BlockId) -> Option<BlockId> {
    let meeting = body.post_dominators.immediate(branch)?;
    let comes = |&side: &BlockId| {
        let mut found = false;
        visit(body, branch, side, |block| {
            found |= block == meeting;
            block != meeting
        });
        found
    };
    body.flow.successors(branch).iter().all(comes).then_some(meeting)
}

fn walk(body: &Body, branch: BlockId, side: BlockId, meeting: Option<BlockId>, number: u64) -> Side {
    let (mut barrier, mut back) = (false, false);
    let came_back = visit(body, branch, side, |block| {
        if Some(block) == meeting {
            back |= !early_exit::ends_at_once(body, block);
            return false;
        }
        let here = body.function.instructions_of(block).iter().any(|i| number_of(body, i) == Some(number));
        barrier |= here;
        !here
    });
    match (barrier, back || came_back) {
        (true, _) => Side::Barrier,
        (false, true) => Side::ComesBack,
        (false, false) => Side::Leaves,
    }
}

/// Visits the blocks from a side of a branch on, behind those for which `go_on` holds; whether that leads
/// back to the branch.
fn visit(body: &Body, branch: BlockId, side: BlockId, mut go_on: impl FnMut(BlockId) -> bool) -> bool {
    let mut seen = vec![false; body.function.blocks.len()];
    let mut stack = vec![side];
    let mut came_back = false;
    while let Some(block) = stack.pop() {
        if block == branch {
            came_back = true;
            continue;
        }
        if seen.get_mut(block.0 as usize).is_none_or(|seen| std::mem::replace(seen, true)) {
            continue;
        }
        if go_on(block) {
            stack.extend_from_slice(body.flow.successors(block));
        }
    }
    came_back
}

/// The number of a barrier of the whole block without `.aligned`.
fn number_of(body: &Body, instruction: &Instruction) -> Option<u64> {
    let unaligned = matches!(instruction.op, Op::Barrier { aligned: false, .. });
    (unaligned && is_block_barrier(body, instruction)).then(|| body.constant(instruction, 0)).flatten()
}

fn told_by_memory(kernel: &Kernel<'_>, branch: BlockId) -> bool {
    kernel.uniformity.branch(branch) >= Agreement::Warp
        && kernel
            .body
            .ssa
            .terminator(branch)
            .and_then(|value| origin(kernel, value))
            .is_some_and(|origin| origin.is_load())
}
