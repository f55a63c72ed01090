//! Places in memory: arrays, elements with their checks, parts of slices, loads and stores.

use standstill_kernel_ir::{
    Access, Arithmetic, ArithmeticFlags, Comparison, LocalVariable, Op, Operand, Operation, Order, Register,
    Scope, Space, Symbol, Type,
};

use super::Stop;
use super::arithmetic::arithmetic;
use super::body::{Binding, Lowering};
use crate::extent::Extent;
use crate::tree::{ArrayValue, Expression, LocalId, Location};
use crate::types::{Scalar, Ty};

/// Elements that are set one by one; more are set in a loop.
const MAXIMUM_UNROLLED: u64 = 16;

/// Where a place is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spot {
    /// In a register that can be written to.
    Register(Register),
    /// A value that cannot.
    Value(Operand),
    Memory(Operand, Space),
    None,
}

/// An address that is being made.
struct Address {
    base: Base,
    offset: u64,
    space: Space,
}

#[derive(Clone, Copy)]
enum Base {
    Symbol(Symbol),
    Register(Register),
}

/// A plain access of one element.
fn plain(space: Space, ty: Type) -> Access {
    Access { space, ty, elements: 1, order: Order::Weak, scope: Scope::Cta, non_coherent: false }
}

impl Lowering<'_> {
    /// Where a place is; indices are checked on the way.
    pub(super) fn spot(&mut self, location: &Location) -> Spot {
        let binding = self.binding(location.base);
        let mut ty = self.local_type(location.base);
        if location.indices.is_empty() {
            return match binding {
                Binding::Register(register) => Spot::Register(register),
                Binding::Value(value) => Spot::Value(value),
                Binding::Address(address, space) => {
                    Spot::Memory(Operand::Address { base: address, offset: 0 }, space)
                }
                Binding::Array(symbol, space) => Spot::Memory(Operand::Symbol { symbol, offset: 0 }, space),
                Binding::Slice { pointer, space, .. } => {
                    Spot::Memory(Operand::Address { base: pointer, offset: 0 }, space)
                }
                Binding::Exchange { .. } | Binding::Helper(_) | Binding::None => Spot::None,
            };
        }
        let (base, mut length, space) = match binding {
            Binding::Slice { pointer, length, space } => (Base::Register(pointer), Some(length), space),
            Binding::Array(symbol, space) => (Base::Symbol(symbol), None, space),
            _ => return Spot::None,
        };
        let mut address = Address { base, offset: 0, space };
        for index in &location.indices {
            let (element, count) = match ty {
                Ty::Array(element, count) => (*element, Operand::Immediate(count)),
                Ty::Slice(element, _) => (*element, length.take().unwrap_or(Operand::Immediate(0))),
                _ => return Spot::None,
            };
            self.advance(&mut address, index, count, element.bytes(), location);
            ty = element;
        }
        self.mark(location.extent);
        Spot::Memory(self.operand(&address), address.space)
    }

    /// Moves an address by an index times a size.
    fn advance(
        &mut self,
        address: &mut Address,
        index: &Expression,
        count: Operand,
        size: u64,
        place: &Location,
    ) {
        let value = self.expression(index);
        let scalar = index.ty.scalar().unwrap_or(Scalar::Usize);
        if let (Operand::Immediate(number), Operand::Immediate(count)) = (value, count)
            && number < count
        {
            address.offset = address.offset.saturating_add(number.saturating_mul(size));
            return;
        }
        self.at(place.extent);
        let wide = scalar.register().bits() == 64;
        let small_count = matches!(count, Operand::Immediate(count) if u32::try_from(count).is_ok());
        let outside = if !wide && small_count {
            self.set_if(Comparison::Ge, Type::U32, value, count)
        } else {
            let value = self.convert(scalar, Scalar::Usize, value);
            self.set_if(Comparison::Ge, Type::U64, value, count)
        };
        let name = self.local_name(place.base);
        self.stop_if(outside, place.extent, Stop::Index(name));
        self.scale(address, value, wide, size);
    }

    fn scale(&mut self, address: &mut Address, value: Operand, wide: bool, size: u64) {
        let size = Operand::Immediate(size);
        let product =
            |flags, ty| Arithmetic { flags: ArithmeticFlags(flags), ..arithmetic(Operation::Mul, ty) };
        let moved = if wide {
            self.compute(product(ArithmeticFlags::LOW, Type::U64), Type::U64, &[value, size])
        } else {
            self.compute(product(ArithmeticFlags::WIDE, Type::U32), Type::U64, &[value, size])
        };
        let base = self.base_register(address);
        let add = arithmetic(Operation::Add, Type::U64);
        address.base = Base::Register(self.compute(add, Type::U64, &[base.into(), moved.into()]));
    }

    fn base_register(&mut self, address: &Address) -> Register {
        match address.base {
            Base::Register(register) => register,
            Base::Symbol(symbol) => self.fresh(Type::U64, Operand::Symbol { symbol, offset: 0 }),
        }
    }

    fn operand(&mut self, address: &Address) -> Operand {
        let offset = i32::try_from(address.offset).unwrap_or(i32::MAX);
        match address.base {
            Base::Register(base) => Operand::Address { base, offset },
            Base::Symbol(symbol) => Operand::Symbol { symbol, offset },
        }
    }

    /// An address in a register.
    pub(super) fn pointer(&mut self, address: Operand) -> Register {
        match address {
            Operand::Address { base, offset: 0 } => base,
            Operand::Address { base, offset } => {
                let add = arithmetic(Operation::Add, Type::U64);
                self.compute(add, Type::U64, &[base.into(), Operand::Immediate(offset as u64)])
            }
            other => self.fresh(Type::U64, other),
        }
    }

    pub(super) fn load(&mut self, address: Operand, space: Space, scalar: Scalar) -> Operand {
        let ty = if scalar == Scalar::Bool { Type::U32 } else { scalar.register() };
        let register = self.builder.register(ty);
        self.push(Op::Load(plain(space, scalar.memory())), &[register], &[address]);
        if scalar == Scalar::Bool { self.truth(register.into()).into() } else { register.into() }
    }

    pub(super) fn store(&mut self, address: Operand, space: Space, scalar: Scalar, value: Operand) {
        let value = if scalar == Scalar::Bool { self.number_of(value, Type::U32).into() } else { value };
        self.push(Op::Store(plain(space, scalar.memory())), &[], &[address, value]);
    }

    pub(super) fn read(&mut self, location: &Location, scalar: Scalar) -> Operand {
        match self.spot(location) {
            Spot::Register(register) => register.into(),
            Spot::Value(value) => value,
            Spot::Memory(address, space) => {
                self.mark(location.extent);
                self.load(address, space, scalar)
            }
            Spot::None => Operand::Immediate(0),
        }
    }

    pub(super) fn write(&mut self, spot: Spot, location: &Location, scalar: Scalar, value: Operand) {
        match spot {
            Spot::Register(register) => {
                self.at(location.extent);
                self.copy(register, scalar.register(), value);
            }
            Spot::Memory(address, space) => {
                self.mark(location.extent);
                self.store(address, space, scalar, value);
            }
            Spot::Value(_) | Spot::None => {}
        }
    }

    /// What a borrow stands for.
    pub(super) fn borrowed(
        &mut self,
        location: &Location,
        range: Option<&(Expression, Option<Expression>)>,
        ty: &Ty,
    ) -> Binding {
        let whole = location.indices.is_empty() && range.is_none();
        if whole && !matches!(self.binding(location.base), Binding::Array(..)) {
            return self.binding(location.base);
        }
        let place_type = self.place_type(location);
        let spot = match self.spot(location) {
            Spot::Memory(address, space) => (address, space),
            _ => return Binding::None,
        };
        let pointer = self.pointer(spot.0);
        let Ty::Slice(element, _) = ty else { return Binding::Address(pointer, spot.1) };
        let length = match (place_type, self.binding(location.base)) {
            (Ty::Array(_, count), _) => Operand::Immediate(count),
            (_, Binding::Slice { length, .. }) => length,
            _ => Operand::Immediate(0),
        };
        let Some((start, end)) = range else { return Binding::Slice { pointer, length, space: spot.1 } };
        let first = self.index_value(start);
        let last = match end {
            Some(end) => self.index_value(end),
            None => length,
        };
        self.at(location.extent);
        let name = self.local_name(location.base);
        let (backwards, beyond) = (
            self.set_if(Comparison::Gt, Type::U64, first, last),
            self.set_if(Comparison::Gt, Type::U64, last, length),
        );
        let either = self.compute(
            arithmetic(Operation::Or, Type::Pred),
            Type::Pred,
            &[backwards.into(), beyond.into()],
        );
        self.stop_if(either, location.extent, Stop::Part(name));
        let mut address = Address { base: Base::Register(pointer), offset: 0, space: spot.1 };
        self.scale(&mut address, first, true, element.bytes());
        let pointer = self.base_register(&address);
        let length = self.compute(arithmetic(Operation::Sub, Type::U64), Type::U64, &[last, first]).into();
        Binding::Slice { pointer, length, space: spot.1 }
    }

    fn index_value(&mut self, index: &Expression) -> Operand {
        let value = self.expression(index);
        self.convert(index.ty.scalar().unwrap_or(Scalar::Usize), Scalar::Usize, value)
    }

    /// The type of a place.
    fn place_type(&self, location: &Location) -> Ty {
        let mut ty = self.local_type(location.base);
        for _ in &location.indices {
            ty = match ty {
                Ty::Array(element, _) | Ty::Slice(element, _) => *element,
                other => other,
            };
        }
        ty
    }

    /// `let a = [x; N];`, or an array of the tile's.
    pub(super) fn let_array(&mut self, id: LocalId, value: Option<&ArrayValue>, extent: Extent) {
        let ty = self.local_type(id);
        let Ty::Array(..) = ty else { return };
        let element = match ty.innermost() {
            Ty::Scalar(scalar) | Ty::Atomic(scalar) => *scalar,
            _ => return,
        };
        let space = if value.is_none() { Space::Shared } else { Space::Local };
        let name = self.local_name(id);
        let tables = self.builder.tables();
        let symbol = Symbol::Local(tables.variables.len() as u32);
        tables.variables.push(LocalVariable {
            name,
            space,
            ty: element.memory(),
            bytes: ty.bytes(),
            align: element.memory().bytes().max(4),
        });
        self.bind(id, Binding::Array(symbol, space));
        if let Some(value) = value {
            self.mark(extent);
            self.fill(symbol, 0, &ty, value, element);
        }
    }

    fn fill(&mut self, symbol: Symbol, offset: u64, ty: &Ty, value: &ArrayValue, element: Scalar) {
        match value {
            ArrayValue::Element(value) => {
                let value = self.expression(value);
                self.store_at(symbol, offset, element, value);
            }
            ArrayValue::List(values) => {
                let Ty::Array(inner, _) = ty else { return };
                for (index, value) in (0u64..).zip(values) {
                    self.fill(
                        symbol,
                        offset.saturating_add(index.saturating_mul(inner.bytes())),
                        inner,
                        value,
                        element,
                    );
                }
            }
            ArrayValue::Repeat(value) => {
                let value = self.expression(value);
                let size = u64::from(element.memory().bytes());
                let count = ty.bytes() / size.max(1);
                if count <= MAXIMUM_UNROLLED {
                    for index in 0..count {
                        self.store_at(symbol, offset + index * size, element, value);
                    }
                } else {
                    self.fill_in_loop(symbol, offset, count, element, value);
                }
            }
        }
    }

    fn store_at(&mut self, symbol: Symbol, offset: u64, element: Scalar, value: Operand) {
        let offset = i32::try_from(offset).unwrap_or(i32::MAX);
        self.store(Operand::Symbol { symbol, offset }, Space::Local, element, value);
    }

    fn fill_in_loop(&mut self, symbol: Symbol, offset: u64, count: u64, element: Scalar, value: Operand) {
        let size = Operand::Immediate(element.memory().bytes().into());
        let pointer = self.fresh(Type::U64, Operand::Symbol { symbol, offset: 0 });
        let add = arithmetic(Operation::Add, Type::U64);
        let pointer = self.compute(add, Type::U64, &[pointer.into(), Operand::Immediate(offset)]);
        let index = self.fresh(Type::U32, Operand::Immediate(0));
        let (body, after) = (self.new_block(), self.new_block());
        self.jump(body, body);
        self.store(Operand::Address { base: pointer, offset: 0 }, Space::Local, element, value);
        self.push(Op::Arithmetic(add), &[pointer], &[pointer.into(), size]);
        let next = arithmetic(Operation::Add, Type::U32);
        self.push(Op::Arithmetic(next), &[index], &[index.into(), Operand::Immediate(1)]);
        let more = self.set_if(Comparison::Lt, Type::U32, index.into(), Operand::Immediate(count));
        self.branch(more, body, after);
        self.block = after;
    }
}
