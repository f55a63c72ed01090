//! Turns: which warp runs next, and what becomes of it.

use std::sync::Arc;

use super::block::Arrivals;
use super::{Grid, Progress, Turns};
use crate::decode::code::Kernel;
use crate::exec::flow::Turn;
use crate::exec::warp::Warp;
use crate::launch::Schedule;

/// Ticks of a turn.
const TURN: u64 = 2000;
/// Parked warps are looked at after this many turns, or as many as there are blocks.
const LOOK: u64 = 64;
/// Blocks start as long as fewer warps than this can run.
const FEW: usize = 1;
const FEW_AT_RANDOM: usize = 64;
/// One more starts after so many turns that took their whole time, or that ended early for each block that is there.
const START_ANYWAY: u64 = 16;
const START_AFTER_MEETINGS: u64 = 64;
/// Where blocks have nothing to do with each other: whole turns after which they are no longer taken one by one.
const TOO_LONG: u64 = 1 << 14;
/// The clock never jumps further than this at once.
const FURTHEST: u64 = 1 << 40;

/// How a pause of the turns came about.
pub(super) enum Pause {
    /// Somebody was woken.
    Woken,
    /// Nobody can move.
    Parked,
}

impl Grid {
    /// Runs about `budget` instructions of warps and tells how far the grid has come. The budget only says
    /// when the call returns; it decides nothing.
    pub fn run(&mut self, budget: u64) -> Progress {
        if let Some(fault) = &self.fault {
            return Progress::Fault(fault.clone());
        }
        self.shared.refresh();
        let end = self.shared.clock.saturating_add(budget);
        self.full = false;
        let kernel = Arc::clone(&self.shared.kernel);
        if self.at_once || matches!(self.schedule, Schedule::Chosen(_)) {
            self.start_blocks(u64::MAX);
        }
        loop {
            if self.ended == self.blocks {
                return Progress::Finished;
            }
            let moved = if self.may_split() { self.split(&kernel) } else { self.next_turn(&kernel) };
            match moved {
                Ok(true) => {}
                Ok(false) => match self.pause() {
                    Pause::Woken => {}
                    Pause::Parked => return Progress::Parked,
                },
                Err(fault) => return self.fail(fault),
            }
            if self.livelock_due() {
                match self.look_for_livelock() {
                    Ok(true) => return Progress::Parked,
                    Ok(false) => {}
                    Err(fault) => return self.fail(fault),
                }
            }
            if self.shared.clock >= end {
                return if self.ended == self.blocks { Progress::Finished } else { Progress::Running };
            }
        }
    }

    fn fail(&mut self, fault: Box<crate::fault::Fault>) -> Progress {
        self.fault = Some(fault.clone());
        Progress::Fault(fault)
    }

    /// One turn, after a look now and then at those that wait; false when none can run.
    pub(super) fn next_turn(&mut self, kernel: &Kernel) -> Result<bool, Box<crate::fault::Fault>> {
        if self.until_look == 0 {
            self.wake(false);
            self.until_look = LOOK.max(self.slots.len() as u64);
        }
        self.until_look -= 1;
        if let Schedule::Chosen(_) = self.schedule { self.chosen_turn(kernel) } else { self.turn(kernel) }
    }

    /// A number that the seed decides (splitmix64).
    pub(crate) fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.random;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    /// One warp's turn; false when none can run.
    fn turn(&mut self, kernel: &Kernel) -> Result<bool, Box<crate::fault::Fault>> {
        let random = matches!(self.schedule, Schedule::Random | Schedule::Adversarial(_));
        let by_priority = matches!(self.schedule, Schedule::Pct);
        if self.shared.preempt.is_some() {
            self.end_delays(false);
        }
        // Blocks start when those that run leave the machine time: that keeps what they touch near. But one starts
        // now and then in any case, since those that run may poll for it without ever standing still.
        let few = if random || by_priority { FEW_AT_RANDOM } else { FEW };
        let due = self.ready.len() < few || (!self.in_order && self.has_run_long(random || by_priority));
        if due && !self.full && self.next_block < self.stop {
            self.turns = Turns::default();
            if self.in_order {
                self.until_look = LOOK;
            }
            self.start_blocks(1);
        }
        self.in_order &= self.turns.whole < TOO_LONG;
        let limit = if random { 1 + self.draw() % 300 } else { TURN };
        if random && self.ready.len() > 1 {
            let index = (self.draw() % self.ready.len() as u64) as usize;
            self.ready.swap(0, index);
        }
        if by_priority {
            self.highest_first();
        }
        let Some((slot, warp)) = self.ready.pop_front() else { return Ok(false) };
        if random {
            let draw = self.draw() | 1;
            let block = self.slots.get_mut(slot as usize).and_then(Option::as_mut);
            if let Some(warp) = block.and_then(|block| block.warps.get_mut(warp as usize)) {
                warp.flow.random = draw;
            }
        }
        self.run_warp(kernel, slot as usize, warp as usize, limit, None)?;
        if by_priority {
            self.give_way(slot as usize, warp as usize);
        }
        if !self.leaders.is_empty() {
            self.release(false);
        }
        Ok(true)
    }

