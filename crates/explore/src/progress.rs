//! Under which schedulers every execution ends.
//!
//! A scheduler names, in every state, the threads that it must treat fairly. The models are those of Sorensen et al.,
//! «Specifying and Testing GPU Workgroup Progress Models» (OOPSLA 2021), here for each level of the hierarchy: which
//! blocks of the grid, which warps of those blocks, which lanes of those warps.

use crate::graph::{Graph, NONE, StateId};
use crate::launch::{Launch, LaunchError};
use crate::reductions::{Property, Reductions};
use crate::search::{Limit, Limits, Observer, search, successors};
use crate::system::{Next, System};
use crate::thread::Status;
use standstill_kernel_ir::{Program, strongly_connected};

/// Which units of one level must be treated fairly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Occupancy-bound: those that have taken a step and not ended.
    OccupancyBound,
    /// Heterogeneous System Architecture: the lowest-numbered one that has not ended.
    Hsa,
    /// Those of both.
    HsaOccupancyBound,
    /// Linear occupancy-bound: all that have not ended up to the highest-numbered one that has taken a step.
    LinearOccupancyBound,
    /// All that have not ended.
    Fair,
}

/// How fair a scheduler is to the threads that it must treat fairly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fairness {
    /// A thread that could always take a step takes one in the end.
    Weak,
    /// So does a thread that could take a step again and again.
    Strong,
}

/// A scheduler: a policy for each level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scheduler {
    /// Between the clusters of the grid, which are its blocks where there are no clusters.
    pub grid: Policy,
    /// Between the blocks of a cluster.
    pub cluster: Policy,
    /// Between the warps of a block.
    pub block: Policy,
    /// Between the lanes of a warp.
    pub warp: Policy,
    /// Weak or strong.
    pub fairness: Fairness,
}

impl Scheduler {
    /// The same policy between clusters, and fair inside of them.
    pub const fn between_blocks(grid: Policy, fairness: Fairness) -> Scheduler {
        Scheduler { grid, cluster: Policy::Fair, block: Policy::Fair, warp: Policy::Fair, fairness }
    }

    /// What CUDA promises (CUDA C++ Programming Guide and libcu++, «Forward progress»): a thread that has taken a step goes
    /// on, and with it all threads of its cluster; the blocks of a cooperative grid all do.
    pub const fn cuda(cooperative: bool) -> Scheduler {
        let grid = if cooperative { Policy::Fair } else { Policy::OccupancyBound };
        Scheduler::between_blocks(grid, Fairness::Weak)
    }
}

/// The ten schedulers between blocks that have names, in the order of the published tables.
pub const NAMED: [(&str, Scheduler); 10] = {
    use Fairness::{Strong, Weak};
    use Policy::{Fair, Hsa, HsaOccupancyBound, LinearOccupancyBound, OccupancyBound};
    [
        ("OBE", Scheduler::between_blocks(OccupancyBound, Weak)),
        ("HSA", Scheduler::between_blocks(Hsa, Weak)),
        ("HSA_OBE", Scheduler::between_blocks(HsaOccupancyBound, Weak)),
        ("LOBE", Scheduler::between_blocks(LinearOccupancyBound, Weak)),
        ("WEAK_FAIR", Scheduler::between_blocks(Fair, Weak)),
        ("OBE_STRONG", Scheduler::between_blocks(OccupancyBound, Strong)),
        ("HSA_STRONG", Scheduler::between_blocks(Hsa, Strong)),
        ("HSA_OBE_STRONG", Scheduler::between_blocks(HsaOccupancyBound, Strong)),
        ("LOBE_STRONG", Scheduler::between_blocks(LinearOccupancyBound, Strong)),
        ("STRONG_FAIR", Scheduler::between_blocks(Fair, Strong)),
    ]
};

/// Threads as bits.
pub(crate) type Threads = u64;

/// The most threads that schedulers can be asked about.
pub const MOST_PROGRESS_THREADS: usize = 64;

/// What a state says of its threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Stage {
    started: Threads,
    ended: Threads,
}

/// All states with the step of each thread in each.
pub struct ProgressGraph {
    threads: usize,
    units: Units,
    stages: Vec<Stage>,
    /// By state and thread.
    edges: Vec<StateId>,
    /// States that an error ends.
    stopped: Vec<bool>,
    /// The number of each state's strongly connected component, and of components.
    component: Vec<u32>,
    components: usize,
    /// Whether the search came to its end.
    complete: bool,
    /// By state: who makes a call with its next step, where that was asked.
    calls: Vec<Threads>,
}

