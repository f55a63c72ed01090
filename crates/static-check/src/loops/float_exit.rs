//! Loops that end only when a running floating-point sum equals a bound exactly.

use standstill_findings::{Finding, Known, Severity};
use standstill_kernel_ir::{
    ArithmeticFlags, BooleanOperation, Comparison, InstructionId, Op, Operand, Operation, Type, ValueId,
};

use super::cycle::{Cycle, comparison, is_plain_load};
use super::endless;

/// Most rounds that are run to decide a sum whose every part is known.
const MAXIMUM_ROUNDS: u32 = 40_000_000;

/// A sum and the bound that it must meet.
struct Sum {
    /// Where a round adds to it.
    step_at: InstructionId,
    /// What a round adds, one addition after the other, when all are known.
    steps: Option<Vec<f64>>,
    /// How many of them are done when the test looks at it.
    tested_after: usize,
    /// The test, as «sum compared with bound», and whether the loop is left when it holds.
    asks: (Comparison, bool),
    ty: Type,
    /// Value before the first round.
    start: Option<f64>,
    /// What a round adds, when that is one known number.
    step: Option<f64>,
    bound: Option<f64>,
    /// The bound is a whole number although it is not known.
    whole_bound: bool,
    /// The test looks at the sum before the round's addition.
    tested_before: bool,
    flushes: bool,
}

/// A loop whose every exit asks whether a running sum equals something.
pub(super) fn check(cycle: &Cycle<'_>) -> Option<Finding> {
    let sums: Option<Vec<Sum>> = cycle
        .exits
        .iter()
        .map(|exit| {
            exit.test.and_then(|(condition, leaves)| sum(cycle, condition, leaves)).filter(on_equality)
        })
        .collect();
    let sums = sums?;
    let first = sums.first()?;
    let decided = if sums.len() == 1 { never_meets(first) } else { None };
    if decided == Some(false) || decided.is_none() && sums.iter().any(may_be_exact) {
        return None;
    }
    let (sum_name, bound_name) = names(cycle, first);
    let message = match decided {
        Some(true) => format!("this loop never ends: {sum_name} never equals {bound_name} exactly"),
        _ => {
            format!("this loop ends only when {sum_name} equals {bound_name} exactly, which it need never do")
        }
    };
    let mut finding = endless::finding(cycle, message, "the exit asks for exact equality");
    finding.spans.push(cycle.kernel.places.cause(first.step_at, "each round adds a rounded step here"));
    if decided.is_none() {
        finding.known = Known::Possible {
            reason: "the steps are not known; a sum of rounded steps need not hit the bound exactly".into(),
        };
        finding.severity = Severity::Warning;
    }
    finding.notes.push(
        "0.1f is not a tenth: ten steps of it give 1.00000012, the test fails, and much later the sum stops growing"
            .into(),
    );
    finding.help = "compare with `<` or `>`, or count the steps in an integer".into();
    endless::entered(cycle, finding)
}

/// Whether the loop is left when the sum equals the bound.
fn on_equality(sum: &Sum) -> bool {
    match sum.asks {
        (Comparison::Eq | Comparison::Equ, leaves) => leaves,
        (Comparison::Ne | Comparison::Neu, leaves) => !leaves,
        _ => false,
    }
}

/// `b ? a` for `a ? b`.
fn turned_round(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Lt => Comparison::Gt,
        Comparison::Le => Comparison::Ge,
        Comparison::Gt => Comparison::Lt,
        Comparison::Ge => Comparison::Le,
        Comparison::Ltu => Comparison::Gtu,
        Comparison::Leu => Comparison::Geu,
        Comparison::Gtu => Comparison::Ltu,
        Comparison::Geu => Comparison::Leu,
        other => other,
    }
}

/// A loop whose only exit waits for a running sum to pass a bound, where the sum stops changing before: a
/// number so large that the step is rounded away.
pub(super) fn stops_growing(cycle: &Cycle<'_>) -> Option<Finding> {
    let [exit] = cycle.exits.as_slice() else { return None };
    let (condition, leaves) = exit.test?;
    let sum = sum(cycle, condition, leaves)?;
    let stop = stop_below_bound(&sum)?;
    let (sum_name, bound_name) = names(cycle, &sum);
    let shown = if sum.ty == Type::F32 { format!("{:?}", stop as f32) } else { format!("{stop:?}") };
    let mut finding = endless::finding(
        cycle,
        format!("this loop never ends: {sum_name} stops changing at {shown} and never passes {bound_name}"),
        "the sum never gets so far",
    );
    finding.spans.push(cycle.kernel.places.cause(sum.step_at, "from there on this step is rounded away"));
    finding.help = "count the rounds in an integer, or use a wider type".into();
    endless::entered(cycle, finding)
}

