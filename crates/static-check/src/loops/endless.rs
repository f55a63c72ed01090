//! Loops that cannot end: without an exit, or with exits that no round can bring about.

use standstill_findings::{Finding, Known, Outcome, PlatformRow, Rule, Severity, ThreadRanges};
use standstill_kernel_ir::{InstructionId, Op, Operation, Order, Space, Terminator, User, Uses, ValueId};

use super::cycle::{Cycle, comparison};
use super::line;
use super::rounds::{Budget, Slice};
use crate::arrivals::Arrivals;
use crate::threads::ThreadValues;
use crate::words::sentence;

/// A new finding about a loop that never ends.
pub(super) fn finding(cycle: &Cycle<'_>, message: impl Into<String>, label: &str) -> Finding {
    let mut finding = Finding::new(Rule::NonTerminatingLoop, cycle.kernel.name, message);
    finding.spans.push(line::primary(cycle, label));
    finding.platforms = PlatformRow::everywhere(Outcome::Hangs);
    finding
}

/// Says which launch the verdict is for, and what it takes for granted about the way into the loop. `None` when
/// no thread comes to the loop.
pub(super) fn entered(cycle: &Cycle<'_>, finding: Finding) -> Option<Finding> {
    let mut finding = finding;
    let launch = cycle.kernel.launch;
    let undecided = match (ThreadValues::new(cycle.body, launch), launch.threads()) {
        (Some(mut values), Some(threads)) => {
            let arrivals = Arrivals::of(cycle.body, &mut values, threads, cycle.header);
            if arrivals.may.is_clear() {
                return None;
            }
            arrivals.undecided
        }
        _ => !cycle.body.post_dominators.post_dominates(cycle.header, standstill_kernel_ir::BlockId(0)),
    };
    if undecided {
        finding.assumes.push("a thread enters the loop".into());
    }
    Some(finding)
}

/// A loop that no edge leaves.
pub(super) fn without_exit(cycle: &Cycle<'_>) -> Option<Finding> {
    if aborts(cycle) {
        return None;
    }
    let mut finding = finding(cycle, "this loop never ends: no path leaves it", "no path leaves this loop");
    finding.notes.push(
        "the compiled code has no exit test here: the compiler found that the condition can never end the loop".into(),
    );
    finding.help =
        "let the body change what the condition tests, in a type that can reach the bound (an unsigned value is \
         never below zero, a byte never 256)"
            .into();
    let mut finding = entered(cycle, finding)?;
    let conditional = !finding.assumes.is_empty();
    if conditional && !has_effect(cycle) && !is_readable(cycle, &finding) {
        finding.known = Known::Possible {
            reason: "a compiler also leaves out the way out of a loop that it takes for unreachable".into(),
        };
        finding.severity = Severity::Note;
    }
    Some(finding)
}

/// Whether a loop does something that others can see.
fn has_effect(cycle: &Cycle<'_>) -> bool {
    cycle.instructions().any(|(_, instruction)| match instruction.op {
        Op::Arithmetic(_) | Op::Hint | Op::Nanosleep => false,
        Op::Load(access) => access.order != Order::Weak,
        Op::Store(access) => access.space != Space::Local,
        _ => true,
    })
}

/// Whether the loop's line can be read in the source that was given.
fn is_readable(cycle: &Cycle<'_>, finding: &Finding) -> bool {
    let options = cycle.kernel.options;
    finding.primary_span().is_some_and(|span| {
        span.file != options.input
            && options.main_source.is_none_or(|main| main == span.file)
            && (options.source_line)(&span.file, span.line).is_some()
    })
}

/// Whether a test in the loop decides nothing any more: the branch to an abort that stood there was taken out.
fn aborts(cycle: &Cycle<'_>) -> bool {
    let body = cycle.body;
    let any_abort = body.function.blocks.iter().any(|block| block.terminator == Terminator::Trap);
    if !any_abort {
        return false;
    }
    let uses = Uses::build(&body.function, &body.ssa);
    cycle.instructions().any(|(_, instruction)| {
        let is_test = matches!(instruction.op, Op::Arithmetic(a) if a.operation == Operation::Setp);
        is_test
            && (0..usize::from(instruction.operands.destinations)).all(|index| {
                body.destination_value(instruction, index).is_none_or(|value| {
                    // The terminator still names the predicate where a jump took the branch's place.
                    uses.of(value).iter().all(|user| match *user {
                        User::Terminator(block) => body.flow.successors(block).len() < 2,
                        _ => false,
                    })
                })
            })
    })
}

