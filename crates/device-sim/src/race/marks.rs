//! Values that are read, changed and written back, and what came in between.

use standstill_findings::Rule;

use super::shadow::{Mark, NOBODY};
use super::{Actor, Memory, Race};
use crate::exec::core::Core;

/// Most reads that a lane remembers.
const MOST_READS: usize = 8;

impl Race {
    fn last_write(&mut self, memory: Memory, address: u64) -> Mark {
        let shadow = self.shadow(memory);
        let range = shadow.range(address & !3, 4);
        shadow.last_write(range)
    }

    /// The last write that changed what stands there, as far as atomics that leave it as it is are told apart.
    pub(super) fn last_change(&mut self, memory: Memory, address: u64) -> Mark {
        let last = self.last_write(memory, address);
        match self.unchanged.get(&(memory, address)) {
            Some((write, change)) if *write == last => *change,
            _ => last,
        }
    }

    /// An atomic wrote what had stood there, behind this change: many programs read so.
    pub(super) fn left_unchanged(&mut self, memory: Memory, address: u64, change: Mark) {
        let write = self.last_write(memory, address);
        self.unchanged.insert((memory, address), (write, change));
    }

    fn remember(&mut self, actor: &Actor, id: u32, memory: Memory, address: u64, seen: Mark) {
        let state = self.block(actor.thread.block).warps.get_mut(actor.thread.warp as usize);
        let Some(state) = state else { return };
        let loads = &mut state.lane(actor.thread.lane as usize).loads;
        loads.retain(|(known, ..)| *known != id);
        if loads.len() >= MOST_READS {
            loads.remove(0);
        }
        loads.push((id, memory, address, seen));
    }

    /// The newest of these reads, when it was of this address: what stood there.
    fn recalled(
        &mut self,
        actor: &Actor,
        ids: &rustc_hash::FxHashSet<u32>,
        memory: Memory,
        address: u64,
    ) -> Option<(u32, Mark)> {
        let state = self.block(actor.thread.block).warps.get_mut(actor.thread.warp as usize)?;
        if state.lanes.is_empty() {
            return None;
        }
        let loads = &state.lane(actor.thread.lane as usize).loads;
        let found =
            loads.iter().rev().find(|(id, of, at, _)| ids.contains(id) && (*of, *at) == (memory, address))?;
        Some((found.0, found.3))
    }

    /// A read, or a store whose value was read before.
    #[allow(clippy::too_many_arguments, reason = "an access is this many things")]
    pub(super) fn note(
        &mut self,
        core: &Core<'_>,
        position: usize,
        memory: Memory,
        address: u64,
        actor: &Actor,
        site: u32,
        write: bool,
    ) {
        let Some(pairs) = self.pairs_of(core) else { return };
        let Some(&id) = pairs.positions.get(position) else { return };
        let now = self.last_change(memory, address);
        let Some(update) = pairs.update(id).filter(|_| write) else {
            self.remember(actor, id, memory, address, now);
            return;
        };
        let Some((_, seen)) = self.recalled(actor, &update.from, memory, address) else { return };
        let lost = now != seen && now.thread != actor.number && !actor.is_behind(now, self.warps);
        let strong = self.sites.get(site as usize).is_some_and(|site| site.strong.is_some());
        if lost && strong {
            let mark = Mark { thread: actor.number, time: actor.time, site };
            self.found(Rule::LostUpdate, mark, now, None, memory, address);
        }
    }

    /// A compare-and-swap.
    pub(super) fn compared(
        &mut self,
        core: &Core<'_>,
        position: usize,
        (memory, address): (Memory, u64),
        actor: &Actor,
        site: u32,
        succeeded: bool,
    ) {
        let Some(pairs) = self.pairs_of(core) else { return };
        let Some(&id) = pairs.positions.get(position) else { return };
        let now = self.last_change(memory, address);
        if let Some(update) = pairs.update(id) {
            let mark = Mark { thread: actor.number, time: actor.time, site };
            if !succeeded && update.ignored {
                if self.recalled(actor, &update.from, memory, address).is_some() {
                    self.found(Rule::LostUpdate, mark, now, None, memory, address);
                }
            } else if succeeded
                && !update.chased.is_empty()
                && let Some((_, seen)) = self.recalled(actor, &update.expected, memory, address)
                && seen != now
                && now.thread != actor.number
                && now.thread != NOBODY
            {
                self.found(Rule::Aba, mark, now, None, memory, address);
            }
        }
        self.remember(actor, id, memory, address, now);
    }
}