/// Where a sum whose every part is known stops changing, if it does so before the loop is left.
fn stop_below_bound(sum: &Sum) -> Option<f64> {
    let (start, bound, steps) = (sum.start?, sum.bound?, sum.steps.as_ref()?);
    let single = sum.ty == Type::F32;
    if sum.flushes || !start.is_finite() || !bound.is_finite() || steps.is_empty() {
        return None;
    }
    let (comparison, leaves) = sum.asks;
    let holds = |value: f64| match comparison {
        Comparison::Lt | Comparison::Ltu => Some(value < bound),
        Comparison::Le | Comparison::Leu => Some(value <= bound),
        Comparison::Gt | Comparison::Gtu => Some(value > bound),
        Comparison::Ge | Comparison::Geu => Some(value >= bound),
        _ => None,
    };
    let add = |value: f64, step: f64| match single {
        true => f64::from(value as f32 + step as f32),
        false => value + step,
    };
    // Steps that are not rounded away just before the bound are not before that either.
    let gap = if single {
        f64::from((bound as f32).abs()) * f64::from(f32::EPSILON)
    } else {
        bound.abs() * f64::EPSILON
    };
    if steps.iter().all(|step| step.abs() > gap) && start.abs() <= bound.abs() {
        return None;
    }
    let mut value = start;
    for _ in 0..MAXIMUM_ROUNDS {
        let mut next = value;
        for (index, step) in steps.iter().enumerate() {
            if index == sum.tested_after && holds(next)? == leaves {
                return None;
            }
            next = add(next, *step);
        }
        if sum.tested_after >= steps.len() && holds(next)? == leaves || !next.is_finite() {
            return None;
        }
        if next == value {
            return Some(value);
        }
        value = next;
    }
    None
}

/// The sum that a test compares with a bound.
fn sum(cycle: &Cycle<'_>, condition: ValueId, leaves: bool) -> Option<Sum> {
    let body = cycle.body;
    let (_, test, negated) = comparison(body, condition)?;
    let Op::Arithmetic(arithmetic) = test.op else { return None };
    if !matches!(arithmetic.ty, Type::F32 | Type::F64 | Type::F16 | Type::Bf16)
        || arithmetic.combine != BooleanOperation::None
    {
        return None;
    }
    let leaves = leaves != negated;
    let is_bound = |index: usize| match body.source(test, index) {
        Operand::Immediate(_) => true,
        Operand::Register(_) => body.source_value(test, index).is_some_and(|value| cycle.is_invariant(value)),
        _ => false,
    };
    let tested = (0..2).find(|&index| !is_bound(index) && is_bound(1 - index))?;
    let value = body.source_value(test, tested)?;
    let (phi, tested_steps) = follow(cycle, value)?;
    let (start, next) = cycle.state(phi)?;
    let (origin, steps) = follow(cycle, next)?;
    if origin != phi {
        return None;
    }
    let &(step_at, ref step) = steps.last()?;
    let number = |value: Option<ValueId>| known(cycle, value?, arithmetic.ty);
    let bound_value = body.source_value(test, 1 - tested);
    let bound = match body.source(test, 1 - tested) {
        Operand::Immediate(bits) => as_number(bits, arithmetic.ty),
        _ => number(bound_value),
    };
    let whole = |value: ValueId| {
        let definition = body.definition(value).map(|(_, instruction)| instruction.op);
        matches!(definition, Some(Op::Arithmetic(a)) if a.operation == Operation::Cvt && !a.from.is_float())
    };
    let comparison = match tested {
        0 => arithmetic.comparison,
        _ => turned_round(arithmetic.comparison),
    };
    Some(Sum {
        step_at,
        steps: steps.iter().rev().map(|(_, step)| *step).collect(),
        tested_after: tested_steps.len(),
        asks: (comparison, leaves),
        ty: arithmetic.ty,
        start: number(start),
        step: if steps.len() == 1 { *step } else { None },
        bound,
        whole_bound: bound_value.is_some_and(whole),
        tested_before: tested_steps.is_empty(),
        flushes: arithmetic.flags.has(ArithmeticFlags::FLUSH),
    })
}

