//! A warp: its lanes in groups that are at the same place, and the loop that executes them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::core::{Core, LocalMemory, Registers, Step, WarpPlace, lanes};
use crate::decode::code::{Code, Frame, Kind, LANES, Micro, Slot};
use crate::fault::FaultKind;
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
}

/// What a group does.
#[derive(Debug)]
pub(crate) enum State {
    /// It can run.
    Ready,
    /// It came to the barrier operation at its place, which the block has not looked at yet.
    Arriving,
    /// It waits at the barrier of the block with this number.
    AtBarrier(u32),
    /// It waits at the cluster's barrier for the end of this phase.
    AtCluster(u64),
    /// It waits for lanes that its mask names.
    AtCollective(u32),
    /// Its loop can only go on when something that it read changes.
    Parked(Box<Parked>),
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
    registers: Registers,
    local: LocalMemory,
    pub(crate) frames: Vec<Call>,
    /// Frames by caller, place of the call, and function.
    known_frames: FxHashMap<(u32, u32, u32), u32>,
    pub(crate) watch: Watch,
    spy: Spy,
    /// Ticks that this warp has run.
    pub(crate) ticks: u64,
    /// Phase of the cluster's barrier at the last arrival.
    pub(crate) cluster_phase: u64,
    /// Whether it is in the queue of those that can run.
    pub(crate) queued: bool,
    /// Instructions times lanes.
    pub(crate) work: u64,
    /// Lanes run one by one and are never put together.
    pub(crate) apart: bool,
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

/// Why a group stopped.
enum End {
    Time,
    Join,
    Barrier,
    Collective,
    Exit,
    Parked,
    Fault(FaultKind, u32),
}

/// A group that waited this long while others of its warp ran has the next turn.
const PATIENCE: u64 = 20_000;
/// And keeps it for this long.
const FORCED: u64 = 2_000;
/// Calls nested deeper than this are an overflow.
const DEEPEST: u32 = 4096;

impl Warp {
    pub(crate) fn new(place: WarpPlace, lanes_there: u32, code: &Arc<Code>, apart: bool) -> Warp {
        let group = |mask| Group { mask, pc: 0, frame: 0, state: State::Ready, ran: 0 };
        let groups = if apart {
            lanes(lanes_there).map(|lane| group(1 << lane)).collect()
        } else {
            vec![group(lanes_there)]
        };
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
            ticks: 0,
            cluster_phase: 0,
            queued: false,
            work: 0,
            apart,
        }
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
        let Some(frame) = self.frames.get(group.frame as usize).cloned() else { return Turn::Idle };
        let mut core = Core {
            arch,
            registers: std::mem::take(&mut self.registers),
            base: frame.base,
            local_base: frame.local_base,
            code: frame.code.0,
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
        };
        let turn = loop {
            let end = match chosen {
                Some(_) => self.execute::<true>(&mut core, &mut group, limit),
                None => self.execute::<false>(&mut core, &mut group, limit),
            };
            let at = (core.code.function.id.0, group.pc);
            group.ran = self.ticks + core.ticks;
            let turn = match end {
                End::Time => Some(Turn::Time),
                End::Join => (core.ticks >= limit).then_some(Turn::Time),
                End::Parked => None,
                End::Barrier => {
                    group.state = State::Arriving;
                    Some(Turn::Block)
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
                self.groups.push(group);
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
        self.ticks += core.ticks;
        core.grid.clock += core.ticks;
        self.registers = std::mem::take(&mut core.registers);
        self.local = std::mem::take(&mut core.local);
        self.spy = std::mem::take(&mut core.spy);
        turn
    }

    /// Makes a group the one that runs.
    fn enter(&self, core: &mut Core<'_>, group: &Group) {
        if let Some(frame) = self.frames.get(group.frame as usize) {
            core.base = frame.base;
            core.local_base = frame.local_base;
            if !Arc::ptr_eq(&core.code, &frame.code.0) {
                core.code = Arc::clone(&frame.code.0);
            }
        }
        core.mask = group.mask;
        core.spare = !self.live;
    }

    /// The group that runs next: the one that is furthest behind, unless one has waited for long.
    fn choose(&self) -> Option<usize> {
        let ready = || self.groups.iter().enumerate().filter(|(_, group)| group.state.is_ready());
        let (oldest, group) = ready().min_by_key(|(_, group)| group.ran)?;
        if ready().nth(1).is_none() || self.ticks.saturating_sub(group.ran) > PATIENCE {
            return Some(oldest);
        }
        ready().min_by(|(_, left), (_, right)| self.behind(left, right)).map(|(index, _)| index)
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

    /// Puts groups together that can run and are at the same place.
    fn merge(&mut self) {
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
                    }
                } else {
                    other += 1;
                }
            }
            index += 1;
        }
    }

