//! What a thread knows of the past of others.
//!
//! Times are numbers of one counter of the grid, so that one number can stand for all threads of a warp or a
//! block that have met: «everything of theirs up to then».

use super::known::KnownBlocks;
use crate::decode::code::LANES;

/// A thread, by where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) block: u32,
    /// In its block. One past the last warp stand the copies that the block's threads have issued.
    pub(crate) warp: u32,
    pub(crate) lane: u32,
}

/// What is known of a warp.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct OfWarp {
    all: u32,
    lanes: Option<Box<[u32; LANES]>>,
}

impl OfWarp {
    fn of(&self, lane: u32) -> u32 {
        let own = self.lanes.as_ref().map_or(0, |lanes| lanes[lane as usize % LANES]);
        own.max(self.all)
    }

    /// Whether another one knows nothing more.
    fn knows(&self, other: &OfWarp) -> bool {
        let mut theirs = other.lanes.iter().flat_map(|lanes| lanes.iter().zip(0..));
        other.all <= self.all && theirs.all(|(&time, lane)| time <= self.of(lane))
    }

    fn raise(&mut self, lane: u32, time: u32) {
        if time > self.all {
            let lanes = self.lanes.get_or_insert_with(|| Box::new([0; LANES]));
            let known = &mut lanes[lane as usize % LANES];
            *known = time.max(*known);
        }
    }

    fn join(&mut self, other: &OfWarp) {
        self.all = self.all.max(other.all);
        if let Some(lanes) = &other.lanes {
            for (lane, &time) in lanes.iter().enumerate() {
                if time > 0 {
                    self.raise(lane as u32, time);
                }
            }
        }
    }
}

/// What is known of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OfBlock {
    /// Of all its threads.
    all: u32,
    /// Of warps, by their number.
    warps: Vec<(u32, OfWarp)>,
}

impl OfBlock {
    fn of(&self, warp: u32, lane: u32, copies: u32) -> u32 {
        let all = if warp == copies { 0 } else { self.all };
        match self.warps.binary_search_by_key(&warp, |(warp, _)| *warp) {
            Ok(at) => self.warps.get(at).map_or(all, |(_, known)| known.of(lane).max(all)),
            Err(_) => all,
        }
    }

    /// The newest that is known.
    fn newest(&self) -> u32 {
        let of_warp = |known: &OfWarp| {
            let lanes = known.lanes.iter().flat_map(|lanes| lanes.iter());
            lanes.copied().max().unwrap_or(0).max(known.all)
        };
        self.warps.iter().map(|(_, known)| of_warp(known)).max().unwrap_or(0).max(self.all)
    }

    fn warp(&mut self, warp: u32) -> Option<&mut OfWarp> {
        let at = match self.warps.binary_search_by_key(&warp, |(warp, _)| *warp) {
            Ok(at) => at,
            Err(at) => {
                self.warps.insert(at, (warp, OfWarp::default()));
                at
            }
        };
        self.warps.get_mut(at).map(|(_, known)| known)
    }

    /// Whether another one knows nothing more.
    pub(super) fn knows(&self, other: &OfBlock) -> bool {
        let knows = |(warp, theirs): &(u32, OfWarp)| {
            let at = self.warps.binary_search_by_key(warp, |(warp, _)| *warp);
            at.ok().and_then(|at| self.warps.get(at)).is_some_and(|(_, known)| known.knows(theirs))
        };
        other.all <= self.all && other.warps.iter().all(knows)
    }

    pub(super) fn join(&mut self, other: &OfBlock) {
        self.all = self.all.max(other.all);
        for (warp, known) in &other.warps {
            if let Some(own) = self.warp(*warp) {
                own.join(known);
            }
        }
    }
}

/// What a thread of a block knows.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    block: u32,
    /// The number that stands for the copies of a block.
    copies: u32,
    own: OfBlock,
    others: KnownBlocks,
}

impl Clock {
    /// Nothing, of a block with this many warps.
    pub(crate) fn new(block: u32, warps: u32) -> Clock {
        Clock { block, copies: warps, own: OfBlock::default(), others: KnownBlocks::default() }
    }