/// A loop with exits whose conditions do not change from round to round, or repeat without coming true.
pub(super) fn never_left(cycle: &Cycle<'_>, budget: &mut Budget) -> Option<Finding> {
    let tests: Option<Vec<(ValueId, bool)>> = cycle.exits.iter().map(|exit| exit.test).collect();
    let tests = tests?;
    let invariant = tests.iter().all(|&(condition, _)| cycle.is_invariant(condition));
    if invariant && !cycle.exits.iter().all(|exit| cycle.in_every_round(exit.from)) {
        return None;
    }
    let slice = Slice::new(cycle, &tests)?;
    let mut values = ThreadValues::new(cycle.body, cycle.kernel.launch);
    let never = slice.decide(cycle, &mut values, budget)?;
    let mut finding = match (invariant, never.unchanged) {
        (true, _) => {
            let mut finding = finding(
                cycle,
                "this loop ends in its first round or never: nothing in it changes its exit condition",
                "no round changes this condition",
            );
            finding.help = "let the body change what the condition tests".into();
            finding
        }
        (false, true) => {
            let mut finding = finding(
                cycle,
                "this loop never ends: a round leaves the value that its exit condition tests as it was",
                "the tested value stays the same",
            );
            finding.help = "let every round change the tested value towards the exit".into();
            finding
        }
        (false, false) => {
            let mut finding = finding(
                cycle,
                "this loop never ends: the values that decide its exit repeat without meeting the condition",
                "this condition never comes true",
            );
            finding.help = "let every round bring the tested value nearer to the exit".into();
            finding
        }
    };
    label_steps(cycle, &tests, &mut finding);
    if !never.certain {
        finding.assumes.push("the first round does not leave the loop".into());
    }
    if let Some(threads) = &never.threads {
        let arrivals =
            Arrivals::of(cycle.body, values.as_mut()?, cycle.kernel.launch.threads()?, cycle.header);
        if arrivals.undecided {
            return None;
        }
        let stuck = ThreadRanges::from_members(
            threads.iter().copied().filter(|&thread| arrivals.may.contains(thread as usize)),
        );
        if stuck.is_empty() {
            return None;
        }
        finding.notes.push(sentence("thread", &stuck, "never leave it"));
    }
    if (slice.uses_launch() || never.threads.is_some())
        && let Some([x, y, z]) = cycle.kernel.launch.block
    {
        finding.assumes.push(format!("block = {x}x{y}x{z}"));
    }
    entered(cycle, finding)
}

/// Labels what should change the tested value.
fn label_steps(cycle: &Cycle<'_>, tests: &[(ValueId, bool)], finding: &mut Finding) {
    let body = cycle.body;
    let Some((_, instruction, _)) = tests.first().and_then(|&(condition, _)| comparison(body, condition))
    else {
        return;
    };
    for index in 0..2 {
        let Some(value) = body.source_value(instruction, index) else { continue };
        let phi = match cycle.state(value) {
            Some((_, next)) => Some(next),
            None => cycle.is_inside(value).then_some(value),
        };
        let Some((at, step)) = phi.and_then(|next| body.definition(next)) else { continue };
        add_cause(cycle, at, "this is what a round does to it", finding);
        for source in 0..usize::from(step.operands.sources) {
            let outside = body.source_value(step, source).filter(|&source| !cycle.is_inside(source));
            if let Some((at, instruction)) = outside.and_then(|source| body.definition(source))
                && matches!(instruction.op, Op::Arithmetic(_))
            {
                add_cause(cycle, at, "with a step from here", finding);
            }
        }
    }
}

fn add_cause(cycle: &Cycle<'_>, at: InstructionId, label: &str, finding: &mut Finding) {
    let span = cycle.kernel.places.cause(at, label);
    if !finding.spans.iter().any(|known| (&known.file, known.line) == (&span.file, span.line)) {
        finding.spans.push(span);
    }
}
