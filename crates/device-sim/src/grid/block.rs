//! A block: its warps, and the barriers where they meet.

use std::sync::Arc;

use standstill_kernel_ir::{BarrierKind, Op};

use super::shared::BlockShared;
use crate::decode::code::{Kernel, LANES, Whole};
use crate::exec::core::{WarpPlace, count, lanes};
use crate::exec::warp::{State, Warp};
use crate::fault::FaultKind;
use crate::hang::rounds::BlockWatch;
use crate::race::Meeting;

/// Barriers of a block (PTX ISA, «bar»).
pub(crate) const BARRIERS: usize = 16;

/// Which block it is, and where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockPlace {
    /// Linear index in the grid.
    pub(crate) index: u32,
    pub(crate) coordinates: [u32; 3],
    pub(crate) multiprocessor: u32,
    /// Linear index of its cluster among those of the grid.
    pub(crate) cluster: u32,
    /// Its rank there.
    pub(crate) rank: u32,
}

impl BlockPlace {
    /// The warps of a block with so many threads, each with the lanes that it has.
    pub(crate) fn warps(self, threads: u32) -> impl Iterator<Item = (WarpPlace, u32)> {
        (0..threads.div_ceil(LANES as u32)).map(move |warp| {
            let first_thread = warp * LANES as u32;
            let lanes = (threads - first_thread).min(LANES as u32);
            let place = WarpPlace {
                block: self.index,
                block_index: self.coordinates,
                warp,
                first_thread,
                multiprocessor: self.multiprocessor,
                cluster_rank: self.rank,
            };
            (place, u32::MAX >> (LANES as u32 - lanes))
        })
    }
}

/// A resident block.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) place: BlockPlace,
    pub(crate) warps: Vec<Warp>,
    pub(crate) shared: BlockMemory,
    pub(crate) barriers: [Barrier; BARRIERS],
    /// One bit for each barrier that somebody waits at.
    pub(crate) reached: u32,
    /// Threads that have not exited.
    pub(crate) live: u32,
    pub(crate) watch: BlockWatch,
    /// What happened at the barriers, when the order of accesses is followed.
    pub(crate) meetings: Option<Vec<Meeting>>,
}

/// Shared memory that can be shown.
pub(crate) struct BlockMemory(pub(crate) Arc<BlockShared>);

impl std::fmt::Debug for BlockMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.shared.len())
    }
}

/// A barrier of a block in its current phase.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Barrier {
    /// Threads that have arrived; a counted barrier counts whole warps.
    pub(crate) arrived: u32,
    /// The count that the operations name; `None` waits for all threads that live.
    pub(crate) expected: Option<u32>,
    /// For reductions: threads whose predicate holds, and threads that have one.
    holds: u32,
    asked: u32,
    /// Some operation there has operands, or gives a result.
    asks: bool,
}

impl Barrier {
    /// All of it, to be compared.
    pub(crate) fn state(&self) -> [u64; 2] {
        let expected = self.expected.map_or(u32::MAX, |expected| expected);
        [
            u64::from(self.arrived) << 32 | u64::from(expected),
            u64::from(self.holds) << 32 | u64::from(self.asked),
        ]
    }
}

/// What came of a warp's coming to a barrier.
pub(crate) struct Arrivals {
    /// Operations on the cluster's barrier, which are not the block's: warp and group.
    pub(crate) others: Vec<(usize, usize)>,
    /// A barrier opened.
    pub(crate) opened: bool,
}

/// Which barrier an operation names, and how many threads it waits for.
struct Named {
    id: usize,
    count: Option<u32>,
}

impl Block {
    /// Makes a block that has ended the one at another place, as if it were new; registers only where `clear` says so.
    pub(crate) fn renew(&mut self, place: BlockPlace, threads: u32, clear: bool) {
        self.place = place;
        for (warp, (place, lanes)) in self.warps.iter_mut().zip(place.warps(threads)) {
            warp.renew(place, lanes, clear);
        }
        self.shared.0.shared.clear();
        for id in lanes(self.reached) {
            if let Some(barrier) = self.barriers.get_mut(id) {
                *barrier = Barrier::default();
            }
        }
        (self.reached, self.live) = (0, threads);
        self.watch = BlockWatch::default();
    }

    /// Whether nothing else refers to its shared memory: it is its cluster, and the only one in it.
    pub(crate) fn is_alone(&self) -> bool {
        let BlockShared { shared, cluster } = &*self.shared.0;
        cluster.len() == 1 && Arc::strong_count(shared) == 2 && Arc::strong_count(&self.shared.0) == 1
    }

