//! Faults decided from a kernel's code alone: uniformity, barrier participation, spins and loops.
//!
//! Belongs here: the rules, and the analyses that only rules need (uniformity, rehearsal).
//! Does not belong here: reading a file format, running a program, printing.

mod any_shape;
mod arrivals;
mod body;
mod divergence;
mod grid;
mod inline;
mod kernel;
mod launch;
mod loops;
mod order;
mod places;
mod rehearsal;
mod threads;
mod uniformity;
mod waiting;
mod words;

use standstill_findings::{Coverage, Finding, Platform};
use standstill_kernel_ir::launch::LaunchShape;
use standstill_kernel_ir::{FunctionId, FunctionKind, Program};

/// What a check is asked for, and what it may ask back. Lines and columns count from 1.
pub struct Options<'a> {
    /// The input's path, for places that have no source line.
    pub input: &'a str,
    /// The source file that was compiled, as the line table names it.
    pub main_source: Option<&'a str>,
    /// What is known of a kernel's launches, by its name as in the input.
    pub launch: &'a (dyn Fn(&str) -> LaunchShape + Sync),
    /// Line and column of a byte offset in the input.
    pub position: &'a (dyn Fn(u32) -> (u32, u32) + Sync),
    /// A line of a source file, when it can be read.
    pub source_line: &'a (dyn Fn(&str, u32) -> Option<String> + Sync),
    /// The platform that severities are for; `None` takes the worst of all.
    pub platform: Option<Platform>,
    /// Whether a kernel of this name (as in the input) is to be checked.
    pub wanted: &'a (dyn Fn(&str) -> bool + Sync),
    /// What the source calls a parameter of a kernel (by its name as in the input), by position from 0.
    pub parameter_name: &'a (dyn Fn(&str, u32) -> Option<String> + Sync),
}

/// What a check found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The findings, kernel after kernel.
    pub findings: Vec<Finding>,
    /// What was looked at.
    pub coverage: Coverage,
}

/// Checks every kernel of a program.
pub fn check(program: &dyn Program, options: &Options<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let helpers = inline::Helpers::of(program);
    for (index, header) in program.module().functions.iter().enumerate() {
        if header.kind != FunctionKind::Kernel || !header.defined || !(options.wanted)(&header.name) {
            continue;
        }
        let Some(function) = program.function(FunctionId(index as u32)) else { continue };
        outcome.coverage.kernels += 1;
        outcome.coverage.operations += function.instructions.len() as u64;
        kernel::check(program, &helpers, header, function, options, &mut outcome.findings);
    }
    outcome
}
