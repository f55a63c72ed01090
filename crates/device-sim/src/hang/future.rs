//! What would happen if somebody were let go: who would write what the others wait for?
//!
//! The grid has been judged to stand, and nobody will use it any more. So the waiting threads are let go one
//! after the other, as if their wait had ended, and run step by step until they write a place that others
//! wait for. That names the writer, its line, and the wait before it. Nothing here decides whether the grid
//! stands; that has been decided before.

use super::spy::Read;
use super::waiters::{Waiter, Why, exit};
use crate::exec::warp::State;
use crate::fault::Place;
use crate::grid::Grid;
use crate::place::is_visible;

/// Steps that are looked into for each wait.
const STEPS: u64 = 20_000;
/// Waits that are looked into.
const WAITS: usize = 24;

/// A write that would end a wait.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    /// What is written.
    pub(crate) address: u64,
    /// Linear index of the writer's block, and of its threads there.
    pub(crate) block: u32,
    pub(crate) threads: Vec<u32>,
    pub(crate) place: Place,
    /// The wait that it stands behind, by its index among the waiters; `None` for a block without a slot.
    pub(crate) behind: Option<usize>,
}

impl Grid {
    /// Lets waiters go and sees what they write.
    pub(crate) fn future(&mut self, waiters: &[Waiter]) -> Vec<Write> {
        let mut watched: Vec<Read> = Vec::new();
        for waiter in waiters {
            if let Why::Memory { reads, .. } = &waiter.why {
                for read in reads {
                    if watched.len() < 256 && !watched.iter().any(|other| other.address == read.address) {
                        watched.push(read.clone());
                    }
                }
            }
        }
        let mut writes = Vec::new();
        if watched.is_empty() {
            return writes;
        }
        if self.next_block < self.blocks
            && let Some(slots) = self.start_beyond_capacity()
        {
            for slot in slots {
                self.follow(slot, None, &mut watched, &mut writes);
            }
            if !writes.is_empty() {
                return writes;
            }
        }
        let rank =
            |waiter: &Waiter| matches!(waiter.why, Why::Memory { .. } | Why::Itself { .. } | Why::Time);
        let mut order: Vec<usize> = (0..waiters.len()).collect();
        // Barriers first: who waits at one does nothing wrong by itself.
        order.sort_by_key(|&index| waiters.get(index).is_some_and(rank));
        let mut seen: Vec<(usize, u32, String)> = Vec::new();
        for index in order {
            let Some(waiter) = waiters.get(index) else { continue };
            let key = (waiter.slot, waiter.place.line, format!("{:?}", std::mem::discriminant(&waiter.why)));
            if seen.len() >= WAITS || (matches!(waiter.why, Why::Barrier { .. }) && seen.contains(&key)) {
                continue;
            }
            seen.push(key);
            self.let_go(waiter);
            self.follow(waiter.slot, Some(index), &mut watched, &mut writes);
        }
        writes
    }

    /// Makes a wait end.
    fn let_go(&mut self, waiter: &Waiter) {
        let Some(block) = self.slots.get_mut(waiter.slot).and_then(Option::as_mut) else { return };
        for (warp, index) in block.warps.iter_mut().zip(0..) {
            let frames = &warp.flow.frames;
            for group in &mut warp.flow.groups {
                match (&group.state, &waiter.why) {
                    (State::AtBarrier(at), Why::Barrier { id, .. }) if at == id => group.pc += 1,
                    (State::AtCluster, Why::Cluster) => group.pc += 1,
                    (State::AtCollective(_), Why::Lanes { .. }) if index == waiter.warp => group.pc += 1,
                    (State::Parked(parked), _) if index == waiter.warp && group.pc == waiter.at.1 => {
                        let code = frames.get(group.frame as usize).map(|frame| &frame.code.0);
                        let target = code.and_then(|code| {
                            let (_, to) = exit(code, parked.head)?;
                            code.starts.get(to.0 as usize).copied()
                        });
                        match target {
                            Some(target) => group.pc = target,
                            None => continue,
                        }
                    }
                    _ => continue,
                }
                group.state = State::Ready;
            }
        }
    }

    /// Runs the threads of a block that can run, one step after the other.
    fn follow(
        &mut self,
        slot: usize,
        behind: Option<usize>,
        watched: &mut Vec<Read>,
        writes: &mut Vec<Write>,
    ) {
        let mut steps = 0;
        while steps < STEPS && !watched.is_empty() {
            let mut moved = false;
            let count = self.slots.get(slot).and_then(Option::as_ref).map_or(0, |block| block.warps.len());
            for index in 0..count {
                let Some(warp) =
                    self.slots.get(slot).and_then(Option::as_ref).and_then(|block| block.warps.get(index))
                else {
                    return;
                };
                let ready = warp.flow.groups.iter().zip(0..).find(|(group, _)| group.state.is_ready());
                let Some((group, chosen)) = ready else { continue };
                let Some(code) = warp.flow.frames.get(group.frame as usize).map(|frame| &frame.code.0) else {
                    continue;
                };
                let visible = is_visible(code, group.pc);
                let (mask, first) = (group.mask, warp.place.first_thread);
                let at = (code.function.id.0, group.pc);
                let block = warp.place.block;
                moved = true;
                steps += 1;
                if self.step(slot, index, chosen).is_err() {
                    self.abandon(slot, index);
                    continue;
                }
                if !visible {
                    continue;
                }
                let changed: Vec<u64> =
                    watched.iter().filter(|read| read.changed()).map(|read| read.address).collect();
                watched.retain(|read| !read.changed());
                for address in changed {
                    let threads = crate::exec::core::lanes(mask).map(|lane| first + lane as u32).collect();
                    writes.push(Write { address, block, threads, place: self.place(at.0, at.1), behind });
                }
            }
            if !moved {
                return;
            }
        }
    }

    /// Takes a warp out that went astray.
    fn abandon(&mut self, slot: usize, index: usize) {
        let warp =
            self.slots.get_mut(slot).and_then(Option::as_mut).and_then(|block| block.warps.get_mut(index));
        if let Some(warp) = warp {
            warp.flow.groups.clear();
        }
    }
}
