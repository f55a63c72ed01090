//! Loops that integers decide which go by equal steps: whether their exits can come true is arithmetic.
//!
//! A register that is only ever added to, each time a multiple of 2ᵗ, takes values that are congruent modulo 2ᵗ to the
//! one it has, and goes round at its width. An exit that compares it with a value that stays the same is an interval
//! of such values. When no interval of any exit holds a congruent value, the loop is never left, however often it is
//! gone round: a step of two past an odd end, or any step that jumps over the last value for good.

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{
    Arithmetic, ArithmeticFlags, BlockId, BooleanOperation, Comparison, ControlFlow, Dominators, Function,
    Instruction, LoopId, Loops, Op, Operand, Operation, Register, Terminator, Type,
};

use crate::decode::code::{Code, Place};
use crate::exec::core::Core;

/// Definitions that are followed from a test to what it is about.
const DEPTH: usize = 8;

/// A value that stays the same in the loop.
#[derive(Debug, Clone, Copy)]
enum Amount {
    Constant(u64),
    Row(Place),
}

impl Amount {
    fn value(self, core: &Core<'_>, lane: usize) -> u64 {
        match self {
            Amount::Constant(value) => value,
            Amount::Row(place) => core.read(place, lane),
        }
    }
}

/// Something that leaves the loop.
#[derive(Debug)]
enum Exit {
    /// A condition that nothing in the loop changes, and the value with which it leaves.
    Fixed(Place, bool),
    Compare(Box<Compare>),
}

/// A comparison of a value that goes by equal steps.
#[derive(Debug)]
struct Compare {
    value: Place,
    steps: Vec<Amount>,
    /// Added to the value, or taken from it.
    offsets: Vec<(Amount, bool)>,
    other: Amount,
    /// Bits that are compared; fewer than the type's where the rest is masked away.
    bits: u32,
    masked: bool,
    comparison: Comparison,
    signed: bool,
    /// The outcome that leaves.
    leaves: bool,
}

/// What leaves a loop.
#[derive(Debug)]
pub(crate) struct Exits {
    exits: Vec<Exit>,
    /// The loop does more than calculate: an access outside of memory may end it, too.
    pub(crate) accesses: bool,
}

impl Exits {
    /// Whether a lane that stands at the loop's head stays in the loop for good.
    pub(crate) fn never(&self, core: &Core<'_>, lane: usize) -> bool {
        self.exits.iter().all(|exit| match exit {
            Exit::Fixed(place, leaves) => (core.read(*place, lane) & 1 != 0) != *leaves,
            Exit::Compare(compare) => compare.never(core, lane),
        })
    }
}

