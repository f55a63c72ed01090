//! Graphs: captured, built, made executable and launched.

use std::ffi::{c_int, c_void};

use super::values::of_node;
use super::{wrap, wrap_both};
use crate::graphs::{
    added, capture_begins, capture_ended, captured, changed, destroyed, instantiated, launched,
    values_changed,
};
use crate::layout::{BatchNode, Handle, KernelNode};

unsafe fn made(status: c_int, executable: *const Handle, graph: Handle) -> c_int {
    if status == 0 {
        // SAFETY: the driver has written it there.
        unsafe { instantiated(executable.read(), graph) };
    }
    status
}

unsafe fn node(status: c_int, node: *const Handle) -> c_int {
    if status == 0 {
        // SAFETY: the driver has written it there.
        added(unsafe { node.read() });
    }
    status
}

wrap! {
    fn cuGraphInstantiate(
        executable: *mut Handle, graph: Handle, _node: *mut Handle, _log: *mut c_void, _bytes: usize,
    ) |call| {
        // SAFETY: the program's place for the result.
        unsafe { made(call(), executable, graph) }
    }

    fn cuGraphInstantiate_v2(
        executable: *mut Handle, graph: Handle, _node: *mut Handle, _log: *mut c_void, _bytes: usize,
    ) |call| {
        // SAFETY: as above.
        unsafe { made(call(), executable, graph) }
    }

    fn cuGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, _flags: u64) |call| {
        // SAFETY: as above.
        unsafe { made(call(), executable, graph) }
    }

    fn cuGraphExecDestroy(executable: Handle) |call| {
        destroyed(executable);
        call()
    }

    fn cuGraphExecUpdate(executable: Handle, graph: Handle, _node: *mut Handle, _result: *mut c_int) |call| {
        // SAFETY: the handle that the program gave.
        unsafe { made(call(), &raw const executable, graph) }
    }

    fn cuGraphExecUpdate_v2(executable: Handle, graph: Handle, _result: *mut c_void) |call| {
        // SAFETY: as above.
        unsafe { made(call(), &raw const executable, graph) }
    }

    fn cuGraphExecKernelNodeSetParams_v2(executable: Handle, node: Handle, to: *const KernelNode) |call| {
        let status = call();
        if status == 0 {
            // SAFETY: the driver has read it too.
            unsafe { changed(executable, node, &*to) };
        }
        status
    }

    fn cuGraphExecBatchMemOpNodeSetParams(executable: Handle, node: Handle, to: *const BatchNode) |call| {
        let status = call();
        if status == 0 {
            // SAFETY: as above.
            values_changed(executable, node, unsafe { of_node(&*to) });
        }
        status
    }

    fn cuGraphAddBatchMemOpNode(
        place: *mut Handle, _graph: Handle, _after: *const Handle, _count: usize, _to: *const BatchNode,
    ) |call| {
        // SAFETY: the program's place for the result.
        unsafe { node(call(), place) }
    }

    fn cuGraphAddNode(
        place: *mut Handle, _graph: Handle, _after: *const Handle, _count: usize, _to: *mut c_void,
    ) |call| {
        // SAFETY: as above.
        unsafe { node(call(), place) }
    }

    fn cuGraphAddNode_v2(
        place: *mut Handle, _graph: Handle, _after: *const Handle, _edges: *const c_void, _count: usize,
        _to: *mut c_void,
    ) |call| {
        // SAFETY: as above.
        unsafe { node(call(), place) }
    }

    fn cuGraphAddKernelNode_v2(
        place: *mut Handle, _graph: Handle, _after: *const Handle, _count: usize, _to: *const KernelNode,
    ) |call| {
        // SAFETY: the program's place for the result.
        unsafe { node(call(), place) }
    }

    fn cuGraphAddMemcpyNode(
        place: *mut Handle, _graph: Handle, _after: *const Handle, _count: usize, _to: *const c_void,
        _context: Handle,
    ) |call| {
        // SAFETY: as above.
        unsafe { node(call(), place) }
    }

    fn cuGraphAddMemsetNode(
        place: *mut Handle, _graph: Handle, _after: *const Handle, _count: usize, _to: *const c_void,
        _context: Handle,
    ) |call| {
        // SAFETY: as above.
        unsafe { node(call(), place) }
    }

    fn cuGraphAddHostNode(
        place: *mut Handle, _graph: Handle, _after: *const Handle, _count: usize, _to: *const c_void,
    ) |call| {
        // SAFETY: as above.
        unsafe { node(call(), place) }
    }
}

wrap_both! {
    fn cuGraphInstantiateWithParams / cuGraphInstantiateWithParams_ptsz(
        executable: *mut Handle, graph: Handle, _parameters: *mut c_void,
    ) [_default] |call| {
        // SAFETY: as above.
        unsafe { made(call(), executable, graph) }
    }

    fn cuGraphLaunch / cuGraphLaunch_ptsz(executable: Handle, stream: Handle) [default] |call| {
        let status = call();
        // SAFETY: the stream that the driver has taken.
        if status == 0 && !unsafe { captured(stream, default) } {
            launched(executable, stream, default);
        }
        status
    }

    fn cuStreamBeginCapture_v2 / cuStreamBeginCapture_v2_ptsz(_stream: Handle, _mode: c_int) [_default] |call| {
        let status = call();
        if status == 0 {
            capture_begins();
        }
        status
    }

    fn cuStreamBeginCaptureToGraph / cuStreamBeginCaptureToGraph_ptsz(
        _stream: Handle, _graph: Handle, _after: *const Handle, _data: *const c_void, _count: usize, _mode: c_int,
    ) [_default] |call| {
        let status = call();
        if status == 0 {
            capture_begins();
        }
        status
    }

    fn cuStreamEndCapture / cuStreamEndCapture_ptsz(_stream: Handle, _graph: *mut Handle) [_default] |call| {
        let status = call();
        // An invalid capture ends, too.
        capture_ended();
        status
    }
}
