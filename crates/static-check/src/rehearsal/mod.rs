//! A rehearsal: the waiting of a kernel, played through for one launch shape before anything runs.
//!
//! Only what decides who arrives where is executed: thread indices, constants, loop counters, flags and
//! barriers. What memory holds is not known; a condition on it that all threads share is tried both ways,
//! one that differs between threads ends the rehearsal undecided. So a fault that a rehearsal meets is a
//! fault of the code, and the finding lists what it took for granted.

mod barrier;
mod machine;
mod mbarrier;
mod memory;
mod operations;
mod passed;
mod plan;
mod value;
mod warp;

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{InstructionId, Op, Operand, Order, Special};

use crate::body::Body;
use crate::launch::Launch;
pub(crate) use barrier::Phase;
use machine::{Machine, Status, Stop};
pub(crate) use mbarrier::Mbarrier;
pub(crate) use memory::Place;
use plan::Plan;
use value::Value;

/// Most rehearsals of one kernel.
const MAXIMUM_RUNS: usize = 48;

/// Most rehearsals in a row that end undecided: a kernel that branches on data again and again is not decided
/// by trying the other sides.
const MAXIMUM_IN_VAIN: usize = 4;

/// Most instructions that all rehearsals of one kernel execute together.
const MAXIMUM_STEPS: u64 = 8_000_000;

/// Most threads that are rehearsed together.
const MAXIMUM_THREADS: u64 = 4096;

/// Values that stand for small integer parameters (trip counts, sizes), one rehearsal each.
const SAMPLES: [i64; 4] = [3, 1, 8, 17];

/// What one rehearsal takes for granted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choices {
    /// The value of every small integer parameter that was not given.
    parameter: i64,
    /// The truth of conditions that rest on memory.
    made: Vec<(Value, bool)>,
}

impl Choices {
    fn get(&self, value: Value) -> Option<bool> {
        self.made.iter().find(|(known, _)| *known == value).map(|(_, holds)| *holds)
    }
}

/// Something wrong that a rehearsal met on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A barrier's count is not a multiple of the warp size.
    CountNotWholeWarps {
        /// The barrier.
        at: InstructionId,
        /// Its count.
        count: u32,
    },
    /// Threads meet at one barrier with different counts.
    CountsDiffer {
        /// The barrier that came later.
        at: InstructionId,
        /// Its count; `None` for all threads.
        count: Option<u32>,
        /// The one that came first.
        other: InstructionId,
        /// Its count.
        other_count: Option<u32>,
    },
    /// A thread arrives at a barrier again before the phase that it arrived in is complete.
    ArrivesTwice {
        /// The second arrival.
        at: InstructionId,
        /// The first.
        earlier: InstructionId,
        /// The barrier.
        id: u64,
        /// The first thread that does so.
        thread: u32,
    },
    /// More threads come to a counted barrier than its count, with nothing that keeps the groups apart.
    TooManyThreads {
        /// The barrier.
        at: InstructionId,
        /// Its count.
        count: u32,
        /// Its id.
        id: u64,
        /// Where the first group came.
        other: InstructionId,
        /// The threads that came too many.
        threads: Vec<u32>,
    },
    /// A part of a warp takes part in an aligned barrier.
    PartOfWarp {
        /// The barrier.
        at: InstructionId,
        /// The threads of the warp that came.
        present: Vec<u32>,
        /// Those that did not.
        absent: Vec<u32>,
    },
    /// A warp operation's mask leaves out a thread that executes it.
    MaskLeavesOutCaller {
        /// The operation.
        at: InstructionId,
        /// The mask.
        mask: u32,
        /// The first such thread.
        thread: u32,
    },
    /// A warp operation's mask names threads that have ended.
    MaskNamesEnded {
        /// The operation.
        at: InstructionId,
        /// The mask.
        mask: u32,
        /// The threads that have ended.
        ended: Vec<u32>,
    },
}

impl Fault {
    /// The instruction at fault.
    pub(crate) fn at(&self) -> InstructionId {
        match self {
            Fault::CountNotWholeWarps { at, .. }
            | Fault::CountsDiffer { at, .. }
            | Fault::ArrivesTwice { at, .. }
            | Fault::TooManyThreads { at, .. }
            | Fault::PartOfWarp { at, .. }
            | Fault::MaskLeavesOutCaller { at, .. }
            | Fault::MaskNamesEnded { at, .. } => *at,
        }
    }

