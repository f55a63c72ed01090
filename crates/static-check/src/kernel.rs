//! One kernel: the analyses in their order, then the rules.

use standstill_findings::{Finding, Known, Rule, Severity};
use standstill_kernel_ir::{BlockId, Function, FunctionHeader, Op, Program};

use crate::body::Body;
use crate::inline::Helpers;
use crate::launch::Launch;
use crate::places::Places;
use crate::rehearsal::Rehearsal;
use crate::threads::ThreadValues;
use crate::uniformity::{Agreement, Proved, Uniformity};
use crate::{Options, any_shape, divergence, grid, rehearsal, waiting};

/// A kernel with all that the rules may ask.
pub(crate) struct Kernel<'a> {
    /// Name as in the input.
    pub(crate) name: &'a str,
    pub(crate) body: &'a Body,
    pub(crate) launch: &'a Launch,
    pub(crate) uniformity: &'a Uniformity,
    pub(crate) places: &'a Places<'a>,
    pub(crate) options: &'a Options<'a>,
}

/// Checks one kernel.
pub(crate) fn check(
    program: &dyn Program,
    helpers: &Helpers,
    header: &FunctionHeader,
    function: Function,
    options: &Options<'_>,
    findings: &mut Vec<Finding>,
) {
    if !concerns(&function) {
        return;
    }
    let launch = Launch::new(&(options.launch)(&header.name), &header.bounds);
    let body = Body::new(program, helpers, function);
    let places = Places { kernel: &header.name, module: program.module(), body: &body, options };
    let mut proved = Proved::default();
    let mut uniformity = Uniformity::of(&body, helpers, &launch, &proved);
    let suspicious = match launch.block {
        Some(_) => divergence::suspicious(&body, &uniformity),
        // Without a shape only what warps agree on can be shown.
        None => divergence::suspicious_in_warps(&body, &uniformity),
    };
    if suspicious {
        prove_branches(&body, &launch, &uniformity, &mut proved);
        if !proved.is_empty() {
            uniformity = uniformity.again(&body, helpers, &launch, &proved);
        }
    }
    let rehearsal = rehearse(&body, &uniformity, &launch);
    let kernel = Kernel {
        name: &header.name,
        body: &body,
        launch: &launch,
        uniformity: &uniformity,
        places: &places,
        options,
    };
    let mut found = Vec::new();
    let explained = match &rehearsal {
        Some(rehearsal) => waiting::check(&kernel, rehearsal, &mut found),
        None if launch.block.is_none() => any_shape::check(&kernel, &mut found),
        None => Vec::new(),
    };
    undecided(&kernel, &mut found);
    divergence::check(&kernel, rehearsal.as_ref(), &explained, &mut found);
    grid::check(&kernel, &explained, &mut found);
    crate::order::check(&kernel, &mut found);
    crate::loops::check(&kernel, &mut found);
    for mut finding in found {
        let by_platform = finding.platforms.severity(options.platform);
        finding.severity = finding.severity.min(by_platform);
        if !findings.iter().any(|known| same_fault(known, &finding)) {
            findings.push(finding);
        }
    }
}

/// Says which calls could not be looked into although they may synchronise.
fn undecided(kernel: &Kernel<'_>, findings: &mut Vec<Finding>) {
    for unresolved in &kernel.body.unresolved {
        let mut finding =
            Finding::new(Rule::Undecided, kernel.name, "what this call waits for was not decided");
        finding.severity = Severity::Note;
        finding.known = Known::Possible { reason: unresolved.reason.into() };
        finding.spans.push(kernel.places.primary_location(unresolved.location, "not looked into"));
        findings.push(finding);
    }
}

/// Unrolled and inlined copies of one line are one fault.
fn same_fault(a: &Finding, b: &Finding) -> bool {
    a.rule == b.rule
        && a.kernel == b.kernel
        && a.severity >= b.severity.min(Severity::Error)
        && match (a.primary_span(), b.primary_span()) {
            (Some(a), Some(b)) => (&a.file, a.line) == (&b.file, b.line),
            _ => false,
        }
}

/// Whether a kernel has anything that a rule looks at: something that waits or orders, a loop, or a call.
fn concerns(function: &Function) -> bool {
    let retreats = |index: usize| {
        let mut found = false;
        function.successors(BlockId(index as u32), |to| found |= to.0 as usize <= index);
        found
    };
    function
        .instructions
        .iter()
        .any(|i| !matches!(i.op, Op::Arithmetic(_) | Op::Load(_) | Op::Store(_) | Op::Hint))
        || (0..function.blocks.len()).any(retreats)
}

/// Evaluates the conditions of branches that look as if they differed between threads.
fn prove_branches(body: &Body, launch: &Launch, uniformity: &Uniformity, proved: &mut Proved) {
    let mut values = ThreadValues::new(body, launch).unwrap_or_else(|| ThreadValues::of_rows(body, launch));
    let wanted = if launch.block.is_some() { Agreement::Block } else { Agreement::Warp };
    for &block in body.flow.reverse_postorder() {
        if uniformity.branch(block) < wanted
            && let Some(condition) = body.ssa.terminator(block)
        {
            values.prove(uniformity, condition, proved);
        }
    }
}

/// Plays the kernel through where that can tell more than uniformity does.
fn rehearse(body: &Body, uniformity: &Uniformity, launch: &Launch) -> Option<Rehearsal> {
    let warp_operations = divergence::warp_operations_are_suspicious(body, uniformity);
    let worth_it = warp_operations
        || divergence::suspicious_barriers(body, uniformity)
        || body.instructions().any(|(id, instruction)| match instruction.op {
            Op::Barrier { .. } => body.source(instruction, 1) != standstill_kernel_ir::Operand::Absent,
            Op::Mbarrier { .. } => true,
            Op::Load(access) => {
                access.order != standstill_kernel_ir::Order::Weak
                    && body.loops.innermost(body.block_of(id)).is_some()
            }
            Op::Atomic { .. } => body.loops.innermost(body.block_of(id)).is_some(),
            _ => false,
        });
    if !worth_it {
        return None;
    }
    rehearsal::rehearse(body, launch, warp_operations)
}
