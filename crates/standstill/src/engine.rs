//! The one place that calls the engines: PTX text in, findings out.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use standstill_findings::{Coverage, Finding, NotUnderstood, Platform};
use standstill_kernel_ir::launch::LaunchShape;
use standstill_kernel_ir::{FunctionId, FunctionKind, Program};
use standstill_ptx::{Lowering, Module, Span, SyntaxError};
use standstill_report::{Sources, base_name};
use standstill_static_check::{Options, check};

use crate::headers::{self, KernelHeader};
use crate::unused::KernelFacts;

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
    /// Whether a file of the line table is the source that was compiled.
    pub(crate) is_main: &'a dyn Fn(&str) -> bool,
    /// Texts of source files, by their names in the line table.
    pub(crate) sources: &'a (dyn Sources + Sync),
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
    /// All kernels of the text.
    pub(crate) facts: Vec<KernelFacts>,
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
    let undefined = lowering.undefined_labels();
    analysis.problem = module.errors.kept().iter().chain(&undefined).next().map(|error| {
        let place = module.position(error.span.start);
        let message = error.kind.to_string();
        let count = module.errors.count() + undefined.len() as u64;
        (SyntaxProblem { line: place.line, column: place.column, message }, count)
    });
    let program = lowering.module();
    let symbols = || {
        let kernels = program.functions.iter().filter(|f| f.kind == FunctionKind::Kernel && f.defined);
        kernels.map(|function| function.name.as_str())
    };
    analysis.facts = facts(&lowering);
    let cut = unread_kernels(&module, &undefined);
    let launches: HashMap<&str, Vec<LaunchShape>> = symbols()
        .filter(|symbol| !cut.contains(symbol))
        .map(|symbol| (symbol, (request.shapes)(symbol)))
        .filter(|(_, shapes)| !shapes.is_empty())
        .collect();
    analysis.kernels = symbols().filter(|symbol| launches.contains_key(symbol)).map(str::to_owned).collect();
    let (name, sources) = (request.name, request.sources);
    let main_source = program.files.iter().find(|file| (request.is_main)(file));
    let names = ParameterNames { lowering: &lowering, sources, headers: OnceLock::new() };
    // A kernel with several launches is checked once for each.
    let rounds = launches.values().map(Vec::len).max().unwrap_or(0);
    for round in 0..rounds {
        let shape = |symbol: &str| launches.get(symbol).and_then(|shapes| shapes.get(round));
        let outcome = check(
            &lowering,
            &Options {
                input: request.name,
                main_source: main_source.map(String::as_str),
                launch: &|symbol| shape(symbol).cloned().unwrap_or_default(),
                position: &|byte| {
                    let place = module.position(byte);
                    (place.line, place.column)
                },
                // The PTX text itself stands in where there is no line table; it is not what the user wrote.
                source_line: &|file, line| {
                    if file == name { None } else { source_line(sources, file, line) }
                },
                platform: request.platform,
                wanted: &|symbol| shape(symbol).is_some(),
                parameter_name: &|symbol, position| names.name(symbol, position),
            },
        );
        analysis.findings.extend(outcome.findings);
        let kernels = if round == 0 { outcome.coverage.kernels } else { 0 };
        let launches = outcome.coverage.kernels;
        analysis.coverage.add(Coverage { kernels, launches, ..outcome.coverage });
    }
    analysis
}

/// What launch options are held against.
fn facts(lowering: &Lowering<'_, '_>) -> Vec<KernelFacts> {
    let functions = lowering.module().functions.iter().zip(0u32..);
    functions
        .filter(|(function, _)| function.kind == FunctionKind::Kernel && function.defined)
        .map(|(function, id)| KernelFacts {
            symbol: function.name.clone(),
            parameters: lowering.function_syntax(FunctionId(id)).map_or(0, |syntax| syntax.parameters.len()),
            bounds: function.bounds,
        })
        .collect()
}

/// The kernels with a syntax error in them. They are not judged: what could not be read may be the arrival that
/// another thread waits for, or the exit of a loop.
fn unread_kernels<'m>(module: &'m Module<'_>, undefined: &[SyntaxError]) -> HashSet<&'m str> {
    let errors = module.errors.kept();
    // Where not all errors are kept, nothing is known of what stands behind the last.
    let all_kept = module.errors.count() == errors.len() as u64;
    let last = errors.iter().map(|error| error.span.start).max().unwrap_or(0);
    let unread = |span: Span| {
        errors.iter().chain(undefined).any(|error| (span.start..span.end).contains(&error.span.start))
            || !all_kept && span.end > last
    };
    let kernels = module.functions.iter().filter(|function| function.entry && unread(function.span));
    kernels.map(|function| module.str(function.name)).collect()
}

fn source_line(sources: &dyn Sources, file: &str, line: u32) -> Option<String> {
    sources.text(file)?.line(line).map(str::to_owned)
}

/// The name of a kernel's parameter by the kernel's mangled name and the parameter's position.
pub(crate) type NameOf<'a> = dyn Fn(&str, u32) -> Option<String> + 'a;

/// What the source calls the parameters of the kernels in a PTX text, by kernel and position.
pub(crate) fn with_parameter_names(
    text: &str,
    sources: &(dyn Sources + Sync),
    use_names: &mut dyn FnMut(&NameOf<'_>),
) {
    let module = standstill_ptx::parse(text);
    let lowering = Lowering::new(&module);
    let names = ParameterNames { lowering: &lowering, sources, headers: OnceLock::new() };
    use_names(&|symbol, position| names.name(symbol, position));
}

/// Names of kernels' parameters: those of the source where it can be read, else those of the PTX where a
/// person chose them.
struct ParameterNames<'a, 'm> {
    lowering: &'a Lowering<'a, 'm>,
    sources: &'a (dyn Sources + Sync),
    /// Read when the first name is asked for.
    headers: OnceLock<Vec<KernelHeader>>,
}

impl ParameterNames<'_, '_> {
    fn name(&self, symbol: &str, position: u32) -> Option<String> {
        let module = self.lowering.syntax();
        let in_ptx =
            module.functions.iter().find(|f| f.entry && f.defined && module.str(f.name) == symbol)?;
        let parameters =
            module.variables.get(in_ptx.parameters.start as usize..in_ptx.parameters.end as usize)?;
        let position = position as usize;
        let kernel = base_name(symbol);
        let fitting = self
            .headers()
            .iter()
            .filter(|header| header.name == kernel && header.parameters.len() == parameters.len());
        let mut names =
            fitting.filter_map(|header| header.parameters.get(position)).filter(|n| !n.is_empty());
        if let Some(name) = names.next() {
            // Overloads and declarations may disagree.
            return names.all(|other| other == name).then(|| name.clone());
        }
        let own = module.str(parameters.get(position)?.name);
        let generated = own.is_empty()
            || own.starts_with(symbol)
            || own
                .strip_suffix(&format!("param_{position}"))
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('_'));
        (!generated).then(|| own.to_owned())
    }

    fn headers(&self) -> &[KernelHeader] {
        self.headers.get_or_init(|| {
            let files = &self.lowering.module().files;
            let read = |file: &String| self.sources.text(file).map(|text| headers::kernels(&text));
            // A kernel may also stand in a header of the user's.
            files.iter().filter(|file| !file.is_empty()).filter_map(read).flatten().collect()
        })
    }
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
