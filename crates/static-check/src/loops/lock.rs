//! Locks that the lanes of one warp take from each other: where a warp runs in lockstep, the lane that has
//! the lock waits behind the loop for those that spin in it (spin-lock-lockstep).

use rustc_hash::FxHashMap;
use standstill_findings::{Finding, Known, Rule, Severity};
use standstill_kernel_ir::{AtomicOperation, Instruction, InstructionId, Op, Operand, ValueId, evaluate};

use super::cycle::{Cycle, is_steady};
use super::lanes::{Distance, Lanes, lockstep};
use super::source;
use super::spin::{only_reads, writes};
use crate::arrivals::leads_to;
use crate::body::Base;

/// An attempt to take a lock that is repeated until it succeeds.
struct Attempt {
    at: InstructionId,
    operation: AtomicOperation,
    /// Compare-and-swap: the value of a free lock.
    free: Option<u64>,
    /// The value of a taken one.
    taken: Option<u64>,
    base: Base,
}

/// A loop that is left only by who took a lock, while the lock is given back behind it.
pub(super) fn check(cycle: &Cycle<'_>) -> Option<Finding> {
    let attempt = cycle.instructions().find_map(|(at, instruction)| attempt(cycle, at, instruction))?;
    if given_back_inside(cycle, &attempt) {
        return None;
    }
    let release = release(cycle, &attempt)?;
    let as_written = source::same_loop(cycle, attempt.at, release);
    if as_written == Some(true) {
        return None;
    }
    let lanes = Lanes::at(cycle)?;
    let instruction = cycle.body.instruction(attempt.at)?;
    let same = match lanes.distance_of_address(cycle, instruction) {
        Distance::Same => true,
        Distance::Apart => return None,
        Distance::Unknown => false,
    };
    let mut finding = Finding::new(
        Rule::SpinLockLockstep,
        cycle.kernel.name,
        "lanes of one warp spin for a lock that its holder gives back only behind the loop",
    );
    let places = cycle.kernel.places;
    finding.spans.push(places.primary(attempt.at, "the lanes of a warp that fail here try again"));
    finding
        .spans
        .push(places.cause(release, "the lane that succeeded gives the lock back here, behind the loop"));
    finding.platforms = lockstep();
    if !same && as_written.is_some() {
        finding.known = Known::Possible { reason: "lanes of one warp may come to the same lock".into() };
        finding.severity = Severity::Warning;
    } else {
        lanes.judge(&mut finding, as_written);
    }
    finding.notes.push(
        "where the lanes of a warp share one program counter, the lane that has the lock waits at the end of the \
         loop for the others, and those wait for the lock"
            .into(),
    );
    finding.help = "put the critical section and the release inside the loop (`if (taken) { …; release; done = true; }`), \
                    or let one lane of each warp take the lock"
        .into();
    Some(finding)
}

/// Whether an instruction tries to take a lock, and the loop is left exactly when it does.
fn attempt(cycle: &Cycle<'_>, at: InstructionId, instruction: &Instruction) -> Option<Attempt> {
    let body = cycle.body;
    let Op::Atomic { operation, .. } = instruction.op else { return None };
    if only_reads(body, instruction, operation)
        || body.loops.innermost(body.block_of(at)) != Some(cycle.id)
        || !source_is_invariant(cycle, instruction, 0)
    {
        return None;
    }
    let result = body.destination_value(instruction, 0)?;
    let (first, second) = (body.constant(instruction, 1), body.constant(instruction, 2));
    let (free, taken) = match operation {
        AtomicOperation::CompareExchange if source_is_invariant(cycle, instruction, 1) => (first, second),
        AtomicOperation::Exchange | AtomicOperation::Or | AtomicOperation::Max if first.is_some() => {
            (None, first)
        }
        _ => return None,
    };
    let mut decided = false;
    for exit in &cycle.exits {
        let (condition, leaves) = exit.test?;
        if !decided_by(cycle, condition, result, &mut decided, 0) {
            return None;
        }
        let outcome =
            |old: u64| evaluated(cycle, condition, &mut FxHashMap::from_iter([(result, Some(old))]), 0);
        let left = |old: u64| outcome(old).map(|bits| (bits & 1 == 1) == leaves);
        let wrong = match (operation, free, taken) {
            (AtomicOperation::CompareExchange, Some(free), _) => left(free) == Some(false),
            (AtomicOperation::Exchange, _, Some(taken)) => left(taken) == Some(true),
            _ => false,
        };
        if wrong {
            return None;
        }
    }
    decided.then(|| Attempt { at, operation, free, taken, base: body.base(at) })
}

