//! From pairs to findings: sentences, places and the line to add.

use standstill_findings::{Finding, Known, Outcome, PlatformRow, Rule, Severity, Span};
use standstill_trace::Site;

use crate::conflict::{Certainty, Conflict, Deed, Name};
use crate::words::{Words, stream_name};

/// A line of the program's source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as the compiler wrote it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

/// Where call sites stand in the program's source, as far as that is known.
pub trait Places {
    /// The innermost line of the program's own code.
    fn place(&self, site: Site) -> Option<Place>;

    /// Whether calls at a site are made by threads of a library for the backward pass that stands there.
    fn is_for_backward(&self, _site: Site) -> bool {
        false
    }

    /// The name of a kernel as the reader writes it.
    fn readable(&self, symbol: &str) -> String;
}

/// The findings for what the checker gave.
#[must_use]
pub fn findings(conflicts: &[Conflict], places: &dyn Places) -> Vec<Finding> {
    conflicts.iter().map(|conflict| finding(conflict, places)).collect()
}

fn finding(conflict: &Conflict, places: &dyn Places) -> Finding {
    let ((earlier, first), (later, second)) = (&conflict.earlier, &conflict.later);
    let kernel = [later, earlier].into_iter().find_map(|actor| match &actor.name {
        Name::Kernel(name) => Some(name.to_string()),
        _ => None,
    });
    let kernel = kernel.unwrap_or_default();
    let words = Words { places };
    let mut finding = Finding::new(conflict.rule, kernel, words.message(conflict));
    finding.help = help(conflict, places);
    finding.platforms = PlatformRow::everywhere(Outcome::MayBeWrong);
    if is_pair(conflict) {
        finding.assumes.push("host code makes these calls in this order".to_owned());
    } else {
        finding.known = Known::Observed;
    }
    let mut add = |site, label: String, primary| {
        let Some(Place { file, line }) = places.place(site) else { return };
        let backward =
            if places.is_for_backward(site) { " in the backward pass that begins here" } else { "" };
        let label = label + backward;
        let span = Span { primary, ..Span::cause(file, line, 0, label) };
        finding.spans.push(span);
    };
    let (own, other) = match conflict.rule {
        Rule::UncheckedAsyncError => {
            ("its error surfaces here".to_owned(), "the launch that was refused".to_owned())
        }
        Rule::HostCallback if !is_pair(conflict) => ("called in a host function".to_owned(), String::new()),
        _ => (words.label(later, *second), words.label(earlier, *first)),
    };
    let (earlier_site, later_site) = conflict.sites();
    add(later_site, own, true);
    for (site, hint) in &conflict.hints {
        add(*site, hint.clone(), false);
    }
    if !other.is_empty() {
        add(earlier_site, other, false);
    }
    // Exactly one place is primary: the first that is known.
    if !finding.spans.iter().any(|span| span.primary)
        && let Some(first) = finding.spans.first_mut()
    {
        first.primary = true;
    }
    let possible = |reason: &str| Known::Possible { reason: reason.to_owned() };
    match conflict.certainty {
        Certainty::Known => {}
        Certainty::Pointer => {
            finding.severity = Severity::Warning;
            finding.known = possible(
                "the kernel is handed a pointer to these very bytes; whether it uses it is in code that is not known",
            );
        }
        Certainty::Wide => {
            finding.severity = Severity::Note;
            finding.known = possible("which bytes of the buffer are touched is not known exactly");
        }
    }
    if conflict.bytes > 0 {
        let touched = format!("both touch {} at {:#x}", bytes(conflict.bytes), conflict.address);
        finding.notes.push(touched);
    }
    if conflict.times > 1 {
        finding.notes.push(format!("met {} times", conflict.times));
    }
    if is_pair(conflict) {
        if conflict.staged {
            finding.notes.push(STAGING.to_owned());
        }
        let decided = "decided from the order of the calls, whatever numbers this run gave: every run that makes \
                       these calls shows it";
        finding.notes.push(decided.to_owned());
    }
    finding
}

/// What a copy from pageable memory leaves undone (CUDA Runtime API, «API synchronization behavior»).
const STAGING: &str = "a copy from pageable memory returns when its source is in a staging buffer: the transfer from \
                       there runs on in the stream, here the default stream";

/// Whether the conflict is of two operations, and not a call that breaks a rule by itself.
fn is_pair(conflict: &Conflict) -> bool {
    conflict.bytes > 0 || !matches!(conflict.rule, Rule::HostCallback | Rule::UncheckedAsyncError)
}

fn bytes(count: u64) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

/// The line to add.
fn help(conflict: &Conflict, places: &dyn Places) -> String {
    let ((earlier, first), (later, _)) = (&conflict.earlier, &conflict.later);
    let line = |site| places.place(site).map(|place| place.line);
    let (earlier_site, later_site) = conflict.sites();
    let after = line(earlier_site).map(|line| format!(" after line {line}")).unwrap_or_default();
    let before = line(later_site).map(|line| format!(" before line {line}")).unwrap_or_default();
    match (conflict.rule, earlier.stream, later.stream) {
        (Rule::HostCallback, ..) if conflict.bytes == 0 => {
            "let the stream wait for the event before the host function".to_owned()
        }
        (Rule::UncheckedAsyncError, ..) => {
            format!("check `cudaGetLastError()` right{after}")
        }
        (Rule::GraphDependency, ..) => {
            format!("add the edge: record an event{after} and wait for it{before}")
        }
        (Rule::EventRecordedEarly, ..) => format!("record the event{after}"),
        (Rule::EventRerecorded, ..) => {
            "use an event of its own for each, or wait for it before it is recorded again".to_owned()
        }
        // No order helps against this one.
        (Rule::AllocOrder, ..) if *first == Deed::End => {
            let last = line(later_site).map(|line| format!(", on line {line}")).unwrap_or_default();
            format!("give the memory back behind its last use{last}")
        }
        (_, Some(from), Some(to)) => {
            let (from, to) = (stream_name(from), stream_name(to));
            format!("record an event on {from}{after} and let {to} wait for it{before}")
        }
        (_, Some(from), None) => {
            format!("synchronise {} (or an event recorded{after}){before}", stream_name(from))
        }
        (_, None, _) => format!("let the host finish{before}"),
    }
}
