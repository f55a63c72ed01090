//! The loop that executes a group.

use super::calls;
use super::core::{Core, Step, count, lanes};
use super::flow::{Flow, PATIENCE, Running};
use super::warp::{Group, State};
use crate::decode::code::{Code, Kind, Micro, Slot};
use crate::fault::FaultKind;
use crate::hang::watch::Parked;
use crate::preempt::{Cut, goes_on, goes_on_from, is_access};

/// Why a group stopped.
pub(super) enum End {
    Time,
    Join,
    Barrier,
    Collective,
    Exit,
    Parked(Box<Parked>),
    /// Held up until a turn.
    Delayed(u64),
    Fault(Box<(FaultKind, u32)>),
}

impl End {
    #[cold]
    fn fault(kind: FaultKind, lane: u32) -> End {
        End::Fault(Box::new((kind, lane)))
    }
}

/// A group that has waited for long keeps its turn for this many ticks.
const FORCED: u64 = 2_000;

impl Flow {
    /// Runs the last group until something stops it.
    // By itself: with others of its kind in one function, the loop would have too few registers.
    #[inline(never)]
    pub(super) fn execute<const STEPS: bool, const WATCHED: bool>(
        &mut self,
        core: &mut Core<'_>,
        group: &mut Running,
        limit: u64,
    ) -> End {
        if WATCHED {
            self.tell_met(core);
        }
        let mut code = core.code;
        let mut ops = code.ops.as_slice();
        let mut pc = group.pc as usize;
        let forced = !STEPS && self.ticks.saturating_sub(group.ran) > PATIENCE;
        let alone_until = core.ticks + if forced { FORCED } else { 0 };
        if self.watch.recheck {
            self.recheck(core, group, group.pc);
        }
        if let Some(op) = ops.get(pc)
            && op.kind == Kind::Join
        {
            pc += 1;
        }
        let mut steps = 0;
        macro_rules! stop {
            ($end:expr) => {{
                group.pc = pc as u32;
                return $end;
            }};
        }
        loop {
            if STEPS {
                if steps >= limit {
                    stop!(End::Time);
                }
                steps += 1;
            }
            let op = &ops[pc];
            if !op.steers {
                core.active =
                    if op.guard == Slot::NONE { core.mask } else { core.mask & core.predicate(op.guard) };
                if core.active == 0 {
                    if WATCHED && !core.marks.is_empty() {
                        crate::follow::branch(core, op.guard, pc);
                    }
                    pc += 1;
                    continue;
                }
                if core.spy.recording {
                    core.spy.at = (code.function.id.0, pc as u32);
                }
                let mut cut = Cut::None;
                if WATCHED && !STEPS && op.orders && core.grid.preempt.is_some() {
                    cut = self.cut(core, group, code, pc);
                    match cut {
                        Cut::Change(priority) => {
                            group.priority = priority;
                            stop!(End::Time);
                        }
                        Cut::Delay { until, lanes, before: true } => {
                            let end = self.delay(core, group, pc, lanes, until);
                            if let Some(end) = end {
                                group.delayed_at = Some(pc as u32);
                                stop!(end);
                            }
                            core.active &= core.mask;
                            if core.active == 0 {
                                pc += 1;
                                continue;
                            }
                        }
                        _ => {}
                    }
                }
                if WATCHED && op.orders {
                    crate::reach::note(core, op, pc);
                }
                let gives_way = WATCHED && op.orders && crate::race::before(core, op, pc);
                if WATCHED && (op.orders || !core.marks.is_empty()) {
                    crate::follow::before(core, op, pc);
                }
                let step = (op.run)(core, op);
                if WATCHED && op.orders {
                    crate::race::after(core, op, pc, step);
                }
                match step {
                    Step::Next => {
                        pc += 1;
                        if WATCHED && !STEPS {
                            if let Cut::Delay { until, lanes, before: false } = cut
                                && let Some(end) = self.delay(core, group, pc, lanes, until)
                            {
                                stop!(end);
                            }
                            if (gives_way && !goes_on(code, pc - 1)) || cut == Cut::EndAfter {
                                stop!(End::Time);
                            }
                        }
                    }
                    Step::Sleep => {
                        pc += 1;
                        stop!(End::Time);
                    }
                    Step::Collective => stop!(End::Collective),
                    Step::Barrier => {
                        if WATCHED
                            && !STEPS
                            && core.grid.preempt.is_some()
                            && !forced
                            && self.comes(group, pc)
                        {
                            stop!(End::Join);
                        }
                        // What others do comes in here: a turn with a barrier in it is no waiting of its own.
                        core.spy.met = true;
                        stop!(End::Barrier)
                    }
                    Step::Fault => {
                        let (kind, lane) = core.fault.take().unwrap_or((FaultKind::Trap, 0));
                        stop!(End::fault(kind, lane))
                    }
                }
                continue;
            }
            match op.kind {
                // Not one that steers.
                Kind::Run => pc += 1,
                Kind::Jump => {
                    self.count(core, op);
                    let target = op.a.0;
                    let backward = target as usize <= pc;
                    pc = target as usize;
                    if backward && let Some(end) = self.turned(core, group, target, limit) {
                        stop!(end);
                    }
                }
                Kind::Branch => {
                    self.count(core, op);
                    if WATCHED && !core.marks.is_empty() {
                        crate::follow::branch(core, op.guard, pc);
                    }
                    let taken = core.mask & core.predicate(op.guard);
                    let target = if taken == core.mask {
                        op.a.0
                    } else if taken == 0 {
                        op.b.0
                    } else {
                        // The part that is behind goes on, the other waits its turn.
                        let (first, rest, mask) = if op.a.0 <= op.b.0 {
                            (op.a.0, op.b.0, taken)
                        } else {
                            (op.b.0, op.a.0, core.mask & !taken)
                        };
                        let mut other = group.part(core.mask & !mask, rest, State::Ready);
                        other.ran = self.ticks + core.ticks;
                        if let Some(preempt) = &mut core.grid.preempt {
                            other.priority = preempt.fork(group.priority);
                        }
                        self.add(other);
                        group.mask = mask;
                        core.mask = mask;
                        first
                    };
                    let backward = target as usize <= pc;
                    pc = target as usize;
                    if backward && let Some(end) = self.turned(core, group, target, limit) {
                        stop!(end);
                    }
                }
                Kind::Switch => {
                    self.count(core, op);
                    if WATCHED && !core.marks.is_empty() {
                        crate::follow::switch(core, op.a, pc);
                    }
                    let targets = code.switches.get(op.x as usize).map_or(&[][..], Vec::as_slice);
                    let index = *core.narrow(op.a);
                    let target = |lane: usize| targets.get(index[lane] as usize).copied();
                    let first = core.mask.trailing_zeros() as usize;
                    let Some(to) = target(first) else {
                        stop!(End::fault(
                            FaultKind::IllegalInstruction("branch index out of range".into()),
                            first as u32
                        ))
                    };
                    let same = lanes(core.mask)
                        .filter(|&lane| target(lane) == Some(to))
                        .fold(0u32, |same, lane| same | 1 << lane);
                    if same != core.mask {
                        // The rest comes to the same switch again by itself.
                        let mut other = group.part(core.mask & !same, pc as u32, State::Ready);
                        other.ran = self.ticks + core.ticks;
                        self.add(other);
                        group.mask = same;
                        core.mask = same;
                    }
                    let backward = to as usize <= pc;
                    pc = to as usize;
                    if backward && let Some(end) = self.turned(core, group, to, limit) {
                        stop!(end);
                    }
                }
                Kind::Join => {
                    let frame = group.frame;
                    let first = |other: &Group| {
                        other.state.is_ready() && (other.frame != frame || other.pc as usize <= pc)
                    };
                    if self.groups.len() == 1
                        || (STEPS && self.apart)
                        || core.ticks < alone_until
                        || !self.others().iter().any(first)
                    {
                        pc += 1;
                    } else {
                        stop!(End::Join);
                    }
                }
                Kind::Call => {
                    let x = op.x;
                    match calls::call(self, core, group, code, x, pc as u32) {
                        Ok(Some(entry)) => {
                            pc = entry as usize;
                            (code, ops) = (core.code, &core.code.ops);
                            core.ticks += 1;
                        }
                        Ok(None) => pc += 1,
                        Err((kind, lane)) => stop!(End::fault(kind, lane)),
                    }
                }
                Kind::Return => {
                    self.count(core, op);
                    match calls::leave(self, core, group) {
                        Some(back) => {
                            pc = back as usize;
                            (code, ops) = (core.code, &core.code.ops);
                        }
                        None => stop!(End::Exit),
                    }
                }
                Kind::Exit => {
                    self.count(core, op);
                    stop!(End::Exit)
                }
                Kind::Trap => stop!(End::fault(FaultKind::Trap, core.mask.trailing_zeros())),
            }
        }
    }

