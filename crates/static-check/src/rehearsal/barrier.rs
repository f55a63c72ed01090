//! Where threads of a rehearsal meet: block barriers, the cluster barrier, operations of a warp.

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{BarrierKind, InstructionId, Op, Operand, ShuffleMode, VoteMode};

use super::Fault;
use super::machine::{Machine, Status, Stop};
use super::value::{Taint, Value};
use crate::launch::WARP_SIZE;

/// One arrival at a block barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Linear index in the block.
    pub(crate) thread: u32,
    /// The barrier instruction.
    pub(crate) instruction: InstructionId,
    /// It waits, too.
    pub(crate) waits: bool,
}

/// The phase of one barrier that is under way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Phase {
    /// Threads that complete it; `None` for all that have not ended.
    pub(crate) count: Option<u32>,
    /// Who came.
    pub(crate) arrivals: Vec<Arrival>,
}

/// The last completed phase of a counted barrier.
#[derive(Debug)]
struct LastPhase {
    count: u32,
    /// When it was completed, by [`Machine::meetings`].
    at: u64,
    instruction: InstructionId,
    /// Who took part.
    threads: Vec<u32>,
}

/// The barriers of one block.
#[derive(Debug)]
pub(crate) struct BlockBarriers {
    /// By id.
    pub(crate) phases: FxHashMap<u64, Phase>,
    /// Threads of the block that have not ended.
    pub(crate) live: u32,
    /// Arrivals at the cluster barrier in this phase, and completed phases.
    pub(crate) cluster: (u32, u32),
    last: FxHashMap<u64, LastPhase>,
    /// Where the arrivals at a barrier did not add up first.
    miscounted: Option<InstructionId>,
}

impl BlockBarriers {
    /// No barrier was used yet.
    pub(crate) fn new(threads: u32) -> BlockBarriers {
        BlockBarriers {
            phases: FxHashMap::default(),
            live: threads,
            cluster: (0, 0),
            last: FxHashMap::default(),
            miscounted: None,
        }
    }
}

