//! The order in which blocks are laid out.
//!
//! Where a warp has diverged, the part with the lowest position runs first. That brings the parts together
//! again early when every join lies behind both of its arms, and the way out of a loop behind the loop.

use standstill_kernel_ir::{BlockId, ControlFlow, Function, Loops};

/// All reachable blocks: a reverse postorder in which a loop stands before what follows it.
pub(crate) fn layout(function: &Function, flow: &ControlFlow, loops: &Loops) -> Vec<BlockId> {
    let count = function.blocks.len();
    let mut seen = vec![false; count];
    let mut postorder = Vec::with_capacity(count);
    // Blocks on the way, each with its successors that are still to be visited, last first.
    let mut path: Vec<(BlockId, Vec<BlockId>)> = Vec::new();
    let open = |block: BlockId, seen: &mut Vec<bool>| -> Option<(BlockId, Vec<BlockId>)> {
        let seen = seen.get_mut(block.0 as usize)?;
        if std::mem::replace(seen, true) {
            return None;
        }
        let mut next = flow.successors(block).to_vec();
        // What leaves most loops is visited first, and so finishes first and stands last. Among the others the
        // later in the text is visited first.
        next.sort_by_key(|&to| (left_by(loops, block, to), to.0));
        Some((block, next))
    };
    path.extend(open(BlockId(0), &mut seen));
    while let Some((block, rest)) = path.last_mut() {
        match rest.pop() {
            Some(next) => {
                if let Some(entry) = open(next, &mut seen) {
                    path.push(entry);
                }
            }
            None => {
                postorder.push(*block);
                path.pop();
            }
        }
    }
    postorder.reverse();
    postorder
}

/// How many loops an edge leaves.
fn left_by(loops: &Loops, from: BlockId, to: BlockId) -> u32 {
    let mut count = 0;
    let mut inside = loops.innermost(from);
    while let Some(id) = inside {
        if loops.contains(id, to) {
            break;
        }
        count += 1;
        inside = loops.get(id).and_then(|of| of.parent);
    }
    count
}