    /// Threads that have not exited.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// Lanes of a warp may have ended.
    pub(crate) fn count_exits(&mut self, lanes_before: u32, lanes_now: u32) {
        if lanes_before != lanes_now {
            self.live -= (lanes_before & !lanes_now).count_ones();
        }
    }

    /// All lanes of a warp have come together to a barrier that all threads of the block wait at, and that gives nothing;
    /// true when it has opened.
    pub(crate) fn arrive_together(&mut self, kernel: &Kernel, warp: usize, id: u32, mask: u32) -> bool {
        self.count_arrived(warp, id, mask).is_some_and(|arrived| arrived >= self.live) && self.settle(kernel)
    }

    /// Deals with the groups of a warp that have come to a barrier of the block.
    pub(crate) fn arrive(&mut self, kernel: &Kernel, warp: usize) -> Result<Arrivals, (FaultKind, u32)> {
        let mut others = Vec::new();
        let mut index = 0;
        while let Some(group) = self.warps.get(warp).and_then(|warp| warp.flow.groups.get(index)) {
            if !matches!(group.state, State::Arriving) {
                index += 1;
                continue;
            }
            let (frame, pc, mask) = (group.frame, group.pc, group.mask);
            if let Some(id) = self.whole_barrier(warp, frame, pc) {
                self.arrive_whole(warp, index, id);
                index += 1;
                continue;
            }
            let Some(whole) = self.operation(kernel, warp, frame, pc) else {
                index += 1;
                continue;
            };
            match whole.op {
                Op::Barrier { kind, .. } => {
                    let lane = mask.trailing_zeros();
                    let named = self.named(warp, frame, lane as usize, whole).map_err(|kind| (kind, lane))?;
                    self.arrive_at(warp, index, whole, kind, &named);
                }
                _ => others.push((warp, index)),
            }
            index += 1;
        }
        let opened = self.settle(kernel);
        Ok(Arrivals { others, opened })
    }

    /// The number of the barrier at a place that all threads of the block wait at, and that gives nothing.
    fn whole_barrier(&self, warp: usize, frame: u32, pc: u32) -> Option<u32> {
        self.warps.get(warp)?.flow.frames.get(frame as usize)?.code.0.whole_barrier(pc)
    }

    fn arrive_whole(&mut self, warp: usize, index: usize, id: u32) {
        let Some(group) = self.warps.get_mut(warp).and_then(|warp| warp.flow.groups.get_mut(index)) else {
            return;
        };
        group.state = State::AtBarrier(id);
        let mask = group.mask;
        self.count_arrived(warp, id, mask);
    }

    /// Counts lanes that wait from now on until all threads of the block have come; gives how many that are.
    fn count_arrived(&mut self, warp: usize, id: u32, mask: u32) -> Option<u32> {
        if let Some(meetings) = &mut self.meetings {
            meetings.push(Meeting::Arrived { id, warp: warp as u32, mask, waits: true });
        }
        let barrier = self.barriers.get_mut(id as usize)?;
        self.reached |= 1 << id;
        let arrived = count(mask);
        barrier.arrived += arrived;
        barrier.asked += arrived;
        barrier.expected = None;
        Some(barrier.arrived)
    }

