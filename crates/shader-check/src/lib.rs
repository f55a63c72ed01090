//! Checks compute shaders: the static rules, told in the words of shaders.
//!
//! Belongs here: calling the static check for a shader, and the words of its findings for readers of WGSL (workgroup,
//! invocation, `workgroupBarrier()`).
//! Does not belong here: the rules, reading shaders, printing.

mod words;

use standstill_findings::{Coverage, Finding, Known, Platform, Rule, Severity};
use standstill_kernel_ir::launch::LaunchShape;
use standstill_kernel_ir::{FunctionId, Program as _};
use standstill_shader::Shader;
use standstill_static_check::Options;

pub use words::reader;

const NOTE: &str = "all invocations of a workgroup must reach a barrier together: in non-uniform control flow some wait for \
                    others that never come, or run past it unordered (WGSL, «Uniformity»)";
const NOTE_SPIRV: &str = "all invocations of a workgroup must reach a barrier together: in non-uniform control flow some wait \
                          for others that never come, or run past it unordered (SPIR-V, «OpControlBarrier»)";
const HELP_BRANCH: &str =
    "move the barrier out of the conditional, or make the condition uniform across the workgroup";
const HELP_RETURN: &str = "let trailing invocations load a neutral value and reach the barrier with the others, and guard only \
                           the store";
const HELP_LOOP: &str =
    "let all invocations of the workgroup run the loop equally often, and guard the work inside it";

const HELP_ORDER: &str = "atomics of WGSL order nothing around them: inside a workgroup put `workgroupBarrier()` between the two \
                          sides; between workgroups hand data over from one dispatch to the next, or in the atomics themselves";

/// Under which assumptions to check, and whom to ask.
pub struct Request<'a> {
    /// What findings call the source file.
    pub file: &'a str,
    /// What is known of an entry point's launches, by its name.
    pub launch: &'a (dyn Fn(&str) -> LaunchShape + Sync),
    /// Whether an entry point is to be checked.
    pub wanted: &'a (dyn Fn(&str) -> bool + Sync),
    /// Whose behaviour decides what is an error; `None` takes the worst of all platforms.
    pub platform: Option<Platform>,
}

/// Checks every entry point of a shader that is wanted.
pub fn check(shader: &Shader, request: &Request<'_>) -> (Vec<Finding>, Coverage) {
    let name_of = |kernel: &str, position: u32| {
        let at = shader.module().functions.iter().position(|header| header.name == kernel)?;
        let parameter = shader.parameters(FunctionId(u32::try_from(at).ok()?)).get(position as usize)?;
        Some(parameter.name.clone())
    };
    let outcome = standstill_static_check::check(
        shader,
        &Options {
            input: request.file,
            main_source: Some(request.file),
            launch: request.launch,
            position: &|_| (0, 0),
            // Reading C++ in the lines of a shader would mislead the rules.
            source_line: &|_, _| None,
            platform: None,
            wanted: request.wanted,
            parameter_name: &name_of,
        },
    );
    let mut findings = outcome.findings;
    for finding in &mut findings {
        // What cannot be shown to be uniform may not lead to a barrier: a shader with it is rejected (WGSL, «Uniformity»). A module
        // is accepted, and what it does is undefined where the barrier is really reached apart (SPIR-V, «OpControlBarrier»).
        let decided = !shader.is_spirv() || matches!(finding.known, Known::Proved);
        finding.severity = match is_divergent_barrier(finding.rule) && decided {
            true => Severity::Error,
            false => finding.severity.min(finding.platforms.severity(request.platform)),
        };
        told(shader, finding);
        if shader.is_spirv() {
            name_places(shader, request.file, finding);
        }
    }
    (findings, outcome.coverage)
}

/// Places in the module itself say little: what stands there goes with them.
fn name_places(shader: &Shader, file: &str, finding: &mut Finding) {
    for span in finding.spans.iter_mut().filter(|span| span.file == file) {
        if let Some(words) = shader.place(span.line) {
            span.label = format!("{} ({words})", span.label);
        }
    }
}

fn is_divergent_barrier(rule: Rule) -> bool {
    matches!(rule, Rule::DivergentBarrier | Rule::EarlyExitBarrier)
}

/// Tells a finding of any engine about a shader in the words of its reader.
pub fn told(shader: &Shader, finding: &mut Finding) {
    if is_divergent_barrier(finding.rule) {
        barrier_told(shader, finding);
    } else {
        words::VOCABULARY.tell(finding);
        if matches!(finding.rule, Rule::MissingRelease | Rule::MissingAcquire | Rule::ScopeTooNarrow) {
            finding.help = HELP_ORDER.to_owned();
        }
    }
}

fn barrier_told(shader: &Shader, finding: &mut Finding) {
    let branch = finding.spans.iter().position(|span| !span.primary);
    let place = branch.and_then(|at| finding.spans.get(at)).map(|span| (span.line, span.column));
    // In machine form an early return and a condition around the rest look alike; the source tells.
    let early = place.is_some_and(|(line, column)| shader.returns_early(line, column));
    let loops = place.is_some_and(|(line, column)| shader.loops_at(line, column));
    finding.rule = if early { Rule::EarlyExitBarrier } else { Rule::DivergentBarrier };
    finding.message = match early {
        true => "divergent workgroup barrier: invocations return before it",
        false => "divergent workgroup barrier: not all invocations of the workgroup reach it together",
    }
    .to_owned();
    for (at, span) in finding.spans.iter_mut().enumerate() {
        span.label = if span.primary {
            "barrier called here".to_owned()
        } else if Some(at) == branch {
            match (early, loops) {
                (true, _) => "branch condition is non-uniform across the workgroup: some return here",
                (_, true) => "the number of rounds is non-uniform across the workgroup",
                _ => "branch condition is non-uniform across the workgroup",
            }
            .to_owned()
        } else {
            reader(&span.label)
        };
    }
    if let Known::Possible { reason } = &mut finding.known {
        *reason = reader(reason);
    }
    finding.notes = vec![if shader.is_spirv() { NOTE_SPIRV } else { NOTE }.to_owned()];
    finding.help = match (early, loops) {
        (true, _) => HELP_RETURN,
        (_, true) => HELP_LOOP,
        _ => HELP_BRANCH,
    }
    .to_owned();
}