    /// Whether those that are there have had so many turns that another block should start.
    fn has_run_long(&self, drawn: bool) -> bool {
        let resident = (self.slots.len() - self.vacant.len()) as u64;
        let most = if drawn { START_ANYWAY } else { START_AFTER_MEETINGS * resident };
        self.turns.whole >= START_ANYWAY || self.turns.all >= most
    }

    /// Puts the warp with the highest priority first.
    fn highest_first(&mut self) {
        let of = |&(slot, warp): &(u32, u32)| {
            let block = self.slots.get(slot as usize).and_then(Option::as_ref);
            block.and_then(|block| block.warps.get(warp as usize)).and_then(|warp| warp.flow.priority())
        };
        // The first of several that are equal: they take turns.
        let best = (0..self.ready.len()).rev().max_by_key(|&index| self.ready.get(index).and_then(of));
        if let Some(best) = best {
            self.ready.swap(0, best);
        }
    }

    /// After a turn by priority: a warp that has had many in a row lets others come.
    fn give_way(&mut self, slot: usize, index: usize) {
        let Some(preempt) = &mut self.shared.preempt else { return };
        let block = self.slots.get_mut(slot).and_then(Option::as_mut);
        let Some(warp) = block.and_then(|block| block.warps.get_mut(index)) else { return };
        if let Some(low) = preempt.used((slot as u32, index as u32)) {
            let ready = warp.flow.groups.iter_mut().filter(|group| group.state.is_ready());
            if let Some(last) = ready.max_by_key(|group| group.ran) {
                last.priority = low;
            }
        }
    }

    /// Lets groups go on that were held up for as long as they were to be; with `next` those that come next, since
    /// nobody else can run. True when there was one.
    fn end_delays(&mut self, next: bool) -> bool {
        let Some(preempt) = &mut self.shared.preempt else { return false };
        preempt.turns += 1;
        let mut now = preempt.turns;
        let mut any = false;
        loop {
            let mut soonest: Option<u64> = None;
            let mut free = Vec::new();
            self.delayed.retain(|&(slot, index)| {
                let block = self.slots.get_mut(slot).and_then(Option::as_mut);
                let Some(warp) = block.and_then(|block| block.warps.get_mut(index)) else { return false };
                let (freed, left) = warp.flow.end_delays(now);
                if freed {
                    free.push((slot, index));
                }
                soonest = match (soonest, left) {
                    (Some(one), Some(two)) => Some(one.min(two)),
                    (one, two) => one.or(two),
                };
                left.is_some()
            });
            any |= !free.is_empty();
            for (slot, index) in free {
                self.queue(slot, index);
            }
            match soonest {
                Some(turn) if next && !any => now = turn,
                _ => break,
            }
        }
        if let Some(preempt) = &mut self.shared.preempt {
            preempt.delayed = self.delayed.len();
        }
        any
    }

    /// One step of the thread that the caller chooses; false when none can run.
    fn chosen_turn(&mut self, kernel: &Kernel) -> Result<bool, Box<crate::fault::Fault>> {
        // Whoever looks at the same again may do so as often as the caller wants.
        for warp in self.slots.iter_mut().flatten().flat_map(|block| &mut block.warps) {
            warp.rouse();
            warp.flow.part();
        }
        let (choices, places) = self.choices();
        if choices.is_empty() {
            return Ok(false);
        }
        let Schedule::Chosen(interleaving) = &mut self.schedule else { return Ok(false) };
        let Some((index, steps)) = interleaving.next(&choices) else {
            self.schedule = Schedule::RoundRobin;
            for warp in self.slots.iter_mut().flatten().flat_map(|block| &mut block.warps) {
                warp.flow.apart = false;
            }
            self.queue_all();
            return Ok(true);
        };
        let Some(&(slot, warp, group)) = places.get(index).or(places.first()) else { return Ok(false) };
        self.run_warp(kernel, slot, warp, steps.max(1), Some(group))?;
        self.forget_ready();
        self.shared.clock += 1;
        Ok(true)
    }

