//! The control flow graph: who follows whom.

use crate::lists::Lists;
use crate::{BlockId, Function, InstructionId};

/// «Not reachable» in tables of positions.
const ABSENT: u32 = u32::MAX;

/// Edges between blocks, and an order of the blocks.
///
/// Edges form a set: a branch with the same block on both sides has one successor. Only reachable
/// blocks count as predecessors, so that code that nothing jumps to does not weaken an analysis.
#[derive(Debug, Clone, Default)]
pub struct ControlFlow {
    successors: Lists<BlockId>,
    predecessors: Lists<BlockId>,
    reverse_postorder: Vec<BlockId>,
    /// Position of each block in `reverse_postorder`.
    position: Vec<u32>,
    /// Block of each instruction.
    block_of: Vec<BlockId>,
}

impl ControlFlow {
    /// Builds the graph of a function. Edges to blocks that do not exist are left out.
    pub fn build(function: &Function) -> ControlFlow {
        let count = function.blocks.len();
        let mut successors = Lists::with_capacity(count, count * 2);
        // The last block that listed a block as its successor.
        let mut listed_by = vec![ABSENT; count];
        for block in 0..count as u32 {
            function.successors(BlockId(block), |target| {
                if let Some(last) = listed_by.get_mut(target.0 as usize)
                    && *last != block
                {
                    *last = block;
                    successors.push(target);
                }
            });
            successors.end_list();
        }

        let mut flow = ControlFlow { successors, ..ControlFlow::default() };
        flow.number_blocks(count);
        let mut pairs = Vec::with_capacity(flow.successors.items().len());
        for &block in &flow.reverse_postorder {
            pairs.extend(flow.successors.get(block.0).iter().map(|target| (target.0, block)));
        }
        flow.predecessors = Lists::from_pairs(count, &pairs);

        flow.block_of = vec![BlockId(ABSENT); function.instructions.len()];
        for (index, block) in function.blocks.iter().enumerate() {
            if let Some(places) = flow.block_of.get_mut(block.first as usize..block.end as usize) {
                places.fill(BlockId(index as u32));
            }
        }
        flow
    }

    /// Fills the order by a depth-first walk from block 0.
    fn number_blocks(&mut self, count: usize) {
        self.position = vec![ABSENT; count];
        if count == 0 {
            return;
        }
        let mut postorder = Vec::with_capacity(count);
        let mut stack: Vec<(BlockId, u32)> = vec![(BlockId(0), 0)];
        self.position[0] = 0;
        while let Some(top) = stack.last_mut() {
            let (block, next) = *top;
            top.1 += 1;
            match self.successors.get(block.0).get(next as usize) {
                Some(&target) => {
                    let seen = &mut self.position[target.0 as usize];
                    if *seen == ABSENT {
                        *seen = 0;
                        stack.push((target, 0));
                    }
                }
                None => {
                    postorder.push(block);
                    stack.pop();
                }
            }
        }
        postorder.reverse();
        for (position, block) in postorder.iter().enumerate() {
            self.position[block.0 as usize] = position as u32;
        }
        self.reverse_postorder = postorder;
    }

    /// Number of blocks, reachable or not.
    pub fn block_count(&self) -> usize {
        self.position.len()
    }

    /// The blocks that may follow a block, each once, in the order taken, otherwise.
    pub fn successors(&self, block: BlockId) -> &[BlockId] {
        self.successors.get(block.0)
    }

    /// The reachable blocks that may come before a block, each once.
    pub fn predecessors(&self, block: BlockId) -> &[BlockId] {
        self.predecessors.get(block.0)
    }

    /// The reachable blocks, each before its successors where no cycle forbids it; the entry first.
    pub fn reverse_postorder(&self) -> &[BlockId] {
        &self.reverse_postorder
    }

    /// Position of a block in the reverse postorder; `None` when it is not reachable.
    pub fn position(&self, block: BlockId) -> Option<u32> {
        self.position.get(block.0 as usize).copied().filter(|&position| position != ABSENT)
    }

    /// Whether control can come from the entry to a block.
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.position(block).is_some()
    }

    /// The block of an instruction; `None` when there is no such instruction.
    pub fn instruction_block(&self, instruction: InstructionId) -> Option<BlockId> {
        self.block_of.get(instruction.0 as usize).copied().filter(|block| block.0 != ABSENT)
    }

    /// Whether an edge goes back in the reverse postorder. Every cycle has such an edge.
    pub fn is_retreating(&self, from: BlockId, to: BlockId) -> bool {
        matches!((self.position(from), self.position(to)), (Some(from), Some(to)) if to <= from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::graph;

    fn check(successors: &[&[u32]], order: &[u32], predecessors: &[&[u32]]) {
        let flow = ControlFlow::build(&graph(successors));
        let numbers = |blocks: &[BlockId]| blocks.iter().map(|block| block.0).collect::<Vec<_>>();
        assert_eq!(numbers(flow.reverse_postorder()), order);
        for (block, expected) in predecessors.iter().enumerate() {
            assert_eq!(numbers(flow.predecessors(BlockId(block as u32))), *expected, "of block {block}");
        }
    }

    #[test]
    fn edges_and_order() {
        check(&[], &[], &[]);
        check(&[&[]], &[0], &[&[]]);
        // A diamond; a branch with equal sides; a block that nothing reaches; a loop.
        check(&[&[1, 2], &[3], &[3], &[]], &[0, 2, 1, 3], &[&[], &[0], &[0], &[2, 1]]);
        check(&[&[1, 1], &[]], &[0, 1], &[&[], &[0]]);
        check(&[&[2], &[2], &[]], &[0, 2], &[&[], &[], &[0]]);
        check(&[&[1], &[1, 2], &[]], &[0, 1, 2], &[&[], &[0, 1], &[1]]);
    }

    #[test]
    fn targets_that_do_not_exist_are_left_out() {
        check(&[&[7, 1], &[]], &[0, 1], &[&[], &[0]]);
    }
}
