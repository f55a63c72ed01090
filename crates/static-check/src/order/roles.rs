//! Who comes to an access: one block or all of them, the same block as another access or a different one.

use standstill_kernel_ir::{BlockId, Comparison, Instruction, Op, Operand, Operation, Special};

use super::flags::Access;
use super::paths;
use crate::body::Body;
use crate::divergence::guilty;
use crate::kernel::Kernel;
use crate::uniformity::Agreement;

/// Whether launches have, or are taken to have, more than one block: the grid is known, or the code asks
/// for its block index.
fn many_blocks(kernel: &Kernel<'_>) -> bool {
    match kernel.launch.grid {
        Some(grid) => grid.iter().any(|&extent| extent > 1),
        None => {
            kernel.body.instructions().any(|(_, instruction)| reads_block_index(kernel.body, instruction))
        }
    }
}

/// Whether the grid is known to have one block.
fn one_block(kernel: &Kernel<'_>) -> bool {
    kernel.launch.grid.is_some_and(|grid| grid.iter().all(|&extent| extent <= 1))
}

fn reads_block_index(body: &Body, instruction: &Instruction) -> bool {
    (0..usize::from(instruction.operands.sources)).any(|index| {
        matches!(
            body.source(instruction, index),
            Operand::Special(Special::Ctaid(_) | Special::ClusterId(_) | Special::ClusterCtarank)
        )
    })
}

/// Whether a branch tells blocks apart.
fn branches_on_block(kernel: &Kernel<'_>, branch: BlockId) -> bool {
    let body = kernel.body;
    let agreement = kernel.uniformity.branch(branch);
    agreement == Agreement::Block
        || agreement == Agreement::Cluster
        || body.ssa.terminator(branch).is_some_and(|condition| {
            body.rests_on(condition, &|instruction| reads_block_index(body, instruction))
        })
}

/// The branches over a block that pick certain blocks out by comparing for equality.
fn selections(kernel: &Kernel<'_>, block: BlockId) -> Vec<BlockId> {
    let body = kernel.body;
    let mut found = guilty(kernel, block, Agreement::Grid);
    found.retain(|&branch| {
        branches_on_block(kernel, branch)
            && body.ssa.terminator(branch).is_some_and(|condition| {
                body.rests_on(condition, &|instruction| {
                    matches!(
                        instruction.op,
                        Op::Arithmetic(arithmetic) if arithmetic.operation == Operation::Setp
                            && matches!(arithmetic.comparison, Comparison::Eq | Comparison::Ne)
                    )
                })
            })
    });
    found.sort_unstable();
    found
}

/// Whether threads of every block come to an access, and all of them to the same places.
pub(super) fn every_block_comes(kernel: &Kernel<'_>, access: &Access) -> bool {
    many_blocks(kernel)
        && access.address.is_shared_by_blocks(kernel)
        && selections(kernel, kernel.body.block_of(access.at)).is_empty()
}

/// Whether a flag's writer and its reader are in different blocks, as the code shows.
pub(super) fn in_other_blocks(kernel: &Kernel<'_>, writer: &Access, reader: &Access) -> bool {
    if one_block(kernel) {
        return false;
    }
    let body = kernel.body;
    let (write, read) = (body.block_of(writer.at), body.block_of(reader.at));
    let same_place = writer.address.same(&reader.address);
    let shared = writer.address.is_shared_by_blocks(kernel) && reader.address.is_shared_by_blocks(kernel);
    if !same_place && writer.address.is_of_one_block(kernel) && reader.address.is_of_one_block(kernel) {
        return true;
    }
    if !shared && same_place {
        return false;
    }
    let exclusive = !reaches(body, writer, reader) && !reaches(body, reader, writer);
    if exclusive
        && let Some(branch) = body.dominators.nearest_common(write, read)
        && branches_on_block(kernel, branch)
    {
        return true;
    }
    if !shared || !many_blocks(kernel) {
        return false;
    }
    let (write, read) = (selections(kernel, write), selections(kernel, read));
    write.is_empty() && read.is_empty() || write != read
}

fn reaches(body: &Body, first: &Access, second: &Access) -> bool {
    paths::behind(body, first.at, &|_, _| false).0.contains(body, second.at)
}

/// Whether a block runs only by the decision of a branch, directly or through other branches.
pub(super) fn stands_under(body: &Body, block: BlockId, branch: BlockId) -> bool {
    let mut seen = vec![block];
    let mut next = 0;
    while let Some(&block) = seen.get(next) {
        next += 1;
        for &over in body.control_dependence.branches(block) {
            if over == branch {
                return true;
            }
            if !seen.contains(&over) && seen.len() < 256 {
                seen.push(over);
            }
        }
    }
    false
}
