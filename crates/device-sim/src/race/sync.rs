//! Release and acquire through memory (PTX ISA, «Release and Acquire Patterns»), and what was missing where they
//! did not come about.

use std::sync::Arc;

use smallvec::SmallVec;
use standstill_findings::Rule;
use standstill_kernel_ir::{Order, Scope};

use super::clock::{Clock, Thread};
use super::shadow::Mark;
use super::threads::{LaneState, Pending};
use super::{Actor, BlockState, Race, thread_of};

/// Several blocks.
const MANY: u32 = u32::MAX;
/// Releases of so many threads a location carries apart.
const MOST_RELEASED: usize = 8;
/// What strong reads have shown a thread last is remembered.
const MOST_SHOWN: usize = 8;
/// Most hints of a block.
const MOST_HINTS: usize = 48;

/// What a memory location carries from those who wrote it.
#[derive(Debug, Default)]
pub(crate) struct Variable {
    released: SmallVec<[Released; 1]>,
    /// Releases that another thread's store has replaced. Any later strong write of their own thread to this location
    /// makes a pattern with them once more (ISA, «Release and Acquire Patterns»).
    replaced: SmallVec<[Released; 1]>,
}

#[derive(Debug, Clone)]
struct Released {
    block: u32,
    /// The thread, where it is one.
    thread: u32,
    scope: Scope,
    clock: Arc<Clock>,
    site: u32,
    /// What the writer would know as well if its fence had been wider.
    missed: Option<Arc<Clock>>,
}

/// Knowledge that a thread of the block would have, were it not for something missing.
#[derive(Debug)]
pub(super) struct Hint {
    rule: Rule,
    site: u32,
    clock: Arc<Clock>,
    /// The writer itself, whose past up to a time it would know.
    writer: Option<Mark>,
    reader: u32,
}

/// What a thread of the block has acquired; it reaches the others by a barrier only.
#[derive(Debug)]
pub(super) struct Acquired {
    thread: u32,
    site: u32,
    clock: Arc<Clock>,
}

/// What is missing between two accesses: the rule, where, and the thread that has acquired, or at least read, what another
/// one needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Missing {
    pub(super) rule: Rule,
    pub(super) site: u32,
    pub(super) acquired_by: Option<u32>,
}

impl Variable {
    /// A thread has written; `rmw` continues what stood there.
    fn written(&mut self, thread: u32, rmw: bool) {
        if !rmw {
            let (own, others) =
                std::mem::take(&mut self.released).into_iter().partition(|of| of.thread == thread);
            self.released = own;
            let others: SmallVec<[Released; 1]> = others;
            self.replaced.extend(others.into_iter().filter(|of| of.thread != MANY));
            let most = self.replaced.len().saturating_sub(MOST_RELEASED);
            self.replaced.drain(..most);
        }
        let mut at = 0;
        while let Some(of) = self.replaced.get(at) {
            if of.thread == thread {
                let own = self.replaced.remove(at);
                self.release(own);
            } else {
                at += 1;
            }
        }
    }

    fn release(&mut self, new: Released) {
        let full = self.released.len() >= MOST_RELEASED;
        let wide = new.scope >= Scope::Gpu;
        let same = |entry: &&mut Released| {
            let joins = full && (wide || entry.block == new.block);
            entry.scope == new.scope && (entry.thread == new.thread || joins)
        };
        let Some(entry) = self.released.iter_mut().find(same) else {
            self.released.push(new);
            return;
        };
        if entry.block != new.block {
            entry.block = MANY;
        }
        if entry.thread != new.thread {
            entry.thread = MANY;
        }
        let mut joined = Clock::clone(&new.clock);
        joined.join(&entry.clock);
        entry.clock = Arc::new(joined);
        entry.site = new.site;
    }
}

fn releases(order: Order) -> bool {
    matches!(order, Order::Release | Order::AcquireRelease | Order::SequentiallyConsistent)
}

pub(super) fn acquires(order: Order) -> bool {
    matches!(order, Order::Acquire | Order::AcquireRelease | Order::SequentiallyConsistent)
}

