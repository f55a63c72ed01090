//! Loads, stores, access chains, atomics and fences.

use naga::{ScalarKind, UnaryOperator};
use rspirv::spirv::{MemoryAccess, MemorySemantics, Op};
use standstill_kernel_ir::{
    Access, AtomicOperation, Comparison, FenceKind, Op as IrOp, Operand, Operation, Order, Scope, Space, Type,
};

use super::kernel::{Fault, Frame, Kernel, Place, Value};
use super::layout::space;
use super::module::{Variable, built_in};
use super::types::{Kind, Shape};
use super::words::Instruction;
use crate::emit::Pointer;
use crate::frame::plain_access;
use crate::operation::{arithmetic, compare};
use crate::place::address;
use crate::types::{memory_type, register_type};

impl Kernel<'_> {
    /// Lowers an instruction that has to do with memory; gives whether it is one.
    pub(crate) fn memory_instruction(
        &mut self,
        frame: &mut Frame,
        op: Op,
        instruction: Instruction<'_>,
    ) -> Result<bool, Fault> {
        let operands = instruction.operands();
        let id = instruction.result().unwrap_or(0);
        let operand = |index: usize| instruction.operand(index).ok_or("an operand is missing".to_owned());
        match op {
            Op::Variable => {
                let Some(Kind::Pointer { class, to }) = instruction.ty().map(|ty| self.module.kind(ty))
                else {
                    return Ok(false);
                };
                let variable = Variable { id, class: *class, ty: *to, first: operands.get(1).copied() };
                let value = self.variable(frame, variable)?;
                frame.keep(id, value);
            }
            Op::Load => {
                let value = self.load(frame, operand(0)?, instruction)?;
                let Some(value) = value else { return Ok(false) };
                frame.keep(id, value);
            }
            Op::Store => {
                let (to, from) = (self.value(frame, operand(0)?)?, operand(1)?);
                let Value::Place(place) = to else { return Ok(matches!(to, Value::Handle)) };
                let values = self.scalars(frame, from)?;
                let volatile = self.is_volatile(operands.get(2)) || place.is_shared;
                self.store(&place, &values, volatile)?;
            }
            Op::CopyMemory => {
                let (to, from) = (self.value(frame, operand(0)?)?, self.value(frame, operand(1)?)?);
                let (Value::Place(to), Value::Place(from)) = (to, from) else { return Ok(false) };
                let slots = self.module.slots(from.ty, from.shape).ok_or("a copy of too much")?;
                let values = self.emit.load_slots(&from.pointer, &slots, None).ok_or("what is copied")?;
                self.store(&to, &values, to.is_shared)?;
            }
            Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain => {
                let base = self.value(frame, operand(0)?)?;
                let indices = operands.get(1..).unwrap_or_default();
                let by_pointer = matches!(op, Op::PtrAccessChain | Op::InBoundsPtrAccessChain);
                let pointer = instruction.ty().unwrap_or(0);
                let value = self.chain(frame, base, indices, by_pointer, pointer)?;
                frame.keep(id, value);
            }
            Op::ArrayLength => {
                let length = self.array_length(frame, operand(0)?, operand(1)?)?;
                frame.keep(id, Value::Scalars(vec![length]));
            }
            Op::ConvertUToPtr
            | Op::Bitcast
            | Op::ConvertPtrToU
            | Op::PtrCastToGeneric
            | Op::GenericCastToPtr => {
                return self.pointer_cast(frame, operand(0)?, instruction);
            }
            Op::Select if matches!(self.module.kind(instruction.ty().unwrap_or(0)), Kind::Pointer { .. }) => {
                let condition = self.scalar(frame, operand(0)?)?;
                let (yes, no) = (self.scalar(frame, operand(1)?)?, self.scalar(frame, operand(2)?)?);
                let ty = Type::U64;
                let chosen = self.emit.result(arithmetic(Operation::Selp, ty), ty, &[yes, no, condition]);
                let value = self.pointed(instruction.ty().unwrap_or(0), chosen);
                frame.keep(id, value);
            }
            Op::MemoryBarrier => {
                let (scope, semantics) = (operand(0)?, operand(1)?);
                self.fence(scope, semantics);
            }
            _ => return self.atomic(frame, op, instruction),
        }
        Ok(true)
    }

    fn is_volatile(&self, access: Option<&u32>) -> bool {
        access.is_some_and(|bits| MemoryAccess::from_bits_truncate(*bits).contains(MemoryAccess::VOLATILE))
    }

    fn load(
        &mut self,
        frame: &Frame,
        from: u32,
        instruction: Instruction<'_>,
    ) -> Result<Option<Value>, Fault> {
        Ok(Some(match self.value(frame, from)? {
            Value::Place(place) => {
                let ty = instruction.ty().unwrap_or(place.ty);
                if let Kind::Pointer { .. } = self.module.kind(ty) {
                    let Some(address) = address(&place.pointer, 0) else { return Ok(None) };
                    let access = plain_access(self.space_of(&place), Type::U64);
                    let loaded = self.emit.result(IrOp::Load(access), Type::U64, &[address]);
                    return Ok(Some(self.pointed(ty, loaded)));
                }
                let Some(slots) = self.module.slots(place.ty, place.shape) else { return Ok(None) };
                let volatile = self.is_volatile(instruction.operands().get(1)) || place.is_shared;
                let order = if volatile { Some((Order::Volatile, Scope::Gpu)) } else { None };
                match self.emit.load_slots(&place.pointer, &slots, order) {
                    Some(values) => Value::Scalars(values),
                    None => return Ok(None),
                }
            }
            known @ Value::BuiltIn { .. } => known,
            Value::BuiltIns(_) | Value::Scalars(_) => return Ok(None),
            Value::Handle => match self.register_types(instruction.ty().unwrap_or(0)) {
                types if types.is_empty() => Value::Handle,
                _ => return Ok(None),
            },
        }))
    }

    fn store(&mut self, place: &Place, values: &[Operand], volatile: bool) -> Result<(), Fault> {
        if let (Kind::Pointer { .. }, Some(&value)) = (self.module.kind(place.ty), values.first()) {
            let address = address(&place.pointer, 0).ok_or("a store of an address")?;
            let access = plain_access(self.space_of(place), Type::U64);
            self.emit.push(IrOp::Store(access), &[], &[address, value]);
            return Ok(());
        }
        // What has no value here is not kept.
        let Some(slots) = self.module.slots(place.ty, place.shape) else { return Ok(()) };
        let order = if volatile { Some((Order::Volatile, Scope::Gpu)) } else { None };
        self.emit.store_slots(&place.pointer, &slots, values, order).ok_or_else(|| "a store".to_owned())
    }

    fn space_of(&self, place: &Place) -> Space {
        match place.pointer {
            Pointer::Memory { space, .. } => space,
            Pointer::Registers(_) => Space::Local,
        }
    }

    /// An address as a value.
    pub(crate) fn address_of(&mut self, place: &Place) -> Result<Operand, Fault> {
        let address = address(&place.pointer, 0).ok_or("the address of a variable in registers")?;
        Ok(self.emit.copy(Type::U64, address))
    }

    /// A value of a pointer's type as a pointer.
    pub(crate) fn pointed(&mut self, ty: u32, value: Operand) -> Value {
        let Kind::Pointer { class, to } = *self.module.kind(ty) else { return Value::Handle };
        let Some(space) = space(class) else { return Value::Handle };
        let base = match value {
            Operand::Register(_) => value,
            other => self.emit.copy(Type::U64, other),
        };
        let pointer = Pointer::Memory { space, base, offset: 0, buffer: None };
        Value::Place(Place { pointer, ty: to, shape: Shape::default(), is_shared: false })
    }

    fn pointer_cast(
        &mut self,
        frame: &mut Frame,
        from: u32,
        instruction: Instruction<'_>,
    ) -> Result<bool, Fault> {
        let ty = instruction.ty().unwrap_or(0);
        let to_pointer = matches!(self.module.kind(ty), Kind::Pointer { .. });
        let value = self.value(frame, from)?;
        let (Value::Place(_) | Value::Scalars(_)) = value else { return Ok(false) };
        if !to_pointer && !matches!(value, Value::Place(_)) {
            return Ok(false);
        }
        let scalars = match value {
            // Two words of 32 bits.
            Value::Scalars(parts) if parts.len() == 2 => {
                vec![self.emit.result(arithmetic(Operation::Mov, Type::B64), Type::U64, &parts)]
            }
            _ => self.scalars(frame, from)?,
        };
        let &[address] = scalars.as_slice() else { return Ok(false) };
        let value = if to_pointer { self.pointed(ty, address) } else { Value::Scalars(vec![address]) };
        frame.keep(instruction.result().unwrap_or(0), value);
        Ok(true)
    }

    /// A pointer to a part, by indices from outside to inside.
    fn chain(
        &mut self,
        frame: &Frame,
        base: Value,
        indices: &[u32],
        by_pointer: bool,
        pointer: u32,
    ) -> Result<Value, Fault> {
        let mut place = match base {
            Value::Place(place) => place,
            Value::BuiltIns(ty) => {
                let member =
                    indices.first().and_then(|&index| self.module.integer(index)).unwrap_or(u64::MAX);
                let code = self.module.member(ty, u32::try_from(member).unwrap_or(u32::MAX)).built_in;
                let component =
                    indices.get(1).and_then(|&index| self.module.integer(index)).map(|c| c as u32);
                return Ok(code.map_or(Value::Handle, |code| Value::BuiltIn { code, component }));
            }
            Value::BuiltIn { code, .. } => {
                let component = indices.first().and_then(|&index| self.module.integer(index));
                return Ok(
                    component.map_or(Value::Handle, |c| Value::BuiltIn { code, component: Some(c as u32) })
                );
            }
            Value::Handle | Value::Scalars(_) => return Ok(Value::Handle),
        };
        let mut rest = indices;
        if let (true, Some((&first, behind))) = (by_pointer, indices.split_first()) {
            let stride = self.module.array_stride(pointer).map_or(self.module.bytes(place.ty), u64::from);
            place.pointer = self.moved(frame, &place.pointer, first, stride)?;
            rest = behind;
        }
        for &index in rest {
            place = self.step(frame, place, index)?;
        }
        Ok(Value::Place(place))
    }

    fn step(&mut self, frame: &Frame, place: Place, index: u32) -> Result<Place, Fault> {
        let fault = || "a part that is not known here".to_owned();
        let number = self.module.integer(index).and_then(|number| u32::try_from(number).ok());
        let is_structure = matches!(self.module.kind(place.ty), Kind::Struct { .. });
        if let (Some(number), false) =
            (number, matches!(place.pointer, Pointer::Memory { .. }) && !is_structure)
        {
            let part = self.module.part(place.ty, place.shape, number).ok_or_else(fault)?;
            let is_shared = place.is_shared || is_structure && self.module.member(place.ty, number).is_shared;
            let pointer = match place.pointer {
                Pointer::Registers(registers) => {
                    let count = self.module.types.get(&part.ty).map_or(0, |ty| ty.scalars as usize);
                    let before = usize::try_from(part.before).unwrap_or(usize::MAX);
                    let end = before.checked_add(count).ok_or_else(fault)?;
                    Pointer::Registers(registers.get(before..end).ok_or_else(fault)?.to_vec())
                }
                Pointer::Memory { space, base, offset, buffer } => {
                    let offset = offset.checked_add_unsigned(part.offset).ok_or_else(fault)?;
                    Pointer::Memory { space, base, offset, buffer }
                }
            };
            return Ok(Place { pointer, ty: part.ty, shape: part.shape, is_shared });
        }
        let (stride, part) = self.module.element(place.ty, place.shape).ok_or_else(fault)?;
        let pointer = self.moved(frame, &place.pointer, index, stride)?;
        Ok(Place { pointer, ty: part.ty, shape: part.shape, is_shared: place.is_shared })
    }

    /// A pointer so many elements further.
    fn moved(&mut self, frame: &Frame, pointer: &Pointer, index: u32, stride: u64) -> Result<Pointer, Fault> {
        let fault = || "an element that is not known here".to_owned();
        let signed = |bits: u64| bits.cast_signed();
        if let (Some(number), Pointer::Memory { space, base, offset, buffer }) =
            (self.module.integer(index), pointer)
        {
            let distance = signed(number).checked_mul(signed(stride)).ok_or_else(fault)?;
            let offset = offset.checked_add(distance).ok_or_else(fault)?;
            return Ok(Pointer::Memory { space: *space, base: *base, offset, buffer: *buffer });
        }
        let stride = u32::try_from(stride).map_err(|_| fault())?;
        let kind = self.module.scalar(self.module.type_of(index)).ok_or_else(fault)?;
        let ty = match (kind.kind, kind.width) {
            (ScalarKind::Sint, 8) => Type::S64,
            (_, 8) => Type::U64,
            (ScalarKind::Sint, _) => Type::S32,
            _ => Type::U32,
        };
        let index = self.scalar(frame, index)?;
        self.emit.further(pointer, ty, index, stride).ok_or_else(fault)
    }

    /// The number of elements of a runtime-sized array, by the length of its buffer.
    fn array_length(&mut self, frame: &Frame, structure: u32, member: u32) -> Result<Operand, Fault> {
        let fault = || "the length of this array is not known here".to_owned();
        let Value::Place(place) = self.value(frame, structure)? else { return Err(fault()) };
        let part = self.module.part(place.ty, place.shape, member).ok_or_else(fault)?;
        let (stride, _) = self.module.element(part.ty, part.shape).ok_or_else(fault)?;
        let length = match place.pointer {
            Pointer::Memory { buffer: Some(buffer), .. } => self.layout.length_of(buffer),
            _ => None,
        };
        let bytes = match length {
            Some(parameter) => self.parameter(parameter, Type::U32),
            // A buffer among several, or behind an address: the same for all who ask for the same.
            None => {
                let length = self.emit.depending(&[Type::U32], &[Operand::Immediate(0)]);
                return length.first().copied().ok_or_else(fault);
            }
        };
        let before = Operand::Immediate(part.offset);
        let rest = match part.offset {
            0 => bytes,
            _ => self.emit.result(arithmetic(Operation::Sub, Type::U32), Type::U32, &[bytes, before]),
        };
        let stride = Operand::Immediate(stride.max(1));
        Ok(self.emit.result(arithmetic(Operation::Div, Type::U32), Type::U32, &[rest, stride]))
    }

    /// The scope that an id names (SPIR-V, «Scope <id>»).
    pub(crate) fn scope(&self, id: u32) -> Scope {
        match self.module.integer(id) {
            Some(0) => Scope::Sys,
            Some(1 | 5) => Scope::Gpu,
            _ => Scope::Cta,
        }
    }

    /// The order that an id names (SPIR-V, «Memory Semantics <id>»).
    fn order(&self, id: u32) -> Order {
        let bits = MemorySemantics::from_bits_truncate(self.module.integer(id).unwrap_or(0) as u32);
        let (acquires, releases) =
            (bits.contains(MemorySemantics::ACQUIRE), bits.contains(MemorySemantics::RELEASE));
        if bits.contains(MemorySemantics::SEQUENTIALLY_CONSISTENT) {
            Order::SequentiallyConsistent
        } else if bits.contains(MemorySemantics::ACQUIRE_RELEASE) || acquires && releases {
            Order::AcquireRelease
        } else if acquires {
            Order::Acquire
        } else if releases {
            Order::Release
        } else {
            Order::Relaxed
        }
    }

    pub(crate) fn fence(&mut self, scope: u32, semantics: u32) {
        let order = match self.order(semantics) {
            Order::Relaxed => return,
            order => order,
        };
        let scope = self.scope(scope);
        self.pushed(IrOp::Fence { kind: FenceKind::Thread, order, scope }, &[]);
    }

    fn atomic(&mut self, frame: &mut Frame, op: Op, instruction: Instruction<'_>) -> Result<bool, Fault> {
        use AtomicOperation as A;
        let (operation, kind) = match op {
            Op::AtomicLoad | Op::AtomicStore => (A::Exchange, None),
            Op::AtomicExchange => (A::Exchange, None),
            Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => (A::CompareExchange, None),
            Op::AtomicIIncrement | Op::AtomicIDecrement | Op::AtomicIAdd | Op::AtomicISub => (A::Add, None),
            Op::AtomicFAddEXT => (A::Add, None),
            Op::AtomicSMin => (A::Min, Some(ScalarKind::Sint)),
            Op::AtomicUMin => (A::Min, Some(ScalarKind::Uint)),
            Op::AtomicSMax => (A::Max, Some(ScalarKind::Sint)),
            Op::AtomicUMax => (A::Max, Some(ScalarKind::Uint)),
            Op::AtomicFMinEXT => (A::Min, None),
            Op::AtomicFMaxEXT => (A::Max, None),
            Op::AtomicAnd => (A::And, None),
            Op::AtomicOr => (A::Or, None),
            Op::AtomicXor => (A::Xor, None),
            Op::AtomicFlagTestAndSet => (A::Exchange, None),
            Op::AtomicFlagClear => (A::Exchange, None),
            _ => return Ok(false),
        };
        let operand = |index: usize| instruction.operand(index).ok_or("an operand is missing".to_owned());
        let Value::Place(place) = self.value(frame, operand(0)?)? else { return Ok(false) };
        let Pointer::Memory { space, .. } = place.pointer else {
            return Err("an atomic on a variable of an invocation".to_owned());
        };
        let Some(mut scalar) = self.module.scalar(place.ty) else { return Ok(false) };
        scalar.kind = kind.unwrap_or(scalar.kind);
        let ty = register_type(scalar);
        let access = Access {
            order: self.order(operand(2)?),
            scope: self.scope(operand(1)?),
            ..plain_access(space, memory_type(scalar))
        };
        let address = address(&place.pointer, 0).ok_or("an atomic on no memory")?;
        match op {
            Op::AtomicStore | Op::AtomicFlagClear => {
                let value = match op {
                    Op::AtomicStore => self.scalar(frame, operand(3)?)?,
                    _ => Operand::Immediate(0),
                };
                self.pushed(IrOp::Store(access), &[address, value]);
                return Ok(true);
            }
            Op::AtomicLoad => {
                let value = self.emit.result(IrOp::Load(access), ty, &[address]);
                frame.keep(instruction.result().unwrap_or(0), Value::Scalars(vec![value]));
                return Ok(true);
            }
            _ => {}
        }
        let mut operands = vec![address];
        match op {
            Op::AtomicIIncrement | Op::AtomicFlagTestAndSet => operands.push(Operand::Immediate(1)),
            Op::AtomicIDecrement => operands.push(Operand::Immediate(u64::MAX)),
            Op::AtomicISub => {
                let value = self.scalar(frame, operand(3)?)?;
                operands.push(self.emit.unary(UnaryOperator::Negate, scalar, value));
            }
            Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => {
                // What is expected stands last.
                operands.push(self.scalar(frame, operand(5)?)?);
                operands.push(self.scalar(frame, operand(4)?)?);
            }
            _ => operands.push(self.scalar(frame, operand(3)?)?),
        }
        let old = self.emit.result(IrOp::Atomic { access, operation }, ty, &operands);
        let value = match op {
            Op::AtomicFlagTestAndSet => {
                let zero = Operand::Immediate(0);
                self.emit.result(compare(Comparison::Ne, ty), Type::Pred, &[old, zero])
            }
            _ => old,
        };
        frame.keep(instruction.result().unwrap_or(0), Value::Scalars(vec![value]));
        Ok(true)
    }

    /// What an entry point is given.
    pub(crate) fn built_in(&mut self, code: u32, component: Option<u32>, ty: u32) -> Vec<Operand> {
        match (built_in(code), component) {
            (Some(known), Some(component)) => vec![self.emit.built_in_component(known, component)],
            (Some(known), None) => self.emit.built_in(known),
            (None, component) => {
                let mask = super::group::lane_mask(code);
                let count = if component.is_some() { 1 } else { self.register_types(ty).len().max(1) as u32 };
                let first = component.unwrap_or(0);
                let one = |at: u32| match mask {
                    // Four words, for subgroups of up to 128.
                    Some(_) if at > 0 => Operand::Immediate(0),
                    Some(special) => self.emit.special(special),
                    None => self.emit.special(standstill_kernel_ir::Special::Other),
                };
                (first..first.saturating_add(count)).map(one).collect()
            }
        }
    }
}