    fn run_warp(
        &mut self,
        kernel: &Kernel,
        slot: usize,
        index: usize,
        limit: u64,
        chosen: Option<usize>,
    ) -> Result<(), Box<crate::fault::Fault>> {
        let Some(block) = self.slots.get_mut(slot).and_then(Option::as_mut) else { return Ok(()) };
        let memory = &block.shared.0;
        let Some(warp) = block.warps.get_mut(index) else { return Ok(()) };
        warp.queued = false;
        self.turns.all += 1;
        let lanes = warp.flow.live;
        let turn = warp.run(self.arch, kernel, &mut self.shared, memory, limit, chosen);
        let left = warp.flow.live;
        if std::mem::take(&mut warp.flow.delays) && !self.delayed.contains(&(slot, index)) {
            self.delayed.push((slot, index));
            if let Some(preempt) = &mut self.shared.preempt {
                preempt.delayed += 1;
            }
        }
        block.count_exits(lanes, left);
        match turn {
            Turn::Time => {
                self.turns.whole += 1;
                let Some(warp) = block.warps.get_mut(index) else { return Ok(()) };
                let streak = warp.flow.watch.long_streak();
                if warp.is_ready() && !self.hold(slot, index, streak) {
                    self.queue(slot, index);
                }
            }
            Turn::Idle => {}
            Turn::Together(id, mask) => {
                let opened = block.arrive_together(kernel, index, id, mask);
                if let (Some(race), Some(meetings)) = (&mut self.shared.race, &mut block.meetings) {
                    race.block_met(block.place.index, meetings);
                }
                if opened {
                    self.queue_block(slot);
                }
            }
            Turn::Block => {
                let Some(warp) = block.warps.get_mut(index) else { return Ok(()) };
                warp.flow.gather();
                let arrivals = block.arrive(kernel, index);
                if let (Some(race), Some(meetings)) = (&mut self.shared.race, &mut block.meetings) {
                    race.block_met(block.place.index, meetings);
                }
                let cluster = block.place.cluster;
                match arrivals {
                    Ok(Arrivals { others, opened }) => {
                        for &(warp, group) in &others {
                            self.meet(slot, warp, group);
                        }
                        self.after_arrivals(slot, index, cluster, !others.is_empty(), opened);
                    }
                    Err((kind, lane)) => {
                        let at = self.first_arriving(slot, index);
                        return Err(self.fault_of(kind, slot, index, lane, at));
                    }
                }
            }
            Turn::Fault(fault, function, position) => {
                let (kind, lane) = *fault;
                return Err(self.fault_of(kind, slot, index, lane, (function, position)));
            }
        }
        Ok(())
    }

    /// Holds a warp back when another one is far into the same loop.
    fn hold(&mut self, slot: usize, index: usize, streak: Option<(u32, u32)>) -> bool {
        let Some(streak) = streak else { return false };
        let leader = *self.leaders.entry(streak).or_insert((slot, index));
        if leader == (slot, index) {
            return false;
        }
        self.held.push((streak, (slot, index)));
        true
    }

