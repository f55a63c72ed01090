//! Divergence: barriers and warp operations under conditions that differ between the threads that must meet
//! there (divergent-barrier, early-exit-barrier, warp-mask, grid-divergence).

mod early_exit;
mod origin;
mod unaligned;
mod whole_warp;

use standstill_findings::{Finding, Known, Outcome, Platform, PlatformRow, Rule, Severity};
use standstill_kernel_ir::{
    BlockId, Instruction, InstructionId, Op, Operand, Reachability, Special, Terminator, ValueId,
};

use early_exit::leaves_early;
use origin::{origin, reason};
use whole_warp::is_whole;

use crate::body::{Base, Body};
use crate::kernel::Kernel;
use crate::places::Places;
use crate::rehearsal::Rehearsal;
use crate::threads::ThreadValues;
use crate::uniformity::{Agreement, Uniformity};

/// Whether an operation is a barrier over all threads of the block.
fn is_block_barrier(body: &Body, instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::Barrier { .. }) && body.source(instruction, 1) == Operand::Absent
}

/// Whether a barrier of the whole block stands under a condition that may differ within it.
pub(crate) fn suspicious_barriers(body: &Body, uniformity: &Uniformity) -> bool {
    body.instructions().any(|(id, instruction)| {
        is_block_barrier(body, instruction) && uniformity.control(body.block_of(id)) < Agreement::Block
    })
}

/// Whether anything that threads must come to together stands under a condition that may differ.
pub(crate) fn suspicious(body: &Body, uniformity: &Uniformity) -> bool {
    body.instructions().any(|(id, instruction)| {
        let control = uniformity.control(body.block_of(id));
        match instruction.op {
            Op::Barrier { .. } | Op::ClusterBarrier { .. } => control < Agreement::Block,
            Op::WarpSync | Op::Shuffle(_) | Op::Vote(_) | Op::Match { .. } | Op::WarpReduce { .. } => {
                control < Agreement::Warp
            }
            Op::Mbarrier { .. } => control < Agreement::Block,
            _ => false,
        }
    })
}

/// Whether anything that threads of a warp must come to together stands under a condition that may differ
/// within the warp, or a barrier without `.aligned` under one that may differ at all.
pub(crate) fn suspicious_in_warps(body: &Body, uniformity: &Uniformity) -> bool {
    body.instructions().any(|(id, instruction)| {
        let control = uniformity.control(body.block_of(id));
        match instruction.op {
            Op::Barrier { aligned: true, .. } => {
                control < Agreement::Warp && !is_block_barrier(body, instruction)
            }
            Op::Barrier { aligned: false, .. } => control < Agreement::Block,
            Op::WarpSync | Op::Shuffle(_) | Op::Vote(_) | Op::Match { .. } | Op::WarpReduce { .. } => {
                control < Agreement::Warp
            }
            _ => false,
        }
    })
}

/// Whether a warp operation stands under a condition that may differ within the warp, or has a mask that
/// does not name the whole warp, or lanes of a warp wait elsewhere while the others may wait for them there.
pub(crate) fn warp_operations_are_suspicious(body: &Body, uniformity: &Uniformity) -> bool {
    let waits_apart = body.instructions().any(|(id, instruction)| {
        let block = body.block_of(id);
        let in_loop = || body.loops.innermost(block).is_some();
        let waits = match instruction.op {
            Op::Load(access) => access.order != standstill_kernel_ir::Order::Weak && in_loop(),
            Op::Atomic { .. } => in_loop(),
            Op::Barrier { .. } => true,
            _ => false,
        };
        waits && uniformity.control(block) < Agreement::Warp
    });
    body.instructions().any(|(id, instruction)| {
        let Some(position) = mask_position(&instruction.op) else { return false };
        let mask = body.constant(instruction, position).map(|mask| mask as u32);
        match body.source(instruction, position) {
            Operand::Absent => false,
            _ => {
                waits_apart
                    || uniformity.control(body.block_of(id)) < Agreement::Warp
                    || mask.is_some_and(|mask| mask != u32::MAX)
            }
        }
    })
}

