//! Operators on scalars.

use naga::{
    BinaryOperator, Expression, Handle, RelationalFunction, Scalar, ScalarKind, Span, TypeInner,
    UnaryOperator,
};
use standstill_kernel_ir::{
    Arithmetic, ArithmeticFlags as Flags, BooleanOperation, Comparison, Op, Operand, Operation, Type,
};

use crate::emit::Emitter;
use crate::frame::{Builder, Fault, Frame, Value};
use crate::types::register_type;

/// A pure operation without modifiers.
pub(crate) fn arithmetic(operation: Operation, ty: Type) -> Op {
    flagged(operation, ty, 0)
}

/// A pure operation with modifiers.
pub(crate) fn flagged(operation: Operation, ty: Type, flags: u32) -> Op {
    Op::Arithmetic(Arithmetic {
        operation,
        ty,
        from: ty,
        comparison: Comparison::None,
        combine: BooleanOperation::None,
        flags: Flags(flags),
    })
}

/// A comparison that gives a predicate.
pub(crate) fn compare(comparison: Comparison, ty: Type) -> Op {
    Op::Arithmetic(Arithmetic {
        operation: Operation::Setp,
        ty,
        from: ty,
        comparison,
        combine: BooleanOperation::None,
        flags: Flags(0),
    })
}

/// A type as mere bits.
pub(crate) fn bits(ty: Type) -> Type {
    match ty.bits() {
        64 => Type::B64,
        16 => Type::B16,
        1 => Type::Pred,
        _ => Type::B32,
    }
}

impl<'a> Builder<'a> {
    /// An operator on values of any shape.
    pub(crate) fn binary_of(
        &mut self,
        frame: &mut Frame<'a>,
        op: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
        span: Span,
    ) -> Result<Value, Fault> {
        let fault = || ("an operator on these types is not known here".to_owned(), span);
        let (first, second) = (self.type_of(frame, left).clone(), self.type_of(frame, right).clone());
        let kind = self.scalar_kind(&first).ok_or_else(fault)?;
        let (a, b) = (self.scalars(frame, left)?, self.scalars(frame, right)?);
        if op == BinaryOperator::Multiply
            && let Some(product) = self.product_of(&first, &second, kind, &a, &b)
        {
            return Ok(Value::Scalars(product));
        }
        let count = a.len().max(b.len());
        let mut all = Vec::with_capacity(count);
        for index in 0..count {
            // A scalar goes with each component of a vector.
            let pick = |from: &[Operand]| from.get(if from.len() == 1 { 0 } else { index }).copied();
            let (a, b) = (pick(&a).ok_or_else(fault)?, pick(&b).ok_or_else(fault)?);
            all.push(self.binary(op, kind, a, b));
        }
        Ok(Value::Scalars(all))
    }

    /// A product in which a matrix takes part.
    fn product_of(
        &mut self,
        first: &TypeInner,
        second: &TypeInner,
        kind: Scalar,
        a: &[Operand],
        b: &[Operand],
    ) -> Option<Vec<Operand>> {
        let shape = |inner: &TypeInner| match *inner {
            TypeInner::Matrix { columns, rows, .. } => Some((columns as usize, rows as usize)),
            _ => None,
        };
        // Of vectors the left one is a row, the right one a column.
        let (left, right) = match (shape(first), shape(second)) {
            (Some(left), Some(right)) => (left, right),
            (Some(left), None) if b.len() > 1 => (left, (1, b.len())),
            (None, Some(right)) if a.len() > 1 => ((a.len(), 1), right),
            _ => return None,
        };
        self.matrix_product(kind, left, a, right, b)
    }
}

impl Emitter {
    pub(crate) fn unary(&mut self, op: UnaryOperator, kind: Scalar, operand: Operand) -> Operand {
        let ty = register_type(kind);
        match op {
            UnaryOperator::Negate => self.result(arithmetic(Operation::Neg, signed(ty)), ty, &[operand]),
            UnaryOperator::LogicalNot => self.result(arithmetic(Operation::Not, Type::Pred), ty, &[operand]),
            UnaryOperator::BitwiseNot => self.result(arithmetic(Operation::Not, bits(ty)), ty, &[operand]),
        }
    }

