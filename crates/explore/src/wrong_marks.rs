//! Marks of operations that do not fit together: histories with them cannot be judged, and that must be said.

use standstill_findings::{Finding, Known, Rule, Severity};
use standstill_kernel_ir::{Op, OperationMark, StructureOperation};

use crate::check::Outcome;
use crate::findings::{LineOf, span};
use crate::follow::{Follower, Misfit, Shown, Site, What};
use crate::schedule::Place;
use crate::search::{Search, Wrong};
use crate::system::{Next, System};

/// A mark of an operation that does not fit, so that histories with it are not judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongMark {
    /// What is wrong.
    pub what: String,
    /// Where it stands.
    pub place: Place,
    /// The mark before it that it does not fit.
    pub before: Option<Place>,
}

impl WrongMark {
    pub(crate) fn finding(&self, outcome: &Outcome, line_of: &LineOf<'_>) -> Finding {
        let message = format!("{}: histories of operations are not judged", self.what);
        let mut finding = Finding::new(Rule::Undecided, &outcome.kernel, message);
        finding.severity = Severity::Note;
        finding.known = Known::Possible { reason: "the marks of operations do not fit together".to_owned() };
        finding.spans.push(span(&self.place, "this mark", true, line_of));
        finding
            .spans
            .extend(self.before.iter().map(|place| span(place, "the mark before it", false, line_of)));
        finding.help = "let each thread mark the beginning and the end of an operation, one operation after the other; standstill.h lists \
                        the operations"
            .to_owned();
        finding
    }
}

/// The marks that do not fit together, each place once.
pub(crate) fn wrong_marks(system: &System<'_>, found: &Search) -> Vec<WrongMark> {
    let Some(Follower::Histories(histories)) = &system.orders else { return Vec::new() };
    let mut list: Vec<(Misfit, Site, Site)> = Vec::new();
    let mut add = |misfit, at, before| {
        if !list.iter().any(|&(known, there, _)| (known, there) == (misfit, at)) {
            list.push((misfit, at, before));
        }
    };
    for &(kind, _) in &found.wrong {
        let Wrong::Race { number, .. } = kind else { continue };
        if let Some(Shown { what: What::Marks(misfit), first, second, .. }) = histories.shown(number) {
            add(misfit, second.site, first.site);
        }
    }
    for &end in &found.ends {
        let state = found.graph.state(end);
        for (thread, site) in histories.open(state.get(system.threads()).copied().unwrap_or(0)) {
            if state.get(usize::from(thread)).is_some_and(|&local| system.next(local) == Next::Over) {
                add(Misfit::NeverEnds, site, site);
            }
        }
    }
    let words = |(misfit, at, before): (Misfit, Site, Site)| {
        let what = match misfit {
            Misfit::EndsNothing => "an operation ends here that its thread has not begun".to_owned(),
            Misfit::BeginsWithin => {
                "an operation begins here before the one that its thread began last has ended".to_owned()
            }
            Misfit::OtherKind => {
                let kind = |site| marked(system, site).map_or("", |operation| operation.names().0);
                let (here, there) = (kind(at), kind(before));
                format!("this is an operation of a {here}, and the structure at its address is a {there}")
            }
            Misfit::NeverEnds => "the operation that begins here never ends, but its thread does".to_owned(),
        };
        let before = system.site(before);
        let place = system.site(at);
        WrongMark { what, before: Some(before).filter(|before| *before != place), place }
    };
    list.into_iter().map(words).collect()
}

/// Marks that name no operation.
pub(crate) fn unknown_marks(system: &System<'_>) -> Vec<WrongMark> {
    let mut list = Vec::new();
    for (code, function) in system.codes.iter().zip(0..) {
        for (instruction, at) in code.iter().flat_map(|code| &code.function.instructions).zip(0..) {
            if instruction.op == Op::OperationMark(OperationMark::Unknown) {
                let what = "no structure has the operation that this mark names".to_owned();
                list.push(WrongMark { what, place: system.site((function, at)), before: None });
            }
        }
    }
    list
}

/// The operation that the mark at a place names.
fn marked(system: &System<'_>, (function, at): Site) -> Option<StructureOperation> {
    let code = system.codes.get(function as usize)?.as_ref()?;
    match code.function.instructions.get(at as usize)?.op {
        Op::OperationMark(OperationMark::Begins(operation) | OperationMark::Held(operation)) => {
            Some(operation)
        }
        _ => None,
    }
}