    /// Makes the lanes of a group wait at an operation of the lanes that their masks name, and lets those go on
    /// whose lanes are all there.
    fn collect(&mut self, core: &mut Core<'_>, group: Group) -> Result<(), (FaultKind, u32)> {
        let code = Arc::clone(&core.code);
        let whole = code.ops.get(group.pc as usize).and_then(|op| code.operations.get(op.x as usize));
        let Some(whole) = whole else { return Ok(()) };
        let is_sync = whole.op == standstill_kernel_ir::Op::WarpSync;
        let mask = whole.source(super::collective::mask_position(whole.op));
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
                let passes = Group {
                    mask: outside,
                    pc: group.pc + 1,
                    frame: group.frame,
                    state: State::Ready,
                    ran: group.ran,
                };
                self.groups.push(passes);
            }
            if same & named != 0 {
                self.groups.push(Group {
                    mask: same & named,
                    pc: group.pc,
                    frame: group.frame,
                    state: State::AtCollective(named),
                    ran: group.ran,
                });
            }
        }
        self.gather();
        Ok(())
    }

    /// Lets waiting lanes go on whose teams are complete.
    pub(crate) fn gather(&mut self) {
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
            let fits = |warp: &Warp, group: &Group| {
                matches!(group.state, State::AtCollective(other) if other == named)
                    && if is_sync {
                        warp.is_sync(group.frame, group.pc)
                    } else {
                        (group.frame, group.pc) == (frame, pc)
                    }
            };
            let there =
                self.groups.iter().filter(|group| fits(self, group)).fold(0, |all, group| all | group.mask);
            if named & live & !there != 0 || there == 0 {
                continue;
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
        self.groups.retain(|group| {
            let of_team =
                group.state.is_ready() && (group.frame, group.pc) == (frame, pc) && group.mask & !named == 0;
            if of_team {
                all |= group.mask;
                ran = ran.min(group.ran);
            }
            !of_team
        });
        if all != 0 {
            self.groups.push(Group { mask: all, pc, frame, state: State::Ready, ran });
        }
    }

    fn is_sync(&self, frame: u32, pc: u32) -> bool {
        let code = self.frames.get(frame as usize).map(|frame| &frame.code.0);
        let whole = code.and_then(|code| code.operations.get(code.ops.get(pc as usize)?.x as usize));
        whole.is_some_and(|whole| whole.op == standstill_kernel_ir::Op::WarpSync)
    }

    /// Runs a group until something stops it.
    fn execute<const STEPS: bool>(&mut self, core: &mut Core<'_>, group: &mut Group, limit: u64) -> End {
        let mut code = Arc::clone(&core.code);
        let mut pc = group.pc as usize;
        let forced = !STEPS && self.ticks.saturating_sub(group.ran) > PATIENCE;
        let alone_until = core.ticks + if forced { FORCED } else { 0 };
        if self.watch.recheck {
            self.recheck(core, group, group.pc);
        }
        if let Some(op) = code.ops.get(pc)
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
            let op = &code.ops[pc];
            match op.kind {
                Kind::Run => {
                    core.active =
                        if op.guard == Slot::NONE { core.mask } else { core.mask & core.predicate(op.guard) };
                    if core.active == 0 {
                        pc += 1;
                        continue;
                    }
                    if core.spy.recording {
                        core.spy.at = (code.function.id.0, pc as u32);
                    }
                    match (op.run)(core, op) {
                        Step::Next => pc += 1,
                        Step::Sleep => {
                            pc += 1;
                            stop!(End::Time);
                        }
                        Step::Collective => stop!(End::Collective),
                        Step::Barrier => {
                            // What others do comes in here: a turn with a barrier in it is no waiting of its own.
                            core.spy.effect = true;
                            stop!(End::Barrier)
                        }
                        Step::Fault => {
                            let (kind, lane) = core.fault.take().unwrap_or((FaultKind::Trap, 0));
                            stop!(End::Fault(kind, lane))
                        }
                    }
                }
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
                        self.groups.push(Group {
                            mask: core.mask & !mask,
                            pc: rest,
                            frame: group.frame,
                            state: State::Ready,
                            ran: self.ticks + core.ticks,
                        });
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
                    let targets = code.switches.get(op.x as usize).map_or(&[][..], Vec::as_slice);
                    let index = *core.narrow(op.a);
                    let target = |lane: usize| targets.get(index[lane] as usize).copied();
                    let first = core.mask.trailing_zeros() as usize;
                    let Some(to) = target(first) else {
                        stop!(End::Fault(
                            FaultKind::IllegalInstruction("branch index out of range".into()),
                            first as u32
                        ))
                    };
                    let same = lanes(core.mask)
                        .filter(|&lane| target(lane) == Some(to))
                        .fold(0u32, |same, lane| same | 1 << lane);
                    if same != core.mask {
                        // The rest comes to the same switch again by itself.
                        self.groups.push(Group {
                            mask: core.mask & !same,
                            pc: pc as u32,
                            frame: group.frame,
                            state: State::Ready,
                            ran: self.ticks + core.ticks,
                        });
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
                    let first = |other: &Group| {
                        other.state.is_ready() && (other.frame != group.frame || other.pc as usize <= pc)
                    };
                    if self.groups.is_empty()
                        || (STEPS && self.apart)
                        || core.ticks < alone_until
                        || !self.groups.iter().any(first)
                    {
                        pc += 1;
                    } else {
                        stop!(End::Join);
                    }
                }
                Kind::Call => {
                    let x = op.x;
                    match self.call(core, group, &code, x, pc as u32) {
                        Ok(Some(entry)) => {
                            pc = entry as usize;
                            code = Arc::clone(&core.code);
                            core.ticks += 1;
                        }
                        Ok(None) => pc += 1,
                        Err((kind, lane)) => stop!(End::Fault(kind, lane)),
                    }
                }
                Kind::Return => {
                    self.count(core, op);
                    match self.leave(core, group) {
                        Some(back) => {
                            pc = back as usize;
                            code = Arc::clone(&core.code);
                        }
                        None => stop!(End::Exit),
                    }
                }
                Kind::Exit => {
                    self.count(core, op);
                    stop!(End::Exit)
                }
                Kind::Trap => stop!(End::Fault(FaultKind::Trap, core.mask.trailing_zeros())),
            }
        }
    }

    /// Counts the operations of a block that ends here.
    #[inline(always)]
    fn count(&mut self, core: &mut Core<'_>, op: &Micro) {
        let length = u64::from(op.c.0);
        core.ticks += length;
        self.work += length * u64::from(core.mask.count_ones());
    }

    /// After a jump backward: is the group's time over, or does it wait?
    #[inline(always)]
    fn turned(&mut self, core: &mut Core<'_>, group: &mut Group, head: u32, limit: u64) -> Option<End> {
        self.watch.turns += 1;
        if self.watch.turns >= self.watch.next && self.look(core, group, head) {
            return Some(End::Parked);
        }
        (core.ticks >= limit).then_some(End::Time)
    }

    /// Enters a function; gives its first position, or `None` for one that the device provides.
    fn call(
        &mut self,
        core: &mut Core<'_>,
        group: &mut Group,
        code: &Arc<Code>,
        index: u32,
        pc: u32,
    ) -> Result<Option<u32>, (FaultKind, u32)> {
        super::calls::call(self, core, group, code, index, pc)
    }

    /// Leaves a function; gives the position in the caller, or `None` at the end of the kernel.
    fn leave(&mut self, core: &mut Core<'_>, group: &mut Group) -> Option<u32> {
        super::calls::leave(self, core, group)
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
            local_base: above.local_base + above.code.0.local_bytes,
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
        if frame as usize + 1 == self.frames.len() && self.groups.is_empty() && frame > 0 {
            if let Some(gone) = self.frames.pop() {
                let caller = gone.caller.unwrap_or(0);
                self.known_frames.remove(&(caller, gone.back - 1, gone.code.0.function.id.0));
            }
        }
    }

    /// The registers of a warp that does not run.
    pub(crate) fn value(&self, frame: u32, place: crate::decode::code::Place, lane: usize) -> u64 {
        use crate::decode::code::Plane;
        let Some(frame) = self.frames.get(frame as usize) else { return 0 };
        let code = &frame.code.0;
        let row = place.slot.row();
        let lane = lane % LANES;
        match (place.is_some(), place.slot.is_constant(), place.plane) {
            (false, ..) => 0,
            (_, true, Plane::Narrow) => code.constants32.get(row).map_or(0, |row| row[lane].into()),
            (_, true, Plane::Wide) => code.constants64.get(row).map_or(0, |row| row[lane]),
            (_, true, Plane::Predicate) => (row as u64) ^ u64::from(place.slot.is_negated()),
            (_, false, Plane::Narrow) => {
                self.registers.narrow.get(frame.base.narrow + row).map_or(0, |row| row[lane].into())
            }
            (_, false, Plane::Wide) => {
                self.registers.wide.get(frame.base.wide + row).map_or(0, |row| row[lane])
            }
            (_, false, Plane::Predicate) => {
                let bits = self.registers.predicates.get(frame.base.predicates + row).copied().unwrap_or(0);
                u64::from((bits >> lane & 1) ^ u32::from(place.slot.is_negated()))
            }
        }
    }

    /// Writes a register of a warp that does not run.
    pub(crate) fn set_value(
        &mut self,
        frame: u32,
        place: crate::decode::code::Place,
        lane: usize,
        value: u64,
    ) {
        use crate::decode::code::Plane;
        let Some(base) = self.frames.get(frame as usize).map(|frame| frame.base) else { return };
        if !place.is_some() || place.slot.is_constant() {
            return;
        }
        let row = place.slot.row();
        match place.plane {
            Plane::Narrow => {
                if let Some(row) = self.registers.narrow.get_mut(base.narrow + row) {
                    row[lane % LANES] = value as u32;
                }
            }
            Plane::Wide => {
                if let Some(row) = self.registers.wide.get_mut(base.wide + row) {
                    row[lane % LANES] = value;
                }
            }
            Plane::Predicate => {
                if let Some(bits) = self.registers.predicates.get_mut(base.predicates + row) {
                    *bits = (*bits & !(1 << lane)) | ((value & 1) as u32) << lane;
                }
            }
        }
    }
}
