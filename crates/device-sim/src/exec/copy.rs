//! Asynchronous copies. They are done when they are issued, which is one of the orders that are allowed.

use std::sync::Arc;

use standstill_kernel_ir::evaluate::atomic;
use standstill_kernel_ir::evaluate::mbarrier::Mbarrier;
use standstill_kernel_ir::{AtomicOperation, BulkCompletion, BulkDirection, Op, Space, Type};

use super::core::{Core, Step, lanes};
use super::general::not_known;
use crate::address;
use crate::decode::code::{Code, LANES, Micro, Place, Whole};
use crate::fault::FaultKind;

/// `cp.async`: shared address, global address, bytes, bytes that come from memory (the rest is zero).
pub(crate) fn small(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = core.code;
    let Some(whole) = code.operations.get(op.x as usize) else { return Step::Next };
    let Op::AsyncCopy { bytes } = whole.op else { return Step::Next };
    for lane in lanes(core.active) {
        let (to, from) = (core.read(whole.source(0), lane), core.read(whole.source(1), lane));
        let bytes = match bytes {
            0 => core.read(whole.source(2), lane) as u32,
            bytes => bytes.into(),
        };
        let given = if whole.source(3).is_some() { core.read(whole.source(3), lane) as u32 } else { bytes };
        if let Err(kind) = core.copy(lane, (Space::Shared, to), (Space::Global, from), bytes.min(16), given) {
            return core.fail(kind, lane);
        }
    }
    Step::Next
}

impl Core<'_> {
    /// Copies in pieces of four bytes, or one where the number does not allow it.
    fn copy(
        &mut self,
        lane: usize,
        to: (Space, u64),
        from: (Space, u64),
        bytes: u32,
        given: u32,
    ) -> Result<(), FaultKind> {
        self.resolve(to.0, to.1, bytes, if bytes.is_power_of_two() { bytes.min(16) } else { 1 }, true)?;
        let piece = [8, 4, 2, 1]
            .into_iter()
            .find(|piece| (to.1 | from.1 | u64::from(bytes)).is_multiple_of(*piece))
            .unwrap_or(1);
        let mut at = 0;
        while at < u64::from(bytes) {
            let value = if at + piece <= u64::from(given) {
                self.read_memory(from.0, lane, from.1.wrapping_add(at), piece as u32)?
            } else {
                let mut value = 0;
                for byte in at..u64::from(given).min(at + piece) {
                    value |=
                        self.read_memory(from.0, lane, from.1.wrapping_add(byte), 1)? << (8 * (byte - at));
                }
                value
            };
            self.write_memory(to.0, lane, to.1.wrapping_add(at), piece as u32, value)?;
            at += piece;
        }
        Ok(())
    }
}

impl Core<'_> {
    /// Combines element by element.
    fn combine(
        &mut self,
        lane: usize,
        to: (Space, u64),
        from: (Space, u64),
        bytes: u32,
        (operation, ty): (AtomicOperation, Type),
    ) -> Result<(), FaultKind> {
        let size = ty.bytes().min(8);
        for at in (0..bytes / size).map(|index| u64::from(index * size)) {
            let value = self.read_memory(from.0, lane, from.1.wrapping_add(at), size)?;
            let change = |old| atomic::atomic(operation, ty, to.0, old, value, 0).unwrap_or(old);
            self.update_memory(to.0, lane, to.1.wrapping_add(at), size, change)?;
        }
        Ok(())
    }
}

/// `cp.async.mbarrier.arrive`: all copies of the thread have been done. Without `.noinc` the pending count
/// goes up first, so that nothing changes.
pub(crate) fn arrive(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = core.code;
    let Some(whole) = code.operations.get(op.x as usize) else { return Step::Next };
    let Op::AsyncMbarrierArrive { no_increment } = whole.op else { return Step::Next };
    for lane in lanes(core.active) {
        let address = core.read(whole.source(0), lane);
        let count = u32::from(no_increment);
        let done = core.change_mbarrier(Space::Generic, lane, with_window(address), |barrier| match count {
            0 => barrier,
            count => barrier.arrive(count, false),
        });
        if let Err(kind) = done {
            return core.fail(kind, lane);
        }
    }
    Step::Next
}

/// Shared addresses are the same as generic ones; only the low 32 bits of them count.
fn with_window(address: u64) -> u64 {
    address & 0xffff_ffff
}

