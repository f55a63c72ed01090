//! Calls of the host in findings: from addresses in the program to lines of its source.

use std::path::Path;

use standstill_cuda_driver::HostFrame;
use standstill_cuda_driver::journal::HostPlace;
use standstill_findings::{Finding, Rule, Span};
use standstill_supervisor::{Frame, resolve};

use crate::call_sites::first_own_line;

/// Adds the calls that belong to a finding. `None` for a leak that no line of the reader's own is known for.
pub(super) fn with_places(mut finding: Finding, places: &[HostPlace]) -> Option<Finding> {
    for place in places {
        let frames: Vec<(&str, u64)> =
            place.frames.iter().map(|HostFrame { file, address }| (file.as_str(), *address)).collect();
        let frames = resolve(&frames);
        match first_own_line(&frames) {
            // Libraries may well keep what they have.
            Some(frame) if finding.rule == Rule::Leak && !Path::new(&frame.file).is_file() => return None,
            Some(frame) => {
                let mut span = Span::cause(frame.file.clone(), frame.line, 0, place.label.clone());
                span.primary = place.primary;
                if !finding.spans.contains(&span) {
                    finding.spans.push(span);
                }
            }
            None if finding.rule == Rule::Leak => return None,
            None => {
                if place.primary {
                    finding.spans.push(Span::primary("", 0, 0, place.label.clone()));
                }
                finding.notes.extend(note(place, &frames));
            }
        }
    }
    Some(finding)
}

/// A call in words, where the line table does not say more.
fn note(place: &HostPlace, frames: &[Frame]) -> Option<String> {
    let frame = frames.iter().find(|frame| !frame.function.is_empty())?;
    let file = frame.module.rsplit('/').next().unwrap_or(&frame.module);
    Some(format!(
        "{}: in `{}` of {file}, which has no line table (compile it with -g)",
        place.label, frame.function
    ))
}
