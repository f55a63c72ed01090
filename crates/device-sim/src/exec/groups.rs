//! The groups of a warp: who runs next, who comes together, who waits for whom.

use standstill_kernel_ir::Op;

use super::collective::mask_position;
use super::core::{Core, lanes};
use super::flow::{Flow, PATIENCE};
use super::warp::{Group, State};
use crate::decode::code::Origin;
use crate::fault::FaultKind;

impl Flow {
    /// The group that runs next: the one that is furthest behind, unless one has waited for long.
    #[inline(always)]
    pub(crate) fn choose(&mut self) -> Option<usize> {
        if let [only] = self.groups.as_slice() {
            return only.state.is_ready().then_some(0);
        }
        self.choose_among()
    }

    #[inline(never)]
    fn choose_among(&mut self) -> Option<usize> {
        if self.random != 0 && self.groups.len() > 1 {
            self.random =
                self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
                    | 1;
            let drawn = self.random >> 33;
            let count = self.groups.iter().filter(|group| group.state.is_ready()).count() as u64;
            if drawn.is_multiple_of(8) && count > 1 {
                let ready = self.groups.iter().enumerate().filter(|(_, group)| group.state.is_ready());
                return ready.map(|(index, _)| index).nth((drawn / 8 % count) as usize);
            }
        }
        let top = self.priority()?;
        let ready = || {
            let groups = self.groups.iter().enumerate();
            groups.filter(|(_, group)| group.state.is_ready() && group.priority == top)
        };
        let (oldest, group) = ready().min_by_key(|(_, group)| group.ran)?;
        if ready().nth(1).is_none() || self.ticks.saturating_sub(group.ran) > PATIENCE {
            return Some(oldest);
        }
        ready().min_by(|(_, left), (_, right)| self.behind(left, right)).map(|(index, _)| index)
    }

    /// The highest priority of its groups that can run; `None` when none can.
    pub(crate) fn priority(&self) -> Option<u32> {
        self.groups.iter().filter(|group| group.state.is_ready()).map(|group| group.priority).max()
    }

    /// Lets groups go on that were held up until a turn that has come; true when there was one. Gives the turn of
    /// the next one too.
    pub(crate) fn end_delays(&mut self, now: u64) -> (bool, Option<u64>) {
        let (mut any, mut next) = (false, None);
        for group in &mut self.groups {
            if let State::Delayed(until) = group.state {
                if until <= now {
                    group.state = State::Ready;
                    any = true;
                } else {
                    next = Some(next.map_or(until, |next: u64| next.min(until)));
                }
            }
        }
        (any, next)
    }

    /// Which of two groups is behind, by the calls that they are in from the outermost on.
    fn behind(&self, left: &Group, right: &Group) -> std::cmp::Ordering {
        if left.frame == right.frame {
            return left.pc.cmp(&right.pc);
        }
        let path = |group: &Group| {
            let mut path = vec![group.pc];
            let mut at = self.frames.get(group.frame as usize);
            while let Some(frame) = at {
                let Some(caller) = frame.caller else { break };
                path.push(frame.back);
                at = self.frames.get(caller as usize);
            }
            path.reverse();
            path
        };
        path(left).cmp(&path(right))
    }

    /// Lanes run one by one from now on.
    pub(crate) fn split(&mut self) {
        self.apart = true;
        let together: Vec<Group> = std::mem::take(&mut self.groups);
        for group in together {
            if group.state.is_ready() {
                let alone = |lane: usize| group.part(1u32 << lane, group.pc, State::Ready);
                self.groups.extend(lanes(group.mask).map(alone));
            } else {
                self.groups.push(group);
            }
        }
    }

    /// Parts lanes again that run one by one and came together for an operation of all of them.
    pub(crate) fn part(&mut self) {
        let together = |flow: &Flow, group: &Group| {
            group.state.is_ready()
                && !group.mask.is_power_of_two()
                && !flow.is_of_lanes(group.frame, group.pc)
        };
        if self.apart && self.groups.iter().any(|group| together(self, group)) {
            let (parted, rest): (Vec<Group>, Vec<Group>) =
                std::mem::take(&mut self.groups).into_iter().partition(|group| together(self, group));
            self.groups = rest;
            for group in parted {
                let alone = |lane: usize| group.part(1u32 << lane, group.pc, State::Ready);
                self.groups.extend(lanes(group.mask).map(alone));
            }
        }
    }

