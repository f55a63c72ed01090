//! Capturing streams into graphs (CUDA C++ Programming Guide, «Creating a Graph Using Stream Capture»).

use std::ffi::c_int;

use standstill_cuda_driver::operation::{EventId, StreamId, Work};
use standstill_cuda_driver::{Status, StreamKind};

use super::{Capture, Content, Graph, Graphs, table};
use crate::call::{Result, export, export_both, put};
use crate::handles::{Kind, decode, encode};
use crate::layout::{ConstPointer, GraphHandle, NodeHandle, StreamHandle};
use crate::runtime::runtime;
use crate::streams::resolve;

const ACTIVE: c_int = 1;
const INVALIDATED: c_int = 2;
const LAST_MODE: c_int = 2;

impl Graphs {
    fn invalidate(&mut self, sequence: u64) {
        for capture in self.captures.values_mut().filter(|capture| capture.sequence == sequence) {
            capture.valid = false;
        }
    }
}

/// Whether the stream's calls go into a graph.
pub fn is_capturing(stream: StreamId) -> bool {
    table().captures.contains_key(&stream)
}

/// Puts work into the graph that the stream is captured into; gives it back when the stream is not captured.
pub fn capture(stream: StreamId, work: Work) -> Result<Option<Work>> {
    let mut graphs = table();
    if stream == StreamId::LEGACY {
        refuse_legacy(&mut graphs)?;
    }
    let Some(capture) = graphs.captures.get(&stream) else { return Ok(Some(work)) };
    if !capture.valid {
        return Err(Status::StreamCaptureInvalidated);
    }
    let (graph, leaves) = (capture.graph, capture.leaves.clone());
    let node = graphs.add_node(graph, Content::Work(work), leaves)?;
    if let Some(capture) = graphs.captures.get_mut(&stream) {
        capture.leaves = vec![node];
    }
    Ok(None)
}

/// The legacy default stream would wait for every captured blocking stream.
fn refuse_legacy(graphs: &mut Graphs) -> Result {
    let machine = runtime().machine()?;
    let blocking = |stream: &StreamId| machine.stream_kind(*stream).is_some_and(StreamKind::is_blocking);
    let captured = graphs.captures.iter().find(|(stream, _)| blocking(stream));
    if let Some(sequence) = captured.map(|(_, capture)| capture.sequence) {
        graphs.invalidate(sequence);
        return Err(Status::StreamCaptureImplicit);
    }
    Ok(())
}

/// A call that cannot be captured invalidates the capture of its stream.
pub fn refuse_capture(stream: StreamId) -> Result {
    let mut graphs = table();
    if stream == StreamId::LEGACY && !graphs.captures.is_empty() {
        refuse_legacy(&mut graphs)?;
    }
    let Some(sequence) = graphs.captures.get(&stream).map(|capture| capture.sequence) else { return Ok(()) };
    graphs.invalidate(sequence);
    Err(Status::StreamCaptureUnsupported)
}

/// A call that concerns every stream cannot be made while one is captured.
pub fn refuse_any_capture() -> Result {
    let mut graphs = table();
    let Some(sequence) = graphs.captures.values().next().map(|capture| capture.sequence) else {
        return Ok(());
    };
    graphs.invalidate(sequence);
    Err(Status::StreamCaptureUnsupported)
}

/// Events of captures cannot be asked about.
pub fn refuse_captured_event(event: EventId) -> Result {
    match table().captured_events.contains_key(&event) {
        true => Err(Status::CapturedEvent),
        false => Ok(()),
    }
}

/// Records an event in a captured stream; `false` when the stream is not captured.
pub fn record_captured(stream: StreamId, event: EventId) -> Result<bool> {
    let mut graphs = table();
    let Some(capture) = graphs.captures.get(&stream) else {
        graphs.captured_events.remove(&event);
        return Ok(false);
    };
    if !capture.valid {
        return Err(Status::StreamCaptureInvalidated);
    }
    let recorded = (capture.sequence, capture.leaves.clone());
    graphs.captured_events.insert(event, recorded);
    Ok(true)
}

