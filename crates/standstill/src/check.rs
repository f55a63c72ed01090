//! `check`: every input through the engine, and one report about all.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use standstill_findings::{Coverage, Finding, NotUnderstood, Rule};
use standstill_report::{Evidence, Input, InputError, Kernel, Report, Reported, Sources, merge};

use crate::args::{CheckArgs, Format};
use crate::comments::{self, LaunchComment};
use crate::compile::Toolchain;
use crate::disk::DiskSources;
use crate::engine::{Analysis, Request, analyse};
use crate::exit::{self, BAD_INPUT};
use crate::input::{self, Language, PtxText};
use crate::kernel_text;
use crate::launch;
use crate::output::{self, fail};
use crate::slips;
use crate::unused::{self, KernelFacts};
use crate::{rust, shader};

/// What one input gave.
#[derive(Debug, Default)]
struct Checked {
    findings: Vec<Reported>,
    kernels: Vec<String>,
    coverage: Coverage,
    not_understood: Vec<NotUnderstood>,
    errors: Vec<InputError>,
    /// All kernels of the input.
    facts: Vec<KernelFacts>,
    /// What the user should know beside the report.
    warnings: Vec<String>,
    allowed: u64,
    compiler: String,
    input: Option<Input>,
}

/// Checks the inputs and writes the report; gives the exit code.
pub(crate) fn check(arguments: &CheckArgs) -> u8 {
    let allowed = arguments.verdict.allowed();
    if let Some(message) = unused::contradiction(&arguments.launch) {
        fail(&message);
        return BAD_INPUT;
    }
    let sources = DiskSources::default();
    let checked = check_all(arguments, &allowed, &sources);
    let report = assemble(arguments, checked);
    output::write(&report, &sources, &arguments.output)
}

/// Checks every input, in parallel when there are several; the results stand in the order of the call.
fn check_all(arguments: &CheckArgs, allowed: &[Rule], sources: &DiskSources) -> Vec<Checked> {
    let toolchain = Toolchain::new(&arguments.compiler);
    let one = |path: &PathBuf| check_one(path, arguments, &toolchain, allowed, sources);
    let jobs = arguments.jobs.unwrap_or(0);
    // A single file is not worth starting threads for.
    if arguments.files.len() == 1 || jobs == 1 {
        return arguments.files.iter().map(one).collect();
    }
    match rayon::ThreadPoolBuilder::new().num_threads(jobs).build() {
        Ok(pool) => pool.install(|| arguments.files.par_iter().map(one).collect()),
        Err(_) => arguments.files.iter().map(one).collect(),
    }
}

fn check_one(
    path: &Path,
    arguments: &CheckArgs,
    toolchain: &Toolchain<'_>,
    allowed: &[Rule],
    sources: &DiskSources,
) -> Checked {
    let shown = input::shown(path);
    let hash = matches!(arguments.output.format, Format::Json | Format::Sarif);
    let loaded = input::load(path, toolchain, hash);
    let mut checked = Checked { errors: loaded.errors, ..Checked::default() };
    let readable = loaded.source.is_some()
        || loaded.kernel_text.is_some()
        || loaded.module.is_some()
        || !loaded.texts.is_empty()
        || !loaded.sha256.is_empty();
    checked.input = readable.then(|| Input { path: shown.clone(), sha256: loaded.sha256 });
    let mut findings = Vec::new();
    for (index, text) in loaded.texts.into_iter().enumerate() {
        // Comments speak from the source, or from the PTX itself.
        let (launches, wrong) = comments::launches(loaded.source.as_deref().unwrap_or(&text.text));
        checked.errors.extend(wrong.into_iter().map(|error| InputError {
            file: shown.clone(),
            line: error.line,
            column: 0,
            message: error.message,
        }));
        if index == 0 {
            let slips = slips::slips(loaded.source.as_deref().unwrap_or(&text.text));
            let line = |slip: comments::CommentError| format!("{shown}:{}: {}", slip.line, slip.message);
            checked.warnings.extend(slips.into_iter().map(line));
        }
        let is_main = |file: &str| {
            loaded.compiled.as_ref().is_some_and(|compiled| compiled.as_typed(file) == shown.as_str())
        };
        let analysis = analyse_text(&text, arguments, &launches, &loaded.registers, &is_main, sources);
        let judged: HashSet<&String> = analysis.kernels.iter().collect();
        let blocks = analysis.facts.iter().filter(|kernel| judged.contains(&kernel.symbol));
        let blocks = blocks.flat_map(|kernel| {
            let shapes = launch::shapes(&arguments.launch, &launches, None, &kernel.symbol);
            shapes.into_iter().filter_map(move |shape| Some((kernel, shape.block?)))
        });
        checked.warnings.extend(unused::forbidden(blocks).into_iter().map(|line| format!("{shown}: {line}")));
        findings.extend(take(analysis, &text, &mut checked));
        keep_shown(text, &findings, sources);
    }
    if let Some((language, text)) = loaded.kernel_text {
        findings.extend(check_kernel_text(language, text, &[], &shown, arguments, &mut checked, sources));
    }
    if let Some(module) = loaded.module {
        let (language, text) = (Language::SpirV, String::new());
        findings.extend(check_kernel_text(language, text, &module, &shown, arguments, &mut checked, sources));
    }
    if let Some(compiled) = &loaded.compiled {
        checked.compiler = compiled.compiler.clone();
        rename_files(&mut findings, |file| Some(compiled.as_typed(file).into_owned()));
        if arguments.output.verbose && !compiled.warnings.is_empty() {
            output::say(&format!("{}\n{}", compiled.command, compiled.warnings));
        }
    }
    let here = std::env::current_dir().ok();
    let absolute = std::fs::canonicalize(path).ok();
    rename_files(&mut findings, |file| readers_path(file, path, here.as_deref(), absolute.as_deref()));
    let before = findings.len();
    findings.retain(|finding| !is_allowed(finding, allowed, &shown, sources));
    checked.allowed = (before - findings.len()) as u64;
    checked.findings = merge(&shown, findings);
    checked
}

