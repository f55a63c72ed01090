//! Accesses of a warp, checked against what was there before and remembered.

use std::sync::Arc;

use super::clock::{Clock, Thread};
use super::plan::Plan;
use super::quiet::Quiet;
use super::records::{Memo, Party, STRONG};
use super::shadow::{ANYBODY, Access, Clash, Mark, PIECE, Range, Shadow};
use super::shape::{Layout, unit};
use super::threads::WarpState;
use super::{Actor, BlockState, Memory, Race, thread_of};
use crate::decode::code::LANES;
use crate::exec::core::lanes;

/// The lanes of a warp.
const NUMBERS: [u32; LANES] = {
    let mut numbers = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        numbers[lane] = lane as u32;
        lane += 1;
    }
    numbers
};

/// What the active lanes of a warp access.
#[derive(Clone, Copy)]
pub(super) enum Places<'a> {
    /// In a layout that is known, by its number, from an address on.
    Rows(&'a Arc<Layout>, u32, u64),
    /// Each lane at an address of its own.
    Apart(&'a [u64; LANES], u32),
}

/// The accesses of lanes that know the same.
struct Together<'a> {
    shadow: &'a mut Shadow,
    clock: &'a Clock,
    party: Party,
    write: bool,
    /// Warps of a block.
    warps: u32,
    memo: Memo,
    found: Vec<Clash>,
}

impl Together<'_> {
    #[inline(always)]
    fn touch(&mut self, range: Range, address: u64, leaders: &[u32], lanes: u32) {
        let access = Access { party: &self.party, own: true, write: self.write, leaders, lanes };
        let (clock, warps, first) = (self.clock, self.warps, self.party.warp * 32);
        let behind = |mark: Mark, lane: u32| {
            if lane == ANYBODY {
                return clock.may_know(thread_of(mark.thread, warps), mark.time);
            }
            mark.thread == first + lane || mark.time <= clock.of(thread_of(mark.thread, warps))
        };
        let before = self.found.len();
        self.shadow.touch(range, &access, &mut self.memo, &behind, &mut self.found);
        for clash in self.found.iter_mut().skip(before) {
            clash.address = address;
        }
    }

    /// The accesses of elements of so many bytes.
    #[inline(always)]
    fn act(&mut self, places: Places<'_>, bytes: u64) {
        match places {
            Places::Rows(layout, _, base) => {
                for row in &layout.rows {
                    self.row(base.wrapping_add(row.distance), unit(bytes), layout.leaders(row), row.lanes);
                }
            }
            Places::Apart(at, active) => self.apart(at, active, bytes),
        }
    }

    /// Neighbouring pieces, each accessed by as many lanes.
    #[inline(always)]
    fn row(&mut self, mut address: u64, unit: u64, mut leaders: &[u32], lanes: u32) {
        while let Some(&first) = leaders.first() {
            let (range, count) = self.shadow.row(address, unit, leaders.len());
            let count = count.clamp(1, leaders.len());
            let (these, rest) = leaders.split_at(count);
            if self.write && self.party.site & STRONG == 0 && lanes != 1 {
                // Lanes that write other values to one place, one after the other.
                self.one_by_one(address, unit, these, lanes);
            } else if count == 1 {
                self.touch(range, address, &[first; 8], lanes);
            } else {
                self.touch(range, address, these, lanes);
            }
            leaders = rest;
            address = address.wrapping_add(count as u64 * unit);
        }
    }

    /// The accesses of lanes as they come, neighbours side by side together.
    fn apart(&mut self, at: &[u64; LANES], active: u32, bytes: u64) {
        let mut rest = active;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize % LANES;
            let mut end = first + 1;
            while bytes <= PIECE
                && end < LANES
                && rest >> end & 1 != 0
                && at[end] == at[first].wrapping_add((end - first) as u64 * bytes)
            {
                end += 1;
            }
            match NUMBERS.get(first..end) {
                Some(leaders) if bytes <= PIECE => self.row(at[first], bytes, leaders, 1),
                _ => self.lane(at[first], bytes, first as u32),
            }
            rest &= u32::MAX.checked_shl(end as u32).unwrap_or(0);
        }
    }

    #[cold]
    fn one_by_one(&mut self, address: u64, unit: u64, leaders: &[u32], counted: u32) {
        for (&leader, piece) in leaders.iter().zip(0..) {
            for lane in lanes(counted.rotate_left(leader)) {
                self.lane(address.wrapping_add(piece * unit), unit, lane as u32);
            }
        }
    }

    /// The access of one lane.
    #[inline]
    fn lane(&mut self, address: u64, bytes: u64, lane: u32) {
        let range = self.shadow.range(address, bytes);
        self.touch(range, address, &[lane; 8], 1);
    }
}