    /// Whether the arrivals at a barrier do not add up.
    pub(crate) fn is_miscount(&self) -> bool {
        matches!(self, Fault::CountsDiffer { .. } | Fault::ArrivesTwice { .. } | Fault::TooManyThreads { .. })
    }

    fn same_place(&self, other: &Fault) -> bool {
        if let (
            Fault::CountsDiffer { at, other: met, .. },
            Fault::CountsDiffer { at: other_at, other: other_met, .. },
        ) = (self, other)
            && (at, met) == (other_met, other_at)
        {
            return true;
        }
        self.at() == other.at() && std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    fn merge(&mut self, other: &Fault) {
        match (self, other) {
            (
                Fault::PartOfWarp { present, absent, .. },
                Fault::PartOfWarp { present: more, absent: missing, .. },
            ) => {
                present.extend(more);
                absent.extend(missing);
            }
            (Fault::TooManyThreads { threads, .. }, Fault::TooManyThreads { threads: more, .. }) => {
                threads.extend(more)
            }
            (Fault::MaskNamesEnded { ended, .. }, Fault::MaskNamesEnded { ended: more, .. }) => {
                ended.extend(more)
            }
            _ => {}
        }
    }
}

/// What a group of threads does when nothing goes on any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Doing {
    /// Waits at a block barrier.
    Barrier(u64),
    /// Waits for lanes of its warp.
    WarpOperation,
    /// Waits at the cluster barrier.
    ClusterBarrier,
    /// Goes around a loop.
    Spinning,
}

/// Threads that stand at the same place.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Linear number of their block in the grid.
    pub(crate) block: u32,
    /// What they do.
    pub(crate) doing: Doing,
    /// The instruction that they wait at; for a loop, the read that they poll with.
    pub(crate) at: InstructionId,
    /// Linear indices in the block.
    pub(crate) threads: Vec<u32>,
    /// The places that they poll.
    pub(crate) reads: Vec<(Place, InstructionId)>,
    /// What they wait for rests on a chosen parameter value, or somebody else may have changed what they poll.
    pub(crate) uncertain: bool,
    /// They try to take what they poll, as a lock is taken.
    pub(crate) takes: bool,
    /// They would have gone on, had they looked while what they poll held something else.
    pub(crate) too_late: bool,
}

/// A state in which nothing goes on.
#[derive(Debug, Clone)]
pub(crate) struct Standstill {
    /// Who stands where.
    pub(crate) groups: Vec<Group>,
    /// The phases that are under way: block, id, phase.
    pub(crate) phases: Vec<(u32, u64, Phase)>,
    /// The mbarriers.
    pub(crate) mbarriers: Vec<(Place, Mbarrier)>,
    /// Who wrote last what lies at the polled places: block and thread.
    pub(crate) holders: Vec<(Place, u32, u32)>,
    /// How many conditions were chosen to get here that rest on something else than what a polled place holds
    /// at the start.
    pub(crate) chosen: usize,
    /// The value that small integer parameters had, when one was read.
    pub(crate) parameter: Option<i64>,
}

/// What the rehearsals of a kernel showed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rehearsal {
    /// Faults on the way.
    pub(crate) faults: Vec<Fault>,
    /// States in which nothing goes on; the first of each kind.
    pub(crate) standstills: Vec<Standstill>,
    /// Barriers of the whole block that some threads came to without the others.
    pub(crate) improper: Vec<InstructionId>,
    /// Every way was tried, no value was chosen, and nothing was left undecided.
    pub(crate) exhaustive: bool,
    /// All blocks of the grid took part, or the grid is not known and two blocks stood for it.
    pub(crate) whole_grid: bool,
    /// The grid was not given.
    pub(crate) grid_assumed: bool,
}

