//! Sources that are read without a compiler: what is asked of them, and what they gave.

use standstill_findings::{Coverage, Finding, Platform};
use standstill_kernel_ir::launch::LaunchShape;

use crate::engine::SyntaxProblem;
use crate::unused::KernelFacts;

/// What to analyse, and under which assumptions.
pub(crate) struct Request<'a> {
    /// The text of the source file.
    pub(crate) text: &'a str,
    /// What findings call it.
    pub(crate) name: &'a str,
    /// The launches to analyse a kernel for, by its name; none leaves the kernel out.
    pub(crate) shapes: &'a (dyn Fn(&str) -> Vec<LaunchShape> + Sync),
    /// Whose behaviour decides what is an error; `None` for the worst of all.
    pub(crate) platform: Option<Platform>,
    /// Judge as the language's own specification does, where that is less precise.
    pub(crate) by_specification: bool,
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

/// The launch for which a kernel is to be checked, by its name; none for kernels that are not wanted.
pub(crate) type LaunchOf<'a> = dyn Fn(&str) -> Option<LaunchShape> + Sync + 'a;

impl Analysed {
    /// Checks kernels, once for each of their launches. `check` checks those that are wanted, each for the launch that is given.
    pub(crate) fn add(
        &mut self,
        request: &Request<'_>,
        facts: Vec<KernelFacts>,
        check: &dyn Fn(&LaunchOf<'_>) -> (Vec<Finding>, Coverage),
    ) {
        let launches: Vec<(String, Vec<LaunchShape>)> = facts
            .iter()
            .map(|kernel| (kernel.symbol.clone(), (request.shapes)(&kernel.symbol)))
            .filter(|(_, shapes)| !shapes.is_empty())
            .collect();
        self.facts.extend(facts);
        self.kernels.extend(launches.iter().map(|(name, _)| name.clone()));
        let rounds = launches.iter().map(|(_, shapes)| shapes.len()).max().unwrap_or(0);
        for round in 0..rounds {
            let (findings, coverage) = check(&|name| {
                let (_, shapes) = launches.iter().find(|(known, _)| known == name)?;
                shapes.get(round).cloned()
            });
            self.findings.extend(findings);
            let kernels = if round == 0 { coverage.kernels } else { 0 };
            self.coverage.add(Coverage { kernels, launches: coverage.kernels, ..coverage });
        }
    }
}