/// Makes a stream wait for an event of a capture, which takes the stream into the capture; `false` when the event
/// is of none.
pub fn wait_captured(stream: StreamId, event: EventId) -> Result<bool> {
    let mut graphs = table();
    let own = graphs.captures.get(&stream).map(|capture| capture.sequence);
    let Some((sequence, nodes)) = graphs.captured_events.get(&event).cloned() else {
        if let Some(own) = own {
            let recorded = runtime().machine()?.was_recorded(event);
            if recorded {
                graphs.invalidate(own);
                return Err(Status::StreamCaptureIsolation);
            }
            return Ok(true);
        }
        return Ok(false);
    };
    if own.is_some_and(|own| own != sequence) {
        graphs.invalidate(sequence);
        return Err(Status::StreamCaptureMerge);
    }
    if stream == StreamId::LEGACY {
        graphs.invalidate(sequence);
        return Err(Status::StreamCaptureImplicit);
    }
    let Some(graph) = graphs.captures.values().find(|c| c.sequence == sequence).map(|c| c.graph) else {
        return Err(Status::CapturedEvent);
    };
    let capture = graphs.captures.entry(stream).or_insert(Capture {
        sequence,
        graph,
        leaves: Vec::new(),
        origin: false,
        valid: true,
    });
    for node in nodes {
        if !capture.leaves.contains(&node) {
            capture.leaves.push(node);
        }
    }
    Ok(true)
}

fn begin(stream: StreamId, mode: c_int, graph: Option<u64>, leaves: Vec<u64>) -> Result {
    if !(0..=LAST_MODE).contains(&mode) {
        return Err(Status::InvalidValue);
    }
    if stream == StreamId::LEGACY {
        return Err(Status::StreamCaptureUnsupported);
    }
    let mut graphs = table();
    if graphs.captures.contains_key(&stream) {
        return Err(Status::IllegalState);
    }
    let graph = graph.unwrap_or_else(|| graphs.add_graph(Graph::default()));
    let sequence = graphs.number();
    graphs.captures.insert(stream, Capture { sequence, graph, leaves, origin: true, valid: true });
    Ok(())
}

fn end(stream: StreamId) -> Result<u64> {
    let mut graphs = table();
    let Some(capture) = graphs.captures.get(&stream).cloned() else { return Err(Status::IllegalState) };
    if !capture.origin {
        graphs.invalidate(capture.sequence);
        return Err(Status::StreamCaptureUnmatched);
    }
    let joined =
        graphs.captures.iter().filter(|(other, c)| **other != stream && c.sequence == capture.sequence);
    // A stream that was taken in must have been joined: nothing of it may be left behind.
    let reached = |node: &u64| {
        let graph = graphs.graphs.get(&capture.graph);
        let waited = graph.is_some_and(|graph| graph.nodes.values().any(|other| other.after.contains(node)));
        waited || capture.leaves.contains(node)
    };
    let unjoined = joined.into_iter().any(|(_, other)| !other.leaves.iter().all(reached));
    graphs.captures.retain(|_, other| other.sequence != capture.sequence);
    graphs.captured_events.retain(|_, (sequence, _)| *sequence != capture.sequence);
    if !capture.valid || unjoined {
        graphs.graphs.remove(&capture.graph);
        return Err(if unjoined { Status::StreamCaptureUnjoined } else { Status::StreamCaptureInvalidated });
    }
    Ok(capture.graph)
}

fn status_of(stream: StreamId) -> c_int {
    match table().captures.get(&stream) {
        None => 0,
        Some(capture) if capture.valid => ACTIVE,
        Some(_) => INVALIDATED,
    }
}

/// Where the answers of `cudaStreamGetCaptureInfo` go; all but the first may be null.
struct Answers {
    status: *mut c_int,
    id: *mut u64,
    graph: *mut GraphHandle,
    nodes: *mut *const NodeHandle,
    edges: *mut ConstPointer,
    count: *mut usize,
}

