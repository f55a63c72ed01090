//! Atomics and reductions.

use smallvec::SmallVec;
use standstill_kernel_ir::evaluate::atomic;
use standstill_kernel_ir::{AtomicOperation, Order};

use super::Race;
use super::observe::pieces;
use super::plan::Plan;
use super::shadow::Mark;
use super::sync::acquires;
use crate::decode::code::{LANES, Micro, Place, Plane};
use crate::exec::access::low;
use crate::exec::core::{Core, lanes};

impl Race {
    pub(super) fn atomic(
        &mut self,
        core: &mut Core<'_>,
        op: &Micro,
        position: usize,
        plan: &Plan,
        operation: AtomicOperation,
    ) {
        let access = &plan.access;
        let Plan { bytes, writes, reads, noted, .. } = *plan;
        if operation != AtomicOperation::CompareExchange && self.relaxed(core, op, plan) {
            return;
        }
        let (block, warp) = (core.place.block, core.place.warp);
        let how = (if access.order == Order::Weak { Order::Relaxed } else { access.order }, access.scope);
        // Lanes come one after the other, so that one may find what another left.
        let mut left: SmallVec<[(u64, u64); 4]> = SmallVec::new();
        let code = std::sync::Arc::clone(core.code);
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
                let (mut writes_it, mut unchanged) = (true, None);
                let compares = operation == AtomicOperation::CompareExchange;
                if compares || noted {
                    let old = match left.iter().rev().find(|(at, _)| *at == given) {
                        Some(&(_, value)) => value,
                        None => match core.peek(access.space, lane, given, bytes as u32) {
                            Some(value) => value,
                            None => return,
                        },
                    };
                    let second = if compares { core.read(whole.source(2), lane) } else { 0 };
                    let first = core.read(whole.source(1), lane);
                    let result = atomic::atomic(operation, access.ty, access.space, old, first, second);
                    let (old, result) =
                        (low(old, bytes as u32), result.map(|result| low(result, bytes as u32)));
                    if result == Some(old) {
                        unchanged = Some(self.last_change(memory, address));
                    }
                    left.push((given, result.unwrap_or(old)));
                    if compares {
                        writes_it = old == low(first, bytes as u32);
                    }
                }
                if compares && noted {
                    self.compared(core, position, (memory, address), &actor, writes, writes_it);
                } else if noted {
                    self.note(core, position, memory, address, &actor, writes, true);
                }
                if self.stale.is_some()
                    && let Some(now) = core.peek(access.space, lane, given, bytes as u32)
                {
                    match writes_it {
                        true => self.stale_write(&actor, memory, address, bytes, now),
                        false => self.stale_read(&actor, memory, address, bytes, now),
                    }
                }
                let seen = if plan.observed { self.seen(memory, address, bytes) } else { None };
                let mark = Mark {
                    thread: actor.number,
                    time: actor.time,
                    site: if writes_it { writes } else { reads },
                };
                // What an acquire has seen is behind it.
                let learns = acquires(how.0);
                if learns {
                    for piece in pieces(address, bytes) {
                        self.strong_read((memory, piece), &actor, how, reads, seen);
                    }
                }
                let Some(actor) = self.actor(block, warp, lane) else { return };
                self.touch_as(memory, address, bytes, &actor, (mark, plan.flags), writes_it);
                for piece in pieces(address, bytes) {
                    if !learns {
                        self.strong_read((memory, piece), &actor, how, reads, seen);
                    }
                    if writes_it && let Some(actor) = self.actor(block, warp, lane) {
                        self.strong_write((memory, piece), &actor, how, writes, true);
                    }
                }
                if let Some(change) = unchanged.filter(|_| writes_it && noted) {
                    self.left_unchanged(memory, address, change);
                }
            }
        }
    }

    /// Relaxed atomics where nobody has released anything that they could carry on, and their threads have not
    /// passed a fence: they order nothing. False when it may be otherwise.
    fn relaxed(&mut self, core: &Core<'_>, op: &Micro, plan: &Plan) -> bool {
        let (block, warp) = (core.place.block, core.place.warp);
        let access = &plan.access;
        let orders = !matches!(access.order, Order::Weak | Order::Relaxed);
        if orders || plan.noted || plan.observed || access.elements > 1 || !self.variables.is_empty() {
            return false;
        }
        let state = self.block(block);
        let fences = state.warps.get(warp as usize).is_none_or(|warp| warp.has_fences());
        let Some(whole) = core.code.operations.get(op.x as usize) else { return false };
        if fences {
            return false;
        }
        let at = in_all_lanes(core, whole.source(0));
        let (place, accesses) = ((block, warp), (&at, core.active));
        if !self.is_quiet_atomic(place, plan, accesses) && !self.warp_touches(place, plan, accesses, true) {
            return false;
        }
        // What comes after is not what was there before.
        let time = self.tick();
        if let Some(state) = self.block(block).warps.get_mut(warp as usize) {
            state.time = time;
        }
        true
    }
}

/// What a source has in all lanes.
#[inline]
fn in_all_lanes(core: &Core<'_>, source: Place) -> [u64; LANES] {
    match source.plane {
        Plane::Wide if source.is_some() => *core.wide(source.slot),
        Plane::Narrow if source.is_some() => core.narrow(source.slot).map(u64::from),
        _ => std::array::from_fn(|lane| core.read(source, lane)),
    }
}
