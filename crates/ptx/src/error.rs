//! Syntax errors: what was wrong, and where.

use std::fmt;

use crate::span::Span;

/// How many errors are kept with their place; the rest are only counted.
pub const ERRORS_KEPT: usize = 64;

/// What was wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The text is longer than the 4 GiB that byte offsets can name; the rest was not read.
    TooLong,
    /// A character that cannot begin anything here.
    Unexpected,
    /// Something definite was expected here.
    Expected(&'static str),
    /// A number that does not fit 64 bits or lacks digits.
    BadNumber,
    /// A comment without its end.
    OpenComment,
    /// A string without its end.
    OpenString,
    /// A function body or a section without its closing brace.
    OpenBody,
    /// Braces or brackets nested deeper than any compiler writes.
    TooDeep,
    /// An instruction with more operands than can be kept.
    TooManyOperands,
    /// A branch to a label that its function does not declare.
    UndefinedLabel,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("the text is longer than 4 GiB; the rest was not read"),
            Self::Unexpected => f.write_str("nothing can begin with this character here"),
            Self::Expected(what) => write!(f, "expected {what}"),
            Self::BadNumber => f.write_str("this is not a number that fits 64 bits"),
            Self::OpenComment => f.write_str("this comment is never closed"),
            Self::OpenString => f.write_str("this string is never closed"),
            Self::OpenBody => f.write_str("this body is never closed"),
            Self::TooDeep => f.write_str("nested too deeply"),
            Self::TooManyOperands => f.write_str("too many operands"),
            Self::UndefinedLabel => f.write_str("no label of this name is declared in this function"),
        }
    }
}

/// A syntax error with its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    /// What was wrong.
    pub kind: ErrorKind,
    /// Where.
    pub span: Span,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.kind, self.span.start)
    }
}

impl std::error::Error for SyntaxError {}

/// The errors of one text: the first [`ERRORS_KEPT`] of them, and how many there were.
#[derive(Clone, Default, Debug)]
pub struct Errors {
    kept: Vec<SyntaxError>,
    count: u64,
}

impl Errors {
    /// Records one more error.
    pub(crate) fn push(&mut self, kind: ErrorKind, span: Span) {
        self.count += 1;
        if self.kept.len() < ERRORS_KEPT {
            self.kept.push(SyntaxError { kind, span });
        }
    }

    /// The errors kept, in the order of the text.
    pub fn kept(&self) -> &[SyntaxError] {
        &self.kept
    }

    /// How many errors there were, kept or not.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
