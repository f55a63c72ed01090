//! Building graphs node by node, and looking at them.

use std::ffi::c_int;
use std::sync::Arc;

use standstill_cuda_driver::Status;
use standstill_cuda_driver::operation::{Launch, Work};

use super::capture::node_numbers;
use super::execute::free_memory;
use super::{Content, Graph, table};
use crate::call::{Result, export, put};
use crate::copies::{fill, flat, prepare, solid, symbol};
use crate::events::event;
use crate::handles::{Kind, decode, encode};
use crate::launches::{Wish, prepare as prepare_launch};
use crate::layout::{
    ConstPointer, EventHandle, ExecHandle, GraphHandle, HostNodeParams, KernelNodeParams, Memcpy3DParms,
    MemsetParams, NodeHandle, Pointer,
};
use crate::memory::read;
use crate::runtime::version;
use crate::streams::host_call;

const NODE_KERNEL: c_int = 0;
const NODE_COPY: c_int = 1;
const NODE_SET: c_int = 2;
const NODE_HOST: c_int = 3;
const NODE_GRAPH: c_int = 4;
const NODE_EMPTY: c_int = 5;
const NODE_WAIT: c_int = 6;
const NODE_RECORD: c_int = 7;
const NODE_ALLOCATE: c_int = 10;
const NODE_FREE: c_int = 11;

fn add(
    node: *mut NodeHandle,
    graph: GraphHandle,
    after: *const NodeHandle,
    count: usize,
    content: Content,
) -> Result {
    let after = node_numbers(after, count)?;
    let mut graphs = table();
    let (number, _) = graphs.graph(graph)?;
    let added = graphs.add_node(number, content, after)?;
    // SAFETY: the program's pointer for the result.
    unsafe { put(node, encode(Kind::Node, added)) }
}

fn kernel_work(parameters: *const KernelNodeParams) -> Result<Work> {
    let parameters = read(parameters)?;
    let wish = Wish {
        grid: parameters.grid.extents(),
        block: parameters.block.extents(),
        cluster: None,
        dynamic_shared: parameters.dynamic_shared as usize,
        cooperative: false,
    };
    // SAFETY: the program vouches for its arguments, as the CUDA Runtime API asks.
    let launch: Launch = unsafe { prepare_launch(parameters.func, &wish, parameters.kernel_params)? };
    Ok(Work::Launch(Arc::new(launch)))
}

fn copy_work(request: &crate::copies::Request) -> Result<Work> {
    Ok(prepare(request)?.map_or(Work::Order, |prepared| Work::Copy(prepared.copy)))
}

fn set_work(parameters: *const MemsetParams) -> Result<Work> {
    let p = read(parameters)?;
    if !matches!(p.element_size, 1 | 2 | 4) {
        return Err(Status::InvalidValue);
    }
    let element = u64::from(p.element_size);
    let width = (p.width as u64).saturating_mul(element);
    let made = fill(p.dst, p.pitch, p.value, element, width, p.height as u64)?;
    Ok(made.map_or(Work::Order, |(fill, _)| Work::Fill(fill)))
}

fn host_work(parameters: *const HostNodeParams) -> Result<Work> {
    let parameters = read(parameters)?;
    Ok(Work::Host(host_call(parameters.function, parameters.user_data)?))
}

/// Gives a node of a graph, or of an instantiated one, other work of the same kind.
fn replace(exec: Option<ExecHandle>, node: NodeHandle, work: Work) -> Result {
    let number = decode(Kind::Node, node).map_err(|_| Status::InvalidValue)?;
    let mut graphs = table();
    let node = match exec {
        Some(exec) => graphs.exec(exec)?.graph.nodes.get_mut(&number).ok_or(Status::InvalidValue)?,
        None => graphs.node(node)?.1,
    };
    match &mut node.content {
        Content::Work(old) if old.word() == work.word() => {
            *old = work;
            Ok(())
        }
        _ => Err(Status::InvalidValue),
    }
}

