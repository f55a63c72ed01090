//! The blocks that run, found without a search as long as the same one goes on.

use rustc_hash::FxHashMap;

use super::BlockState;

/// States of blocks.
#[derive(Default)]
pub(super) struct Blocks {
    slots: FxHashMap<u32, usize>,
    states: Vec<Option<Box<BlockState>>>,
    free: Vec<usize>,
    /// The block that was asked for last, and its slot.
    last: Option<(u32, usize)>,
    /// Stands for a block where there is none.
    nobody: BlockState,
}

impl Blocks {
    /// Whether there is a block with this index, which then is the current one.
    #[inline(always)]
    pub(super) fn is_at(&mut self, index: u32) -> bool {
        matches!(self.last, Some((last, _)) if last == index) || self.find(index)
    }

    fn find(&mut self, index: u32) -> bool {
        self.last = self.slots.get(&index).map(|&slot| (index, slot));
        self.last.is_some()
    }

    pub(super) fn insert(&mut self, index: u32, state: Box<BlockState>) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.states.push(None);
            self.states.len() - 1
        });
        if let Some(place) = self.states.get_mut(slot) {
            *place = Some(state);
        }
        self.slots.insert(index, slot);
        self.last = Some((index, slot));
    }

    /// The current block.
    #[inline(always)]
    pub(super) fn current(&mut self) -> &mut BlockState {
        let slot = self.last.map_or(usize::MAX, |(_, slot)| slot);
        match self.states.get_mut(slot) {
            Some(Some(state)) => state,
            _ => &mut self.nobody,
        }
    }

    pub(super) fn get(&self, index: u32) -> Option<&BlockState> {
        let slot = match self.last {
            Some((last, slot)) if last == index => slot,
            _ => *self.slots.get(&index)?,
        };
        self.states.get(slot)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut BlockState> {
        self.is_at(index).then(|| self.current())
    }

    pub(super) fn remove(&mut self, index: u32) -> Option<Box<BlockState>> {
        let slot = self.slots.remove(&index)?;
        self.last = None;
        self.free.push(slot);
        self.states.get_mut(slot)?.take()
    }
}
