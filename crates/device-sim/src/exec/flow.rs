//! Where the lanes of a warp are: its groups, their calls, and a turn from one group to the next.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{FunctionId, Op};

use super::core::Core;
use super::run::End;
use super::warp::{Group, State};
use crate::decode::code::{Code, Frame};
use crate::fault::FaultKind;
use crate::hang::watch::Watch;

/// The group that runs: what its operations look at and change. It is the last of [`Flow::groups`] meanwhile.
pub(crate) struct Running {
    pub(crate) mask: u32,
    pub(crate) pc: u32,
    pub(crate) frame: u32,
    pub(crate) priority: u32,
    pub(crate) delayed_at: Option<u32>,
    /// When it last ran before.
    pub(crate) ran: u64,
}

impl Running {
    fn of(group: &Group) -> Running {
        let Group { mask, pc, frame, priority, delayed_at, ran, .. } = *group;
        Running { mask, pc, frame, priority, delayed_at, ran }
    }

    /// Lanes of this group by themselves.
    pub(crate) fn part(&self, mask: u32, pc: u32, state: State) -> Group {
        Group { mask, pc, frame: self.frame, state, ran: self.ran, priority: self.priority, delayed_at: None }
    }
}

/// A call in progress.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) code: CodeRef,
    /// Which function that is the code of.
    pub(crate) function: FunctionId,
    pub(crate) base: Frame,
    pub(crate) local_base: u32,
    /// Where to go on in the caller, and the number of the call there.
    pub(crate) back: u32,
    pub(crate) call: u32,
    pub(crate) caller: Option<u32>,
    pub(crate) depth: u32,
}

/// Shared code that can be shown.
#[derive(Clone)]
pub(crate) struct CodeRef(pub(crate) Arc<Code>);

impl std::fmt::Debug for CodeRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "function {}", self.0.function.id.0)
    }
}

/// Where the lanes of a warp are.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) groups: Vec<Group>,
    /// Lanes that have not exited.
    pub(crate) live: u32,
    pub(crate) frames: Vec<Call>,
    /// Frames by caller, place of the call, and function.
    known_frames: FxHashMap<(u32, u32, u32), u32>,
    pub(crate) watch: Watch,
    /// Ticks that this warp has run.
    pub(crate) ticks: u64,
    /// Instructions times lanes.
    pub(crate) work: u64,
    /// Where random choices between groups come from; 0 chooses by place.
    pub(crate) random: u64,
    /// Lanes run one by one and are never put together.
    pub(crate) apart: bool,
    /// Whether a group was held up in the last turn.
    pub(crate) delays: bool,
    /// Lanes that met at barriers of theirs after waiting, for the order of accesses.
    pub(crate) met: Vec<u32>,
}

/// Why a warp's turn ended.
#[derive(Debug)]
pub(crate) enum Turn {
    /// Its time is over.
    Time,
    /// None of its groups can run.
    Idle,
    /// A group came to a barrier, or lanes ended: the block has to look.
    Block,
    /// All lanes came together to a barrier at which all threads of the block wait, and which gives nothing: its number
    /// and the lanes.
    Together(u32, u32),
    /// Something ends the launch: what, the lane, the function and the position.
    Fault(Box<(FaultKind, u32)>, u32, u32),
}

/// A group that waited this long while others of its warp ran has the next turn.
pub(super) const PATIENCE: u64 = 20_000;
/// Calls nested deeper than this are an overflow.
const DEEPEST: u32 = 4096;

/// Whether the operation at a place is a barrier that waits for a number of threads which it names.
fn is_counted(code: &Code, pc: u32) -> bool {
    let whole = code.ops.get(pc as usize).and_then(|op| code.operations.get(op.x as usize));
    whole.is_some_and(|whole| matches!(whole.op, Op::Barrier { .. }) && whole.source(1).is_some())
}

impl Flow {
    /// Lanes at the begin of their kernel.
    pub(super) fn new(groups: Vec<Group>, live: u32, code: &Arc<Code>, apart: bool) -> Flow {
        let entry = Call {
            code: CodeRef(Arc::clone(code)),
            function: code.function.id,
            base: Frame::default(),
            local_base: 0,
            back: 0,
            call: 0,
            caller: None,
            depth: 0,
        };
        Flow {
            groups,
            live,
            frames: vec![entry],
            known_frames: FxHashMap::default(),
            watch: Watch::default(),
            ticks: 0,
            work: 0,
            random: 0,
            apart,
            delays: false,
            met: Vec::new(),
        }
    }

    /// Lanes at the begin of the same kernel again, for which groups have to be added.
    pub(super) fn renew(&mut self, live: u32) {
        self.groups.clear();
        self.frames.truncate(1);
        self.known_frames.clear();
        self.watch = Watch::default();
        (self.live, self.ticks, self.work, self.random) = (live, 0, 0, 0);
        self.met.clear();
    }

    /// Makes a group the last, which is the one that runs; gives what is looked at of it, and its call.
    pub(super) fn take(&mut self, index: usize) -> Option<(Running, &Call)> {
        let last = self.groups.len().checked_sub(1)?;
        if index != last {
            self.groups.get(index)?;
            self.groups.swap(index, last);
        }
        let group = self.groups.last()?;
        Some((Running::of(group), self.frames.get(group.frame as usize)?))
    }

    /// Adds a group beside the one that runs.
    pub(super) fn add(&mut self, group: Group) {
        let running = self.groups.len().saturating_sub(1);
        self.groups.insert(running, group);
    }

