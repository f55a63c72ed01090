//! Instantiating and launching graphs.

use std::collections::HashMap;
use std::ffi::c_int;

use standstill_cuda_driver::operation::{OperationId, StreamId, Work};
use standstill_cuda_driver::{CallSite, Status};

use super::capture::{is_capturing, refuse_capture};
use super::{Content, Exec, Graph, table};
use crate::call::{Result, export, export_both, put};
use crate::handles::{Kind, decode, encode};
use crate::layout::{ExecHandle, GraphHandle, NodeHandle, StreamHandle};
use crate::runtime::runtime;
use crate::streams::resolve;

fn instantiate(exec: *mut ExecHandle, handle: GraphHandle) -> Result {
    let mut graphs = table();
    let graph = graphs.graph(handle)?.1.clone();
    if graph.in_order().is_none() {
        return Err(Status::InvalidValue);
    }
    let number = graphs.number();
    graphs.execs.insert(number, Exec { graph });
    // SAFETY: the program's pointer for the result.
    unsafe { put(exec, encode(Kind::Exec, number)) }
}

/// Submits the nodes of a launched graph behind `before`; gives the operations that nothing in it comes behind.
fn submit(
    graph: &Graph,
    stream: StreamId,
    launch: OperationId,
    before: &[OperationId],
) -> Result<Vec<OperationId>> {
    let machine = runtime().machine()?;
    let mut ends: HashMap<u64, Vec<OperationId>> = HashMap::new();
    for number in graph.in_order().ok_or(Status::InvalidValue)? {
        let Some(node) = graph.nodes.get(&number) else { continue };
        let own: Vec<OperationId> =
            node.after.iter().filter_map(|n| ends.get(n)).flatten().copied().collect();
        let behind = if node.after.is_empty() { before } else { &own };
        let put =
            |work: Work, behind: &[OperationId]| machine.submit_node(stream, work, node.site, launch, behind);
        let end = match &node.content {
            Content::Child(child) if node.enabled => submit(child, stream, launch, behind)?,
            Content::Work(work) if node.enabled => vec![put(work.clone(), behind)?],
            Content::WaitEvent(event) if node.enabled => {
                let record = machine.pending_record(*event);
                let all: Vec<OperationId> = behind.iter().copied().chain(record).collect();
                vec![put(Work::Order, &all)?]
            }
            _ => vec![put(Work::Order, behind)?],
        };
        ends.insert(number, end);
    }
    let leaves = graph.leaves();
    let last: Vec<OperationId> = leaves.iter().filter_map(|leaf| ends.get(leaf)).flatten().copied().collect();
    Ok(if graph.nodes.is_empty() { before.to_vec() } else { last })
}

fn launch(handle: ExecHandle, stream: StreamId) -> Result {
    let number = decode(Kind::Exec, handle).map_err(|_| Status::InvalidValue)?;
    let graph = table().exec(handle)?.graph.clone();
    if is_capturing(stream) {
        return refuse_capture(stream);
    }
    let machine = runtime().machine()?;
    let start = machine.launch_graph(stream, number)?;
    let ends = submit(&graph, stream, start, &[start])?;
    machine.end_graph(stream, number, start, &ends)
}

/// Gives back the memory of a graph that is gone, unless another one has it too, or a launch may still use it.
pub(super) fn free_memory(gone: &Graph) -> Result {
    let machine = runtime().machine()?;
    let site = CallSite::here();
    let kept = |address: u64| {
        let graphs = table();
        let execs = graphs.execs.values().map(|exec| &exec.graph);
        graphs.graphs.values().chain(execs).any(|graph| graph.allocations().any(|other| other == address))
    };
    for address in gone.allocations() {
        if !kept(address) && machine.is_quiet() {
            runtime().addresses.lock().remove(address, site);
            machine.backend().free(address, site)?;
        }
    }
    Ok(())
}