fn mask_position(op: &Op) -> Option<usize> {
    match op {
        Op::WarpSync => Some(0),
        Op::Shuffle(_) => Some(3),
        Op::Vote(_) | Op::Match { .. } | Op::WarpReduce { .. } => Some(1),
        _ => None,
    }
}

/// The branches that a block stands under, nearest first, whose condition differs within `scope`.
pub(crate) fn guilty(kernel: &Kernel<'_>, block: BlockId, scope: Agreement) -> Vec<BlockId> {
    let body = kernel.body;
    let mut seen: Vec<BlockId> = Vec::new();
    let mut queue: std::collections::VecDeque<BlockId> =
        body.control_dependence.branches(block).iter().copied().collect();
    while let Some(branch) = queue.pop_front() {
        if seen.contains(&branch) || seen.len() > 256 {
            continue;
        }
        seen.push(branch);
        queue.extend(body.control_dependence.branches(branch));
    }
    seen.retain(|&branch| kernel.uniformity.branch(branch) < scope);
    seen
}

/// Labels the branch that an operation stands under, and where its condition's difference is born.
pub(crate) fn add_causes(kernel: &Kernel<'_>, at: InstructionId, finding: &mut Finding) {
    let block = kernel.body.block_of(at);
    let branches = guilty(kernel, block, Agreement::Block);
    let Some(&branch) = branches.first() else { return };
    label_branch(kernel, branch, "across the threads of the block", finding);
}

fn label_branch(kernel: &Kernel<'_>, branch: BlockId, across: &str, finding: &mut Finding) {
    let span = kernel.places.branch(branch, format!("branch condition is non-uniform {across}"));
    if !finding.spans.iter().any(|s| (s.line, &s.file) == (span.line, &span.file) && !s.primary) {
        finding.spans.push(span);
    }
    if let Some(origin) = kernel.body.ssa.terminator(branch).and_then(|value| origin(kernel, value))
        && let Some(label) = origin.label()
    {
        let span = kernel.places.cause(origin.at, label);
        if !finding.spans.iter().any(|s| (s.line, &s.file) == (span.line, &span.file)) {
            finding.spans.push(span);
        }
    }
}

/// Reports barriers and warp operations under divergence.
pub(crate) fn check(
    kernel: &Kernel<'_>,
    rehearsal: Option<&Rehearsal>,
    explained: &[InstructionId],
    findings: &mut Vec<Finding>,
) {
    let body = kernel.body;
    let mut values = ThreadValues::new(body, kernel.launch);
    let mut exits_reported: Vec<BlockId> = Vec::new();
    let mut left: Vec<(BlockId, Finding)> = Vec::new();
    for (id, instruction) in body.instructions() {
        if explained.contains(&id) {
            continue;
        }
        let block = body.block_of(id);
        let control = kernel.uniformity.control(block);
        match instruction.op {
            Op::Barrier { .. } if control < Agreement::Block && is_block_barrier(body, instruction) => {
                if rehearsal.is_some_and(|r| r.exhaustive && !r.improper.contains(&id))
                    || unaligned::meets_by_number(kernel, id)
                {
                    continue;
                }
                block_barrier(kernel, &mut values, rehearsal, id, &mut exits_reported, findings);
            }
            Op::Barrier { aligned: true, .. } if control < Agreement::Warp => {
                if let Some(branch) = undecidable(kernel, &mut values, block, Agreement::Warp) {
                    counted_barrier(kernel, branch, id, findings);
                }
            }
            Op::ClusterBarrier { .. } if control < Agreement::Cluster => {
                if control < Agreement::Block {
                    if rehearsal.is_none_or(|r| !r.exhaustive) {
                        block_barrier(kernel, &mut values, rehearsal, id, &mut exits_reported, findings);
                    }
                } else {
                    grid_barrier(kernel, block, id, Agreement::Cluster, "cluster", findings);
                }
            }
            Op::Atomic { .. } if body.base(id) == Base::Workspace => {
                if let Some(entry) = entry_barrier(body, id) {
                    let control = kernel.uniformity.control(body.block_of(entry));
                    if control < Agreement::Grid && control >= Agreement::Block {
                        grid_barrier(kernel, body.block_of(entry), id, Agreement::Grid, "grid", findings);
                    }
                }
            }
            _ => {
                if mask_position(&instruction.op).is_some()
                    && control < Agreement::Warp
                    && rehearsal.is_none_or(|r| !r.exhaustive)
                    && let Some(mask) = wide_mask(body, instruction)
                    && let Some(branch) = undecidable(kernel, &mut values, block, Agreement::Warp)
                    && !is_whole(kernel, &guilty(kernel, block, Agreement::Warp), block)
                {
                    if left.iter().any(|(known, _)| *known == branch) {
                        continue;
                    }
                    let early = leaves_early(kernel, branch, block);
                    let finding = warp_operation(kernel, id, mask, branch, early);
                    if early { left.push((branch, finding)) } else { findings.push(finding) }
                }
            }
        }
    }
    // Threads that leave early are one fault, however much they miss.
    left.retain(|(branch, _)| !exits_reported.contains(branch));
    findings.extend(left.into_iter().map(|(_, finding)| finding));
}

