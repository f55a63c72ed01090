//! Checks Rust kernels: the static rules, told in the words of Rust kernels.
//!
//! Belongs here: calling the static check for a program of `kernel-syntax`, which of its findings keep a kernel from
//! compiling, and the words and places of findings for readers of Rust kernels (tile, cell, `space.sync()`).
//! Does not belong here: the rules, the syntax, printing.

mod forms;
mod words;

use standstill_findings::{Coverage, Finding, Known, Platform, Severity, Span};
use standstill_kernel_ir::launch::LaunchShape;
use standstill_kernel_syntax::Program;
use standstill_static_check::Options;

pub use words::reader;

/// Under which assumptions to check, and whom to ask.
pub struct Request<'a> {
    /// What findings call the source file.
    pub file: &'a str,
    /// What is known of a kernel's launches, by its name.
    pub launch: &'a (dyn Fn(&str) -> LaunchShape + Sync),
    /// Whether a kernel is to be checked.
    pub wanted: &'a (dyn Fn(&str) -> bool + Sync),
    /// Whose behaviour decides what is an error beside a divergent `sync()`; `None` takes the worst of all platforms.
    pub platform: Option<Platform>,
}

/// Checks every kernel of a program that is wanted.
pub fn check(program: &Program, request: &Request<'_>) -> (Vec<Finding>, Coverage) {
    let outcome = standstill_static_check::check(
        program,
        &Options {
            input: request.file,
            main_source: Some(request.file),
            launch: request.launch,
            position: &|_| (0, 0),
            // Reading C++ in the lines of a Rust source would mislead the rules.
            source_line: &|_, _| None,
            platform: None,
            wanted: request.wanted,
            parameter_name: &|kernel, position| program.kernel(kernel)?.names.get(position as usize).cloned(),
        },
    );
    let mut findings = outcome.findings;
    for finding in &mut findings {
        // A kernel with a divergent `sync()` has no meaning on any platform; other faults are told where they bite.
        if !forms::is_divergent_sync(finding.rule) {
            finding.severity = finding.severity.min(finding.platforms.severity(request.platform));
        }
        told(program, finding);
    }
    (findings, outcome.coverage)
}

/// Checks a program for every launch on every platform, as it is done while it compiles.
pub fn check_anywhere(program: &Program, file: &str) -> Vec<Finding> {
    let launch = |_: &str| LaunchShape::default();
    check(program, &Request { file, launch: &launch, wanted: &|_| true, platform: None }).0
}

/// Whether a finding keeps its kernel from compiling: it is proved for every launch, or a `sync()` stands where
/// the cells of a tile may part. What is only possible otherwise is told at launch.
pub fn stops_compilation(finding: &Finding) -> bool {
    finding.severity == Severity::Error
        && (finding.known == Known::Proved || forms::is_divergent_sync(finding.rule))
}

/// Tells a finding of any engine about a Rust kernel in the words of its reader, with the whole extent of each place.
pub fn told(program: &Program, finding: &mut Finding) {
    for span in &mut finding.spans {
        widen(program, span);
    }
    if !forms::tell(program, finding) {
        words::VOCABULARY.tell(finding);
    }
}

/// Lets a span cover all of the piece of source that begins where it points.
fn widen(program: &Program, span: &mut Span) {
    if let Some(place) = program.place(&span.file, span.line, span.column)
        && place.end_line == place.line
    {
        span.width = place.end_column.saturating_sub(place.column);
    }
}
