//! Composites: parts of values, and values of parts.

use rspirv::spirv::Op;
use standstill_kernel_ir::{Comparison, Operand, Type};

use super::kernel::{Fault, Frame, Kernel, Value};
use super::types::Shape;
use super::words::Instruction;
use crate::operation::compare;

impl Kernel<'_> {
    /// Composites and copies.
    pub(crate) fn composed(
        &mut self,
        frame: &Frame,
        op: Op,
        ty: u32,
        instruction: Instruction<'_>,
    ) -> Result<Option<Value>, Fault> {
        let operands = instruction.operands();
        let first = operands.first().copied();
        Ok(Some(match (op, first) {
            (Op::Undef | Op::ConstantNull, _) => {
                let types = self.register_types(ty);
                Value::Scalars(vec![Operand::Immediate(0); types.len()])
            }
            (Op::CopyObject | Op::CopyLogical | Op::ExpectKHR, Some(from)) => self.value(frame, from)?,
            (Op::CompositeConstruct, _) => {
                let mut all = Vec::new();
                for &part in operands {
                    all.extend(self.scalars(frame, part)?);
                }
                if all.is_empty() { Value::Handle } else { Value::Scalars(all) }
            }
            (Op::CompositeExtract, Some(from)) => match self.value(frame, from)? {
                Value::BuiltIn { code, component: None } if operands.len() == 2 => {
                    Value::BuiltIn { code, component: operands.get(1).copied() }
                }
                Value::Scalars(all) => {
                    let indices = operands.get(1..).unwrap_or_default();
                    let (before, count) = self.within(self.module.type_of(from), indices)?;
                    let part = all.get(before..before + count).ok_or("a part that is not there")?;
                    Value::Scalars(part.to_vec())
                }
                _ => return Ok(None),
            },
            (Op::CompositeInsert, Some(part)) => {
                let part = self.scalars(frame, part)?;
                let into = operands.get(1).copied().ok_or("an insertion into nothing")?;
                let mut all = self.scalars(frame, into)?;
                let indices = operands.get(2..).unwrap_or_default();
                let (before, count) = self.within(self.module.type_of(into), indices)?;
                if part.len() != count {
                    return Ok(None);
                }
                let place = all.get_mut(before..before + count).ok_or("a part that is not there")?;
                place.copy_from_slice(&part);
                Value::Scalars(all)
            }
            (Op::VectorShuffle, Some(from)) => {
                let mut all = self.scalars(frame, from)?;
                let second = operands.get(1).copied().ok_or("a shuffle of nothing")?;
                all.extend(self.scalars(frame, second)?);
                // A component that is undefined may be anything.
                let pick = |&index: &u32| all.get(index as usize).copied().unwrap_or(Operand::Immediate(0));
                Value::Scalars(operands.get(2..).unwrap_or_default().iter().map(pick).collect())
            }
            (Op::VectorExtractDynamic, Some(from)) => {
                let all = self.scalars(frame, from)?;
                let at = self.scalar(frame, operands.get(1).copied().unwrap_or(0))?;
                let kind = self.module.scalar(ty).ok_or("a vector of nothing")?;
                let Some(mut chosen) = all.first().copied() else { return Ok(None) };
                for (&candidate, number) in all.iter().zip(0u64..).skip(1) {
                    let is_it = self.is_number(at, number);
                    chosen = self.emit.select(kind, is_it, candidate, chosen);
                }
                Value::Scalars(vec![chosen])
            }
            (Op::VectorInsertDynamic, Some(from)) => {
                let mut all = self.scalars(frame, from)?;
                let part = self.scalar(frame, operands.get(1).copied().unwrap_or(0))?;
                let at = self.scalar(frame, operands.get(2).copied().unwrap_or(0))?;
                let kind = self.module.scalar(ty).ok_or("a vector of nothing")?;
                for (old, number) in all.iter_mut().zip(0u64..) {
                    let is_it = self.is_number(at, number);
                    *old = self.emit.select(kind, is_it, part, *old);
                }
                Value::Scalars(all)
            }
            (Op::ExtInst, Some(set)) => return self.extended(frame, set, ty, instruction),
            (_, _) if self.is_query(op) => {
                let types = self.register_types(ty);
                Value::Scalars(self.emit.depending(&types, &[Operand::Immediate(0)]))
            }
            _ => return Ok(None),
        }))
    }

    /// What is the same for all invocations: extents of images.
    fn is_query(&self, op: Op) -> bool {
        matches!(
            op,
            Op::ImageQuerySize | Op::ImageQuerySizeLod | Op::ImageQueryLevels | Op::ImageQuerySamples
        )
    }

    fn is_number(&mut self, value: Operand, number: u64) -> Operand {
        self.emit.result(compare(Comparison::Eq, Type::U32), Type::Pred, &[value, Operand::Immediate(number)])
    }

    /// Scalars before a part of a value, and how many the part has.
    fn within(&self, ty: u32, indices: &[u32]) -> Result<(usize, usize), Fault> {
        let fault = || "a part that is not known here".to_owned();
        let (mut ty, mut before) = (ty, 0usize);
        for &index in indices {
            let part = self.module.part(ty, Shape::default(), index).ok_or_else(fault)?;
            before = before.saturating_add(part.before as usize);
            ty = part.ty;
        }
        let count = self.module.types.get(&ty).map_or(0, |ty| ty.scalars as usize);
        before.checked_add(count).ok_or_else(fault)?;
        Ok((before, count))
    }
}