    /// An operator on two scalars of one kind (WGSL, «Arithmetic Expressions», «Comparison Expressions», «Bit Expressions»).
    pub(crate) fn binary(&mut self, op: BinaryOperator, kind: Scalar, a: Operand, b: Operand) -> Operand {
        let ty = register_type(kind);
        let float = ty.is_float();
        let comparison = match op {
            BinaryOperator::Equal => Some(Comparison::Eq),
            BinaryOperator::NotEqual if float => Some(Comparison::Neu),
            BinaryOperator::NotEqual => Some(Comparison::Ne),
            BinaryOperator::Less => Some(Comparison::Lt),
            BinaryOperator::LessEqual => Some(Comparison::Le),
            BinaryOperator::Greater => Some(Comparison::Gt),
            BinaryOperator::GreaterEqual => Some(Comparison::Ge),
            _ => None,
        };
        if let Some(comparison) = comparison {
            if ty != Type::Pred {
                return self.result(compare(comparison, ty), Type::Pred, &[a, b]);
            }
            let differ = self.result(arithmetic(Operation::Xor, Type::Pred), Type::Pred, &[a, b]);
            return match comparison {
                Comparison::Eq => self.result(arithmetic(Operation::Not, Type::Pred), Type::Pred, &[differ]),
                _ => differ,
            };
        }
        match op {
            BinaryOperator::Add => self.result(arithmetic(Operation::Add, ty), ty, &[a, b]),
            BinaryOperator::Subtract => self.result(arithmetic(Operation::Sub, ty), ty, &[a, b]),
            BinaryOperator::Multiply if float => self.result(arithmetic(Operation::Mul, ty), ty, &[a, b]),
            BinaryOperator::Multiply => self.result(flagged(Operation::Mul, ty, Flags::LOW), ty, &[a, b]),
            BinaryOperator::Divide if float => {
                self.result(flagged(Operation::Div, ty, Flags::NEAREST), ty, &[a, b])
            }
            BinaryOperator::Modulo if float => {
                let quotient = self.result(flagged(Operation::Div, ty, Flags::NEAREST), ty, &[a, b]);
                let whole = self.round(ty, Flags::ZERO_INTEGER, quotient);
                let product = self.result(arithmetic(Operation::Mul, ty), ty, &[whole, b]);
                self.result(arithmetic(Operation::Sub, ty), ty, &[a, product])
            }
            BinaryOperator::Divide => {
                let by = self.divisor(kind, a, b);
                self.result(arithmetic(Operation::Div, ty), ty, &[a, by])
            }
            BinaryOperator::Modulo => {
                let by = self.divisor(kind, a, b);
                self.result(arithmetic(Operation::Rem, ty), ty, &[a, by])
            }
            BinaryOperator::And | BinaryOperator::LogicalAnd => {
                self.result(arithmetic(Operation::And, bits(ty)), ty, &[a, b])
            }
            BinaryOperator::InclusiveOr | BinaryOperator::LogicalOr => {
                self.result(arithmetic(Operation::Or, bits(ty)), ty, &[a, b])
            }
            BinaryOperator::ExclusiveOr => self.result(arithmetic(Operation::Xor, bits(ty)), ty, &[a, b]),
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => {
                // The distance counts modulo the width.
                let mask = Operand::Immediate(u64::from(ty.bits().max(1)) - 1);
                let by = match b {
                    Operand::Immediate(by) => Operand::Immediate(by & (u64::from(ty.bits().max(1)) - 1)),
                    b => self.result(arithmetic(Operation::And, Type::B32), Type::U32, &[b, mask]),
                };
                match op {
                    BinaryOperator::ShiftLeft => {
                        self.result(arithmetic(Operation::Shl, bits(ty)), ty, &[a, by])
                    }
                    _ => self.result(arithmetic(Operation::Shr, ty), ty, &[a, by]),
                }
            }
            // Comparisons are above.
            _ => a,
        }
    }

