//! A warp: its lanes in groups that are at the same place, and the loop that executes them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use standstill_kernel_ir::Op;

use super::core::{Core, LocalMemory, Registers, WarpPlace, lanes};
use super::run::End;
use crate::decode::code::{Code, Frame, Kernel};
use crate::fault::FaultKind;
use crate::follow::marks::Marks;
use crate::grid::shared::{BlockShared, GridShared};
use crate::hang::spy::Spy;
use crate::hang::watch::{Parked, Watch};

/// Lanes that are at the same place, by the same calls.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) mask: u32,
    pub(crate) pc: u32,
    /// The call that they are in, by its index in [`Warp::frames`].
    pub(crate) frame: u32,
    pub(crate) state: State,
    /// When it last ran, in ticks of the warp.
    pub(crate) ran: u64,
    /// The highest runs first; 0 where there are no priorities.
    pub(crate) priority: u32,
    /// Where it was held up last before an access.
    pub(crate) delayed_at: Option<u32>,
}

impl Group {
    /// Lanes of this group by themselves.
    pub(crate) fn part(&self, mask: u32, pc: u32, state: State) -> Group {
        Group { mask, pc, frame: self.frame, state, ran: self.ran, priority: self.priority, delayed_at: None }
    }
}

/// What a group does.
#[derive(Debug)]
pub(crate) enum State {
    /// It can run.
    Ready,
    /// It came to a counted barrier while other lanes of its warp can still come too. Such a barrier counts whole
    /// warps, so the warp comes to it together if it can, as compiled code does (PTX ISA, «barrier», `.aligned`).
    Converging,
    /// It came to the barrier operation at its place, which the block has not looked at yet.
    Arriving,
    /// It waits at the barrier of the block with this number.
    AtBarrier(u32),
    /// It waits at the cluster's barrier for the end of the phase.
    AtCluster,
    /// It waits for lanes that its mask names.
    AtCollective(u32),
    /// Its loop can only go on when something that it read changes.
    Parked(Box<Parked>),
    /// It is held up until this turn, so that others come before it.
    Delayed(u64),
}

impl State {
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self, State::Ready)
    }
}

/// A call in progress.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) code: CodeRef,
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

/// A warp.
#[derive(Debug)]
pub(crate) struct Warp {
    pub(crate) place: WarpPlace,
    pub(crate) groups: Vec<Group>,
    /// Lanes that have not exited.
    pub(crate) live: u32,
    pub(crate) registers: Registers,
    local: LocalMemory,
    pub(crate) frames: Vec<Call>,
    /// Frames by caller, place of the call, and function.
    known_frames: FxHashMap<(u32, u32, u32), u32>,
    pub(crate) watch: Watch,
    pub(crate) spy: Spy,
    /// What is doubtful of its registers.
    pub(crate) marks: Marks,
    /// Ticks that this warp has run.
    pub(crate) ticks: u64,
    /// Phase of the cluster's barrier at the last arrival.
    pub(crate) cluster_phase: u64,
    /// Whether it is in the queue of those that can run.
    pub(crate) queued: bool,
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
    /// Something ends the launch: what, the lane, the function and the position.
    Fault(FaultKind, u32, u32, u32),
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

/// Adds the groups that a warp begins with.
fn begin(groups: &mut Vec<Group>, lanes_there: u32, apart: bool) {
    let group = |mask| {
        let state = State::Ready;
        Group { mask, pc: 0, frame: 0, state, ran: 0, priority: 0, delayed_at: None }
    };
    if apart {
        groups.extend(lanes(lanes_there).map(|lane| group(1 << lane)));
    } else {
        groups.push(group(lanes_there));
    }
}

impl Warp {
    pub(crate) fn new(place: WarpPlace, lanes_there: u32, code: &Arc<Code>, apart: bool) -> Warp {
        let entry = Call {
            code: CodeRef(Arc::clone(code)),
            base: Frame::default(),
            local_base: 0,
            back: 0,
            call: 0,
            caller: None,
            depth: 0,
        };
        let mut registers = Registers::default();
        registers.reserve(code.frame);
        let mut local = LocalMemory::default();
        local.reserve(code.local_bytes as usize);
        let mut groups = Vec::new();
        begin(&mut groups, lanes_there, apart);
        Warp {
            place,
            groups,
            live: lanes_there,
            registers,
            local,
            frames: vec![entry],
            known_frames: FxHashMap::default(),
            watch: Watch::default(),
            spy: Spy::default(),
            marks: Marks::default(),
            ticks: 0,
            cluster_phase: 0,
            queued: false,
            work: 0,
            random: 0,
            apart,
            delays: false,
            met: Vec::new(),
        }
    }

    /// Makes a warp all of whose lanes have ended the one at another place, as if it were new; registers only where
    /// `clear` says so.
    pub(crate) fn renew(&mut self, place: WarpPlace, lanes_there: u32, clear: bool) {
        self.frames.truncate(1);
        self.known_frames.clear();
        let local_bytes = self.frames.first().map_or(0, |entry| entry.code.0.local_bytes as usize);
        if clear {
            self.registers.clear();
        }
        self.local.renew(local_bytes);
        self.groups.clear();
        begin(&mut self.groups, lanes_there, self.apart);
        (self.place, self.live) = (place, lanes_there);
        self.watch = Watch::default();
        self.spy.renew();
        (self.ticks, self.work, self.cluster_phase, self.random) = (0, 0, 0, 0);
        self.queued = false;
        self.met.clear();
    }

