//! Which blocks and instructions can come after others.

use crate::{BlockId, ControlFlow, InstructionId};

/// Answers whether control can go from one place to another. What a block reaches is found when it is
/// first asked for, and kept.
#[derive(Debug, Clone)]
pub struct Reachability<'a> {
    flow: &'a ControlFlow,
    /// Number of each block's row; absent when it was not asked for.
    row_of: Vec<u32>,
    /// One bit per block, row after row.
    rows: Vec<u64>,
    words: usize,
    stack: Vec<BlockId>,
}

impl<'a> Reachability<'a> {
    /// Nothing asked yet.
    pub fn new(flow: &'a ControlFlow) -> Reachability<'a> {
        let count = flow.block_count();
        Reachability {
            flow,
            row_of: vec![u32::MAX; count],
            rows: Vec::new(),
            words: count.div_ceil(64),
            stack: Vec::new(),
        }
    }

    /// The bits of the blocks that `from` leads to by at least one edge.
    fn row(&mut self, from: BlockId) -> &[u64] {
        let Some(&known) = self.row_of.get(from.0 as usize) else { return &[] };
        let row = if known == u32::MAX { self.find(from) } else { known as usize };
        self.rows.get(row * self.words..(row + 1) * self.words).unwrap_or(&[])
    }

    fn find(&mut self, from: BlockId) -> usize {
        let row = self.rows.len() / self.words.max(1);
        let start = self.rows.len();
        self.rows.resize(start + self.words, 0);
        self.row_of[from.0 as usize] = row as u32;
        self.stack.push(from);
        while let Some(block) = self.stack.pop() {
            for &to in self.flow.successors(block) {
                let bits = &mut self.rows[start + to.0 as usize / 64];
                if *bits >> (to.0 % 64) & 1 == 0 {
                    *bits |= 1 << (to.0 % 64);
                    self.stack.push(to);
                }
            }
        }
        row
    }

    /// Whether control can go from the end of one block to the start of another; for one and the same
    /// block, whether it is in a cycle.
    pub fn block_reaches(&mut self, from: BlockId, to: BlockId) -> bool {
        self.row(from).get(to.0 as usize / 64).is_some_and(|bits| bits >> (to.0 % 64) & 1 == 1)
    }

    /// Whether one instruction can run after another in the same thread.
    pub fn reaches(&mut self, from: InstructionId, to: InstructionId) -> bool {
        let blocks = (self.flow.instruction_block(from), self.flow.instruction_block(to));
        let (Some(from_block), Some(to_block)) = blocks else { return false };
        (from_block == to_block && from < to) || self.block_reaches(from_block, to_block)
    }

    /// Whether an instruction can run after `from` and before `to`.
    pub fn between(&mut self, from: InstructionId, middle: InstructionId, to: InstructionId) -> bool {
        self.reaches(from, middle) && self.reaches(middle, to)
    }

    /// Whether control can go from one instruction to another without passing one for which `blocked`
    /// holds on the way. Blocks are passed whole; `blocked` is asked for the instructions from the one
    /// after `from` to the one before `to`.
    pub fn reaches_without(
        &mut self,
        from: InstructionId,
        to: InstructionId,
        function: &crate::Function,
        blocked: impl Fn(InstructionId) -> bool,
    ) -> bool {
        let blocks = (self.flow.instruction_block(from), self.flow.instruction_block(to));
        let (Some(from_block), Some(to_block)) = blocks else { return false };
        let range = |block: BlockId| {
            function.blocks.get(block.0 as usize).map_or((0, 0), |block| (block.first, block.end))
        };
        let free = |first: u32, end: u32| !(first..end).any(|number| blocked(InstructionId(number)));
        if from_block == to_block && from < to && free(from.0 + 1, to.0) {
            return true;
        }
        if !free(from.0 + 1, range(from_block).1) || !free(range(to_block).0, to.0) {
            return false;
        }
        let mut seen = vec![false; self.flow.block_count()];
        let mut stack = vec![from_block];
        while let Some(block) = stack.pop() {
            for &next in self.flow.successors(block) {
                if next == to_block {
                    return true;
                }
                if !std::mem::replace(&mut seen[next.0 as usize], true) {
                    let (first, end) = range(next);
                    if free(first, end) {
                        stack.push(next);
                    }
                }
            }
        }
        false
    }
}
