//! Expressions and assignments.

use standstill_kernel_ir::{ArithmeticFlags, Operand, Operation, Special, Type};

use super::Stop;
use super::arithmetic::arithmetic;
use super::body::{Binding, Lowering};
use super::memory::Spot;
use crate::tree::{Binary, Expression, Field, Kind, LocalId};
use crate::types::{Scalar, Ty};

impl Lowering<'_> {
    /// Lowers an expression; gives its value, absent where it has none.
    pub(super) fn expression(&mut self, it: &Expression) -> Operand {
        let scalar = it.ty.scalar().unwrap_or(Scalar::U32);
        match &it.kind {
            Kind::Integer(number) if scalar.is_float() => float(*number as f64, scalar),
            Kind::Integer(number) => Operand::Immediate(*number as u64),
            Kind::Float(number) => float(*number, scalar),
            Kind::Bool(truth) => Operand::Immediate(u64::from(*truth)),
            Kind::Unit | Kind::Wrong | Kind::Borrow(..) => Operand::Absent,
            Kind::Read(location) => self.read(location, scalar),
            Kind::Length(location) => match self.binding(location.base) {
                Binding::Slice { length, .. } if location.indices.is_empty() => length,
                _ => Operand::Immediate(0),
            },
            Kind::Field(field) => {
                self.mark(it.extent);
                self.field(*field)
            }
            Kind::InBounds(axes) => {
                self.at(it.extent);
                self.in_bounds(axes)
            }
            Kind::Negate(inner) => {
                let value = self.expression(inner);
                self.at(it.extent);
                self.negate(scalar, value)
            }
            Kind::Not(inner) => {
                let value = self.expression(inner);
                self.at(it.extent);
                self.not(scalar, value)
            }
            Kind::Binary(operation, left, right) => {
                let of = left.ty.scalar().unwrap_or(scalar);
                let left = self.held(left, right);
                let right = self.right_operand(*operation, of, right);
                self.binary(*operation, of, left, right, it.extent)
            }
            Kind::Compare(comparison, left, right) => {
                let of = match left.ty.scalar() {
                    Some(scalar) => scalar,
                    None => right.ty.scalar().unwrap_or(Scalar::U32),
                };
                let left = self.held(left, right);
                let right = self.expression(right);
                self.at(it.extent);
                self.compare(*comparison, of, left, right).into()
            }
            Kind::Lazy { .. } => self.lazy(it),
            Kind::Cast(inner) => {
                let from = inner.ty.scalar().unwrap_or(scalar);
                let value = self.expression(inner);
                self.at(it.extent);
                self.convert(from, scalar, value)
            }
            Kind::Function(function, values) => {
                let of = values.first().and_then(|value| value.ty.scalar()).unwrap_or(scalar);
                let values: Vec<Operand> = values.iter().map(|value| self.expression(value)).collect();
                self.at(it.extent);
                self.function(*function, of, &values)
            }
            Kind::Block(block) => self.statements(block),
            Kind::If { condition, then, otherwise } => {
                self.if_else(condition, then, otherwise.as_deref(), &it.ty)
            }
            Kind::Match { value, arms } => self.match_on(*value, arms, it),
            Kind::Loop(inner) => self.loop_of(inner, &it.ty),
            Kind::Break(id, value) => {
                let value = value.as_ref().map_or(Operand::Absent, |value| self.expression(value));
                self.leave(*id, value, it)
            }
            Kind::Continue(id) => self.next(*id, it),
            Kind::Return(value) => {
                let value = value.as_ref().map_or(Operand::Absent, |value| self.expression(value));
                self.give_back(value, it)
            }
            Kind::Assign(location, value) => {
                let scalar = value.ty.scalar().unwrap_or(scalar);
                let value = self.expression(value);
                let spot = self.spot(location);
                self.write(spot, location, scalar, value);
                Operand::Absent
            }
            Kind::Update(operation, location, value) => {
                self.update(*operation, location, value, it);
                Operand::Absent
            }
            Kind::Call(index, arguments) => {
                let bindings = arguments.iter().map(|argument| self.argument(argument)).collect();
                self.call(*index, bindings, it.extent)
            }
            Kind::CallParameter(id, arguments) => {
                let bindings = arguments.iter().map(|argument| self.argument(argument)).collect();
                match self.binding(*id) {
                    Binding::Helper(index) => self.call(index, bindings, it.extent),
                    _ => Operand::Absent,
                }
            }
            // It is taken by its parameter; see `argument`.
            Kind::Helper(_) => Operand::Absent,
            Kind::Stop => {
                self.stop(it.extent, Stop::Panic);
                Operand::Absent
            }
            Kind::Exchanged(id) => match self.binding(*id) {
                Binding::Exchange { done, .. } => done.into(),
                _ => Operand::Immediate(0),
            },
            Kind::Held(id) => match self.binding(*id) {
                Binding::Exchange { held, .. } => held.into(),
                _ => Operand::Immediate(0),
            },
            Kind::Atomic(_)
            | Kind::Sync
            | Kind::WarpSync
            | Kind::Fence(..)
            | Kind::Shuffle(..)
            | Kind::Vote(..)
            | Kind::WarpReduce(..)
            | Kind::WarpMatch(_)
            | Kind::OperationMark(..)
            | Kind::LifeMark { .. } => self.together(it),
        }
    }

    /// The left operand, kept from what evaluating the right one may do to its variable.
    fn held(&mut self, left: &Expression, right: &Expression) -> Operand {
        let value = self.expression(left);
        match (&left.kind, left.ty.scalar()) {
            (Kind::Read(location), Some(scalar)) if self.is_mutable(location.base) && !is_plain(right) => {
                self.fresh(scalar.register(), value).into()
            }
            _ => value,
        }
    }

    fn right_operand(&mut self, operation: Binary, of: Scalar, right: &Expression) -> Operand {
        let value = self.expression(right);
        match operation {
            Binary::ShiftLeft | Binary::ShiftRight => {
                self.shift_amount(of, value, right.ty.scalar().unwrap_or(Scalar::U32))
            }
            _ => value,
        }
    }

    fn update(
        &mut self,
        operation: Binary,
        location: &crate::tree::Location,
        value: &Expression,
        it: &Expression,
    ) {
        let of = self.scalar_of(location).or(value.ty.scalar()).unwrap_or(Scalar::U32);
        let right = self.right_operand(operation, of, value);
        let spot = self.spot(location);
        let old = match spot {
            Spot::Register(register) => register.into(),
            Spot::Memory(address, space) => self.load(address, space, of),
            Spot::Value(_) | Spot::None => return,
        };
        let new = self.binary(operation, of, old, right, it.extent);
        self.write(spot, location, of, new);
    }

    /// The number type of a place.
    fn scalar_of(&self, location: &crate::tree::Location) -> Option<Scalar> {
        let mut ty = self.local_type(location.base);
        for _ in &location.indices {
            ty = match ty {
                Ty::Array(element, _) | Ty::Slice(element, _) => *element,
                other => other,
            };
        }
        match ty {
            Ty::Reference(to, _) => to.scalar(),
            other => other.scalar(),
        }
    }

    pub(super) fn let_value(&mut self, id: LocalId, value: &Expression) {
        match &value.ty {
            Ty::Slice(..) | Ty::Reference(..) | Ty::Space | Ty::Function(..) => {
                let binding = self.argument(value);
                self.bind(id, binding);
            }
            Ty::Exchange(_) => drop(self.exchange(id, value)),
            Ty::Scalar(scalar) => {
                let operand = self.expression(value);
                let keeps = self.is_mutable(id)
                    || matches!(
                        value.kind,
                        Kind::Read(_)
                            | Kind::If { .. }
                            | Kind::Block(_)
                            | Kind::Loop(_)
                            | Kind::Call(..)
                            | Kind::CallParameter(..)
                    );
                let binding = if keeps {
                    Binding::Register(self.fresh(scalar.register(), operand))
                } else {
                    Binding::Value(operand)
                };
                self.bind(id, binding);
            }
            _ => drop(self.expression(value)),
        }
    }

    /// What a parameter of a helper, or a variable, is bound to.
    fn argument(&mut self, argument: &Expression) -> Binding {
        match (&argument.kind, &argument.ty) {
            (Kind::Borrow(location, range), ty) => self.borrowed(location, range.as_deref(), ty),
            (Kind::Helper(index), _) => Binding::Helper(*index),
            (Kind::Read(location), Ty::Function(..)) => self.binding(location.base),
            (_, Ty::Scalar(scalar)) => {
                let value = self.expression(argument);
                // A copy: the helper may change its own.
                Binding::Register(self.fresh(scalar.register(), value))
            }
            (Kind::Block(block), Ty::Slice(..)) => {
                let _ = self.statements(block);
                Binding::None
            }
            _ => Binding::None,
        }
    }

    fn field(&mut self, field: Field) -> Operand {
        let special = match field {
            Field::Index(axis) => {
                let tile = self.fresh(Type::U32, Operand::Special(Special::Ctaid(axis)));
                let size = self.fresh(Type::U32, Operand::Special(Special::Ntid(axis)));
                let cell = self.fresh(Type::U32, Operand::Special(Special::Tid(axis)));
                let mut mad = arithmetic(Operation::Mad, Type::U32);
                mad.flags = ArithmeticFlags(ArithmeticFlags::LOW);
                return self.compute(mad, Type::U32, &[tile.into(), size.into(), cell.into()]).into();
            }
            Field::Size(axis) => return self.extent_parameter(axis).into(),
            Field::Cell(axis) => Special::Tid(axis),
            Field::Tile(axis) => Special::Ctaid(axis),
            Field::TileSize(axis) => Special::Ntid(axis),
            Field::Tiles(axis) => Special::Nctaid(axis),
            Field::Lane => Special::LaneId,
            Field::Warp => return self.warp(),
        };
        self.fresh(Type::U32, Operand::Special(special)).into()
    }

    /// The cell's number in its tile by 32. What the card calls a warp's number is another, and changes (PTX ISA, «%warpid»).
    fn warp(&mut self) -> Operand {
        let mut mad = arithmetic(Operation::Mad, Type::U32);
        mad.flags = ArithmeticFlags(ArithmeticFlags::LOW);
        let mut flat = self.fresh(Type::U32, Operand::Special(Special::Tid(2)));
        for axis in [1, 0] {
            let size = self.fresh(Type::U32, Operand::Special(Special::Ntid(axis)));
            let cell = self.fresh(Type::U32, Operand::Special(Special::Tid(axis)));
            flat = self.compute(mad, Type::U32, &[flat.into(), size.into(), cell.into()]);
        }
        let five = Operand::Immediate(5);
        self.compute(arithmetic(Operation::Shr, Type::U32), Type::U32, &[flat.into(), five]).into()
    }

    fn in_bounds(&mut self, axes: &[u8]) -> Operand {
        let mut all: Option<Operand> = None;
        for &axis in axes {
            let index = self.field(Field::Index(axis));
            let extent = self.extent_parameter(axis);
            let inside = self.compare(crate::tree::Comparison::Less, Scalar::U32, index, extent.into());
            all = Some(match all {
                Some(others) => self
                    .compute(arithmetic(Operation::And, Type::Pred), Type::Pred, &[others, inside.into()])
                    .into(),
                None => inside.into(),
            });
        }
        all.unwrap_or(Operand::Immediate(1))
    }
}

/// Whether evaluating it changes no variable.
fn is_plain(it: &Expression) -> bool {
    match &it.kind {
        Kind::Integer(_)
        | Kind::Float(_)
        | Kind::Bool(_)
        | Kind::Field(_)
        | Kind::InBounds(_)
        | Kind::Length(_) => true,
        Kind::Read(location) => location.indices.iter().all(is_plain),
        Kind::Negate(inner) | Kind::Not(inner) | Kind::Cast(inner) => is_plain(inner),
        Kind::Binary(_, left, right) | Kind::Compare(_, left, right) => is_plain(left) && is_plain(right),
        Kind::Function(_, values) => values.iter().all(is_plain),
        _ => false,
    }
}

/// The bits of a number.
fn float(number: f64, scalar: Scalar) -> Operand {
    match scalar {
        Scalar::F32 => Operand::Immediate((number as f32).to_bits().into()),
        _ => Operand::Immediate(number.to_bits()),
    }
}
