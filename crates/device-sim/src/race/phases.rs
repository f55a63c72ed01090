//! Mbarriers: who waits for a phase knows what those did who arrived in it.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use standstill_findings::Rule;
use standstill_kernel_ir::Space;
use standstill_kernel_ir::evaluate::mbarrier::Mbarrier;

use super::clock::{Clock, Thread};
use super::shadow::Mark;
use super::{Actor, Memory, Race, thread_of};
use crate::exec::core::Core;

/// An mbarrier.
#[derive(Debug)]
pub(super) struct Phases {
    parity: bool,
    /// Phases that have ended.
    ended: u32,
    arriving: Option<Clock>,
    over: Option<Arc<Clock>>,
    initialised: u32,
    arrived_at: Option<u32>,
    /// When each thread has arrived.
    arrivals: FxHashMap<u32, Vec<u32>>,
}

impl Race {
    pub(super) fn phases_begin(&mut self, core: &Core<'_>, position: usize, space: Space, address: u64) {
        let site = self.site(core, position, None, false, false);
        let Some(key) = self.memory(core.place.block, space, address) else { return };
        let phases = Phases {
            parity: false,
            ended: 0,
            arriving: None,
            over: None,
            initialised: site,
            arrived_at: None,
            arrivals: FxHashMap::default(),
        };
        self.phases.insert(key, phases);
    }

    pub(super) fn phase_arrive(
        &mut self,
        core: &Core<'_>,
        position: usize,
        lane: usize,
        space: Space,
        address: u64,
    ) {
        let site = self.site(core, position, None, false, false);
        let (block, warp) = (core.place.block, core.place.warp);
        let Some(key) = self.memory(block, space, address) else { return };
        let Some(actor) = self.actor(block, warp, lane) else { return };
        let time = self.tick();
        if let Some(state) = self.block(block).warps.get_mut(warp as usize) {
            state.time = time;
        }
        let Some(phases) = self.phases.get_mut(&key) else { return };
        phases.arrived_at = Some(site);
        phases.arrivals.entry(actor.number).or_default().push(time);
        match &mut phases.arriving {
            Some(all) => {
                all.join(&actor.clock);
                all.raise(actor.thread, actor.time);
            }
            None => {
                let mut all = Clock::clone(&actor.clock);
                all.raise(actor.thread, actor.time);
                phases.arriving = Some(all);
            }
        }
    }

    /// A copy told the mbarrier of its end.
    pub(super) fn phase_copied(&mut self, block: u32, address: u64, copier: Thread, time: u32) {
        let warps = self.warps;
        let Some(key) = self.memory(block, Space::Shared, address) else { return };
        let Some(phases) = self.phases.get_mut(&key) else { return };
        phases.arriving.get_or_insert_with(|| Clock::new(block, warps)).raise(copier, time);
    }

    /// Looks whether the phase has ended.
    pub(super) fn phase_look(&mut self, core: &mut Core<'_>, lane: usize, space: Space, address: u64) {
        let Some(key) = self.memory(core.place.block, space, address) else { return };
        if !self.phases.contains_key(&key) {
            return;
        }
        let Some(word) = core.peek(space, lane, address, 8) else { return };
        let Some(phases) = self.phases.get_mut(&key) else { return };
        let parity = Mbarrier::from_word(word).phase;
        if parity != phases.parity {
            phases.parity = parity;
            phases.ended += 1;
            if let Some(mut all) = phases.arriving.take() {
                if let Some(before) = &phases.over {
                    all.join(before);
                }
                phases.over = Some(Arc::new(all));
            }
        }
    }

    /// A wait has ended.
    pub(super) fn phase_passed(
        &mut self,
        core: &Core<'_>,
        position: usize,
        lane: usize,
        space: Space,
        address: u64,
    ) {
        let site = self.site(core, position, None, false, false);
        let (block, warp) = (core.place.block, core.place.warp);
        let Some(key) = self.memory(block, space, address) else { return };
        let Some(phases) = self.phases.get(&key) else { return };
        let (ended, over) = (phases.ended, phases.over.clone());
        if let Some(over) = over {
            self.learn(block, warp, lane, &over);
        }
        if let Some(state) = self.block(block).warps.get_mut(warp as usize) {
            state.lane(lane).waited = Some((key.0, key.1, ended, site));
        }
    }

    /// Of two threads that use shared memory without order, one waited at an mbarrier that the other arrives at:
    /// the wait was for too old a phase, or the phase ended without all arrivals.
    pub(super) fn name_by_phase(
        &mut self,
        actor: &Actor,
        mark: Mark,
        old: Mark,
        memory: Memory,
    ) -> Option<(Rule, u32, Option<u32>)> {
        let Memory::Shared(_) = memory else { return None };
        let other = thread_of(old.thread, self.warps);
        if other.warp >= self.warps || actor.thread.warp >= self.warps {
            return None;
        }
        let reads = |site: u32| self.sites.get(site as usize).is_some_and(|site| !site.write);
        // The reader has waited, the writer arrives.
        let (reader, writer, reading) = match (reads(mark.site), reads(old.site)) {
            (true, false) => (actor.thread, old, mark.site),
            (false, true) => (other, mark, old.site),
            _ => return None,
        };
        let state = self.blocks.get_mut(reader.block)?.warps.get_mut(reader.warp as usize)?;
        if state.lanes.is_empty() {
            return None;
        }
        let (place, address, ended, wait) = state.lane(reader.lane as usize).waited?;
        let phases = self.phases.get(&(place, address))?;
        let arrivals = phases.arrivals.get(&writer.thread);
        let before = |times: &Vec<u32>| times.iter().filter(|&&time| time <= writer.time).count() as u32;
        let arrivals = arrivals.map_or(0, before);
        // The writer's next arrival belongs to the phase after those that it has arrived in.
        if arrivals < ended || phases.arrivals.is_empty() {
            return Some((Rule::BarrierCount, phases.arrived_at?, Some(reading)));
        }
        Some((Rule::MbarrierPhase, wait, Some(phases.initialised)))
    }
}
