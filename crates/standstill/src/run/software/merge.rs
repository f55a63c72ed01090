//! One report of a run: what was seen, and what the code of each launched kernel decides for its real launches.

use std::path::Path;

use standstill_cuda_driver::journal::LaunchRecord;
use standstill_cuda_driver::{Card, DEFAULT_MODEL};
use standstill_findings::{Coverage, Finding, Known, Rule, Severity};
use standstill_kernel_ir::launch::LaunchShape;
use standstill_report::{InputError, Kernel, Report, Sources, merge};

use super::super::report::is_text;
use super::RunArgs;
use super::journal::{LaunchedModule, Told};
use super::names::{readable, rename};
use crate::check::{is_allowed, readers_path, rename_files};
use crate::disk::DiskSources;
use crate::engine::{Request, analyse, with_parameter_names};
use crate::output::say;
use crate::streams::{draw, unknown_bytes};

/// A kernel is checked for at most this many different launches.
const LAUNCHES: usize = 4;

/// Fills the report with everything that the runs gave.
pub(super) fn fill(
    report: &mut Report,
    arguments: &RunArgs,
    input: &Path,
    allowed: &[Rule],
    told: &Told,
    sources: &DiskSources,
) {
    let shown = input.display().to_string();
    let mut findings = seen(arguments, told);
    // A program that gave up has good reason to leave memory allocated.
    let gave_up =
        report.program_exit != 0 || findings.iter().any(|finding| finding.severity == Severity::Error);
    findings.retain(|finding| finding.rule != Rule::Leak || !gave_up);
    for module in &told.modules {
        check(report, arguments, module, &shown, sources, &mut findings);
    }
    name_files(&mut findings, input);
    let before = findings.len();
    findings.retain(|finding| !is_allowed(finding, allowed, &shown, sources));
    report.allowed += (before - findings.len()) as u64;
    report.findings = merge(&shown, findings);
    report.not_understood.extend(unknown_bytes(&shown, told.unknown));
    if arguments.output.html.is_some() {
        report.timelines = told.traces.iter().map(|trace| draw(trace, &shown)).collect();
    }
    report.coverage.launches = told.launches;
    report.coverage.operations = told.operations;
    if is_text(&arguments.output) {
        told.troubles.iter().for_each(|trouble| say(&format!("standstill: {}", readable(trouble))));
        return;
    }
    let trouble =
        |message: &String| InputError { file: shown.clone(), line: 0, column: 0, message: readable(message) };
    report.errors.extend(told.troubles.iter().map(trouble));
}

/// Whether a run gave a finding that is more than a note, and that nobody has silenced.
pub(super) fn raises(
    arguments: &RunArgs,
    input: &Path,
    allowed: &[Rule],
    told: &Told,
    sources: &DiskSources,
) -> bool {
    let shown = input.display().to_string();
    let mut findings = seen(arguments, told);
    findings.retain(|finding| finding.severity > Severity::Note);
    name_files(&mut findings, input);
    findings.iter().any(|finding| !is_allowed(finding, allowed, &shown, sources))
}

/// What the runs found, each fault once.
fn seen(arguments: &RunArgs, told: &Told) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for finding in &told.findings {
        let mut finding = finding.clone();
        let by_platform = finding.platforms.severity(arguments.verdict.platform.platform());
        finding.severity = finding.severity.min(by_platform);
        if matches!(finding.known, Known::Possible { .. }) {
            finding.severity = finding.severity.min(Severity::Warning);
        }
        if let Some(graph) = &finding.waits {
            // The report shows the sentence of the graph by itself.
            finding.notes.retain(|note| *note != graph.sentence);
        }
        if !findings.iter().any(|known| is_same(known, &finding)) {
            findings.push(finding);
        }
    }
    findings
}

/// Names files as the user does.
pub(in crate::run) fn name_files(findings: &mut [Finding], input: &Path) {
    let here = std::env::current_dir().ok();
    let absolute = std::fs::canonicalize(input).ok();
    rename_files(findings, |file| {
        // The compiler writes the folder it ran in before a relative path.
        readers_path(file, input, here.as_deref(), absolute.as_deref())
    });
}

