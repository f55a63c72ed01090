//! Variables, buffers and atomics.

use naga::{
    AddressSpace, AtomicFunction, Expression, GlobalVariable, Handle, Span, StorageAccess, TypeInner,
};
use standstill_kernel_ir::{
    Access, AtomicOperation, Comparison, Op, Operand, Order, Register, Scope, Space, Type,
};

use crate::emit::Pointer;
use crate::expression::pointee;
use crate::frame::{Builder, Fault, Frame, Value, plain_access};
use crate::operation::compare;
use crate::place::address;
use crate::types::register_type;

/// What a load sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// What was written last.
    Written,
    /// The same in all invocations, since nobody writes.
    Same,
    /// Nothing is known of it.
    Anything,
}

impl<'a> Builder<'a> {
    /// A variable of module scope.
    pub(crate) fn global(&mut self, handle: Handle<GlobalVariable>) -> Value {
        if let Some(pointer) = self.globals.get(&handle) {
            return Value::Pointer(pointer.clone());
        }
        let buffer = self.layout.buffers.iter().position(|&known| known == handle);
        let address = buffer.and_then(|at| self.addresses.get(at).copied());
        match (buffer, address) {
            (Some(at), Some(address)) => Value::Pointer(Pointer::Memory {
                space: Space::Global,
                base: address.into(),
                offset: 0,
                buffer: Some(at),
            }),
            _ => Value::Handle,
        }
    }

    /// Whether what a pointer points at can be written and is not the function's own.
    fn is_writable(&self, pointer: &Pointer) -> bool {
        let Pointer::Memory { space, base, buffer, .. } = pointer else { return false };
        let own = |pointer: &Pointer| matches!(pointer, Pointer::Memory { base: known, .. } if known == base);
        match (buffer.and_then(|at| self.layout.buffers.get(at)), space) {
            (Some(&buffer), _) => match self.module.global_variables[buffer].space {
                AddressSpace::Storage { access } => access.contains(StorageAccess::STORE),
                _ => false,
            },
            (None, Space::Local) => self.globals.values().any(own),
            (None, _) => true,
        }
    }

    /// What lies at a pointer.
    pub(crate) fn load(&mut self, pointer: &Pointer, inner: &TypeInner) -> Option<Vec<Operand>> {
        let may_be_anything = self.by_specification && self.is_writable(pointer);
        self.load_as(pointer, inner, if may_be_anything { Seen::Anything } else { Seen::Written })
    }

    /// The same between two barriers, where all invocations get the same.
    pub(crate) fn load_uniformly(&mut self, pointer: &Pointer, inner: &TypeInner) -> Option<Vec<Operand>> {
        self.load_as(pointer, inner, Seen::Same)
    }

    fn load_as(&mut self, pointer: &Pointer, inner: &TypeInner, seen: Seen) -> Option<Vec<Operand>> {
        let slots = self.types.slots(inner)?;
        let strong = matches!(inner, TypeInner::Atomic(_)) && seen != Seen::Same;
        let order = match pointer {
            Pointer::Memory { space, .. } if strong => Some(strength(*space)),
            _ => None,
        };
        match seen {
            Seen::Anything => Some(self.anything(&slots)),
            Seen::Written | Seen::Same => self.load_slots(pointer, &slots, order),
        }
    }

    /// Puts scalars where a pointer points; with an order, as an atomic store.
    pub(crate) fn store(
        &mut self,
        pointer: &Pointer,
        inner: &TypeInner,
        values: &[Operand],
        order: Option<(Order, Scope)>,
    ) -> Option<()> {
        let slots = self.types.slots(inner)?;
        self.store_slots(pointer, &slots, values, order)
    }

    /// A pointer to a named part.
    pub(crate) fn part(&mut self, pointer: &Pointer, inner: &TypeInner, index: u32) -> Option<Pointer> {
        Some(match pointer {
            Pointer::Registers(registers) => {
                let (before, part) = self.types.component(inner, index)?;
                let count = self.types.slots(&part)?.len();
                Pointer::Registers(registers.get(before..before + count)?.to_vec())
            }
            Pointer::Memory { space, base, offset, buffer } => Pointer::Memory {
                space: *space,
                base: *base,
                offset: offset + i64::from(self.types.offset(inner, index)?),
                buffer: *buffer,
            },
        })
    }