    /// Up to when a thread's past is known.
    #[inline]
    pub(crate) fn of(&self, thread: Thread) -> u32 {
        if thread.block == self.block {
            return self.own.of(thread.warp, thread.lane, self.copies);
        }
        let other = self.others.get(thread.block);
        other.map_or(0, |other| other.of(thread.warp, thread.lane, self.copies))
    }

    /// Up to when everything of the own block's threads is known.
    #[inline(always)]
    pub(super) fn floor(&self) -> u32 {
        self.own.all
    }

    /// The same of a warp of the block.
    #[inline(always)]
    pub(super) fn warp_floor(&self, warp: u32) -> u32 {
        self.own.warps.iter().find(|(at, _)| *at == warp).map_or(0, |(_, known)| known.all)
    }

    /// Whether something of that time is known of a thread's block, or it is the own one.
    pub(super) fn may_know(&self, thread: Thread, time: u32) -> bool {
        let other = self.others.get(thread.block);
        thread.block == self.block || other.is_some_and(|other| other.newest() >= time)
    }

    /// Whether nothing is known but what all threads of the own block did up to a time.
    #[inline(always)]
    pub(super) fn knows_only_its_block(&self) -> bool {
        self.others.is_empty() && self.own.warps.is_empty()
    }

    /// Whether nothing is known of other blocks, nor of copies.
    pub(super) fn is_plain(&self) -> bool {
        self.others.is_empty() && self.own.warps.iter().all(|(warp, _)| *warp != self.copies)
    }

    /// Everything that all threads of a block did up to a time.
    pub(super) fn of_block(block: u32, warps: u32, time: u32) -> Clock {
        let mut clock = Clock::new(block, warps);
        clock.own.all = time;
        clock
    }

    /// Learns of a thread's past up to a time.
    pub(crate) fn raise(&mut self, thread: Thread, time: u32) {
        if thread.block == self.block {
            if let Some(warp) = self.own.warp(thread.warp) {
                warp.raise(thread.lane, time);
            }
            return;
        }
        let mut what = OfBlock::default();
        if let Some(warp) = what.warp(thread.warp) {
            warp.raise(thread.lane, time);
        }
        self.others.learn(thread.block, &what);
    }

    /// Learns of lanes of a warp of the own block up to a time; `whole` when they are all that it has.
    pub(crate) fn raise_warp(&mut self, warp: u32, mask: u32, time: u32, whole: bool) {
        let Some(known) = self.own.warp(warp) else { return };
        if whole {
            if time >= known.all {
                *known = OfWarp { all: time, lanes: None };
            }
            return;
        }
        for lane in crate::exec::core::lanes(mask) {
            known.raise(lane as u32, time);
        }
    }

    /// The same knowledge, where everything that is known of the own block was so much later.
    pub(super) fn later(&self, by: u32) -> Clock {
        let mut clock = self.clone();
        let later = |time: &mut u32| *time += if *time > 0 { by } else { 0 };
        later(&mut clock.own.all);
        for (_, warp) in &mut clock.own.warps {
            later(&mut warp.all);
            warp.lanes.iter_mut().flat_map(|lanes| lanes.iter_mut()).for_each(later);
        }
        clock
    }

    /// Learns of everything that all threads of the own block did up to a time.
    pub(crate) fn raise_block(&mut self, time: u32) {
        self.own.all = self.own.all.max(time);
        let copies = self.copies;
        self.own.warps.retain(|(warp, _)| *warp == copies);
    }

    /// Learns what another one knows.
    pub(crate) fn join(&mut self, other: &Clock) {
        if other.block == self.block {
            self.own.join(&other.own);
        } else {
            self.others.learn(other.block, &other.own);
        }
        // What the others know of this block stays among theirs, so that all can share it.
        if let Some(known) = other.others.get(self.block) {
            self.own.join(known);
        }
        self.others.join(&other.others);
    }

    #[cfg(test)]
    pub(super) fn into_own(self) -> OfBlock {
        self.own
    }
}