impl Race {
    /// A strong read of a location; `seen` is the strong write that stands there, if one does and the value is
    /// looked at.
    pub(super) fn strong_read(
        &mut self,
        key: (super::Memory, u64),
        actor: &Actor,
        (order, scope): (Order, Scope),
        site: u32,
        seen: Option<Mark>,
    ) {
        let own = actor.thread.block;
        let (warp, lane) = (actor.thread.warp, actor.thread.lane as usize);
        let released = self.not_shown(key, actor, site);
        for entry in &released {
            let other = if entry.block == MANY { own } else { entry.block };
            if !self.covers(own, other, entry.scope) {
                self.hint(own, Rule::ScopeTooNarrow, entry.site, &entry.clock, None, site);
                if let Some(missed) = &entry.missed {
                    self.hint(own, Rule::ScopeTooNarrow, entry.site, missed, None, entry.site);
                }
            } else if acquires(order) && self.covers(own, other, scope) {
                self.learn(own, warp, lane, &entry.clock);
                self.has_acquired(actor, site, &entry.clock);
            } else if acquires(order) {
                self.hint(own, Rule::ScopeTooNarrow, site, &entry.clock, None, site);
            } else {
                self.hint(own, Rule::MissingAcquire, site, &entry.clock, None, site);
                let state = self.block(own).warps.get_mut(warp as usize);
                if let Some(state) = state {
                    let pending = &mut state.lane(lane).pending;
                    if !pending.iter().any(|(clock, ..)| Arc::ptr_eq(clock, &entry.clock)) {
                        if pending.len() >= 16 {
                            let older = pending.remove(0).0;
                            let mut joined = Clock::clone(&entry.clock);
                            joined.join(&older);
                            pending.push((Arc::new(joined), MANY, scope));
                        } else {
                            pending.push((Arc::clone(&entry.clock), entry.block, scope));
                        }
                    }
                }
            }
        }
        if let Some(mark) = seen
            && mark.thread != actor.number
        {
            self.contended(site, mark.site);
        }
        if let Some(mark) = seen
            && mark.thread != actor.number
            && !actor.is_behind(mark, self.warps)
        {
            let writer = thread_of(mark.thread, self.warps);
            let of = self.blocks.get(writer.block).and_then(|state| state.warps.get(writer.warp as usize));
            let clock = of.map(|of| Arc::clone(of.clock(writer.lane as usize)));
            let clock = clock.unwrap_or_else(|| Arc::new(Clock::new(writer.block, self.warps)));
            self.hint(own, Rule::MissingRelease, mark.site, &clock, Some(mark), site);
        }
    }

    /// What a location carries that this place has not shown the thread yet. Whoever waits for something reads the
    /// same again and again.
    fn not_shown(&mut self, key: (super::Memory, u64), actor: &Actor, site: u32) -> SmallVec<[Released; 1]> {
        let Some(variable) = self.variables.get(&key) else { return SmallVec::new() };
        let state = self.blocks.get_mut(actor.thread.block);
        let Some(warp) = state.and_then(|state| state.warps.get_mut(actor.thread.warp as usize)) else {
            return SmallVec::new();
        };
        let shown = &mut warp.lane(actor.thread.lane as usize).shown;
        let mut fresh = SmallVec::new();
        for entry in &variable.released {
            let known = |(clock, at, scope): &(Arc<Clock>, u32, Scope)| {
                *at == site && *scope == entry.scope && Arc::ptr_eq(clock, &entry.clock)
            };
            if shown.iter().any(known) {
                continue;
            }
            if shown.len() >= MOST_SHOWN {
                shown.remove(0);
            }
            shown.push((Arc::clone(&entry.clock), site, entry.scope));
            fresh.push(entry.clone());
        }
        fresh
    }

    /// A strong write of a location; `rmw` continues the release sequence of what it replaces.
    pub(super) fn strong_write(
        &mut self,
        key: (super::Memory, u64),
        actor: &Actor,
        (order, scope): (Order, Scope),
        site: u32,
        rmw: bool,
    ) {
        let own = actor.thread.block;
        let lane = actor.thread.lane as usize;
        let time = self.tick();
        let Some(state) = self.block(own).warps.get_mut(actor.thread.warp as usize) else { return };
        let mut released: SmallVec<[(Arc<Clock>, Scope, u32); 2]> = SmallVec::new();
        let mut missed = None;
        if releases(order) {
            let mut clock = Clock::clone(state.clock(lane));
            clock.raise(actor.thread, actor.time);
            released.push((Arc::new(clock), scope, site));
        } else if let Some(lane) = state.lanes.get(lane) {
            missed.clone_from(&lane.missed);
            released.extend(lane.fence.clone().map(|(clock, of, site)| (clock, of.min(scope), site)));
            released.extend(lane.past.clone().map(|clock| (clock, scope, site)));
        }
        // What comes after is not what was there before.
        state.time = time;
        if released.is_empty() && !self.variables.contains_key(&key) {
            return;
        }
        let variable = self.variables.entry(key).or_default();
        variable.written(actor.number, rmw);
        for (clock, scope, site) in released {
            let missed = missed.clone();
            let new = Released { block: own, thread: actor.number, scope, clock, site, missed };
            variable.release(new);
        }
        if variable.released.is_empty() && variable.replaced.is_empty() {
            self.variables.remove(&key);
        }
    }

