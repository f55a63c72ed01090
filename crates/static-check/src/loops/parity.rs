//! Integer counters that step over the one value that ends their loop: an odd start with an even step never
//! meets an even bound, not even after it wrapped round.

use standstill_findings::{Finding, ThreadRanges};
use standstill_kernel_ir::{Comparison, InstructionId, Op, Operand, Operation, ValueId};

use super::cycle::{Cycle, comparison};
use super::endless;
use crate::arrivals::Arrivals;
use crate::threads::ThreadValues;
use crate::words::sentence;

/// Most additions of one round.
const MAXIMUM_STEPS: u32 = 64;

/// A loop whose only exit asks whether a counter equals something that it steps over.
pub(super) fn check(cycle: &Cycle<'_>) -> Option<Finding> {
    let [exit] = cycle.exits.as_slice() else { return None };
    let (condition, leaves) = exit.test?;
    let body = cycle.body;
    let (_, test, negated) = comparison(body, condition)?;
    let Op::Arithmetic(arithmetic) = test.op else { return None };
    let on_equality = match arithmetic.comparison {
        Comparison::Eq => leaves != negated,
        Comparison::Ne => leaves == negated,
        _ => return None,
    };
    if !on_equality || arithmetic.ty.is_float() || ![32, 64].contains(&arithmetic.ty.bits()) {
        return None;
    }
    let is_bound = |index: usize| match body.source(test, index) {
        Operand::Immediate(_) => true,
        Operand::Register(_) => body.source_value(test, index).is_some_and(|value| cycle.is_invariant(value)),
        _ => false,
    };
    let tested = (0..2).find(|&index| !is_bound(index) && is_bound(1 - index))?;
    let (phi, ahead, _) = follow(cycle, body.source_value(test, tested)?)?;
    let (start, next) = cycle.state(phi)?;
    let (origin, step, step_at) = follow(cycle, next)?;
    let step_at = step_at?;
    if origin != phi || step == 0 || step.trailing_zeros() >= arithmetic.ty.bits() {
        return None;
    }
    let start = start?;
    let mut values = ThreadValues::new(body, cycle.kernel.launch)?;
    let threads = cycle.kernel.launch.threads()?;
    let mut known = |value: ValueId| match body.constant_value(value) {
        Some(bits) => Some(vec![bits; threads as usize]),
        None => values.vector(value).map(|vector| vector.to_vec()),
    };
    let starts = known(start)?;
    let bounds = match body.source(test, 1 - tested) {
        Operand::Immediate(bits) => vec![bits; threads as usize],
        _ => known(body.source_value(test, 1 - tested)?)?,
    };
    let mask = (1u64 << step.trailing_zeros()) - 1;
    let arrivals = Arrivals::of(body, &mut values, threads, cycle.header);
    if arrivals.undecided {
        return None;
    }
    let stuck = (0..threads).filter(|&thread| {
        let index = thread as usize;
        arrivals.may.contains(index)
            && starts.get(index).zip(bounds.get(index)).is_some_and(|(start, bound)| {
                bound.wrapping_sub(*start).wrapping_sub(ahead as u64) & mask != 0
            })
    });
    let stuck = ThreadRanges::from_members(stuck);
    if stuck.is_empty() {
        return None;
    }
    let mut finding = endless::finding(
        cycle,
        "this loop never ends: its counter steps over the value that ends it",
        "the counter never equals this bound",
    );
    finding.spans.push(cycle.kernel.places.cause(step_at, format!("each round moves it by {step}")));
    finding.notes.push(sentence("thread", &stuck, "never leave it"));
    if let Some([x, y, z]) = cycle.kernel.launch.block {
        finding.assumes.push(format!("block = {x}x{y}x{z}"));
    }
    finding.help = "compare with `<` or `>`".into();
    Some(finding)
}

/// Follows additions of constants back to the loop's header: the value there, the sum of the constants, and
/// where the last one is added.
fn follow(cycle: &Cycle<'_>, value: ValueId) -> Option<(ValueId, i64, Option<InstructionId>)> {
    let body = cycle.body;
    let (mut value, mut sum, mut last) = (value, 0i64, None);
    for _ in 0..MAXIMUM_STEPS {
        if cycle.state(value).is_some() {
            return Some((value, sum, last));
        }
        let (at, instruction) = body.definition(value)?;
        let Op::Arithmetic(arithmetic) = instruction.op else { return None };
        if instruction.guard.is_some() || arithmetic.ty.is_float() || !cycle.is_inside(value) {
            return None;
        }
        let constant = |index: usize| {
            let bits = body.constant(instruction, index)?;
            Some(if arithmetic.ty.bits() == 32 { i64::from(bits as u32 as i32) } else { bits as i64 })
        };
        let (running, step) = match arithmetic.operation {
            Operation::Mov if instruction.operands.sources == 1 => (0, 0),
            Operation::Add => match (constant(0), constant(1)) {
                (_, Some(step)) => (0, step),
                (Some(step), None) => (1, step),
                _ => return None,
            },
            Operation::Sub => (0, constant(1)?.checked_neg()?),
            _ => return None,
        };
        if step != 0 {
            last.get_or_insert(at);
        }
        sum = sum.checked_add(step)?;
        value = body.source_value(instruction, running)?;
    }
    None
}