/// What there is to say of one state.
pub(crate) struct View {
    pub(crate) component: usize,
    pub(crate) started: Threads,
    /// Threads that have not ended.
    pub(crate) live: Threads,
    /// Threads that can take a step.
    pub(crate) can: Threads,
    /// Threads whose step stays in the component.
    pub(crate) stays: Threads,
    /// Threads whose step is a call.
    pub(crate) calls: Threads,
    pub(crate) stopped: bool,
}

/// Why schedulers cannot be asked about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgressError {
    /// The launch itself is wrong.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// Too many threads.
    #[error("schedulers can be asked about for up to {MOST_PROGRESS_THREADS} threads, and these are {0}")]
    Threads(usize),
    /// Too many states.
    #[error("there are more than {0} states")]
    States(usize),
    /// The states take more memory than this.
    #[error("the states take more than {} MB", .0 >> 20)]
    Bytes(usize),
    /// Something is not explored.
    #[error("{0} is not explored")]
    Unknown(String),
}

/// Bytes that the steps of each thread from so many states take, with what is made of them.
fn room_for(states: usize, threads: usize) -> usize {
    let components = size_of::<[u32; 8]>();
    states * (threads * size_of::<StateId>() + size_of::<Stage>() + size_of::<Threads>() + components)
}

impl ProgressGraph {
    /// Searches all states of a launch.
    pub fn build(
        program: &dyn Program,
        launch: &Launch,
        limits: Limits,
        observer: &mut dyn Observer,
    ) -> Result<ProgressGraph, ProgressError> {
        ProgressGraph::build_with_calls(program, launch, limits, "", observer)
    }

    /// The same, and notes which steps are calls of the CUDA API: those that access the variable with this name.
    pub fn build_with_calls(
        program: &dyn Program,
        launch: &Launch,
        limits: Limits,
        calls: &str,
        observer: &mut dyn Observer,
    ) -> Result<ProgressGraph, ProgressError> {
        let reductions = Reductions::for_properties(&[Property::Schedulers]);
        let mut system = System::new(program, launch.clone(), reductions, None)?;
        let threads = system.threads();
        if threads > MOST_PROGRESS_THREADS {
            return Err(ProgressError::Threads(threads));
        }
        let found = search(&mut system, limits, |_, _| true, observer);
        let graph = &found.graph;
        if found.limit == Some(Limit::Bytes(limits.bytes))
            || graph.bytes() + system.bytes() + room_for(graph.len(), threads) > limits.bytes
        {
            return Err(ProgressError::Bytes(limits.bytes));
        }
        let mut whole = ProgressGraph {
            threads,
            units: Units::of(launch, threads),
            stages: Vec::with_capacity(graph.len()),
            edges: vec![NONE; graph.len() * threads],
            stopped: vec![false; graph.len()],
            component: Vec::new(),
            components: 0,
            complete: found.limit.is_none(),
            calls: Vec::new(),
        };
        if !whole.complete {
            return Err(ProgressError::States(graph.len()));
        }
        whole.fill(&mut system, graph)?;
        whole.connect();
        if !calls.is_empty() {
            whole.calls = (0..graph.len())
                .map(|id| calls_in(&mut system, &graph.state(id as StateId), calls))
                .collect();
        }
        Ok(whole)
    }

    /// Number of strongly connected components.
    pub(crate) fn components(&self) -> usize {
        self.components
    }

    /// What there is to say of a state.
    pub(crate) fn view(&self, state: usize) -> View {
        let stage = self.stages.get(state).copied().unwrap_or_default();
        let component = value(&self.component, state);
        let (mut can, mut stays) = (0, 0);
        for (&to, thread) in self.edges_of(state).iter().zip(0..).filter(|(to, _)| **to != NONE) {
            can |= 1 << thread;
            stays |= Threads::from(value(&self.component, to as usize) == component) << thread;
        }
        View {
            component: component as usize,
            started: stage.started,
            live: !stage.ended & all(self.threads),
            can,
            stays,
            calls: self.calls.get(state).copied().unwrap_or(0),
            stopped: self.stopped.get(state) == Some(&true),
        }
    }