    /// Lets warps go whose leader has left its loop; all of them, when nobody else can run.
    pub(crate) fn release(&mut self, all: bool) -> bool {
        if self.leaders.is_empty() {
            return false;
        }
        let slots = &self.slots;
        let leads = |streak: &(u32, u32), &(slot, index): &(usize, usize)| {
            let warp = slots.get(slot).and_then(Option::as_ref).and_then(|block| block.warps.get(index));
            !all && warp.is_some_and(|warp| warp.is_ready() && warp.flow.watch.long_streak() == Some(*streak))
        };
        self.leaders.retain(|streak, leader| leads(streak, leader));
        let leaders = &self.leaders;
        let (kept, free): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.held).into_iter().partition(|(streak, _)| leaders.contains_key(streak));
        self.held = kept;
        let any = !free.is_empty();
        for (_, (slot, index)) in free {
            self.queue(slot, index);
        }
        any
    }

    /// Where the group stands whose barrier is at fault.
    fn first_arriving(&self, slot: usize, index: usize) -> (u32, u32) {
        let warp = self.slots.get(slot).and_then(Option::as_ref).and_then(|block| block.warps.get(index));
        let found = warp.and_then(|warp| {
            let group = warp
                .flow
                .groups
                .iter()
                .find(|group| matches!(group.state, crate::exec::warp::State::Arriving))?;
            let function = warp.flow.frames.get(group.frame as usize)?.code.0.function.id.0;
            Some((function, group.pc))
        });
        found.unwrap_or_default()
    }

    /// Queues whoever a barrier let go, and takes blocks away that have ended.
    fn after_arrivals(&mut self, slot: usize, warp: usize, cluster: u32, met: bool, opened: bool) {
        let dead = self.slots.get(slot).and_then(Option::as_ref).is_some_and(|block| block.live() == 0);
        let of_cluster =
            if self.cluster_blocks > 1 || met { self.settle_cluster(cluster) } else { Vec::new() };
        if dead {
            self.retire(slot);
            self.full = false;
        } else if opened || met {
            self.queue_block(slot);
        } else {
            self.queue_ready(slot, warp);
        }
        for other in of_cluster {
            self.queue_block(other);
        }
    }

    /// Queues the warps of a block that can run.
    fn queue_block(&mut self, slot: usize) {
        let Some(block) = self.slots.get_mut(slot).and_then(Option::as_mut) else { return };
        for (warp, index) in block.warps.iter_mut().zip(0..) {
            if !warp.queued && warp.is_ready() {
                warp.queued = true;
                self.ready.push_back((slot as u32, index));
            }
        }
    }

    /// Queues a warp if it can run.
    fn queue_ready(&mut self, slot: usize, index: usize) {
        let warp = self.slots.get(slot).and_then(Option::as_ref).and_then(|block| block.warps.get(index));
        if warp.is_some_and(Warp::is_ready) {
            self.queue(slot, index);
        }
    }

    pub(super) fn queue(&mut self, slot: usize, index: usize) {
        let warp =
            self.slots.get_mut(slot).and_then(Option::as_mut).and_then(|block| block.warps.get_mut(index));
        if let Some(warp) = warp
            && !std::mem::replace(&mut warp.queued, true)
        {
            self.ready.push_back((slot as u32, index as u32));
        }
    }

    /// Nobody is to run.
    pub(crate) fn forget_ready(&mut self) {
        self.ready.clear();
        for warp in self.slots.iter_mut().flatten().flat_map(|block| &mut block.warps) {
            warp.queued = false;
        }
    }

    pub(crate) fn queue_all(&mut self) {
        let all: Vec<(usize, usize)> = self
            .slots
            .iter()
            .zip(0..)
            .filter_map(|(block, slot)| Some((block.as_ref()?, slot)))
            .flat_map(|(block, slot)| {
                let ready = block.warps.iter().zip(0..).filter(|(warp, _)| warp.is_ready());
                ready.map(move |(_, warp)| (slot, warp)).collect::<Vec<_>>()
            })
            .collect();
        for (slot, warp) in all {
            self.queue(slot, warp);
        }
    }

    /// Wakes parked warps whose memory has changed; true when there was one.
    fn wake(&mut self, time: bool) -> bool {
        let mut woken = Vec::new();
        for (block, slot) in self.slots.iter_mut().zip(0..) {
            let Some(block) = block else { continue };
            for (warp, index) in block.warps.iter_mut().zip(0..) {
                if warp.is_parked() && warp.wake(time) {
                    woken.push((slot, index));
                }
            }
        }
        let any = !woken.is_empty();
        for (slot, warp) in woken {
            self.queue(slot, warp);
        }
        any
    }

    /// Nobody can run: perhaps memory has changed, room was left, or somebody waits for time.
    pub(super) fn pause(&mut self) -> Pause {
        if self.end_delays(true) || self.release(true) || self.wake(false) || self.start_blocks(1) {
            self.jump = 1000;
            return Pause::Woken;
        }
        let timed = |warp: &Warp| {
            warp.flow
                .groups
                .iter()
                .any(|group| matches!(&group.state, crate::exec::warp::State::Parked(parked) if parked.timed))
        };
        if self.slots.iter().flatten().flat_map(|block| &block.warps).any(timed) {
            if self.jump >= FURTHEST {
                return Pause::Parked;
            }
            self.shared.clock = self.shared.clock.saturating_add(self.jump);
            self.jump *= 4;
            self.wake(true);
            return Pause::Woken;
        }
        Pause::Parked
    }
}

/// For looking into what would happen; see `hang::future`.
impl Grid {
    /// One step of a group.
    pub(crate) fn step(
        &mut self,
        slot: usize,
        warp: usize,
        group: usize,
    ) -> Result<(), Box<crate::fault::Fault>> {
        let kernel = Arc::clone(&self.shared.kernel);
        self.run_warp(&kernel, slot, warp, 1, Some(group))
    }
}
