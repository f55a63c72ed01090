//! Rust kernels: source text in, findings out.

use standstill_findings::Finding;
use standstill_kernel_check::check;
use standstill_kernel_ir::LaunchBounds;
use standstill_kernel_syntax::{Program, Unit, lower};

use crate::engine::SyntaxProblem;
use crate::kernel_text::{Analysed, Request};
use crate::unused::KernelFacts;

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
    let facts = program.kernels().iter().map(|kernel| KernelFacts {
        symbol: kernel.name.clone(),
        // Lengths and the extent of the space have positions, too.
        parameters: kernel.names.len(),
        bounds: LaunchBounds::default(),
    });
    analysed.add(request, facts.collect(), &|shape| {
        let (findings, coverage) = check(
            program,
            &standstill_kernel_check::Request {
                file: request.name,
                launch: &|name| shape(name).unwrap_or_default(),
                wanted: &|name| shape(name).is_some(),
                platform: request.platform,
            },
        );
        (findings.into_iter().map(|finding| in_bytes(finding, request.text)).collect(), coverage)
    });
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
    use standstill_kernel_ir::launch::LaunchShape;

    use super::*;

    #[test]
    fn columns_are_bytes() {
        let text = "#[kernel]\nfn k(space: Space) {\n    /* é */ if space.cell_x < 3 { space.sync(); }\n}\n";
        let shapes = |_: &str| vec![LaunchShape::default()];
        let analysed = analyse(&Request {
            text,
            module: &[],
            name: "k.rs",
            shapes: &shapes,
            platform: None,
            by_specification: false,
        });
        let [finding] = analysed.findings.as_slice() else { panic!("{:?}", analysed.findings) };
        let places: Vec<_> = finding.spans.iter().map(|s| (s.line, s.column, s.width)).collect();
        assert_eq!(places, [(3, 36, 12), (3, 17, 16)]);
    }
}