fn kind_of(content: &Content) -> c_int {
    match content {
        Content::Child(_) => NODE_GRAPH,
        Content::WaitEvent(_) => NODE_WAIT,
        Content::Work(work) => match work {
            Work::Launch(_) => NODE_KERNEL,
            Work::Copy(_) => NODE_COPY,
            Work::Fill(_) => NODE_SET,
            Work::Host(_) => NODE_HOST,
            Work::Order => NODE_EMPTY,
            Work::Record(_) => NODE_RECORD,
            Work::Allocate { .. } => NODE_ALLOCATE,
            Work::Free { .. } => NODE_FREE,
        },
    }
}

/// Answers with handles: as many as there is room for, and how many there are.
fn answer(handles: &[NodeHandle], into: *mut NodeHandle, count: *mut usize) -> Result {
    let room = read(count.cast_const())?;
    if into.is_null() {
        // SAFETY: the program's pointer for the result.
        return unsafe { put(count, handles.len()) };
    }
    for index in 0..room {
        let handle = handles.get(index).copied().unwrap_or(std::ptr::null_mut());
        // SAFETY: the program says that there is room for so many.
        unsafe { put(into.add(index), handle)? };
    }
    // SAFETY: the program's pointer for the result.
    unsafe { put(count, handles.len().min(room)) }
}

fn handles(numbers: impl IntoIterator<Item = u64>) -> Vec<NodeHandle> {
    numbers.into_iter().map(|number| encode(Kind::Node, number)).collect()
}

/// The fifth parameter of the functions on edges is the count before CUDA 13, edge data from then on.
fn count_of(fourth: usize, fifth: usize) -> usize {
    if version() < 13_000 { fourth } else { fifth }
}

fn edges(
    graph: GraphHandle,
    from: *const NodeHandle,
    to: *const NodeHandle,
    count: usize,
    add: bool,
) -> Result {
    let (from, to) = (node_numbers(from, count)?, node_numbers(to, count)?);
    let mut graphs = table();
    let (_, graph) = graphs.graph(graph)?;
    for (from, to) in from.into_iter().zip(to) {
        if !graph.nodes.contains_key(&from) {
            return Err(Status::InvalidValue);
        }
        let node = graph.nodes.get_mut(&to).ok_or(Status::InvalidValue)?;
        let there = node.after.contains(&from);
        match (add, there) {
            (true, false) => node.after.push(from),
            (false, true) => node.after.retain(|before| *before != from),
            _ => return Err(Status::InvalidValue),
        }
    }
    Ok(())
}

