//! Atomics and reductions.

use smallvec::SmallVec;
use standstill_kernel_ir::evaluate::atomic;
use standstill_kernel_ir::{Access, AtomicOperation, Order};

use super::Race;
use super::observe::pieces;
use crate::decode::code::Micro;
use crate::exec::access::low;
use crate::exec::core::{Core, lanes};

impl Race {
    pub(super) fn atomic(
        &mut self,
        core: &mut Core<'_>,
        op: &Micro,
        position: usize,
        access: &Access,
        operation: AtomicOperation,
    ) {
        let bytes = u64::from(access.ty.bytes());
        if bytes == 0 || bytes > 8 {
            return;
        }
        let strong = Some(access.scope);
        let writes = self.site(core, position, strong, true, false);
        let reads = self.site(core, position, strong, false, false);
        let (block, warp) = (core.place.block, core.place.warp);
        let how = (if access.order == Order::Weak { Order::Relaxed } else { access.order }, access.scope);
        let pairs = self.pairs_of(core);
        let noted = pairs.as_ref().is_some_and(|pairs| pairs.is_noted(position));
        // Lanes come one after the other, so that one may find what another left.
        let mut left: SmallVec<[(u64, u64); 4]> = SmallVec::new();
        let code = std::sync::Arc::clone(&core.code);
        let Some(whole) = code.operations.get(op.x as usize) else { return };
        for lane in lanes(core.active) {
            let first = core.read(whole.source(0), lane);
            for element in 0..u64::from(access.elements.max(1)) {
                let given = first.wrapping_add(element * bytes);
                let Some((memory, address)) = self.memory(block, access.space, given) else { continue };
                if address % bytes != 0 {
                    continue;
                }
                let Some(actor) = self.actor(block, warp, lane) else { return };
                let mut writes_it = true;
                if operation == AtomicOperation::CompareExchange {
                    let old = match left.iter().rev().find(|(at, _)| *at == given) {
                        Some(&(_, value)) => value,
                        None => match core.peek(access.space, lane, given, bytes as u32) {
                            Some(value) => value,
                            None => return,
                        },
                    };
                    let (expected, new) =
                        (core.read(whole.source(1), lane), core.read(whole.source(2), lane));
                    let result = atomic::atomic(operation, access.ty, access.space, old, expected, new);
                    let result = low(result.unwrap_or(old), bytes as u32);
                    writes_it = low(old, bytes as u32) == low(expected, bytes as u32);
                    left.push((given, result));
                    if noted {
                        self.compared(core, position, (memory, address), &actor, writes, writes_it);
                    }
                } else if noted {
                    self.note(core, position, memory, address, &actor, writes, true);
                }
                self.touch(memory, address, bytes, &actor, if writes_it { writes } else { reads });
                for piece in pieces(address, bytes) {
                    self.strong_read((memory, piece), &actor, how, reads);
                    if writes_it && let Some(actor) = self.actor(block, warp, lane) {
                        self.strong_write((memory, piece), &actor, how, writes, true);
                    }
                }
            }
        }
    }
}
