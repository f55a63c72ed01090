//! Graphs: which streams are captured, what a graph holds when it is instantiated, and its nodes at every launch.
//!
//! The driver is asked for the nodes and edges of a graph, so captured and built graphs are the same thing here. What a
//! capture adds is where each node's call stands in the program.

mod read;

use std::sync::atomic::Ordering;

use rustc_hash::FxHashMap;
use standstill_trace::{Call, Site, Work};

pub use read::{Content, Flat, read};

use crate::api::copies::Copy;
use crate::api::sets::Fill;
use crate::kernels::{Asked, meet};
use crate::layout::{Handle, KernelNode};
use crate::real::driver_function;
use crate::recorder::{State, captures, with};
use crate::streams::Default;

driver_function!(cuStreamGetCaptureInfo_v2(
    stream: Handle,
    status: *mut i32,
    id: *mut u64,
    graph: *mut Handle,
    nodes: *mut *const Handle,
    count: *mut usize,
));

/// `CU_STREAM_CAPTURE_STATUS_ACTIVE`.
const ACTIVE: i32 = 1;

/// A capture begins.
pub fn capture_begins() {
    captures().fetch_add(1, Ordering::Relaxed);
}

/// A capture has ended.
pub fn capture_ended() {
    let _ = captures().fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
}

/// Whether calls of a stream go into a graph; if so, the node that the calling function has added is remembered with
/// where that call stands.
///
/// # Safety
/// The stream is one that the driver has just taken.
#[inline(always)]
pub unsafe fn captured(stream: Handle, default: Default) -> bool {
    // SAFETY: the caller's promise.
    captures().load(Ordering::Relaxed) > 0 && unsafe { is_captured(stream, default) }
}

#[cold]
unsafe fn is_captured(stream: Handle, default: Default) -> bool {
    let (mut status, mut id, mut graph) = (0, 0, std::ptr::null_mut());
    let (mut nodes, mut count) = (std::ptr::null(), 0);
    let stream = default.resolve(stream);
    // SAFETY: the caller's promise, and places for the results.
    let asked = unsafe {
        let (nodes, count) = (&raw mut nodes, &raw mut count);
        cuStreamGetCaptureInfo_v2(stream, &raw mut status, &raw mut id, &raw mut graph, nodes, count)
    };
    if asked != Some(0) || status != ACTIVE {
        return false;
    }
    // A call that adds one node leaves the stream behind that node alone.
    if count == 1 && !nodes.is_null() {
        // SAFETY: as many nodes as the driver says.
        let node: Handle = unsafe { nodes.read() };
        with(|State { trace, graphs, .. }| {
            let site = trace.site();
            graphs.sites.entry(node.addr()).or_insert(site);
        });
    }
    true
}

/// What is kept of graphs.
#[derive(Debug, std::default::Default)]
pub struct Graphs {
    /// Where the calls stand that added nodes.
    sites: FxHashMap<usize, Site>,
    /// Executable graphs: their numbers and what they hold.
    executable: FxHashMap<usize, (u64, Vec<Node>)>,
    next: u64,
}

/// A node of an executable graph.
#[derive(Debug, Clone)]
struct Node {
    handle: usize,
    does: Does,
    after: Vec<usize>,
    site: Site,
}

#[derive(Debug, Clone)]
enum Does {
    Work(Work),
    /// Records an event when the graph is launched.
    Record(usize),
    /// Waits for its most recent record at that moment.
    Wait(usize),
}

/// A node was added by a call of its own, and not by a capture.
pub fn added(node: Handle) {
    with(|State { trace, graphs, .. }| {
        let site = trace.site();
        graphs.sites.insert(node.addr(), site);
    });
}

/// A graph was made executable, or an executable graph was given the contents of another.
///
/// # Safety
/// Both are the driver's.
pub unsafe fn instantiated(executable: Handle, graph: Handle) {
    // SAFETY: the caller's promise.
    let nodes = unsafe { read(graph) };
    with(|state| {
        let nodes: Vec<Node> = nodes.into_iter().map(|node| known(state, node)).collect();
        let graphs = &mut state.graphs;
        graphs.next += 1;
        graphs.executable.insert(executable.addr(), (graphs.next, nodes));
    });
}

/// An executable graph is about to be destroyed.
pub fn destroyed(executable: Handle) {
    with(|state| {
        state.graphs.executable.remove(&executable.addr());
    });
}

