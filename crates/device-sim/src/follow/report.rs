//! What was found, in words.

use standstill_findings::{Finding, Known, Outcome, PlatformRow, Rule, Severity, Span};

use super::doubt::Origin;
use super::{Found, Reach};
use crate::fault::Place;
use crate::grid::Grid;

impl Grid {
    /// Values that nobody gave and that decided something: each once, with the mark of the allocation that it was read
    /// from, or 0.
    pub fn doubtful(&self) -> Vec<(Finding, u64)> {
        let Some(follow) = &self.shared.follow else { return Vec::new() };
        let origin = |found: &Found| self.shared.device.memory().doubts().origin(found.origin);
        let finding = |found: &Found| {
            let origin = origin(found)?;
            let place = self.place(found.at.0, found.at.1);
            let finding = match found.unknown {
                true => undecided(&origin, &place, found.reach),
                false => unwritten(&origin, Some((&place, found.reach))),
            };
            Some((finding, origin.mark))
        };
        follow.found.iter().filter_map(finding).collect()
    }

    /// Why nothing that was seen in this launch is certain: it went by a value that is not known.
    pub fn guessed(&self) -> Option<String> {
        let follow = self.shared.follow.as_ref()?;
        let found = follow.found.iter().find(|found| found.unknown && found.reach != Reach::Host)?;
        let origin = self.shared.device.memory().doubts().origin(found.origin)?;
        Some(format!("the launch went by a value that the software GPU has no model for ({})", origin.what))
    }
}

fn span(place: &Place, label: &str, primary: bool) -> Span {
    let mut span = Span::primary(place.file.clone(), place.line, place.column, label);
    (span.primary, span.inlined_at) = (primary, place.inlined_at.clone());
    span
}

/// The finding about a value that was read from memory nobody wrote; `None` for a copy to the host.
pub(crate) fn unwritten(origin: &Origin, reached: Option<(&Place, Reach)>) -> Finding {
    let Origin { kernel, place, what, who, .. } = origin;
    let message = format!("`{what}` is read before anybody wrote it, by {who}");
    let mut finding = Finding::new(Rule::Uninitialised, kernel.clone(), message);
    finding.known = Known::Observed;
    finding.platforms = PlatformRow::everywhere(Outcome::WrongResult);
    finding.help = "write all of it before it is read, or clear it with `cudaMemset` or a loop".to_owned();
    finding.spans.push(span(place, "read here, where nobody has written", true));
    match reached {
        Some((at, reach)) => {
            let label = match reach {
                Reach::Branch => "the value decides what happens here",
                Reach::Address => "the value is an address here",
                Reach::Compare => "the value decides this exchange",
                Reach::Host => "what is computed from it goes to the host's memory here",
            };
            if (&at.file, at.line) == (&place.file, place.line) {
                finding.notes.push(label.replace(" here", " on this line"));
            } else if at.line > 0 {
                finding.spans.push(span(at, label, false));
            }
        }
        None => finding.notes.push("what is computed from it is copied to the host".to_owned()),
    }
    finding
}

/// The note about a value that the software GPU does not know.
fn undecided(origin: &Origin, at: &Place, reach: Reach) -> Finding {
    let does = match reach {
        Reach::Branch => "a branch depends on",
        Reach::Address => "an address is computed from",
        Reach::Compare => "an exchange compares",
        Reach::Host => "the host gets",
    };
    let what = &origin.what;
    let message = format!("{does} a value that the software GPU has no model for ({what})");
    let mut finding = Finding::new(Rule::Undecided, origin.kernel.clone(), message);
    finding.severity = Severity::Note;
    finding.known = Known::Possible { reason: "the launch went on as if the value were zero".to_owned() };
    finding.help = "run it on a card to see what it does with the real value".to_owned();
    finding.spans.push(span(at, "here", true));
    if (&at.file, at.line) != (&origin.place.file, origin.place.line) && origin.place.line > 0 {
        finding.spans.push(span(&origin.place, "the value comes from here", false));
    }
    finding
}

/// The finding about doubtful bytes that are copied to the host.
pub(crate) fn copied(origin: &Origin) -> Finding {
    match origin.unknown {
        true => undecided(origin, &origin.place, Reach::Host),
        false => unwritten(origin, None),
    }
}