impl Machine<'_> {
    /// A thread comes to a block barrier.
    pub(crate) fn arrive(
        &mut self,
        thread: usize,
        at: InstructionId,
        kind: BarrierKind,
        id: Value,
        count: Option<Value>,
    ) -> Result<(), Stop> {
        if id.sampled() || count.is_some_and(Value::sampled) {
            return Err(Stop::Sampled);
        }
        let Some(id) = id.bits() else { return Err(Stop::Operation(at)) };
        let count = match count.map(|count| count.bits().ok_or(Stop::Operation(at))).transpose()? {
            Some(count) => Some(u32::try_from(count).map_err(|_| Stop::Operation(at))?),
            None => None,
        };
        let Some(t) = self.threads.get(thread) else { return Ok(()) };
        let (block, index, synchronised) = (t.block, t.index, t.synchronised);
        if let Some(count) = count
            && (count == 0 || !count.is_multiple_of(WARP_SIZE))
        {
            self.fault(Fault::CountNotWholeWarps { at, count });
        }
        let waits = kind == BarrierKind::Sync;
        let Some(barriers) = self.barriers.get_mut(block as usize) else { return Ok(()) };
        let mut found = None;
        // A thread that took no part in the last phase and has met nobody since might as well have come
        // during it.
        if let Some(last) = barriers.last.get(&id)
            && let Some(count) = count
            && last.at > synchronised
            && !last.threads.contains(&index)
        {
            found = Some(if last.count == count {
                Fault::TooManyThreads { at, count, id, other: last.instruction, threads: vec![index] }
            } else {
                let other_count = Some(last.count);
                Fault::CountsDiffer { at, count: Some(count), other: last.instruction, other_count }
            });
        }
        let phase = barriers.phases.entry(id).or_default();
        if phase.arrivals.is_empty() {
            phase.count = count;
        } else if phase.count != count {
            let other = phase.arrivals.first().map_or(at, |a| a.instruction);
            found = Some(Fault::CountsDiffer { at, count, other, other_count: phase.count });
        }
        if let Some(earlier) = phase.arrivals.iter().find(|a| a.thread == index) {
            found = Some(Fault::ArrivesTwice { at, earlier: earlier.instruction, id, thread: index });
        }
        phase.arrivals.push(Arrival { thread: index, instruction: at, waits });
        if let Some(fault) = found {
            self.barrier_fault(block, fault);
        }
        if waits {
            if let Some(t) = self.threads.get_mut(thread) {
                t.status = Status::AtBarrier { id };
                t.changed = true;
            }
        } else {
            self.resume(thread);
            if let Some(t) = self.threads.get_mut(thread) {
                t.changed = true;
            }
        }
        self.complete(block, id);
        Ok(())
    }

    /// Lets the waiters of counted barriers go on where parts of warps came, which count as whole ones (seen on an
    /// H200); whether there were any.
    pub(crate) fn complete_by_warps(&mut self) -> bool {
        let mut ready = Vec::new();
        for (block, barriers) in (0u32..).zip(&self.barriers) {
            for (&id, phase) in &barriers.phases {
                let Some(count) = phase.count.filter(|_| !phase.arrivals.is_empty()) else { continue };
                let mut warps: Vec<u32> = Vec::new();
                let mut arrived = 0;
                let (took_part, later): (Vec<Arrival>, Vec<Arrival>) =
                    phase.arrivals.iter().partition(|arrival| {
                        let warp = arrival.thread / WARP_SIZE;
                        let came = warps.contains(&warp);
                        if arrived >= count || came {
                            return came;
                        }
                        if self.is_aligned(arrival.instruction) {
                            warps.push(warp);
                            arrived += WARP_SIZE;
                        } else {
                            arrived += 1;
                        }
                        true
                    });
                if arrived >= count {
                    ready.push((block, id, took_part, later));
                }
            }
        }
        ready.sort_unstable_by_key(|&(block, id, ..)| (block, id));
        let any = !ready.is_empty();
        for (block, id, took_part, later) in ready {
            if let Some(phase) =
                self.barriers.get_mut(block as usize).and_then(|barriers| barriers.phases.get_mut(&id))
            {
                phase.arrivals = took_part;
            }
            self.go_on(block, id, true);
            if let Some(phase) =
                self.barriers.get_mut(block as usize).and_then(|barriers| barriers.phases.get_mut(&id))
            {
                phase.arrivals = later;
            }
        }
        any
    }

    /// Lets the waiters of a barrier go on if everybody is there.
    fn complete(&mut self, block: u32, id: u64) {
        let Some(barriers) = self.barriers.get(block as usize) else { return };
        let Some(phase) = barriers.phases.get(&id) else { return };
        let arrived = phase.arrivals.len() as u32;
        if arrived > 0 && arrived >= phase.count.unwrap_or(barriers.live) {
            self.go_on(block, id, false);
        }
    }

    /// Ends a phase of a barrier; `by_warps` when it is only complete because parts of warps count as whole ones.
    fn go_on(&mut self, block: u32, id: u64, by_warps: bool) {
        let Some(barriers) = self.barriers.get_mut(block as usize) else { return };
        let live = barriers.live;
        let Some(phase) = barriers.phases.get_mut(&id) else { return };
        let arrivals = std::mem::take(&mut phase.arrivals);
        let count = phase.count;
        self.meetings += 1;
        let meetings = self.meetings;
        if let (Some(count), Some(first)) = (count, arrivals.first()) {
            let threads = arrivals.iter().map(|a| a.thread).collect();
            barriers
                .last
                .insert(id, LastPhase { count, at: meetings, instruction: first.instruction, threads });
        }
        self.whole_warps(block, count, &arrivals, by_warps);
        if count.is_none() {
            self.whole_block(live, &arrivals);
        }
        let per_block = self.threads.len() / self.blocks.len().max(1);
        for arrival in arrivals.iter().filter(|a| a.waits) {
            let thread = block as usize * per_block + arrival.thread as usize;
            self.resume(thread);
            if let Some(t) = self.threads.get_mut(thread) {
                t.synchronised = meetings;
            }
        }
    }

    /// A barrier of the whole block is in order when all its threads come, with `.aligned` to one and the same
    /// place.
    fn whole_block(&mut self, live: u32, arrivals: &[Arrival]) {
        let per_block = (self.threads.len() / self.blocks.len().max(1)) as u32;
        let first = arrivals.first().map(|a| a.instruction);
        let in_place = |a: &Arrival| Some(a.instruction) == first || !self.is_aligned(a.instruction);
        if live == per_block && arrivals.iter().all(in_place) {
            return;
        }
        for arrival in arrivals {
            if !self.improper.contains(&arrival.instruction) {
                self.improper.push(arrival.instruction);
            }
        }
    }

    /// Every warp that takes part in an aligned barrier must do so with all its threads that have not ended; where
    /// parts of warps made up the count, those that ended without coming are missing as well.
    fn whole_warps(&mut self, block: u32, count: Option<u32>, arrivals: &[Arrival], by_warps: bool) {
        if count.is_none() {
            return;
        }
        let per_block = self.threads.len() / self.blocks.len().max(1);
        let mut present: FxHashMap<u32, u32> = FxHashMap::default();
        for arrival in arrivals.iter().filter(|a| self.is_aligned(a.instruction)) {
            *present.entry(arrival.thread / WARP_SIZE).or_default() |= 1 << (arrival.thread % WARP_SIZE);
        }
        let mut faults = Vec::new();
        for arrival in arrivals {
            let warp = arrival.thread / WARP_SIZE;
            let Some(lanes) = present.remove(&warp) else { continue };
            let absent: Vec<u32> = (0..WARP_SIZE)
                .filter(|lane| lanes >> lane & 1 == 0)
                .map(|lane| warp * WARP_SIZE + lane)
                .filter(|&t| (t as usize) < per_block)
                .filter(|&t| {
                    let thread = self.threads.get(block as usize * per_block + t as usize);
                    thread.is_some_and(|t| by_warps || t.status != Status::Done)
                })
                .collect();
            if !absent.is_empty() {
                let here =
                    (0..WARP_SIZE).filter(|lane| lanes >> lane & 1 == 1).map(|lane| warp * WARP_SIZE + lane);
                faults.push(Fault::PartOfWarp { at: arrival.instruction, present: here.collect(), absent });
            }
        }
        faults.into_iter().for_each(|fault| self.barrier_fault(block, fault));
    }

    fn is_aligned(&self, at: InstructionId) -> bool {
        matches!(self.body.instruction(at).map(|i| i.op), Some(Op::Barrier { aligned: true, .. }))
    }

    /// A thread has ended: barriers over all threads do not wait for it any more.
    pub(crate) fn thread_ended(&mut self, block: u32, index: u32) {
        let Some(barriers) = self.barriers.get_mut(block as usize) else { return };
        barriers.live = barriers.live.saturating_sub(1);
        let ids: Vec<u64> =
            barriers.phases.iter().filter(|(_, p)| p.count.is_none()).map(|(id, _)| *id).collect();
        for id in ids {
            self.complete(block, id);
        }
        self.complete_cluster(block);
        self.complete_warp(block, index / WARP_SIZE);
    }

    /// A thread arrives at the cluster barrier, taken as one over its own block.
    pub(crate) fn cluster_arrive(&mut self, thread: usize) {
        let Some(t) = self.threads.get_mut(thread) else { return };
        t.cluster_arrivals += 1;
        t.changed = true;
        let block = t.block;
        self.resume(thread);
        if let Some(barriers) = self.barriers.get_mut(block as usize) {
            barriers.cluster.0 += 1;
        }
        self.complete_cluster(block);
    }

    /// A thread waits for the cluster barrier phase that it arrived in.
    pub(crate) fn cluster_wait(&mut self, thread: usize) {
        let Some(t) = self.threads.get_mut(thread) else { return };
        let done = self.barriers.get(t.block as usize).map_or(0, |b| b.cluster.1);
        if done >= t.cluster_arrivals {
            self.resume(thread);
        } else {
            t.status = Status::AtClusterBarrier;
        }
    }

    fn complete_cluster(&mut self, block: u32) {
        let Some(barriers) = self.barriers.get_mut(block as usize) else { return };
        if barriers.cluster.0 == 0 || barriers.cluster.0 < barriers.live {
            return;
        }
        barriers.cluster.0 = 0;
        barriers.cluster.1 += 1;
        let done = barriers.cluster.1;
        let waiting: Vec<usize> = self
            .live(block)
            .filter(|&t| {
                self.threads
                    .get(t)
                    .is_some_and(|t| t.status == Status::AtClusterBarrier && t.cluster_arrivals <= done)
            })
            .collect();
        waiting.into_iter().for_each(|thread| self.resume(thread));
    }

    /// A thread comes to an operation of its warp.
    pub(crate) fn warp_operation(
        &mut self,
        thread: usize,
        at: InstructionId,
        mask: Value,
    ) -> Result<(), Stop> {
        if mask.sampled() {
            return Err(Stop::Sampled);
        }
        let Some(t) = self.threads.get_mut(thread) else { return Ok(()) };
        let (block, index) = (t.block, t.index);
        t.changed = true;
        let Some(mask) = mask.bits() else {
            // A mask that the program computed at run time (`__activemask()`, a ballot): taken as right.
            return self.lone_results(thread, at);
        };
        if mask >> (index % WARP_SIZE) & 1 == 0 {
            self.fault(Fault::MaskLeavesOutCaller { at, mask: mask as u32, thread: index });
            return self.lone_results(thread, at);
        }
        t.status = Status::AtWarpOperation;
        self.complete_warp(block, index / WARP_SIZE);
        Ok(())
    }

    /// The mask that a waiting thread's operation names.
    pub(crate) fn mask_of(&mut self, thread: usize) -> Option<u32> {
        let at = self.threads.get(thread)?.next;
        let instruction = *self.body.instruction(InstructionId(at))?;
        let index = mask_position(&instruction.op)?;
        let operand = self.body.source(&instruction, index);
        self.operand(thread, operand).bits().map(|mask| mask as u32)
    }

    /// Lets the lanes of a warp go on that wait for each other and are all there.
    fn complete_warp(&mut self, block: u32, warp: u32) {
        let per_block = (self.threads.len() / self.blocks.len().max(1)) as u32;
        let first = block * per_block + warp * WARP_SIZE;
        let lanes = WARP_SIZE.min(per_block.saturating_sub(warp * WARP_SIZE));
        let status = |m: &Self, lane: u32| m.threads.get((first + lane) as usize).map(|t| t.status);
        for lane in 0..lanes {
            if status(self, lane) != Some(Status::AtWarpOperation) {
                continue;
            }
            let thread = (first + lane) as usize;
            let Some(mask) = self.mask_of(thread) else { continue };
            let at = self.threads.get(thread).map_or(0, |t| t.next);
            let mut ended = Vec::new();
            let mut all = true;
            for other in (0..WARP_SIZE).filter(|other| mask >> other & 1 == 1) {
                let other_thread = (first + other) as usize;
                match (other < lanes).then(|| status(self, other)).flatten() {
                    None => {}
                    Some(Status::Done) => ended.push(warp * WARP_SIZE + other),
                    Some(Status::AtWarpOperation) => {
                        let same_place = self.threads.get(other_thread).is_some_and(|t| t.next == at);
                        let meets = same_place
                            || self.is_warp_sync(at) && {
                                let there = self.threads.get(other_thread).map_or(0, |t| t.next);
                                self.is_warp_sync(there)
                            };
                        all &= meets && self.mask_of(other_thread) == Some(mask);
                    }
                    Some(_) => all = false,
                }
            }
            if !all {
                continue;
            }
            if !ended.is_empty() {
                let at = InstructionId(at);
                self.fault(Fault::MaskNamesEnded { at, mask, ended });
            }
            let members: Vec<usize> = (0..lanes)
                .filter(|&other| {
                    mask >> other & 1 == 1 && status(self, other) == Some(Status::AtWarpOperation)
                })
                .map(|other| (first + other) as usize)
                .collect();
            self.warp_results(&members, first as usize);
            self.meetings += 1;
            let meetings = self.meetings;
            for thread in members {
                self.resume(thread);
                if let Some(t) = self.threads.get_mut(thread) {
                    t.synchronised = meetings;
                }
            }
        }
    }

    fn is_warp_sync(&self, at: u32) -> bool {
        matches!(self.body.instruction(InstructionId(at)).map(|i| i.op), Some(Op::WarpSync))
    }

    /// Results of an operation whose other lanes are not known.
    fn lone_results(&mut self, thread: usize, at: InstructionId) -> Result<(), Stop> {
        if let Some(instruction) = self.body.instruction(at) {
            for &destination in self.body.function.destinations(instruction.operands) {
                let value = self.unknowns.fresh();
                self.set(thread, destination, value);
            }
        }
        self.resume(thread);
        Ok(())
    }

    /// What the lanes of a warp get from an operation that they do together.
    fn warp_results(&mut self, members: &[usize], first: usize) {
        let Some(&leader) = members.first() else { return };
        let Some(t) = self.threads.get(leader) else { return };
        let Some(instruction) = self.body.instruction(InstructionId(t.next)).copied() else { return };
        let sources: Vec<Operand> = self.body.function.sources(instruction.operands).to_vec();
        let destinations: Vec<Operand> = self.body.function.destinations(instruction.operands).to_vec();
        if destinations.is_empty() {
            return;
        }
        let first_source = sources.first().copied().unwrap_or(Operand::Absent);
        let inputs: Vec<Value> = members.iter().map(|&t| self.operand(t, first_source)).collect();
        let common = inputs.windows(2).all(|pair| pair.first() == pair.last());
        let bits: Option<Vec<u64>> = inputs.iter().map(|v| v.bits()).collect();
        let taint = inputs.iter().map(|v| v.taint()).max().unwrap_or(Taint::Code);
        for (position, &member) in members.iter().enumerate() {
            let own = inputs.get(position).copied().unwrap_or(Value::known(0));
            let lane = (member - first) as u32;
            let result = match instruction.op {
                Op::Shuffle(_) if common => Some(own),
                Op::Shuffle(mode) => {
                    let distance = sources.get(1).map(|&o| self.operand(member, o)).and_then(Value::bits);
                    let clamp = sources.get(2).map(|&o| self.operand(member, o)).and_then(Value::bits);
                    distance.zip(clamp).map(|(distance, clamp)| {
                        let from = shuffle_source(mode, lane, distance as u32, clamp as u32);
                        let at = members.iter().position(|&m| (m - first) as u32 == from);
                        at.and_then(|at| inputs.get(at).copied()).unwrap_or(own)
                    })
                }
                Op::Vote(mode) => bits.as_ref().map(|bits| {
                    let set = |b: &u64| b & 1 == 1;
                    let value = match mode {
                        VoteMode::All => u64::from(bits.iter().all(set)),
                        VoteMode::Any => u64::from(bits.iter().any(set)),
                        VoteMode::Uni => u64::from(bits.iter().all(set) || !bits.iter().any(set)),
                        VoteMode::Ballot => members
                            .iter()
                            .zip(bits)
                            .filter(|(_, b)| set(b))
                            .fold(0, |mask, (&m, _)| mask | 1 << (m - first)),
                    };
                    Value::Known { bits: value, taint }
                }),
                _ => None,
            };
            let result = result.unwrap_or_else(|| self.unknowns.fresh());
            for (index, &destination) in destinations.iter().enumerate() {
                let value = if index == 0 { result } else { self.unknowns.fresh() };
                self.set(member, destination, value);
            }
        }
    }

    /// Keeps a fault at a barrier of a block. Once the arrivals do not add up, everything later at the block's
    /// barriers only follows from that.
    fn barrier_fault(&mut self, block: u32, fault: Fault) {
        let Some(barriers) = self.barriers.get_mut(block as usize) else { return };
        match barriers.miscounted {
            Some(at) if at != fault.at() || matches!(fault, Fault::PartOfWarp { .. }) => return,
            _ => {}
        }
        if fault.is_miscount() {
            barriers.miscounted = Some(fault.at());
        }
        self.fault(fault);
    }

    /// Keeps a fault, once.
    pub(crate) fn fault(&mut self, fault: Fault) {
        if !self.faults.iter().any(|known| known.same_place(&fault)) {
            self.faults.push(fault);
        } else if let Some(known) = self.faults.iter_mut().find(|known| known.same_place(&fault)) {
            known.merge(&fault);
        }
    }
}