    fn fill(&mut self, system: &mut System<'_>, graph: &Graph) -> Result<(), ProgressError> {
        let mut after = Vec::new();
        for id in 0..graph.len() {
            let state = &graph.state(id as StateId)[..];
            let mut stage = Stage::default();
            for (&local, thread) in state.iter().take(self.threads).zip(0..) {
                let Some(known) = system.local(local) else { continue };
                stage.started |= Threads::from(known.started) << thread;
                stage.ended |= Threads::from(known.status == Status::Ended) << thread;
                if let Status::Unknown(number) = known.status {
                    let what = system.unknown(number).map_or(String::new(), |unknown| unknown.what.clone());
                    return Err(ProgressError::Unknown(what));
                }
                if system.next(local) == Next::Stopped
                    && let Some(stopped) = self.stopped.get_mut(id)
                {
                    *stopped = true;
                }
            }
            self.stages.push(stage);
            if self.stopped.get(id) == Some(&true) {
                continue;
            }
            let (edges, threads) = (&mut self.edges, self.threads);
            successors(system, state, &mut after, |thread, next, _| {
                if let (Some(slot), Some(to)) = (edges.get_mut(id * threads + thread), graph.find(next)) {
                    *slot = to;
                }
            });
        }
        Ok(())
    }

    fn edges_of(&self, state: usize) -> &[StateId] {
        self.edges.get(state * self.threads..(state + 1) * self.threads).unwrap_or(&[])
    }

    /// Numbers the strongly connected components.
    fn connect(&mut self) {
        // A thread without a step counts as an edge to the state itself, which connects nothing.
        let successor = |state: u32, thread: u32| {
            let edge = self.edges_of(state as usize).get(thread as usize)?;
            Some(if *edge == NONE { state } else { *edge })
        };
        let components = strongly_connected(self.stages.len(), |_| true, successor);
        let mut component = vec![u32::MAX; self.stages.len()];
        for number in 0..components.len() as u32 {
            components.get(number).iter().for_each(|&state| set(&mut component, state as usize, number));
        }
        self.components = components.len();
        self.component = component;
    }

    /// Whether every execution ends under a scheduler.
    pub fn ends(&self, scheduler: Scheduler) -> bool {
        match scheduler.fairness {
            Fairness::Weak => self.ends_weakly(scheduler),
            Fairness::Strong => self.ends_strongly(scheduler),
        }
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        self.stages.len()
    }

    /// Some cycle in which each thread that must be treated fairly takes a step, or can take none at some point, never
    /// ends. Who must be is the same all along a cycle, since starting and ending cannot be undone.
    fn ends_weakly(&self, scheduler: Scheduler) -> bool {
        let mut stepping = vec![0u64; self.components];
        let mut blocked = vec![0u64; self.components];
        let mut fair = vec![0u64; self.components];
        for (stage, state) in self.stages.iter().zip(0usize..) {
            let component = value(&self.component, state);
            let mut can = 0;
            for (&to, thread) in self.edges_of(state).iter().zip(0..) {
                if to == NONE {
                    continue;
                }
                can |= 1 << thread;
                if value(&self.component, to as usize) == component
                    && let Some(slot) = stepping.get_mut(component as usize)
                {
                    *slot |= 1 << thread;
                }
            }
            let live = !stage.ended & all(self.threads);
            if can == 0 && live != 0 && self.stopped.get(state) != Some(&true) {
                return false;
            }
            if let (Some(blocked), Some(fair)) =
                (blocked.get_mut(component as usize), fair.get_mut(component as usize))
            {
                *blocked |= live & !can;
                *fair = self.fair(scheduler, *stage);
            }
        }
        let hangs = stepping.iter().zip(&blocked).zip(&fair).any(|((&stepping, &blocked), &fair)| {
            stepping != 0 && fair != 0 && fair & !(stepping | blocked) == 0
        });
        !hangs
    }

    /// From every state steps of threads that must be treated fairly lead to one in which there are none of them left.
    fn ends_strongly(&self, scheduler: Scheduler) -> bool {
        let count = self.stages.len();
        let fair: Vec<Threads> = self.stages.iter().map(|&stage| self.fair(scheduler, stage)).collect();
        let mut before: Vec<Vec<StateId>> = vec![Vec::new(); count];
        let mut reached: Vec<bool> = (0..count)
            .map(|state| fair.get(state) == Some(&0) || self.stopped.get(state) == Some(&true))
            .collect();
        for state in 0..count {
            let fair = fair.get(state).copied().unwrap_or(0);
            for (&to, thread) in self.edges_of(state).iter().zip(0..) {
                if to != NONE
                    && fair >> thread & 1 != 0
                    && let Some(list) = before.get_mut(to as usize)
                {
                    list.push(state as StateId);
                }
            }
        }
        let mut work: Vec<usize> = (0..count).filter(|&state| reached.get(state) == Some(&true)).collect();
        while let Some(state) = work.pop() {
            for &from in before.get(state).map_or(&[][..], |list| list) {
                if let Some(known) = reached.get_mut(from as usize)
                    && !*known
                {
                    *known = true;
                    work.push(from as usize);
                }
            }
        }
        reached.into_iter().all(|reached| reached)
    }