    /// The groups beside the one that runs.
    pub(super) fn others(&mut self) -> &mut [Group] {
        self.groups.split_last_mut().map_or(&mut [], |(_, others)| others)
    }

    /// Runs a group, and then others as they come, until the turn is over.
    pub(super) fn run(&mut self, core: &mut Core<'_>, mut group: Running, limit: u64, chosen: bool) -> Turn {
        let turn = loop {
            let watched = core.grid.is_watched();
            let end = match (chosen, watched) {
                (true, false) => self.execute::<true, false>(core, &mut group, limit),
                (false, false) => self.execute::<false, false>(core, &mut group, limit),
                (true, true) => self.execute::<true, true>(core, &mut group, limit),
                (false, true) => self.execute::<false, true>(core, &mut group, limit),
            };
            let pc = group.pc;
            self.leave(&group, core.ticks);
            let turn = match end {
                End::Time => Some(Turn::Time),
                End::Join => (core.ticks >= limit).then_some(Turn::Time),
                End::Parked(parked) => {
                    self.set(State::Parked(parked));
                    None
                }
                End::Delayed(until) => {
                    self.set(State::Delayed(until));
                    self.delays = true;
                    None
                }
                End::Barrier
                    if self.groups.len() == 1
                        && let Some(id) = core.code.whole_barrier(pc) =>
                {
                    self.set(State::AtBarrier(id));
                    break Turn::Together(id, group.mask);
                }
                End::Barrier => {
                    let alone = group.mask == self.live || chosen || !is_counted(core.code, pc);
                    if alone || !self.others_may_move() {
                        self.set(State::Arriving);
                        Some(Turn::Block)
                    } else {
                        self.set(State::Converging);
                        None
                    }
                }
                End::Exit => {
                    self.live &= !group.mask;
                    self.groups.pop();
                    Some(Turn::Block)
                }
                End::Collective => {
                    match self.collect(core) {
                        Ok(()) => {}
                        Err(fault) => break Turn::Fault(Box::new(fault), core.code.function.id.0, pc),
                    }
                    match self.choose() {
                        Some(next) if core.ticks < limit && !chosen => {
                            let Some(next) = self.enter(core, next) else { break Turn::Idle };
                            group = next;
                            continue;
                        }
                        Some(_) => break Turn::Time,
                        None => break Turn::Idle,
                    }
                }
                End::Fault(fault) => Some(Turn::Fault(fault, core.code.function.id.0, pc)),
            };
            if let Some(turn) = turn {
                break turn;
            }
            if !self.apart {
                self.merge();
            }
            if chosen {
                break Turn::Time;
            }
            let Some(next) = self.choose() else { break Turn::Idle };
            let Some(next) = self.enter(core, next) else { break Turn::Idle };
            group = next;
        };
        match turn {
            Turn::Idle | Turn::Block if self.converge() => Turn::Block,
            // A group may have been woken for that.
            Turn::Idle if self.groups.iter().any(|group| group.state.is_ready()) => Turn::Time,
            other => other,
        }
    }

    /// Writes back what a group has become.
    #[inline(always)]
    fn leave(&mut self, group: &Running, ticks: u64) {
        let ran = self.ticks + ticks;
        if let Some(place) = self.groups.last_mut() {
            (place.pc, place.ran) = (group.pc, ran);
            // They seldom change, and what was just written in pieces is slow to read as a whole.
            if (place.mask, place.frame) != (group.mask, group.frame) {
                (place.mask, place.frame) = (group.mask, group.frame);
            }
            if (place.priority, place.delayed_at) != (group.priority, group.delayed_at) {
                (place.priority, place.delayed_at) = (group.priority, group.delayed_at);
            }
        }
    }

    /// Says what the group does that ran.
    #[inline(always)]
    fn set(&mut self, state: State) {
        if let Some(group) = self.groups.last_mut() {
            group.state = state;
        }
    }

    /// Makes a group the one that runs.
    fn enter(&mut self, core: &mut Core<'_>, next: usize) -> Option<Running> {
        let live = self.live;
        let (group, frame) = self.take(next)?;
        core.base = frame.base;
        core.local_base = frame.local_base;
        if let Some(code) = core.kernel.code(frame.function) {
            core.code = code;
        }
        core.mask = group.mask;
        core.spare = !live;
        Some(group)
    }

    /// The frame of a call, made when it is not known.
    pub(super) fn frame(&mut self, caller: u32, pc: u32, index: u32, code: &Arc<Code>) -> Option<u32> {
        let key = (caller, pc, code.function.id.0);
        if let Some(&known) = self.known_frames.get(&key) {
            return Some(known);
        }
        let above = self.frames.get(caller as usize)?;
        if above.depth >= DEEPEST {
            return None;
        }
        let frame = Call {
            code: CodeRef(Arc::clone(code)),
            function: code.function.id,
            base: above.base + above.code.0.frame,
            local_base: above.local_base.saturating_add(above.code.0.local_bytes),
            back: pc + 1,
            call: index,
            caller: Some(caller),
            depth: above.depth + 1,
        };
        self.frames.push(frame);
        let id = self.frames.len() as u32 - 1;
        self.known_frames.insert(key, id);
        Some(id)
    }

    /// Forgets the newest frame when nobody is in it.
    pub(super) fn forget(&mut self, frame: u32) {
        let newest = frame as usize + 1 == self.frames.len() && frame > 0;
        if newest
            && self.groups.len() <= 1
            && let Some(gone) = self.frames.pop()
        {
            let caller = gone.caller.unwrap_or(0);
            self.known_frames.remove(&(caller, gone.back - 1, gone.code.0.function.id.0));
        }
    }
}
