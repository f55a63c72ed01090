//! Atomics, fences, and what cells of a warp or tile do together.

use standstill_kernel_ir::{
    Access, ArithmeticFlags, AtomicOperation, BarrierKind, Comparison, FenceKind, Op, Operand, Operation,
    OperationMark, Order, Register, Scope, ShuffleMode, Type,
};

use super::arithmetic::arithmetic;
use super::body::{Binding, Lowering};
use super::memory::Spot;
use crate::tree::{Atomic, AtomicAccess, Expression, Kind, LocalId};
use crate::types::{Scalar, Ty};

/// All lanes of a warp.
const ALL: Operand = Operand::Immediate(0xffff_ffff);

impl Lowering<'_> {
    /// What synchronises, or is done together.
    pub(super) fn together(&mut self, it: &Expression) -> Operand {
        match &it.kind {
            Kind::Sync => {
                self.mark(it.extent);
                let barrier = Op::Barrier { kind: BarrierKind::Sync, aligned: true, reduction: None };
                self.push(barrier, &[], &[Operand::Immediate(0), Operand::Absent]);
                Operand::Absent
            }
            Kind::WarpSync => {
                self.mark(it.extent);
                self.push(Op::WarpSync, &[], &[ALL]);
                Operand::Absent
            }
            Kind::Fence(order, scope) => {
                self.mark(it.extent);
                self.fence(*order, *scope);
                Operand::Absent
            }
            Kind::Shuffle(mode, value, lane) => {
                let ty = value.ty.scalar().unwrap_or(Scalar::U32).register();
                let value = self.expression(value);
                let lane = self.expression(lane);
                self.mark(it.extent);
                self.shuffle(*mode, ty, value, lane).into()
            }
            Kind::Vote(mode, value) => {
                let value = self.expression(value);
                let value = self.in_register(Type::Pred, value);
                let ty = if it.ty == Ty::Scalar(Scalar::Bool) { Type::Pred } else { Type::U32 };
                let result = self.builder.register(ty);
                self.mark(it.extent);
                self.push(Op::Vote(*mode), &[result], &[value.into(), ALL]);
                result.into()
            }
            Kind::WarpReduce(operation, value) => {
                let scalar = value.ty.scalar().unwrap_or(Scalar::U32);
                let value = self.expression(value);
                self.mark(it.extent);
                self.reduce(*operation, scalar, value)
            }
            Kind::WarpMatch(value) => {
                let ty = value.ty.scalar().unwrap_or(Scalar::U32).register();
                let value = self.expression(value);
                let value = self.in_register(ty, value);
                let result = self.builder.register(Type::U32);
                self.mark(it.extent);
                self.push(Op::Match { all: false }, &[result], &[value.into(), ALL]);
                result.into()
            }
            Kind::OperationMark(mark, structure, values) => {
                let mut sources = Vec::new();
                if let Some(place) = structure
                    && let Spot::Memory(address, _) = self.spot(place)
                {
                    sources.push(self.pointer(address).into());
                }
                for value in values {
                    sources.push(self.expression(value));
                }
                if *mark != OperationMark::Ends {
                    sources.resize(3, Operand::Immediate(0));
                }
                self.mark(it.extent);
                self.push(Op::OperationMark(*mark), &[], &sources);
                Operand::Absent
            }
            Kind::LifeMark { freed, place } => {
                let bytes = match self.element_type(place) {
                    Some(scalar) => u64::from(scalar.memory().bytes()),
                    None => 0,
                };
                if let Spot::Memory(address, _) = self.spot(place) {
                    self.mark(it.extent);
                    let address = self.pointer(address);
                    self.push(
                        Op::LifeMark { freed: *freed },
                        &[],
                        &[address.into(), Operand::Immediate(bytes)],
                    );
                }
                Operand::Absent
            }
            Kind::Atomic(atomic) => self.atomic(atomic, it).0,
            _ => Operand::Absent,
        }
    }

    fn element_type(&self, place: &crate::tree::Location) -> Option<Scalar> {
        match self.local_type(place.base) {
            Ty::Slice(element, _) | Ty::Array(element, _) => match element.innermost() {
                Ty::Scalar(scalar) | Ty::Atomic(scalar) => Some(*scalar),
                _ => None,
            },
            _ => None,
        }
    }

    fn fence(&mut self, order: Order, scope: Scope) {
        // A fence is either sequentially consistent or both acquire and release (PTX ISA, «fence»).
        let order = if order == Order::SequentiallyConsistent { order } else { Order::AcquireRelease };
        self.push(Op::Fence { kind: FenceKind::Thread, order, scope }, &[], &[]);
    }

    fn shuffle(&mut self, mode: ShuffleMode, ty: Type, value: Operand, lane: Operand) -> Register {
        let clamp = Operand::Immediate(if mode == ShuffleMode::Up { 0 } else { 31 });
        let result = self.builder.register(ty);
        let value = self.in_register(ty, value);
        self.push(Op::Shuffle(mode), &[result], &[value.into(), lane, clamp, ALL]);
        result
    }

    /// The sum, least or greatest value of a warp.
    fn reduce(&mut self, operation: AtomicOperation, scalar: Scalar, value: Operand) -> Operand {
        let ty = scalar.register();
        if !scalar.is_float() {
            let result = self.builder.register(ty);
            self.push(Op::WarpReduce { operation, ty }, &[result], &[value, ALL]);
            return result.into();
        }
        let mut arithmetic = match operation {
            AtomicOperation::Add => arithmetic(Operation::Add, ty),
            AtomicOperation::Min => arithmetic(Operation::Min, ty),
            _ => arithmetic(Operation::Max, ty),
        };
        if operation == AtomicOperation::Add {
            arithmetic.flags = ArithmeticFlags(ArithmeticFlags::NEAREST);
        }
        // Every lane adds the same pairs, so that all come to the same sum.
        let mut sum = self.in_register(ty, value);
        for distance in [16, 8, 4, 2, 1] {
            let other = self.shuffle(ShuffleMode::Bfly, ty, sum.into(), Operand::Immediate(distance));
            sum = self.compute(arithmetic, ty, &[sum.into(), other.into()]);
        }
        sum.into()
    }

    /// Binds the result of a `compare_exchange`.
    pub(super) fn exchange(&mut self, id: LocalId, value: &Expression) -> Operand {
        if let Kind::Atomic(atomic) = &value.kind
            && let (_, Some((done, held))) = self.atomic(atomic, value)
        {
            self.bind(id, Binding::Exchange { done, held });
        }
        Operand::Absent
    }

    /// An atomic access; gives what memory held, and for `compare_exchange` whether it has exchanged.
    fn atomic(&mut self, atomic: &Atomic, it: &Expression) -> (Operand, Option<(Register, Register)>) {
        let scalar = atomic.scalar;
        let register = scalar.register();
        let values: Vec<Operand> = atomic.operands.iter().map(|value| self.expression(value)).collect();
        let Spot::Memory(address, space) = self.spot(&atomic.place) else { return (Operand::Absent, None) };
        self.mark(it.extent);
        let mut order = atomic.order;
        if order == Order::SequentiallyConsistent {
            self.fence(order, atomic.scope);
            order = match atomic.operation {
                AtomicAccess::Load => Order::Acquire,
                AtomicAccess::Store => Order::Release,
                _ => Order::AcquireRelease,
            };
        }
        let access = |ty| Access { space, ty, elements: 1, order, scope: atomic.scope, non_coherent: false };
        let bits = if register.bits() == 64 { Type::B64 } else { Type::B32 };
        let value = values.first().copied().unwrap_or(Operand::Immediate(0));
        match atomic.operation {
            AtomicAccess::Load => {
                let held = self.builder.register(register);
                self.push(Op::Load(access(register)), &[held], &[address]);
                (held.into(), None)
            }
            AtomicAccess::Store => {
                self.push(Op::Store(access(register)), &[], &[address, value]);
                (Operand::Absent, None)
            }
            AtomicAccess::Subtract => {
                let negated = self.negate(scalar, value);
                let held = self.builder.register(register);
                let operation = AtomicOperation::Add;
                self.push(
                    Op::Atomic { access: access(sum_type(register)), operation },
                    &[held],
                    &[address, negated],
                );
                (held.into(), None)
            }
            AtomicAccess::Update(operation) => {
                let ty = match operation {
                    AtomicOperation::Add => sum_type(register),
                    AtomicOperation::Min | AtomicOperation::Max => register,
                    _ => bits,
                };
                let held = self.builder.register(register);
                let mut sources = vec![address];
                sources.extend(&values);
                self.push(Op::Atomic { access: access(ty), operation }, &[held], &sources);
                if operation != AtomicOperation::CompareExchange {
                    return (held.into(), None);
                }
                let done = self.set_if(Comparison::Eq, register, held.into(), value);
                (held.into(), Some((done, held)))
            }
        }
    }
}

/// Sums of 64 bits are unsigned (PTX ISA, «atom»).
fn sum_type(register: Type) -> Type {
    if register == Type::S64 { Type::U64 } else { register }
}
