//! Rust kernels: source text in, findings out.

use std::collections::HashMap;

use standstill_findings::{Coverage, Finding, Platform};
use standstill_kernel_check::check;
use standstill_kernel_ir::LaunchBounds;
use standstill_kernel_ir::launch::LaunchShape;
use standstill_kernel_syntax::{Program, Unit, lower};

use crate::engine::SyntaxProblem;
use crate::unused::KernelFacts;

/// What to analyse, and under which assumptions.
pub(crate) struct Request<'a> {
    /// The text of a Rust source file.
    pub(crate) text: &'a str,
    /// What findings call it.
    pub(crate) name: &'a str,
    /// The launches to analyse a kernel for, by its name; none leaves the kernel out.
    pub(crate) shapes: &'a (dyn Fn(&str) -> Vec<LaunchShape> + Sync),
    /// Whose behaviour decides what is an error; `None` for the worst of all.
    pub(crate) platform: Option<Platform>,
}

/// What one text gave.
#[derive(Debug, Default)]
pub(crate) struct Analysed {
    pub(crate) findings: Vec<Finding>,
    /// Names of the kernels that were analysed.
    pub(crate) kernels: Vec<String>,
    /// All kernels of the text.
    pub(crate) facts: Vec<KernelFacts>,
    pub(crate) coverage: Coverage,
    /// What is no kernel source.
    pub(crate) problems: Vec<SyntaxProblem>,
}

/// Checks every kernel of a source file.
pub(crate) fn analyse(request: &Request<'_>) -> Analysed {
    let mut analysed = Analysed::default();
    let file = match syn::parse_file(request.text) {
        Ok(file) => file,
        Err(error) => {
            let start = error.span().start();
            let place = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
            let (line, column) = (place(start.line), place(start.column).saturating_add(1));
            analysed.problems.push(SyntaxProblem { line, column, message: error.to_string() });
            return analysed;
        }
    };
    let units = Unit::all(&file);
    if units.is_empty() {
        let message = "no function in it is marked `#[kernel]`".to_owned();
        analysed.problems.push(SyntaxProblem { line: 0, column: 0, message });
    }
    for unit in units {
        match lower(&unit, request.name, 1) {
            Ok(lowered) => unit_findings(&lowered.program, request, &mut analysed),
            Err(problems) => analysed.problems.extend(problems.into_iter().map(|problem| {
                let place = problem.extent.place();
                SyntaxProblem { line: place.line, column: place.column, message: problem.message }
            })),
        }
    }
    analysed
}

fn unit_findings(program: &Program, request: &Request<'_>, analysed: &mut Analysed) {
    let mut launches: HashMap<&str, Vec<LaunchShape>> = HashMap::new();
    for kernel in program.kernels() {
        analysed.facts.push(KernelFacts {
            symbol: kernel.name.clone(),
            // Lengths and the extent of the space have positions, too.
            parameters: kernel.names.len(),
            bounds: LaunchBounds::default(),
        });
        let shapes = (request.shapes)(&kernel.name);
        if !shapes.is_empty() {
            analysed.kernels.push(kernel.name.clone());
            launches.insert(&kernel.name, shapes);
        }
    }
    // A kernel with several launches is checked once for each.
    let rounds = launches.values().map(Vec::len).max().unwrap_or(0);
    for round in 0..rounds {
        let shape = |name: &str| launches.get(name).and_then(|shapes| shapes.get(round));
        let (findings, coverage) = check(
            program,
            &standstill_kernel_check::Request {
                file: request.name,
                launch: &|name| shape(name).cloned().unwrap_or_default(),
                wanted: &|name| shape(name).is_some(),
                platform: request.platform,
            },
        );
        analysed.findings.extend(findings);
        let kernels = if round == 0 { coverage.kernels } else { 0 };
        analysed.coverage.add(Coverage { kernels, launches: coverage.kernels, ..coverage });
    }
}