/// The nearest branch over a block that differs within `scope` and that the block's shape does not decide.
fn undecidable(
    kernel: &Kernel<'_>,
    values: &mut Option<ThreadValues<'_>>,
    block: BlockId,
    scope: Agreement,
) -> Option<BlockId> {
    guilty(kernel, block, scope).into_iter().find(|&branch| {
        let condition = kernel.body.ssa.terminator(branch);
        match (condition, values.as_mut()) {
            (Some(condition), Some(values)) => values.vector(condition).is_none(),
            (Some(condition), None) => !only_thread_indices(kernel, condition),
            (None, _) => false,
        }
    })
}

/// Whether a condition rests on nothing but thread indices and constants, so that a block's shape would
/// decide it.
fn only_thread_indices(kernel: &Kernel<'_>, condition: ValueId) -> bool {
    let body = kernel.body;
    let mut seen = vec![condition];
    let mut next = 0;
    while let Some(&value) = seen.get(next) {
        next += 1;
        let Some((_, instruction)) = body.definition(value) else { return false };
        if !matches!(instruction.op, Op::Arithmetic(_)) || seen.len() > 256 {
            return false;
        }
        for index in 0..usize::from(instruction.operands.sources) {
            match body.source(instruction, index) {
                Operand::Special(Special::Tid(_) | Special::LaneId | Special::WarpId | Special::Ntid(_))
                | Operand::Immediate(_) => {}
                Operand::Register(_) | Operand::Negated(_) => match body.source_value(instruction, index) {
                    Some(value) if !seen.contains(&value) => seen.push(value),
                    Some(_) => {}
                    None => return false,
                },
                _ => return false,
            }
        }
    }
    true
}

/// What a divergent barrier of the whole block does where (design: the others run past and exit).
fn divergent_row() -> PlatformRow {
    PlatformRow::new(&[
        (Platform::Nvidia, Outcome::CompletesUnordered),
        (Platform::NvidiaOld, Outcome::MayHang),
        (Platform::Amd, Outcome::MayHang),
        (Platform::Others, Outcome::MayHang),
        (Platform::Specification, Outcome::Undefined),
    ])
}

fn early_exit_row() -> PlatformRow {
    PlatformRow::new(&[
        (Platform::Nvidia, Outcome::CompletesUnordered),
        (Platform::NvidiaOld, Outcome::CompletesUnordered),
        (Platform::Amd, Outcome::MayHang),
        (Platform::Others, Outcome::MayHang),
        (Platform::Specification, Outcome::Undefined),
    ])
}