/// Plays a kernel through; `None` when the block's shape is not known or the kernel too large for it.
pub(crate) fn rehearse(body: &Body, launch: &Launch, warp_operations: bool) -> Option<Rehearsal> {
    let threads = launch.threads()?;
    let plan = Plan::of(body, warp_operations);
    let global = body.instructions().any(|(id, instruction)| {
        plan.instructions.contains(id.0 as usize)
            && match instruction.op {
                Op::Load(access) => access.order != Order::Weak && !crate::inline::is_shared(access.space),
                Op::Atomic { access, .. } => !crate::inline::is_shared(access.space),
                _ => false,
            }
    });
    let mut result = Rehearsal { exhaustive: true, whole_grid: true, ..Rehearsal::default() };
    let (blocks, grid) = blocks_to_rehearse(launch, threads, global, &mut result);
    if (blocks.len() as u64) * u64::from(threads) * (plan.slot_count as u64) > 16_000_000 {
        return None;
    }
    let together = if global { vec![blocks] } else { one_by_one(body, &plan, launch, &mut result) };
    let mut by_sample: Vec<(Vec<Fault>, Vec<Standstill>)> = Vec::new();
    let mut steps = 0;
    for sample in SAMPLES {
        let mut found = (Vec::new(), Vec::new());
        let start = Choices { parameter: sample, made: Vec::new() };
        let mut open: Vec<(&[u32], Choices)> =
            together.iter().map(|b| (b.as_slice(), start.clone())).collect();
        let (mut runs, mut in_vain) = (0, 0);
        let mut sampled = false;
        while let Some((blocks, choices)) = open.pop() {
            runs += 1;
            if runs > MAXIMUM_RUNS || steps > MAXIMUM_STEPS || in_vain > MAXIMUM_IN_VAIN {
                result.exhaustive = false;
                break;
            }
            let given = choices.made.len();
            let mut machine = Machine::new(body, &plan, launch, choices, blocks, grid);
            let outcome = machine.run();
            steps += machine.steps;
            sampled |= machine.sampled;
            result.exhaustive &= !machine.raced && outcome.is_ok();
            for (index, &(value, holds)) in machine.choices.made.iter().enumerate().skip(given) {
                let mut other = machine.choices.clone();
                other.made.truncate(index);
                other.made.push((value, !holds));
                open.push((blocks, other));
            }
            match outcome {
                Err(Stop::Correlated) => in_vain += 1,
                Err(_) => {
                    in_vain += 1;
                    keep_faults(&mut found.0, machine.faults);
                }
                Ok(ended) => {
                    in_vain = 0;
                    for &barrier in &machine.improper {
                        if !result.improper.contains(&barrier) {
                            result.improper.push(barrier);
                        }
                    }
                    if !ended {
                        found.1.extend(standstill(&mut machine));
                    }
                    keep_faults(&mut found.0, machine.faults);
                }
            }
        }
        by_sample.push(found);
        if !sampled {
            break;
        }
        result.exhaustive = false;
    }
    keep_certain(&mut result, by_sample);
    Some(result)
}

fn keep_faults(kept: &mut Vec<Fault>, faults: Vec<Fault>) {
    for fault in faults {
        if !kept.iter().any(|known| known.same_place(&fault)) {
            kept.push(fault);
        }
    }
}

/// Keeps what does not hang on the values that were chosen for parameters. A kernel may ask for a multiple
/// of something; so a fault must show with the last two values, of which one is a power of two and the
/// other a prime.
fn keep_certain(result: &mut Rehearsal, mut by_sample: Vec<(Vec<Fault>, Vec<Standstill>)>) {
    let Some((faults, standstills)) = by_sample.pop() else { return };
    match by_sample.pop() {
        None => {
            result.faults = faults;
            result.standstills = standstills;
        }
        Some((others, other_standstills)) => {
            result.faults = faults.into_iter().filter(|f| others.iter().any(|o| o.same_place(f))).collect();
            if !other_standstills.is_empty() {
                result.standstills = standstills;
            }
        }
    }
    result.standstills.truncate(4);
}

/// Which blocks take part: one when blocks do not wait for each other, all when they fit, else two.
fn blocks_to_rehearse(
    launch: &Launch,
    threads: u32,
    global: bool,
    result: &mut Rehearsal,
) -> (Vec<u32>, [u32; 3]) {
    let grid = launch.grid.unwrap_or([2, 1, 1]);
    result.grid_assumed = launch.grid.is_none();
    let count = grid.iter().map(|&extent| u64::from(extent)).product::<u64>().max(1);
    if !global {
        result.whole_grid = count == 1 || result.grid_assumed;
        return (vec![0], grid);
    }
    if count * u64::from(threads) <= MAXIMUM_THREADS {
        return ((0..count as u32).collect(), grid);
    }
    result.whole_grid = false;
    (vec![0, 1], grid)
}

