//! Asynchronous copies. They are done when they are issued, which is one of the orders that are allowed.

use std::sync::Arc;

use standstill_kernel_ir::{BulkCompletion, BulkDirection, Op, Space};

use super::core::{Core, Step, lanes};
use crate::decode::code::Micro;
use crate::fault::FaultKind;

/// `cp.async`: shared address, global address, bytes, bytes that come from memory (the rest is zero).
pub(crate) fn small(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = Arc::clone(&core.code);
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
            .find(|piece| (to.1 | from.1 | u64::from(bytes)) % piece == 0)
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

/// `cp.async.mbarrier.arrive`: all copies of the thread have been done. Without `.noinc` the pending count
/// goes up first, so that nothing changes.
pub(crate) fn arrive(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = Arc::clone(&core.code);
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
    let code = Arc::clone(&core.code);
    let Some(whole) = code.operations.get(op.x as usize) else { return Step::Next };
    let Op::BulkCopy { direction, tensor, completion } = whole.op else { return Step::Next };
    if direction == BulkDirection::Prefetch {
        return Step::Next;
    }
    if tensor {
        return core.fail(FaultKind::NotSupported("a bulk tensor copy".into()), 0);
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
        let copied = core.copy(lane, (to_space, to), (from_space, from), bytes, bytes).and_then(|()| {
            if completion == BulkCompletion::Mbarrier {
                let barrier = core.read(whole.source(3), lane);
                core.change_mbarrier(Space::Shared, lane, barrier, |barrier| barrier.complete(bytes))?;
            }
            Ok(())
        });
        if let Err(kind) = copied {
            return core.fail(kind, lane);
        }
    }
    Step::Next
}

/// `tcgen05.commit`: everything issued before has been done.
pub(crate) fn tensor_commit(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = Arc::clone(&core.code);
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