export! {
    enter fn cudaGraphCreate(graph: *mut GraphHandle, _flags: u32) {
        let number = table().add_graph(Graph::default());
        // SAFETY: the program's pointer for the result.
        unsafe { put(graph, encode(Kind::Graph, number)) }
    }

    enter fn cudaGraphDestroy(graph: GraphHandle) {
        let mut graphs = table();
        let (number, _) = graphs.graph(graph)?;
        let gone = graphs.graphs.remove(&number);
        graphs.nodes.retain(|_, graph| *graph != number);
        drop(graphs);
        gone.map_or(Ok(()), |gone| free_memory(&gone))
    }

    enter fn cudaGraphClone(clone: *mut GraphHandle, graph: GraphHandle) {
        let mut graphs = table();
        let copy = graphs.graph(graph)?.1.clone();
        let mut names = std::collections::HashMap::new();
        for number in copy.nodes.keys() {
            names.insert(*number, graphs.number());
        }
        let rename = |number: &u64| names.get(number).copied().unwrap_or(*number);
        let nodes = copy.nodes.iter().map(|(number, node)| {
            let mut node = node.clone();
            node.after = node.after.iter().map(rename).collect();
            (rename(number), node)
        });
        let nodes = nodes.collect();
        let number = graphs.add_graph(Graph { nodes });
        // SAFETY: the program's pointer for the result.
        unsafe { put(clone, encode(Kind::Graph, number)) }
    }

    enter fn cudaGraphAddKernelNode(
        node: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize,
        parameters: *const KernelNodeParams,
    ) {
        add(node, graph, after, count, Content::Work(kernel_work(parameters)?))
    }

    enter fn cudaGraphKernelNodeSetParams(node: NodeHandle, parameters: *const KernelNodeParams) {
        replace(None, node, kernel_work(parameters)?)
    }

    enter fn cudaGraphExecKernelNodeSetParams(
        exec: ExecHandle, node: NodeHandle, parameters: *const KernelNodeParams,
    ) {
        replace(Some(exec), node, kernel_work(parameters)?)
    }

    enter fn cudaGraphAddMemcpyNode(
        node: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize,
        parameters: *const Memcpy3DParms,
    ) {
        add(node, graph, after, count, Content::Work(copy_work(&solid(&read(parameters)?)?)?))
    }

    enter fn cudaGraphMemcpyNodeSetParams(node: NodeHandle, parameters: *const Memcpy3DParms) {
        replace(None, node, copy_work(&solid(&read(parameters)?)?)?)
    }

    enter fn cudaGraphExecMemcpyNodeSetParams(
        exec: ExecHandle, node: NodeHandle, parameters: *const Memcpy3DParms,
    ) {
        replace(Some(exec), node, copy_work(&solid(&read(parameters)?)?)?)
    }

    enter fn cudaGraphAddMemcpyNode1D(
        node: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize,
        to: Pointer, from: ConstPointer, bytes: usize, kind: c_int,
    ) {
        add(node, graph, after, count, Content::Work(copy_work(&flat(to, from, bytes, kind))?))
    }

    enter fn cudaGraphMemcpyNodeSetParams1D(
        node: NodeHandle, to: Pointer, from: ConstPointer, bytes: usize, kind: c_int,
    ) {
        replace(None, node, copy_work(&flat(to, from, bytes, kind))?)
    }

    enter fn cudaGraphExecMemcpyNodeSetParams1D(
        exec: ExecHandle, node: NodeHandle, to: Pointer, from: ConstPointer, bytes: usize, kind: c_int,
    ) {
        replace(Some(exec), node, copy_work(&flat(to, from, bytes, kind))?)
    }

    enter fn cudaGraphAddMemcpyNodeToSymbol(
        node: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize,
        to: ConstPointer, from: ConstPointer, bytes: usize, offset: usize, kind: c_int,
    ) {
        let request = flat(symbol(to, offset, bytes)?, from, bytes, kind);
        add(node, graph, after, count, Content::Work(copy_work(&request)?))
    }

    enter fn cudaGraphAddMemcpyNodeFromSymbol(
        node: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize,
        to: Pointer, from: ConstPointer, bytes: usize, offset: usize, kind: c_int,
    ) {
        let request = flat(to, symbol(from, offset, bytes)?, bytes, kind);
        add(node, graph, after, count, Content::Work(copy_work(&request)?))
    }

    enter fn cudaGraphAddMemsetNode(
        node: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize,
        parameters: *const MemsetParams,
    ) {
        add(node, graph, after, count, Content::Work(set_work(parameters)?))
    }

    enter fn cudaGraphMemsetNodeSetParams(node: NodeHandle, parameters: *const MemsetParams) {
        replace(None, node, set_work(parameters)?)
    }

    enter fn cudaGraphExecMemsetNodeSetParams(
        exec: ExecHandle, node: NodeHandle, parameters: *const MemsetParams,
    ) {
        replace(Some(exec), node, set_work(parameters)?)
    }

    enter fn cudaGraphAddHostNode(
        node: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize,
        parameters: *const HostNodeParams,
    ) {
        add(node, graph, after, count, Content::Work(host_work(parameters)?))
    }

    enter fn cudaGraphHostNodeSetParams(node: NodeHandle, parameters: *const HostNodeParams) {
        replace(None, node, host_work(parameters)?)
    }

    enter fn cudaGraphExecHostNodeSetParams(
        exec: ExecHandle, node: NodeHandle, parameters: *const HostNodeParams,
    ) {
        replace(Some(exec), node, host_work(parameters)?)
    }

    enter fn cudaGraphAddChildGraphNode(
        node: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, child: GraphHandle,
    ) {
        let child = table().graph(child)?.1.clone();
        add(node, graph, after, count, Content::Child(child))
    }

    enter fn cudaGraphAddEmptyNode(
        node: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize,
    ) {
        add(node, graph, after, count, Content::Work(Work::Order))
    }

    enter fn cudaGraphAddEventRecordNode(
        node: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, handle: EventHandle,
    ) {
        add(node, graph, after, count, Content::Work(Work::Record(event(handle)?)))
    }

    enter fn cudaGraphAddEventWaitNode(
        node: *mut NodeHandle, graph: GraphHandle, after: *const NodeHandle, count: usize, handle: EventHandle,
    ) {
        add(node, graph, after, count, Content::WaitEvent(event(handle)?))
    }

    enter fn cudaGraphDestroyNode(node: NodeHandle) {
        let mut graphs = table();
        let (number, _) = graphs.node(node)?;
        let graph = graphs.nodes.remove(&number).ok_or(Status::InvalidValue)?;
        if let Some(graph) = graphs.graphs.get_mut(&graph) {
            graph.nodes.remove(&number);
            for other in graph.nodes.values_mut() {
                other.after.retain(|before| *before != number);
            }
        }
        Ok(())
    }

    enter fn cudaGraphNodeGetType(node: NodeHandle, kind: *mut c_int) {
        let found = kind_of(&table().node(node)?.1.content);
        // SAFETY: the program's pointer for the result.
        unsafe { put(kind, found) }
    }

    enter fn cudaGraphGetNodes(graph: GraphHandle, nodes: *mut NodeHandle, count: *mut usize) {
        let found = handles(table().graph(graph)?.1.nodes.keys().copied());
        answer(&found, nodes, count)
    }

    enter fn cudaGraphGetRootNodes(graph: GraphHandle, nodes: *mut NodeHandle, count: *mut usize) {
        let mut graphs = table();
        let all = graphs.graph(graph)?.1.nodes.iter();
        let found = handles(all.filter(|(_, node)| node.after.is_empty()).map(|(number, _)| *number));
        answer(&found, nodes, count)
    }

    enter fn cudaGraphAddDependencies(
        graph: GraphHandle, from: *const NodeHandle, to: *const NodeHandle, fourth: usize, fifth: usize,
    ) {
        edges(graph, from, to, count_of(fourth, fifth), true)
    }

    enter fn cudaGraphAddDependencies_v2(
        graph: GraphHandle, from: *const NodeHandle, to: *const NodeHandle, _data: ConstPointer, count: usize,
    ) {
        edges(graph, from, to, count, true)
    }

    enter fn cudaGraphRemoveDependencies(
        graph: GraphHandle, from: *const NodeHandle, to: *const NodeHandle, fourth: usize, fifth: usize,
    ) {
        edges(graph, from, to, count_of(fourth, fifth), false)
    }

    enter fn cudaGraphRemoveDependencies_v2(
        graph: GraphHandle, from: *const NodeHandle, to: *const NodeHandle, _data: ConstPointer, count: usize,
    ) {
        edges(graph, from, to, count, false)
    }

    enter fn cudaGraphGetEdges(
        graph: GraphHandle, from: *mut NodeHandle, to: *mut NodeHandle, fourth: *mut usize, fifth: *mut usize,
    ) {
        let count = if version() < 13_000 { fourth } else { fifth };
        let (starts, ends): (Vec<u64>, Vec<u64>) = {
            let mut graphs = table();
            let all = graphs.graph(graph)?.1.nodes.iter();
            all.flat_map(|(to, node)| node.after.iter().map(move |from| (*from, *to))).unzip()
        };
        let room = read(count.cast_const())?;
        answer(&handles(starts), from, count)?;
        if !to.is_null() {
            // SAFETY: the program's pointer, whose value is asked for twice.
            unsafe { put(count, room)? };
            answer(&handles(ends), to, count)?;
        }
        Ok(())
    }

    enter fn cudaGraphNodeGetDependencies(
        node: NodeHandle, into: *mut NodeHandle, third: *mut usize, fourth: *mut usize,
    ) {
        let found = handles(table().node(node)?.1.after.iter().copied());
        answer(&found, into, if version() < 13_000 { third } else { fourth })
    }

    enter fn cudaGraphNodeGetDependentNodes(
        node: NodeHandle, into: *mut NodeHandle, third: *mut usize, fourth: *mut usize,
    ) {
        let mut graphs = table();
        let (number, _) = graphs.node(node)?;
        let graph = graphs.nodes.get(&number).copied().ok_or(Status::InvalidValue)?;
        let all = graphs.graphs.get(&graph).into_iter().flat_map(|graph| &graph.nodes);
        let found = handles(all.filter(|(_, other)| other.after.contains(&number)).map(|(other, _)| *other));
        answer(&found, into, if version() < 13_000 { third } else { fourth })
    }
}