    /// A divisor that no division fails on: a division by zero, and the least number divided by −1, give the dividend.
    fn divisor(&mut self, kind: Scalar, a: Operand, b: Operand) -> Operand {
        let ty = register_type(kind);
        if let Operand::Immediate(bits) = b
            && bits != 0
            && bits != u64::MAX
        {
            return b;
        }
        let one = Operand::Immediate(1);
        let zero = self.result(compare(Comparison::Eq, ty), Type::Pred, &[b, Operand::Immediate(0)]);
        let mut wrong = zero;
        if kind.kind == ScalarKind::Sint {
            let least = Operand::Immediate((i64::MIN >> (64 - ty.bits().max(1))).cast_unsigned());
            let minus = Operand::Immediate(u64::MAX);
            let overflows = self.result(compare(Comparison::Eq, ty), Type::Pred, &[a, least]);
            let by_minus = self.result(compare(Comparison::Eq, ty), Type::Pred, &[b, minus]);
            let both =
                self.result(arithmetic(Operation::And, Type::Pred), Type::Pred, &[overflows, by_minus]);
            wrong = self.result(arithmetic(Operation::Or, Type::Pred), Type::Pred, &[zero, both]);
        }
        self.result(arithmetic(Operation::Selp, ty), ty, &[one, b, wrong])
    }

    /// A whole number in floating point.
    pub(crate) fn round(&mut self, ty: Type, direction: u32, value: Operand) -> Operand {
        self.result(flagged(Operation::Cvt, ty, direction), ty, &[value])
    }

    pub(crate) fn relational(
        &mut self,
        fun: RelationalFunction,
        kind: Scalar,
        operands: Vec<Operand>,
    ) -> Vec<Operand> {
        let ty = register_type(kind);
        match fun {
            RelationalFunction::All | RelationalFunction::Any => {
                let operation = if fun == RelationalFunction::All { Operation::And } else { Operation::Or };
                let mut rest = operands.into_iter();
                let Some(mut all) = rest.next() else { return Vec::new() };
                for next in rest {
                    all = self.result(arithmetic(operation, Type::Pred), Type::Pred, &[all, next]);
                }
                vec![all]
            }
            RelationalFunction::IsNan => operands
                .into_iter()
                .map(|value| self.result(compare(Comparison::Nan, ty), Type::Pred, &[value, value]))
                .collect(),
            RelationalFunction::IsInf => operands
                .into_iter()
                .map(|value| {
                    self.result(flagged(Operation::Testp, ty, Flags::of_mode(2)), Type::Pred, &[value])
                })
                .collect(),
        }
    }

    /// The product of two matrices, each with its columns and rows.
    pub(crate) fn matrix_product(
        &mut self,
        kind: Scalar,
        (a_columns, a_rows): (usize, usize),
        a: &[Operand],
        (b_columns, b_rows): (usize, usize),
        b: &[Operand],
    ) -> Option<Vec<Operand>> {
        if a_columns != b_rows {
            return None;
        }
        let mut product = Vec::new();
        for column in 0..b_columns {
            for row in 0..a_rows {
                let (mut left, mut right) = (Vec::new(), Vec::new());
                for at in 0..a_columns {
                    left.push(*a.get(at * a_rows + row)?);
                    right.push(*b.get(column * b_rows + at)?);
                }
                product.push(self.dot(kind, &left, &right)?);
            }
        }
        Some(product)
    }

    /// The sum of products.
    pub(crate) fn dot(&mut self, kind: Scalar, a: &[Operand], b: &[Operand]) -> Option<Operand> {
        let mut sum = None;
        for (&a, &b) in a.iter().zip(b) {
            let product = self.binary(BinaryOperator::Multiply, kind, a, b);
            sum = Some(match sum {
                None => product,
                Some(sum) => self.binary(BinaryOperator::Add, kind, sum, product),
            });
        }
        sum
    }
}

/// PTX negates signed integers only.
fn signed(ty: Type) -> Type {
    match ty {
        Type::U16 => Type::S16,
        Type::U32 => Type::S32,
        Type::U64 => Type::S64,
        other => other,
    }
}
