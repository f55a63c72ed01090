//! Breadth-first search over all states: the first state in which something is wrong is reached by the fewest steps.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::{Graph, NONE, StateId};
use crate::system::{Next, System};
use crate::thread::Status;

/// How far a search may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// States.
    pub states: usize,
    /// Bytes that states and what belongs to them take.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { states: 200_000_000, bytes: 4 << 30 }
    }
}

/// Something that is wrong in a state, by kind, so that each kind is told once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Wrong {
    /// A thread stopped the launch; its state.
    Stopped(u32),
    /// All threads that have not ended wait for each other.
    Deadlock,
    /// All have ended and the expectation does not hold.
    Expectation,
    /// From here no execution ends.
    Hopeless,
    /// The step of a thread races with another access; of no thread in the first state.
    Race { number: u32, thread: usize },
}

/// Why a search did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// So many states.
    States(usize),
    /// So many bytes.
    Bytes(usize),
}

/// What a search met.
pub(crate) struct Search {
    pub(crate) graph: Graph,
    /// The first state of each kind of fault.
    pub(crate) wrong: Vec<(Wrong, StateId)>,
    /// Steps between states.
    pub(crate) transitions: u64,
    /// States without a step: all threads have ended, or one has stopped the launch.
    pub(crate) ends: Vec<StateId>,
    /// Some step leads to a state that was met before its own: only then can there be a cycle.
    pub(crate) goes_back: bool,
    /// Memory after them, each once.
    pub(crate) results: Vec<u32>,
    pub(crate) limit: Option<Limit>,
}

/// What a caller wants to be told while a search runs.
pub trait Observer {
    /// So many states were met, and so many of them are not yet looked at.
    fn progress(&mut self, states: usize, frontier: usize) {
        let _ = (states, frontier);
    }
}

impl Observer for () {}

/// Calls `visit` with each thread that can take a step in a state, the state after it, and the race that it showed.
pub(crate) fn successors(
    system: &mut System<'_>,
    state: &[u32],
    after: &mut Vec<u32>,
    mut visit: impl FnMut(usize, &[u32], Option<u32>),
) {
    for thread in 0..system.threads() {
        if !system.is_twin(state, thread) && system.advance(state, thread, after) {
            system.sort(after);
            visit(thread, after, system.race.take());
        }
    }
}

/// Searches all states. `holds` says of memory at the end whether it is as expected.
pub(crate) fn search(
    system: &mut System<'_>,
    limits: Limits,
    mut holds: impl FnMut(&System<'_>, u32) -> bool,
    observer: &mut dyn Observer,
) -> Search {
    loop {
        let search = attempt(system, limits, &mut holds, observer);
        if !system.is_broken() {
            return search;
        }
        // A word that seemed to be one thread's own is not: what was merged on that ground was merged wrongly.
        system.restart();
    }
}

/// States between two reports of progress.
const REPORT: usize = 1 << 14;

fn attempt(
    system: &mut System<'_>,
    limits: Limits,
    holds: &mut impl FnMut(&System<'_>, u32) -> bool,
    observer: &mut dyn Observer,
) -> Search {
    let mut search = Search {
        graph: Graph::new(system.width()),
        wrong: Vec::new(),
        transitions: 0,
        ends: Vec::new(),
        goes_back: false,
        results: Vec::new(),
        limit: None,
    };
    let mut races: FxHashSet<u32> = FxHashSet::default();
    let first = system.initial();
    search.graph.insert(&first, NONE);
    if let Some(number) = system.race.take() {
        races.insert(number);
        search.wrong.push((Wrong::Race { number, thread: usize::MAX }, 0));
    }
    let mut judged: FxHashMap<u32, bool> = FxHashMap::default();
    let (mut state, mut after) = (Vec::new(), Vec::new());
    let mut at: StateId = 0;
    while (at as usize) < search.graph.len() && !system.is_broken() && !system.has_all() {
        state.clear();
        state.extend_from_slice(search.graph.state(at));
        let (mut steps, mut stopped) = (0, None);
        for &local in state.get(..system.threads()).unwrap_or(&[]) {
            if system.next(local) == Next::Stopped {
                stopped = Some(local);
            }
        }
        if let Some(local) = stopped {
            search.ends.push(at);
            note(&mut search.wrong, Wrong::Stopped(local), at);
        } else {
            let Search { graph, transitions, goes_back, wrong, .. } = &mut search;
            successors(system, &state, &mut after, |thread, next, race| {
                if let Some(number) = race.filter(|&number| races.insert(number)) {
                    wrong.push((Wrong::Race { number, thread }, at));
                }
                steps += 1;
                *transitions += 1;
                *goes_back |= graph.insert(next, at).0 <= at;
            });
            if steps == 0 {
                let over = |&local: &u32| {
                    matches!(system.local(local).map(|local| local.status), Some(Status::Ended) | None)
                };
                if state.iter().take(system.threads()).all(over) {
                    search.ends.push(at);
                    let memory = state.last().copied().unwrap_or(0);
                    let right = *judged.entry(memory).or_insert_with(|| holds(system, memory));
                    if !right {
                        note(&mut search.wrong, Wrong::Expectation, at);
                    }
                } else {
                    note(&mut search.wrong, Wrong::Deadlock, at);
                }
            }
        }
        at += 1;
        if (at as usize).is_multiple_of(REPORT) {
            observer.progress(search.graph.len(), search.graph.len() - at as usize);
            let bytes = search.graph.bytes() + system.bytes();
            if bytes > limits.bytes {
                search.limit = Some(Limit::Bytes(limits.bytes));
                break;
            }
        }
        if search.graph.len() > limits.states {
            search.limit = Some(Limit::States(limits.states));
            break;
        }
    }
    search.results = judged.into_keys().collect();
    search.results.sort_unstable();
    search
}

fn note(wrong: &mut Vec<(Wrong, StateId)>, kind: Wrong, at: StateId) {
    if !wrong.iter().any(|(known, _)| *known == kind) {
        wrong.push((kind, at));
    }
}
