//! Findings about memory that is used by an old reference, and about writes that go by an old value.

use standstill_findings::{Finding, Outcome as Happens, PlatformRow, Rule};

use crate::check::{Outcome, RacingAccess};
use crate::findings::{LineOf, span};
use crate::operations::Operation;

fn who(access: &RacingAccess) -> String {
    format!("thread {} of block {}", access.thread, access.block)
}

/// A use of memory that was freed before.
pub(crate) fn reuse(
    memory: &str,
    [used, freed]: &[RacingAccess; 2],
    outcome: &Outcome,
    line_of: &LineOf<'_>,
) -> Finding {
    let does = if used.writes { "writes" } else { "reads" };
    let message = format!("{} {does} `{memory}`, which {} has freed before", who(used), who(freed));
    let mut finding = Finding::new(Rule::ReuseAfterFree, &outcome.kernel, message);
    finding.platforms = PlatformRow::everywhere(Happens::MayBeWrong);
    finding.spans.push(span(&used.place, format!("{} still uses it here", who(used)), true, line_of));
    finding.spans.push(span(&freed.place, format!("{} freed it here", who(freed)), false, line_of));
    finding.help =
        "announce what is used before the last look at the link to it, and free nothing that is announced"
            .to_owned();
    finding
}

/// A write, or a compare-and-swap, that goes by what was read before a change.
pub(crate) fn outdated(
    rule: Rule,
    memory: &str,
    [write, read, change]: &[RacingAccess; 3],
    outcome: &Outcome,
    line_of: &LineOf<'_>,
) -> Finding {
    let aba = rule == Rule::Aba;
    let message = if aba {
        format!("a compare-and-swap of `{memory}` is fooled by a value that came back")
    } else if write.writes {
        format!("the update of `{memory}` by {} is lost", who(change))
    } else {
        format!(
            "the update of `{memory}` by {} is lost: its compare-and-swap fails, and nobody looks",
            who(write)
        )
    };
    let mut finding = Finding::new(rule, &outcome.kernel, message);
    finding.platforms = PlatformRow::everywhere(Happens::MayBeWrong);
    let label = match (aba, write.writes) {
        (true, _) => format!("{} succeeds, and installs what it read under the old view", who(write)),
        (false, true) => format!("{} writes back what it read before", who(write)),
        (false, false) => format!("{} fails here", who(write)),
    };
    finding.spans.push(span(&write.place, label, true, line_of));
    finding.spans.push(span(&read.place, format!("{} read it here", who(read)), false, line_of));
    finding.spans.push(span(&change.place, format!("{} changed it in between", who(change)), false, line_of));
    // One place is shown once.
    let mut seen: Vec<(String, u32)> = Vec::new();
    finding.spans.retain(|span| {
        let place = (span.file.clone(), span.line);
        let fresh = !seen.contains(&place);
        seen.push(place);
        fresh
    });
    finding.help = if aba {
        "compare a tag that grows with each change together with the value".to_owned()
    } else {
        "update it with an atomic operation, or with a compare-and-swap loop that tries again".to_owned()
    };
    finding
}

/// Operations that no order explains.
pub(crate) fn no_order(
    [end, begin]: &[RacingAccess; 2],
    operations: &[Operation],
    outcome: &Outcome,
    line_of: &LineOf<'_>,
) -> Finding {
    let of_it = |operation: &&Operation| operation.thread == Some((end.block, end.thread));
    let ended = operations.iter().rev().filter(of_it).find(|operation| operation.ends.is_some());
    let (structure, call, result) = match ended {
        Some(operation) => {
            let result = operation.result.clone().unwrap_or_default();
            (operation.structure, operation.call.clone(), result)
        }
        None => ("structure", "an operation".to_owned(), String::new()),
    };
    let message = format!(
        "no order of the operations of the {structure} explains that `{call}` by {} gave {result}",
        who(end)
    );
    let mut finding = Finding::new(Rule::NotLinearizable, &outcome.kernel, message);
    finding.platforms = PlatformRow::everywhere(Happens::MayBeWrong);
    finding.spans.push(span(&end.place, format!("`{call}` ends here and gives {result}"), true, line_of));
    if begin.place.line != end.place.line {
        finding.spans.push(span(&begin.place, "it began here", false, line_of));
    }
    finding.notes.push(table(operations));
    finding.help = "let each operation take effect by one step between its beginning and its end".to_owned();
    finding
}

/// The operations, a line for each.
fn table(operations: &[Operation]) -> String {
    let mut text = "the history that has no order:".to_owned();
    for operation in operations {
        let Operation { thread, structure, call, result, begins, ends } = operation;
        let Some((block, thread)) = thread else {
            text.push_str(&format!("\n  before the launch: {structure} {call}"));
            continue;
        };
        let gave = result.as_ref().map_or(String::new(), |result| format!(" gave {result}"));
        let when = match ends {
            Some(ends) if ends == begins => format!("step {begins}"),
            Some(ends) => format!("steps {begins} to {ends}"),
            None => format!("from step {begins} on, not ended"),
        };
        text.push_str(&format!("\n  thread {thread} of block {block}: {call}{gave} ({when})"));
    }
    text
}
