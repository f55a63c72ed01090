//! What branches decide: which blocks run, and where different paths meet again.

use crate::{BlockId, ControlFlow, Lists, PostDominators};

/// For each block the branches that decide whether it runs (Ferrante, Ottenstein, Warren, «The Program
/// Dependence Graph and Its Use in Optimization», 1987): the block post-dominates one successor of the
/// branch, and not the branch itself.
#[derive(Debug, Clone, Default)]
pub struct ControlDependence {
    branches: Lists<BlockId>,
}

impl ControlDependence {
    /// Finds the branches of every block.
    pub fn build(flow: &ControlFlow, post: &PostDominators) -> ControlDependence {
        let mut pairs = Vec::new();
        let mut seen = vec![u32::MAX; flow.block_count()];
        for &branch in flow.reverse_postorder() {
            dependents(flow, post, branch, &mut seen, |block| pairs.push((block.0, branch)));
        }
        ControlDependence { branches: Lists::from_pairs(flow.block_count(), &pairs) }
    }

    /// The blocks whose branches decide directly whether a block runs (or, in a loop, runs again), in
    /// reverse postorder.
    pub fn branches(&self, block: BlockId) -> &[BlockId] {
        self.branches.get(block.0)
    }
}

/// Visits each block that is control dependent on a branch once. `seen` is working memory.
fn dependents(
    flow: &ControlFlow,
    post: &PostDominators,
    branch: BlockId,
    seen: &mut [u32],
    mut visit: impl FnMut(BlockId),
) {
    let successors = flow.successors(branch);
    if successors.len() < 2 {
        return;
    }
    let stop = post.immediate(branch);
    for &to in successors {
        let mut runner = Some(to);
        while runner != stop
            && let Some(block) = runner
            && std::mem::replace(&mut seen[block.0 as usize], branch.0) != branch.0
        {
            visit(block);
            runner = post.immediate(block);
        }
    }
}

/// What a branch influences when the threads that reach it take different sides.
///
/// The answer to one question stays until the next is asked; working memory is used again.
#[derive(Debug, Clone)]
pub struct Influence<'a> {
    flow: &'a ControlFlow,
    post: &'a PostDominators,
    region: Vec<BlockId>,
    joins: Vec<BlockId>,
    /// The question for which a block was put into the region.
    in_region: Vec<u32>,
    /// Number of questions asked.
    question: u32,
    /// The side of the branch, or the join, whose paths reach each block; [`NOWHERE`] when none is known.
    label: Vec<u32>,
    is_join: Vec<bool>,
    stack: Vec<BlockId>,
}

/// «No path known yet».
const NOWHERE: u32 = u32::MAX;

impl<'a> Influence<'a> {
    /// Nothing asked yet.
    pub fn new(flow: &'a ControlFlow, post: &'a PostDominators) -> Influence<'a> {
        let count = flow.block_count();
        Influence {
            flow,
            post,
            region: Vec::new(),
            joins: Vec::new(),
            in_region: vec![0; count],
            question: 0,
            label: vec![NOWHERE; count],
            is_join: vec![false; count],
            stack: Vec::new(),
        }
    }

    /// The blocks on the paths from a branch to its immediate post-dominator, which is not one of them.
    /// The branch itself is when such a path comes back to it.
    pub fn region(&mut self, branch: BlockId) -> &[BlockId] {
        self.find_region(branch);
        &self.region
    }

    /// The blocks that two paths from a branch reach which begin with different edges and share no other
    /// block: there threads that went different ways meet, and a value that differs by the way taken
    /// differs. The branch itself is one when it is in a loop and both paths come back to it. Paths end
    /// at the immediate post-dominator, which may be a join.
    ///
    /// Threads that leave a loop in different iterations by one and the same edge are another matter:
    /// see [`crate::Loops::exits`].
    ///
    /// These are the blocks where minimal SSA form would need a phi of a variable that each side sets
    /// (Rosemann, Moll, Hack, «An abstract interpretation for SPMD divergence on reducible control flow
    /// graphs», POPL 2021). Here they are found by giving blocks the label of the side that reaches
    /// them, in reverse postorder; a block with two labels is a join and begins a label of its own.
    pub fn joins(&mut self, branch: BlockId) -> &[BlockId] {
        self.find_region(branch);
        self.joins.clear();
        if self.flow.successors(branch).len() < 2 {
            return &self.joins;
        }
        let flow = self.flow;
        let stop = self.post.immediate(branch);
        // All blocks that may get a label, in reverse postorder.
        let mut targets = std::mem::take(&mut self.stack);
        targets.extend_from_slice(&self.region);
        targets.extend(stop);
        targets.sort_unstable_by_key(|&block| flow.position(block));
        for &block in &targets {
            self.is_join[block.0 as usize] = false;
        }
        // A join that is found after its block had a label makes labels further on wrong: start again.
        while self.spread_labels(branch, &targets) {}
        self.joins.extend(targets.iter().filter(|block| self.is_join[block.0 as usize]));
        targets.clear();
        self.stack = targets;
        &self.joins
    }

    /// Gives blocks labels until nothing changes. True when a join was found that had a label before.
    fn spread_labels(&mut self, branch: BlockId, targets: &[BlockId]) -> bool {
        for &block in targets {
            let own = block.0 as usize;
            self.label[own] = if self.is_join[own] { block.0 } else { NOWHERE };
        }
        let (mut changed, mut again) = (true, false);
        while changed && !again {
            changed = false;
            for &block in targets {
                let own = block.0 as usize;
                if self.is_join[own] {
                    continue;
                }
                let mut label = NOWHERE;
                for &from in self.flow.predecessors(block) {
                    let other = self.label_along(branch, from, block);
                    if other != NOWHERE {
                        self.is_join[own] |= label != NOWHERE && label != other;
                        label = other;
                    }
                }
                let before = self.label[own];
                if self.is_join[own] {
                    label = if before == NOWHERE { block.0 } else { before };
                    again |= before != NOWHERE;
                }
                changed |= label != before;
                self.label[own] = label;
            }
        }
        again
    }

    /// The label that an edge brings: the branch's edges begin labels, other edges hand them on, and
    /// nothing goes past the post-dominator, which is not in the region.
    fn label_along(&self, branch: BlockId, from: BlockId, to: BlockId) -> u32 {
        if from == branch {
            to.0
        } else if self.in_region[from.0 as usize] != self.question {
            NOWHERE
        } else {
            self.label[from.0 as usize]
        }
    }

    fn find_region(&mut self, branch: BlockId) {
        self.region.clear();
        self.question = self.question.wrapping_add(1);
        if self.question == 0 {
            self.in_region.fill(0);
            self.question = 1;
        }
        let question = self.question;
        let stop = self.post.immediate(branch);
        self.stack.clear();
        self.stack.push(branch);
        while let Some(block) = self.stack.pop() {
            for &to in self.flow.successors(block) {
                let seen = &mut self.in_region[to.0 as usize];
                if Some(to) != stop && *seen != question {
                    *seen = question;
                    self.region.push(to);
                    self.stack.push(to);
                }
            }
        }
    }
}
