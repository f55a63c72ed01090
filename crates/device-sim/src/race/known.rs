//! What is known of many blocks, as a tree whose parts are shared by those who know the same: in a chain of blocks each
//! knows of all before it, and differs from its neighbour in little.

use std::sync::Arc;

use super::clock::OfBlock;

/// Children of a node.
const WIDTH: usize = 16;
const BITS: u32 = WIDTH.trailing_zeros();
/// Levels for all numbers of blocks.
const MOST_LEVELS: u32 = u32::BITS / BITS;

#[derive(Debug, Clone)]
enum Child {
    Node(Arc<Node>),
    Block(Arc<OfBlock>),
}

type Node = [Option<Child>; WIDTH];

/// Blocks by their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownBlocks {
    root: Option<Arc<Node>>,
    /// Above the blocks.
    levels: u32,
}

/// The index of a block's child at a level.
fn index(block: u32, level: u32) -> usize {
    (block >> (BITS * level)) as usize % WIDTH
}

impl Child {
    fn is(&self, other: &Child) -> bool {
        match (self, other) {
            (Child::Node(one), Child::Node(two)) => Arc::ptr_eq(one, two),
            (Child::Block(one), Child::Block(two)) => Arc::ptr_eq(one, two),
            _ => false,
        }
    }

    /// What both know; one of the two where it knows it all.
    fn joined(&self, other: &Child) -> Child {
        match (self, other) {
            (Child::Block(one), Child::Block(two)) => {
                if Arc::ptr_eq(one, two) || one.knows(two) {
                    return self.clone();
                }
                if two.knows(one) {
                    return other.clone();
                }
                let mut both = OfBlock::clone(one);
                both.join(two);
                Child::Block(Arc::new(both))
            }
            (Child::Node(one), Child::Node(two)) => Child::Node(joined(one, two)),
            _ => self.clone(),
        }
    }
}

fn joined(one: &Arc<Node>, two: &Arc<Node>) -> Arc<Node> {
    if Arc::ptr_eq(one, two) {
        return Arc::clone(one);
    }
    let mut node: Node = std::array::from_fn(|_| None);
    let (mut is_one, mut is_two) = (true, true);
    for ((child, first), second) in node.iter_mut().zip(one.iter()).zip(two.iter()) {
        *child = match (first, second) {
            (Some(first), Some(second)) => Some(first.joined(second)),
            (first, second) => first.as_ref().or(second.as_ref()).cloned(),
        };
        let same = |other: &Option<Child>| match (child.as_ref(), other) {
            (Some(child), Some(other)) => child.is(other),
            (child, other) => child.is_none() && other.is_none(),
        };
        is_one &= same(first);
        is_two &= same(second);
    }
    match (is_one, is_two) {
        (true, _) => Arc::clone(one),
        (_, true) => Arc::clone(two),
        _ => Arc::new(node),
    }
}

impl KnownBlocks {
    pub(super) fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    fn has_room(&self, block: u32) -> bool {
        self.levels >= MOST_LEVELS || block >> (BITS * self.levels) == 0
    }

    /// What is known of a block.
    pub(super) fn get(&self, block: u32) -> Option<&OfBlock> {
        let mut node = self.root.as_ref().filter(|_| self.has_room(block))?;
        for level in (0..self.levels).rev() {
            match node.get(index(block, level))?.as_ref()? {
                Child::Node(below) => node = below,
                Child::Block(known) => return Some(known),
            }
        }
        None
    }

    /// Puts levels on top.
    fn grow(&mut self, levels: u32) {
        while self.levels < levels {
            if let Some(root) = self.root.take() {
                let mut node: Node = std::array::from_fn(|_| None);
                if let Some(first) = node.first_mut() {
                    *first = Some(Child::Node(root));
                }
                self.root = Some(Arc::new(node));
            }
            self.levels += 1;
        }
    }

    /// Learns more of a block.
    pub(super) fn learn(&mut self, block: u32, what: &OfBlock) {
        if self.get(block).is_some_and(|known| known.knows(what)) {
            return;
        }
        let mut levels = self.levels.max(1);
        while levels < MOST_LEVELS && block >> (BITS * levels) != 0 {
            levels += 1;
        }
        self.grow(levels);
        let mut node = self.root.get_or_insert_with(empty);
        for level in (1..levels).rev() {
            let Some(child) = Arc::make_mut(node).get_mut(index(block, level)) else { return };
            match child.get_or_insert_with(|| Child::Node(empty())) {
                Child::Node(below) => node = below,
                Child::Block(_) => return,
            }
        }
        let Some(child) = Arc::make_mut(node).get_mut(index(block, 0)) else { return };
        match child {
            Some(Child::Block(known)) => Arc::make_mut(known).join(what),
            _ => *child = Some(Child::Block(Arc::new(what.clone()))),
        }
    }

    /// Learns what others know.
    pub(super) fn join(&mut self, other: &KnownBlocks) {
        let Some(theirs) = &other.root else { return };
        if self.root.is_none() {
            self.clone_from(other);
            return;
        }
        self.grow(other.levels);
        let mut theirs = Arc::clone(theirs);
        if other.levels < self.levels {
            let mut grown = other.clone();
            grown.grow(self.levels);
            theirs = grown.root.unwrap_or(theirs);
        }
        self.root = self.root.take().map(|mine| joined(&mine, &theirs));
    }
}

fn empty() -> Arc<Node> {
    Arc::new(std::array::from_fn(|_| None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::clock::{Clock, Thread};

    #[test]
    fn many_blocks_are_told_apart() {
        let thread = |block| Thread { block, warp: 0, lane: 3 };
        let mut clock = Clock::new(7, 1);
        for block in [0, 1, 15, 16, 255, 256, 70_000, u32::MAX / 64] {
            clock.raise(thread(block), block % 1000 + 1);
        }
        let mut other = Clock::new(8, 1);
        other.raise(thread(16), 500);
        other.raise(thread(5_000_000), 9);
        other.raise(thread(7), 11);
        clock.join(&other);
        for (block, time) in
            [(0, 1), (15, 16), (16, 500), (256, 257), (70_000, 1), (5_000_000, 9), (2, 0), (7, 11)]
        {
            assert_eq!(clock.of(thread(block)), time, "block {block}");
        }
        assert_eq!(clock.of(Thread { block: 16, warp: 0, lane: 4 }), 0);
    }

    #[test]
    fn what_is_known_already_is_shared() {
        let block = |time| Clock::of_block(0, 1, time).into_own();
        let mut one = KnownBlocks::default();
        for at in 0..1000 {
            one.learn(at, &block(at + 1));
        }
        let mut two = one.clone();
        two.learn(500, &block(2000));
        one.join(&two);
        assert!(Arc::ptr_eq(one.root.as_ref().unwrap(), two.root.as_ref().unwrap()));
    }
}
