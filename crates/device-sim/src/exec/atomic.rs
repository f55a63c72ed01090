//! Atomics and reductions on memory.

use std::sync::Arc;

use standstill_kernel_ir::evaluate::atomic;
use standstill_kernel_ir::{AtomicOperation, Op, Space};

use super::core::{Core, Step, lanes};
use crate::address;
use crate::decode::code::Micro;
use crate::fault::FaultKind;

/// `atom` and `red`: lanes one after the other.
pub(crate) fn atomic(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = Arc::clone(&core.code);
    let Some(whole) = code.operations.get(op.x as usize) else { return Step::Next };
    let Op::Atomic { access, operation } = whole.op else { return Step::Next };
    let (ty, bytes) = (access.ty, access.ty.bytes());
    if bytes > 8 {
        return core.fail(FaultKind::NotSupported(format!("an atomic on {ty:?}")), 0);
    }
    let elements = usize::from(access.elements.max(1));
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
