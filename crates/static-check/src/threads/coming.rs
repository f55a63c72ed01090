//! Which threads come to a place, by the conditions on their own indices.

use fixedbitset::FixedBitSet;
use standstill_kernel_ir::{BlockId, Terminator};

use super::ThreadValues;

/// How many conditions over a block are followed.
const MAXIMUM_CONDITIONS: usize = 32;

impl ThreadValues<'_> {
    /// The threads of the block that may come to a block of the code.
    pub(crate) fn coming_to(&mut self, block: BlockId) -> FixedBitSet {
        let body = self.body;
        let mut coming = FixedBitSet::with_capacity(self.threads as usize);
        coming.insert_range(..);
        let mut block = block;
        for _ in 0..MAXIMUM_CONDITIONS {
            let mut branches = body.control_dependence.branches(block).iter().filter(|&&b| b != block);
            let (Some(&branch), None) = (branches.next(), branches.next()) else { break };
            if let Some(condition) = body.ssa.terminator(branch)
                && let Some(vector) = self.vector(condition)
                && let Some(when_true) = self.side(branch, block)
            {
                for (thread, bits) in vector.iter().enumerate() {
                    if (bits & 1 == 1) != when_true {
                        coming.set(thread, false);
                    }
                }
            }
            block = branch;
        }
        coming
    }

    /// The value of a branch's condition with which control comes to a block, where only one does.
    fn side(&self, branch: BlockId, block: BlockId) -> Option<bool> {
        let body = self.body;
        let Some(Terminator::Branch { guard, taken, otherwise }) =
            body.function.blocks.get(branch.0 as usize).map(|b| b.terminator)
        else {
            return None;
        };
        let leads = |to: BlockId| to == block || body.post_dominators.post_dominates(block, to);
        match (leads(taken), leads(otherwise)) {
            (true, false) => Some(!guard.negated()),
            (false, true) => Some(guard.negated()),
            _ => None,
        }
    }
}