fn info(stream: StreamId, answers: &Answers) -> Result {
    let capture = table().captures.get(&stream).cloned();
    // SAFETY: the program's pointers for the results.
    unsafe {
        put(answers.status, status_of(stream))?;
        let Some(capture) = capture else { return Ok(()) };
        if !answers.id.is_null() {
            put(answers.id, capture.sequence)?;
        }
        if !answers.graph.is_null() {
            put(answers.graph, encode(Kind::Graph, capture.graph))?;
        }
        if !answers.edges.is_null() {
            put(answers.edges, std::ptr::null())?;
        }
        let handles: Vec<NodeHandle> = capture.leaves.iter().map(|node| encode(Kind::Node, *node)).collect();
        if !answers.count.is_null() {
            put(answers.count, handles.len())?;
        }
        if !answers.nodes.is_null() {
            // Valid until the next call that concerns the stream; what that costs is never given back.
            put(answers.nodes, Box::leak(handles.into_boxed_slice()).as_ptr())?;
        }
    }
    Ok(())
}

/// Handles of nodes that a program passes as an array.
pub(super) fn node_numbers(nodes: *const NodeHandle, count: usize) -> Result<Vec<u64>> {
    if count > 0 && nodes.is_null() {
        return Err(Status::InvalidValue);
    }
    (0..count)
        .map(|index| {
            // SAFETY: the program passes as many handles as it says.
            let handle = unsafe { nodes.add(index).read() };
            decode(Kind::Node, handle).map_err(|_| Status::InvalidValue)
        })
        .collect()
}

export_both! {
    fn cudaStreamBeginCapture / cudaStreamBeginCapture_ptsz(stream: StreamHandle, mode: c_int) [default] {
        begin(resolve(stream, default)?, mode, None, Vec::new())
    }

    fn cudaStreamBeginCaptureToGraph / cudaStreamBeginCaptureToGraph_ptsz(
        stream: StreamHandle, graph: GraphHandle, nodes: *const NodeHandle, _edges: ConstPointer,
        count: usize, mode: c_int,
    ) [default] {
        let stream = resolve(stream, default)?;
        let leaves = node_numbers(nodes, count)?;
        let (number, _) = { let mut graphs = table(); let (number, _) = graphs.graph(graph)?; (number, ()) };
        begin(stream, mode, Some(number), leaves)
    }

    fn cudaStreamEndCapture / cudaStreamEndCapture_ptsz(
        stream: StreamHandle, graph: *mut GraphHandle,
    ) [default] {
        let result = end(resolve(stream, default)?);
        // SAFETY: the program's pointer for the result.
        unsafe {
            match result {
                Ok(number) => put(graph, encode(Kind::Graph, number)),
                Err(status) => {
                    put(graph, std::ptr::null_mut())?;
                    Err(status)
                }
            }
        }
    }

    fn cudaStreamIsCapturing / cudaStreamIsCapturing_ptsz(stream: StreamHandle, status: *mut c_int) [default] {
        let stream = resolve(stream, default)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(status, status_of(stream)) }
    }

    fn cudaStreamGetCaptureInfo / cudaStreamGetCaptureInfo_ptsz(
        stream: StreamHandle, status: *mut c_int, id: *mut u64, graph: *mut GraphHandle,
        nodes: *mut *const NodeHandle, edges: *mut ConstPointer, count: *mut usize,
    ) [default] {
        info(resolve(stream, default)?, &Answers { status, id, graph, nodes, edges, count })
    }

    fn cudaStreamGetCaptureInfo_v3 / cudaStreamGetCaptureInfo_v3_ptsz(
        stream: StreamHandle, status: *mut c_int, id: *mut u64, graph: *mut GraphHandle,
        nodes: *mut *const NodeHandle, edges: *mut ConstPointer, count: *mut usize,
    ) [default] {
        info(resolve(stream, default)?, &Answers { status, id, graph, nodes, edges, count })
    }

    fn cudaStreamGetCaptureInfo_v2 / cudaStreamGetCaptureInfo_v2_ptsz(
        stream: StreamHandle, status: *mut c_int, id: *mut u64, graph: *mut GraphHandle,
        nodes: *mut *const NodeHandle, count: *mut usize,
    ) [default] {
        let edges = std::ptr::null_mut();
        info(resolve(stream, default)?, &Answers { status, id, graph, nodes, edges, count })
    }
}

export! {
    enter fn cudaThreadExchangeStreamCaptureMode(mode: *mut c_int) {
        // Calls that some modes refuse are let through by all.
        // SAFETY: the program's pointer for the result.
        unsafe { put(mode, 0) }
    }
}
