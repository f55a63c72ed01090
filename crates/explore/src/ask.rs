//! Asking about a launch in a test.

use std::fmt;
use std::sync::Arc;

use standstill_findings::{Finding, Severity};
use standstill_kernel_ir::Program;

use crate::check::{Options, Outcome, explore};
use crate::expect::{ExpectError, Expectation, element};
use crate::findings::findings;
use crate::launch::{Launch, LaunchError};
use crate::memory::Memory;
use crate::search::Limits;

/// Begins to ask about a launch: `check(&program, &launch).expect("acc == 210")`.
///
/// ```
/// use standstill_explore::{Launch, check};
///
/// let text = "
///     .version 8.0
///     .target sm_90
///     .address_size 64
///     .global .u32 acc;
///     .visible .entry add() {
///         .reg .b32 %r<3>;
///         ld.global.u32 %r1, [acc];
///         add.u32 %r2, %r1, 1;
///         st.global.u32 [acc], %r2;
///         ret;
///     }";
/// let module = standstill_ptx::parse(text);
/// let program = standstill_ptx::Lowering::new(&module);
/// let mut launch = Launch::new(&program, "add").unwrap();
/// check(&program, &launch).expect("acc == 1").unwrap();
/// launch.grid = [2, 1, 1];
/// assert!(check(&program, &launch).expect("acc == 2").is_err());
/// ```
pub fn check<'a>(program: &'a dyn Program, launch: &'a Launch) -> Check<'a> {
    Check { program, launch, options: Options::default() }
}

/// A question about a launch.
pub struct Check<'a> {
    program: &'a dyn Program,
    launch: &'a Launch,
    options: Options,
}

/// Why a launch is not right in every interleaving.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// There is no such launch.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The condition cannot be understood.
    #[error(transparent)]
    Condition(#[from] ExpectError),
    /// Some interleaving shows a fault.
    #[error("{}", told(.0))]
    Found(Vec<Finding>),
    /// Not all interleavings were tried, or something in them is not explored.
    #[error("not decided: {0}")]
    Undecided(String),
}

/// Memory at the end of an execution.
pub struct Contents<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) number: u32,
}

impl Contents<'_> {
    /// An element of a variable or buffer (`p0` is the buffer that parameter 0 points at), as a signed integer; `None` where there is
    /// none of that name or index.
    pub fn element(&self, name: &str, index: usize) -> Option<i64> {
        let region = self.memory.regions().iter().position(|region| region.name == name)?;
        let value = element(self.memory, self.number, region, i128::try_from(index).ok()?)?;
        i64::try_from(value).ok()
    }
}

/// A condition on memory at the end, as a function.
#[derive(Clone)]
pub(crate) struct Predicate(pub(crate) Arc<dyn Fn(&Contents<'_>) -> bool + Send + Sync>);

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function")
    }
}

impl PartialEq for Predicate {
    fn eq(&self, other: &Predicate) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Check<'_> {
    /// Gives up beyond these limits.
    pub fn within(mut self, limits: Limits) -> Self {
        self.options.limits = limits;
        self
    }

    /// Tries all interleavings; each must end without a fault.
    ///
    /// # Errors
    /// What is wrong in one of them, with the shortest schedule; or why that is not known.
    pub fn run(self) -> Result<Outcome, CheckError> {
        let outcome = explore(self.program, self.launch, &self.options, &mut ())?;
        let all = findings(&outcome, self.launch, &|offset| (String::new(), 0, offset));
        let found: Vec<Finding> = all
            .into_iter()
            .map(|(finding, _)| finding)
            .filter(|finding| finding.severity > Severity::Note)
            .collect();
        if !found.is_empty() {
            return Err(CheckError::Found(found));
        }
        if let Some(limit) = &outcome.limit {
            return Err(CheckError::Undecided(format!("more than {limit:?}")));
        }
        if let Some(mark) = outcome.wrong_marks.first() {
            return Err(CheckError::Undecided(mark.what.clone()));
        }
        match outcome.not_explored.first() {
            Some(missing) => Err(CheckError::Undecided(format!("{} is not explored", missing.what))),
            None => Ok(outcome),
        }
    }

    /// The same, and memory must hold this at the end: a condition as `--expect` takes it.
    ///
    /// # Errors
    /// As [`Check::run`], and when the condition cannot be understood.
    pub fn expect(mut self, condition: &str) -> Result<Outcome, CheckError> {
        self.options.expect = Some(Expectation::parse(condition, self.launch)?);
        self.run()
    }

    /// The same with a function for a condition; `name` stands for it in findings.
    ///
    /// # Errors
    /// As [`Check::run`].
    pub fn expect_that(
        mut self,
        name: &str,
        condition: impl Fn(&Contents<'_>) -> bool + Send + Sync + 'static,
    ) -> Result<Outcome, CheckError> {
        self.options.expect = Some(Expectation::of(name, Predicate(Arc::new(condition))));
        self.run()
    }
}

/// Findings as a failed test shows them.
fn told(findings: &[Finding]) -> String {
    let one = |finding: &Finding| {
        let place = finding.primary_span().filter(|span| !span.file.is_empty());
        let place = place.map_or(String::new(), |span| format!(" ({}:{})", span.file, span.line));
        let notes: String = finding.notes.iter().map(|note| format!("\n{note}")).collect();
        format!("{}: {}{place}{notes}", finding.rule.info().code, finding.message)
    };
    findings.iter().map(one).collect::<Vec<_>>().join("\n\n")
}
