//! The lanes of a warp: their times, and what they know.

use std::sync::Arc;

use smallvec::SmallVec;
use standstill_kernel_ir::Scope;

use super::Memory;
use super::clock::Clock;
use super::copies::Copies;
use super::shadow::Mark;
use crate::decode::code::LANES;
use crate::exec::core::lanes;

/// A warp.
pub(super) struct WarpState {
    /// Lanes that it has.
    pub(super) mask: u32,
    /// Of what its lanes do now. One that stands still in the meantime may well pass on with the others.
    pub(super) time: u32,
    /// One for all lanes, or one for each.
    clocks: SmallVec<[Arc<Clock>; 1]>,
    pub(super) lanes: Vec<LaneState>,
}

/// What a strong read has shown: what the writer knew, its block, the scope of the read.
pub(super) type Pending = (Arc<Clock>, u32, Scope);

/// What only some lanes have.
#[derive(Debug, Default)]
pub(super) struct LaneState {
    /// What the lane knew at its last fence, with the fence's scope and place.
    pub(super) fence: Option<(Arc<Clock>, Scope, u32)>,
    /// What others of the block knew at wide fences before barriers that the lane has passed: such a fence serves
    /// whoever sets a flag behind the barrier.
    pub(super) past: Option<Arc<Clock>>,
    /// What was known at the lane's own fence is among that.
    pub(super) is_past: bool,
    /// What it would have learned at that fence if the scope had been wider.
    pub(super) missed: Option<Arc<Clock>>,
    /// What strong reads have shown and no fence has taken yet: the writers' knowledge, the block where one wrote
    /// it alone, and the scope of the read.
    pub(super) pending: SmallVec<[Pending; 2]>,
    /// What they have shown last, with the place of the read and the scope of the release.
    pub(super) shown: SmallVec<[(Arc<Clock>, u32, Scope); 2]>,
    pub(super) copies: Copies,
    /// The last wait at an mbarrier that ended: where it is, phases that it had then, and the wait.
    pub(super) waited: Option<(Memory, u64, u32, u32)>,
    /// The last values read at places whose results are written back: place, address, who wrote it.
    pub(super) loads: SmallVec<[(u32, Memory, u64, Mark); 2]>,
}

impl WarpState {
    pub(super) fn new(clock: &Arc<Clock>, count: u32, time: u32) -> WarpState {
        WarpState {
            mask: u32::MAX >> (LANES as u32 - count.clamp(1, 32)),
            time,
            clocks: SmallVec::from_iter([Arc::clone(clock)]),
            lanes: Vec::new(),
        }
    }

    /// Makes it the same warp of another block, as if it were new.
    pub(super) fn renew(&mut self, clock: &Arc<Clock>, time: u32) {
        self.time = time;
        self.set_clocks(clock);
        self.lanes.clear();
    }

    #[inline]
    pub(super) fn clock(&self, lane: usize) -> &Arc<Clock> {
        if self.clocks.len() == 1 { &self.clocks[0] } else { &self.clocks[lane % LANES] }
    }

    /// Gives lanes this knowledge.
    pub(super) fn set_clock(&mut self, mask: u32, clock: &Arc<Clock>) {
        if mask & self.mask == self.mask {
            self.set_clocks(clock);
            return;
        }
        if self.clocks.len() == 1 {
            let one = Arc::clone(&self.clocks[0]);
            self.clocks = (0..LANES).map(|_| Arc::clone(&one)).collect();
        }
        for lane in lanes(mask) {
            self.clocks[lane % LANES] = Arc::clone(clock);
        }
        // Parts of a warp that come to a barrier one after the other know the same behind it.
        if lanes(self.mask & !mask).all(|lane| Arc::ptr_eq(&self.clocks[lane % LANES], clock)) {
            self.set_clocks(clock);
        }
    }

    /// Gives all lanes this knowledge.
    fn set_clocks(&mut self, clock: &Arc<Clock>) {
        match self.clocks.as_mut_slice() {
            [one] => one.clone_from(clock),
            _ => self.clocks = SmallVec::from_iter([Arc::clone(clock)]),
        }
    }

    /// Whether all its lanes know the same.
    #[inline(always)]
    pub(super) fn knows_alike(&self) -> bool {
        self.clocks.len() == 1
    }

    /// Whether a fence serves a lane.
    pub(super) fn has_fences(&self) -> bool {
        self.lanes.iter().any(|lane| lane.fence.is_some() || lane.past.is_some())
    }

    /// Whether copies of a lane are under way.
    pub(super) fn copies(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.copies.is_empty())
    }

    /// What is known together by lanes, with their own past.
    pub(super) fn joined(&self, warp: u32, mask: u32, into: Option<Clock>) -> Option<Clock> {
        let mask = mask & self.mask;
        if mask == 0 {
            return into;
        }
        let mut last: *const Clock = std::ptr::null();
        let mut joined = into;
        for lane in lanes(mask) {
            let clock = self.clock(lane);
            if Arc::as_ptr(clock) == last {
                continue;
            }
            last = Arc::as_ptr(clock);
            match &mut joined {
                Some(joined) => joined.join(clock),
                None => joined = Some(Clock::clone(clock)),
            }
        }
        if let Some(joined) = &mut joined {
            joined.raise_warp(warp, mask, self.time, mask == self.mask);
        }
        joined
    }

    pub(super) fn lane(&mut self, lane: usize) -> &mut LaneState {
        if self.lanes.is_empty() {
            self.lanes.resize_with(LANES, LaneState::default);
        }
        &mut self.lanes[lane % LANES]
    }
}