pub(super) fn source_is_invariant(cycle: &Cycle<'_>, instruction: &Instruction, index: usize) -> bool {
    match cycle.body.source(instruction, index) {
        Operand::Immediate(_) | Operand::Symbol { .. } => true,
        Operand::Register(_) | Operand::Address { .. } => {
            cycle.body.source_value(instruction, index).is_some_and(|value| cycle.is_invariant(value))
        }
        _ => false,
    }
}

/// Whether a condition rests on an atomic's result and on nothing else that changes.
fn decided_by(cycle: &Cycle<'_>, value: ValueId, result: ValueId, met: &mut bool, depth: u32) -> bool {
    if value == result {
        *met = true;
        return true;
    }
    if cycle.is_invariant(value) {
        return true;
    }
    let Some((_, instruction)) = cycle.body.definition(value) else { return false };
    depth < 32
        && instruction.guard.is_none()
        && matches!(instruction.op, Op::Arithmetic(_))
        && (0..usize::from(instruction.operands.sources)).all(|index| {
            match cycle.body.source(instruction, index) {
                Operand::Special(special) => is_steady(special),
                _ => cycle
                    .body
                    .source_value(instruction, index)
                    .is_none_or(|source| decided_by(cycle, source, result, met, depth + 1)),
            }
        })
}

/// A value computed from what is given and from constants.
fn evaluated(
    cycle: &Cycle<'_>,
    value: ValueId,
    known: &mut FxHashMap<ValueId, Option<u64>>,
    depth: u32,
) -> Option<u64> {
    if let Some(known) = known.get(&value) {
        return *known;
    }
    known.insert(value, None);
    let body = cycle.body;
    let (_, instruction) = body.definition(value)?;
    let Op::Arithmetic(arithmetic) = instruction.op else { return None };
    if instruction.guard.is_some() || depth > 16 {
        return None;
    }
    let mut sources = Vec::new();
    for index in 0..usize::from(instruction.operands.sources) {
        sources.push(match body.source(instruction, index) {
            Operand::Immediate(bits) => bits,
            Operand::Register(_) => {
                evaluated(cycle, body.source_value(instruction, index)?, known, depth + 1)?
            }
            Operand::Negated(_) => {
                evaluated(cycle, body.source_value(instruction, index)?, known, depth + 1)? & 1 ^ 1
            }
            _ => return None,
        });
    }
    let destinations = usize::from(instruction.operands.destinations);
    let results = evaluate::evaluate(&arithmetic, &sources, destinations)?;
    let position =
        (0..destinations).find(|&index| body.destination_value(instruction, index) == Some(value))?;
    let result = results.get(position).copied();
    known.insert(value, result);
    result
}

/// Whether something in the loop may give the lock back, so that who has it need not leave the loop first.
fn given_back_inside(cycle: &Cycle<'_>, attempt: &Attempt) -> bool {
    cycle.instructions().any(|(at, instruction)| {
        at != attempt.at && writes(cycle.body, instruction) && {
            let base = cycle.body.base(at);
            base == attempt.base || base == Base::Unknown
        }
    })
}

/// The write behind the loop that gives the lock back.
fn release(cycle: &Cycle<'_>, attempt: &Attempt) -> Option<InstructionId> {
    let body = cycle.body;
    let address = |id: InstructionId| body.instruction(id).and_then(|i| body.source_value(i, 0));
    body.instructions()
        .filter(|&(at, instruction)| {
            let same_base = match (body.base(at), attempt.base) {
                (Base::Unknown, Base::Unknown) => address(at).is_some() && address(at) == address(attempt.at),
                (base, lock) => base == lock,
            };
            same_base && writes(body, instruction) && gives_back(cycle, attempt, instruction)
        })
        .map(|(at, _)| at)
        .find(|&at| {
            let block = body.block_of(at);
            !cycle.contains(block)
                && cycle.exits.iter().any(|exit| leads_to(body, exit.to, block, cycle.header))
        })
}

/// Whether a write may leave the value of a free lock.
fn gives_back(cycle: &Cycle<'_>, attempt: &Attempt, instruction: &Instruction) -> bool {
    let body = cycle.body;
    let written = match instruction.op {
        Op::Store(_) | Op::Atomic { operation: AtomicOperation::Exchange, .. } => {
            body.constant(instruction, 1)
        }
        Op::Atomic { operation: AtomicOperation::CompareExchange, .. } => body.constant(instruction, 2),
        Op::Atomic { operation: AtomicOperation::Or, .. } => return false,
        _ => return true,
    };
    let Some(written) = written else { return false };
    match (attempt.operation, attempt.free, attempt.taken) {
        (AtomicOperation::CompareExchange, Some(free), _) => written as u32 == free as u32,
        (_, _, Some(taken)) => written as u32 != taken as u32,
        _ => true,
    }
}
