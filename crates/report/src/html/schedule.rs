//! A schedule as a drawing: a lane for each thread, steps from top to bottom in their order, what each reads or writes with its
//! line of the source, and where the fault shows.

use std::fmt::Write;

use super::page::escape;
use crate::{Schedule, Sources};

/// Steps that are drawn; the text has the rest.
const MOST_STEPS: usize = 400;
/// Letters of a source line that are shown.
const LETTERS: usize = 60;

/// The drawing of one schedule.
pub(super) fn schedule(schedule: &Schedule, sources: &dyn Sources) -> String {
    if schedule.steps.is_empty() && schedule.ends.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<p class=\"key\">The schedule, from top to bottom, with a lane for each thread. A double frame is a change of memory, a \
         single one a read; a thick one with ✗ is where the fault shows.</p>\n\
         <div class=\"scroll\"><table class=\"schedule\">\n<thead><tr><th>step</th>",
    );
    for lane in &schedule.lanes {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(lane));
    }
    out.push_str("<th>source</th></tr></thead>\n<tbody>\n");
    for (step, number) in schedule.steps.iter().take(MOST_STEPS).zip(1..) {
        let class = match (step.fault, step.writes) {
            (true, _) => "step fault",
            (false, true) => "step write",
            (false, false) => "step read",
        };
        let mark = if step.fault { "✗ " } else { "" };
        let _ = write!(out, "<tr><th scope=\"row\">{number}</th>");
        for lane in 0..schedule.lanes.len() {
            match lane == step.lane {
                true => {
                    let _ = write!(out, "<td><div class=\"{class}\">{mark}{}</div></td>", escape(&step.does));
                }
                false => out.push_str("<td class=\"idle\"></td>"),
            }
        }
        let _ = writeln!(out, "<td class=\"source\">{}</td></tr>", source(&step.file, step.line, sources));
    }
    if schedule.steps.len() > MOST_STEPS {
        let left = schedule.steps.len() - MOST_STEPS;
        let _ = writeln!(
            out,
            "<tr><th></th><td class=\"source\" colspan=\"{}\">… {left} more</td></tr>",
            schedule.lanes.len() + 1
        );
    }
    if !schedule.ends.is_empty() {
        out.push_str("<tr><th scope=\"row\">end</th>");
        for lane in 0..schedule.lanes.len() {
            match schedule.ends.iter().find(|end| end.lane == lane) {
                Some(end) => {
                    let line = if end.line > 0 { format!(" (line {})", end.line) } else { String::new() };
                    let _ =
                        write!(out, "<td><div class=\"step fault\">✗ {}{line}</div></td>", escape(&end.does));
                }
                None => out.push_str("<td class=\"idle\"></td>"),
            }
        }
        out.push_str("<td class=\"source\"></td></tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

/// The line of a step, with its text where that can be had.
fn source(file: &str, line: u32, sources: &dyn Sources) -> String {
    if line == 0 {
        return String::new();
    }
    let text = sources.text(file).and_then(|text| text.line(line).map(|line| line.trim().to_owned()));
    let text = text.unwrap_or_default();
    let shown: String = match text.chars().count() > LETTERS {
        true => text.chars().take(LETTERS - 1).chain(['…']).collect(),
        false => text,
    };
    format!("<span>{line}</span> <code>{}</code>", escape(&shown))
}
