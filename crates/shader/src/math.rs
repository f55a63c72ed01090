//! Built-in functions on numbers.

use naga::{BinaryOperator as B, MathFunction as M, Scalar, ScalarKind, UnaryOperator};
use standstill_kernel_ir::{
    Arithmetic, ArithmeticFlags as Flags, BooleanOperation, Comparison, Op, Operand, Operation, Type,
};

use crate::emit::Emitter;
use crate::operation::{arithmetic, bits, compare, flagged};
use crate::types::register_type;

impl Emitter {
    /// A built-in function; those whose values are not modelled give something unknown that depends on the arguments alone.
    pub(crate) fn math(
        &mut self,
        fun: M,
        kind: Scalar,
        arguments: &[Vec<Operand>],
        results: &[Type],
    ) -> Option<Vec<Operand>> {
        let first = arguments.first()?;
        let empty = Vec::new();
        let second = arguments.get(1).unwrap_or(&empty);
        match fun {
            M::Dot => return Some(vec![self.dot(kind, first, second)?]),
            M::Length => return Some(vec![self.length(kind, first)?]),
            M::Distance => {
                let between = self.each(kind, B::Subtract, first, second);
                return Some(vec![self.length(kind, &between)?]);
            }
            M::Normalize => {
                let length = self.length(kind, first)?;
                return Some(self.each(kind, B::Divide, first, &[length]));
            }
            M::Cross => return self.cross(kind, first, second),
            _ => {}
        }
        let width = arguments.iter().map(Vec::len).max().unwrap_or(0);
        let mut all = Vec::with_capacity(width);
        for index in 0..width {
            let mut of = Vec::with_capacity(arguments.len());
            for argument in arguments {
                of.push(*argument.get(if argument.len() == 1 { 0 } else { index })?);
            }
            match self.scalar_math(fun, kind, &of) {
                Some(value) => all.push(value),
                None => {
                    // All results depend on all arguments.
                    let sources: Vec<Operand> = arguments.iter().flatten().copied().collect();
                    return Some(self.depending(results, &sources));
                }
            }
        }
        Some(all)
    }

    /// Values that are not modelled, but depend on nothing beside the sources.
    pub(crate) fn depending(&mut self, results: &[Type], sources: &[Operand]) -> Vec<Operand> {
        let one = |&ty: &Type| self.result(flagged(Operation::Mov, ty, Flags::OTHER), ty, sources);
        results.iter().map(one).collect()
    }

    /// Rows become columns: the result has these columns and rows.
    pub(crate) fn transpose(
        &self,
        (columns, rows): (usize, usize),
        from: &[Operand],
    ) -> Option<Vec<Operand>> {
        let at = |row: usize, column: usize| from.get(row * columns + column).copied();
        let all = (0..columns).flat_map(|column| (0..rows).map(move |row| (row, column)));
        all.map(|(row, column)| at(row, column)).collect()
    }