    /// A fence of a lane.
    pub(super) fn fence(&mut self, actor: &Actor, scope: Scope, site: u32) {
        self.contended(site, site);
        let own = actor.thread.block;
        let (warp, lane) = (actor.thread.warp, actor.thread.lane as usize);
        let time = self.tick();
        let Some(state) = self.block(own).warps.get_mut(warp as usize) else { return };
        let pending = std::mem::take(&mut state.lane(lane).pending);
        let mut clock = Clock::clone(state.clock(lane));
        let mut narrow: SmallVec<[Pending; 2]> = SmallVec::new();
        let mut learned = false;
        for (what, block, read) in pending {
            let other = if block == MANY { own } else { block };
            if self.covers(own, other, scope.min(read)) {
                clock.join(&what);
                self.has_acquired(actor, site, &what);
                learned = true;
            } else {
                narrow.push((what, block, read));
            }
        }
        let Some(state) = self.block(own).warps.get_mut(warp as usize) else { return };
        if learned {
            state.set_clock(1 << lane, &Arc::new(clock.clone()));
        }
        clock.raise(actor.thread, actor.time);
        let missed = narrow.iter().fold(None, |all: Option<Clock>, (what, ..)| {
            let mut all = all.unwrap_or_else(|| Clock::clone(what));
            all.join(what);
            Some(all)
        });
        let of = state.lane(lane);
        of.missed = missed.map(Arc::new);
        of.fence = Some((Arc::new(clock), scope, site));
        of.is_past = false;
        // Another fence may reach further.
        of.pending.clone_from(&narrow);
        state.time = time;
        for (what, ..) in narrow {
            self.hint(own, Rule::ScopeTooNarrow, site, &what, None, site);
        }
    }

    fn hint(
        &mut self,
        block: u32,
        rule: Rule,
        site: u32,
        clock: &Arc<Clock>,
        writer: Option<Mark>,
        reader: u32,
    ) {
        let hints = &mut self.block(block).hints;
        let of = writer.map(|mark| mark.thread);
        let same = |hint: &&mut Hint| {
            (hint.rule, hint.site, hint.reader, hint.writer.map(|mark| mark.thread))
                == (rule, site, reader, of)
        };
        if let Some(known) = hints.iter_mut().find(same) {
            (known.clock, known.writer) = (Arc::clone(clock), writer);
            return;
        }
        if hints.len() >= MOST_HINTS {
            hints.remove(0);
        }
        hints.push(Hint { rule, site, clock: Arc::clone(clock), writer, reader });
    }

    /// A thread has acquired what a writer knew, at a read or at a fence behind it.
    fn has_acquired(&mut self, actor: &Actor, site: u32, clock: &Arc<Clock>) {
        let state = self.block(actor.thread.block);
        let read = state.hints.iter().find(|hint| Arc::ptr_eq(&hint.clock, clock)).map(|hint| hint.site);
        let new = Acquired { thread: actor.number, site: read.unwrap_or(site), clock: Arc::clone(clock) };
        if let Some(known) =
            state.acquired.iter_mut().find(|of| (of.thread, of.site) == (new.thread, new.site))
        {
            *known = new;
            return;
        }
        if state.acquired.len() >= MOST_HINTS {
            state.acquired.remove(0);
        }
        state.acquired.push(new);
    }

    /// What would have put an access behind a thread of the block, and where that went wrong.
    pub(super) fn missing(&self, actor: &Actor, old: Mark) -> Option<Missing> {
        let thread = thread_of(old.thread, self.warps);
        let covers = |hint: &&Hint| {
            hint.clock.of(thread) >= old.time
                || hint.writer.is_some_and(|mark| mark.thread == old.thread && old.time <= mark.time)
        };
        let BlockState { hints, acquired, warps, .. } = self.blocks.get(actor.thread.block)?;
        let hint = |rule: Rule| {
            let found = hints.iter().rev().filter(|hint| hint.rule == rule).find(covers)?;
            Some(Missing { rule, site: found.site, acquired_by: None })
        };
        let knows = |clock: &Clock| clock.of(thread) >= old.time;
        // Whoever has read the flag itself misses an acquire of its own.
        let read_by = |(lane, _): &(&LaneState, u32)| lane.pending.iter().any(|(clock, ..)| knows(clock));
        let lanes_of =
            |warp: u32| warps.get(warp as usize).into_iter().flat_map(|of| of.lanes.iter().zip(0..));
        let has_read =
            lanes_of(actor.thread.warp).filter(|(_, at)| *at == actor.thread.lane).any(|of| read_by(&of));
        let by_another = || {
            let by = |of: &&Acquired| of.thread != actor.number && knows(&of.clock);
            let of = acquired.iter().rev().find(by).filter(|_| !has_read)?;
            Some(Missing { rule: Rule::MissingAcquire, site: of.site, acquired_by: Some(of.thread) })
        };
        // Nor does a barrier stand behind the read, which would have carried it on.
        let read_by_another = || {
            let missing = hint(Rule::MissingAcquire).filter(|_| !has_read)?;
            let block = actor.thread.block;
            let reader = (0..self.warps).find_map(|warp| {
                let (_, lane) = lanes_of(warp).find(read_by)?;
                Some(self.number(Thread { block, warp, lane }))
            })?;
            Some(Missing { acquired_by: Some(reader), ..missing })
        };
        hint(Rule::ScopeTooNarrow)
            .or_else(by_another)
            .or_else(read_by_another)
            .or_else(|| hint(Rule::MissingAcquire))
            .or_else(|| hint(Rule::MissingRelease))
    }
}