export_both! {
    fn cudaGraphLaunch / cudaGraphLaunch_ptsz(exec: ExecHandle, stream: StreamHandle) [default] {
        launch(exec, resolve(stream, default)?)
    }

    fn cudaGraphUpload / cudaGraphUpload_ptsz(exec: ExecHandle, stream: StreamHandle) [default] {
        resolve(stream, default)?;
        table().exec(exec).map(|_| ())
    }

    fn cudaGraphInstantiateWithParams / cudaGraphInstantiateWithParams_ptsz(
        exec: *mut ExecHandle, graph: GraphHandle, parameters: *mut InstantiateParams,
    ) [_default] {
        instantiate(exec, graph)?;
        // SAFETY: the program passes whole parameters, or null.
        if let Some(parameters) = unsafe { parameters.as_mut() } {
            parameters.error_node = std::ptr::null_mut();
            parameters.result = 0;
        }
        Ok(())
    }
}

/// `cudaGraphInstantiateParams`.
#[repr(C)]
#[derive(Debug)]
pub struct InstantiateParams {
    pub flags: u64,
    pub stream: StreamHandle,
    pub error_node: NodeHandle,
    pub result: c_int,
}

/// `cudaGraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Debug)]
pub struct UpdateResult {
    pub result: c_int,
    pub error_node: NodeHandle,
    pub error_from: NodeHandle,
}

export! {
    // Before CUDA 12 there were more parameters; these three are where they are in 12 and 13.
    enter fn cudaGraphInstantiate(exec: *mut ExecHandle, graph: GraphHandle, _flags: u64) {
        instantiate(exec, graph)
    }

    enter fn cudaGraphInstantiateWithFlags(exec: *mut ExecHandle, graph: GraphHandle, _flags: u64) {
        instantiate(exec, graph)
    }

    enter fn cudaGraphExecGetFlags(exec: ExecHandle, flags: *mut u64) {
        table().exec(exec)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(flags, 0) }
    }

    enter fn cudaGraphExecDestroy(exec: ExecHandle) {
        let number = decode(Kind::Exec, exec).map_err(|_| Status::InvalidValue)?;
        let gone = table().execs.remove(&number).ok_or(Status::InvalidValue)?;
        free_memory(&gone.graph)
    }

    enter fn cudaGraphExecUpdate(exec: ExecHandle, graph: GraphHandle, result: *mut UpdateResult) {
        let mut graphs = table();
        let new = graphs.graph(graph)?.1.clone();
        let exec = graphs.exec(exec)?;
        let same = exec.graph.nodes.len() == new.nodes.len();
        if same {
            exec.graph = new;
        }
        // SAFETY: the program passes a whole result, or null.
        if let Some(result) = unsafe { result.as_mut() } {
            result.result = c_int::from(!same);
            result.error_node = std::ptr::null_mut();
            result.error_from = std::ptr::null_mut();
        }
        if same { Ok(()) } else { Err(Status::GraphExecUpdateFailure) }
    }

    enter fn cudaGraphNodeSetEnabled(exec: ExecHandle, node: NodeHandle, enabled: u32) {
        let number = decode(Kind::Node, node).map_err(|_| Status::InvalidValue)?;
        let mut graphs = table();
        let node = graphs.exec(exec)?.graph.nodes.get_mut(&number).ok_or(Status::InvalidValue)?;
        node.enabled = enabled != 0;
        Ok(())
    }

    enter fn cudaGraphNodeGetEnabled(exec: ExecHandle, node: NodeHandle, enabled: *mut u32) {
        let number = decode(Kind::Node, node).map_err(|_| Status::InvalidValue)?;
        let mut graphs = table();
        let node = graphs.exec(exec)?.graph.nodes.get(&number).ok_or(Status::InvalidValue)?;
        let is = u32::from(node.enabled);
        // SAFETY: the program's pointer for the result.
        unsafe { put(enabled, is) }
    }
}