fn block_barrier(
    kernel: &Kernel<'_>,
    values: &mut Option<ThreadValues<'_>>,
    rehearsal: Option<&Rehearsal>,
    at: InstructionId,
    exits_reported: &mut Vec<BlockId>,
    findings: &mut Vec<Finding>,
) {
    let block = kernel.body.block_of(at);
    let branches = guilty(kernel, block, Agreement::Block);
    let Some(&nearest) = branches.first() else { return };
    let exit = branches.iter().copied().find(|&branch| leaves_early(kernel, branch, block));
    let branch = if leaves_early(kernel, nearest, block) {
        nearest
    } else {
        exit.filter(|_| {
            branches
                .iter()
                .all(|&b| leaves_early(kernel, b, block) || b == nearest && is_loop_of(kernel, b, block))
        })
        .unwrap_or(nearest)
    };
    let early = leaves_early(kernel, branch, block);
    if early {
        if exits_reported.contains(&branch) {
            return;
        }
        exits_reported.push(branch);
    }
    let (rule, message) = if early {
        (Rule::EarlyExitBarrier, "threads return before a barrier that the others still reach")
    } else {
        (Rule::DivergentBarrier, "divergent barrier: not all threads of the block reach it together")
    };
    let mut finding = Finding::new(rule, kernel.name, message);
    finding.spans.push(kernel.places.primary(at, "barrier reached here by the others"));
    if let Some(primary) = finding.spans.first_mut() {
        primary.label = if early { "the remaining threads wait here" } else { "barrier called here" }.into();
    }
    label_branch(kernel, branch, "across the threads of the block", &mut finding);
    if early && let Some(cause) = finding.spans.get_mut(1) {
        cause.label = "some threads of the block leave here".into();
    }
    if !early {
        add_other_arm(kernel, branch, at, &mut finding);
    }
    let condition = kernel.body.ssa.terminator(branch);
    let decided =
        condition.zip(values.as_mut()).is_some_and(|(condition, values)| values.vector(condition).is_some())
            || rehearsal.is_some_and(|r| r.improper.contains(&at) && r.exhaustive);
    if decided {
        if let Some([x, y, z]) = kernel.launch.block {
            finding.assumes.push(format!("block = {x}x{y}x{z}"));
        }
    } else {
        finding.known = Known::Possible { reason: reason(kernel, branch) };
    }
    // Nothing that differs between threads was found in the condition: no sign of a fault, only no proof.
    let born = condition.and_then(|condition| origin(kernel, condition));
    finding.severity = if decided || born.is_some() { Severity::Error } else { Severity::Note };
    finding.platforms = if early { early_exit_row() } else { divergent_row() };
    finding.notes.push(
        "all threads of a block must reach `__syncthreads()` together (NVIDIA CUDA C++ guidelines 1.14); a barrier \
         in non-uniform control flow is undefined: where the hardware counts every thread it never opens"
            .into(),
    );
    finding.help = if early {
        "let trailing threads load a neutral value, reach the barrier, and guard only the store".into()
    } else {
        "move the barrier out of the conditional, or make the condition uniform across the block".into()
    };
    findings.push(finding);
}

/// Whether a branch is the exit of a loop that a block stands in.
fn is_loop_of(kernel: &Kernel<'_>, branch: BlockId, block: BlockId) -> bool {
    kernel.body.loops.innermost(block).is_some_and(|id| kernel.body.loops.contains(id, branch))
}

/// A barrier in the other arm of the same branch.
fn add_other_arm(kernel: &Kernel<'_>, branch: BlockId, at: InstructionId, finding: &mut Finding) {
    let body = kernel.body;
    let mut reach = Reachability::new(&body.flow);
    for (other, instruction) in body.instructions() {
        if other != at
            && is_block_barrier(body, instruction)
            && !reach.reaches(at, other)
            && !reach.reaches(other, at)
            && guilty(kernel, body.block_of(other), Agreement::Block).contains(&branch)
        {
            finding.spans.push(kernel.places.cause(other, "the other threads come to this barrier instead"));
            finding.notes.push(
                "with a barrier in each arm, whole warps pair whichever they reach; the pairing shifts as soon as \
                 the arms differ in their number of barriers"
                    .into(),
            );
            return;
        }
    }
}

/// Which lanes form a warp, and how many warps there are, only the block's shape tells; without it what
/// happens inside a warp is undecided.
fn undecided_severity(kernel: &Kernel<'_>) -> Severity {
    if kernel.launch.block.is_some() { Severity::Warning } else { Severity::Note }
}