/// The low bits of a number.
fn low(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

impl Compare {
    fn never(&self, core: &Core<'_>, lane: usize) -> bool {
        let mut value = core.read(self.value, lane);
        for (amount, taken) in &self.offsets {
            let amount = amount.value(core, lane);
            value = if *taken { value.wrapping_sub(amount) } else { value.wrapping_add(amount) };
        }
        let steps = self.steps.iter().map(|step| low(step.value(core, lane), self.bits));
        let shift = steps.map(|step| step.trailing_zeros().min(self.bits)).min().unwrap_or(self.bits);
        let other = self.other.value(core, lane);
        if self.masked && other >= 1 << self.bits {
            return false;
        }
        let signed = self.signed && !self.masked;
        let leaving = interval(self.comparison, signed, low(other, self.bits), self.bits);
        leaving.is_some_and(|leaving| {
            !holds_congruent(if self.leaves { leaving } else { complement(leaving, self.bits) }, value, shift)
        })
    }
}

/// The values for which a comparison with `other` holds: the first of them, and how many follow, going round.
fn interval(comparison: Comparison, signed: bool, other: u64, bits: u32) -> Option<(u64, u128)> {
    let size = 1u128 << bits;
    let least = if signed { 1u64 << (bits - 1) } else { 0 };
    // How many values are less than `other`.
    let below = u128::from(low(other.wrapping_sub(least), bits));
    let above = size - 1 - below;
    let next = low(other.wrapping_add(1), bits);
    Some(match comparison {
        Comparison::Eq => (other, 1),
        Comparison::Ne => (next, size - 1),
        Comparison::Lt | Comparison::Lo => (least, below),
        Comparison::Le | Comparison::Ls => (least, below + 1),
        Comparison::Gt | Comparison::Hi => (next, above),
        Comparison::Ge | Comparison::Hs => (other, above + 1),
        _ => return None,
    })
}

fn complement((start, length): (u64, u128), bits: u32) -> (u64, u128) {
    (low(start.wrapping_add(length as u64), bits), (1u128 << bits) - length)
}

/// Whether an interval holds a value that is congruent to `value` modulo two to the power of `shift`.
fn holds_congruent((start, length): (u64, u128), value: u64, shift: u32) -> bool {
    u128::from(low(value.wrapping_sub(start), shift)) < length
}

/// What leaves the innermost loop with this head; `None` when something does that is no such comparison.
pub(crate) fn exits(code: &Code, head: u32) -> Option<Exits> {
    let block = BlockId(code.starts.iter().position(|&start| start == head)? as u32);
    let flow = ControlFlow::build(&code.function);
    let loops = Loops::build(&flow);
    let around = loops.innermost(block)?;
    let dominators = Dominators::build(&flow);
    let body = Body::new(code, &loops, around, &dominators)?;
    let exits = loops.exits(around).iter().map(|&(from, to)| body.exit(from, to, &loops, around));
    let exits = exits.collect::<Option<Vec<Exit>>>()?;
    // A loop that nothing leaves is somebody else's.
    (!exits.is_empty()).then_some(Exits { exits, accesses: body.accesses })
}

/// A definition: its block, its number, and the instruction.
#[derive(Clone, Copy)]
struct Definition<'a> {
    block: BlockId,
    id: u32,
    instruction: &'a Instruction,
}

/// A loop's instructions, by what they write.
struct Body<'a> {
    code: &'a Code,
    function: &'a Function,
    dominators: &'a Dominators,
    written: FxHashMap<u32, Vec<Definition<'a>>>,
    accesses: bool,
}