    /// The operation at a place.
    pub(crate) fn operation<'k>(
        &self,
        kernel: &'k Kernel,
        warp: usize,
        frame: u32,
        pc: u32,
    ) -> Option<&'k Whole> {
        let code = kernel.code(self.warps.get(warp)?.flow.frames.get(frame as usize)?.code.0.function.id)?;
        code.operations.get(code.ops.get(pc as usize)?.x as usize)
    }

    fn named(&self, warp: usize, frame: u32, lane: usize, whole: &Whole) -> Result<Named, FaultKind> {
        let value = |index: usize| {
            let place = whole.source(index);
            place.is_some().then(|| self.warps.get(warp).map_or(0, |warp| warp.value(frame, place, lane)))
        };
        let id = value(0).unwrap_or(0);
        let Some(id) = usize::try_from(id).ok().filter(|&id| id < BARRIERS) else {
            return Err(FaultKind::IllegalInstruction(format!("barrier number {id}")));
        };
        let count = value(1).map(|count| count as u32);
        match count {
            Some(count) if count == 0 || count % 32 != 0 => Err(FaultKind::IllegalInstruction(format!(
                "a barrier count of {count}, which is no multiple of 32"
            ))),
            count => Ok(Named { id, count }),
        }
    }

    fn arrive_at(&mut self, warp: usize, index: usize, whole: &Whole, kind: BarrierKind, named: &Named) {
        let Some(group) = self.warps.get(warp).and_then(|warp| warp.flow.groups.get(index)) else { return };
        let (frame, mask) = (group.frame, group.mask);
        let mut holds = 0;
        if whole.source(2).is_some() {
            let Some(warp) = self.warps.get(warp) else { return };
            holds =
                lanes(mask).filter(|&lane| warp.value(frame, whole.source(2), lane) & 1 != 0).count() as u32;
        }
        if let Some(meetings) = &mut self.meetings {
            let waits = kind == BarrierKind::Sync;
            meetings.push(Meeting::Arrived { id: named.id as u32, warp: warp as u32, mask, waits });
        }
        let Some(barrier) = self.barriers.get_mut(named.id) else { return };
        self.reached |= 1 << named.id;
        // A counted barrier counts whole warps, whoever of them comes (measured on an H200).
        barrier.arrived += if named.count.is_some() { 32 } else { mask.count_ones() };
        barrier.expected = named.count;
        barrier.asks = true;
        barrier.holds += holds;
        barrier.asked += mask.count_ones();
        if let Some(group) = self.warps.get_mut(warp).and_then(|warp| warp.flow.groups.get_mut(index)) {
            match kind {
                BarrierKind::Sync => group.state = State::AtBarrier(named.id as u32),
                BarrierKind::Arrive => {
                    group.state = State::Ready;
                    group.pc += 1;
                }
            }
        }
    }

    /// Opens barriers whose threads are all there; true when there was one.
    pub(crate) fn settle(&mut self, kernel: &Kernel) -> bool {
        let live = self.live();
        let mut opened = false;
        for id in lanes(self.reached) {
            let Some(barrier) = self.barriers.get_mut(id) else { continue };
            if barrier.arrived > 0 && barrier.arrived >= barrier.expected.unwrap_or(live) {
                let barrier = std::mem::take(barrier);
                self.reached &= !(1 << id);
                let repeats = barrier.expected.is_none() && self.repeats(id as u32);
                self.open(kernel, id as u32, barrier);
                opened = true;
                if repeats {
                    self.park();
                }
            }
        }
        opened
    }

    fn open(&mut self, kernel: &Kernel, id: u32, barrier: Barrier) {
        if barrier.asks {
            self.answer(kernel, id, barrier);
        }
        let whole = barrier.expected.is_none();
        if let Some(meetings) = &mut self.meetings {
            meetings.push(Meeting::Opened { id, whole });
        }
        for (warp, index) in self.warps.iter_mut().zip(0..) {
            warp.spy.epoch = warp.spy.epoch.wrapping_add(whole.into());
            for group in &mut warp.flow.groups {
                if matches!(group.state, State::AtBarrier(other) if other == id) {
                    group.state = State::Ready;
                    group.pc += 1;
                    if let Some(meetings) = &mut self.meetings {
                        meetings.push(Meeting::Passed { warp: index, mask: group.mask });
                    }
                }
            }
        }
    }

    /// Gives those that wait at a barrier what it gives.
    fn answer(&mut self, kernel: &Kernel, id: u32, barrier: Barrier) {
        for index in 0..self.warps.len() {
            let mut at = 0;
            while let Some(group) = self.warps.get(index).and_then(|warp| warp.flow.groups.get(at)) {
                let (frame, pc, mask) = (group.frame, group.pc, group.mask);
                let waits = matches!(group.state, State::AtBarrier(other) if other == id);
                at += 1;
                let operation = if waits { self.operation(kernel, index, frame, pc) } else { None };
                if let Some(whole) = operation
                    && whole.destination(0).is_some()
                    && let Some(warp) = self.warps.get_mut(index)
                {
                    let value = reduction(whole, barrier);
                    for lane in lanes(mask) {
                        warp.set_value(frame, whole.destination(0), lane, value);
                    }
                }
            }
        }
    }
}

/// The result of a reducing barrier.
fn reduction(whole: &Whole, barrier: Barrier) -> u64 {
    match whole.op {
        Op::Barrier { reduction: Some(standstill_kernel_ir::BarrierReduction::And), .. } => {
            (barrier.holds == barrier.asked).into()
        }
        Op::Barrier { reduction: Some(standstill_kernel_ir::BarrierReduction::Or), .. } => {
            (barrier.holds > 0).into()
        }
        _ => barrier.holds.into(),
    }
}
