//! Extended instructions: functions of GLSL.std.450, and lines of the debugging information.

use naga::{MathFunction as M, Scalar, ScalarKind};
use rspirv::spirv::GlslStd450Op;

use super::kernel::{Fault, Frame, Kernel, Value};
use super::module::{DEBUG_LINE, Set};
use super::words::Instruction;

/// A function that both languages have, and how it reads its operands.
fn function(number: u32) -> Option<(M, Option<ScalarKind>)> {
    use ScalarKind::{Sint, Uint};
    Some(match GlslStd450Op::from_u32(number)? {
        GlslStd450Op::Round | GlslStd450Op::RoundEven => (M::Round, None),
        GlslStd450Op::Trunc => (M::Trunc, None),
        GlslStd450Op::FAbs => (M::Abs, None),
        GlslStd450Op::SAbs => (M::Abs, Some(Sint)),
        GlslStd450Op::FSign => (M::Sign, None),
        GlslStd450Op::SSign => (M::Sign, Some(Sint)),
        GlslStd450Op::Floor => (M::Floor, None),
        GlslStd450Op::Ceil => (M::Ceil, None),
        GlslStd450Op::Fract => (M::Fract, None),
        GlslStd450Op::Radians => (M::Radians, None),
        GlslStd450Op::Degrees => (M::Degrees, None),
        GlslStd450Op::Sin => (M::Sin, None),
        GlslStd450Op::Cos => (M::Cos, None),
        GlslStd450Op::Tan => (M::Tan, None),
        GlslStd450Op::Tanh => (M::Tanh, None),
        GlslStd450Op::Pow => (M::Pow, None),
        GlslStd450Op::Exp => (M::Exp, None),
        GlslStd450Op::Log => (M::Log, None),
        GlslStd450Op::Exp2 => (M::Exp2, None),
        GlslStd450Op::Log2 => (M::Log2, None),
        GlslStd450Op::Sqrt => (M::Sqrt, None),
        GlslStd450Op::InverseSqrt => (M::InverseSqrt, None),
        GlslStd450Op::FMin | GlslStd450Op::NMin => (M::Min, None),
        GlslStd450Op::UMin => (M::Min, Some(Uint)),
        GlslStd450Op::SMin => (M::Min, Some(Sint)),
        GlslStd450Op::FMax | GlslStd450Op::NMax => (M::Max, None),
        GlslStd450Op::UMax => (M::Max, Some(Uint)),
        GlslStd450Op::SMax => (M::Max, Some(Sint)),
        GlslStd450Op::FClamp | GlslStd450Op::NClamp => (M::Clamp, None),
        GlslStd450Op::UClamp => (M::Clamp, Some(Uint)),
        GlslStd450Op::SClamp => (M::Clamp, Some(Sint)),
        GlslStd450Op::FMix => (M::Mix, None),
        GlslStd450Op::Step => (M::Step, None),
        GlslStd450Op::Fma => (M::Fma, None),
        GlslStd450Op::Length => (M::Length, None),
        GlslStd450Op::Distance => (M::Distance, None),
        GlslStd450Op::Cross => (M::Cross, None),
        GlslStd450Op::Normalize => (M::Normalize, None),
        GlslStd450Op::FindILsb => (M::FirstTrailingBit, None),
        GlslStd450Op::FindSMsb => (M::FirstLeadingBit, Some(Sint)),
        GlslStd450Op::FindUMsb => (M::FirstLeadingBit, Some(Uint)),
        _ => return None,
    })
}

impl Kernel<'_> {
    /// Whether an instruction only describes.
    pub(crate) fn is_debug(&self, instruction: Instruction<'_>) -> bool {
        let set = instruction.operand(0).and_then(|set| self.module.sets.get(&set));
        matches!(set, Some(Set::DebugInfo | Set::NonSemantic))
    }

    /// An extended instruction; `None` for one that is not understood.
    pub(crate) fn extended(
        &mut self,
        frame: &Frame,
        set: u32,
        ty: u32,
        instruction: Instruction<'_>,
    ) -> Result<Option<Value>, Fault> {
        let operands = instruction.operands().get(2..).unwrap_or_default();
        let number = instruction.operand(1).unwrap_or(0);
        match self.module.sets.get(&set) {
            Some(Set::DebugInfo) => {
                if let (DEBUG_LINE, &[source, line, _, column, ..]) = (number, operands) {
                    let line = self.module.integer(line).unwrap_or(0) as u32;
                    let column = self.module.integer(column).unwrap_or(0) as u32;
                    self.set_line(source, line, column);
                }
                return Ok(Some(Value::Handle));
            }
            Some(Set::NonSemantic) => return Ok(Some(Value::Handle)),
            _ => {}
        }
        let types = self.register_types(ty);
        let mut arguments = Vec::with_capacity(operands.len());
        for &operand in operands {
            match self.value(frame, operand)? {
                // A result besides the value is kept there.
                Value::Place(_) => return Ok(None),
                _ => arguments.push(self.scalars(frame, operand)?),
            }
        }
        let kind = operands.first().and_then(|&first| self.module.scalar(self.module.type_of(first)));
        let known = match self.module.sets.get(&set) {
            Some(Set::Glsl) => function(number),
            _ => None,
        };
        if let (Some((function, read)), Some(kind)) = (known, kind) {
            let kind = Scalar { kind: read.unwrap_or(kind.kind), ..kind };
            return Ok(self.emit.math(function, kind, &arguments, &types).map(Value::Scalars));
        }
        if types.is_empty() {
            return Ok(None);
        }
        Ok(Some(Value::Scalars(self.emit.depending(&types, &arguments.concat()))))
    }
}
