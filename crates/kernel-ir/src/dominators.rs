//! Dominators and post-dominators.

use crate::components::strongly_connected;
use crate::{BlockId, ControlFlow};

/// «None» in tables.
const ABSENT: u32 = u32::MAX;

/// A tree over blocks in which a block's ancestors are those that dominate it.
///
/// Blocks that are not reachable are not in the tree: nothing dominates them, not even themselves.
#[derive(Debug, Clone, Default)]
struct Tree {
    /// Parent of each node; absent for the root and outside the tree.
    parent: Vec<u32>,
    /// Position of each node in preorder; absent outside the tree.
    enter: Vec<u32>,
    /// One past the last position in each node's subtree.
    leave: Vec<u32>,
    /// Distance from the root.
    depth: Vec<u32>,
    /// Nodes in preorder.
    preorder: Vec<u32>,
}

impl Tree {
    fn contains(&self, node: u32) -> bool {
        self.enter.get(node as usize).is_some_and(|&position| position != ABSENT)
    }

    fn dominates(&self, above: u32, below: u32) -> bool {
        match (self.enter.get(above as usize), self.enter.get(below as usize)) {
            (Some(&above_enter), Some(&position)) => {
                position != ABSENT
                    && above_enter != ABSENT
                    && above_enter <= position
                    && position < self.leave[above as usize]
            }
            _ => false,
        }
    }

    fn nearest_common(&self, left: u32, right: u32) -> Option<u32> {
        if !self.contains(left) || !self.contains(right) {
            return None;
        }
        let mut node = left;
        while !self.dominates(node, right) {
            node = self.parent[node as usize];
        }
        Some(node)
    }

    /// Builds the tree of a graph with a root by the semi-NCA algorithm (Georgiadis, «Linear-Time
    /// Algorithms for Dominators and Related Problems», 2005), without recursion.
    fn build<'a>(
        count: usize,
        root: u32,
        forward: impl Fn(u32) -> &'a [BlockId],
        backward: impl Fn(u32) -> &'a [BlockId],
    ) -> Tree {
        // Depth-first numbers; everything below works on numbers.
        let mut number = vec![ABSENT; count];
        let mut order: Vec<u32> = Vec::with_capacity(count);
        let mut parent: Vec<u32> = Vec::with_capacity(count);
        let mut stack: Vec<(u32, u32)> = vec![(root, 0)];
        while let Some((node, above)) = stack.pop() {
            if number[node as usize] != ABSENT {
                continue;
            }
            let own = order.len() as u32;
            number[node as usize] = own;
            order.push(node);
            parent.push(above);
            for &target in forward(node).iter().rev() {
                if number[target.0 as usize] == ABSENT {
                    stack.push((target.0, own));
                }
            }
        }

        let size = order.len();
        let mut immediate = parent.clone();
        let mut semi: Vec<u32> = (0..size as u32).collect();
        let mut label = semi.clone();
        let mut path = Vec::new();
        for own in (1..size as u32).rev() {
            let node = order[own as usize];
            let mut least = parent[own as usize];
            for &before in backward(node) {
                let before = number[before.0 as usize];
                if before != ABSENT {
                    let best = evaluate(before, own + 1, &mut parent, &mut label, &semi, &mut path);
                    least = least.min(semi[best as usize]);
                }
            }
            semi[own as usize] = least;
        }
        for own in 1..size {
            let mut candidate = immediate[own];
            while candidate > semi[own] {
                candidate = immediate[candidate as usize];
            }
            immediate[own] = candidate;
        }
        Tree::arrange(count, &order, &immediate)
    }

    /// Lays the tree out: `immediate` holds, for each place in `order`, an earlier place.
    fn arrange(count: usize, order: &[u32], immediate: &[u32]) -> Tree {
        let size = order.len();
        let mut below = vec![1u32; size];
        for own in (1..size).rev() {
            below[immediate[own] as usize] += below[own];
        }
        let mut tree = Tree {
            parent: vec![ABSENT; count],
            enter: vec![ABSENT; count],
            leave: vec![0; count],
            depth: vec![0; count],
            preorder: vec![0; size],
        };
        // The next free place in each node's subtree.
        let mut next = vec![0u32; size];
        for own in 0..size {
            let node = order[own] as usize;
            let mut enter = 0;
            if own > 0 {
                let above = immediate[own] as usize;
                let above_node = order[above];
                enter = next[above];
                next[above] += below[own];
                tree.parent[node] = above_node;
                tree.depth[node] = tree.depth[above_node as usize] + 1;
            }
            next[own] = enter + 1;
            tree.enter[node] = enter;
            tree.leave[node] = enter + below[own];
            tree.preorder[enter as usize] = node as u32;
        }
        tree
    }
}

/// The ancestor of `node` with the least semidominator among those linked (numbers from
/// `last_linked` up), compressing the path.
fn evaluate(
    node: u32,
    last_linked: u32,
    parent: &mut [u32],
    label: &mut [u32],
    semi: &[u32],
    path: &mut Vec<u32>,
) -> u32 {
    if parent[node as usize] < last_linked {
        return label[node as usize];
    }
    let mut node = node;
    while parent[node as usize] >= last_linked {
        path.push(node);
        node = parent[node as usize];
    }
    let mut above = node;
    let mut best = label[above as usize];
    while let Some(node) = path.pop() {
        parent[node as usize] = parent[above as usize];
        if semi[best as usize] < semi[label[node as usize] as usize] {
            label[node as usize] = best;
        } else {
            best = label[node as usize];
        }
        above = node;
    }
    best
}

