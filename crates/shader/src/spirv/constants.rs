//! Constants, and operations on them. Specialisation constants have their defaults.

use naga::{Scalar, ScalarKind};
use rspirv::spirv::Op;

use super::module::Module;
use super::types::{Kind, Shape};
use super::words::Instruction;
use crate::types::MOST_SCALARS;

impl Module<'_> {
    /// The bits of the scalars of what an instruction declares; `None` when it is no constant, or one that is not worked out.
    pub(crate) fn constant(&self, instruction: Instruction<'_>) -> Option<Vec<u64>> {
        let ty = instruction.ty()?;
        let operands = instruction.operands();
        match instruction.op? {
            Op::ConstantTrue | Op::SpecConstantTrue => Some(vec![1]),
            Op::ConstantFalse | Op::SpecConstantFalse => Some(vec![0]),
            Op::Constant | Op::SpecConstant => {
                let low = u64::from(*operands.first()?);
                let bits = low | u64::from(operands.get(1).copied().unwrap_or(0)) << 32;
                Some(vec![fit(self.scalar(ty)?, bits)])
            }
            Op::ConstantComposite | Op::SpecConstantComposite => {
                let mut all = Vec::new();
                for part in operands {
                    all.extend_from_slice(self.constants.get(part)?);
                    if all.len() > MOST_SCALARS {
                        return None;
                    }
                }
                Some(all)
            }
            // What is undefined may be anything, so also the same for all.
            Op::ConstantNull | Op::Undef => Some(vec![0; self.slots(ty, Shape::default())?.len()]),
            Op::SpecConstantOp => self.operation(ty, operands),
            _ => None,
        }
    }

    fn operation(&self, ty: u32, operands: &[u32]) -> Option<Vec<u64>> {
        let (&code, rest) = operands.split_first()?;
        let op = Op::from_u32(code)?;
        if op == Op::CompositeExtract {
            let (&from, indices) = rest.split_first()?;
            let mut of = self.type_of(from);
            let mut before = 0;
            for &index in indices {
                let part = self.part(of, Shape::default(), index)?;
                before += part.before as usize;
                of = part.ty;
            }
            let count = self.slots(of, Shape::default())?.len();
            return Some(self.constants.get(&from)?.get(before..before + count)?.to_vec());
        }
        let to = self.scalar(ty)?;
        let first = *rest.first()?;
        let from = self.scalar(self.type_of(first))?;
        let values: Option<Vec<&Vec<u64>>> = rest.iter().map(|id| self.constants.get(id)).collect();
        let values = values?;
        let width = values.iter().map(|value| value.len()).max()?;
        let mut all = Vec::with_capacity(width);
        for index in 0..width {
            let pick = |value: &&Vec<u64>| value.get(if value.len() == 1 { 0 } else { index }).copied();
            let scalars: Option<Vec<u64>> = values.iter().map(pick).collect();
            all.push(fit(to, scalar(op, from, &scalars?)?));
        }
        matches!(self.kind(ty), Kind::Scalar(_) | Kind::Vector { .. }).then_some(all)
    }
}

/// An operation on integers and truth values.
fn scalar(op: Op, of: Scalar, values: &[u64]) -> Option<u64> {
    if of.kind == ScalarKind::Float {
        return None;
    }
    let a = *values.first()?;
    let b = || values.get(1).copied();
    let bits = u32::from(of.width) * 8;
    let unsigned = |value: u64| if bits < 64 { value & ((1 << bits) - 1) } else { value };
    let signed = |value: u64| (value << (64 - bits.clamp(1, 64))).cast_signed() >> (64 - bits.clamp(1, 64));
    let truth = |holds: bool| u64::from(holds);
    Some(match op {
        Op::IAdd => a.wrapping_add(b()?),
        Op::ISub => a.wrapping_sub(b()?),
        Op::IMul => a.wrapping_mul(b()?),
        Op::UDiv => unsigned(a).checked_div(unsigned(b()?))?,
        Op::UMod => unsigned(a).checked_rem(unsigned(b()?))?,
        Op::SDiv => signed(a).checked_div(signed(b()?))?.cast_unsigned(),
        Op::SRem => signed(a).checked_rem(signed(b()?))?.cast_unsigned(),
        Op::SMod => {
            let (a, b) = (signed(a), signed(b()?));
            let rest = a.checked_rem(b)?;
            (if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }).cast_unsigned()
        }
        Op::SNegate => a.wrapping_neg(),
        Op::Not => !a,
        Op::BitwiseAnd | Op::LogicalAnd => a & b()?,
        Op::BitwiseOr | Op::LogicalOr => a | b()?,
        Op::BitwiseXor => a ^ b()?,
        Op::ShiftLeftLogical => unsigned(a).checked_shl(b()? as u32)?,
        Op::ShiftRightLogical => unsigned(a).checked_shr(b()? as u32)?,
        Op::ShiftRightArithmetic => signed(a).checked_shr(b()? as u32)?.cast_unsigned(),
        Op::LogicalNot => truth(a == 0),
        Op::IEqual | Op::LogicalEqual => truth(unsigned(a) == unsigned(b()?)),
        Op::INotEqual | Op::LogicalNotEqual => truth(unsigned(a) != unsigned(b()?)),
        Op::ULessThan => truth(unsigned(a) < unsigned(b()?)),
        Op::ULessThanEqual => truth(unsigned(a) <= unsigned(b()?)),
        Op::UGreaterThan => truth(unsigned(a) > unsigned(b()?)),
        Op::UGreaterThanEqual => truth(unsigned(a) >= unsigned(b()?)),
        Op::SLessThan => truth(signed(a) < signed(b()?)),
        Op::SLessThanEqual => truth(signed(a) <= signed(b()?)),
        Op::SGreaterThan => truth(signed(a) > signed(b()?)),
        Op::SGreaterThanEqual => truth(signed(a) >= signed(b()?)),
        Op::Select => {
            if a != 0 {
                b()?
            } else {
                values.get(2).copied()?
            }
        }
        Op::UConvert => unsigned(a),
        Op::SConvert => signed(a).cast_unsigned(),
        _ => return None,
    })
}

/// Bits as an operand holds them: integers are sign-extended, floats stand in the low bits.
fn fit(scalar: Scalar, bits: u64) -> u64 {
    let width = u32::from(scalar.width) * 8;
    match scalar.kind {
        _ if width >= 64 => bits,
        ScalarKind::Bool => u64::from(bits != 0),
        ScalarKind::Sint => ((bits << (64 - width)).cast_signed() >> (64 - width)).cast_unsigned(),
        _ => bits & ((1 << width) - 1),
    }
}
