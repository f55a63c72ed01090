//! Which branches choose between the ways into a block, and between which of them.

use standstill_kernel_ir::{BlockId, ValueId};

use crate::body::Body;

/// A branch that chooses between some of the ways into a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Selector {
    /// The block that ends in the branch.
    pub(super) branch: BlockId,
    /// The ways that it chooses between, by their positions among the block's predecessors; those from
    /// position 63 on share the last bit.
    ways: u64,
}

/// For each block with phis, the branches that choose between the ways into it: those that a
/// predecessor stands under and the block itself does not.
#[derive(Debug, Default)]
pub(super) struct Selectors {
    lists: Vec<(BlockId, Vec<Selector>)>,
}

impl Selector {
    /// Whether it chooses between different values: a branch whose sides bring the same one does not matter.
    pub(super) fn chooses(&self, predecessors: &[BlockId], incoming: &[(BlockId, ValueId)]) -> bool {
        if self.ways >> 63 == 1 {
            return true;
        }
        let mut first = None;
        for (position, from) in predecessors.iter().enumerate() {
            if position < 64 && self.ways >> position & 1 == 1 {
                for (_, value) in incoming.iter().filter(|(block, _)| block == from) {
                    if *first.get_or_insert(*value) != *value {
                        return true;
                    }
                }
            }
        }
        false
    }
}

impl Selectors {
    /// Finds the branches for every block with phis.
    pub(super) fn of(body: &Body) -> Selectors {
        let count = body.function.blocks.len();
        let mut search =
            Search { body, mark: vec![0; count], slots: vec![0; count], round: 0, stack: Vec::new() };
        let mut lists = Vec::new();
        for &block in body.flow.reverse_postorder() {
            if !body.ssa.phis(block).is_empty() {
                lists.push((block, search.selectors(block)));
            }
        }
        lists.sort_unstable_by_key(|(block, _)| *block);
        Selectors { lists }
    }

    /// The branches that choose between the ways into a block.
    pub(super) fn of_block(&self, block: BlockId) -> &[Selector] {
        match self.lists.binary_search_by_key(&block, |(block, _)| *block) {
            Ok(index) => self.lists.get(index).map_or(&[], |(_, list)| list.as_slice()),
            Err(_) => &[],
        }
    }
}

struct Search<'a> {
    body: &'a Body,
    /// For each block, the last round that it was met in.
    mark: Vec<u32>,
    /// For each block, its place in the list under way, if it is there.
    slots: Vec<u32>,
    round: u32,
    stack: Vec<BlockId>,
}

impl Search<'_> {
    fn selectors(&mut self, block: BlockId) -> Vec<Selector> {
        let control = &self.body.control_dependence;
        self.round += 1;
        let own = self.round;
        self.stack.clear();
        self.stack.extend_from_slice(control.branches(block));
        while let Some(branch) = self.stack.pop() {
            if self.first_time(branch, own) {
                self.stack.extend_from_slice(control.branches(branch));
            }
        }
        let mut list: Vec<Selector> = Vec::new();
        for (position, &from) in self.body.flow.predecessors(block).iter().enumerate() {
            self.round += 1;
            if self.body.flow.successors(from).len() > 1 {
                self.stack.push(from);
            }
            self.stack.extend_from_slice(control.branches(from));
            while let Some(branch) = self.stack.pop() {
                if !self.first_time(branch, own) {
                    continue;
                }
                let way = 1 << position.min(63);
                let slot = self.slots.get(branch.0 as usize).copied().unwrap_or(0);
                match list.get_mut(slot as usize).filter(|selector| selector.branch == branch) {
                    Some(selector) => selector.ways |= way,
                    None => {
                        if let Some(slot) = self.slots.get_mut(branch.0 as usize) {
                            *slot = list.len() as u32;
                        }
                        list.push(Selector { branch, ways: way });
                    }
                }
                self.stack.extend_from_slice(control.branches(branch));
            }
        }
        list
    }

    /// Whether a branch was not met in this round yet, nor stands over the block itself.
    fn first_time(&mut self, branch: BlockId, own: u32) -> bool {
        let round = self.round;
        match self.mark.get_mut(branch.0 as usize) {
            Some(seen) if *seen != round && (*seen != own || round == own) => {
                *seen = round;
                true
            }
            _ => false,
        }
    }
}
