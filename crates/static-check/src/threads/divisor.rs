//! Numbers that values are multiples of, where more is not known of them.

use standstill_kernel_ir::launch::{Comparison as Relation, Expression, LaunchShape, Operator, Variable};
use standstill_kernel_ir::{
    Arithmetic, ArithmeticFlags, Instruction, Op, Operand, Operation, Space, Special, ValueId,
};

use super::ThreadValues;
use super::split::gcd;
use crate::launch::WARP_SIZE;
use crate::uniformity::{Agreement, Uniformity};

impl ThreadValues<'_> {
    /// The divisor of what a round adds to `phi` to make `value`.
    pub(super) fn step_from(&mut self, uniformity: &Uniformity, phi: ValueId, value: ValueId) -> Option<u64> {
        let mut value = value;
        let mut total = 0;
        for _ in 0..8 {
            if value == phi {
                return Some(total);
            }
            let (_, instruction) = self.body.definition(value)?;
            let Op::Arithmetic(Arithmetic { operation: Operation::Add | Operation::Mov, .. }) =
                instruction.op
            else {
                return None;
            };
            if instruction.guard.is_some() {
                return None;
            }
            let first = self.body.source_value(instruction, 0);
            if instruction.operands.sources == 1 {
                value = first?;
                continue;
            }
            let (next, step) = match (first, self.body.constant(instruction, 1)) {
                (Some(next), Some(step)) => (next, (step as i64).unsigned_abs()),
                (Some(next), None) => {
                    let other = self.body.source_value(instruction, 1);
                    match other {
                        Some(other) if uniformity.value(other) >= Agreement::Block => {
                            (next, self.divisor(other, 0))
                        }
                        Some(other) if uniformity.value(next) >= Agreement::Block => {
                            (other, self.divisor(next, 0))
                        }
                        None => match self.body.source(instruction, 1) {
                            Operand::Special(Special::Ntid(_) | Special::Nctaid(_)) => {
                                (next, self.divisor_of_operand(self.body.source(instruction, 1)))
                            }
                            _ => return None,
                        },
                        _ => return None,
                    }
                }
                _ => return None,
            };
            total = gcd(total, step);
            value = next;
        }
        None
    }

    pub(super) fn divisor_of_operand(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Immediate(bits) => (bits as i64).unsigned_abs(),
            Operand::Special(Special::Ntid(0)) if self.rows => u64::from(WARP_SIZE),
            Operand::Special(special) => self.special(special).and_then(|v| v.first().copied()).unwrap_or(1),
            _ => 1,
        }
    }

    /// A number that every value this one can have is a multiple of.
    pub(super) fn divisor(&mut self, value: ValueId, depth: u32) -> u64 {
        if depth > 16 {
            return 1;
        }
        if let Some(vector) = self.vector(value) {
            return vector.iter().fold(0, |divisor, &v| gcd(divisor, v));
        }
        let Some((_, instruction)) = self.body.definition(value) else {
            let incoming = self.body.ssa.incoming(value).to_vec();
            let mut divisor = 0;
            for (_, from) in incoming {
                let uniformity_free = self.plain_step(value, from);
                divisor = gcd(divisor, uniformity_free.unwrap_or_else(|| self.divisor(from, depth + 8)));
            }
            return divisor.max(1);
        };
        let source = |this: &mut Self, index: usize| match this.body.source(instruction, index) {
            Operand::Register(_) => {
                this.body.source_value(instruction, index).map_or(1, |value| this.divisor(value, depth + 1))
            }
            operand => this.divisor_of_operand(operand),
        };
        match instruction.op {
            Op::Load(access) if access.space == Space::Param => match self.body.source(instruction, 0) {
                Operand::Parameter { index, offset: 0 } => {
                    assumed_divisor(&self.launch.shape, index as usize)
                }
                _ => 1,
            },
            Op::Arithmetic(arithmetic) if !arithmetic.ty.is_float() => match arithmetic.operation {
                Operation::Mov | Operation::Cvt => source(self, 0),
                Operation::Sub if let Some(divisor) = self.rounds_down(instruction) => divisor,
                Operation::Add | Operation::Sub => gcd(source(self, 0), source(self, 1)),
                Operation::Mul if !arithmetic.flags.has(ArithmeticFlags::HIGH) => {
                    source(self, 0).saturating_mul(source(self, 1))
                }
                Operation::Mad if !arithmetic.flags.has(ArithmeticFlags::HIGH) => {
                    gcd(source(self, 0).saturating_mul(source(self, 1)), source(self, 2))
                }
                Operation::Shl => match self.body.constant(instruction, 1) {
                    Some(by) if by < 32 => source(self, 0).saturating_mul(1 << by),
                    _ => 1,
                },
                Operation::And => {
                    match self.body.constant(instruction, 1).or(self.body.constant(instruction, 0)) {
                        Some(mask) if mask != 0 => 1 << mask.trailing_zeros().min(31),
                        _ => 1,
                    }
                }
                _ => 1,
            },
            _ => 1,
        }
    }

    /// `x - x % w` is a multiple of `w`.
    fn rounds_down(&mut self, instruction: &Instruction) -> Option<u64> {
        let (_, remainder) = self.body.definition(self.body.source_value(instruction, 1)?)?;
        let Op::Arithmetic(Arithmetic { operation: Operation::Rem, .. }) = remainder.op else { return None };
        if self.body.source_value(remainder, 0) != self.body.source_value(instruction, 0) {
            return None;
        }
        match self.body.constant(remainder, 1) {
            Some(width) => Some(width),
            None => self.vector(self.body.source_value(remainder, 1)?)?.first().copied(),
        }
    }

    /// The constant that a round adds to `phi` to make `value`.
    fn plain_step(&self, phi: ValueId, value: ValueId) -> Option<u64> {
        let (_, instruction) = self.body.definition(value)?;
        let Op::Arithmetic(Arithmetic { operation: Operation::Add, .. }) = instruction.op else {
            return None;
        };
        (self.body.source_value(instruction, 0) == Some(phi))
            .then(|| self.body.constant(instruction, 1))
            .flatten()
            .map(|step| (step as i64).unsigned_abs())
    }
}

/// The divisor that an assumption of the form `p2 % 256 == 0` gives a parameter.
fn assumed_divisor(shape: &LaunchShape, parameter: usize) -> u64 {
    let mut divisor = 1;
    for assumption in &shape.assumptions {
        if assumption.comparison == Relation::Equal
            && let Expression::Binary(Operator::Remainder, left, right) = &assumption.left
            && **left == Expression::Variable(Variable::Parameter(parameter))
            && assumption.right == Expression::Number(0)
            && let Some(number) = right.evaluate(&|variable| shape.value(variable))
            && let Ok(number) = u64::try_from(number)
            && number > 0
        {
            divisor = divisor / gcd(divisor, number) * number;
        }
    }
    divisor
}
