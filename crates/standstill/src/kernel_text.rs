//! Sources that are read without a compiler: what is asked of them, and what they gave.

use standstill_findings::{Coverage, Finding, Platform};
use standstill_kernel_ir::launch::LaunchShape;

use crate::engine::SyntaxProblem;
use crate::unused::KernelFacts;

/// What to analyse, and under which assumptions.
pub(crate) struct Request<'a> {
    /// The text of the source file.
    pub(crate) text: &'a str,
    /// The module, of a language that is no text.
    pub(crate) module: &'a [u8],
    /// What findings call it.
    pub(crate) name: &'a str,
    /// The launches to analyse a kernel for, by its name; none leaves the kernel out.
    pub(crate) shapes: &'a (dyn Fn(&str) -> Vec<LaunchShape> + Sync),
    /// Whose behaviour decides what is an error; `None` for the worst of all.
    pub(crate) platform: Option<Platform>,
    /// Judge as the language's own specification does, where that is less precise.
    pub(crate) by_specification: bool,
}

/// Stack for each level of a text's nesting: readers go down into what they read.
const LEVEL_BYTES: usize = 32 << 10;
/// Most levels: their stack takes a gigabyte of addresses, of memory only what is used.
const MOST_LEVELS: usize = 32_000;

/// Analyses a text with a stack that is deep enough for it.
pub(crate) fn with_room(request: &Request<'_>, analyse: fn(&Request<'_>) -> Analysed) -> Analysed {
    let refused = |message: &str| {
        let problem = SyntaxProblem { line: 0, column: 0, message: message.to_owned() };
        Analysed { problems: vec![problem], ..Analysed::default() }
    };
    let levels = levels(request.text);
    if levels > MOST_LEVELS {
        return refused("it nests, or chains operators, `else`s or functions, more deeply than is read");
    }
    std::thread::scope(|scope| {
        let stack = (8 << 20) + levels * LEVEL_BYTES;
        let thread = std::thread::Builder::new().stack_size(stack).spawn_scoped(scope, || analyse(request));
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(analysed)) => analysed,
            Ok(Err(_)) => refused("the reader failed on this text"),
            Err(_) => refused("there is no memory for reading so deep a text"),
        }
    })
}

/// How deep a reader may go down into a text, at most: brackets, operators of one statement, chains of `else`, and functions that
/// call each other. Comments count as well.
fn levels(text: &str) -> usize {
    let (mut brackets, mut operators, mut deepest) = (0usize, 0, 0);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => brackets += 1,
            b')' | b']' | b'}' => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        match byte {
            b';' | b',' | b'{' | b'}' => operators = 0,
            _ if byte.is_ascii_punctuation() => operators += 1,
            _ => {}
        }
        deepest = deepest.max(brackets + operators);
    }
    deepest + text.matches("else").count() + text.matches("fn ").count()
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
    /// Texts to show where they are not on disk, each with its file's name.
    pub(crate) sources: Vec<(String, String)>,
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

#[cfg(test)]
mod tests {
    use super::levels;

    #[test]
    fn levels_bound_how_deep_a_text_is() {
        assert_eq!(levels("fn f() { a = 1 + 2; b = 3; }"), 4);
        assert_eq!(levels(&"(".repeat(50)), 100);
        assert_eq!(levels(&format!("x = 1{};", "+1".repeat(40))), 41);
        assert_eq!(levels(&"if a { } else ".repeat(7)), 8);
        assert_eq!(levels(&"a = b; ".repeat(1000)), 1);
    }
}