/// Follows additions of values that no round changes back to the loop's header: the value there, and the
/// additions, each with its number when that is known.
#[allow(clippy::type_complexity, reason = "a pair of a value and a list")]
fn follow(cycle: &Cycle<'_>, value: ValueId) -> Option<(ValueId, Vec<(InstructionId, Option<f64>)>)> {
    let body = cycle.body;
    let mut value = value;
    let mut steps = Vec::new();
    for _ in 0..64 {
        if cycle.state(value).is_some() {
            return Some((value, steps));
        }
        let (at, instruction) = body.definition(value)?;
        let Op::Arithmetic(arithmetic) = instruction.op else { return None };
        if instruction.guard.is_some() || !cycle.is_inside(value) {
            return None;
        }
        let stays = |index: usize| match body.source(instruction, index) {
            Operand::Immediate(_) => true,
            Operand::Register(_) => body
                .source_value(instruction, index)
                .is_some_and(|value| cycle.is_invariant(value) || is_steady_load(cycle, value)),
            _ => false,
        };
        let number = |index: usize| match body.source(instruction, index) {
            Operand::Immediate(bits) => as_number(bits, arithmetic.ty),
            _ => known(cycle, body.source_value(instruction, index)?, arithmetic.ty),
        };
        let plain = !arithmetic.flags.has(
            ArithmeticFlags::SATURATE
                | ArithmeticFlags::TOWARD_ZERO
                | ArithmeticFlags::UP
                | ArithmeticFlags::DOWN
                | ArithmeticFlags::OTHER,
        );
        let (running, step) = match arithmetic.operation {
            Operation::Mov if instruction.operands.sources == 1 => {
                value = body.source_value(instruction, 0)?;
                continue;
            }
            Operation::Add if stays(1) => (0, number(1)),
            Operation::Add if stays(0) => (1, number(0)),
            Operation::Sub if stays(1) => (0, number(1).map(|step| -step)),
            Operation::Fma if stays(0) && stays(1) => (2, None),
            _ => return None,
        };
        steps.push((at, step.filter(|_| plain)));
        value = body.source_value(instruction, running)?;
    }
    None
}

/// Whether a value is loaded in each round from the same place.
fn is_steady_load(cycle: &Cycle<'_>, value: ValueId) -> bool {
    cycle.body.definition(value).is_some_and(|(_, instruction)| {
        is_plain_load(instruction)
            && cycle.body.source_value(instruction, 0).is_none_or(|address| cycle.is_invariant(address))
    })
}

/// The number that a value is known to be.
fn known(cycle: &Cycle<'_>, value: ValueId, ty: Type) -> Option<f64> {
    as_number(cycle.body.constant_value(value)?, ty)
}

fn as_number(bits: u64, ty: Type) -> Option<f64> {
    match ty {
        Type::F32 => Some(f64::from(f32::from_bits(bits as u32))),
        Type::F64 => Some(f64::from_bits(bits)),
        _ => None,
    }
}

/// Runs a sum whose every part is known: whether it never meets its bound. Rounding keeps order, so a sum that
/// is past the bound never comes back to it.
fn never_meets(sum: &Sum) -> Option<bool> {
    let (start, step, bound) = (sum.start?, sum.step?, sum.bound?);
    if sum.flushes || !start.is_finite() || !step.is_finite() {
        return None;
    }
    let add = |value: f64| match sum.ty {
        Type::F32 => f64::from(value as f32 + step as f32),
        _ => value + step,
    };
    let mut value = if sum.tested_before { start } else { add(start) };
    for _ in 0..MAXIMUM_ROUNDS {
        if value == bound {
            return Some(false);
        }
        let past = (step > 0.0 && value > bound) || (step < 0.0 && value < bound) || bound.is_nan();
        let next = add(value);
        if past || next == value {
            return Some(true);
        }
        value = next;
    }
    None
}

/// Whether the steps may be exact numbers that meet the bound: a step with few digits, of which the bound is
/// a multiple.
fn may_be_exact(sum: &Sum) -> bool {
    let Some(step) = sum.step.filter(|step| step.is_finite() && *step != 0.0) else { return false };
    let few_digits =
        |number: f64| (number.to_bits() & ((1 << 52) - 1)).trailing_zeros() >= 40 || number == 0.0;
    few_digits(step)
        && match sum.bound {
            Some(bound) => bound % step == 0.0,
            None => sum.whole_bound && 1.0 % step == 0.0,
        }
}

/// The sum and its bound in the words of the source line, where it can be read.
fn names(cycle: &Cycle<'_>, sum: &Sum) -> (String, String) {
    let bound = match (sum.bound, sum.ty) {
        (Some(bound), Type::F32) => format!("{:?}f", bound as f32),
        (Some(bound), _) => format!("{bound:?}"),
        (None, _) => "the bound".into(),
    };
    let place = super::line::primary(cycle, "");
    let text = (cycle.kernel.options.source_line)(&place.file, place.line).unwrap_or_default();
    let code = text.split("//").next().unwrap_or("");
    let sides = ["!=", "==", "<=", ">=", "<", ">"].iter().find_map(|operator| code.split_once(operator));
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let Some((left, right)) = sides else { return ("the sum".into(), bound) };
    let left: String = {
        let trimmed = left.trim_end();
        let start = trimmed
            .char_indices()
            .rev()
            .take_while(|&(_, c)| is_part(c))
            .last()
            .map_or(trimmed.len(), |(at, _)| at);
        trimmed.get(start..).unwrap_or("").into()
    };
    let right: String = right.trim_start().chars().take_while(|&c| is_part(c)).collect();
    let begins = |name: &str| name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    match (begins(&left), right.is_empty()) {
        (true, false) => (format!("`{left}`"), format!("`{right}`")),
        (true, true) => (format!("`{left}`"), bound),
        _ => ("the sum".into(), bound),
    }
}
