//! The one place that calls the engines: PTX text in, findings out.

use standstill_findings::{Coverage, Finding, NotUnderstood, Platform};
use standstill_kernel_ir::launch::LaunchShape;
use standstill_ptx::Lowering;

/// What to analyse, and under which assumptions.
pub(crate) struct Request<'a> {
    /// PTX text.
    pub(crate) text: &'a str,
    /// The name of that text in findings.
    pub(crate) name: &'a str,
    /// The launches to analyse a kernel for, by its mangled name; none leaves the kernel out.
    pub(crate) shapes: &'a (dyn Fn(&str) -> Vec<LaunchShape> + Sync),
    /// Whose behaviour decides what is an error; `None` for the worst of all.
    pub(crate) platform: Option<Platform>,
    /// The card whose room decides.
    pub(crate) gpu: Option<&'a str>,
    /// Registers of a thread of this kernel, when known.
    pub(crate) registers: &'a (dyn Fn(&str) -> Option<u32> + Sync),
}

/// A place in the PTX text with what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxProblem {
    /// Line, from 1.
    pub(crate) line: u32,
    /// Column in bytes, from 1.
    pub(crate) column: u32,
    /// What is wrong.
    pub(crate) message: String,
}

/// What one PTX text gave.
#[derive(Debug, Default)]
pub(crate) struct Analysis {
    pub(crate) findings: Vec<Finding>,
    /// Mangled names of the kernels that were analysed.
    pub(crate) kernels: Vec<String>,
    pub(crate) coverage: Coverage,
    pub(crate) not_understood: Vec<NotUnderstood>,
    /// The first syntax error, with how many there were.
    pub(crate) problem: Option<(SyntaxProblem, u64)>,
}

/// Parses and analyses one PTX text.
pub(crate) fn analyse(request: &Request<'_>) -> Analysis {
    let module = standstill_ptx::parse(request.text);
    let lowering = Lowering::new(&module);
    let mut analysis = Analysis { not_understood: not_understood(request, &lowering), ..Analysis::default() };
    analysis.problem = module.errors.kept().first().map(|error| {
        let place = module.position(error.span.start);
        let message = error.kind.to_string();
        (SyntaxProblem { line: place.line, column: place.column, message }, module.errors.count())
    });
    for function in module.functions.iter().filter(|function| function.entry && function.defined) {
        let symbol = module.str(function.name);
        let launches = (request.shapes)(symbol);
        if launches.is_empty() {
            continue;
        }
        analysis.kernels.push(symbol.to_owned());
        analysis.coverage.add(Coverage {
            kernels: 1,
            launches: launches.len() as u64,
            operations: module.body(function).len() as u64,
            widened: 0,
        });
    }
    analysis
}

/// The opcodes that are not understood, each with its first line.
fn not_understood(request: &Request<'_>, lowering: &Lowering<'_, '_>) -> Vec<NotUnderstood> {
    let module = lowering.syntax();
    let line = |opcode: &str| {
        // The opcode's text is a piece of the module's text.
        let byte = (opcode.as_ptr() as usize).checked_sub(module.text.as_ptr() as usize)?;
        Some(module.position(u32::try_from(byte).ok()?).line)
    };
    let entry = |(what, count): (&str, u64)| NotUnderstood {
        file: request.name.to_owned(),
        line: line(what).unwrap_or(0),
        what: what.to_owned(),
        count,
    };
    lowering.opaque_counts().into_iter().map(entry).collect()
}
