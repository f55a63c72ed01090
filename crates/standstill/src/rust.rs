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
        analysed.findings.extend(findings.into_iter().map(|finding| in_bytes(finding, request.text)));
        let kernels = if round == 0 { coverage.kernels } else { 0 };
        analysed.coverage.add(Coverage { kernels, launches: coverage.kernels, ..coverage });
    }
}

/// Columns of a Rust source count characters, those of reports bytes.
fn in_bytes(mut finding: Finding, text: &str) -> Finding {
    for span in &mut finding.spans {
        let Some(line) = text.lines().nth((span.line as usize).saturating_sub(1)) else { continue };
        let bytes = |characters: u32| {
            let before = line.chars().take(characters as usize).map(char::len_utf8).sum::<usize>();
            u32::try_from(before).unwrap_or(u32::MAX)
        };
        let before = span.column.saturating_sub(1);
        let (start, end) = (bytes(before), bytes(before.saturating_add(span.width)));
        (span.column, span.width) = (start + 1, end - start);
    }
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_bytes() {
        let text = "#[kernel]\nfn k(space: Space) {\n    /* é */ if space.cell_x < 3 { space.sync(); }\n}\n";
        let shapes = |_: &str| vec![LaunchShape::default()];
        let analysed = analyse(&Request { text, name: "k.rs", shapes: &shapes, platform: None });
        let [finding] = analysed.findings.as_slice() else { panic!("{:?}", analysed.findings) };
        let places: Vec<_> = finding.spans.iter().map(|s| (s.line, s.column, s.width)).collect();
        assert_eq!(places, [(3, 36, 12), (3, 17, 16)]);
    }
}
