//! Barriers: of lanes, blocks and clusters. Whoever waits knows afterwards what everybody did who arrived.

use std::sync::Arc;

use super::clock::{Clock, Thread};
use crate::exec::core::lanes;
use standstill_kernel_ir::Scope;

use super::threads::{LaneState, Pending, WarpState};
use super::{BlockState, Race};

/// What happened at the barriers of a block.
#[derive(Debug)]
pub(crate) enum Meeting {
    /// Lanes of a warp arrived at a barrier, and wait there or go on.
    Arrived { id: u32, warp: u32, mask: u32, waits: bool },
    /// It opened, for those who pass next; `whole` when all threads of the block came.
    Opened { id: u32, whole: bool },
    /// Lanes of a warp passed the barrier that opened last.
    Passed { warp: u32, mask: u32 },
}

/// The barrier of a cluster: what the arrivals of the phase know, and what those of the last one knew.
#[derive(Debug, Default)]
pub(crate) struct ClusterState {
    arriving: Option<Clock>,
    opened: Option<Arc<Clock>>,
}

/// A barrier of a block that has opened: what is known behind it, what it carries on, and when that was.
struct Opened {
    joined: Arc<Clock>,
    carried: Option<Carried>,
    time: u32,
}

/// Most strong reads that a barrier carries.
const MOST_CARRIED: usize = 64;

/// What a barrier carries from those before it to those behind it. The model wants the fence of a release pattern to be
/// the writer's own, but sequentially consistent fences, which `__threadfence()` is, have one order: the fence of whoever
/// sees the flag comes after those before the barrier, and so knows what they know (PTX ISA, «Synchronizes»).
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// What was known at wide fences, and the newest clock in there.
    fences: Option<Arc<Clock>>,
    last: Option<Arc<Clock>>,
    reads: Vec<Pending>,
}