    /// Whether a group can run.
    pub(crate) fn is_ready(&self) -> bool {
        self.groups.iter().any(|group| group.state.is_ready())
    }

    /// Whether a group waits for memory to change.
    pub(crate) fn is_parked(&self) -> bool {
        self.groups.iter().any(|group| matches!(group.state, State::Parked(_)))
    }

    /// Lets groups run again that wait for something that has changed; true when there is one. `time` says
    /// that time has passed for those that wait for it.
    pub(crate) fn wake(&mut self, time: bool) -> bool {
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

    /// Runs for about `limit` ticks. `chosen` is the only group that may run, for exactly that many
    /// operations.
    pub(crate) fn run(
        &mut self,
        arch: pulp::Arch,
        kernel: &Kernel,
        grid: &mut GridShared,
        block: &BlockShared,
        limit: u64,
        chosen: Option<usize>,
    ) -> Turn {
        let next = match chosen {
            Some(index) => Some(index),
            None => self.choose(),
        };
        let Some(next) = next else { return Turn::Idle };
        let mut group = self.groups.swap_remove(next);
        let Some(frame) = self.frames.get(group.frame as usize) else { return Turn::Idle };
        let Some(code) = kernel.code(frame.code.0.function.id) else { return Turn::Idle };
        let mut core = Core {
            arch,
            registers: std::mem::take(&mut self.registers),
            base: frame.base,
            local_base: frame.local_base,
            kernel,
            code,
            mask: group.mask,
            active: group.mask,
            spare: !self.live,
            local: std::mem::take(&mut self.local),
            place: self.place.clone(),
            grid,
            block,
            fault: None,
            ticks: 0,
            spy: std::mem::take(&mut self.spy),
            marks: std::mem::take(&mut self.marks),
        };
        let turn = loop {
            let watched = core.grid.is_watched();
            let end = match (chosen, watched) {
                (Some(_), false) => self.execute::<true, false>(&mut core, &mut group, limit),
                (None, false) => self.execute::<false, false>(&mut core, &mut group, limit),
                (Some(_), true) => self.execute::<true, true>(&mut core, &mut group, limit),
                (None, true) => self.execute::<false, true>(&mut core, &mut group, limit),
            };
            let at = (core.code.function.id.0, group.pc);
            group.ran = self.ticks + core.ticks;
            let turn = match end {
                End::Time => Some(Turn::Time),
                End::Join => (core.ticks >= limit).then_some(Turn::Time),
                End::Parked => None,
                End::Delayed(until) => {
                    group.state = State::Delayed(until);
                    self.delays = true;
                    None
                }
                End::Barrier => {
                    let alone = group.mask == self.live || chosen.is_some() || !self.may_move();
                    if alone || !is_counted(core.code, group.pc) {
                        group.state = State::Arriving;
                        Some(Turn::Block)
                    } else {
                        group.state = State::Converging;
                        None
                    }
                }
                End::Exit => {
                    self.live &= !group.mask;
                    group.mask = 0;
                    Some(Turn::Block)
                }
                End::Collective => {
                    match self.collect(&mut core, group) {
                        Ok(()) => {}
                        Err((kind, lane)) => break Turn::Fault(kind, lane, at.0, at.1),
                    }
                    match self.choose() {
                        Some(next) if core.ticks < limit && chosen.is_none() => {
                            group = self.groups.swap_remove(next);
                            self.enter(&mut core, &group);
                            continue;
                        }
                        Some(_) => break Turn::Time,
                        None => break Turn::Idle,
                    }
                }
                End::Fault(kind, lane) => Some(Turn::Fault(kind, lane, at.0, at.1)),
            };
            if group.mask != 0 {
                // Field by field: what was just written piece by piece is slow to read as a whole.
                let Group { mask, pc, frame, state, ran, priority, delayed_at } = group;
                self.groups.push(Group { mask, pc, frame, state, ran, priority, delayed_at });
            }
            if let Some(turn) = turn {
                break turn;
            }
            if !self.apart {
                self.merge();
            }
            if chosen.is_some() {
                break Turn::Time;
            }
            let Some(next) = self.choose() else { break Turn::Idle };
            group = self.groups.swap_remove(next);
            self.enter(&mut core, &group);
        };
        let turn = match turn {
            Turn::Idle | Turn::Block if self.converge() => Turn::Block,
            other => other,
        };
        let Core { registers, local, spy, marks, ticks, grid, .. } = core;
        self.ticks += ticks;
        grid.clock += ticks;
        (self.registers, self.local, self.spy, self.marks) = (registers, local, spy, marks);
        turn
    }

    /// Makes a group the one that runs.
    fn enter(&self, core: &mut Core<'_>, group: &Group) {
        if let Some(frame) = self.frames.get(group.frame as usize) {
            core.base = frame.base;
            core.local_base = frame.local_base;
            if let Some(code) = core.kernel.code(frame.code.0.function.id) {
                core.code = code;
            }
        }
        core.mask = group.mask;
        core.spare = !self.live;
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
            && self.groups.is_empty()
            && let Some(gone) = self.frames.pop()
        {
            let caller = gone.caller.unwrap_or(0);
            self.known_frames.remove(&(caller, gone.back - 1, gone.code.0.function.id.0));
        }
    }
}
