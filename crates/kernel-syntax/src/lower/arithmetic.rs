//! Arithmetic with Rust's meaning: integers wrap around, divisions are checked, shifts take their amount modulo the
//! width, conversions from floating point saturate.

use standstill_kernel_ir::build;
use standstill_kernel_ir::{
    Arithmetic, ArithmeticFlags, Comparison as IrComparison, Op, Operand, Operation, Register, Type,
};

use super::Stop;
use super::body::Lowering;
use crate::extent::Extent;
use crate::tree::{Binary, Comparison, Function};
use crate::types::Scalar;

/// An operation without modifiers.
pub(super) fn arithmetic(operation: Operation, ty: Type) -> Arithmetic {
    Arithmetic { from: ty, ..build::arithmetic(operation, ty) }
}

/// An operation with modifiers.
fn with(operation: Operation, ty: Type, flags: u32) -> Arithmetic {
    Arithmetic { flags: ArithmeticFlags(flags), ..arithmetic(operation, ty) }
}

/// Whether a value is known to be this number.
fn is(operand: Operand, number: i128) -> bool {
    operand == Operand::Immediate(number as u64)
}

impl Lowering<'_> {
    /// A value in a new register.
    pub(super) fn compute(&mut self, operation: Arithmetic, to: Type, sources: &[Operand]) -> Register {
        let register = self.builder.register(to);
        self.push(Op::Arithmetic(operation), &[register], sources);
        register
    }

    pub(super) fn copy(&mut self, to: Register, ty: Type, value: Operand) {
        let operation = if matches!((ty, value), (Type::Pred, Operand::Immediate(_))) {
            let Operand::Immediate(bits) = value else { return };
            let not_equal =
                Arithmetic { comparison: IrComparison::Ne, ..arithmetic(Operation::Setp, Type::U32) };
            self.push(
                Op::Arithmetic(not_equal),
                &[to],
                &[Operand::Immediate(bits & 1), Operand::Immediate(0)],
            );
            return;
        } else {
            arithmetic(Operation::Mov, ty)
        };
        self.push(Op::Arithmetic(operation), &[to], &[value]);
    }

    /// A value in a register of its own.
    pub(super) fn fresh(&mut self, ty: Type, value: Operand) -> Register {
        let register = self.builder.register(ty);
        self.copy(register, ty, value);
        register
    }

    /// A value in a register.
    pub(super) fn in_register(&mut self, ty: Type, value: Operand) -> Register {
        match value {
            Operand::Register(register) => register,
            other => self.fresh(ty, other),
        }
    }

    pub(super) fn set_if(
        &mut self,
        comparison: IrComparison,
        ty: Type,
        left: Operand,
        right: Operand,
    ) -> Register {
        let operation = Arithmetic { comparison, ..arithmetic(Operation::Setp, ty) };
        self.compute(operation, Type::Pred, &[left, right])
    }

    /// The truth value of a byte.
    pub(super) fn truth(&mut self, value: Operand) -> Register {
        self.set_if(IrComparison::Ne, Type::U32, value, Operand::Immediate(0))
    }

    /// A truth value as 0 or 1.
    pub(super) fn number_of(&mut self, truth: Operand, ty: Type) -> Register {
        let truth = self.in_register(Type::Pred, truth);
        self.compute(
            arithmetic(Operation::Selp, ty),
            ty,
            &[Operand::Immediate(1), Operand::Immediate(0), truth.into()],
        )
    }

    /// Brings a narrow integer back into its range.
    fn wrap(&mut self, scalar: Scalar, value: Register) -> Register {
        if !scalar.is_integer() || scalar.bits() >= 32 {
            return value;
        }
        let operation = Arithmetic { from: scalar.register(), ..arithmetic(Operation::Cvt, scalar.memory()) };
        self.compute(operation, scalar.register(), &[value.into()])
    }

    pub(super) fn binary(
        &mut self,
        operation: Binary,
        scalar: Scalar,
        left: Operand,
        right: Operand,
        extent: Extent,
    ) -> Operand {
        let ty = scalar.register();
        let float = if scalar.is_float() { ArithmeticFlags::NEAREST } else { 0 };
        let bits = match ty {
            Type::Pred => Type::Pred,
            _ if ty.bits() == 64 => Type::B64,
            _ => Type::B32,
        };
        self.at(extent);
        let operation = match operation {
            Binary::Add => with(Operation::Add, ty, float),
            Binary::Subtract => with(Operation::Sub, ty, float),
            Binary::Multiply if scalar.is_float() => with(Operation::Mul, ty, float),
            Binary::Multiply => with(Operation::Mul, ty, ArithmeticFlags::LOW),
            Binary::Divide | Binary::Remainder if scalar.is_integer() => {
                self.check_division(scalar, left, right, extent);
                let operation = if operation == Binary::Divide { Operation::Div } else { Operation::Rem };
                arithmetic(operation, ty)
            }
            Binary::Divide => with(Operation::Div, ty, float),
            Binary::Remainder => return self.float_remainder(scalar, left, right),
            Binary::And => arithmetic(Operation::And, bits),
            Binary::Or => arithmetic(Operation::Or, bits),
            Binary::Xor => arithmetic(Operation::Xor, bits),
            Binary::ShiftLeft => arithmetic(Operation::Shl, bits),
            Binary::ShiftRight => arithmetic(Operation::Shr, ty),
        };
        let (left, right) = if ty == Type::Pred {
            (self.in_register(ty, left).into(), self.in_register(ty, right).into())
        } else {
            (left, right)
        };
        let value = self.compute(operation, ty, &[left, right]);
        self.wrap(scalar, value).into()
    }

    /// The amount of a shift, below the width.
    pub(super) fn shift_amount(&mut self, scalar: Scalar, amount: Operand, of: Scalar) -> Operand {
        let mask = u64::from(scalar.bits() - 1);
        if let Operand::Immediate(bits) = amount {
            return Operand::Immediate(bits & mask);
        }
        let amount = if of.bits() == 64 { self.convert(of, Scalar::U32, amount) } else { amount };
        self.compute(arithmetic(Operation::And, Type::B32), Type::U32, &[amount, Operand::Immediate(mask)])
            .into()
    }

    /// Rust's checks: nothing is divided by zero, and the least number not by −1.
    fn check_division(&mut self, scalar: Scalar, left: Operand, right: Operand, extent: Extent) {
        let ty = scalar.register();
        let known = matches!(right, Operand::Immediate(_));
        if !known || is(right, 0) {
            let zero = self.set_if(IrComparison::Eq, ty, right, Operand::Immediate(0));
            self.stop_if(zero, extent, Stop::Division);
        }
        if scalar.is_signed() && (!known || is(right, -1)) {
            let least = Operand::Immediate(scalar.range().0 as u64);
            let minus = self.set_if(IrComparison::Eq, ty, right, Operand::Immediate(-1i128 as u64));
            let least = self.set_if(IrComparison::Eq, ty, left, least);
            let both = self.compute(
                arithmetic(Operation::And, Type::Pred),
                Type::Pred,
                &[minus.into(), least.into()],
            );
            self.stop_if(both, extent, Stop::Overflow);
        }
    }

    /// a − trunc(a / b) · b, with the sign of a: exact while the quotient is a whole number that the type holds.
    fn float_remainder(&mut self, scalar: Scalar, left: Operand, right: Operand) -> Operand {
        let ty = scalar.register();
        let (one, infinity) = match scalar {
            Scalar::F32 => (u64::from(1f32.to_bits()), u64::from(f32::INFINITY.to_bits())),
            _ => (1f64.to_bits(), f64::INFINITY.to_bits()),
        };
        let (one, infinity) = (Operand::Immediate(one), Operand::Immediate(infinity));
        let near = |operation| with(operation, ty, ArithmeticFlags::NEAREST);
        let quotient = self.compute(near(Operation::Div), ty, &[left, right]);
        let whole = Arithmetic { from: ty, ..with(Operation::Cvt, ty, ArithmeticFlags::ZERO_INTEGER) };
        let whole = self.compute(whole, ty, &[quotient.into()]);
        let minus = self.compute(arithmetic(Operation::Neg, ty), ty, &[whole.into()]);
        let rest = self.compute(near(Operation::Fma), ty, &[minus.into(), right, left]);
        // The sign of the first operand goes to the second.
        let signed =
            |it: &mut Self, value| it.compute(arithmetic(Operation::Copysign, ty), ty, &[left, value]);
        let sign = signed(self, one);
        let rest = self.compute(near(Operation::Mul), ty, &[rest.into(), sign.into()]);
        // The quotient may have been rounded up to the next whole number.
        let size = self.compute(arithmetic(Operation::Abs, ty), ty, &[right]);
        let next = self.compute(near(Operation::Add), ty, &[rest.into(), size.into()]);
        let beyond = self.set_if(IrComparison::Lt, ty, rest.into(), Operand::Immediate(0));
        let select = arithmetic(Operation::Selp, ty);
        let rest = self.compute(select, ty, &[next.into(), rest.into(), beyond.into()]);
        let rest = signed(self, rest.into());
        // What is divided by infinity stays.
        let own = self.compute(arithmetic(Operation::Abs, ty), ty, &[left]);
        let endless = self.set_if(IrComparison::Eq, ty, size.into(), infinity);
        let finite = self.set_if(IrComparison::Lt, ty, own.into(), infinity);
        let both = self.compute(
            arithmetic(Operation::And, Type::Pred),
            Type::Pred,
            &[endless.into(), finite.into()],
        );
        self.compute(select, ty, &[left, rest.into(), both.into()]).into()
    }

    pub(super) fn compare(
        &mut self,
        comparison: Comparison,
        scalar: Scalar,
        left: Operand,
        right: Operand,
    ) -> Register {
        if scalar == Scalar::Bool {
            let (left, right) = (self.number_of(left, Type::U32), self.number_of(right, Type::U32));
            return self.compare(comparison, Scalar::U32, left.into(), right.into());
        }
        let comparison = match comparison {
            Comparison::Equal => IrComparison::Eq,
            // A NaN differs from everything.
            Comparison::NotEqual if scalar.is_float() => IrComparison::Neu,
            Comparison::NotEqual => IrComparison::Ne,
            Comparison::Less => IrComparison::Lt,
            Comparison::LessOrEqual => IrComparison::Le,
            Comparison::Greater => IrComparison::Gt,
            Comparison::GreaterOrEqual => IrComparison::Ge,
        };
        self.set_if(comparison, scalar.register(), left, right)
    }

    pub(super) fn negate(&mut self, scalar: Scalar, value: Operand) -> Operand {
        let ty = scalar.register();
        // Only signed numbers have negatives (PTX ISA, «neg»); the bits are the same.
        let signed = match ty {
            Type::U32 => Type::S32,
            Type::U64 => Type::S64,
            other => other,
        };
        let value = self.compute(arithmetic(Operation::Neg, signed), ty, &[value]);
        self.wrap(scalar, value).into()
    }

    pub(super) fn not(&mut self, scalar: Scalar, value: Operand) -> Operand {
        let ty = scalar.register();
        let bits = match ty {
            Type::Pred => Type::Pred,
            _ if ty.bits() == 64 => Type::B64,
            _ => Type::B32,
        };
        let value = if ty == Type::Pred { self.in_register(ty, value).into() } else { value };
        let value = self.compute(arithmetic(Operation::Not, bits), ty, &[value]);
        self.wrap(scalar, value).into()
    }

    /// `as`
    pub(super) fn convert(&mut self, from: Scalar, to: Scalar, value: Operand) -> Operand {
        if from == to {
            return value;
        }
        let (source, target) = (from.register(), to.register());
        let cvt = |ty, flags| Arithmetic { from: source, ..with(Operation::Cvt, ty, flags) };
        match (from, to) {
            (Scalar::Bool, _) => self.number_of(value, target).into(),
            (from, to) if from.is_integer() && to.is_integer() => {
                if let Operand::Immediate(bits) = value {
                    let number = crate::check::constant::wrapped(i128::from(bits as i64), to);
                    return Operand::Immediate(number as u64);
                }
                if to.bits() < 32 && to.bits() <= from.bits() {
                    return self.compute(cvt(to.memory(), 0), target, &[value]).into();
                }
                if source.bits() == target.bits() {
                    let value = self.compute(arithmetic(Operation::Mov, target), target, &[value]);
                    return self.wrap(to, value).into();
                }
                // Widening keeps the sign of the source.
                let ty = match (source.is_signed(), target.bits()) {
                    (true, 64) => Type::S64,
                    _ => target,
                };
                self.compute(cvt(ty, 0), target, &[value]).into()
            }
            (from, to) if from.is_integer() && to.is_float() => {
                self.compute(cvt(target, ArithmeticFlags::NEAREST), target, &[value]).into()
            }
            (from, to) if from.is_float() && to.is_float() => {
                let flags = if to == Scalar::F32 { ArithmeticFlags::NEAREST } else { 0 };
                self.compute(cvt(target, flags), target, &[value]).into()
            }
            _ => self.saturate(from, to, value),
        }
    }

    /// Floating point to an integer: what is beyond the range becomes its end, and a NaN zero.
    fn saturate(&mut self, from: Scalar, to: Scalar, value: Operand) -> Operand {
        let (source, target) = (from.register(), to.register());
        let flags = ArithmeticFlags::ZERO_INTEGER;
        let cvt = Arithmetic { from: source, ..with(Operation::Cvt, target, flags) };
        let mut number: Operand = self.compute(cvt, target, &[value]).into();
        if from == Scalar::F64 || to.bits() == 64 {
            let nan = self.set_if(IrComparison::Nan, source, value, value);
            let select = arithmetic(Operation::Selp, target);
            number = self.compute(select, target, &[Operand::Immediate(0), number, nan.into()]).into();
        }
        if to.bits() < 32 {
            let (least, greatest) = to.range();
            for (operation, bound) in [(Operation::Min, greatest), (Operation::Max, least)] {
                let bound = Operand::Immediate(bound as u64);
                number = self.compute(arithmetic(operation, target), target, &[number, bound]).into();
            }
        }
        number
    }

    /// A function that the card computes approximately (PTX ISA, «ex2», «lg2», «sin», «cos», «tanh»).
    fn approximate(&mut self, function: Function, value: Operand) -> Operand {
        let ty = Type::F32;
        let times = with(Operation::Mul, ty, ArithmeticFlags::NEAREST);
        let number = |number: f32| Operand::Immediate(number.to_bits().into());
        let operation = match function {
            Function::Exp2 | Function::Exp => Operation::Ex2,
            Function::Log2 | Function::Ln => Operation::Lg2,
            Function::Sin => Operation::Sin,
            Function::Cos => Operation::Cos,
            _ => Operation::Tanh,
        };
        let value = match function {
            Function::Exp => self.compute(times, ty, &[value, number(std::f32::consts::LOG2_E)]).into(),
            _ => value,
        };
        let result = self.compute(with(operation, ty, ArithmeticFlags::APPROXIMATE), ty, &[value]);
        match function {
            Function::Ln => self.compute(times, ty, &[result.into(), number(std::f32::consts::LN_2)]).into(),
            _ => result.into(),
        }
    }

    /// A method of numbers.
    pub(super) fn function(&mut self, function: Function, scalar: Scalar, values: &[Operand]) -> Operand {
        let ty = scalar.register();
        let (bits, narrow) = (scalar.bits(), i128::from(32u32.saturating_sub(scalar.bits())));
        let round = |flags| Arithmetic { from: ty, ..with(Operation::Cvt, ty, flags) };
        let count = if bits == 64 { Type::B64 } else { Type::B32 };
        let value = values.first().copied().unwrap_or(Operand::Absent);
        let one = |operation| arithmetic(operation, ty);
        match function {
            Function::Minimum => self.compute(one(Operation::Min), ty, values).into(),
            Function::Maximum => self.compute(one(Operation::Max), ty, values).into(),
            Function::Absolute => {
                let value = self.compute(one(Operation::Abs), ty, values);
                self.wrap(scalar, value).into()
            }
            Function::SquareRoot => {
                self.compute(with(Operation::Sqrt, ty, ArithmeticFlags::NEAREST), ty, values).into()
            }
            Function::MultiplyAdd => {
                self.compute(with(Operation::Fma, ty, ArithmeticFlags::NEAREST), ty, values).into()
            }
            Function::Exp2
            | Function::Exp
            | Function::Log2
            | Function::Ln
            | Function::Sin
            | Function::Cos
            | Function::Tanh => self.approximate(function, value),
            Function::Floor => self.compute(round(ArithmeticFlags::DOWN_INTEGER), ty, values).into(),
            Function::Ceiling => self.compute(round(ArithmeticFlags::UP_INTEGER), ty, values).into(),
            Function::Truncate => self.compute(round(ArithmeticFlags::ZERO_INTEGER), ty, values).into(),
            Function::ToBits | Function::FromBits => {
                let to = match (function, bits) {
                    (Function::ToBits, 64) => Type::U64,
                    (Function::ToBits, _) => Type::U32,
                    (_, 64) => Type::F64,
                    _ => Type::F32,
                };
                self.compute(arithmetic(Operation::Mov, count), to, values).into()
            }
            Function::IsNan => self.set_if(IrComparison::Nan, ty, value, value).into(),
            Function::CountOnes | Function::LeadingZeros | Function::TrailingZeros => {
                // Narrow signed numbers carry copies of their sign above.
                let mask = Operand::Immediate((1u64 << (bits & 31)).wrapping_sub(1));
                let bare = if bits < 32 {
                    self.compute(arithmetic(Operation::And, Type::B32), Type::U32, &[value, mask]).into()
                } else {
                    value
                };
                match function {
                    Function::CountOnes => {
                        self.compute(arithmetic(Operation::Popc, count), Type::U32, &[bare]).into()
                    }
                    Function::LeadingZeros => {
                        let zeros = self.compute(arithmetic(Operation::Clz, count), Type::U32, &[bare]);
                        let above = Operand::Immediate(narrow as u64);
                        let sub = arithmetic(Operation::Sub, Type::U32);
                        if bits < 32 {
                            self.compute(sub, Type::U32, &[zeros.into(), above]).into()
                        } else {
                            zeros.into()
                        }
                    }
                    _ => {
                        let register = if bits == 64 { Type::U64 } else { Type::U32 };
                        let turned = self.compute(arithmetic(Operation::Brev, count), register, &[bare]);
                        let zeros =
                            self.compute(arithmetic(Operation::Clz, count), Type::U32, &[turned.into()]);
                        let most = Operand::Immediate(bits.into());
                        self.compute(arithmetic(Operation::Min, Type::U32), Type::U32, &[zeros.into(), most])
                            .into()
                    }
                }
            }
        }
    }
}
