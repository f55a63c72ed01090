//! The loop forest, with irreducible regions.

use crate::components::Search;
use crate::{BlockId, ControlFlow};

/// «None» in tables.
const ABSENT: u32 = u32::MAX;

/// A loop, by its index in a [`Loops`]. A loop's index is greater than that of the loop around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopId(pub u32);

/// A loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// Its entry block; of several, the first in reverse postorder.
    pub header: BlockId,
    /// The loop around it.
    pub parent: Option<LoopId>,
    /// Number of loops that it lies in, itself included.
    pub depth: u32,
    /// It has more than one header.
    pub irreducible: bool,
    /// Blocks in [`Loops::order`]; the headers come first.
    first: u32,
    end: u32,
    headers: u32,
    /// Edges in [`Loops::exits`].
    first_exit: u32,
    end_exit: u32,
    /// Blocks in [`Loops::latches`].
    first_latch: u32,
    end_latch: u32,
}

/// All loops of a function, nested.
///
/// A loop is a strongly connected component with at least one edge inside. Its headers are the blocks
/// that edges from outside lead to; loops inside it are those of what is left without its headers
/// (Steensgaard, «Sequentializing Program Dependence Graphs for Irreducible Programs», 1993). For
/// loops with one header these are the natural loops, except that back edges to one header always
/// make one loop.
#[derive(Debug, Clone, Default)]
pub struct Loops {
    loops: Vec<Loop>,
    /// Blocks in loops; each loop's blocks are one range.
    order: Vec<BlockId>,
    /// Position of each block in `order`.
    position: Vec<u32>,
    /// Innermost loop of each block.
    innermost: Vec<u32>,
    exits: Vec<(BlockId, BlockId)>,
    latches: Vec<BlockId>,
}

impl Loops {
    /// Finds the loops among the reachable blocks.
    pub fn build(flow: &ControlFlow) -> Loops {
        let count = flow.block_count();
        let mut loops =
            Loops { position: vec![ABSENT; count], innermost: vec![ABSENT; count], ..Loops::default() };
        let order = flow.reverse_postorder();
        let has_cycle =
            order.iter().any(|&from| flow.successors(from).iter().any(|&to| flow.is_retreating(from, to)));
        if has_cycle {
            loops.find(flow);
            for (position, block) in loops.order.iter().enumerate() {
                loops.position[block.0 as usize] = position as u32;
            }
            for id in 0..loops.loops.len() {
                loops.find_edges(flow, id);
            }
        }
        loops
    }

    /// Finds the nest, outer loops first. `innermost` serves as the region that a block is in: what a
    /// search from a region may visit.
    fn find(&mut self, flow: &ControlFlow) {
        let mut search = Search::new(flow.block_count());
        let mut members: Vec<BlockId> = Vec::new();
        // Ends of the components in `members`.
        let mut ends: Vec<usize> = Vec::new();
        let successor =
            |node: u32, step: u32| flow.successors(BlockId(node)).get(step as usize).map(|to| to.0);

        // The outermost region is all blocks; below, regions are loops without their headers.
        let mut next = 0;
        let mut region = ABSENT;
        let mut blocks: Vec<BlockId> = flow.reverse_postorder().to_vec();
        loop {
            members.clear();
            ends.clear();
            for &block in &blocks {
                search.forget(block.0);
            }
            for &root in &blocks {
                if search.seen(root.0) {
                    continue;
                }
                // Headers of the region were visited by the search around it, so they end paths here.
                let innermost = &self.innermost;
                let inside =
                    |node: u32| innermost[node as usize] == region && flow.is_reachable(BlockId(node));
                search.run(root.0, inside, successor, |component| {
                    let cyclic = component.len() > 1
                        || component
                            .iter()
                            .any(|&node| flow.successors(BlockId(node)).contains(&BlockId(node)));
                    if cyclic {
                        members.extend(component.iter().map(|&node| BlockId(node)));
                        ends.push(members.len());
                    }
                });
            }
            let mut place = match region {
                ABSENT => {
                    self.order = members.clone();
                    0
                }
                // The headers keep their places; what is in no inner loop comes last.
                outer => {
                    let outer = &self.loops[outer as usize];
                    (outer.first + outer.headers) as usize
                }
            };
            if region != ABSENT && !members.is_empty() {
                let end = self.loops[region as usize].end as usize;
                // Mark what goes into inner loops, to keep the rest.
                let start = place + members.len();
                for &block in &members {
                    self.position[block.0 as usize] = region;
                }
                let rest: Vec<BlockId> = self.order[place..end]
                    .iter()
                    .copied()
                    .filter(|block| self.position[block.0 as usize] != region)
                    .collect();
                self.order[place..start].copy_from_slice(&members);
                self.order[start..end].copy_from_slice(&rest);
            }
            let mut first = 0;
            for &end in &ends {
                self.add(flow, region, &mut members[first..end], place);
                place += end - first;
                first = end;
            }

            // The next loop whose inside is to be searched.
            let Some(inner) = self.loops.get(next) else { return };
            region = next as u32;
            next += 1;
            blocks.clear();
            blocks.extend_from_slice(&self.order[(inner.first + inner.headers) as usize..inner.end as usize]);
        }
    }