fn analyse_text(
    text: &PtxText,
    arguments: &CheckArgs,
    launches: &[LaunchComment],
    registers: &HashMap<String, u32>,
    is_main: &dyn Fn(&str) -> bool,
    sources: &DiskSources,
) -> Analysis {
    analyse(&Request {
        text: &text.text,
        name: &text.name,
        shapes: &|symbol| match wanted(arguments, symbol) {
            true => launch::shapes(&arguments.launch, launches, registers.get(symbol).copied(), symbol),
            false => Vec::new(),
        },
        platform: arguments.verdict.platform.platform(),
        is_main,
        sources,
    })
}

/// Checks a source that is read without a compiler; gives the findings.
fn check_kernel_text(
    language: Language,
    text: String,
    module: &[u8],
    shown: &str,
    arguments: &CheckArgs,
    checked: &mut Checked,
    sources: &DiskSources,
) -> Vec<Finding> {
    let error = |line, column, message| InputError { file: shown.to_owned(), line, column, message };
    let (launches, wrong) = comments::launches(&text);
    checked.errors.extend(wrong.into_iter().map(|slip| error(slip.line, 0, slip.message)));
    let analyse = match language {
        Language::Rust => rust::analyse,
        Language::Wgsl => shader::analyse,
        Language::SpirV => shader::analyse_module,
    };
    let request = kernel_text::Request {
        text: &text,
        module,
        name: shown,
        shapes: &|name| match wanted(arguments, name) {
            true => launch::shapes(&arguments.launch, &launches, None, name),
            false => Vec::new(),
        },
        platform: arguments.verdict.platform.platform(),
        by_specification: arguments.wgsl_strict,
    };
    let analysed = kernel_text::with_room(&request, analyse);
    if module.is_empty() {
        sources.insert(shown.to_owned(), text.into());
    }
    for (file, text) in analysed.sources {
        if file == shown || sources.text(&file).is_none() {
            sources.insert(file, text.into());
        }
    }
    checked.errors.extend(analysed.problems.into_iter().map(|p| error(p.line, p.column, p.message)));
    checked.kernels.extend(analysed.kernels);
    checked.facts.extend(analysed.facts);
    checked.coverage.add(analysed.coverage);
    analysed.findings
}

/// Whether the call asks about a kernel.
fn wanted(arguments: &CheckArgs, symbol: &str) -> bool {
    arguments.kernel.is_empty() || arguments.kernel.iter().any(|name| launch::names_kernel(name, symbol))
}

/// Moves what a text gave into the input's result; gives the findings.
fn take(analysis: Analysis, text: &PtxText, checked: &mut Checked) -> Vec<Finding> {
    checked.kernels.extend(analysis.kernels);
    checked.facts.extend(analysis.facts);
    checked.coverage.add(analysis.coverage);
    checked.not_understood.extend(analysis.not_understood);
    if let Some((problem, count)) = analysis.problem {
        let more = if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() };
        checked.errors.push(InputError {
            file: text.name.clone(),
            line: problem.line,
            column: problem.column,
            message: format!("{}{more}", problem.message),
        });
    }
    analysis.findings
}

