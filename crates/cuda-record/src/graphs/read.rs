//! What the driver says of a graph.

use std::ffi::c_int;

use rustc_hash::FxHashMap;

use standstill_trace::Work;

use crate::api::values;
use crate::kernels::meet;
use crate::layout::{BatchNode, Handle, KernelNode, Memcpy3D, MemsetNode};
use crate::real::driver_function;

driver_function!(cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize));
driver_function!(cuGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize));
driver_function!(cuGraphGetEdges_v2(
    graph: Handle,
    from: *mut Handle,
    to: *mut Handle,
    data: *mut u64,
    count: *mut usize,
));
driver_function!(cuGraphNodeGetType(node: Handle, kind: *mut c_int));
driver_function!(cuGraphKernelNodeGetParams_v2(node: Handle, into: *mut KernelNode));
driver_function!(cuGraphMemcpyNodeGetParams(node: Handle, into: *mut Memcpy3D));
driver_function!(cuGraphMemsetNodeGetParams(node: Handle, into: *mut MemsetNode));
driver_function!(cuGraphChildGraphNodeGetGraph(node: Handle, graph: *mut Handle));
driver_function!(cuGraphEventRecordNodeGetEvent(node: Handle, event: *mut Handle));
driver_function!(cuGraphEventWaitNodeGetEvent(node: Handle, event: *mut Handle));
driver_function!(cuGraphMemAllocNodeGetParams(node: Handle, into: *mut AllocationNode));
driver_function!(cuGraphBatchMemOpNodeGetParams(node: Handle, into: *mut BatchNode));
driver_function!(cuGraphMemFreeNodeGetParams(node: Handle, address: *mut u64));

/// `CUDA_MEM_ALLOC_NODE_PARAMS`: the properties of the pool come first.
#[repr(C)]
struct AllocationNode {
    pool: [u64; 11],
    access: usize,
    count: usize,
    bytes: usize,
    address: u64,
    /// For what newer drivers may add.
    room: [u64; 16],
}

/// Graphs in graphs at most.
const DEPTH: u32 = 16;

/// What a node does.
pub enum Content {
    Kernel(KernelNode),
    Copy(Memcpy3D),
    Fill(MemsetNode),
    Host,
    Record(Handle),
    Wait(Handle),
    Allocate(u64, u64),
    Free(u64),
    /// Writes and waits for values, one after the other.
    Values(Vec<Work>),
    /// Only orders, or is of a kind that nothing is known of.
    Order,
}

/// A node, the nodes of graphs in it taken out; it comes behind these of the nodes before it.
pub struct Flat {
    pub handle: Handle,
    pub content: Content,
    pub after: Vec<usize>,
}

/// The nodes of a graph so that each comes behind what it waits for.
///
/// # Safety
/// It is one of the driver's.
pub unsafe fn read(graph: Handle) -> Vec<Flat> {
    let mut all = Vec::new();
    // SAFETY: the caller's promise.
    unsafe { add(graph, &[], DEPTH, &mut all) };
    all
}

/// Adds the nodes of a graph that comes behind some; gives those that nothing in it comes behind.
unsafe fn add(graph: Handle, behind: &[usize], depth: u32, all: &mut Vec<Flat>) -> Vec<usize> {
    // SAFETY: the caller's promise.
    let (nodes, edges) = unsafe { (nodes(graph), edges(graph)) };
    // What stands for the end of each node.
    let mut ends: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    let before = |node: &Handle| {
        let node = node.addr();
        edges.iter().filter(move |(_, to)| to.addr() == node).map(|(from, _)| from.addr())
    };
    let mut left = nodes;
    while !left.is_empty() && depth > 0 {
        let waiting = left.len();
        let mut rest = Vec::new();
        for node in left {
            if !before(&node).all(|from| ends.contains_key(&from)) {
                rest.push(node);
                continue;
            }
            let mut after: Vec<usize> =
                before(&node).flat_map(|from| ends.get(&from)).flatten().copied().collect();
            if after.is_empty() {
                after.extend(behind);
            }
            // SAFETY: a node that the driver has named.
            let end = match unsafe { content(node) } {
                // SAFETY: a graph that the driver has named.
                Found::Graph(child) => unsafe { add(child, &after, depth - 1, all) },
                Found::Content(content) => push(node, content, after, all),
            };
            ends.insert(node.addr(), end);
        }
        left = rest;
        if left.len() == waiting {
            break;
        }
    }
    let inner = |node: &usize| edges.iter().any(|(from, _)| from.addr() == *node);
    let last = ends.iter().filter(|(node, _)| !inner(node)).flat_map(|(_, end)| end.iter().copied());
    let mut last: Vec<usize> = last.collect();
    if last.is_empty() {
        last.extend(behind);
    }
    last.sort_unstable();
    last
}

