//! Spins on a plain load: the compiler may read the location once, before the loop (hoistable-spin).

use standstill_findings::{Finding, Outcome, Platform, PlatformRow, Rule, Severity, Span};
use standstill_kernel_ir::{
    AtomicOperation, BlockId, Instruction, InstructionId, Op, Reachability, Space, Terminator,
};

use super::cycle::{Cycle, is_plain_load};
use super::{endless, line};
use crate::body::{Base, Body};

/// Most writers of the polled location that are shown.
const MAXIMUM_WRITERS: usize = 2;

/// A loop without exit and without effect, entered because of what a plain load gave: the test in it was
/// hoisted.
pub(super) fn hoisted(cycle: &Cycle<'_>) -> Option<Finding> {
    let idle = cycle
        .instructions()
        .all(|(_, instruction)| matches!(instruction.op, Op::Arithmetic(_) | Op::Hint | Op::Nanosleep));
    if !idle {
        return None;
    }
    let loads = entry_loads(cycle);
    if loads.is_empty() {
        return None;
    }
    let mut finding = report(cycle, &loads, "this loop waits for a value that is read only once");
    if let Some(primary) = finding.spans.first()
        && written_endless(cycle, primary)
    {
        return None;
    }
    finding.platforms = PlatformRow::new(&[
        (Platform::Nvidia, Outcome::Hangs),
        (Platform::NvidiaOld, Outcome::Hangs),
        (Platform::Amd, Outcome::MayHang),
        (Platform::Others, Outcome::MayHang),
        (Platform::Specification, Outcome::Undefined),
    ]);
    finding.notes.push("the compiler has moved the load out of the loop: what is left tests nothing".into());
    endless::entered(cycle, finding)
}

/// Whether the author asked for a loop without end (`while (true)`).
fn written_endless(cycle: &Cycle<'_>, place: &Span) -> bool {
    let text = (cycle.kernel.options.source_line)(&place.file, place.line);
    text.is_some_and(|text| {
        let code: String = text.split("//").next().unwrap_or("").split_whitespace().collect();
        ["while(true)", "while(1)", "for(;;)"].iter().any(|endless| code.contains(endless))
    })
}

/// A loop whose every branch is decided by plain loads from one place, with nothing in it that would make
/// the compiler read again.
pub(super) fn hoistable(cycle: &Cycle<'_>) -> Option<Finding> {
    let quiet = cycle.instructions().all(|(_, instruction)| match instruction.op {
        Op::Arithmetic(_) | Op::Hint | Op::Nanosleep => true,
        Op::Load(access) => {
            is_plain_load(instruction) || matches!(access.space, Space::Local | Space::Param | Space::Const)
        }
        Op::Store(access) => access.space == Space::Local,
        _ => false,
    });
    if !quiet {
        return None;
    }
    let mut loads: Vec<InstructionId> = Vec::new();
    for &block in cycle.blocks() {
        if cycle.body.flow.successors(block).len() < 2 {
            continue;
        }
        let condition = cycle.body.ssa.terminator(block)?;
        for load in cycle.stale_loads(condition)? {
            if !loads.contains(&load) {
                loads.push(load);
            }
        }
    }
    if loads.is_empty() {
        return None;
    }
    let mut finding =
        report(cycle, &loads, "this loop waits on a plain load, which may be done once for all rounds");
    finding.platforms = PlatformRow::new(&[
        (Platform::Nvidia, Outcome::MayHang),
        (Platform::NvidiaOld, Outcome::MayHang),
        (Platform::Amd, Outcome::MayHang),
        (Platform::Others, Outcome::MayHang),
        (Platform::Specification, Outcome::Undefined),
    ]);
    if cycle.instructions().any(|(_, instruction)| matches!(instruction.op, Op::Nanosleep)) {
        // Compilers keep loads on their side of a sleep so far, though nothing tells them to.
        finding.severity = Severity::Warning;
    }
    finding.notes.push(
        "nothing in the loop makes the compiler read the location again; a later stage may still move the load \
         out of the loop"
            .into(),
    );
    endless::entered(cycle, finding)
}