impl Carried {
    fn add_fence(&mut self, clock: &Arc<Clock>) {
        if self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, clock)) {
            return;
        }
        match &mut self.fences {
            Some(known) => Arc::make_mut(known).join(clock),
            known => *known = Some(Arc::clone(clock)),
        }
        self.last = Some(Arc::clone(clock));
    }

    /// Takes what a lane has before the barrier.
    fn take_from(&mut self, lane: &LaneState) {
        let wide = lane.fence.as_ref().filter(|(_, scope, _)| *scope >= Scope::Gpu && !lane.is_past);
        for clock in wide.map(|(clock, ..)| clock).into_iter().chain(&lane.past) {
            self.add_fence(clock);
        }
        if !lane.pending.is_empty() {
            self.reads.extend(lane.pending.iter().cloned());
            self.reads.dedup_by(|one, two| Arc::ptr_eq(&one.0, &two.0));
            self.reads.truncate(MOST_CARRIED);
        }
    }

    /// Gives it all to a lane behind the barrier.
    fn give_to(&self, lane: &mut LaneState) {
        if self.fences.is_some() {
            lane.past.clone_from(&self.fences);
            lane.is_past = true;
        }
        for read in &self.reads {
            if !lane.pending.iter().any(|known| Arc::ptr_eq(&known.0, &read.0)) {
                lane.pending.push(read.clone());
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.fences.is_none() && self.reads.is_empty()
    }
}

impl BlockState {
    /// Fences before a barrier, and strong reads before it, serve behind it as well.
    fn carry_from(&mut self, id: u32, warp: u32, mask: u32) {
        let Some(of) = self.warps.get(warp as usize).filter(|of| !of.lanes.is_empty()) else { return };
        let mut carried = self.carried.remove(&id).unwrap_or_default();
        for lane in lanes(mask).filter_map(|lane| of.lanes.get(lane)) {
            carried.take_from(lane);
        }
        if !carried.is_empty() {
            self.carried.insert(id, carried);
        }
    }

    /// Puts together what those know who have arrived at a barrier.
    fn join_arrived(&mut self, id: u32) {
        let mut joined = self.barriers.remove(&id);
        for &(_, warp, mask) in self.arrived.iter().filter(|(at, ..)| *at == id) {
            if let Some(of) = self.warps.get(warp as usize) {
                joined = of.joined(warp, mask, joined);
            }
        }
        self.arrived.retain(|(at, ..)| *at != id);
        if let Some(joined) = joined {
            self.barriers.insert(id, joined);
        }
    }

    /// Whether no thread knows of anything outside the block, nor of copies.
    fn knows_only_blocks(&self) -> bool {
        self.warps.iter().all(|warp| warp.knows_alike() && warp.clock(0).is_plain())
    }
}

impl Race {
    /// Lanes of a warp met, and remember it all.
    pub(crate) fn lanes_met(&mut self, block: u32, warp: u32, mask: u32) {
        let time = self.next_time(block);
        let Some(state) = self.block(block).warps.get_mut(warp as usize) else { return };
        if let Some(joined) = state.joined(warp, mask, None) {
            state.set_clock(mask, &Arc::new(joined));
            state.time = time;
        }
        if state.lanes.is_empty() {
            return;
        }
        let mut carried = Carried::default();
        for lane in lanes(mask).filter_map(|lane| state.lanes.get(lane)) {
            carried.take_from(lane);
        }
        if !carried.is_empty() {
            for lane in lanes(mask) {
                carried.give_to(state.lane(lane));
            }
        }
    }

    /// Takes in what happened at the barriers of a block.
    pub(crate) fn block_met(&mut self, block: u32, meetings: &mut Vec<Meeting>) {
        let mut opened = None;
        for meeting in meetings.drain(..) {
            match meeting {
                Meeting::Arrived { id, warp, mask, waits } => {
                    let time = self.next_time(block);
                    let state = self.block(block);
                    state.carry_from(id, warp, mask);
                    state.arrived.push((id, warp, mask));
                    if !waits {
                        state.join_arrived(id);
                    }
                    if let Some(of) = state.warps.get_mut(warp as usize) {
                        of.time = time;
                    }
                }
                Meeting::Opened { id, whole } => opened = self.opened(block, id, whole),
                Meeting::Passed { warp, mask } => {
                    let Some(Opened { joined, carried, time }) = &opened else { continue };
                    let Some(of) = self.block(block).warps.get_mut(warp as usize) else { continue };
                    if let Some(carried) = carried {
                        lanes(mask).for_each(|lane| carried.give_to(of.lane(lane)));
                    }
                    // Who waits knew all that before it arrived, so nothing is lost.
                    of.set_clock(mask, joined);
                    of.time = *time;
                }
            }
        }
    }

    /// What those know who pass a barrier that has opened.
    fn opened(&mut self, block: u32, id: u32, whole: bool) -> Option<Opened> {
        let time = self.next_time(block);
        let warps = self.warps;
        let alone = self.cluster == [1; 3] && self.life.is_empty();
        let state = self.block(block);
        let plain = whole && !state.barriers.contains_key(&id) && state.knows_only_blocks();
        let joined = if plain {
            state.arrived.retain(|(at, ..)| *at != id);
            if alone && !state.copies && !state.warps.iter().any(WarpState::copies) {
                // All that was there is behind all that can still come.
                state.shadow.clear();
                state.quiet.forget();
            }
            Clock::of_block(block, warps, time - 1)
        } else {
            state.join_arrived(id);
            let mut joined = state.barriers.remove(&id)?;
            if whole {
                joined.raise_block(time - 1);
            }
            joined
        };
        Some(Opened { joined: Arc::new(joined), carried: state.carried.remove(&id), time })
    }

    /// Lanes arrived at the cluster's barrier.
    pub(crate) fn cluster_arrived(&mut self, cluster: u32, block: u32, warp: u32, mask: u32) {
        let time = self.next_time(block);
        let arriving = self.clusters.entry(cluster).or_default().arriving.take();
        let Some(of) = self.block(block).warps.get_mut(warp as usize) else { return };
        let own = of.joined(warp, mask, None);
        of.time = time;
        let joined = match (arriving, own) {
            (Some(mut all), Some(own)) => {
                all.join(&own);
                Some(all)
            }
            (all, own) => all.or(own),
        };
        self.clusters.entry(cluster).or_default().arriving = joined;
    }

    /// The cluster's barrier opened.
    pub(crate) fn cluster_opened(&mut self, cluster: u32) {
        let state = self.clusters.entry(cluster).or_default();
        if let Some(all) = state.arriving.take() {
            state.opened = Some(Arc::new(all));
        }
    }

    /// Lanes passed the cluster's barrier.
    pub(crate) fn cluster_passed(&mut self, cluster: u32, block: u32, warp: u32, mask: u32) {
        let Some(opened) = self.clusters.get(&cluster).and_then(|state| state.opened.clone()) else { return };
        for lane in lanes(mask) {
            self.learn(block, warp, lane, &opened);
        }
    }

    /// A lane learns what somebody knew.
    pub(super) fn learn(&mut self, block: u32, warp: u32, lane: usize, what: &Arc<Clock>) {
        let Some(of) = self.block(block).warps.get_mut(warp as usize) else { return };
        if Arc::ptr_eq(of.clock(lane), what) {
            return;
        }
        let mut clock = Clock::clone(of.clock(lane));
        clock.join(what);
        of.set_clock(1 << lane, &Arc::new(clock));
        if self.stale.is_some() {
            self.stale_learned(self.number(Thread { block, warp, lane: lane as u32 }));
        }
    }
}
