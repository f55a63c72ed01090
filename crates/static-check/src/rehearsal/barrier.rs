//! Where threads of a rehearsal meet: block barriers, the cluster barrier, operations of a warp.

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{BarrierKind, InstructionId, Op};

use super::Fault;
use super::machine::{Machine, Status, Stop};
use super::value::Value;
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
#[derive(Debug, Clone)]
struct LastPhase {
    count: u32,
    /// When it was completed, by [`Machine::meetings`].
    at: u64,
    instruction: InstructionId,
    /// Who took part.
    threads: Vec<u32>,
}

/// The barriers of one block.
#[derive(Debug, Clone)]
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