fn report(cycle: &Cycle<'_>, loads: &[InstructionId], message: &str) -> Finding {
    let body = cycle.body;
    let places = cycle.kernel.places;
    let mut finding = Finding::new(Rule::HoistableSpin, cycle.kernel.name, message);
    let bases: Vec<Base> = loads.iter().map(|&load| body.base(load)).collect();
    let name = match bases.first() {
        Some(&base) => places.base_name(base),
        None => "a location".into(),
    };
    finding.spans.push(line::primary(cycle, format!("spins on {name}, read by a plain load")));
    let writers: Vec<InstructionId> = body
        .instructions()
        .filter(|&(at, instruction)| {
            writes(body, instruction)
                && body.base(at) != Base::Unknown
                && bases.contains(&body.base(at))
                && !cycle.contains(body.block_of(at))
        })
        .map(|(at, _)| at)
        .collect();
    // Who waits here writes later at best: another thread's write is the one that is missed.
    let mut reach = Reachability::new(&body.flow);
    let mut is_later = |writer: InstructionId| {
        loads.iter().any(|&load| reach.block_reaches(body.block_of(load), body.block_of(writer)))
    };
    let (later, others): (Vec<_>, Vec<_>) = writers.into_iter().partition(|&writer| is_later(writer));
    let shown = if others.is_empty() { later } else { others };
    for at in shown.into_iter().take(MAXIMUM_WRITERS) {
        let span = places.cause(at, "the write that need never be seen");
        if !finding.spans.iter().any(|known| (&known.file, known.line) == (&span.file, span.line)) {
            finding.spans.push(span);
        }
    }
    finding.notes.push(
        "to the compiler a plain load reads memory that no other thread writes meanwhile, so one read is as good \
         as many"
            .into(),
    );
    finding.help = "read the location through `volatile`, a `cuda::atomic_ref` or an atomic operation".into();
    finding
}

/// Whether an instruction changes memory.
pub(super) fn writes(body: &Body, instruction: &Instruction) -> bool {
    match instruction.op {
        Op::Store(access) => access.space != Space::Local,
        Op::Atomic { operation, .. } => !only_reads(body, instruction, operation),
        _ => false,
    }
}

/// Whether an atomic leaves memory as it is.
pub(super) fn only_reads(body: &Body, instruction: &Instruction, operation: AtomicOperation) -> bool {
    let operand = body.constant(instruction, 1);
    match operation {
        AtomicOperation::Add | AtomicOperation::Or | AtomicOperation::Xor => operand == Some(0),
        AtomicOperation::CompareExchange => operand.is_some() && operand == body.constant(instruction, 2),
        _ => false,
    }
}

/// The plain loads that decide whether a loop is entered: those of the branch before it, and of earlier
/// branches that lead past it to the same place.
fn entry_loads(cycle: &Cycle<'_>) -> Vec<InstructionId> {
    let body = cycle.body;
    let mut found = Vec::new();
    for &from in body.flow.predecessors(cycle.header) {
        if cycle.contains(from) {
            continue;
        }
        let Some((mut branch, mut into)) = deciding_branch(body, from, cycle.header) else { continue };
        let mut past: Option<BlockId> = None;
        for _ in 0..8 {
            let other = body.flow.successors(branch).iter().copied().find(|&to| to != into);
            if past.is_some() && other != past {
                break;
            }
            past = other;
            let loads = loads_of(body, branch);
            if loads.is_empty() {
                break;
            }
            found.extend(loads.into_iter().filter(|load| !found.contains(load)).collect::<Vec<_>>());
            let &[before] = body.flow.predecessors(branch) else { break };
            match deciding_branch(body, before, branch) {
                Some(next) => (branch, into) = next,
                None => break,
            }
        }
    }
    found.sort_unstable();
    found
}

/// The branch by which control came along the edge between two blocks, and the side that it took.
fn deciding_branch(body: &Body, from: BlockId, to: BlockId) -> Option<(BlockId, BlockId)> {
    let (mut from, mut to) = (from, to);
    for _ in 0..8 {
        match body.function.blocks.get(from.0 as usize)?.terminator {
            Terminator::Branch { .. } if body.flow.successors(from).len() > 1 => return Some((from, to)),
            _ => {}
        }
        let &[before] = body.flow.predecessors(from) else { return None };
        (from, to) = (before, from);
    }
    None
}

/// The plain loads that a branch's condition is computed from.
fn loads_of(body: &Body, branch: BlockId) -> Vec<InstructionId> {
    let mut loads = Vec::new();
    let Some(condition) = body.ssa.terminator(branch) else { return loads };
    let mut seen = vec![condition];
    let mut next = 0;
    while let Some(&value) = seen.get(next) {
        next += 1;
        let Some((id, instruction)) = body.definition(value) else { continue };
        if is_plain_load(instruction) {
            loads.push(id);
        } else if matches!(instruction.op, Op::Arithmetic(_)) {
            for index in 0..usize::from(instruction.operands.sources) {
                if let Some(source) = body.source_value(instruction, index)
                    && !seen.contains(&source)
                    && seen.len() < 128
                {
                    seen.push(source);
                }
            }
        }
    }
    loads
}