    /// The threads that a scheduler must treat fairly.
    fn fair(&self, scheduler: Scheduler, stage: Stage) -> Threads {
        let live = !stage.ended & all(self.threads);
        let units = &self.units;
        let chosen = |policy, of: &[Threads], inside: &dyn Fn(Threads) -> Threads| {
            select(policy, of, stage.started, live, inside)
        };
        let fair = chosen(scheduler.grid, &units.clusters, &|cluster| {
            chosen(scheduler.cluster, &within(&units.blocks, cluster), &|block| {
                chosen(scheduler.block, &within(&units.warps, block), &|warp| {
                    chosen(scheduler.warp, &within(&units.lanes, warp), &|lane| lane)
                })
            })
        });
        fair & live
    }
}

/// The threads of each unit of every level.
struct Units {
    clusters: Vec<Threads>,
    blocks: Vec<Threads>,
    warps: Vec<Threads>,
    lanes: Vec<Threads>,
}

impl Units {
    fn of(launch: &Launch, threads: usize) -> Units {
        let per_block = launch.block_threads().max(1) as usize;
        let mut units =
            Units { clusters: Vec::new(), blocks: Vec::new(), warps: Vec::new(), lanes: Vec::new() };
        let clusters: u32 = launch.clusters().iter().product();
        units.clusters.resize(clusters as usize, 0);
        for thread in 0..threads {
            let (block, lane) = (thread / per_block, 1 << thread);
            let (cluster, _) = launch.cluster_of(block as u32);
            if let Some(cluster) = units.clusters.get_mut(cluster as usize) {
                *cluster |= lane;
            }
            let begins = |list: &mut Vec<Threads>, new: bool| match list.last_mut() {
                Some(unit) if !new => *unit |= lane,
                _ => list.push(lane),
            };
            begins(&mut units.blocks, thread.is_multiple_of(per_block));
            begins(&mut units.warps, (thread % per_block).is_multiple_of(32));
            begins(&mut units.lanes, true);
        }
        units
    }
}

/// The units that lie in another.
fn within(units: &[Threads], whole: Threads) -> Vec<Threads> {
    units.iter().copied().filter(|unit| unit & whole != 0).collect()
}

/// Of some units, those that a policy selects, and of those what `inside` selects.
fn select(
    policy: Policy,
    units: &[Threads],
    started: Threads,
    live: Threads,
    inside: &dyn Fn(Threads) -> Threads,
) -> Threads {
    let lives = |unit: &Threads| unit & live != 0;
    let has_started = |unit: &Threads| unit & started != 0;
    let lowest = units.iter().position(lives);
    let highest = units.iter().rposition(has_started);
    let selects = |unit: &Threads, at: usize| match policy {
        Policy::OccupancyBound => has_started(unit),
        Policy::Hsa => Some(at) == lowest,
        Policy::HsaOccupancyBound => has_started(unit) || Some(at) == lowest,
        Policy::LinearOccupancyBound => highest.is_some_and(|highest| at <= highest),
        Policy::Fair => true,
    };
    let selected = units.iter().zip(0..).filter(|&(unit, at)| lives(unit) && selects(unit, at));
    selected.fold(0, |threads, (&unit, _)| threads | inside(unit))
}

/// The threads whose next step accesses a variable.
fn calls_in(system: &mut System<'_>, state: &[u32], variable: &str) -> Threads {
    let memory = state.last().copied().unwrap_or(0);
    let mut calls = 0;
    for thread in 0..system.threads() {
        let local = state.get(thread).copied().unwrap_or(0);
        if system.next(local) == Next::Step && system.describe(thread, local, memory).memory == variable {
            calls |= 1 << thread;
        }
    }
    calls
}

/// The lowest `count` bits.
fn all(count: usize) -> Threads {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

fn set<T>(list: &mut [T], at: usize, value: T) {
    if let Some(slot) = list.get_mut(at) {
        *slot = value;
    }
}

fn value(list: &[u32], at: usize) -> u32 {
    list.get(at).copied().unwrap_or(u32::MAX)
}