/// `cp.async.bulk` (not `.tensor`): destination, source, bytes, [mbarrier].
pub(crate) fn bulk(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = core.code;
    let Some(whole) = code.operations.get(op.x as usize) else { return Step::Next };
    let Op::BulkCopy { direction, tensor, completion, reduction, multicast } = whole.op else {
        return Step::Next;
    };
    if direction == BulkDirection::Prefetch {
        return Step::Next;
    }
    if tensor {
        return tensor_copy(core, op, code, whole, completion, multicast);
    }
    let (to_space, from_space) = match direction {
        BulkDirection::GlobalToShared => (Space::Shared, Space::Global),
        BulkDirection::SharedToGlobal => (Space::Global, Space::Shared),
        BulkDirection::SharedToShared => (Space::Shared, Space::Shared),
        BulkDirection::GlobalToGlobal | BulkDirection::Prefetch => (Space::Global, Space::Global),
    };
    for lane in lanes(core.active) {
        let [to, from, bytes] = [0, 1, 2].map(|index| core.read(whole.source(index), lane));
        let bytes = bytes as u32;
        let barrier = (completion == BulkCompletion::Mbarrier).then(|| core.read(whole.source(3), lane));
        let targets = if multicast { core.read(whole.source(4), lane) as u16 } else { 1 };
        for rank in (0..16).filter(|rank| targets >> rank & 1 != 0) {
            let at = |address: u64| if multicast { of_rank(address, rank) } else { address };
            let mut copied = match reduction {
                None => core.copy(lane, (to_space, at(to)), (from_space, from), bytes, bytes),
                Some(by) => core.combine(lane, (to_space, at(to)), (from_space, from), bytes, by),
            };
            if let (Ok(()), Some(barrier)) = (&copied, barrier) {
                let completed = |barrier: Mbarrier| barrier.complete(bytes);
                copied = core.change_mbarrier(Space::Shared, lane, at(barrier), completed).map(drop);
            }
            if let Err(kind) = copied {
                return core.fail(kind, lane);
            }
        }
    }
    Step::Next
}

/// A tensor copy: what it brings is unknown. It is over at once, and whatever its mbarrier still expects has come.
fn tensor_copy(
    core: &mut Core<'_>,
    op: &Micro,
    code: &Arc<Code>,
    whole: &Whole,
    completion: BulkCompletion,
    multicast: bool,
) -> Step {
    let behind = 1 + usize::from(multicast);
    let barrier = whole.sources.len().checked_sub(behind).map_or(Place::NONE, |index| whole.source(index));
    let mut expected = 0;
    if completion == BulkCompletion::Mbarrier {
        for lane in lanes(core.active) {
            let address = core.read(barrier, lane);
            let left = |word: u64| Mbarrier::from_word(word).bytes.max(0) as u64;
            expected = core.peek(Space::Shared, lane, address, 8).map_or(0, left);
            let complete = |barrier: Mbarrier| barrier.complete(barrier.bytes.max(0) as u32);
            if let Err(kind) = core.change_mbarrier(Space::Shared, lane, address, complete) {
                return core.fail(kind, lane);
            }
        }
    }
    let step = not_known(core, code, op, "a bulk tensor copy");
    let to_shared = completion == BulkCompletion::Mbarrier;
    let lane = core.active.trailing_zeros() as usize % LANES;
    let to = to_shared.then(|| (core.read(whole.source(0), lane), expected));
    crate::follow::tensor_copy(core, code.position(op), to);
    step
}

/// The same place in the shared memory of another block of the cluster.
fn of_rank(address: u64, rank: u32) -> u64 {
    let offset = address.wrapping_sub(address::SHARED) % address::SHARED_STEP;
    address::SHARED + (u64::from(rank) + 1) * address::SHARED_STEP + offset
}

/// `st.async` and `red.async`: address, values, mbarrier.
pub(crate) fn store(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = core.code;
    let Some(whole) = code.operations.get(op.x as usize) else { return Step::Next };
    let Op::AsyncStore { access, reduction } = whole.op else { return Step::Next };
    let (bytes, elements) = (access.ty.bytes(), usize::from(access.elements.max(1)));
    for lane in lanes(core.active) {
        let address = core.read(whole.source(0), lane);
        for element in 0..elements {
            let at = address.wrapping_add(element as u64 * u64::from(bytes));
            let value = core.read(whole.source(1 + element), lane);
            let stored = match reduction {
                None => core.write_memory(Space::Shared, lane, at, bytes, value),
                Some(by) => {
                    let change =
                        |old| atomic::atomic(by, access.ty, Space::Shared, old, value, 0).unwrap_or(old);
                    core.update_memory(Space::Shared, lane, at, bytes, change).map(drop)
                }
            };
            if let Err(kind) = stored {
                return core.fail(kind, lane);
            }
        }
        let barrier = core.read(whole.source(1 + elements), lane);
        let all = bytes * elements as u32;
        if let Err(kind) = core.change_mbarrier(Space::Shared, lane, barrier, |barrier| barrier.complete(all))
        {
            return core.fail(kind, lane);
        }
    }
    Step::Next
}

/// `tcgen05.commit`: everything issued before has been done.
pub(crate) fn tensor_commit(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = core.code;
    let Some(whole) = code.operations.get(op.x as usize) else { return Step::Next };
    for lane in lanes(core.active) {
        let address = core.read(whole.source(0), lane);
        if let Err(kind) =
            core.change_mbarrier(Space::Shared, lane, address, |barrier| barrier.arrive(1, false))
        {
            return core.fail(kind, lane);
        }
    }
    Step::Next
}
