//! Ticket locks that the lanes of one warp draw tickets for: where a warp runs in lockstep, the lane whose turn
//! it is waits behind the loop for those that wait for their turn (spin-lock-lockstep).

use standstill_findings::{Finding, Rule};
use standstill_kernel_ir::{AtomicOperation, Comparison, Instruction, InstructionId, Op, Order, ValueId};

use super::cycle::{Cycle, comparison};
use super::lanes::{Distance, Lanes, lockstep};
use super::lock::source_is_invariant;
use super::source;
use super::spin::{only_reads, writes};
use crate::arrivals::leads_to;
use crate::body::Base;

/// A loop that is left when a counter shows the thread's own ticket, while the counter moves on behind it.
pub(super) fn check(cycle: &Cycle<'_>) -> Option<Finding> {
    let body = cycle.body;
    let [exit] = cycle.exits.as_slice() else { return None };
    let (condition, leaves) = exit.test?;
    let (_, test, negated) = comparison(body, condition)?;
    let Op::Arithmetic(arithmetic) = test.op else { return None };
    let on_equality = match arithmetic.comparison {
        Comparison::Eq => leaves != negated,
        Comparison::Ne => leaves == negated,
        _ => return None,
    };
    if !on_equality {
        return None;
    }
    let (poll, ticket) = (0..2).find_map(|index| {
        let (turn, ticket) = (body.source_value(test, index)?, body.source_value(test, 1 - index)?);
        let (poll, instruction) = body.definition(turn)?;
        (is_poll(cycle, poll, instruction) && cycle.is_invariant(ticket)).then_some((poll, ticket))
    })?;
    let drawn = drawn_at(cycle, ticket)?;
    let base = body.base(poll);
    if base == Base::Unknown {
        return None;
    }
    let moves_on = |id: InstructionId, instruction: &Instruction| {
        writes(body, instruction) && body.base(id) == base && id != drawn
    };
    if cycle.instructions().any(|(id, instruction)| {
        writes(body, instruction) && (body.base(id) == base || body.base(id) == Base::Unknown)
    }) {
        return None;
    }
    let release = body
        .instructions()
        .filter(|&(id, instruction)| moves_on(id, instruction))
        .map(|(id, _)| id)
        .find(|&id| leads_to(body, exit.to, body.block_of(id), cycle.header))?;
    let as_written = source::same_loop(cycle, poll, release);
    if as_written == Some(true) {
        return None;
    }
    let lanes = Lanes::at(cycle)?;
    if lanes.distance_of_address(cycle, body.instruction(poll)?) != Distance::Same {
        return None;
    }
    let mut finding = Finding::new(
        Rule::SpinLockLockstep,
        cycle.kernel.name,
        "lanes of one warp wait for their turns, which pass on only behind the loop",
    );
    let places = cycle.kernel.places;
    finding.spans.push(places.primary(poll, "the lanes of a warp whose turn has not come wait here"));
    finding.spans.push(places.cause(release, "the lane whose turn it is passes on here, behind the loop"));
    finding.spans.push(places.cause(drawn, "each lane draws its own ticket here"));
    finding.platforms = lockstep();
    lanes.judge(&mut finding, as_written);
    finding.notes.push(
        "where the lanes of a warp share one program counter, the lane whose turn it is waits at the end of the \
         loop for the others, and those wait for it to pass on"
            .into(),
    );
    finding.help = "put the critical section and the passing on inside the loop, or let one lane of each warp draw a ticket"
        .into();
    Some(finding)
}

/// Whether an instruction reads in each round, anew, the counter that shows whose turn it is.
fn is_poll(cycle: &Cycle<'_>, id: InstructionId, instruction: &Instruction) -> bool {
    let body = cycle.body;
    let reads = match instruction.op {
        Op::Load(access) => access.order != Order::Weak,
        Op::Atomic { operation, .. } => only_reads(body, instruction, operation),
        _ => false,
    };
    reads
        && body.loops.innermost(body.block_of(id)) == Some(cycle.id)
        && source_is_invariant(cycle, instruction, 0)
}

/// The atomic that gave a thread its ticket.
fn drawn_at(cycle: &Cycle<'_>, ticket: ValueId) -> Option<InstructionId> {
    let body = cycle.body;
    let mut value = ticket;
    for _ in 0..8 {
        let (id, instruction) = body.definition(value)?;
        match instruction.op {
            Op::Atomic { operation: AtomicOperation::Add | AtomicOperation::Inc, .. } => {
                return (!only_reads(body, instruction, AtomicOperation::Add)).then_some(id);
            }
            Op::Arithmetic(_) if instruction.guard.is_none() => value = body.source_value(instruction, 0)?,
            _ => return None,
        }
    }
    None
}
