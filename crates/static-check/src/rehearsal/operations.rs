//! What the instructions of a rehearsal do.

use smallvec::SmallVec;
use standstill_kernel_ir::{
    Access, AtomicOperation, Instruction, InstructionId, MatrixKind, Op, Operand, Order, Space, Type,
    evaluate,
};

use super::machine::{Machine, Stop};
use super::memory::Place;
use super::value::{PointerBase, Taint, Value};
use crate::body::Base;
use crate::inline::is_shared;

impl Machine<'_> {
    /// Does one instruction for one thread. It moves the thread on, or leaves it waiting there.
    pub(crate) fn execute(&mut self, thread: usize, id: InstructionId) -> Result<(), Stop> {
        let Some(instruction) = self.body.instruction(id).copied() else { return Ok(()) };
        if let Some(guard) = instruction.guard {
            let value = self.register(thread, guard.register());
            match value.bits() {
                Some(bits) if (bits & 1 == 1) != guard.negated() => {}
                Some(_) => {
                    self.resume(thread);
                    return Ok(());
                }
                None => return self.guarded_unknown(thread, id, &instruction),
            }
        }
        let source = |index: usize| self.body.source(&instruction, index);
        match instruction.op {
            Op::Arithmetic(arithmetic) => {
                let operands: SmallVec<[Operand; 4]> =
                    self.body.function.sources(instruction.operands).iter().copied().collect();
                let values: SmallVec<[Value; 4]> =
                    operands.iter().map(|&o| self.operand(thread, o)).collect();
                let results = usize::from(instruction.operands.destinations);
                let values = self.unknowns.compute(&arithmetic, &values, results);
                self.define(thread, &instruction, &values);
            }
            Op::Load(access) => {
                let value = self.load(thread, id, source(0), access);
                self.define(thread, &instruction, &value);
            }
            Op::Store(access) => {
                let value = self.operand(thread, source(1)).kept(access.ty);
                let address = self.operand(thread, source(0));
                match self.place(thread, address, access.space) {
                    Some(place) if access.elements <= 1 => {
                        self.note_unresolved(place, id, access);
                        let changed = self.memory.write(thread, place, access.ty.bytes(), value);
                        self.note_change(thread, changed);
                    }
                    Some(place) => {
                        self.note_unresolved(place, id, access);
                        for element in 0..usize::from(access.elements) {
                            let value = self.operand(thread, source(1 + element)).kept(access.ty);
                            let bytes = access.ty.bytes();
                            let place =
                                Place { offset: place.offset + element as i64 * i64::from(bytes), ..place };
                            let changed = self.memory.write(thread, place, bytes, value);
                            self.note_change(thread, changed);
                        }
                    }
                    None => {
                        self.clobber(id, access);
                        self.note_change(thread, true);
                    }
                }
            }
            Op::Atomic { access, operation } => {
                let old = self.atomic(thread, id, &instruction, access, operation);
                self.define(thread, &instruction, &[old]);
            }
            Op::Barrier { kind, .. } => {
                let barrier = self.operand(thread, source(0));
                let count = match source(1) {
                    Operand::Absent => None,
                    operand => Some(self.operand(thread, operand)),
                };
                let result = self.unknowns.common();
                self.define(thread, &instruction, &[result]);
                return self.arrive(thread, id, kind, barrier, count);
            }
            Op::ClusterBarrier { arrive: true, .. } => {
                self.cluster_arrive(thread);
                return Ok(());
            }
            Op::ClusterBarrier { arrive: false, .. } => {
                self.cluster_wait(thread);
                return Ok(());
            }
            Op::WarpSync
            | Op::Shuffle(_)
            | Op::Vote(_)
            | Op::Match { .. }
            | Op::WarpReduce { .. }
            | Op::Elect => {
                return self.warp(thread, id, &instruction);
            }
            Op::Mbarrier { operation, space, .. } => {
                self.mbarrier(thread, id, &instruction, operation, space)?
            }
            // The pending count first grows by one for the arrival that the copies make: nothing changes.
            Op::AsyncMbarrierArrive { no_increment: false } => {}
            Op::AsyncMbarrierArrive { no_increment: true } => {
                self.arrive_at_mbarrier(thread, source(0), Space::Shared, 1, false, id)?
            }
            Op::BulkCopy { .. } => self.bulk_copy(thread, &instruction)?,
            Op::Matrix(MatrixKind::TensorCommit) => {
                self.arrive_at_mbarrier(thread, source(0), Space::Shared, 1, false, id)?;
            }
            _ => {
                let value = self.unknowns.fresh();
                let values: SmallVec<[Value; 4]> =
                    (0..instruction.operands.destinations).map(|_| value).collect();
                self.define(thread, &instruction, &values);
            }
        }
        self.resume(thread);
        Ok(())
    }

    /// Under a guard that is not known, a result may be the old or the new value.
    fn guarded_unknown(
        &mut self,
        thread: usize,
        id: InstructionId,
        instruction: &Instruction,
    ) -> Result<(), Stop> {
        match instruction.op {
            Op::Arithmetic(_) | Op::Load(_) => {
                for &destination in self.body.function.destinations(instruction.operands) {
                    let value = self.unknowns.fresh();
                    self.set(thread, destination, value);
                }
            }
            Op::Store(access) => self.clobber(id, access),
            _ => return Err(Stop::Operation(id)),
        }
        self.resume(thread);
        Ok(())
    }

    pub(super) fn define(&mut self, thread: usize, instruction: &Instruction, values: &[Value]) {
        for (index, &destination) in self.body.function.destinations(instruction.operands).iter().enumerate()
        {
            let value = values.get(index).or(values.first()).copied().unwrap_or(Value::known(0));
            self.set(thread, destination, value);
        }
    }

    /// A store that may have gone anywhere at its base, or anywhere at all.
    fn clobber(&mut self, id: InstructionId, access: Access) {
        let base = self.body.base(id);
        self.memory.clobber(is_shared(access.space), base, |base| self.plan.starts_at_zero(base));
        self.note_anywhere(base, access);
    }

    /// Numbers with a fraction are no flags: a write of one through any pointer leaves flags alone.
    fn note_anywhere(&mut self, base: Base, access: Access) {
        if base != Base::Unknown || !access.ty.is_float() {
            self.memory.note_unresolved(is_shared(access.space), base);
        }
    }

    /// A write at a place that has a number, but whose distance to the others is not known.
    fn note_unresolved(&mut self, place: Place, id: InstructionId, access: Access) {
        if place.named_base().is_none() {
            self.note_anywhere(self.body.base(id), access);
        }
    }

    pub(super) fn note_change(&mut self, thread: usize, changed: bool) {
        if let Some(t) = self.threads.get_mut(thread) {
            t.changed |= changed;
        }
    }

    /// The place that an address names.
    pub(super) fn place(&self, thread: usize, address: Value, space: Space) -> Option<Place> {
        let Value::Linear { base, offset } = address else { return None };
        if self.unknowns.is_private(address) {
            return None;
        }
        let shared = is_shared(space)
            || matches!(base, PointerBase::Symbol(symbol) if self.body.is_shared_symbol(symbol));
        let private = space == Space::Local;
        if private {
            return None;
        }
        let block = shared.then(|| self.threads.get(thread).map_or(0, |t| t.block));
        Some(Place { block, base, offset })
    }

    fn load(
        &mut self,
        thread: usize,
        id: InstructionId,
        address: Operand,
        access: Access,
    ) -> SmallVec<[Value; 2]> {
        if access.space == Space::Param {
            return SmallVec::from_slice(&[self.parameter(address, access.ty)]);
        }
        let address = self.operand(thread, address);
        let Some(place) = self.place(thread, address, access.space) else {
            return SmallVec::from_slice(&[self.unknowns.fresh()]);
        };
        let strong = access.order != Order::Weak;
        let from_zero = strong && self.plan.starts_at_zero(self.body.base(id));
        let bytes = access.ty.bytes();
        let mut values = SmallVec::new();
        for element in 0..i64::from(access.elements.max(1)) {
            let place = Place { offset: place.offset + element * i64::from(bytes), ..place };
            values.push(self.memory.read(place, bytes, from_zero, &mut self.unknowns));
            self.raced |= strong;
            self.note_read(thread, place);
        }
        values
    }

    pub(super) fn note_read(&mut self, thread: usize, place: Place) {
        self.meetings += 1;
        let meetings = self.meetings;
        let changed = self.memory.may_have_changed(place);
        if let Some(t) = self.threads.get_mut(thread) {
            t.synchronised = meetings;
            t.unsure |= changed;
        }
        if let Some(t) = self.threads.get_mut(thread)
            && !t.reads.iter().any(|(known, _)| *known == place)
        {
            t.reads.push((place, t.next));
        }
    }

    /// A kernel's parameter: as given, or for a small number the value chosen for this rehearsal.
    fn parameter(&mut self, address: Operand, ty: Type) -> Value {
        let Operand::Parameter { index, offset } = address else { return self.unknowns.common() };
        let truncate = |value: i64| match ty.bits() {
            bits @ 1..64 => value as u64 & ((1 << bits) - 1),
            _ => value as u64,
        };
        if offset == 0
            && let Some(&value) = self.launch.shape.parameters.get(&(index as usize))
        {
            return Value::known(truncate(value));
        }
        let scalar = self.body.function.parameters.get(index as usize).is_some_and(|p| p.bytes == ty.bytes());
        if scalar && ty.bits() <= 32 && !ty.is_float() {
            self.sampled = true;
            return Value::Known { bits: truncate(self.choices.parameter), taint: Taint::Sampled };
        }
        Value::Linear { base: PointerBase::Parameter(index, offset), offset: 0 }
    }

    fn atomic(
        &mut self,
        thread: usize,
        id: InstructionId,
        instruction: &Instruction,
        access: Access,
        operation: AtomicOperation,
    ) -> Value {
        let address = self.operand(thread, self.body.source(instruction, 0));
        let operand = self.operand(thread, self.body.source(instruction, 1)).kept(access.ty);
        let Some(place) = self.place(thread, address, access.space) else {
            self.memory.note_unresolved(is_shared(access.space), self.body.base(id));
            return self.unknowns.fresh();
        };
        let bytes = access.ty.bytes();
        let from_zero = self.plan.starts_at_zero(self.body.base(id));
        let old = self.memory.read(place, bytes, from_zero, &mut self.unknowns);
        self.raced = true;
        self.note_read(thread, place);
        let new = match operation {
            AtomicOperation::Exchange => Some(operand),
            AtomicOperation::CompareExchange => {
                let replacement = self.operand(thread, self.body.source(instruction, 2)).kept(access.ty);
                if old == operand {
                    Some(replacement)
                } else if self.memory.assume(place, operand) {
                    // Nobody wrote it yet: it may as well start with what the exchange asks for.
                    let changed = self.memory.write(thread, place, bytes, replacement);
                    self.note_change(thread, changed);
                    return operand;
                } else if old.bits().is_some() && operand.bits().is_some() {
                    None
                } else {
                    self.note_change(thread, true);
                    let value = self.unknowns.fresh();
                    self.memory.write(thread, place, bytes, value);
                    return value;
                }
            }
            AtomicOperation::Add | AtomicOperation::Or | AtomicOperation::Xor
                if operand.bits() == Some(0) =>
            {
                Some(old)
            }
            _ => match (old.bits(), operand.bits()) {
                (Some(old_bits), Some(bits)) => {
                    let taint = old.taint().max(operand.taint());
                    let space = if place.block.is_some() { Space::Shared } else { Space::Global };
                    evaluate::atomic::atomic(operation, access.ty, space, old_bits, bits, 0)
                        .map(|bits| Value::Known { bits, taint })
                }
                _ => Some(self.unknowns.fresh()),
            },
        };
        // An exchange that would write something new takes what it polls, as a lock does; an addition of
        // zero or an exchange of equals only reads.
        let takes = match operation {
            AtomicOperation::Exchange => true,
            AtomicOperation::CompareExchange => {
                operand != self.operand(thread, self.body.source(instruction, 2)).kept(access.ty)
            }
            _ => false,
        };
        if let Some(t) = self.threads.get_mut(thread) {
            t.takes |= takes;
        }
        if let Some(new) = new
            && new != old
        {
            let changed = self.memory.write(thread, place, bytes, new);
            self.note_change(thread, changed);
        }
        old
    }
}