    /// A pointer to an element by an index that is worked out.
    pub(crate) fn element(
        &mut self,
        pointer: &Pointer,
        inner: &TypeInner,
        index: Operand,
        signed: bool,
    ) -> Option<Pointer> {
        if let Operand::Immediate(index) = index {
            return self.part(pointer, inner, u32::try_from(index).ok()?);
        }
        let stride = self.types.stride(inner)?;
        let ty = if signed { Type::S32 } else { Type::U32 };
        self.further(pointer, ty, index, stride)
    }

    /// An atomic update (WGSL, «Atomic Read-modify-write»).
    pub(crate) fn atomic(
        &mut self,
        frame: &mut Frame<'a>,
        pointer: Handle<Expression>,
        fun: AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
        span: Span,
    ) -> Result<(), Fault> {
        let fault = || ("an atomic that is not known here".to_owned(), span);
        let inner = pointee(self, self.type_of(frame, pointer)).ok_or_else(fault)?;
        let kind = self.scalar_kind(&inner).ok_or_else(fault)?;
        let ty = register_type(kind);
        let Value::Pointer(place) = self.value(frame, pointer)? else { return Err(fault()) };
        let Pointer::Memory { space, .. } = place else { return Err(fault()) };
        let address = address(&place, 0).ok_or_else(fault)?;
        let mut operand = self.scalar(frame, value)?;
        let mut operands = vec![address];
        let operation = match fun {
            AtomicFunction::Add => AtomicOperation::Add,
            AtomicFunction::Subtract => {
                operand = self.unary(naga::UnaryOperator::Negate, kind, operand);
                AtomicOperation::Add
            }
            AtomicFunction::And => AtomicOperation::And,
            AtomicFunction::ExclusiveOr => AtomicOperation::Xor,
            AtomicFunction::InclusiveOr => AtomicOperation::Or,
            AtomicFunction::Min => AtomicOperation::Min,
            AtomicFunction::Max => AtomicOperation::Max,
            AtomicFunction::Exchange { compare: None } => AtomicOperation::Exchange,
            AtomicFunction::Exchange { compare: Some(expected) } => {
                operands.push(self.scalar(frame, expected)?);
                AtomicOperation::CompareExchange
            }
        };
        operands.push(operand);
        let (order, scope) = strength(space);
        let access = Access { order, scope, ..plain_access(space, ty) };
        let op = Op::Atomic { access, operation };
        let Some(result) = result else {
            let into: &[Operand] = &[Operand::Absent];
            self.push_to(op, into, &operands);
            return Ok(());
        };
        let old: Register = self.out.register(ty);
        self.push(op, &[old], &operands);
        let mut values = vec![old.into()];
        // A compare-and-exchange also says whether it exchanged.
        if let (AtomicOperation::CompareExchange, Some(&expected)) = (operation, operands.get(1)) {
            values.push(self.result(compare(Comparison::Eq, ty), Type::Pred, &[old.into(), expected]));
        }
        frame.values.insert(result, Value::Scalars(values));
        Ok(())
    }

    /// A store of a statement.
    pub(crate) fn store_to(
        &mut self,
        frame: &mut Frame<'a>,
        pointer: Handle<Expression>,
        value: Handle<Expression>,
        span: Span,
    ) -> Result<(), Fault> {
        let fault = || ("a store that is not known here".to_owned(), span);
        let inner = pointee(self, self.type_of(frame, pointer)).ok_or_else(fault)?;
        let values = self.scalars(frame, value)?;
        let Value::Pointer(place) = self.value(frame, pointer)? else { return Err(fault()) };
        self.locate(frame, span);
        let order = match (&inner, &place) {
            (TypeInner::Atomic(_), Pointer::Memory { space, .. }) => Some(strength(*space)),
            _ => None,
        };
        self.store(&place, &inner, &values, order).ok_or_else(fault)
    }
}

/// Atomics are relaxed: workgroup memory is for the workgroup, buffers are for the device (WGSL, «Memory Model»).
fn strength(space: Space) -> (Order, Scope) {
    (Order::Relaxed, if space == Space::Shared { Scope::Cta } else { Scope::Gpu })
}
