//! What the engines say: a [`Finding`] with its rule, spans, how it is known, where it bites, and
//! the [`WaitGraph`] behind it.
//!
//! Belongs here: the vocabulary that every engine fills in and every reporter reads, the rule table
//! with its long texts, and the decision of a severity from a platform row.
//! Does not belong here: finding anything, and printing anything.

mod coverage;
mod finding;
mod platform;
mod rule;
mod threads;
mod timeline;
mod toolchain_file;
mod vocabulary;
mod wait_graph;

pub use coverage::{Coverage, NotUnderstood};
pub use finding::{Finding, Known, Severity, Span};
pub use platform::{Outcome, Platform, PlatformRow};
pub use rule::{Rule, RuleInfo};
pub use threads::ThreadRanges;
pub use timeline::{Arrow, Lane, Step, StepKind, Timeline};
pub use toolchain_file::is_toolchain_file;
pub use vocabulary::Vocabulary;
pub use wait_graph::{Edge, Node, NodeId, WaitGraph};