fn counted_barrier(kernel: &Kernel<'_>, branch: BlockId, at: InstructionId, findings: &mut Vec<Finding>) {
    let mut finding = Finding::new(
        Rule::DivergentBarrier,
        kernel.name,
        "a counted barrier under a condition that differs within a warp",
    );
    finding.spans.push(kernel.places.primary(at, "barrier called here"));
    label_branch(kernel, branch, "within a warp", &mut finding);
    finding.known = Known::Possible { reason: reason(kernel, branch) };
    finding.severity = undecided_severity(kernel);
    finding.platforms = PlatformRow::new(&[
        (Platform::Nvidia, Outcome::MayBeWrong),
        (Platform::NvidiaOld, Outcome::MayHang),
        (Platform::Specification, Outcome::Undefined),
    ]);
    finding.notes.push("a barrier counts each warp with all its threads".into());
    finding.help = "let whole warps take part in the barrier".into();
    findings.push(finding);
}

/// The mask of a warp operation that names more than one lane.
fn wide_mask(body: &Body, instruction: &Instruction) -> Option<u32> {
    let mask = body.constant(instruction, mask_position(&instruction.op)?)? as u32;
    (mask.count_ones() > 1).then_some(mask)
}

/// `early`: the lanes that the branch keeps away leave the kernel.
fn warp_operation(
    kernel: &Kernel<'_>,
    at: InstructionId,
    mask: u32,
    branch: BlockId,
    early: bool,
) -> Finding {
    let (what, outcome) = if early {
        ("names lanes that may have returned before", Outcome::CompletesUnordered)
    } else {
        ("may name lanes that do not come to", Outcome::MayHang)
    };
    let mut finding = Finding::new(
        Rule::WarpMask,
        kernel.name,
        format!("the mask 0x{mask:08x} {what} this warp operation"),
    );
    finding.spans.push(kernel.places.primary(at, format!("waits for all lanes of mask 0x{mask:08x}")));
    label_branch(kernel, branch, "within a warp", &mut finding);
    if early && let Some(cause) = finding.spans.get_mut(1) {
        cause.label = "some lanes leave here".into();
    }
    finding.known = Known::Possible { reason: reason(kernel, branch) };
    finding.severity = undecided_severity(kernel);
    finding.platforms = PlatformRow::new(&[
        (Platform::Nvidia, outcome),
        (Platform::NvidiaOld, Outcome::Undefined),
        (Platform::Specification, Outcome::Undefined),
    ]);
    finding.notes.push(
        "all lanes that the mask names must execute the operation (NVIDIA CUDA C++ guidelines 2.4)".into(),
    );
    finding.help = if early {
        "keep the lanes alive until behind the operation, or take the mask from `__ballot_sync` before they leave"
    } else {
        "compute the mask with `__ballot_sync` before the branch, or move the operation out of it"
    }
    .into();
    finding
}

/// The block barrier with which a cooperative grid barrier begins.
fn entry_barrier(body: &Body, atomic: InstructionId) -> Option<InstructionId> {
    let block = body.block_of(atomic);
    body.instructions()
        .filter(|(id, instruction)| {
            is_block_barrier(body, instruction)
                && *id < atomic
                && body.dominators.dominates(body.block_of(*id), block)
        })
        .map(|(id, _)| id)
        .last()
}

fn grid_barrier(
    kernel: &Kernel<'_>,
    block: BlockId,
    at: InstructionId,
    scope: Agreement,
    what: &str,
    findings: &mut Vec<Finding>,
) {
    let Some(&branch) = guilty(kernel, block, scope).first() else { return };
    let mut finding = Finding::new(
        Rule::GridDivergence,
        kernel.name,
        format!("a {what} barrier that some blocks may not reach"),
    );
    finding.spans.push(kernel.places.primary(at, format!("waits for every block of the {what}")));
    label_branch(kernel, branch, "across blocks", &mut finding);
    finding.known = Known::Possible { reason: reason(kernel, branch) };
    finding.severity = Severity::Warning;
    finding.platforms = PlatformRow::new(&[
        (Platform::Nvidia, Outcome::Hangs),
        (Platform::NvidiaOld, Outcome::Hangs),
        (Platform::Specification, Outcome::Undefined),
    ]);
    finding.notes.push(format!(
        "a {what} barrier opens when every block of the {what} has come, those that returned included in the count"
    ));
    finding.help = format!("let every block come to the {what} barrier, and guard only the work between");
    findings.push(finding);
}
