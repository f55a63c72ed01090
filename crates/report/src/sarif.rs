//! SARIF 2.1.0, for code hosts and editors.

use serde_json::{Value, json};
use standstill_findings::{Finding, Known, Rule, Severity, Span};

use crate::text::platform_row;
use crate::{Report, Reported, Schedule, display_name};

/// The report as a SARIF log, indented, with a line end.
///
/// # Errors
/// Serialising plain data does not fail; the error is `serde_json`'s, for a caller that reports it.
pub fn to_sarif(report: &Report) -> Result<String, serde_json::Error> {
    let rules = used_rules(report);
    let results: Vec<Value> =
        report.findings.iter().map(|reported| result(reported, report, &rules)).collect();
    let notifications: Vec<Value> = report.errors.iter().map(notification).collect();
    let artifacts: Vec<Value> = report
        .evidence
        .inputs
        .iter()
        .map(|input| json!({"location": {"uri": uri(&input.path)}, "hashes": {"sha-256": input.sha256}}))
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "standstill",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|rule| descriptor(*rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "commandLine": report.evidence.command,
                "executionSuccessful": report.errors.is_empty(),
                "exitCode": report.exit,
                "toolExecutionNotifications": notifications,
            }],
            "artifacts": artifacts,
            "results": results,
        }],
    });
    let mut text = serde_json::to_string_pretty(&log)?;
    text.push('\n');
    Ok(text)
}

/// The rules that occur, in the order of the rule table.
fn used_rules(report: &Report) -> Vec<Rule> {
    let used = |rule: Rule| report.findings.iter().any(|reported| reported.finding.rule == rule);
    Rule::all().map(|info| info.rule).filter(|rule| used(*rule)).collect()
}

/// Two rules may share a code, and identifiers must not repeat: `E0009/divergent-barrier`.
fn identifier(rule: Rule) -> String {
    format!("{}/{}", rule.code(), rule.name())
}

fn descriptor(rule: Rule) -> Value {
    let info = rule.info();
    json!({
        "id": identifier(rule),
        "name": info.name,
        "shortDescription": {"text": info.summary},
        "fullDescription": {"text": info.summary},
        "help": {"text": rule.explanation(), "markdown": rule.explanation()},
    })
}

fn level(severity: Severity) -> &'static str {
    // SARIF's words are the same three.
    severity.word()
}

fn result(reported: &Reported, report: &Report, rules: &[Rule]) -> Value {
    let finding = &reported.finding;
    let schedule = report.schedules.iter().find(|schedule| schedule.finding == finding.message);
    let index = rules.iter().position(|rule| *rule == finding.rule);
    let mut properties = json!({
        "known": finding.known.word(),
        "assumes": finding.assumes,
        "instances": reported.instances.iter().map(|symbol| display_name(symbol)).collect::<Vec<_>>(),
    });
    if let (Known::Possible { reason }, Some(map)) = (&finding.known, properties.as_object_mut()) {
        map.insert("reason".to_owned(), json!(reason));
    }
    let primary: Vec<Value> =
        finding.spans.iter().filter(|span| span.primary).map(|span| location(span, finding)).collect();
    let related: Vec<Value> =
        finding.spans.iter().filter(|span| !span.primary).enumerate().map(related_location).collect();
    let mut result = json!({
        "ruleId": identifier(finding.rule),
        "ruleIndex": index.map_or(-1, |index| i64::try_from(index).unwrap_or(-1)),
        "level": level(finding.severity),
        "message": {"text": message(finding)},
        "locations": primary,
        "relatedLocations": related,
        "properties": properties,
    });
    if let (Some(schedule), Some(map)) = (schedule, result.as_object_mut()) {
        let flows = thread_flows(schedule);
        if !flows.is_empty() {
            map.insert("codeFlows".to_owned(), json!([{"threadFlows": flows}]));
        }
    }
    result
}

/// A schedule: a flow for each thread, with the order of all steps (SARIF 2.1.0, 3.36 to 3.38).
fn thread_flows(schedule: &Schedule) -> Vec<Value> {
    let flow = |(lane, name): (usize, &String)| {
        let steps = schedule.steps.iter().zip(1..).filter(|(step, _)| step.lane == lane);
        let steps = steps.map(|(step, order): (_, i64)| {
            let place = Span::primary(step.file.as_str(), step.line, 0, "");
            json!({
                "executionOrder": order,
                "location": {"physicalLocation": physical(&place), "message": {"text": step.does}},
            })
        });
        let steps: Vec<Value> = steps.collect();
        // A flow has at least one place.
        (!steps.is_empty()).then(|| json!({"id": name, "message": {"text": name}, "locations": steps}))
    };
    schedule.lanes.iter().enumerate().filter_map(flow).collect()
}

/// The message with what the reader of a code host needs to see beside it.
fn message(finding: &Finding) -> String {
    let mut parts = vec![finding.message.clone()];
    parts.extend(finding.waits.iter().map(|waits| waits.sentence.clone()).filter(|s| !s.is_empty()));
    parts.extend(finding.notes.iter().cloned());
    parts.extend(platform_row(&finding.platforms));
    if !finding.help.is_empty() {
        parts.push(format!("help: {}", finding.help));
    }
    parts.join("\n")
}

fn physical(span: &Span) -> Value {
    let mut place = json!({"artifactLocation": {"uri": uri(&span.file)}});
    if span.line > 0
        && let Some(map) = place.as_object_mut()
    {
        let mut region = json!({"startLine": span.line});
        if let (true, Some(region)) = (span.column > 0, region.as_object_mut()) {
            region.insert("startColumn".to_owned(), json!(span.column));
        }
        map.insert("region".to_owned(), region);
    }
    place
}

fn location(span: &Span, finding: &Finding) -> Value {
    json!({
        "physicalLocation": physical(span),
        "message": {"text": span.label},
        "logicalLocations": [{
            "fullyQualifiedName": display_name(&finding.kernel),
            "decoratedName": finding.kernel,
            "kind": "function",
        }],
    })
}

fn related_location((index, span): (usize, &Span)) -> Value {
    json!({"id": index, "physicalLocation": physical(span), "message": {"text": span.label}})
}

fn notification(error: &crate::InputError) -> Value {
    let place = Span::primary(error.file.as_str(), error.line, error.column, "");
    json!({
        "level": "error",
        "message": {"text": error.message},
        "locations": [{"physicalLocation": physical(&place)}],
    })
}

/// A path as a URI reference: what may not stand in one is percent-encoded.
fn uri(path: &str) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(path.len());
    if path.starts_with('/') {
        out.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'\\' => out.push('/'),
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'/'
            | b'.'
            | b'-'
            | b'_'
            | b'~'
            | b'+'
            | b','
            | b'=' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}
