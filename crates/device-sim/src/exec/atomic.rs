//! Atomics and reductions on memory.

use std::sync::Arc;

use standstill_kernel_ir::evaluate::atomic;
use standstill_kernel_ir::{Access, AtomicOperation, Op, Space, Type};

use super::core::{Core, Step, lanes};
use crate::address;
use crate::decode::code::{LANES, Micro, Slot, Whole};
use crate::fault::FaultKind;
use crate::memory::ahead::{Pace, commutes};

/// The same where all lanes' places lie in one region, as they mostly do. Nothing has happened when it gives false.
fn quick(
    core: &mut Core<'_>,
    whole: &Whole,
    access: Access,
    operation: AtomicOperation,
    unread: bool,
) -> bool {
    if core.spy.recording || core.active == 0 {
        return false;
    }
    let (ty, bytes) = (access.ty, u64::from(access.ty.bytes()));
    let first = core.read(whole.source(0), core.active.trailing_zeros() as usize);
    let in_window = (address::PARAMETERS..address::SHARED_END).contains(&first);
    let shared = matches!(access.space, Space::Shared | Space::SharedCluster);
    let (region, start) = match access.space {
        _ if shared || (access.space == Space::Generic && in_window) => {
            (Arc::clone(&core.block.shared), address::SHARED)
        }
        Space::Global | Space::Generic => match core.grid.cached(first) {
            Some(found) => (Arc::clone(&found.region), found.address),
            None => return false,
        },
        _ => return false,
    };
    let space = if start == address::SHARED { Space::Shared } else { access.space };
    let addresses = core.row(whole.source(0));
    let mut offsets = [0; LANES];
    for lane in lanes(core.active) {
        let at = addresses[lane];
        let at = if shared { at & 0xffff_ffff } else { at };
        let offset = at.wrapping_sub(start);
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= region.len() as u64);
        if !inside || !at.is_multiple_of(bytes) {
            return false;
        }
        offsets[lane] = offset as usize;
    }
    let adds = operation == AtomicOperation::Add && matches!(ty, Type::U32 | Type::S32);
    if !adds && atomic::atomic(operation, ty, space, 0, 0, 0).is_none() {
        return false;
    }
    if start != address::SHARED {
        match &mut core.grid.pace {
            None => {}
            Some(Pace::InTurn(written)) => {
                let at = |lane: usize| start + offsets[lane] as u64;
                lanes(core.active).for_each(|lane| written.add(at(lane), bytes));
            }
            Some(Pace::Ahead(_)) => return reduce_later(core, whole, operation, ty, start, &offsets, unread),
        }
    }
    let operands = core.row(whole.source(1));
    // A block's shared memory is this thread's alone.
    let own = start == address::SHARED;
    for lane in lanes(core.active) {
        let (operand, offset) = (operands[lane], offsets[lane]);
        let old = if adds {
            let change = |old: u32| old.wrapping_add(operand as u32);
            let old = if own { region.update_own(offset, change) } else { region.update(offset, change) };
            old.map(u64::from)
        } else {
            let second = match operation {
                AtomicOperation::CompareExchange => core.read(whole.source(2), lane),
                _ => 0,
            };
            let change = |old: u64| atomic::atomic(operation, ty, space, old, operand, second).unwrap_or(old);
            match bytes {
                4 => region.update(offset, |old: u32| change(old.into()) as u32).map(u64::from),
                _ => region.update(offset, change),
            }
        };
        if !unread {
            core.write(whole.destination(0), lane, old.unwrap_or_default());
        }
    }
    true
}

/// Blocks that run ahead keep changes back; false where they cannot.
fn reduce_later(
    core: &mut Core<'_>,
    whole: &Whole,
    operation: AtomicOperation,
    ty: Type,
    start: u64,
    offsets: &[usize; LANES],
    unread: bool,
) -> bool {
    let operands = core.row(whole.source(1));
    for lane in lanes(core.active) {
        let operand = operands[lane];
        let Some(Pace::Ahead(ahead)) = &mut core.grid.pace else { return false };
        if !unread || !commutes(operation, ty) {
            ahead.failed = true;
            return true;
        }
        ahead.reduce(start + offsets[lane] as u64, operation, ty, operand);
    }
    true
}

/// Marks an atomic whose result nothing reads.
pub(crate) const UNREAD: Slot = Slot(0);

/// `atom` and `red`: lanes one after the other.
pub(crate) fn atomic(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = core.code;
    let Some(whole) = code.operations.get(op.x as usize) else { return Step::Next };
    let Op::Atomic { access, operation } = whole.op else { return Step::Next };
    let (ty, bytes) = (access.ty, access.ty.bytes());
    if bytes > 8 {
        return core.fail(FaultKind::NotSupported(format!("an atomic on {ty:?}")), 0);
    }
    let elements = usize::from(access.elements.max(1));
    if elements == 1 && bytes >= 4 && quick(core, whole, access, operation, op.d == UNREAD) {
        return Step::Next;
    }
    for lane in lanes(core.active) {
        let address = core.read(whole.source(0), lane);
        for element in 0..elements {
            let operand = core.read(whole.source(1 + element), lane);
            let new = match operation {
                AtomicOperation::CompareExchange => core.read(whole.source(2), lane),
                _ => 0,
            };
            if atomic::atomic(operation, ty, access.space, 0, 0, 0).is_none() {
                return core.fail(FaultKind::NotSupported(format!("atomic {operation:?} on {ty:?}")), lane);
            }
            let generic = access.space == Space::Generic;
            let shared = generic && matches!(address::window(address), address::Window::Shared { .. });
            let space = if shared { Space::Shared } else { access.space };
            let at = address.wrapping_add((element as u64) * u64::from(bytes));
            let change = |old: u64| atomic::atomic(operation, ty, space, old, operand, new).unwrap_or(old);
            match core.update_memory(access.space, lane, at, bytes, change) {
                Ok(old) => core.write(whole.destination(element), lane, old),
                Err(kind) => return core.fail(kind, lane),
            }
        }
    }
    Step::Next
}