    fn scalar_math(&mut self, fun: M, kind: Scalar, of: &[Operand]) -> Option<Operand> {
        let ty = register_type(kind);
        let a = *of.first()?;
        let float = ty.is_float();
        let single = ty == Type::F32;
        let argument = |index: usize| of.get(index).copied();
        let immediate = |value: f32| Operand::Immediate(u64::from(value.to_bits()));
        Some(match fun {
            M::Abs if kind.kind == ScalarKind::Uint => a,
            M::Abs => self.result(arithmetic(Operation::Abs, ty), ty, &[a]),
            M::Min => self.result(arithmetic(Operation::Min, ty), ty, &[a, argument(1)?]),
            M::Max => self.result(arithmetic(Operation::Max, ty), ty, &[a, argument(1)?]),
            M::Clamp => {
                let above = self.result(arithmetic(Operation::Max, ty), ty, &[a, argument(1)?]);
                self.result(arithmetic(Operation::Min, ty), ty, &[above, argument(2)?])
            }
            M::Saturate if single => {
                let above = self.result(arithmetic(Operation::Max, ty), ty, &[a, immediate(0.0)]);
                self.result(arithmetic(Operation::Min, ty), ty, &[above, immediate(1.0)])
            }
            M::Fma if float => {
                self.result(flagged(Operation::Fma, ty, Flags::NEAREST), ty, &[a, argument(1)?, argument(2)?])
            }
            M::Mix if float => {
                // a + (b − a) · t
                let between = self.binary(B::Subtract, kind, argument(1)?, a);
                self.result(flagged(Operation::Fma, ty, Flags::NEAREST), ty, &[between, argument(2)?, a])
            }
            M::Sqrt if float => self.result(flagged(Operation::Sqrt, ty, Flags::NEAREST), ty, &[a]),
            M::InverseSqrt if single => self.approximate(Operation::Rsqrt, a),
            M::Ceil if float => self.round(ty, Flags::UP_INTEGER, a),
            M::Floor if float => self.round(ty, Flags::DOWN_INTEGER, a),
            M::Round if float => self.round(ty, Flags::NEAREST_INTEGER, a),
            M::Trunc if float => self.round(ty, Flags::ZERO_INTEGER, a),
            M::Fract if float => {
                let whole = self.round(ty, Flags::DOWN_INTEGER, a);
                self.binary(B::Subtract, kind, a, whole)
            }
            M::Step if single => {
                let reached = self.result(compare(Comparison::Le, ty), Type::Pred, &[a, argument(1)?]);
                self.select(kind, reached, immediate(1.0), immediate(0.0))
            }
            M::Sin if single => self.approximate(Operation::Sin, a),
            M::Cos if single => self.approximate(Operation::Cos, a),
            M::Tan if single => {
                let (sine, cosine) =
                    (self.approximate(Operation::Sin, a), self.approximate(Operation::Cos, a));
                self.binary(B::Divide, kind, sine, cosine)
            }
            M::Tanh if single => self.approximate(Operation::Tanh, a),
            M::Exp2 if single => self.approximate(Operation::Ex2, a),
            M::Log2 if single => self.approximate(Operation::Lg2, a),
            M::Exp if single => {
                let power = self.binary(B::Multiply, kind, a, immediate(std::f32::consts::LOG2_E));
                self.approximate(Operation::Ex2, power)
            }
            M::Log if single => {
                let power = self.approximate(Operation::Lg2, a);
                self.binary(B::Multiply, kind, power, immediate(std::f32::consts::LN_2))
            }
            M::Pow if single => {
                let power = self.approximate(Operation::Lg2, a);
                let power = self.binary(B::Multiply, kind, power, argument(1)?);
                self.approximate(Operation::Ex2, power)
            }
            M::Radians if single => {
                self.binary(B::Multiply, kind, a, immediate(std::f32::consts::PI / 180.0))
            }
            M::Degrees if single => {
                self.binary(B::Multiply, kind, a, immediate(180.0 / std::f32::consts::PI))
            }
            M::Sign if kind.kind == ScalarKind::Sint => {
                let above =
                    self.result(arithmetic(Operation::Max, ty), ty, &[a, Operand::Immediate(u64::MAX)]);
                self.result(arithmetic(Operation::Min, ty), ty, &[above, Operand::Immediate(1)])
            }
            M::Sign if single => {
                let positive = self.result(compare(Comparison::Gt, ty), Type::Pred, &[a, immediate(0.0)]);
                let negative = self.result(compare(Comparison::Lt, ty), Type::Pred, &[a, immediate(0.0)]);
                let low = self.select(kind, negative, immediate(-1.0), immediate(0.0));
                self.select(kind, positive, immediate(1.0), low)
            }
            M::CountOneBits => self.count(Operation::Popc, ty, a),
            M::CountLeadingZeros => self.count(Operation::Clz, ty, a),
            M::CountTrailingZeros => {
                let turned = self.result(arithmetic(Operation::Brev, bits(ty)), ty, &[a]);
                self.count(Operation::Clz, ty, turned)
            }
            M::ReverseBits => self.result(arithmetic(Operation::Brev, bits(ty)), ty, &[a]),
            M::FirstLeadingBit if ty.bits() == 32 => {
                // It gives −1 where there is none, as `bfind` does.
                self.result(arithmetic(Operation::Bfind, ty), Type::U32, &[a])
            }
            M::FirstTrailingBit if ty.bits() == 32 => {
                let negative = self.unary(UnaryOperator::Negate, kind, a);
                let lowest = self.result(arithmetic(Operation::And, Type::B32), ty, &[a, negative]);
                self.result(arithmetic(Operation::Bfind, Type::U32), Type::U32, &[lowest])
            }
            M::ExtractBits if ty.bits() == 32 => {
                self.result(arithmetic(Operation::Bfe, ty), ty, &[a, argument(1)?, argument(2)?])
            }
            M::InsertBits if ty.bits() == 32 => {
                let (field, start, count) = (argument(1)?, argument(2)?, argument(3)?);
                self.result(arithmetic(Operation::Bfi, Type::B32), ty, &[field, a, start, count])
            }
            _ => return None,
        })
    }

    fn approximate(&mut self, operation: Operation, value: Operand) -> Operand {
        self.result(flagged(operation, Type::F32, Flags::APPROXIMATE), Type::F32, &[value])
    }

    /// A number of bits, in the type of what they are counted in.
    fn count(&mut self, operation: Operation, ty: Type, value: Operand) -> Operand {
        let count = self.result(arithmetic(operation, bits(ty)), Type::U32, &[value]);
        if ty.bits() != 64 {
            return count;
        }
        let widen = Arithmetic {
            operation: Operation::Cvt,
            ty: Type::U64,
            from: Type::U32,
            comparison: Comparison::None,
            combine: BooleanOperation::None,
            flags: Flags(0),
        };
        self.result(Op::Arithmetic(widen), Type::U64, &[count])
    }

    fn each(&mut self, kind: Scalar, op: B, a: &[Operand], b: &[Operand]) -> Vec<Operand> {
        let other = |index: usize| b.get(if b.len() == 1 { 0 } else { index }).copied();
        let pairs: Vec<(Operand, Operand)> =
            a.iter().enumerate().filter_map(|(index, &a)| Some((a, other(index)?))).collect();
        pairs.into_iter().map(|(a, b)| self.binary(op, kind, a, b)).collect()
    }

    fn length(&mut self, kind: Scalar, vector: &[Operand]) -> Option<Operand> {
        let ty = register_type(kind);
        let square = self.dot(kind, vector, vector)?;
        Some(self.result(flagged(Operation::Sqrt, ty, Flags::NEAREST), ty, &[square]))
    }

    fn cross(&mut self, kind: Scalar, a: &[Operand], b: &[Operand]) -> Option<Vec<Operand>> {
        let mut all = Vec::new();
        for (i, j) in [(1, 2), (2, 0), (0, 1)] {
            let first = self.binary(B::Multiply, kind, *a.get(i)?, *b.get(j)?);
            let second = self.binary(B::Multiply, kind, *a.get(j)?, *b.get(i)?);
            all.push(self.binary(B::Subtract, kind, first, second));
        }
        Some(all)
    }
}