/// Blocks that do not wait for each other: one for all where nothing that matters asks for the block's index,
/// else the first two and the last two of the grid, where bounds bite.
fn one_by_one(body: &Body, plan: &Plan, launch: &Launch, result: &mut Rehearsal) -> Vec<Vec<u32>> {
    let asks =
        body.instructions().any(|(id, instruction)| {
            plan.instructions.contains(id.0 as usize)
                && body.function.sources(instruction.operands).iter().any(|source| {
                    matches!(source, Operand::Special(Special::Ctaid(_) | Special::ClusterId(_)))
                })
        });
    if !asks {
        return vec![vec![0]];
    }
    let Some(grid) = launch.grid else {
        result.exhaustive = false;
        return vec![vec![0]];
    };
    let count = grid.iter().fold(1u32, |count, &extent| count.saturating_mul(extent.max(1)));
    let mut blocks: Vec<u32> = vec![0, 1, count.saturating_sub(2), count - 1];
    blocks.retain(|&block| block < count);
    blocks.sort_unstable();
    blocks.dedup();
    blocks.reverse();
    blocks.into_iter().map(|block| vec![block]).collect()
}

/// Who stands where; `None` for a state that no launch comes to.
fn standstill(machine: &mut Machine<'_>) -> Option<Standstill> {
    let mut groups: FxHashMap<(u32, Doing, u32), Group> = FxHashMap::default();
    for (position, thread) in machine.threads.iter().enumerate() {
        let doing = match thread.status {
            Status::AtBarrier { id } => Doing::Barrier(id),
            Status::AtWarpOperation => Doing::WarpOperation,
            Status::AtClusterBarrier => Doing::ClusterBarrier,
            Status::Spinning { .. } => Doing::Spinning,
            Status::Ready | Status::Done => continue,
        };
        let at = match doing {
            Doing::Spinning => thread.reads.first().map_or(thread.next, |(_, at)| *at),
            _ => thread.next,
        };
        let block = machine.blocks.get(thread.block as usize).copied().unwrap_or(0);
        let group = groups.entry((block, doing, at)).or_insert_with(|| Group {
            block,
            doing,
            at: InstructionId(at),
            threads: Vec::new(),
            reads: Vec::new(),
            uncertain: false,
            takes: false,
            // Those who stand at one place wait for the same.
            too_late: doing == Doing::Spinning && !thread.takes && machine.came_too_late(position),
        });
        group.threads.push(thread.index);
        group.uncertain |= doing == Doing::Spinning && (thread.sampled || thread.unsure);
        group.takes |= doing == Doing::Spinning && thread.takes;
        for &(place, at) in &thread.reads {
            if doing == Doing::Spinning && !group.reads.iter().any(|(known, _)| *known == place) {
                group.reads.push((place, InstructionId(at)));
            }
        }
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by_key(|group| (group.block, group.threads.first().copied(), group.at));
    let mut polled: Vec<u32> = Vec::new();
    let mut holders: Vec<(Place, u32, u32)> = Vec::new();
    for (place, _) in groups.iter().flat_map(|group| &group.reads) {
        if let Some(holder) = machine.memory.writer(*place).and_then(|thread| machine.threads.get(thread))
            && !holders.iter().any(|(known, ..)| known == place)
        {
            let block = machine.blocks.get(holder.block as usize).copied().unwrap_or(0);
            holders.push((*place, block, holder.index));
        }
        let start = machine.unknowns.memory(memory::address(*place), 0);
        polled.extend_from_slice(machine.unknowns.roots(start));
    }
    let at_start = |value: Value| machine.unknowns.roots(value).iter().all(|root| polled.contains(root));
    let (starts, others): (Vec<_>, Vec<_>) =
        machine.choices.made.iter().partition(|(value, _)| at_start(*value));
    // Flags and counters are zero before a launch, as far as that decides something.
    let may_be = |&(value, holds): &(Value, bool)| {
        machine.unknowns.at_zero(value, &polled).is_none_or(|bits| (bits & 1 == 1) == holds)
    };
    if !starts.into_iter().all(may_be) {
        return None;
    }
    let chosen = others.len();
    let mut phases: Vec<(u32, u64, Phase)> = Vec::new();
    for (index, barriers) in machine.barriers.iter().enumerate() {
        let block = machine.blocks.get(index).copied().unwrap_or(0);
        for (id, phase) in &barriers.phases {
            if !phase.arrivals.is_empty() {
                phases.push((block, *id, phase.clone()));
            }
        }
    }
    phases.sort_by_key(|(block, id, _)| (*block, *id));
    let mut mbarriers: Vec<(Place, Mbarrier)> =
        machine.memory.mbarriers.iter().map(|(p, m)| (*p, *m)).collect();
    mbarriers.sort_by_key(|(place, _)| *place);
    Some(Standstill {
        groups,
        phases,
        mbarriers,
        holders,
        chosen,
        parameter: machine.sampled.then_some(machine.choices.parameter),
    })
}