    /// Puts groups together that can run and are at the same place.
    pub(super) fn merge(&mut self) {
        let mut index = 0;
        while index < self.groups.len() {
            let mut other = index + 1;
            while other < self.groups.len() {
                let same = match (self.groups.get(index), self.groups.get(other)) {
                    (Some(one), Some(two)) => {
                        one.pc == two.pc
                            && one.frame == two.frame
                            && one.state.is_ready()
                            && two.state.is_ready()
                    }
                    _ => false,
                };
                if same {
                    let gone = self.groups.swap_remove(other);
                    if let Some(group) = self.groups.get_mut(index) {
                        group.mask |= gone.mask;
                        group.ran = group.ran.min(gone.ran);
                        group.priority = group.priority.max(gone.priority);
                    }
                } else {
                    other += 1;
                }
            }
            index += 1;
        }
    }

    /// Lets groups run again that wait for something that has changed, or for time if `time` says that it has passed;
    /// true when there is one.
    pub(super) fn wake(&mut self, time: bool) -> bool {
        let mut woken = false;
        for group in &mut self.groups {
            if let State::Parked(parked) = &group.state
                && (parked.reads.iter().any(|read| read.changed()) || (time && parked.timed))
            {
                group.state = State::Ready;
                self.watch.recheck = true;
                woken = true;
            }
        }
        woken
    }

    /// Lets groups go on that wait for memory to change.
    pub(super) fn rouse(&mut self) {
        for group in &mut self.groups {
            if matches!(group.state, State::Parked(_)) {
                group.state = State::Ready;
                self.watch.recheck = true;
            }
        }
    }

    /// Whether a group beside the one that ran can go on by itself, now or when it is no longer held up. One whose
    /// memory has changed since it was looked at is woken.
    pub(super) fn others_may_move(&mut self) -> bool {
        self.wake(false);
        self.others().iter().any(Group::may_move)
    }

    /// Lets groups come to their counted barrier when no other can come with them any more; true when there was one.
    #[inline]
    pub(super) fn converge(&mut self) -> bool {
        self.groups.iter().any(Group::is_converging) && self.come_together()
    }

    #[inline(never)]
    fn come_together(&mut self) -> bool {
        self.wake(false);
        if self.groups.iter().any(Group::may_move) {
            return false;
        }
        let (together, rest): (Vec<Group>, Vec<Group>) =
            std::mem::take(&mut self.groups).into_iter().partition(Group::is_converging);
        self.groups = rest;
        for group in together {
            let arriving = |other: &&mut Group| matches!(other.state, State::Arriving);
            let at = (group.frame, group.pc);
            match self.groups.iter_mut().filter(arriving).find(|other| (other.frame, other.pc) == at) {
                Some(known) => known.mask |= group.mask,
                None => self.groups.push(Group { state: State::Arriving, ..group }),
            }
        }
        true
    }