/// Which blocks every path from the entry to a block goes through.
#[derive(Debug, Clone, Default)]
pub struct Dominators {
    tree: Tree,
    preorder: Vec<BlockId>,
}

impl Dominators {
    /// Builds the dominator tree.
    pub fn build(flow: &ControlFlow) -> Dominators {
        if flow.block_count() == 0 {
            return Dominators::default();
        }
        let forward = |node| flow.successors(BlockId(node));
        let backward = |node| flow.predecessors(BlockId(node));
        let tree = Tree::build(flow.block_count(), 0, forward, backward);
        let preorder = tree.preorder.iter().map(|&node| BlockId(node)).collect();
        Dominators { tree, preorder }
    }

    /// The closest block that dominates a block and is not it; `None` for the entry and for blocks
    /// that are not reachable.
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        self.tree
            .parent
            .get(block.0 as usize)
            .filter(|&&parent| parent != ABSENT)
            .map(|&parent| BlockId(parent))
    }

    /// Whether every path from the entry to `below` goes through `above`; true for the block itself.
    pub fn dominates(&self, above: BlockId, below: BlockId) -> bool {
        self.tree.dominates(above.0, below.0)
    }

    /// The closest block that dominates both; `None` when one is not reachable.
    pub fn nearest_common(&self, left: BlockId, right: BlockId) -> Option<BlockId> {
        self.tree.nearest_common(left.0, right.0).map(BlockId)
    }

    /// Number of dominators of a block besides itself.
    pub fn depth(&self, block: BlockId) -> u32 {
        self.tree.depth.get(block.0 as usize).copied().unwrap_or(0)
    }

    /// The reachable blocks, each before those it dominates, and those directly after it.
    pub fn preorder(&self) -> &[BlockId] {
        &self.preorder
    }
}

/// Which blocks every path from a block to the end of the function goes through.
///
/// All blocks that return, exit or trap lead to one virtual exit. From an infinite loop no exit can be
/// reached; there, the last block in reverse postorder of each innermost trap (a strongly connected
/// component that nothing leaves) leads to the virtual exit too, so that the blocks of one iteration
/// have the order that they would have in a loop that ends at its latch.
#[derive(Debug, Clone, Default)]
pub struct PostDominators {
    tree: Tree,
    /// The node of the virtual exit, one past the last block.
    exit: u32,
    /// Blocks of infinite loops that were made to lead to the virtual exit.
    endless: Vec<BlockId>,
}

impl PostDominators {
    /// Builds the post-dominator tree of the reachable blocks.
    pub fn build(flow: &ControlFlow) -> PostDominators {
        let exit = flow.block_count() as u32;
        let mut ends: Vec<BlockId> = flow
            .reverse_postorder()
            .iter()
            .copied()
            .filter(|&block| flow.successors(block).is_empty())
            .collect();
        let endless = endless_blocks(flow, &ends);
        ends.extend_from_slice(&endless);
        // No other end leads to an end, so that the exit is the parent of each in the walk, and their edges
        // from the exit need not be among the backward ones.
        let tree = Tree::build(
            exit as usize + 1,
            exit,
            |node| if node == exit { ends.as_slice() } else { flow.predecessors(BlockId(node)) },
            |node| flow.successors(BlockId(node)),
        );
        PostDominators { tree, exit, endless }
    }

    /// The closest block that post-dominates a block and is not it; `None` when that is the virtual
    /// exit, and for blocks that are not reachable.
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        self.tree
            .parent
            .get(block.0 as usize)
            .filter(|&&parent| parent != ABSENT && parent != self.exit)
            .map(|&parent| BlockId(parent))
    }

    /// Whether every path from `before` to the end goes through `after`; true for the block itself.
    pub fn post_dominates(&self, after: BlockId, before: BlockId) -> bool {
        after.0 != self.exit && before.0 != self.exit && self.tree.dominates(after.0, before.0)
    }

    /// The closest block that post-dominates both; `None` when that is the virtual exit.
    pub fn nearest_common(&self, left: BlockId, right: BlockId) -> Option<BlockId> {
        self.tree.nearest_common(left.0, right.0).filter(|&node| node != self.exit).map(BlockId)
    }

    /// The blocks of infinite loops that were made to lead to the virtual exit.
    pub fn endless(&self) -> &[BlockId] {
        &self.endless
    }
}

/// One block for each trap: see [`PostDominators`].
fn endless_blocks(flow: &ControlFlow, ends: &[BlockId]) -> Vec<BlockId> {
    let mut reaches_end = vec![false; flow.block_count()];
    let mut stack = ends.to_vec();
    let mut reaching = 0;
    while let Some(block) = stack.pop() {
        if !std::mem::replace(&mut reaches_end[block.0 as usize], true) {
            reaching += 1;
            stack.extend_from_slice(flow.predecessors(block));
        }
    }
    if reaching == flow.reverse_postorder().len() {
        return Vec::new();
    }
    let stuck = |node: u32| flow.is_reachable(BlockId(node)) && !reaches_end[node as usize];
    let successor =
        |node, step| flow.successors(BlockId(node)).get(step as usize).map(|block: &BlockId| block.0);
    let components = strongly_connected(flow.block_count(), stuck, successor);
    let mut component_of = vec![ABSENT; flow.block_count()];
    let mut endless = Vec::new();
    for (index, members) in components.iter().enumerate() {
        for &member in members {
            component_of[member as usize] = index as u32;
        }
        let left = members.iter().any(|&member| {
            flow.successors(BlockId(member)).iter().any(|to| component_of[to.0 as usize] != index as u32)
        });
        if !left {
            endless.extend(members.iter().copied().map(BlockId).max_by_key(|&block| flow.position(block)));
        }
    }
    endless
}
