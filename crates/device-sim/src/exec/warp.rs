//! A warp: its lanes in groups that are at the same place, and what they have.

use std::sync::Arc;

use super::core::{Core, LocalMemory, Registers, WarpPlace, lanes};
use super::flow::{Flow, Turn};
use crate::decode::code::{Code, Kernel};
use crate::follow::marks::Marks;
use crate::grid::shared::{BlockShared, GridShared};
use crate::hang::spy::Spy;
use crate::hang::watch::Parked;

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

    /// Whether it can go on by itself, now or when it is no longer held up.
    pub(crate) fn may_move(&self) -> bool {
        matches!(self.state, State::Ready | State::Delayed(_))
    }

    /// Whether it waits for other lanes of its warp before a counted barrier.
    pub(crate) fn is_converging(&self) -> bool {
        matches!(self.state, State::Converging)
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

/// A warp.
#[derive(Debug)]
pub(crate) struct Warp {
    pub(crate) place: WarpPlace,
    pub(crate) registers: Registers,
    local: LocalMemory,
    pub(crate) spy: Spy,
    /// What is doubtful of its registers.
    pub(crate) marks: Marks,
    pub(crate) flow: Flow,
    /// Phase of the cluster's barrier at the last arrival.
    pub(crate) cluster_phase: u64,
    /// Whether it is in the queue of those that can run.
    pub(crate) queued: bool,
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
        let mut registers = Registers::default();
        registers.reserve(code.frame);
        let mut local = LocalMemory::default();
        local.reserve(code.local_bytes as usize);
        let mut groups = Vec::new();
        begin(&mut groups, lanes_there, apart);
        let flow = Flow::new(groups, lanes_there, code, apart);
        let (spy, marks) = (Spy::default(), Marks::default());
        Warp { place, registers, local, spy, marks, flow, cluster_phase: 0, queued: false }
    }

    /// Makes a warp all of whose lanes have ended the one at another place, as if it were new; registers only where
    /// `clear` says so.
    pub(crate) fn renew(&mut self, place: WarpPlace, lanes_there: u32, clear: bool) {
        let entry = self.flow.frames.first();
        let local_bytes = entry.map_or(0, |entry| entry.code.0.local_bytes as usize);
        if clear {
            self.registers.clear();
        }
        self.local.renew(local_bytes);
        self.spy.renew();
        self.marks = Marks::default();
        (self.place, self.cluster_phase, self.queued) = (place, 0, false);
        self.flow.renew(lanes_there);
        begin(&mut self.flow.groups, lanes_there, self.flow.apart);
    }

    /// The bytes of local memory of all lanes.
    pub(crate) fn local_bytes(&self) -> &[u8] {
        &self.local.bytes
    }

    /// Whether a group can run.
    pub(crate) fn is_ready(&self) -> bool {
        self.flow.groups.iter().any(|group| group.state.is_ready())
    }

    /// Whether a group waits for memory to change.
    pub(crate) fn is_parked(&self) -> bool {
        self.flow.groups.iter().any(|group| matches!(group.state, State::Parked(_)))
    }

    /// Lets groups run again that wait for something that has changed; true when there is one. `time` says
    /// that time has passed for those that wait for it.
    pub(crate) fn wake(&mut self, time: bool) -> bool {
        self.flow.wake(time)
    }

    /// Lets everybody go on who waits for memory to change.
    pub(crate) fn rouse(&mut self) {
        self.flow.rouse();
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
        let Warp { place, registers, local, spy, marks, flow, .. } = self;
        let next = match chosen {
            Some(index) => Some(index),
            None => flow.choose(),
        };
        let Some((group, frame)) = next.and_then(|next| flow.take(next)) else { return Turn::Idle };
        let Some(code) = kernel.code(frame.function) else { return Turn::Idle };
        let mut core = Core {
            arch,
            registers,
            base: frame.base,
            local_base: frame.local_base,
            kernel,
            code,
            mask: group.mask,
            active: group.mask,
            spare: !flow.live,
            local,
            place,
            grid,
            block,
            fault: None,
            ticks: 0,
            spy,
            marks,
        };
        let turn = flow.run(&mut core, group, limit, chosen.is_some());
        flow.ticks += core.ticks;
        core.grid.clock += core.ticks;
        turn
    }
}
