//! Who can end a spin: the writes of what it polls, and the threads that come to them.

use standstill_kernel_ir::{AtomicOperation, MatrixKind, MbarrierOperation, Order, Scope, Space};

use super::*;
use crate::inline::is_shared;
use crate::order::address::Address;
use crate::order::flags::{can_end_spin, constant_at, waiting_loop};
use crate::threads::ThreadValues;

/// Whether a write goes to what a spin polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes {
    No,
    Yes,
    /// Its address is not known exactly.
    Perhaps,
}

impl State<'_> {
    /// The instructions that may end a spin by writing what it polls.
    pub(super) fn writers(&self, group: &Group) -> Vec<InstructionId> {
        let body = self.kernel.body;
        let on_mbarrier = group.reads.iter().any(|(place, _)| self.mbarrier(place).is_some());
        let mut writers = Vec::new();
        for (id, instruction) in body.instructions() {
            let writes = match instruction.op {
                Op::Store(_) => !on_mbarrier,
                Op::Atomic { operation, .. } => !on_mbarrier && !only_reads(body, id, operation),
                Op::Mbarrier { operation: MbarrierOperation::Arrive { .. }, .. }
                | Op::AsyncMbarrierArrive { no_increment: true }
                | Op::Matrix(MatrixKind::TensorCommit) => on_mbarrier,
                _ => false,
            };
            if !writes {
                continue;
            }
            let base = body.base(id);
            let shared = match instruction.op {
                Op::Store(access) | Op::Atomic { access, .. } => is_shared(access.space),
                _ => true,
            };
            let hits = group.reads.iter().any(|&(place, poll)| {
                let polled = place.named_base().unwrap_or_else(|| body.base(poll));
                let may_be = polled == base
                    || !self.of_other_kind(poll, id)
                        && (base == Base::Unknown || polled == Base::Unknown)
                        && place.block.is_some() == shared;
                may_be && (on_mbarrier || self.may_end(poll, id))
            });
            if hits {
                writers.push(id);
            }
        }
        writers
    }

    /// Whether one of two accesses is of numbers with a fraction: through whatever pointers, they are apart.
    fn of_other_kind(&self, poll: InstructionId, writer: InstructionId) -> bool {
        let float = |id: InstructionId| match self.kernel.body.instruction(id).map(|i| i.op) {
            Some(Op::Load(access) | Op::Store(access) | Op::Atomic { access, .. }) => access.ty.is_float(),
            _ => false,
        };
        float(poll) != float(writer)
    }

    /// Whether a write goes where a poll looks, with a value that may end it.
    fn may_end(&self, poll: InstructionId, writer: InstructionId) -> bool {
        let body = self.kernel.body;
        let apart = match (Address::of(body, poll), Address::of(body, writer)) {
            (Some(polled), Some(written)) => polled.base == written.base && !polled.may_meet(&written),
            _ => false,
        };
        let ends = match (waiting_loop(body, poll), constant_at(body, writer)) {
            (Some(spin), Some(constant)) => can_end_spin(body, &spin, poll, constant),
            _ => true,
        };
        !apart && ends
    }

    /// Whether what a group polls is in memory that only its block's own instructions write, with values that are
    /// known.
    pub(super) fn is_closed(&self, group: &Group, writers: &[InstructionId]) -> bool {
        let body = self.kernel.body;
        if writers.iter().any(|&writer| constant_at(body, writer).is_none()) {
            return false;
        }
        let own =
            |place: &Place| place.block.is_some() && matches!(place.named_base(), Some(Base::Symbol(_)));
        let may_go_anywhere = |id: InstructionId, access: standstill_kernel_ir::Access| {
            access.space == Space::SharedCluster
                || access.space == Space::Generic
                    && body.base(id) == Base::Unknown
                    && group.reads.iter().any(|&(_, poll)| !self.of_other_kind(poll, id))
        };
        group.reads.iter().all(|(place, _)| own(place))
            && !body.instructions().any(|(id, instruction)| match instruction.op {
                Op::Store(access) | Op::Atomic { access, .. } => may_go_anywhere(id, access),
                Op::ClusterBarrier { .. }
                | Op::AsyncCopy { .. }
                | Op::BulkCopy { .. }
                | Op::Matrix(_)
                | Op::Call(_)
                | Op::Opaque(_) => true,
                _ => false,
            })
    }

    /// Whether a write behind a wait by the waiting threads themselves is the one they wait for, and no answer to
    /// the host.
    pub(super) fn is_own_answer(&self, spin: &Group, writer: InstructionId) -> bool {
        let on_the_card = |id: InstructionId| match self.kernel.body.instruction(id).map(|i| i.op) {
            Some(Op::Load(access) | Op::Store(access) | Op::Atomic { access, .. }) => {
                !matches!(access.order, Order::Weak | Order::Volatile | Order::Mmio)
                    && access.scope != Scope::Sys
            }
            _ => false,
        };
        let body = self.kernel.body;
        // Where the place is taken back, too, it is a token, and the host may have put one there.
        let taken_back = || {
            body.instructions().any(|(id, instruction)| {
                let writes = match instruction.op {
                    Op::Store(_) => true,
                    Op::Atomic { operation, .. } => !only_reads(body, id, operation),
                    _ => false,
                };
                let ends = || spin.reads.iter().all(|&(_, poll)| self.may_end(poll, id));
                writes && body.base(id) == body.base(writer) && (constant_at(body, id).is_none() || !ends())
            })
        };
        let for_the_card = on_the_card(writer) && spin.reads.iter().all(|&(_, poll)| on_the_card(poll));
        for_the_card && !taken_back() || self.only_ends(spin, writer)
    }

    /// Whether what a write leaves is the only value that ends a spin. Where others end it, too, they may come
    /// from outside the grid, and the write may be the answer.
    fn only_ends(&self, spin: &Group, writer: InstructionId) -> bool {
        let body = self.kernel.body;
        let Some(&(_, poll)) = spin.reads.first() else { return false };
        let Some(around) = waiting_loop(body, poll) else { return false };
        let Some(constant) = constant_at(body, writer) else { return false };
        let ends = |value: u64| can_end_spin(body, &around, poll, value);
        ends(constant) && !ends(constant.wrapping_add(1)) && !ends(constant.wrapping_sub(1))
    }

    /// Whether threads of a group come to a write of what a spin polls.
    pub(super) fn writes(
        &self,
        reach: &mut Reachability<'_>,
        candidate: &Group,
        writer: InstructionId,
        spin: &Group,
    ) -> Writes {
        if !reach.reaches(candidate.at, writer) || self.threads_at(writer, candidate).is_empty() {
            return Writes::No;
        }
        let body = self.kernel.body;
        let written = Address::of(body, writer).and_then(|address| {
            let offset = address.offset_in_block(self.coordinates(candidate.block))?;
            Some((address.base, offset, offset + address.bytes))
        });
        let Some((base, first, end)) = written else { return Writes::Perhaps };
        let hits = spin.reads.iter().any(|(place, at)| {
            let bytes = body.instruction(*at).map_or(1, |instruction| match instruction.op {
                Op::Load(access) | Op::Atomic { access, .. } => i64::from(access.ty.bytes()),
                _ => 1,
            });
            place.named_base() != Some(base) || place.offset < end && first < place.offset + bytes
        });
        if hits { Writes::Yes } else { Writes::No }
    }

    fn coordinates(&self, block: u32) -> [u32; 3] {
        let [x, y, _] = self.kernel.launch.grid.unwrap_or([u32::MAX, 1, 1]).map(|extent| extent.max(1));
        [block % x, block / x % y, block / x / y]
    }

    /// The threads of a group that come to an instruction, by the conditions on their own indices.
    pub(super) fn threads_at(&self, at: InstructionId, group: &Group) -> Vec<u32> {
        let body = self.kernel.body;
        let Some(mut values) = ThreadValues::new(body, self.kernel.launch) else {
            return group.threads.clone();
        };
        let coming = values.coming_to(body.block_of(at));
        group.threads.iter().copied().filter(|&thread| coming.contains(thread as usize)).collect()
    }
}

/// Whether two groups poll one place at the same instruction: neither comes past it to release the other.
pub(super) fn waits_for_the_same(group: &Group, other: &Group) -> bool {
    let place = |group: &Group| group.reads.first().map(|(place, _)| *place);
    other.doing == Doing::Spinning && other.at == group.at && place(other) == place(group)
}

/// Whether an atomic leaves memory as it is: an addition of zero, an exchange of equals.
fn only_reads(body: &Body, id: InstructionId, operation: AtomicOperation) -> bool {
    let Some(instruction) = body.instruction(id) else { return false };
    let operand = body.constant(instruction, 1);
    match operation {
        AtomicOperation::Add | AtomicOperation::Or | AtomicOperation::Xor => operand == Some(0),
        AtomicOperation::CompareExchange => operand.is_some() && operand == body.constant(instruction, 2),
        _ => false,
    }
}