/// The lane that a shuffle reads from (PTX ISA, «shfl.sync»).
fn shuffle_source(mode: ShuffleMode, lane: u32, distance: u32, clamp: u32) -> u32 {
    let segment = clamp >> 8 & 0x1f;
    let bound = clamp & 0x1f;
    let maximum = (lane & segment) | (bound & !segment);
    let minimum = lane & segment;
    let distance = distance & 0x1f;
    let (from, inside) = match mode {
        ShuffleMode::Up => {
            (lane.wrapping_sub(distance), lane.wrapping_sub(distance) as i32 >= maximum as i32)
        }
        ShuffleMode::Down => (lane + distance, lane + distance <= maximum),
        ShuffleMode::Bfly => (lane ^ distance, (lane ^ distance) <= maximum),
        ShuffleMode::Idx => {
            let from = minimum | (distance & !segment);
            (from, from <= maximum)
        }
    };
    if inside { from } else { lane }
}

/// The position of the mask among an operation's sources; `None` where there is none.
pub(crate) fn mask_position(op: &Op) -> Option<usize> {
    match op {
        Op::WarpSync | Op::Elect => Some(0),
        Op::Shuffle(_) => Some(3),
        Op::Vote(_) | Op::Match { .. } | Op::WarpReduce { .. } => Some(1),
        _ => None,
    }
}