fn known(state: &mut State, node: Flat) -> Node {
    let State { trace, memory, kernels, graphs, .. } = state;
    let does = match node.content {
        // SAFETY: the driver gave the parameters of this node.
        Content::Kernel(kernel) => {
            Does::Work(match unsafe { kernels.launch(trace, &asked(&kernel), None) } {
                Some(launch) => Work::Launch { launch },
                None => Work::Kernel { name: String::new(), accesses: Some(Vec::new()) },
            })
        }
        Content::Copy(copy) => Does::Work(Copy::from(&copy).work(memory, true)),
        Content::Fill(fill) => {
            let fill = Fill::new(fill.to, fill.element.into(), fill.width, fill.height, fill.pitch);
            Does::Work(fill.work(memory, false))
        }
        Content::Host => Does::Work(Work::HostFunction { accesses: Some(Vec::new()) }),
        Content::Record(event) => Does::Record(event.addr()),
        Content::Wait(event) => Does::Wait(event.addr()),
        Content::Allocate(address, bytes) => Does::Work(Work::Allocate { address, bytes }),
        Content::Free(address) => Does::Work(Work::Free { address }),
        Content::Values(works) => Does::Work(works.into_iter().next().unwrap_or(Work::Order)),
        Content::Order => Does::Work(Work::Order),
    };
    let site = graphs.sites.get(&node.handle.addr()).copied().unwrap_or_default();
    Node { handle: node.handle.addr(), does, after: node.after, site }
}

/// A kernel's node as a launch.
fn asked(node: &KernelNode) -> Asked {
    Asked {
        function: if node.function.is_null() { node.kernel } else { node.function },
        grid: node.grid,
        block: node.block,
        cluster: [1, 1, 1],
        dynamic_shared: node.dynamic_shared,
        cooperative: false,
        parameters: node.parameters,
        extra: node.extra,
    }
}

/// A kernel's node of an executable graph was given other parameters.
///
/// # Safety
/// The driver has taken them.
pub unsafe fn changed(executable: Handle, node: Handle, to: &KernelNode) {
    let asked = asked(to);
    // SAFETY: the caller's promise.
    unsafe { meet(asked.function) };
    with(|State { trace, kernels, graphs, .. }| {
        let Some((_, nodes)) = graphs.executable.get_mut(&executable.addr()) else { return };
        let found = nodes.iter_mut().find(|known| known.handle == node.addr());
        // SAFETY: the caller's promise.
        if let (Some(found), Some(launch)) = (found, unsafe { kernels.launch(trace, &asked, None) }) {
            found.does = Does::Work(Work::Launch { launch });
        }
    });
}

/// A node of an executable graph that writes and waits for values was given other ones.
pub fn values_changed(executable: Handle, node: Handle, to: Vec<Work>) {
    with(|State { graphs, .. }| {
        let Some((_, nodes)) = graphs.executable.get_mut(&executable.addr()) else { return };
        let found = nodes.iter_mut().filter(|known| known.handle == node.addr());
        found.zip(to).for_each(|(found, work)| found.does = Does::Work(work));
    });
}

/// An executable graph was launched: its nodes are put in.
pub fn launched(executable: Handle, stream: Handle, default: Default) {
    with(|State { trace, numbers, graphs, .. }| {
        let Some((graph, nodes)) = graphs.executable.get(&executable.addr()) else { return };
        let stream = numbers.stream(trace, stream, default);
        let launch = trace.next_operation();
        trace.note(Call::LaunchGraph { operation: launch, stream, graph: *graph });
        let mut operations = Vec::with_capacity(nodes.len());
        let mut last: Vec<bool> = vec![true; nodes.len()];
        for node in nodes {
            let operation = trace.next_operation();
            let mut after: Vec<u64> =
                node.after.iter().filter_map(|at| operations.get(*at).copied()).collect();
            for at in &node.after {
                if let Some(last) = last.get_mut(*at) {
                    *last = false;
                }
            }
            if after.is_empty() {
                after.push(launch);
            }
            let event = |event: usize| std::ptr::without_provenance_mut(event);
            let work = match &node.does {
                Does::Work(work) => work.clone(),
                Does::Record(handle) => match numbers.event(event(*handle)) {
                    Some(event) => {
                        event.record = Some(operation);
                        Work::Record { event: event.number }
                    }
                    None => Work::Order,
                },
                Does::Wait(handle) => {
                    after.extend(numbers.event(event(*handle)).and_then(|event| event.record));
                    Work::Order
                }
            };
            let site = if node.site == 0 { trace.site() } else { node.site };
            trace.note_at(site, Call::SubmitNode { operation, stream, work, launch, after });
            operations.push(operation);
        }
        let ends = operations.iter().zip(&last).filter(|(_, last)| **last).map(|(operation, _)| *operation);
        let mut ends: Vec<u64> = ends.collect();
        if ends.is_empty() {
            ends.push(launch);
        }
        let operation = trace.next_operation();
        trace.note(Call::EndGraph { operation, stream, launch, last: ends });
    });
}
