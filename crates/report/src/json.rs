//! The JSON contract: fields may be added, never changed.

use serde::Serialize;
use serde_json::{Map, Value};
use standstill_findings::{Finding, Known, Span};

use crate::{Report, Reported, Schedule, display_name};

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    findings: Vec<JsonFinding<'a>>,
    not_understood: Vec<NotUnderstood<'a>>,
    errors: Vec<JsonError<'a>>,
    coverage: Coverage,
    evidence: Evidence<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<Runs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explored: Option<Explored<'a>>,
    allowed: u64,
    program_exit: i32,
    exit: i32,
}

#[derive(Serialize)]
struct Explored<'a> {
    grid: [u32; 3],
    block: [u32; 3],
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'a str>,
    states: u64,
    steps: u64,
    results: u64,
    complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'a str>,
    races: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<&'a str>,
    /// Whether every execution ends, by scheduler.
    schedulers: Map<String, Value>,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    rule: &'static str,
    code: &'static str,
    severity: &'static str,
    known: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    input: &'a str,
    kernel: String,
    symbol: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    instances: Vec<String>,
    message: &'a str,
    help: &'a str,
    notes: &'a [String],
    spans: Vec<JsonSpan<'a>>,
    platforms: Map<String, Value>,
    assumes: &'a [String],
    waits: Option<Waits<'a>>,
    replay: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    schedule: Vec<JsonStep<'a>>,
}

/// A step of the schedule that shows the finding.
#[derive(Serialize)]
struct JsonStep<'a> {
    thread: &'a str,
    does: &'a str,
    file: &'a str,
    line: u32,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    fault: bool,
}

#[derive(Serialize)]
struct JsonSpan<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    label: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    primary: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cause: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    inlined_at: &'a [String],
}

#[derive(Serialize)]
struct Waits<'a> {
    cycle: Vec<String>,
    sentence: &'a str,
}

#[derive(Serialize)]
struct NotUnderstood<'a> {
    file: &'a str,
    line: u32,
    what: &'a str,
    count: u64,
}

#[derive(Serialize)]
struct JsonError<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    message: &'a str,
}

#[derive(Serialize)]
struct Coverage {
    kernels: u64,
    launches: u64,
    operations: u64,
    widened: u64,
}

#[derive(Serialize)]
struct Evidence<'a> {
    command: &'a str,
    inputs: Vec<Input<'a>>,
    compiler: &'a str,
    driver: &'a str,
    device: &'a str,
    seed: u64,
}

#[derive(Serialize)]
struct Runs {
    asked: u32,
    made: u32,
    first_seed: u64,
    last_seed: u64,
}

#[derive(Serialize)]
struct Input<'a> {
    path: &'a str,
    sha256: &'a str,
}

/// The report as one JSON object, indented, with a line end.
///
/// # Errors
/// Serialising plain data does not fail; the error is `serde_json`'s, for a caller that reports it.
pub fn to_json(report: &Report) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&document(report))?;
    text.push('\n');
    Ok(text)
}

fn document(report: &Report) -> Document<'_> {
    let (coverage, evidence) = (report.coverage, &report.evidence);
    Document {
        version: 1,
        findings: report.findings.iter().map(|reported| finding(reported, report)).collect(),
        not_understood: report
            .not_understood
            .iter()
            .map(|item| NotUnderstood {
                file: &item.file,
                line: item.line,
                what: &item.what,
                count: item.count,
            })
            .collect(),
        errors: report
            .errors
            .iter()
            .map(|e| JsonError { file: &e.file, line: e.line, column: e.column, message: &e.message })
            .collect(),
        coverage: Coverage {
            kernels: coverage.kernels,
            launches: coverage.launches,
            operations: coverage.operations,
            widened: coverage.widened,
        },
        evidence: Evidence {
            command: &evidence.command,
            inputs: evidence.inputs.iter().map(|i| Input { path: &i.path, sha256: &i.sha256 }).collect(),
            compiler: &evidence.compiler,
            driver: &evidence.driver,
            device: &evidence.device,
            seed: evidence.seed,
        },
        runs: report.runs.map(|runs| Runs {
            asked: runs.asked,
            made: runs.made,
            first_seed: runs.first_seed,
            last_seed: runs.last_seed,
        }),
        explored: report.explored.as_ref().map(|explored| Explored {
            grid: explored.grid,
            block: explored.block,
            origin: explored.origin.as_deref(),
            states: explored.states,
            steps: explored.steps,
            results: explored.results,
            complete: explored.limit.is_none(),
            limit: explored.limit.as_deref(),
            races: &explored.races,
            progress: explored.progress.as_deref(),
            schedulers: explored
                .schedulers
                .iter()
                .map(|(name, ends)| (name.clone(), (*ends).into()))
                .collect(),
        }),
        allowed: report.allowed,
        program_exit: report.program_exit,
        exit: report.exit,
    }
}

fn finding<'a>(reported: &'a Reported, report: &'a Report) -> JsonFinding<'a> {
    let finding = &reported.finding;
    let schedule = report.schedules.iter().find(|schedule| schedule.finding == finding.message);
    JsonFinding {
        rule: finding.rule.name(),
        code: finding.rule.code(),
        severity: finding.severity.word(),
        known: finding.known.word(),
        reason: match &finding.known {
            Known::Possible { reason } => Some(reason),
            _ => None,
        },
        input: &reported.input,
        kernel: display_name(&finding.kernel),
        symbol: &finding.kernel,
        instances: reported.instances.iter().map(|symbol| display_name(symbol)).collect(),
        message: &finding.message,
        help: &finding.help,
        notes: &finding.notes,
        spans: spans(finding),
        platforms: finding
            .platforms
            .outcomes
            .iter()
            .map(|(platform, outcome)| (platform.key().to_owned(), Value::from(outcome.words())))
            .collect(),
        assumes: &finding.assumes,
        waits: finding
            .waits
            .as_ref()
            .map(|graph| Waits { cycle: graph.cycle_words(), sentence: &graph.sentence }),
        replay: finding.replay.as_deref(),
        schedule: schedule.map_or(Vec::new(), steps),
    }
}

fn steps(schedule: &Schedule) -> Vec<JsonStep<'_>> {
    let steps = schedule.steps.iter().map(|step| JsonStep {
        thread: schedule.lanes.get(step.lane).map_or("", String::as_str),
        does: &step.does,
        file: &step.file,
        line: step.line,
        fault: step.fault,
    });
    steps.collect()
}

fn spans(finding: &Finding) -> Vec<JsonSpan<'_>> {
    finding.spans.iter().map(span).collect()
}

fn span(span: &Span) -> JsonSpan<'_> {
    JsonSpan {
        file: &span.file,
        line: span.line,
        column: span.column,
        label: &span.label,
        primary: span.primary,
        cause: !span.primary,
        inlined_at: &span.inlined_at,
    }
}
