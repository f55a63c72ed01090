//! Waits that hang whatever the block's shape is: where none is given, blocks of several sizes are rehearsed, and
//! what shows in all of them is reported as possible.

use standstill_findings::{Finding, Known, Rule, Severity};
use standstill_kernel_ir::{InstructionId, Op, Order};

use crate::body::{Base, Body};
use crate::grid::decides_an_exit;
use crate::inline::is_shared;
use crate::kernel::Kernel;
use crate::launch::{Launch, MAXIMUM_BLOCK};
use crate::order::flags::constant_at;
use crate::{rehearsal, waiting};

/// Threads of the blocks that are tried.
const SIZES: [u32; 3] = [64, 128, 256];

/// Reports cycles of waits that show in blocks of every size, up to the kernel's own bound; gives the
/// operations that wait in them.
pub(crate) fn check(kernel: &Kernel<'_>, found: &mut Vec<Finding>) -> Vec<InstructionId> {
    if !waits_by_itself(kernel.body) {
        return Vec::new();
    }
    let maximum = kernel.launch.most_threads.unwrap_or(MAXIMUM_BLOCK);
    let mut common: Option<(Vec<Finding>, Vec<InstructionId>)> = None;
    for size in SIZES.into_iter().filter(|&size| size <= maximum) {
        let launch = Launch { block: Some([size, 1, 1]), ..kernel.launch.clone() };
        let Some(rehearsal) = rehearsal::rehearse(kernel.body, &launch, false) else { return Vec::new() };
        let mut shown = Vec::new();
        let explained = waiting::check(&Kernel { launch: &launch, ..*kernel }, &rehearsal, &mut shown);
        shown.retain(|finding| finding.rule == Rule::WaitCycle);
        if let Some((findings, _)) = &mut common {
            findings.retain(|finding| shown.iter().any(|other| same_place(finding, other)));
        } else {
            common = Some((shown, explained));
        }
        if common.as_ref().is_some_and(|(findings, _)| findings.is_empty()) {
            return Vec::new();
        }
    }
    let Some((findings, explained)) = common else { return Vec::new() };
    for mut finding in findings {
        finding.known = Known::Possible {
            reason: "the block's shape is not known (`--block`); it shows in every size that was tried"
                .into(),
        };
        finding.severity = Severity::Warning;
        found.push(finding);
    }
    explained
}

fn same_place(a: &Finding, b: &Finding) -> bool {
    match (a.primary_span(), b.primary_span()) {
        (Some(a), Some(b)) => (&a.file, a.line) == (&b.file, b.line),
        _ => false,
    }
}

/// Whether a loop waits for something that this kernel itself sets to constants: a flag or a lock.
fn waits_by_itself(body: &Body) -> bool {
    let strong = |op: &Op| match op {
        Op::Load(access) => access.order != Order::Weak,
        Op::Atomic { .. } => true,
        _ => false,
    };
    let mut polled: Vec<(InstructionId, Base)> = Vec::new();
    for (id, instruction) in body.instructions() {
        if strong(&instruction.op)
            && body.loops.innermost(body.block_of(id)).is_some()
            && decides_an_exit(body, id)
        {
            polled.push((id, body.base(id)));
        }
    }
    polled.retain(|(_, base)| *base != Base::Unknown);
    !polled.is_empty()
        && body.instructions().any(|(id, instruction)| match instruction.op {
            Op::Store(access) | Op::Atomic { access, .. } => {
                let base = body.base(id);
                let waited_for = polled.iter().any(|&(poll, other)| poll != id && other == base);
                waited_for && (constant_at(body, id).is_some() || is_shared(access.space))
            }
            _ => false,
        })
}
