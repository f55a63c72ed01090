//! Instructions on values: arithmetic, comparisons, conversions and composites.

use naga::{BinaryOperator as B, RelationalFunction, Scalar, ScalarKind, UnaryOperator};
use rspirv::spirv::Op;
use standstill_kernel_ir::{ArithmeticFlags as Flags, Comparison, Op as IrOp, Operand, Operation, Type};

use super::kernel::{Fault, Frame, Kernel, Value};
use super::types::{Kind, Shape};
use super::words::Instruction;
use crate::operation::{arithmetic, bits, compare, flagged};
use crate::types::register_type;

/// What an instruction does to each scalar.
#[derive(Debug, Clone, Copy)]
enum Each {
    /// An operator of both languages, on operands read as this kind of number.
    Binary(B, ScalarKind),
    Unary(UnaryOperator, ScalarKind),
    /// A comparison of numbers that may be unordered.
    Compare(Comparison),
    /// A division whose result is undefined where the divisor is zero.
    Divide(Operation, ScalarKind),
    Shift(Operation, ScalarKind),
    Convert(ScalarKind, ScalarKind),
    Direct(Operation),
}

fn each(op: Op) -> Option<Each> {
    use ScalarKind::{Bool, Float, Sint, Uint};
    Some(match op {
        Op::IAdd => Each::Binary(B::Add, Uint),
        Op::ISub => Each::Binary(B::Subtract, Uint),
        Op::IMul => Each::Binary(B::Multiply, Uint),
        Op::FAdd => Each::Binary(B::Add, Float),
        Op::FSub => Each::Binary(B::Subtract, Float),
        Op::FMul => Each::Binary(B::Multiply, Float),
        Op::FDiv => Each::Binary(B::Divide, Float),
        Op::FRem => Each::Binary(B::Modulo, Float),
        Op::UDiv => Each::Divide(Operation::Div, Uint),
        Op::SDiv => Each::Divide(Operation::Div, Sint),
        Op::UMod => Each::Divide(Operation::Rem, Uint),
        Op::SRem => Each::Divide(Operation::Rem, Sint),
        Op::BitwiseAnd => Each::Binary(B::And, Uint),
        Op::BitwiseOr => Each::Binary(B::InclusiveOr, Uint),
        Op::BitwiseXor => Each::Binary(B::ExclusiveOr, Uint),
        Op::LogicalAnd => Each::Binary(B::LogicalAnd, Bool),
        Op::LogicalOr => Each::Binary(B::LogicalOr, Bool),
        Op::LogicalEqual => Each::Binary(B::Equal, Bool),
        Op::LogicalNotEqual => Each::Binary(B::NotEqual, Bool),
        Op::LogicalNot => Each::Unary(UnaryOperator::LogicalNot, Bool),
        Op::Not => Each::Unary(UnaryOperator::BitwiseNot, Uint),
        Op::SNegate => Each::Unary(UnaryOperator::Negate, Sint),
        Op::FNegate => Each::Unary(UnaryOperator::Negate, Float),
        Op::IEqual => Each::Binary(B::Equal, Uint),
        Op::INotEqual => Each::Binary(B::NotEqual, Uint),
        Op::ULessThan => Each::Binary(B::Less, Uint),
        Op::ULessThanEqual => Each::Binary(B::LessEqual, Uint),
        Op::UGreaterThan => Each::Binary(B::Greater, Uint),
        Op::UGreaterThanEqual => Each::Binary(B::GreaterEqual, Uint),
        Op::SLessThan => Each::Binary(B::Less, Sint),
        Op::SLessThanEqual => Each::Binary(B::LessEqual, Sint),
        Op::SGreaterThan => Each::Binary(B::Greater, Sint),
        Op::SGreaterThanEqual => Each::Binary(B::GreaterEqual, Sint),
        Op::FOrdEqual => Each::Compare(Comparison::Eq),
        Op::FOrdNotEqual | Op::LessOrGreater => Each::Compare(Comparison::Ne),
        Op::FOrdLessThan => Each::Compare(Comparison::Lt),
        Op::FOrdLessThanEqual => Each::Compare(Comparison::Le),
        Op::FOrdGreaterThan => Each::Compare(Comparison::Gt),
        Op::FOrdGreaterThanEqual => Each::Compare(Comparison::Ge),
        Op::FUnordEqual => Each::Compare(Comparison::Equ),
        Op::FUnordNotEqual => Each::Compare(Comparison::Neu),
        Op::FUnordLessThan => Each::Compare(Comparison::Ltu),
        Op::FUnordLessThanEqual => Each::Compare(Comparison::Leu),
        Op::FUnordGreaterThan => Each::Compare(Comparison::Gtu),
        Op::FUnordGreaterThanEqual => Each::Compare(Comparison::Geu),
        Op::Ordered => Each::Compare(Comparison::Num),
        Op::Unordered => Each::Compare(Comparison::Nan),
        Op::ShiftLeftLogical => Each::Shift(Operation::Shl, Uint),
        Op::ShiftRightLogical => Each::Shift(Operation::Shr, Uint),
        Op::ShiftRightArithmetic => Each::Shift(Operation::Shr, Sint),
        Op::ConvertFToU | Op::SatConvertUToS => Each::Convert(Float, Uint),
        Op::ConvertFToS => Each::Convert(Float, Sint),
        Op::ConvertSToF => Each::Convert(Sint, Float),
        Op::ConvertUToF => Each::Convert(Uint, Float),
        Op::UConvert => Each::Convert(Uint, Uint),
        Op::SConvert => Each::Convert(Sint, Sint),
        Op::FConvert => Each::Convert(Float, Float),
        Op::BitCount => Each::Direct(Operation::Popc),
        Op::BitReverse => Each::Direct(Operation::Brev),
        _ => return None,
    })
}

