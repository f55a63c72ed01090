//! Values in memory that streams write and wait for.

use std::ffi::c_int;

use standstill_trace::{Until, Work};

use super::wrap_both;
use crate::graphs::captured;
use crate::layout::{BatchNode, Handle, MemoryOperation};
use crate::recorder::with;
use crate::streams::Default;

/// `CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER`.
const NO_FENCE: u32 = 1;

fn write(address: u64, value: u64, flags: u32) -> Work {
    Work::WriteValue { address, value, fenced: flags & NO_FENCE == 0 }
}

/// `CUstreamWaitValue_flags`; higher bits say nothing of the condition.
fn wait(address: u64, value: u64, flags: u32, bytes: u8) -> Work {
    let until = match flags & 3 {
        0 => Until::AtLeast,
        1 => Until::Equal,
        2 => Until::And,
        _ => Until::Nor,
    };
    Work::WaitValue { address, value, until, bytes }
}

unsafe fn put(status: c_int, stream: Handle, default: Default, work: impl Iterator<Item = Work>) -> c_int {
    // SAFETY: the stream that the driver has just taken.
    if status == 0 && !unsafe { captured(stream, default) } {
        with(|state| work.for_each(|work| state.submit(stream, default, work)));
    }
    status
}

/// `CU_STREAM_MEM_OP_WAIT_VALUE_32` and its kin.
fn of(operation: &MemoryOperation) -> Option<Work> {
    let MemoryOperation { kind, address, value, flags, .. } = *operation;
    let short = value & u64::from(u32::MAX);
    match kind {
        1 => Some(wait(address, short, flags, 4)),
        2 => Some(write(address, short, flags)),
        4 => Some(wait(address, value, flags, 8)),
        5 => Some(write(address, value, flags)),
        _ => None,
    }
}

/// # Safety
/// There are as many.
unsafe fn each(operations: *const MemoryOperation, count: u32) -> impl Iterator<Item = Work> {
    // SAFETY: the caller's promise.
    (0..count as usize).filter_map(move |index| of(unsafe { &*operations.add(index) }))
}

/// What a node of a graph writes and waits for.
///
/// # Safety
/// It is as the driver gave it, or has taken it.
pub unsafe fn of_node(node: &BatchNode) -> Vec<Work> {
    // SAFETY: the caller's promise.
    unsafe { each(node.operations, node.count) }.collect()
}

unsafe fn batch(
    status: c_int,
    stream: Handle,
    default: Default,
    count: u32,
    operations: *const MemoryOperation,
) -> c_int {
    // SAFETY: the caller's promise; the driver has read as many.
    unsafe { put(status, stream, default, each(operations, count)) }
}

wrap_both! {
    fn cuStreamWaitValue32 / cuStreamWaitValue32_ptsz(
        stream: Handle, address: u64, value: u32, flags: u32,
    ) [default] |call| {
        // SAFETY: the stream that the driver has taken.
        unsafe { put(call(), stream, default, std::iter::once(wait(address, value.into(), flags, 4))) }
    }

    fn cuStreamWaitValue32_v2 / cuStreamWaitValue32_v2_ptsz(
        stream: Handle, address: u64, value: u32, flags: u32,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { put(call(), stream, default, std::iter::once(wait(address, value.into(), flags, 4))) }
    }

    fn cuStreamWaitValue64 / cuStreamWaitValue64_ptsz(
        stream: Handle, address: u64, value: u64, flags: u32,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { put(call(), stream, default, std::iter::once(wait(address, value, flags, 8))) }
    }

    fn cuStreamWaitValue64_v2 / cuStreamWaitValue64_v2_ptsz(
        stream: Handle, address: u64, value: u64, flags: u32,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { put(call(), stream, default, std::iter::once(wait(address, value, flags, 8))) }
    }

    fn cuStreamWriteValue32 / cuStreamWriteValue32_ptsz(
        stream: Handle, address: u64, value: u32, flags: u32,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { put(call(), stream, default, std::iter::once(write(address, value.into(), flags))) }
    }

    fn cuStreamWriteValue32_v2 / cuStreamWriteValue32_v2_ptsz(
        stream: Handle, address: u64, value: u32, flags: u32,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { put(call(), stream, default, std::iter::once(write(address, value.into(), flags))) }
    }

    fn cuStreamWriteValue64 / cuStreamWriteValue64_ptsz(
        stream: Handle, address: u64, value: u64, flags: u32,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { put(call(), stream, default, std::iter::once(write(address, value, flags))) }
    }

    fn cuStreamWriteValue64_v2 / cuStreamWriteValue64_v2_ptsz(
        stream: Handle, address: u64, value: u64, flags: u32,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { put(call(), stream, default, std::iter::once(write(address, value, flags))) }
    }

    fn cuStreamBatchMemOp / cuStreamBatchMemOp_ptsz(
        stream: Handle, count: u32, operations: *mut MemoryOperation, _flags: u32,
    ) [default] |call| {
        // SAFETY: what the driver has taken.
        unsafe { batch(call(), stream, default, count, operations) }
    }

    fn cuStreamBatchMemOp_v2 / cuStreamBatchMemOp_v2_ptsz(
        stream: Handle, count: u32, operations: *mut MemoryOperation, _flags: u32,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { batch(call(), stream, default, count, operations) }
    }
}
