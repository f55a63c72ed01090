//! Explores a launch and says what holds in all executions.

use standstill_kernel_ir::Program;

use crate::expect::{Expectation, shown_element};
use crate::faults::{Looked, Worth, look_for, worth_looking_for};
use crate::follow::Looks;
use crate::graph::{Graph, StateId};
use crate::hopeless::{hopeless, room_for};
use crate::launch::{Launch, LaunchError};
use crate::operations::Operation;
use crate::progress::{ProgressError, ProgressGraph, Scheduler};
use crate::reductions::Reductions;
use crate::schedule::{Place, Schedule, ScheduleStep, Stuck, show};
use crate::search::{Limit, Limits, Observer, Search, Wrong, search};
use crate::system::System;
use crate::thread::Status;
use crate::track::{Track, track};
use crate::wrong_marks::{WrongMark, unknown_marks};

/// Elements of a region that are looked at for what has become of them.
const MOST_ELEMENTS: usize = 4096;

/// What is asked.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How far to go.
    pub limits: Limits,
    /// What memory must hold at the end.
    pub expect: Option<Expectation>,
    /// Ask about schedulers.
    pub schedulers: Option<Limits>,
    /// Further schedulers to ask about with them.
    pub asked: Vec<Scheduler>,
    /// Do not look for races.
    pub without_races: bool,
    /// Which states need not be looked at.
    pub reductions: Reductions,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    /// From some state on no execution ends.
    Hang,
    /// Memory at the end is not as expected.
    Unexpected {
        /// The expectation.
        expected: String,
    },
    /// A trap or a failed assertion.
    Assertion {
        /// Which.
        what: String,
    },
    /// Two accesses that nothing orders, one of them a write.
    Race {
        /// The memory.
        memory: String,
        /// It is shared memory of a block.
        shared: bool,
        /// What each access is: the later one first.
        accesses: [RacingAccess; 2],
    },
    /// A use of memory that was freed before, by a thread that does not know of it.
    Reuse {
        /// The memory.
        memory: String,
        /// The use, and what freed the memory.
        accesses: [RacingAccess; 2],
    },
    /// A write that goes by what its thread read before another one changed it.
    LostUpdate {
        /// The memory.
        memory: String,
        /// The write, the read, and the change in between.
        accesses: [RacingAccess; 3],
    },
    /// A compare-and-swap that succeeds because a value came back, though what was read by way of it has changed.
    Aba {
        /// The memory.
        memory: String,
        /// The compare-and-swap, the read, and the change in between.
        accesses: [RacingAccess; 3],
    },
    /// Operations of a shared structure for which there is no order that explains what they gave.
    NoOrder {
        /// Where the operation ended that has no place in an order, and where it began.
        accesses: [RacingAccess; 2],
        /// All that began until then.
        operations: Vec<Operation>,
    },
    /// An access outside of all memory.
    OutOfBounds {
        /// What and where.
        what: String,
    },
    /// An access that is not a multiple of its width.
    Misaligned {
        /// What and where.
        what: String,
    },
}

/// One access of a race, or of another fault of several accesses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RacingAccess {
    /// Block, by its linear index.
    pub block: u32,
    /// Thread of the block, by its linear index.
    pub thread: u32,
    /// It writes.
    pub writes: bool,
    /// It is atomic or volatile.
    pub strong: bool,
    /// Where it stands.
    pub place: Place,
}

/// What is known of races.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Races {
    /// In no execution is there one.
    None,
    /// There are some.
    Some,
    /// They were not looked for, or not to the end; why.
    Unknown(String),
}

/// A fault with the shortest schedule that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What is wrong.
    pub kind: FailureKind,
    /// The steps to it; none that could be left out.
    pub schedule: Vec<ScheduleStep>,
    /// The same access by access, for replaying it; `None` where there are too many.
    pub track: Option<Track>,
    /// For a hang, who goes no further.
    pub stuck: Vec<Stuck>,
    /// Where a thread stopped the launch.
    pub place: Place,
    /// Memory at the end, the elements that are not what they were at first: `acc = 2`.
    pub memory: Vec<(String, String)>,
}

/// Something that exploration does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotExplored {
    /// What.
    pub what: String,
    /// Where.
    pub place: Place,
}