/// Checks the kernels of a module that were launched, with the shapes and arguments they were launched with.
fn check(
    report: &mut Report,
    arguments: &RunArgs,
    module: &LaunchedModule,
    shown: &str,
    sources: &DiskSources,
    findings: &mut Vec<Finding>,
) {
    let model = arguments.software.gpu.map_or(DEFAULT_MODEL, |model| model.name);
    let card = Card::find(model);
    let shape = |launch: &LaunchRecord| LaunchShape {
        block: Some(launch.block),
        grid: Some(launch.grid),
        cluster: (launch.cluster != [1, 1, 1]).then_some(launch.cluster),
        parameters: launch.parameters.iter().map(|(position, value)| (*position, *value)).collect(),
        assumptions: Vec::new(),
        device: card.map(|card| card.device),
        registers: module.registers.get(&launch.kernel).copied().or(Some(launch.registers)),
    };
    let shapes = |symbol: &str| {
        let mut shapes: Vec<LaunchShape> = Vec::new();
        for launch in module.launches.iter().filter(|launch| launch.kernel == symbol) {
            let shape = shape(launch);
            if shapes.len() < LAUNCHES && !shapes.contains(&shape) {
                shapes.push(shape);
            }
        }
        shapes
    };
    let main = std::fs::canonicalize(shown).ok();
    let name = format!("{shown}!ptx");
    let analysis = analyse(&Request {
        text: &module.text,
        name: &name,
        shapes: &shapes,
        platform: arguments.verdict.platform.platform(),
        is_main: &|file| main.is_some() && std::fs::canonicalize(file).ok() == main,
        sources,
    });
    let seen = |finding: &&mut Finding| module.launches.iter().any(|launch| launch.kernel == finding.kernel);
    with_parameter_names(&module.text, sources, &mut |names| {
        for finding in findings.iter_mut().filter(seen) {
            let kernel = finding.kernel.clone();
            rename(finding, &|position| names(&kernel, position));
        }
    });
    let kernel = |symbol| Kernel { input: shown.to_owned(), symbol };
    report.kernels.extend(analysis.kernels.into_iter().map(kernel));
    report.coverage.add(Coverage { launches: 0, operations: 0, ..analysis.coverage });
    report.not_understood.extend(analysis.not_understood);
    for finding in analysis.findings {
        match findings.iter_mut().find(|known| is_same(known, &finding)) {
            Some(known) => join(known, finding),
            None => findings.push(left_open_by_code(finding)),
        }
    }
    if findings.iter().flat_map(|finding| &finding.spans).any(|span| span.file == name) {
        sources.insert(name, module.text.clone().into());
    }
    let _ = sources.text(shown);
}

/// A finding of the code alone. Which lanes come to a warp operation is seen in a run, so that what the code leaves open
/// there is no more than a note.
fn left_open_by_code(mut finding: Finding) -> Finding {
    if finding.rule == Rule::WarpMask && matches!(finding.known, Known::Possible { .. }) {
        finding.severity = finding.severity.min(Severity::Note);
    }
    finding
}

/// Whether two findings are one fault: the same rule in the same kernel, and one of them points at a line that the
/// other shows.
fn is_same(a: &Finding, b: &Finding) -> bool {
    let shows = |finding: &Finding, other: &Finding| {
        let place = other.primary_span();
        finding
            .spans
            .iter()
            .any(|span| place.is_some_and(|at| (&at.file, at.line) == (&span.file, span.line)))
    };
    a.rule == b.rule && a.kernel == b.kernel && (shows(a, b) || shows(b, a))
}

/// One fault that was seen and is decided by the code too: the proof says more, the run how to see it.
fn join(seen: &mut Finding, decided: Finding) {
    let (replay, waits) = (seen.replay.take(), seen.waits.take());
    if decided.known == Known::Proved && decided.severity >= seen.severity {
        *seen = decided;
    }
    seen.replay = replay.or(seen.replay.take());
    seen.waits = waits.or(seen.waits.take());
}