impl Kernel<'_> {
    /// Lowers an instruction that neither is a call nor ends a block.
    pub(crate) fn instruction(
        &mut self,
        frame: &mut Frame,
        instruction: Instruction<'_>,
    ) -> Result<(), Fault> {
        let Some(op) = instruction.op else { return self.fallback(frame, instruction) };
        if self.memory_instruction(frame, op, instruction)?
            || self.group_instruction(frame, op, instruction)?
        {
            return Ok(());
        }
        let (Some(id), Some(ty)) = (instruction.result(), instruction.ty()) else {
            return self.without_result(frame, op, instruction);
        };
        if op == Op::Phi {
            return Ok(());
        }
        let value = match self.computed(frame, op, ty, instruction.operands())? {
            Some(scalars) => Value::Scalars(scalars),
            None => match self.composed(frame, op, ty, instruction)? {
                Some(value) => value,
                None => return self.fallback(frame, instruction),
            },
        };
        frame.keep(id, value);
        Ok(())
    }

    /// A constant that an operation gives.
    pub(crate) fn specialised(
        &mut self,
        frame: &mut Frame,
        instruction: Instruction<'_>,
    ) -> Result<(), Fault> {
        let (Some(id), Some(ty), Some((&code, operands))) =
            (instruction.result(), instruction.ty(), instruction.operands().split_first())
        else {
            return Ok(());
        };
        let value = match Op::from_u32(code) {
            Some(op) => self.computed(frame, op, ty, operands)?,
            None => None,
        };
        let types = self.register_types(ty);
        let value = value.unwrap_or_else(|| self.emit.depending(&types, &[Operand::Immediate(0)]));
        frame.keep(id, Value::Scalars(value));
        Ok(())
    }

    fn without_result(
        &mut self,
        frame: &mut Frame,
        op: Op,
        instruction: Instruction<'_>,
    ) -> Result<(), Fault> {
        match op {
            Op::Nop | Op::NoLine | Op::LifetimeStart | Op::LifetimeStop | Op::AssumeTrueKHR => Ok(()),
            _ => self.fallback(frame, instruction),
        }
    }

    /// What is not understood: its values may be anything.
    pub(crate) fn fallback(&mut self, frame: &mut Frame, instruction: Instruction<'_>) -> Result<(), Fault> {
        let types = instruction.ty().map(|ty| self.register_types(ty)).unwrap_or_default();
        let values = self.emit.unknown(&instruction.name(), &types, &[]);
        if let Some(id) = instruction.result() {
            frame.keep(id, if types.is_empty() { Value::Handle } else { Value::Scalars(values) });
        }
        Ok(())
    }

    /// The types of the registers for a value.
    pub(crate) fn register_types(&self, ty: u32) -> Vec<Type> {
        let slots = self.module.slots(ty, Shape::default()).unwrap_or_default();
        slots.iter().map(|slot| register_type(slot.scalar)).collect()
    }

    /// Numbers and truth values.
    fn computed(
        &mut self,
        frame: &Frame,
        op: Op,
        ty: u32,
        operands: &[u32],
    ) -> Result<Option<Vec<Operand>>, Fault> {
        let Some(to) = self.module.scalar(ty) else { return Ok(None) };
        let Some(&first) = operands.first() else { return Ok(None) };
        let from = self.module.scalar(self.module.type_of(first)).unwrap_or(to);
        if let Some(each) = each(op) {
            let a = self.scalars(frame, first)?;
            let b = match operands.get(1) {
                Some(&second) if !matches!(each, Each::Unary(..) | Each::Convert(..) | Each::Direct(_)) => {
                    self.scalars(frame, second)?
                }
                _ => Vec::new(),
            };
            let second = operands.get(1).and_then(|&id| self.module.scalar(self.module.type_of(id)));
            let mut all = Vec::with_capacity(a.len());
            for (index, &a) in a.iter().enumerate() {
                let b = b.get(index).copied().unwrap_or(Operand::Immediate(0));
                all.push(self.one(each, from, to, second.unwrap_or(from), a, b));
            }
            return Ok(Some(all));
        }
        self.several(frame, op, ty, from, to, operands)
    }

    fn one(
        &mut self,
        each: Each,
        from: Scalar,
        to: Scalar,
        second: Scalar,
        a: Operand,
        b: Operand,
    ) -> Operand {
        let read = |kind: ScalarKind| Scalar { kind, width: from.width };
        let emit = &mut self.emit;
        let value = match each {
            Each::Binary(op, kind) => emit.binary(op, read(kind), a, b),
            Each::Unary(op, kind) => emit.unary(op, read(kind), a),
            Each::Compare(comparison) => {
                emit.result(compare(comparison, register_type(from)), Type::Pred, &[a, b])
            }
            Each::Divide(operation, kind) => {
                let ty = register_type(read(kind));
                emit.result(arithmetic(operation, ty), ty, &[a, b])
            }
            Each::Shift(operation, kind) => {
                let ty = register_type(read(kind));
                let by = emit.convert(Scalar { kind: ScalarKind::Uint, ..second }, Scalar::U32, b);
                let ty = if operation == Operation::Shl { bits(ty) } else { ty };
                emit.result(arithmetic(operation, ty), register_type(from), &[a, by])
            }
            Each::Convert(source, target) => {
                return emit.convert(read(source), Scalar { kind: target, width: to.width }, a);
            }
            Each::Direct(Operation::Popc) => {
                let count =
                    emit.result(arithmetic(Operation::Popc, bits(register_type(from))), Type::U32, &[a]);
                return emit.convert(Scalar::U32, to, count);
            }
            Each::Direct(operation) => {
                let ty = register_type(from);
                emit.result(arithmetic(operation, bits(ty)), ty, &[a])
            }
        };
        self.narrow(to, value)
    }

    /// Registers hold eight bits in 32: what is above them is no part of the value.
    fn narrow(&mut self, to: Scalar, value: Operand) -> Operand {
        let ty = register_type(to);
        if to.width != 1 || ty == Type::Pred {
            return value;
        }
        let (start, count) = (Operand::Immediate(0), Operand::Immediate(8));
        self.emit.result(arithmetic(Operation::Bfe, ty), ty, &[value, start, count])
    }

    /// Operations that take more than scalars side by side.
    fn several(
        &mut self,
        frame: &Frame,
        op: Op,
        ty: u32,
        from: Scalar,
        to: Scalar,
        operands: &[u32],
    ) -> Result<Option<Vec<Operand>>, Fault> {
        let all: Vec<Vec<Operand>> = match op {
            Op::SMod
            | Op::FMod
            | Op::Any
            | Op::All
            | Op::IsNan
            | Op::IsInf
            | Op::IsFinite
            | Op::SignBitSet
            | Op::Dot
            | Op::VectorTimesScalar
            | Op::MatrixTimesScalar
            | Op::MatrixTimesVector
            | Op::VectorTimesMatrix
            | Op::MatrixTimesMatrix
            | Op::OuterProduct
            | Op::Transpose
            | Op::Select
            | Op::BitFieldInsert
            | Op::BitFieldSExtract
            | Op::BitFieldUExtract
            | Op::IAddCarry
            | Op::ISubBorrow
            | Op::UMulExtended
            | Op::SMulExtended
            | Op::Bitcast
            | Op::QuantizeToF16
            | Op::SatConvertSToU
            | Op::SDot
            | Op::UDot
            | Op::SUDot
            | Op::SDotAccSat
            | Op::UDotAccSat
            | Op::SUDotAccSat => {
                let mut all = Vec::with_capacity(operands.len());
                // What follows the vectors of integer products is a literal.
                let values = operands.iter().take_while(|&&id| self.module.type_of(id) != 0);
                for &id in values {
                    all.push(self.scalars(frame, id)?);
                }
                all
            }
            _ => return Ok(None),
        };
        let none = Vec::new();
        let operand = |index: usize| all.get(index).unwrap_or(&none);
        let (a, b) = (operand(0), operand(1));
        let shape = |id: Option<&u32>| match id.map(|&id| self.module.kind(self.module.type_of(id))) {
            Some(&Kind::Matrix { column, count }) => {
                Some((count as usize, self.module.parts(column)? as usize))
            }
            _ => None,
        };
        let shapes = (shape(operands.first()), shape(operands.get(1)));
        let types = self.register_types(ty);
        let emit = &mut self.emit;
        let register = register_type(from);
        let value = match op {
            Op::Any => emit.relational(RelationalFunction::Any, from, a.clone()),
            Op::All => emit.relational(RelationalFunction::All, from, a.clone()),
            Op::IsNan => emit.relational(RelationalFunction::IsNan, from, a.clone()),
            Op::IsInf => emit.relational(RelationalFunction::IsInf, from, a.clone()),
            Op::SMod => {
                let one = |(&a, &b): (&Operand, &Operand)| {
                    let rest = emit.result(arithmetic(Operation::Rem, Type::S32), Type::S32, &[a, b]);
                    let signs = emit.result(arithmetic(Operation::Xor, Type::B32), Type::S32, &[rest, b]);
                    let zero = Operand::Immediate(0);
                    let differ = emit.result(compare(Comparison::Lt, Type::S32), Type::Pred, &[signs, zero]);
                    let some = emit.result(compare(Comparison::Ne, Type::S32), Type::Pred, &[rest, zero]);
                    let both =
                        emit.result(arithmetic(Operation::And, Type::Pred), Type::Pred, &[differ, some]);
                    let sum = emit.result(arithmetic(Operation::Add, Type::S32), Type::S32, &[rest, b]);
                    emit.result(arithmetic(Operation::Selp, Type::S32), Type::S32, &[sum, rest, both])
                };
                if register.bits() != 32 {
                    return Ok(Some(emit.depending(&types, &[a.as_slice(), b].concat())));
                }
                a.iter().zip(b).map(one).collect()
            }
            Op::FMod => {
                let one = |(&a, &b): (&Operand, &Operand)| {
                    let quotient = emit.binary(B::Divide, from, a, b);
                    let whole = emit.round(register, Flags::DOWN_INTEGER, quotient);
                    let product = emit.binary(B::Multiply, from, whole, b);
                    emit.binary(B::Subtract, from, a, product)
                };
                a.iter().zip(b).map(one).collect()
            }
            Op::Dot => return Ok(emit.dot(from, a, b).map(|sum| vec![sum])),
            Op::VectorTimesScalar | Op::MatrixTimesScalar => {
                let Some(&by) = b.first() else { return Ok(None) };
                a.iter().map(|&a| emit.binary(B::Multiply, from, a, by)).collect()
            }
            Op::MatrixTimesVector | Op::VectorTimesMatrix | Op::MatrixTimesMatrix | Op::OuterProduct => {
                let (left, right) = match shapes {
                    (Some(left), Some(right)) => (left, right),
                    (Some(left), None) => (left, (1, b.len())),
                    (None, Some(right)) => ((a.len(), 1), right),
                    (None, None) => ((1, a.len()), (b.len(), 1)),
                };
                return Ok(emit.matrix_product(from, left, a, right, b));
            }
            Op::Transpose => {
                let Kind::Matrix { column, count } = *self.module.kind(ty) else { return Ok(None) };
                let rows = self.module.parts(column).unwrap_or(0) as usize;
                return Ok(emit.transpose((count as usize, rows), a));
            }
            Op::Select => {
                let c = operand(2);
                let mut chosen = Vec::with_capacity(b.len());
                let slots = self.module.slots(ty, Shape::default()).unwrap_or_default();
                for (((&yes, &no), slot), index) in b.iter().zip(c).zip(&slots).zip(0..) {
                    let Some(&condition) = a.get(if a.len() == 1 { 0 } else { index }) else {
                        return Ok(None);
                    };
                    chosen.push(emit.select(slot.scalar, condition, yes, no));
                }
                if slots.is_empty() {
                    return Ok(None);
                }
                chosen
            }
            Op::BitFieldInsert if register.bits() == 32 => {
                let (Some(&start), Some(&count)) = (operand(2).first(), operand(3).first()) else {
                    return Ok(None);
                };
                let bfi = arithmetic(Operation::Bfi, Type::B32);
                a.iter().zip(b).map(|(&a, &b)| emit.result(bfi, register, &[b, a, start, count])).collect()
            }
            Op::BitFieldSExtract | Op::BitFieldUExtract if register.bits() == 32 => {
                let signed = op == Op::BitFieldSExtract;
                let bfe = arithmetic(Operation::Bfe, if signed { Type::S32 } else { Type::U32 });
                let (Some(&start), Some(&count)) = (b.first(), operand(2).first()) else { return Ok(None) };
                a.iter().map(|&a| emit.result(bfe, register, &[a, start, count])).collect()
            }
            Op::IAddCarry | Op::ISubBorrow | Op::UMulExtended | Op::SMulExtended => {
                let signed = op == Op::SMulExtended;
                let kind = if signed { ScalarKind::Sint } else { ScalarKind::Uint };
                let ty = register_type(Scalar { kind, width: from.width });
                let (mut low, mut high) = (Vec::new(), Vec::new());
                for (&a, &b) in a.iter().zip(b) {
                    let (first, second) = match op {
                        Op::IAddCarry => (arithmetic(Operation::Add, ty), None),
                        Op::ISubBorrow => (arithmetic(Operation::Sub, ty), None),
                        _ => (
                            flagged(Operation::Mul, ty, Flags::LOW),
                            Some(flagged(Operation::Mul, ty, Flags::HIGH)),
                        ),
                    };
                    let value = emit.result(first, ty, &[a, b]);
                    low.push(value);
                    high.push(match second {
                        Some(second) => emit.result(second, ty, &[a, b]),
                        None => {
                            let sides = if op == Op::IAddCarry { [value, a] } else { [a, b] };
                            let over = emit.result(compare(Comparison::Lt, ty), Type::Pred, &sides);
                            let (one, zero) = (Operand::Immediate(1), Operand::Immediate(0));
                            emit.result(arithmetic(Operation::Selp, ty), ty, &[one, zero, over])
                        }
                    });
                }
                low.append(&mut high);
                low
            }
            Op::Bitcast => return Ok(self.reinterpreted(a, from, to, &types)),
            // Values that are not modelled, but depend on nothing beside the operands.
            _ => emit.depending(&types, &all.concat()),
        };
        Ok(Some(value))
    }

    /// The same bits as other numbers.
    fn reinterpreted(
        &mut self,
        from: &[Operand],
        source: Scalar,
        target: Scalar,
        types: &[Type],
    ) -> Option<Vec<Operand>> {
        if types.is_empty() {
            return None;
        }
        let (wide, narrow) = (source.width.max(target.width), source.width.min(target.width));
        if from.len() == types.len() {
            return Some(from.to_vec());
        }
        if wide != narrow * 2 || narrow < 2 {
            return Some(self.emit.depending(types, from));
        }
        let whole = if wide == 8 { Type::B64 } else { Type::B32 };
        let mov = arithmetic(Operation::Mov, whole);
        let mut all = Vec::with_capacity(types.len());
        if source.width < target.width {
            for (pair, &ty) in from.chunks_exact(2).zip(types) {
                all.push(self.emit.result(mov, ty, pair));
            }
        } else {
            for (&value, pair) in from.iter().zip(types.chunks_exact(2)) {
                let into: Vec<_> = pair.iter().map(|&ty| self.emit.out.register(ty)).collect();
                self.emit.push(mov, &into, &[value]);
                all.extend(into.into_iter().map(Operand::from));
            }
        }
        Some(all)
    }

    /// An operation without results.
    pub(crate) fn pushed(&mut self, op: IrOp, from: &[Operand]) {
        self.emit.push(op, &[], from);
    }
}
