//! The report as one HTML page that needs nothing beside it: no script, no network, no second file.

mod page;
mod picture;
mod schedule;
mod thread_map;
mod timeline;

use std::fmt::Write;

use crate::summary::summary;
use crate::text::plain_finding;
use crate::{Report, Reported, Schedule, Sources, display_name};

use page::{STYLE, escape};

/// The report as a page: the summary, and each finding with its text, a picture of who waits for whom and
/// a map of the threads by what they wait for.
pub fn to_html(report: &Report, sources: &dyn Sources) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Standstill: {}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Who waits for whom</h1>\n",
        escape(summary(report, false).lines().next().unwrap_or_default()),
    );
    let _ = writeln!(out, "<p class=\"summary\">{}</p>", escape(summary(report, true).trim_end()));
    for error in &report.errors {
        let _ = writeln!(out, "<p class=\"error\">{}: {}</p>", escape(&error.file), escape(&error.message));
    }
    for (number, timeline) in report.timelines.iter().enumerate() {
        out.push_str(&timeline::timeline(timeline, number, &report.findings));
    }
    for (number, reported) in report.findings.iter().enumerate() {
        let schedules = report.schedules.iter();
        let schedule = schedules.clone().find(|schedule| schedule.finding == reported.finding.message);
        out.push_str(&section(reported, schedule, number + 1, sources));
    }
    out.push_str(&evidence(report));
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn section(reported: &Reported, schedule: Option<&Schedule>, number: usize, sources: &dyn Sources) -> String {
    let finding = &reported.finding;
    let mut out = String::new();
    let _ = write!(
        out,
        "<section class=\"{severity}\" id=\"f{number}\">\n<h2><span class=\"severity\">{severity} {code}</span> {message}</h2>\n\
         <p class=\"kernel\">{rule}{kernel}</p>\n",
        severity = finding.severity.word(),
        code = finding.rule.code(),
        message = escape(&finding.message),
        rule = finding.rule.name(),
        kernel = match finding.kernel.as_str() {
            "" => String::new(),
            kernel => format!(" in kernel <code>{}</code>", escape(&display_name(kernel))),
        },
    );
    if let Some(waits) = &finding.waits {
        if !waits.sentence.is_empty() {
            let _ = writeln!(out, "<p class=\"sentence\">{}</p>", escape(&waits.sentence));
        }
        out.push_str(&picture::waits(waits));
        out.push_str(&thread_map::thread_map(waits));
    }
    if let Some(schedule) = schedule {
        out.push_str(&schedule::schedule(schedule, sources));
    }
    let _ = writeln!(out, "<pre>{}</pre>\n</section>", escape(&plain_finding(reported, sources)));
    out
}

fn evidence(report: &Report) -> String {
    let evidence = &report.evidence;
    let seed = if evidence.device.is_empty() { String::new() } else { evidence.seed.to_string() };
    let rows = [
        ("command", evidence.command.as_str()),
        ("compiler", &evidence.compiler),
        ("driver", &evidence.driver),
        ("device", &evidence.device),
        ("seed", &seed),
    ];
    let mut out = String::from("<section>\n<h2>How to repeat this</h2>\n<table>\n");
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(out, "<tr><th>{name}</th><td><code>{}</code></td></tr>", escape(value));
    }
    for input in &evidence.inputs {
        let (path, hash) = (escape(&input.path), escape(&input.sha256));
        let _ =
            writeln!(out, "<tr><th>input</th><td><code>{path}</code> sha256 <code>{hash}</code></td></tr>");
    }
    out.push_str("</table>\n</section>\n");
    out
}
