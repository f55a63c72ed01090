//! Which values the two accesses of a fault had: what stands there when the later one comes, and what that one leaves.

use standstill_kernel_ir::evaluate::atomic;
use standstill_kernel_ir::{AtomicOperation, Type};

use super::plan::{Plan, What};
use super::{Found, Race};
use crate::decode::code::{Micro, Origin, Plane};
use crate::exec::access::low;
use crate::exec::core::Core;
use crate::exec::memory::addresses;

/// The values at a place of the code that accesses memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values {
    there: u64,
    /// What a write leaves; `None` for a read, and where it is not known.
    leaves: Option<u64>,
    ty: Type,
    /// The other access is plain and of the same element, so that it left or saw what is there.
    alike: bool,
}

impl Race {
    /// Tells which values the faults had that an operation has shown, before it is executed.
    #[cold]
    pub(super) fn tell_values(&mut self, core: &mut Core<'_>, op: &Micro, plan: &Plan) {
        let here = self.number(super::Thread { block: core.place.block, warp: core.place.warp, lane: 0 });
        for key in std::mem::take(&mut self.fresh) {
            // Loads may see something else than what is there.
            let Some(found) = self.found.get(&key).filter(|_| self.stale.is_none()) else { continue };
            let lane = (found.me % 32) as usize;
            if found.me & !31 != here || core.active >> lane & 1 == 0 {
                continue;
            }
            let alike = self.is_alike(found, plan);
            let address = match plan.what {
                What::Load | What::Store => addresses(core, op)[lane],
                What::Atomic(_) => match core.code.operations.get(op.x as usize) {
                    Some(whole) => core.read(whole.source(0), lane),
                    None => continue,
                },
                What::Nothing | What::Other => continue,
            };
            let bytes = plan.bytes as u32;
            let Some(there) = core.peek(plan.access.space, lane, address, bytes) else { continue };
            let leaves = match plan.what {
                What::Store => Some(low(stored(core, op, plan, lane), bytes)),
                What::Atomic(operation) => changed(core, op, plan, operation, lane, there),
                _ => None,
            };
            if let Some(found) = self.found.get_mut(&key) {
                found.values = Some(Values { there, leaves, ty: plan.access.ty, alike });
            }
        }
    }

    /// Whether the other access of a fault is a plain one of elements of the same size.
    fn is_alike(&self, found: &Found, plan: &Plan) -> bool {
        let Some(other) = self.sites.get(found.other as usize) else { return false };
        let bytes = self.plan_at(other.function, other.position).map(|other| other.bytes);
        other.strong.is_none() && !other.copies && bytes == Some(plan.bytes)
    }
}

/// What a lane stores.
fn stored(core: &Core<'_>, op: &Micro, plan: &Plan, lane: usize) -> u64 {
    let code = core.code;
    let instruction = match code.origins.get(code.position(op)) {
        Some(Origin::Instruction(id)) => code.function.instructions.get(id.0 as usize),
        _ => None,
    };
    let sources = instruction.map_or(&[][..], |instruction| code.function.sources(instruction.operands));
    let rows = sources.iter().filter_map(|source| code.rows.get(source.register()?.0 as usize));
    let plane = rows.skip(1).find(|row| row.slot == op.d).map(|row| row.plane);
    match plane {
        Some(Plane::Wide) => core.wide(op.d)[lane],
        None if plan.bytes == 8 => core.wide(op.d)[lane],
        _ => core.narrow(op.d)[lane].into(),
    }
}

/// What an atomic makes of what is there.
fn changed(
    core: &Core<'_>,
    op: &Micro,
    plan: &Plan,
    operation: AtomicOperation,
    lane: usize,
    there: u64,
) -> Option<u64> {
    let whole = core.code.operations.get(op.x as usize).filter(|_| plan.access.elements <= 1)?;
    let second = match operation {
        AtomicOperation::CompareExchange => core.read(whole.source(2), lane),
        _ => 0,
    };
    let first = core.read(whole.source(1), lane);
    let new = atomic::atomic(operation, plan.access.ty, plan.access.space, there, first, second)?;
    Some(low(new, plan.bytes as u32))
}

impl Values {
    /// What the later access does, in words.
    pub(super) fn later(&self) -> String {
        match self.leaves {
            Some(value) => {
                format!("writes {} here, where {} stands", self.show(value), self.show(self.there))
            }
            None => format!("reads {} here", self.show(self.there)),
        }
    }

    /// The value that the other access left or saw, where that is known.
    pub(super) fn other(&self) -> Option<String> {
        self.alike.then(|| self.show(self.there))
    }

    /// A value as its type has it; integers that may be negative in hexadecimal.
    fn show(&self, value: u64) -> String {
        let bits = self.ty.bits().clamp(8, 64);
        match self.ty {
            Type::F32 => f32::from_bits(value as u32).to_string(),
            Type::F64 => f64::from_bits(value).to_string(),
            _ if value >> (bits - 1) & 1 != 0 => format!("{value:#x}"),
            _ => value.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_their_type_has_them() {
        let check = |ty, there: u64, leaves, expected: &str| {
            assert_eq!(Values { there, leaves, ty, alike: true }.later(), expected);
        };
        check(Type::U32, 3, None, "reads 3 here");
        check(Type::S32, 0xffff_fffe, Some(7), "writes 7 here, where 0xfffffffe stands");
        check(Type::F32, 0x3fc0_0000, Some(0), "writes 0 here, where 1.5 stands");
        check(Type::B64, 1 << 63, None, "reads 0x8000000000000000 here");
        check(Type::F64, 0x4000_0000_0000_0000, None, "reads 2 here");
    }
}
