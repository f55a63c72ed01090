//! Barriers: of lanes, blocks and clusters. Whoever waits knows afterwards what everybody did who arrived.

use std::sync::Arc;

use super::clock::Clock;
use super::threads::WarpState;
use super::{BlockState, Race};

/// What happened at the barriers of a block.
#[derive(Debug)]
pub(crate) enum Meeting {
    /// Lanes of a warp arrived at a barrier, and wait there or go on.
    Arrived { id: u32, warp: u32, mask: u32, waits: bool },
    /// It opened for these lanes of warps; `whole` when all threads of the block came.
    Opened { id: u32, whole: bool, waiting: Vec<(u32, u32)> },
}

/// The barrier of a cluster: what the arrivals of the phase know, and what those of the last one knew.
#[derive(Debug, Default)]
pub(crate) struct ClusterState {
    arriving: Option<Clock>,
    opened: Option<Arc<Clock>>,
}

impl BlockState {
    /// Fences before a barrier, and strong reads before it, serve behind it as well.
    fn carry_fences(&mut self, warp: u32, mask: u32) {
        if let Some(newer) = self.fenced[1].take() {
            match &mut self.fenced[0] {
                Some(older) => older.join(&newer),
                older => *older = Some(newer),
            }
        }
        let Some(of) = self.warps.get(warp as usize) else { return };
        for (lane, _) in of.lanes.iter().zip(0..32).filter(|(_, at)| mask >> at & 1 != 0) {
            for entry in lane.pending.iter().take(16) {
                if self.read_before.len() > 64 {
                    self.read_before.remove(0);
                }
                self.read_before.push(entry.clone());
            }
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
    }

    /// Takes in what happened at the barriers of a block.
    pub(crate) fn block_met(&mut self, block: u32, meetings: &mut Vec<Meeting>) {
        for meeting in meetings.drain(..) {
            let time = self.next_time(block);
            let before = time - 1;
            let warps = self.warps;
            let alone = self.cluster == [1; 3] && self.life.is_empty();
            let state = self.block(block);
            match meeting {
                Meeting::Arrived { id, warp, mask, waits } => {
                    state.carry_fences(warp, mask);
                    state.arrived.push((id, warp, mask));
                    if !waits {
                        state.join_arrived(id);
                    }
                    if let Some(of) = state.warps.get_mut(warp as usize) {
                        of.time = time;
                    }
                }
                Meeting::Opened { id, whole, waiting } => {
                    let plain = whole && !state.barriers.contains_key(&id) && state.knows_only_blocks();
                    let joined = if plain {
                        state.arrived.retain(|(at, ..)| *at != id);
                        if alone && !state.copies && !state.warps.iter().any(WarpState::copies) {
                            // All that was there is behind all that can still come.
                            state.shadow.clear();
                        }
                        Clock::of_block(block, warps, before)
                    } else {
                        state.join_arrived(id);
                        let Some(mut joined) = state.barriers.remove(&id) else { continue };
                        if whole {
                            joined.raise_block(before);
                        }
                        joined
                    };
                    let joined = Arc::new(joined);
                    for (warp, mask) in waiting {
                        let Some(of) = state.warps.get_mut(warp as usize) else { continue };
                        // Who waits knew all that before it arrived, so nothing is lost.
                        of.set_clock(mask, &joined);
                        of.time = time;
                    }
                }
            }
        }
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
        for lane in crate::exec::core::lanes(mask) {
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
    }
}
