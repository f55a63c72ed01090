//! Barriers: of lanes, blocks and clusters. Whoever waits knows afterwards what everybody did who arrived.

use std::sync::Arc;

use super::Race;
use super::clock::Clock;

/// What happened at the barriers of a block.
#[derive(Debug)]
pub(crate) enum Meeting {
    /// Lanes of a warp arrived at a barrier.
    Arrived { id: u32, warp: u32, mask: u32 },
    /// It opened for these lanes of warps; `whole` when all threads of the block came.
    Opened { id: u32, whole: bool, waiting: Vec<(u32, u32)> },
}

/// The barrier of a cluster: what the arrivals of the phase know, and what those of the last one knew.
#[derive(Debug, Default)]
pub(crate) struct ClusterState {
    arriving: Option<Clock>,
    opened: Option<Arc<Clock>>,
}

impl Race {
    /// Lanes of a warp met, and remember it all.
    pub(crate) fn lanes_met(&mut self, block: u32, warp: u32, mask: u32) {
        let time = self.tick();
        let Some(state) = self.block(block).warps.get_mut(warp as usize) else { return };
        if let Some(joined) = state.joined(warp, mask, None) {
            state.set_clock(mask, &Arc::new(joined));
            state.set_time(mask, time);
        }
    }

    /// Takes in what happened at the barriers of a block.
    pub(crate) fn block_met(&mut self, block: u32, meetings: Vec<Meeting>) {
        for meeting in meetings {
            let before = self.now;
            let time = self.tick();
            let state = self.block(block);
            match meeting {
                Meeting::Arrived { id, warp, mask } => {
                    if let Some(newer) = state.fenced[1].take() {
                        match &mut state.fenced[0] {
                            Some(older) => older.join(&newer),
                            older => *older = Some(newer),
                        }
                    }
                    let joined = state.barriers.remove(&id);
                    let Some(of) = state.warps.get_mut(warp as usize) else { continue };
                    for lane in of.lanes.iter().zip(0..32).filter(|(_, at)| mask >> at & 1 != 0) {
                        for entry in lane.0.pending.iter().take(16) {
                            if state.read_before.len() > 64 {
                                state.read_before.remove(0);
                            }
                            state.read_before.push(entry.clone());
                        }
                    }
                    if let Some(joined) = of.joined(warp, mask, joined) {
                        of.set_time(mask, time);
                        state.barriers.insert(id, joined);
                    }
                }
                Meeting::Opened { id, whole, waiting } => {
                    let Some(mut joined) = state.barriers.remove(&id) else { continue };
                    if whole {
                        joined.raise_block(before);
                    }
                    let joined = Arc::new(joined);
                    for (warp, mask) in waiting {
                        let Some(of) = state.warps.get_mut(warp as usize) else { continue };
                        // Who waits knew all that before it arrived, so nothing is lost.
                        of.set_clock(mask, &joined);
                        of.set_time(mask, time);
                    }
                }
            }
        }
    }

    /// Lanes arrived at the cluster's barrier.
    pub(crate) fn cluster_arrived(&mut self, cluster: u32, block: u32, warp: u32, mask: u32) {
        let time = self.tick();
        let arriving = self.clusters.entry(cluster).or_default().arriving.take();
        let Some(of) = self.block(block).warps.get_mut(warp as usize) else { return };
        let own = of.joined(warp, mask, None);
        of.set_time(mask, time);
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