impl<'a> Body<'a> {
    fn new(code: &'a Code, loops: &Loops, around: LoopId, dominators: &'a Dominators) -> Option<Body<'a>> {
        let function: &Function = &code.function;
        let mut written: FxHashMap<u32, Vec<Definition<'a>>> = FxHashMap::default();
        let mut accesses = false;
        for &block in loops.blocks(around) {
            let whole = function.blocks.get(block.0 as usize)?;
            if matches!(whole.terminator, Terminator::Return | Terminator::Exit | Terminator::Trap) {
                return None;
            }
            for (instruction, id) in function.instructions_of(block).iter().zip(whole.first..) {
                match instruction.op {
                    // What is called may end the thread.
                    Op::Call(_) => return None,
                    Op::Arithmetic(_) | Op::Hint | Op::Nanosleep => {}
                    _ => accesses = true,
                }
                for operand in function.destinations(instruction.operands) {
                    if let Some(register) = operand.register() {
                        written.entry(register.0).or_default().push(Definition { block, id, instruction });
                    }
                }
            }
        }
        Some(Body { code, function, dominators, written, accesses })
    }

    fn place(&self, register: Register) -> Option<Place> {
        self.code.rows.get(register.0 as usize).copied().filter(|place| place.is_some())
    }

    fn definitions(&self, register: Register) -> &[Definition<'a>] {
        self.written.get(&register.0).map_or(&[], Vec::as_slice)
    }

    /// A value that the loop does not change.
    fn fixed(&self, operand: Operand) -> Option<Amount> {
        match operand {
            Operand::Immediate(value) => Some(Amount::Constant(value)),
            Operand::Register(register) if self.definitions(register).is_empty() => {
                Some(Amount::Row(self.place(register)?))
            }
            _ => None,
        }
    }

    /// The only definition of a register, when it stands before a use in every turn.
    fn definition(&self, register: Register, block: BlockId, before: u32) -> Option<Definition<'a>> {
        let &[only] = self.definitions(register) else { return None };
        let first = match only.block == block {
            true => only.id < before,
            false => self.dominators.dominates(only.block, block),
        };
        (first && only.instruction.guard.is_none()).then_some(only)
    }

    fn exit(&self, from: BlockId, to: BlockId, loops: &Loops, around: LoopId) -> Option<Exit> {
        let end = self.function.blocks.get(from.0 as usize)?;
        let Terminator::Branch { guard, taken, otherwise } = end.terminator else { return None };
        let stays = |block| loops.contains(around, block);
        if stays(taken) == stays(otherwise) {
            return None;
        }
        // The predicate's value that leaves.
        let leaves = (to == taken) != guard.negated();
        let condition = guard.register();
        if self.definitions(condition).is_empty() {
            return Some(Exit::Fixed(self.place(condition)?, leaves));
        }
        let test = self.definition(condition, from, u32::MAX)?;
        let Op::Arithmetic(arithmetic) = test.instruction.op else { return None };
        let is_first = self.function.destinations(test.instruction.operands).first()
            == Some(&Operand::Register(condition));
        if arithmetic.operation != Operation::Setp
            || arithmetic.combine != BooleanOperation::None
            || !is_integer(arithmetic.ty)
            || !is_first
        {
            return None;
        }
        let &[left, right] = self.function.sources(test.instruction.operands) else { return None };
        let (operand, other, comparison) = match (self.fixed(left), self.fixed(right)) {
            (None, Some(other)) => (left, other, arithmetic.comparison),
            (Some(other), None) => (right, other, mirrored(arithmetic.comparison)),
            _ => return None,
        };
        let Operand::Register(register) = operand else { return None };
        let mut compare = self.trace(register, test, arithmetic.ty.bits())?;
        (compare.other, compare.comparison, compare.leaves) = (other, comparison, leaves);
        compare.signed = arithmetic.ty.is_signed();
        Some(Exit::Compare(Box::new(compare)))
    }

    /// Follows a tested register to the one that goes by equal steps.
    fn trace(&self, tested: Register, test: Definition<'a>, bits: u32) -> Option<Compare> {
        let (mut register, mut block, mut before) = (tested, test.block, test.id);
        let mut compare = Compare {
            value: Place::NONE,
            steps: Vec::new(),
            offsets: Vec::new(),
            other: Amount::Constant(0),
            bits,
            masked: false,
            comparison: Comparison::None,
            signed: false,
            leaves: false,
        };
        for _ in 0..DEPTH {
            if let Some(steps) = self.steps(register, bits) {
                compare.value = self.place(register)?;
                compare.steps = steps;
                return Some(compare);
            }
            let definition = self.definition(register, block, before)?;
            if let Some((of, mask)) = self.mask(definition, bits)
                && !compare.masked
                && compare.offsets.is_empty()
            {
                (compare.bits, compare.masked) = (mask, true);
                register = of;
            } else {
                let (of, offset) = self.sum(definition, bits)?;
                compare.offsets.extend(offset);
                register = of;
            }
            (block, before) = (definition.block, definition.id);
        }
        None
    }

    /// What is added to a register in a turn, when nothing else ever happens to it.
    fn steps(&self, register: Register, bits: u32) -> Option<Vec<Amount>> {
        let mut steps = Vec::new();
        let definitions = self.definitions(register);
        if definitions.is_empty() {
            return None;
        }
        for &start in definitions {
            let mut definition = start;
            let mut sum = Vec::new();
            for depth in 0.. {
                let (of, offset) = self.sum(definition, bits)?;
                sum.extend(offset.map(|(amount, _)| amount));
                if of == register {
                    break;
                }
                if depth == DEPTH {
                    return None;
                }
                definition = self.definition(of, definition.block, definition.id)?;
            }
            // Each part is a multiple of what all parts are multiples of, and so is their sum.
            steps.append(&mut sum);
        }
        Some(steps)
    }

    /// A register moved, or with something fixed added to it or taken from it.
    fn sum(&self, definition: Definition<'a>, bits: u32) -> Option<(Register, Option<(Amount, bool)>)> {
        let Op::Arithmetic(Arithmetic { operation, ty, flags, .. }) = definition.instruction.op else {
            return None;
        };
        let odd = ArithmeticFlags::SATURATE | ArithmeticFlags::OTHER;
        if !is_integer(ty) || ty.bits() != bits || flags.0 & odd != 0 {
            return None;
        }
        let sources = self.function.sources(definition.instruction.operands);
        let one = self.function.destinations(definition.instruction.operands).len() == 1;
        match (operation, sources) {
            (Operation::Mov, &[Operand::Register(of)]) if one => Some((of, None)),
            (Operation::Add, &[Operand::Register(of), other]) if self.fixed(other).is_some() => {
                Some((of, Some((self.fixed(other)?, false))))
            }
            (Operation::Add, &[other, Operand::Register(of)]) => {
                Some((of, Some((self.fixed(other)?, false))))
            }
            (Operation::Sub, &[Operand::Register(of), other]) => Some((of, Some((self.fixed(other)?, true)))),
            _ => None,
        }
    }

    /// A register of which only so many low bits are kept.
    fn mask(&self, definition: Definition<'a>, bits: u32) -> Option<(Register, u32)> {
        let Op::Arithmetic(arithmetic) = definition.instruction.op else { return None };
        let sources = self.function.sources(definition.instruction.operands);
        let (Operation::And, &[Operand::Register(of), Operand::Immediate(mask)]) =
            (arithmetic.operation, sources)
        else {
            return None;
        };
        let kept = low(mask, bits).trailing_ones();
        (kept > 0 && kept < bits && low(mask, bits) == low(u64::MAX, kept)).then_some((of, kept))
    }
}