/// Under which schedulers every execution ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdicts {
    /// The named schedulers between blocks, in the order of [`crate::NAMED`].
    pub named: Vec<(&'static str, bool)>,
    /// Those of [`Options::asked`].
    pub asked: Vec<bool>,
    /// Under what CUDA promises for an ordinary launch.
    pub cuda: bool,
    /// And for a cooperative one.
    pub cooperative: bool,
    /// States.
    pub states: usize,
}

/// What was found.
#[derive(Debug)]
pub struct Outcome {
    /// The kernel, as the compiler named it.
    pub kernel: String,
    /// States, after reductions.
    pub states: usize,
    /// Steps between them.
    pub steps: u64,
    /// Ends with different memory.
    pub results: usize,
    /// Bytes that the states took.
    pub bytes: usize,
    /// What is wrong, each kind once.
    pub failures: Vec<Failure>,
    /// What could not be explored.
    pub not_explored: Vec<NotExplored>,
    /// Marks of operations that do not fit.
    pub wrong_marks: Vec<WrongMark>,
    /// Why not all states were looked at.
    pub limit: Option<Limit>,
    /// Whether there are races.
    pub races: Races,
    /// What it is not known of whether there is any, and why.
    pub not_known: Vec<(&'static str, String)>,
    /// Verdicts under schedulers, when they were asked for.
    pub verdicts: Option<Result<Verdicts, ProgressError>>,
}

impl Outcome {
    /// Whether all executions were looked at, for all faults.
    pub fn complete(&self) -> bool {
        self.limit.is_none()
            && self.not_explored.is_empty()
            && self.wrong_marks.is_empty()
            && self.not_known.is_empty()
    }
}

/// Explores all interleavings of a launch.
pub fn explore(
    program: &dyn Program,
    launch: &Launch,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, LaunchError> {
    let (races, mut failures) = if options.without_races {
        (Races::Unknown("they were not looked for".to_owned()), Vec::new())
    } else {
        let Looked { failures, unknown, .. } =
            look_for(program, launch, options, (Looks::Races, true), observer)?;
        let races = match unknown {
            _ if !failures.is_empty() => Races::Some,
            Some(why) => Races::Unknown(why),
            None => Races::None,
        };
        (races, failures)
    };
    let reductions = Reductions {
        merge_plain_accesses: options.reductions.merge_own_accesses && races == Races::None,
        ..options.reductions
    };
    let (mut outcome, worth) = search_all(program, launch, options, (reductions, races), observer)?;
    outcome.failures.append(&mut failures);
    for (what, looks) in worth {
        // A mark is no access: between it and a plain one every order counts.
        let merges = reductions.merge_plain_accesses && matches!(looks, Looks::Updates(_));
        let mut looked = look_for(program, launch, options, (looks, merges), observer)?;
        outcome.failures.append(&mut looked.failures);
        outcome.wrong_marks.append(&mut looked.wrong_marks);
        outcome.not_known.extend(looked.unknown.map(|why| (what, why)));
    }
    if let Some(limits) = options.schedulers {
        outcome.verdicts = Some(verdicts(program, launch, limits, &options.asked, observer));
    }
    Ok(outcome)
}

/// The search for all that shows in threads and memory, and what else is worth a search. Its states are given up when it has ended.
fn search_all(
    program: &dyn Program,
    launch: &Launch,
    options: &Options,
    (reductions, races): (Reductions, Races),
    observer: &mut dyn Observer,
) -> Result<(Outcome, Vec<Worth>), LaunchError> {
    let mut system = System::new(program, launch.clone(), reductions, None)?;
    let holds = |system: &System<'_>, contents: u32| {
        options.expect.as_ref().is_none_or(|expected| expected.holds(&system.memory, contents) == Some(true))
    };
    let found = search(&mut system, options.limits, holds, observer);
    let mut outcome = Outcome {
        kernel: system.kernel_name(),
        states: found.graph.len(),
        steps: found.transitions,
        results: found.results.len(),
        bytes: found.graph.bytes() + system.bytes(),
        failures: Vec::new(),
        not_explored: Vec::new(),
        wrong_marks: unknown_marks(&system),
        limit: found.limit.clone(),
        races,
        not_known: Vec::new(),
        verdicts: None,
    };
    judge(&mut system, &found, options, &mut outcome);
    Ok((outcome, worth_looking_for(&system)))
}

fn judge(system: &mut System<'_>, found: &Search, options: &Options, outcome: &mut Outcome) {
    let mut wrong = found.wrong.clone();
    let deadlock = wrong.iter().any(|(kind, _)| *kind == Wrong::Deadlock);
    if found.limit.is_none() && (found.goes_back || deadlock) {
        let limits = options.limits;
        if outcome.bytes + room_for(found.graph.len(), found.transitions) > limits.bytes {
            outcome.limit = Some(Limit::Bytes(limits.bytes));
        } else if let Some(state) = hopeless(system, found, limits) {
            // It comes before the states in which nothing moves any more.
            wrong.retain(|(kind, _)| *kind != Wrong::Deadlock);
            wrong.push((Wrong::Hopeless, state));
        }
    }
    for (kind, state) in wrong {
        match kind {
            Wrong::Stopped(local) => stopped(system, &found.graph, local, state, outcome),
            Wrong::Race { .. } => {}
            Wrong::Expectation => {
                let expected =
                    options.expect.as_ref().map_or(String::new(), |expected| expected.text.clone());
                let failure = failure(system, &found.graph, FailureKind::Unexpected { expected }, state);
                outcome.failures.push(failure);
            }
            Wrong::Deadlock | Wrong::Hopeless => {
                let mut failure = failure(system, &found.graph, FailureKind::Hang, state);
                let now = system.schedule(&found.graph, state).now;
                failure.stuck = system.stuck(&now);
                outcome.failures.push(failure);
            }
        }
    }
}

fn stopped(system: &mut System<'_>, graph: &Graph, local: u32, state: StateId, outcome: &mut Outcome) {
    let Some((status, what)) = system.why_stopped(local) else { return };
    let kind = match status {
        Status::Unknown(number) => {
            let place = system
                .unknown(number)
                .map_or(Place::default(), |known| system.place(known.function, known.location, known.offset));
            let missing = NotExplored { what, place };
            if !outcome.not_explored.contains(&missing) {
                outcome.not_explored.push(missing);
            }
            return;
        }
        Status::Faults(crate::memory::Wrong::OutOfBounds(_)) => FailureKind::OutOfBounds { what },
        Status::Faults(crate::memory::Wrong::Misaligned(_)) => FailureKind::Misaligned { what },
        _ => FailureKind::Assertion { what },
    };
    let place = system.standing(local);
    let seen = |failure: &Failure| failure.kind == kind && failure.place == place;
    if !outcome.failures.iter().any(seen) {
        let mut failure = failure(system, graph, kind, state);
        failure.place = place;
        outcome.failures.push(failure);
    }
}

fn failure(system: &mut System<'_>, graph: &Graph, kind: FailureKind, state: StateId) -> Failure {
    let Schedule { steps, now, way } = system.schedule(graph, state);
    let contents = now.last().copied().unwrap_or(0);
    Failure {
        kind,
        schedule: steps,
        track: track(system.program, &system.launch, None, &way, None),
        stuck: Vec::new(),
        place: Place::default(),
        memory: contents_of(system, contents),
    }
}

/// The elements of memory that are not what they were at first, as far as there are few.
fn contents_of(system: &System<'_>, contents: u32) -> Vec<(String, String)> {
    let mut list = Vec::new();
    for region in system.memory.regions() {
        let bytes = region.element.clamp(1, 8);
        let count = region.bytes.chunks_exact(bytes as usize).len();
        for (first, index) in region.bytes.chunks_exact(bytes as usize).zip(0u64..).take(MOST_ELEMENTS) {
            let value = system.memory.value(contents, region.address + index * u64::from(bytes), bytes);
            let first = first.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
            if let Some(value) = value.filter(|&value| value != first) {
                let name = if count == 1 { region.name.clone() } else { format!("{}[{index}]", region.name) };
                list.push((name, show(value, shown_element(bytes))));
            }
        }
    }
    list
}

fn verdicts(
    program: &dyn Program,
    launch: &Launch,
    limits: Limits,
    asked: &[Scheduler],
    observer: &mut dyn Observer,
) -> Result<Verdicts, ProgressError> {
    let graph = ProgressGraph::build(program, launch, limits, observer)?;
    Ok(Verdicts {
        asked: asked.iter().map(|&scheduler| graph.ends(scheduler)).collect(),
        named: crate::NAMED.iter().map(|&(name, scheduler)| (name, graph.ends(scheduler))).collect(),
        cuda: graph.ends(Scheduler::cuda(false)),
        cooperative: graph.ends(Scheduler::cuda(true)),
        states: graph.states(),
    })
}