/// Adds a node; gives what stands for its end.
fn push(node: Handle, content: Content, mut after: Vec<usize>, all: &mut Vec<Flat>) -> Vec<usize> {
    let steps = match content {
        Content::Values(works) if works.len() > 1 => {
            works.into_iter().map(|work| Content::Values(vec![work])).collect()
        }
        other => vec![other],
    };
    for content in steps {
        all.push(Flat { handle: node, content, after });
        after = vec![all.len() - 1];
    }
    after
}

unsafe fn nodes(graph: Handle) -> Vec<Handle> {
    let mut count = 0;
    // SAFETY: the caller's promise; the list has room for as many as are asked for.
    unsafe {
        if cuGraphGetNodes(graph, std::ptr::null_mut(), &raw mut count) != Some(0) {
            return Vec::new();
        }
        let mut nodes = vec![std::ptr::null_mut(); count];
        if cuGraphGetNodes(graph, nodes.as_mut_ptr(), &raw mut count) != Some(0) {
            return Vec::new();
        }
        nodes.truncate(count);
        nodes
    }
}

unsafe fn edges(graph: Handle) -> Vec<(Handle, Handle)> {
    let (none, mut count): (*mut Handle, usize) = (std::ptr::null_mut(), 0);
    // SAFETY: as above. Edges with data are told by the second function only.
    unsafe {
        let plain = cuGraphGetEdges(graph, none, none, &raw mut count) == Some(0);
        if !plain && cuGraphGetEdges_v2(graph, none, none, std::ptr::null_mut(), &raw mut count) != Some(0) {
            return Vec::new();
        }
        let mut from: Vec<Handle> = vec![std::ptr::null_mut(); count];
        let mut to = from.clone();
        let (starts, ends) = (from.as_mut_ptr(), to.as_mut_ptr());
        let mut told = cuGraphGetEdges(graph, starts, ends, &raw mut count);
        if told != Some(0) {
            let mut data = vec![0; count];
            told = cuGraphGetEdges_v2(graph, starts, ends, data.as_mut_ptr(), &raw mut count);
        }
        if told != Some(0) {
            return Vec::new();
        }
        from.into_iter().zip(to).take(count).collect()
    }
}

enum Found {
    Content(Content),
    Graph(Handle),
}

/// `CUgraphNodeType`.
unsafe fn content(node: Handle) -> Found {
    let mut kind = -1;
    let (mut handle, mut address) = (std::ptr::null_mut(), 0);
    // SAFETY: the caller's promise; each structure is the one that the function fills, for which zeros are a value.
    unsafe {
        cuGraphNodeGetType(node, &raw mut kind);
        let content = match kind {
            0 => {
                let mut kernel: KernelNode = std::mem::zeroed();
                let told = cuGraphKernelNodeGetParams_v2(node, &raw mut kernel) == Some(0);
                if told {
                    meet(if kernel.function.is_null() { kernel.kernel } else { kernel.function });
                }
                told.then_some(Content::Kernel(kernel))
            }
            1 => {
                let mut copy: Memcpy3D = std::mem::zeroed();
                (cuGraphMemcpyNodeGetParams(node, &raw mut copy) == Some(0)).then_some(Content::Copy(copy))
            }
            2 => {
                let mut fill = MemsetNode::default();
                (cuGraphMemsetNodeGetParams(node, &raw mut fill) == Some(0)).then_some(Content::Fill(fill))
            }
            3 => Some(Content::Host),
            4 => {
                if cuGraphChildGraphNodeGetGraph(node, &raw mut handle) == Some(0) {
                    return Found::Graph(handle);
                }
                None
            }
            6 => (cuGraphEventWaitNodeGetEvent(node, &raw mut handle) == Some(0))
                .then_some(Content::Wait(handle)),
            7 => (cuGraphEventRecordNodeGetEvent(node, &raw mut handle) == Some(0))
                .then_some(Content::Record(handle)),
            10 => {
                let mut made: AllocationNode = std::mem::zeroed();
                let told = cuGraphMemAllocNodeGetParams(node, &raw mut made) == Some(0);
                told.then_some(Content::Allocate(made.address, made.bytes as u64))
            }
            11 => (cuGraphMemFreeNodeGetParams(node, &raw mut address) == Some(0))
                .then_some(Content::Free(address)),
            12 => {
                let mut batch: BatchNode = std::mem::zeroed();
                let told = cuGraphBatchMemOpNodeGetParams(node, &raw mut batch) == Some(0);
                told.then(|| Content::Values(values::of_node(&batch)))
            }
            _ => None,
        };
        Found::Content(content.unwrap_or(Content::Order))
    }
}