fn is_integer(ty: Type) -> bool {
    !ty.is_float()
        && matches!(ty.bits(), 16 | 32 | 64)
        && !matches!(ty, Type::U16x2 | Type::S16x2 | Type::F16x2 | Type::Bf16x2 | Type::F32x2)
}

/// The comparison with its sides exchanged.
fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Lt => Comparison::Gt,
        Comparison::Le => Comparison::Ge,
        Comparison::Gt => Comparison::Lt,
        Comparison::Ge => Comparison::Le,
        Comparison::Lo => Comparison::Hi,
        Comparison::Ls => Comparison::Hs,
        Comparison::Hi => Comparison::Lo,
        Comparison::Hs => Comparison::Ls,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts by brute force, in eight bits.
    fn reaches(comparison: Comparison, signed: bool, other: u8, start: u8, step: u8) -> bool {
        let compare = |value: u8| {
            let order = if signed { (value as i8).cmp(&(other as i8)) } else { value.cmp(&other) };
            match comparison {
                Comparison::Eq => order.is_eq(),
                Comparison::Ne => order.is_ne(),
                Comparison::Lt => order.is_lt(),
                Comparison::Le => order.is_le(),
                Comparison::Gt => order.is_gt(),
                _ => order.is_ge(),
            }
        };
        (0..=255u8).any(|turn| compare(start.wrapping_add(step.wrapping_mul(turn))))
    }

    #[test]
    fn intervals_and_steps_agree_with_counting() {
        let all =
            [Comparison::Eq, Comparison::Ne, Comparison::Lt, Comparison::Le, Comparison::Gt, Comparison::Ge];
        for comparison in all {
            for signed in [false, true] {
                for other in (0..=255u8).step_by(5) {
                    for start in (0..=255u8).step_by(17) {
                        for step in [0u8, 1, 2, 6, 16, 48, 128, 250] {
                            let leaving = interval(comparison, signed, other.into(), 8).unwrap();
                            let shift = step.trailing_zeros().min(8);
                            let found = holds_congruent(leaving, start.into(), shift);
                            let expected = reaches(comparison, signed, other, start, step);
                            assert_eq!(found, expected, "{comparison:?} {signed} {other} {start} {step}");
                            let outside = holds_congruent(complement(leaving, 8), start.into(), shift);
                            let least = (0..=255u8).all(|turn| {
                                let value = start.wrapping_add(step.wrapping_mul(turn));
                                reaches(comparison, signed, other, value, 0)
                            });
                            assert_eq!(outside, !least);
                        }
                    }
                }
            }
        }
    }
}