    /// What becomes of a group at an operation by the schedule.
    #[cold]
    fn cut(&mut self, core: &mut Core<'_>, group: &mut Running, code: &Code, pc: usize) -> Cut {
        // A loop that is looked at for waiting runs undisturbed, and a group that was held up here has had it.
        if core.spy.recording || !is_access(code, pc) || group.delayed_at.take() == Some(pc as u32) {
            return Cut::None;
        }
        // Cards move aligned vectors whole, and code relies on it: nobody comes between the elements.
        if goes_on_from(code, pc) {
            return Cut::None;
        }
        let place = (code.function.id.0, pc as u32);
        let cut = core.grid.preempt.as_mut().map_or(Cut::None, |preempt| preempt.at(place, core.mask));
        match cut {
            Cut::Delay { until, lanes, before: false } if goes_on(code, pc) => {
                Cut::Delay { until, lanes, before: true }
            }
            Cut::EndAfter if goes_on(code, pc) => Cut::None,
            cut => cut,
        }
    }

    /// Whether lanes of the warp may still come to the barrier that a group has come to: a warp comes to it as a
    /// whole, unless its code goes different ways. They are let go, and come first.
    fn comes(&mut self, group: &Running, pc: usize) -> bool {
        let mut any = false;
        for other in
            self.others().iter_mut().filter(|other| other.frame == group.frame && other.pc as usize <= pc)
        {
            if let State::Delayed(_) = other.state {
                other.state = State::Ready;
            }
            if other.state.is_ready() {
                other.priority = other.priority.max(group.priority);
                any = true;
            }
        }
        any
    }