    /// Makes the lanes of the group that ran wait at an operation of the lanes that their masks name, and lets those go on
    /// whose lanes are all there.
    pub(super) fn collect(&mut self, core: &mut Core<'_>) -> Result<(), (FaultKind, u32)> {
        let Some(group) = self.groups.pop() else { return Ok(()) };
        let code = core.code;
        let whole = code.ops.get(group.pc as usize).and_then(|op| code.operations.get(op.x as usize));
        let Some(whole) = whole else { return Ok(()) };
        let is_sync = whole.op == Op::WarpSync;
        let mask = whole.source(mask_position(whole.op));
        let mut rest = group.mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            let named = if mask.is_some() { core.read(mask, lane) as u32 } else { u32::MAX };
            let same = lanes(rest)
                .filter(|&other| !mask.is_some() || core.read(mask, other) as u32 == named)
                .fold(0u32, |same, other| same | 1 << other);
            rest &= !same;
            let outside = same & !named;
            if outside != 0 && !is_sync {
                let text = format!("lane {} is not in its own mask {named:#010x}", outside.trailing_zeros());
                return Err((FaultKind::IllegalInstruction(text), outside.trailing_zeros()));
            }
            if outside != 0 {
                self.groups.push(group.part(outside, group.pc + 1, State::Ready));
            }
            if same & named != 0 {
                self.groups.push(group.part(same & named, group.pc, State::AtCollective(named)));
            }
        }
        self.gather();
        Ok(())
    }

    /// Lets waiting lanes go on whose teams are complete.
    #[inline]
    pub(crate) fn gather(&mut self) {
        if self.groups.iter().any(|group| matches!(group.state, State::AtCollective(_))) {
            self.gather_teams();
        }
    }

    #[inline(never)]
    fn gather_teams(&mut self) {
        let live = self.live;
        let waiting: Vec<(u32, u32, u32)> = self
            .groups
            .iter()
            .filter_map(|group| match group.state {
                State::AtCollective(named) => Some((group.frame, group.pc, named)),
                _ => None,
            })
            .collect();
        for (frame, pc, named) in waiting {
            let is_sync = self.is_sync(frame, pc);
            let fits = |flow: &Flow, group: &Group| {
                matches!(group.state, State::AtCollective(other) if other == named)
                    && if is_sync {
                        flow.is_sync(group.frame, group.pc)
                    } else {
                        (group.frame, group.pc) == (frame, pc)
                    }
            };
            let there =
                self.groups.iter().filter(|group| fits(self, group)).fold(0, |all, group| all | group.mask);
            if named & live & !there != 0 || there == 0 {
                continue;
            }
            if is_sync {
                self.met.push(there);
            }
            let ready: Vec<usize> = (0..self.groups.len())
                .filter(|&index| self.groups.get(index).is_some_and(|group| fits(self, group)))
                .collect();
            for index in ready {
                if let Some(group) = self.groups.get_mut(index) {
                    group.state = State::Ready;
                    // A barrier of lanes has nothing to execute; the others are executed by all lanes together.
                    group.pc += u32::from(is_sync);
                }
            }
            if !is_sync {
                self.join_at(frame, pc, named);
            }
        }
    }

    /// Puts the lanes of a complete team together, also where lanes otherwise run one by one.
    fn join_at(&mut self, frame: u32, pc: u32, named: u32) {
        let mut all = 0;
        let mut ran = u64::MAX;
        let mut priority = 0;
        self.groups.retain(|group| {
            let of_team =
                group.state.is_ready() && (group.frame, group.pc) == (frame, pc) && group.mask & !named == 0;
            if of_team {
                all |= group.mask;
                ran = ran.min(group.ran);
                priority = priority.max(group.priority);
            }
            !of_team
        });
        if all != 0 {
            let state = State::Ready;
            self.groups.push(Group { mask: all, pc, frame, state, ran, priority, delayed_at: None });
        }
    }

    /// Whether the operation there is a warp barrier.
    pub(crate) fn is_sync(&self, frame: u32, pc: u32) -> bool {
        let code = self.frames.get(frame as usize).map(|frame| &frame.code.0);
        let whole = code.and_then(|code| code.operations.get(code.ops.get(pc as usize)?.x as usize));
        whole.is_some_and(|whole| whole.op == Op::WarpSync)
    }

    /// Whether the operation there belongs to an instruction of several lanes together.
    fn is_of_lanes(&self, frame: u32, pc: u32) -> bool {
        let code = self.frames.get(frame as usize).map(|frame| &frame.code.0);
        let op = code.and_then(|code| match code.origins.get(pc as usize)? {
            Origin::Instruction(id) => code.function.instructions.get(id.0 as usize),
            _ => None,
        });
        op.is_some_and(|instruction| {
            matches!(
                instruction.op,
                Op::Shuffle(_) | Op::Vote(_) | Op::Match { .. } | Op::WarpReduce { .. } | Op::Matrix(_)
            )
        })
    }
}
