//! Breadth-first search over all states: the first state in which something is wrong is reached by the fewest steps.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::batch::{Batch, Part};
use crate::graph::{Graph, NONE, StateId};
use crate::room;
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

impl Search {
    fn tell(&mut self, told: &mut FxHashSet<Wrong>, kind: Wrong, at: StateId) {
        let first = match kind {
            // Whose step shows it does not count.
            Wrong::Race { number, .. } => Wrong::Race { number, thread: 0 },
            other => other,
        };
        if told.insert(first) {
            self.wrong.push((kind, at));
        }
    }
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

/// States that are looked at before what comes after them is put into the graph, at most.
const CHUNK: usize = 1 << 14;
/// Steps that are worth a thread of their own.
const WORTH_A_THREAD: usize = 1 << 10;
/// The part of all memory that may hold states that are not yet in the graph, and the most that it may be.
const WAITING_PART: usize = 16;
const MOST_WAITING: usize = 64 << 20;

impl Limits {
    /// How many states are looked at before what comes after them is put into the graph, so that it does not take too much. It does not
    /// depend on the number of workers.
    pub(crate) fn chunk(&self, system: &System<'_>, graph: &Graph) -> usize {
        let waiting = (self.bytes / WAITING_PART).min(MOST_WAITING);
        (waiting / row_bytes(system, graph) / system.threads().max(1)).clamp(1, CHUNK)
    }
}

/// Bytes of a state that is not yet in the graph: its row twice, as the list of them grows, once more as numbers, and what finds it.
fn row_bytes(system: &System<'_>, graph: &Graph) -> usize {
    2 * graph.columns().width() + 4 * system.threads() + 64
}

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
    let mut told: FxHashSet<Wrong> = FxHashSet::default();
    let mut start = Part::new(search.graph.columns());
    start.push(search.graph.columns(), &first, NONE);
    search.graph.insert(&Batch { parts: vec![start], is_cut: false });
    if let Some(number) = system.race.take() {
        search.tell(&mut told, Wrong::Race { number, thread: usize::MAX }, 0);
    }
    let mut judged: FxHashMap<u32, bool> = FxHashMap::default();
    let most = limits.states.min(Graph::MOST);
    let mut at = 0;
    while at < search.graph.len() && !system.is_broken() && !system.has_all() {
        let end = search.graph.len().min(at + limits.chunk(system, &search.graph));
        let batch = expand(system, &search.graph, at as StateId..end as StateId, limits);
        if system.is_broken() {
            break;
        }
        for part in &batch.parts {
            search.transitions += part.len() as u64;
            for &(state, thread, number) in &part.shown {
                search.tell(&mut told, Wrong::Race { number, thread }, state);
            }
            for &(state, stopped) in &part.quiet {
                let kind = match stopped {
                    Some(local) => Some(Wrong::Stopped(local)),
                    None => judge(system, &search.graph.state(state), &mut judged, holds),
                };
                if kind != Some(Wrong::Deadlock) {
                    search.ends.push(state);
                }
                kind.into_iter().for_each(|kind| search.tell(&mut told, kind, state));
            }
        }
        let columns = system.columns();
        let beside = search.ends.capacity() * size_of::<StateId>()
            + room::table(judged.len(), judged.capacity(), size_of::<(u32, bool)>())
            + told.capacity() * size_of::<(Wrong, Wrong, StateId)>();
        let bytes = search.graph.bytes() + search.graph.growth(&batch, &columns) + system.bytes() + beside;
        if batch.is_cut || bytes + batch.len() * row_bytes(system, &search.graph) > limits.bytes {
            search.limit = Some(Limit::Bytes(limits.bytes));
            break;
        }
        if columns != *search.graph.columns() {
            search.graph.widen(columns);
        }
        search.goes_back |= search.graph.insert(&batch);
        at = end;
        observer.progress(search.graph.len(), search.graph.len() - at);
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

/// The states that follow those of a range, or some of them where there is no room for more. Steps that are known already are looked up by all workers at once; the others are worked
/// out one after the other, in the order of the states, so that the result does not depend on the number of workers.
pub(crate) fn expand(
    system: &mut System<'_>,
    graph: &Graph,
    range: std::ops::Range<StateId>,
    limits: Limits,
) -> Batch {
    let steps = range.len() * system.threads();
    let workers = limits.workers().min(steps / WORTH_A_THREAD).clamp(1, range.len().max(1));
    let each = (range.end - range.start).div_ceil(workers as u32).max(1);
    let parts = (range.end - range.start).div_ceil(each) as usize;
    let parts = share(parts, |at| {
        let first = range.start + at as u32 * each;
        look_up(system, graph, first..(first + each).min(range.end))
    });
    let mut batch = Batch { parts, is_cut: false };
    let (mut state, mut after) = (Vec::new(), Vec::new());
    let mut late: Vec<Vec<u32>> = Vec::new();
    let room = limits.bytes.saturating_sub(graph.bytes() + batch.len() * row_bytes(system, graph));
    for part in &mut batch.parts {
        let mut states = Vec::new();
        for &(_, id, thread) in &part.open {
            if system.bytes() > room {
                batch.is_cut = true;
                break;
            }
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
