//! A `sync()` that not all cells of a tile reach: its two forms, in the words of Rust kernels.

use standstill_findings::{Finding, Known, Rule};
use standstill_kernel_syntax::Program;

use crate::words;

const NOTE: &str = "all cells of a tile must reach `space.sync()` together: a barrier inside non-uniform control flow \
                    deadlocks the hardware for good, or lets cells run past it unordered";
const HELP_BRANCH: &str =
    "move `space.sync()` out of the conditional, or make the branch condition uniform across the tile";
const HELP_RETURN: &str = "let trailing cells load a neutral value and reach `space.sync()` with the others, and \
                           guard only the store with `if space.in_bounds_x()`";
const HELP_LOOP: &str = "let all cells of the tile run the loop equally often, and guard the work inside it";

/// Whether a rule is about barriers that not all cells of a tile reach.
pub(crate) fn is_divergent_sync(rule: Rule) -> bool {
    matches!(rule, Rule::DivergentBarrier | Rule::EarlyExitBarrier)
}

/// Tells such a finding; `false` for any other.
pub(crate) fn tell(program: &Program, finding: &mut Finding) -> bool {
    if !is_divergent_sync(finding.rule) {
        return false;
    }
    let branch = finding.spans.iter().position(|span| !span.primary);
    let condition = branch.and_then(|index| finding.spans.get(index)).cloned();
    // In machine form an early return and a condition around the rest look alike; the source tells.
    let early =
        condition.as_ref().is_some_and(|span| program.returns_early(&span.file, span.line, span.column));
    let loops = condition.as_ref().is_some_and(|span| program.loops_at(&span.file, span.line, span.column));
    finding.rule = if early { Rule::EarlyExitBarrier } else { Rule::DivergentBarrier };
    finding.message = if early {
        "divergent tile synchronization detected inside #[kernel]: cells return before it"
    } else {
        "divergent tile synchronization detected inside #[kernel]"
    }
    .to_owned();
    for (index, span) in finding.spans.iter_mut().enumerate() {
        if span.primary {
            span.label = "tile synchronization called here".to_owned();
        } else if Some(index) == branch {
            span.label = match (early, loops) {
                (true, _) => "branch condition is non-uniform across tile cells: some return here",
                (_, true) => "the number of rounds is non-uniform across tile cells",
                _ => "branch condition is non-uniform across tile cells",
            }
            .to_owned();
        } else {
            span.label = words::reader(&span.label);
        }
    }
    if let Known::Possible { reason } = &mut finding.known {
        *reason = words::reader(reason);
    }
    finding.notes = vec![NOTE.to_owned()];
    finding.help = match (early, loops) {
        (true, _) => HELP_RETURN,
        (_, true) => HELP_LOOP,
        _ => HELP_BRANCH,
    }
    .to_owned();
    true
}