    /// Holds lanes of a group up: all, which ends what it does, or some, without which it goes on.
    fn delay(
        &mut self,
        core: &mut Core<'_>,
        group: &mut Running,
        pc: usize,
        lanes: u32,
        until: u64,
    ) -> Option<End> {
        let (held, rest) = (core.mask & lanes, core.mask & !lanes);
        if rest == 0 {
            return Some(End::Delayed(until));
        }
        let mut part = group.part(held, pc as u32, State::Delayed(until));
        part.delayed_at = Some(pc as u32);
        self.add(part);
        self.delays = true;
        (group.mask, core.mask) = (rest, rest);
        None
    }

    /// Lanes have met at a barrier of theirs: what happened before is behind them all.
    fn tell_met(&mut self, core: &mut Core<'_>) {
        if let Some(race) = &mut core.grid.race {
            for mask in self.met.drain(..) {
                race.lanes_met(core.place.block, core.place.warp, mask);
            }
        }
    }

    /// Counts the operations of a block that ends here.
    #[inline(always)]
    fn count(&mut self, core: &mut Core<'_>, op: &Micro) {
        let length = u64::from(op.c.0);
        core.ticks += length;
        self.work += length * u64::from(count(core.mask));
    }

    /// After a jump backward: is the group's time over, or does it wait?
    #[inline(always)]
    fn turned(&mut self, core: &mut Core<'_>, group: &mut Running, head: u32, limit: u64) -> Option<End> {
        self.watch.turns += 1;
        if self.watch.turns >= self.watch.next
            && let Some(parked) = self.look(core, group, head)
        {
            return Some(End::Parked(parked));
        }
        (core.ticks >= limit).then_some(End::Time)
    }
}