/// Keeps a PTX text when a finding points into it.
fn keep_shown(text: PtxText, findings: &[Finding], sources: &DiskSources) {
    if findings.iter().flat_map(|f| &f.spans).any(|span| span.file == text.name) {
        sources.insert(text.name, text.text.into());
    }
}

/// Gives the files of all places new names, where `rename` has one.
pub(crate) fn rename_files(findings: &mut [Finding], rename: impl Fn(&str) -> Option<String>) {
    for span in findings.iter_mut().flat_map(|finding| &mut finding.spans) {
        if let Some(name) = rename(&span.file) {
            span.file = name;
        }
        for call in &mut span.inlined_at {
            if let Some((file, line)) = call.rsplit_once(':')
                && let Some(name) = rename(file)
            {
                *call = format!("{name}:{line}");
            }
        }
    }
}

/// A path as the reader knows it: the input as it was named, others relative to the current folder. A
/// relative path that is not there may count from the input's folder, where the compiler ran.
pub(crate) fn readers_path(
    file: &str,
    input: &Path,
    here: Option<&Path>,
    absolute: Option<&Path>,
) -> Option<String> {
    let path = Path::new(file);
    if path == input {
        return None;
    }
    if absolute.is_some() && std::fs::canonicalize(path).ok().as_deref() == absolute {
        return Some(input.display().to_string());
    }
    if let Some(rest) = here.and_then(|here| path.strip_prefix(here).ok()) {
        return Some(rest.display().to_string());
    }
    let beside = input.parent()?.join(path);
    (!path.exists() && beside.is_file()).then(|| beside.display().to_string())
}

/// Whether a flag or a comment silences the finding: a comment on the line that it points at, or on its
/// line of a PTX input.
pub(crate) fn is_allowed(finding: &Finding, allowed: &[Rule], shown: &str, sources: &DiskSources) -> bool {
    if allowed.contains(&finding.rule) {
        return true;
    }
    let speaks =
        |span: &&standstill_findings::Span| span.primary || span.file == shown && shown.ends_with(".ptx");
    finding.spans.iter().filter(speaks).any(|span| {
        sources.text(&span.file).is_some_and(|text| comments::allows(&text, span.line, finding.rule))
    })
}

fn assemble(arguments: &CheckArgs, checked: Vec<Checked>) -> Report {
    let mut report = Report { fail_on: arguments.verdict.fail_on.severity(), ..Report::default() };
    let mut compilers: Vec<String> = Vec::new();
    let mut facts = Vec::new();
    for (path, one) in arguments.files.iter().zip(checked) {
        let input = input::shown(path);
        for warning in &one.warnings {
            output::say(&format!("warning: {warning}"));
        }
        facts.extend(one.facts);
        report.findings.extend(one.findings);
        report.not_understood.extend(one.not_understood);
        report.errors.extend(one.errors);
        let kernel = |symbol| Kernel { input: input.clone(), symbol };
        report.kernels.extend(one.kernels.into_iter().map(kernel));
        report.coverage.add(one.coverage);
        report.allowed += one.allowed;
        report.evidence.inputs.extend(one.input);
        if !one.compiler.is_empty() && !compilers.contains(&one.compiler) {
            compilers.push(one.compiler);
        }
    }
    if !arguments.kernel.is_empty() && report.kernels.is_empty() && report.errors.is_empty() {
        report.errors.push(InputError {
            file: "--kernel".to_owned(),
            line: 0,
            column: 0,
            message: format!("no kernel in the inputs is named {}", arguments.kernel.join(" or ")),
        });
    }
    if report.errors.is_empty() {
        report.errors.extend(unused::unused(&arguments.launch, &facts));
    }
    report.evidence = Evidence { command: command_line(), compiler: compilers.join(", "), ..report.evidence };
    report.exit = i32::from(exit::code(&report, arguments.verdict.strict));
    report
}

/// The command line, quoted so that a shell reads it back.
pub(crate) fn command_line() -> String {
    let quoted = |argument: std::ffi::OsString| {
        let argument = argument.to_string_lossy().into_owned();
        let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
        match !argument.is_empty() && argument.chars().all(plain) {
            true => argument,
            false => format!("'{}'", argument.replace('\'', "'\\''")),
        }
    };
    let arguments: Vec<String> = std::env::args_os().skip(1).map(quoted).collect();
    format!("standstill {}", arguments.join(" "))
}