    /// Adds the loop of these blocks, whose places in the order begin at `place`.
    fn add(&mut self, flow: &ControlFlow, parent: u32, members: &mut [BlockId], place: usize) {
        let id = self.loops.len() as u32;
        for block in members.iter() {
            self.innermost[block.0 as usize] = id;
        }
        members.sort_unstable_by_key(|&block| flow.position(block));
        let mut headers = Vec::new();
        let mut rest = Vec::with_capacity(members.len());
        for &block in members.iter() {
            let from_outside = block.0 == 0
                || flow.predecessors(block).iter().any(|from| self.innermost[from.0 as usize] != id);
            if from_outside { headers.push(block) } else { rest.push(block) }
        }
        let header = headers.first().copied().unwrap_or(BlockId(0));
        let count = headers.len();
        headers.append(&mut rest);
        self.order[place..place + headers.len()].copy_from_slice(&headers);
        let depth = self.loops.get(parent as usize).map_or(1, |outer| outer.depth + 1);
        self.loops.push(Loop {
            header,
            parent: (parent != ABSENT).then_some(LoopId(parent)),
            depth,
            irreducible: count > 1,
            first: place as u32,
            end: (place + headers.len()) as u32,
            headers: count as u32,
            first_exit: 0,
            end_exit: 0,
            first_latch: 0,
            end_latch: 0,
        });
    }

    /// Lists a loop's exits and latches.
    fn find_edges(&mut self, flow: &ControlFlow, id: usize) {
        let (first_exit, first_latch) = (self.exits.len() as u32, self.latches.len() as u32);
        let own = self.loops[id].clone();
        for place in own.first..own.end {
            let from = self.order[place as usize];
            let mut latch = false;
            for &to in flow.successors(from) {
                let position = self.position[to.0 as usize];
                if position < own.first || position >= own.end {
                    self.exits.push((from, to));
                } else if position < own.first + own.headers {
                    latch = true;
                }
            }
            if latch {
                self.latches.push(from);
            }
        }
        let own = &mut self.loops[id];
        (own.first_exit, own.end_exit) = (first_exit, self.exits.len() as u32);
        (own.first_latch, own.end_latch) = (first_latch, self.latches.len() as u32);
    }

    /// Number of loops.
    pub fn len(&self) -> usize {
        self.loops.len()
    }

    /// Whether there are no loops.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// All loops, outer ones before those inside them.
    pub fn iter(&self) -> impl Iterator<Item = (LoopId, &Loop)> {
        self.loops.iter().enumerate().map(|(index, own)| (LoopId(index as u32), own))
    }

    /// A loop.
    pub fn get(&self, id: LoopId) -> Option<&Loop> {
        self.loops.get(id.0 as usize)
    }

    /// The innermost loop that a block is in.
    pub fn innermost(&self, block: BlockId) -> Option<LoopId> {
        self.innermost.get(block.0 as usize).filter(|&&id| id != ABSENT).map(|&id| LoopId(id))
    }

    /// Whether a block is in a loop, inner loops included.
    pub fn contains(&self, id: LoopId, block: BlockId) -> bool {
        match (self.get(id), self.position.get(block.0 as usize)) {
            (Some(own), Some(&position)) => position >= own.first && position < own.end,
            _ => false,
        }
    }

    /// The blocks of a loop, those of inner loops included; the headers come first.
    pub fn blocks(&self, id: LoopId) -> &[BlockId] {
        self.get(id).map_or(&[], |own| self.order.get(own.first as usize..own.end as usize).unwrap_or(&[]))
    }

    /// The blocks at which a loop is entered.
    pub fn headers(&self, id: LoopId) -> &[BlockId] {
        let blocks = self.blocks(id);
        self.get(id).and_then(|own| blocks.get(..own.headers as usize)).unwrap_or(&[])
    }

    /// The edges that leave a loop, from inside to outside.
    pub fn exits(&self, id: LoopId) -> &[(BlockId, BlockId)] {
        self.get(id)
            .and_then(|own| self.exits.get(own.first_exit as usize..own.end_exit as usize))
            .unwrap_or(&[])
    }

    /// The blocks of a loop with an edge to one of its headers.
    pub fn latches(&self, id: LoopId) -> &[BlockId] {
        self.get(id)
            .and_then(|own| self.latches.get(own.first_latch as usize..own.end_latch as usize))
            .unwrap_or(&[])
    }

    /// The outermost loop that `inside` is in and `outside` is not: the loop that control leaves when it
    /// goes from one to the other.
    pub fn outermost_left(&self, inside: BlockId, outside: BlockId) -> Option<LoopId> {
        let mut left = None;
        let mut id = self.innermost(inside);
        while let Some(own) = id
            && !self.contains(own, outside)
        {
            left = id;
            id = self.get(own).and_then(|own| own.parent);
        }
        left
    }
}