impl Race {
    /// Checks and remembers accesses of elements of so many bytes by lanes of a warp that know the same as `lane`, and
    /// tells of what was found.
    #[inline(always)]
    pub(super) fn together(
        &mut self,
        (block, warp, lane): (u32, u32, usize),
        memory: Memory,
        (site, flags, write): (u32, u32, bool),
        (places, bytes): (Places<'_>, u64),
    ) {
        let warps = self.warps;
        let thread = Thread { block, warp, lane: lane as u32 };
        let what = (site, flags, write);
        let settled = self.is_settled(memory, block);
        let narrow = self.narrow && !settled;
        self.wake(memory);
        let found = match memory {
            Memory::Shared(other) if other != block => {
                let known = self.block(block).warps.get(warp as usize);
                let Some((clock, time)) = known.map(|of| (of.clock(lane).clone(), of.time)) else { return };
                run(
                    &mut self.block(other).shadow,
                    &clock,
                    Place { thread, time, warps, settled: false, narrow },
                    what,
                    (places, bytes),
                )
            }
            Memory::Shared(_) => {
                let BlockState { shadow, warps: all, .. } = self.block(block);
                let Some(of) = all.get(warp as usize) else { return };
                run(
                    shadow,
                    of.clock(lane),
                    Place { thread, time: of.time, warps, settled, narrow },
                    what,
                    (places, bytes),
                )
            }
            Memory::Global => {
                self.block(block);
                let known = self.blocks.get(block).and_then(|state| state.warps.get(warp as usize));
                let Some(of) = known else { return };
                if let Some(log) = &mut self.log {
                    return log.add(of.clock(lane), (thread, of.time), what, (places, bytes));
                }
                run(
                    &mut self.global,
                    of.clock(lane),
                    Place { thread, time: of.time, warps, settled: false, narrow },
                    what,
                    (places, bytes),
                )
            }
        };
        if !found.is_empty() {
            self.report(found, memory, (block, warp), site);
        }
    }

    /// Whether only threads of this block can reach a memory.
    fn is_settled(&self, memory: Memory, block: u32) -> bool {
        memory == Memory::Shared(block) && self.cluster == [1; 3]
    }

    #[cold]
    fn report(&mut self, found: Vec<Clash>, memory: Memory, (block, warp): (u32, u32), site: u32) {
        let mut last = None;
        for clash in found {
            if last != Some((clash.lane, clash.old.site))
                && let Some(actor) = self.actor(block, warp, clash.lane as usize)
            {
                let mark = Mark { thread: actor.number, time: actor.time, site };
                self.conflict(memory, clash.address, &actor, mark, clash.old);
            }
            last = Some((clash.lane, clash.old.site));
        }
    }

    /// A warp's accesses where its lanes know the same; false when they must be looked at one by one.
    #[inline(always)]
    pub(super) fn warp_touches(
        &mut self,
        (block, warp): (u32, u32),
        plan: &Plan,
        (at, active): (&[u64; LANES], u32),
        write: bool,
    ) -> bool {
        let space = plan.access.space;
        let first = active.trailing_zeros() as usize % LANES;
        let of = self.block(block).warps.get(warp as usize);
        if !of.is_some_and(WarpState::knows_alike) || !self.life.is_empty() {
            return false;
        }
        let Some((memory, base)) = self.memory(block, space, at[first]) else { return false };
        let Some(mut shape) = self.plans.shapes.get_mut(plan.shape as usize).and_then(Option::take) else {
            return false;
        };
        let mut done = false;
        let site = if write { plan.writes } else { plan.reads };
        let layout = shape.layout(at, active, plan.bytes, &mut self.plans.layouts);
        if let Some((layout, number)) = layout
            && layout.even
            && base.is_multiple_of(plan.bytes)
        {
            let [low, high] = layout.ends;
            let is_at = |end: u64| {
                self.memory(block, space, at[first].wrapping_add(end))
                    == Some((memory, base.wrapping_add(end)))
            };
            if is_at(low) && is_at(high) {
                done = true;
                let end = high.wrapping_add(plan.bytes);
                let access = Quiet {
                    warp,
                    time: 0,
                    site,
                    flags: 0,
                    write,
                    base: base as u32,
                    layout: number,
                    bytes: [base.wrapping_add(low) as u32, base.wrapping_add(end) as u32],
                    size: plan.bytes as u32,
                };
                let may_be_quiet =
                    memory == Memory::Shared(block) && plan.flags == 0 && (layout.distinct || !write);
                if !(may_be_quiet && self.is_quiet(block, access)) {
                    let places = Places::Rows(layout, number, base);
                    let what = (site, plan.flags, write);
                    self.together((block, warp, first), memory, what, (places, plan.bytes));
                }
            }
        }
        if let Some(place) = self.plans.shapes.get_mut(plan.shape as usize) {
            *place = Some(shape);
        }
        if !done {
            done = self.lanes_touch((block, warp), plan, (at, active), memory, write);
        }
        done
    }

    /// The same, lane by lane; false when they access several memories.
    #[inline(never)]
    fn lanes_touch(
        &mut self,
        (block, warp): (u32, u32),
        plan: &Plan,
        (at, active): (&[u64; LANES], u32),
        memory: Memory,
        write: bool,
    ) -> bool {
        let space = plan.access.space;
        let mut offsets = [0; LANES];
        let mut even = active;
        for lane in lanes(active) {
            match self.memory(block, space, at[lane]) {
                Some((of, address)) if of == memory => offsets[lane] = address,
                _ => return false,
            }
            if !offsets[lane].is_multiple_of(plan.bytes) {
                even &= !(1 << lane);
            }
        }
        let first = active.trailing_zeros() as usize % LANES;
        let site = if write { plan.writes } else { plan.reads };
        let what = (site, plan.flags, write);
        self.together((block, warp, first), memory, what, (Places::Apart(&offsets, even), plan.bytes));
        true
    }

    /// An access of one thread.
    pub(super) fn touch_as(
        &mut self,
        memory: Memory,
        address: u64,
        bytes: u64,
        actor: &Actor,
        (mark, flags): (Mark, u32),
        write: bool,
    ) {
        let warps = self.warps;
        let own = mark.thread == actor.number;
        let settled = self.is_settled(memory, actor.thread.block);
        let narrow = self.narrow && !settled;
        let place = (mark.thread / 32, mark.time, mark.site | flags);
        let party = party(&actor.clock, actor.thread, place, (warps, settled, narrow));
        let shadow = self.shadow(memory);
        let access = Access { party: &party, own, write, leaders: &[mark.thread % 32; 8], lanes: 1 };
        let mut met = Vec::new();
        shadow.tidy();
        let range = shadow.range(address, bytes);
        let behind = |mark: Mark, lane| match lane {
            ANYBODY => actor.clock.may_know(thread_of(mark.thread, warps), mark.time),
            _ => actor.is_behind(mark, warps),
        };
        shadow.touch(range, &access, &mut Memo::default(), &behind, &mut met);
        let mut last = None;
        for clash in met {
            if last != Some(clash.old.site) {
                self.conflict(memory, address, actor, mark, clash.old);
            }
            last = Some(clash.old.site);
        }
        if !self.life.is_empty() {
            self.check_life(memory, address, bytes, actor, mark);
        }
    }
}

/// A thread's block and warp, with what its accesses leave: warp, time and site.
#[inline(always)]
fn party(
    clock: &Clock,
    thread: Thread,
    (warp, time, site): (u32, u32, u32),
    (warps, settled, narrow): (u32, bool, bool),
) -> Party {
    let floor = clock.floor();
    let warp_floor = clock.warp_floor(thread.warp).max(floor);
    Party {
        warp,
        time,
        site,
        first_warp: thread.block * (warps + 1),
        warps,
        floor,
        warp_floor,
        plain: clock.knows_only_its_block(),
        settled,
        narrow,
    }
}

/// Who accesses which memory: a thread as one of all that know the same, the time of its warp, how many warps a block
/// has, and what [`Party`] says of the memory.
pub(super) struct Place {
    pub(super) thread: Thread,
    pub(super) time: u32,
    pub(super) warps: u32,
    pub(super) settled: bool,
    pub(super) narrow: bool,
}

/// Checks and remembers accesses of elements of so many bytes; gives what nothing orders.
#[inline(always)]
pub(super) fn run(
    shadow: &mut Shadow,
    clock: &Clock,
    Place { thread, time, warps, settled, narrow }: Place,
    (site, flags, write): (u32, u32, bool),
    (places, bytes): (Places<'_>, u64),
) -> Vec<Clash> {
    let warp = thread.block * (warps + 1) + thread.warp;
    shadow.tidy();
    let party = party(clock, thread, (warp, time, site | flags), (warps, settled, narrow));
    let mut together =
        Together { shadow, clock, party, write, warps, memo: Memo::default(), found: Vec::new() };
    together.act(places, bytes);
    together.found
}
