//! Which threads of a block come to a place.

use std::rc::Rc;

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use standstill_kernel_ir::{BlockId, Terminator};

use crate::body::Body;
use crate::threads::ThreadValues;

/// The threads that come to one block, as far as conditions over thread indices tell.
pub(crate) struct Arrivals {
    /// Threads that no known condition keeps away.
    pub(crate) may: FixedBitSet,
    /// A condition that is not known keeps threads away or not.
    pub(crate) undecided: bool,
}

impl Arrivals {
    /// Follows each thread of the block from the entry.
    pub(crate) fn of(body: &Body, values: &mut ThreadValues<'_>, threads: u32, to: BlockId) -> Arrivals {
        let mut known: FxHashMap<BlockId, Rc<[u64]>> = FxHashMap::default();
        let mut undecided = false;
        for &block in body.flow.reverse_postorder() {
            if block == to || body.flow.successors(block).len() < 2 {
                continue;
            }
            let is_branch = matches!(terminator(body, block), Some(Terminator::Branch { .. }));
            match body.ssa.terminator(block).filter(|_| is_branch).and_then(|value| values.vector(value)) {
                Some(vector) => {
                    known.insert(block, vector);
                }
                None => {
                    let sides = body.flow.successors(block);
                    undecided |= leads_to(body, BlockId(0), block, to)
                        && sides.iter().any(|&side| leads_to(body, side, to, block))
                        && sides.iter().any(|&side| !leads_to(body, side, to, block));
                }
            }
        }
        let mut may = FixedBitSet::with_capacity(threads as usize);
        let mut seen = FixedBitSet::with_capacity(body.flow.block_count());
        for thread in 0..threads as usize {
            seen.clear();
            let mut stack = vec![BlockId(0)];
            while let Some(block) = stack.pop() {
                if block == to {
                    may.insert(thread);
                    break;
                }
                if seen.put(block.0 as usize) {
                    continue;
                }
                let bits = known.get(&block).and_then(|vector| vector.get(thread));
                match (terminator(body, block), bits) {
                    (Some(Terminator::Branch { guard, taken, otherwise }), Some(bits)) => {
                        stack.push(if (bits & 1 == 1) != guard.negated() { taken } else { otherwise });
                    }
                    _ => stack.extend_from_slice(body.flow.successors(block)),
                }
            }
        }
        Arrivals { may, undecided }
    }
}

fn terminator(body: &Body, block: BlockId) -> Option<Terminator> {
    body.function.blocks.get(block.0 as usize).map(|block| block.terminator)
}

/// Whether control can go from the start of one block to another without passing a third.
pub(crate) fn leads_to(body: &Body, from: BlockId, to: BlockId, avoiding: BlockId) -> bool {
    let mut seen = FixedBitSet::with_capacity(body.flow.block_count());
    let mut stack = vec![from];
    while let Some(block) = stack.pop() {
        if block == to {
            return true;
        }
        if block == avoiding || seen.put(block.0 as usize) {
            continue;
        }
        stack.extend_from_slice(body.flow.successors(block));
    }
    false
}
