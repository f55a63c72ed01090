//! The closing line: how much was found, and how much was looked at.

use std::fmt::Write;

use standstill_findings::Severity;

use crate::{Explored, Report};

/// Kinds of instruction that the line spells out; the rest is counted.
const SPELT_OUT: usize = 4;

/// The summary, one to three lines, each with its line end.
pub fn summary(report: &Report, verbose: bool) -> String {
    let mut line = counts(report);
    if report.allowed > 0 {
        let _ = write!(line, "; {} silenced", report.allowed);
    }
    let coverage = report.coverage;
    let _ = match (coverage.kernels, coverage.operations) {
        // Of a record of the host's calls.
        (0, operations) if operations > 0 => write!(line, "; checked {}", counted(operations, "operation")),
        (kernels, operations) => {
            write!(line, "; checked {} and {}", counted(kernels, "kernel"), counted(operations, "operation"))
        }
    };
    if coverage.widened > 0 {
        let _ = write!(line, ", {} widened", counted(coverage.widened, "range"));
    }
    if let Some(runs) = report.runs {
        let _ = match runs.made == runs.asked {
            true => write!(line, "; {} runs, seeds {} to {}", runs.made, runs.first_seed, runs.last_seed),
            false => write!(line, "; ended by run {} of {}, seed {}", runs.made, runs.asked, runs.last_seed),
        };
    }
    line.push('\n');
    if let Some(explored) = &report.explored {
        line.push_str(&search(explored));
    }
    if coverage.kernels + coverage.operations == 0 && report.errors.is_empty() && report.findings.is_empty() {
        line.push_str("nothing was analysed: no kernel was found in the input\n");
    }
    if !report.not_understood.is_empty() {
        line.push_str(&not_understood(report, verbose));
    }
    line
}

/// How much of a launch was explored, and under which schedulers it ends.
fn search(explored: &Explored) -> String {
    let origin = explored.origin.as_ref();
    let mut text = origin.map_or(String::new(), |origin| format!("explored: {origin}\n"));
    let _ = match &explored.limit {
        None => write!(text, "all interleavings were tried: {}", counted(explored.states, "state")),
        Some(limit) => {
            write!(text, "not all interleavings were tried: {limit}; {}", counted(explored.states, "state"))
        }
    };
    let _ = writeln!(
        text,
        ", {}, {}",
        counted(explored.steps, "step"),
        match explored.results {
            0 => "no end".to_owned(),
            1 => "one result".to_owned(),
            results => format!("{results} different results"),
        }
    );
    let _ = writeln!(text, "{}", explored.races);
    if let Some(progress) = &explored.progress {
        let _ = writeln!(text, "forward progress: {progress}");
    }
    let of = |ends: bool| {
        let names = explored.schedulers.iter().filter(|(_, ends_there)| *ends_there == ends);
        names.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    };
    for (ends, words) in [(true, "ends under"), (false, "can hang under")] {
        let names = of(ends);
        if !names.is_empty() {
            let _ = writeln!(text, "  {words} {names}");
        }
    }
    text
}

fn counts(report: &Report) -> String {
    let mut parts = Vec::new();
    for severity in [Severity::Error, Severity::Warning, Severity::Note] {
        let count = report.count(severity) as u64;
        if count > 0 {
            parts.push(counted(count, severity.word()));
        }
    }
    if !report.errors.is_empty() {
        parts.push(format!("{} not read", counted(report.errors.len() as u64, "input")));
    }
    if parts.is_empty() { "no findings".to_owned() } else { parts.join(", ") }
}

fn not_understood(report: &Report, verbose: bool) -> String {
    let mut kinds: Vec<(&str, u64)> = Vec::new();
    for item in &report.not_understood {
        match kinds.iter_mut().find(|(what, _)| *what == item.what) {
            Some((_, count)) => *count += item.count,
            None => kinds.push((&item.what, item.count)),
        }
    }
    kinds.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let shown = if verbose { kinds.len() } else { SPELT_OUT };
    let listed: Vec<String> =
        kinds.iter().take(shown).map(|(what, count)| format!("{what} ×{count}")).collect();
    let rest = kinds.len().saturating_sub(shown);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let total: u64 = kinds.iter().map(|(_, count)| count).sum();
    format!("not understood: {} ({}{more})\n", counted(total, "instruction"), listed.join(", "))
}

/// `1 kernel`, `2 kernels`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
