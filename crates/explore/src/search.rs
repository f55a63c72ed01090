//! Breadth-first search over all states: the first state in which something is wrong is reached by the fewest steps.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::batch::{Batch, Part};
use crate::graph::{Graph, NONE, StateId};
use crate::share::share;
use crate::system::{Found, Next, System};
use crate::thread::Status;

/// How far a search may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// States.
    pub states: usize,
    /// Bytes that states and what belongs to them take.
    pub bytes: usize,
    /// Threads that search; 0 for one on each core. What is found does not depend on it.
    pub workers: usize,
}

impl Limits {
    fn workers(&self) -> usize {
        match self.workers {
            0 => cores(),
            some => some,
        }
    }
}

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { states: 200_000_000, bytes: 4 << 30, workers: 0 }
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

/// States that are looked at before what comes after them is put into the graph.
pub(crate) const CHUNK: usize = 1 << 14;
/// States that are worth a thread of their own.
const WORTH_A_THREAD: usize = 1 << 8;

fn attempt(
    system: &mut System<'_>,
    limits: Limits,
    holds: &mut impl FnMut(&System<'_>, u32) -> bool,
    observer: &mut dyn Observer,
) -> Search {
    let first = system.initial();
    let mut search = Search {
        graph: Graph::new(system.columns()),
        wrong: Vec::new(),
        transitions: 0,
        ends: Vec::new(),
        goes_back: false,
        results: Vec::new(),
        limit: None,
    };
    let mut races: FxHashSet<u32> = FxHashSet::default();
    let mut start = Part::new(search.graph.columns());
    start.push(search.graph.columns(), &first, NONE);
    search.graph.insert(&Batch { parts: vec![start] });
    if let Some(number) = system.race.take() {
        races.insert(number);
        search.wrong.push((Wrong::Race { number, thread: usize::MAX }, 0));
    }
    let mut judged: FxHashMap<u32, bool> = FxHashMap::default();
    let most = limits.states.min(Graph::MOST);
    let mut at = 0;
    while at < search.graph.len() && !system.is_broken() && !system.has_all() {
        let end = search.graph.len().min(at + CHUNK);
        let batch = expand(system, &search.graph, at as StateId..end as StateId, limits.workers());
        if system.is_broken() {
            break;
        }
        for part in &batch.parts {
            search.transitions += part.len() as u64;
            for &(state, thread, number) in &part.shown {
                if races.insert(number) {
                    search.wrong.push((Wrong::Race { number, thread }, state));
                }
            }
            for &(state, stopped) in &part.quiet {
                let kind = match stopped {
                    Some(local) => Some(Wrong::Stopped(local)),
                    None => judge(system, &search.graph.state(state), &mut judged, holds),
                };
                if kind != Some(Wrong::Deadlock) {
                    search.ends.push(state);
                }
                kind.into_iter().for_each(|kind| note(&mut search.wrong, kind, state));
            }
        }
        let columns = system.columns();
        if columns != *search.graph.columns() {
            search.graph.widen(columns);
        }
        search.goes_back |= search.graph.insert(&batch);
        at = end;
        observer.progress(search.graph.len(), search.graph.len() - at);
        if search.graph.bytes() + system.bytes() > limits.bytes {
            search.limit = Some(Limit::Bytes(limits.bytes));
            break;
        }
        if search.graph.len() > most {
            search.limit = Some(Limit::States(most));
            break;
        }
    }
    search.results = judged.into_keys().collect();
    search.results.sort_unstable();
    search
}

/// What is wrong with a state in which nobody can take a step and nobody stopped the launch.
fn judge(
    system: &System<'_>,
    state: &[u32],
    judged: &mut FxHashMap<u32, bool>,
    holds: &mut impl FnMut(&System<'_>, u32) -> bool,
) -> Option<Wrong> {
    let over =
        |&local: &u32| matches!(system.local(local).map(|local| local.status), Some(Status::Ended) | None);
    if !state.iter().take(system.threads()).all(over) {
        return Some(Wrong::Deadlock);
    }
    let memory = state.last().copied().unwrap_or(0);
    let right = *judged.entry(memory).or_insert_with(|| holds(system, memory));
    (!right).then_some(Wrong::Expectation)
}

/// The states that follow those of a range. Steps that are known already are looked up by all workers at once; the others are worked
/// out one after the other, in the order of the states, so that the result does not depend on the number of workers.
pub(crate) fn expand(
    system: &mut System<'_>,
    graph: &Graph,
    range: std::ops::Range<StateId>,
    workers: usize,
) -> Batch {
    let workers = workers.min(range.len() / WORTH_A_THREAD).max(1);
    let each = (range.end - range.start).div_ceil(workers as u32).max(1);
    let parts = (range.end - range.start).div_ceil(each) as usize;
    let parts = share(parts, |at| {
        let first = range.start + at as u32 * each;
        look_up(system, graph, first..(first + each).min(range.end))
    });
    let mut batch = Batch { parts };
    let (mut state, mut after) = (Vec::new(), Vec::new());
    let mut late: Vec<Vec<u32>> = Vec::new();
    for part in &mut batch.parts {
        let mut states = Vec::new();
        for &(_, id, thread) in &part.open {
            graph.read(id, &mut state);
            system.advance(&state, thread, &mut after);
            system.sort(&mut after);
            states.extend_from_slice(&after);
            part.shown.extend(system.race.take().map(|number| (id, thread, number)));
        }
        part.shown.sort_unstable();
        late.push(states);
    }
    let columns = system.columns();
    for (part, late) in batch.parts.iter_mut().zip(&late) {
        part.close(late, graph.columns(), &columns);
    }
    batch
}

/// What is known of the states that follow those of a range.
fn look_up(system: &System<'_>, graph: &Graph, range: std::ops::Range<StateId>) -> Part {
    let columns = graph.columns();
    let mut part = Part::new(columns);
    let (mut state, mut after) = (Vec::new(), Vec::new());
    for id in range {
        graph.read(id, &mut state);
        let locals = state.get(..system.threads()).unwrap_or(&[]);
        if let Some(&local) = locals.iter().rfind(|&&local| system.next(local) == Next::Stopped) {
            part.quiet.push((id, Some(local)));
            continue;
        }
        let before = part.len();
        for thread in (0..system.threads()).filter(|&thread| !system.is_twin(&state, thread)) {
            match system.look_up(&state, thread, &mut after) {
                Found::Nothing => {}
                Found::Open => part.leave_open(id, thread),
                Found::Known(shown) => {
                    part.push(columns, &after, id);
                    part.shown.extend(shown.map(|number| (id, thread, number)));
                }
            }
        }
        if part.len() == before {
            part.quiet.push((id, None));
        }
    }
    part
}

fn note(wrong: &mut Vec<(Wrong, StateId)>, kind: Wrong, at: StateId) {
    if !wrong.iter().any(|(known, _)| *known == kind) {
        wrong.push((kind, at));
    }
}
