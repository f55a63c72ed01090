//! One finding, as an engine hands it to a reporter.

use crate::{PlatformRow, Rule, WaitGraph};

/// A place in a source file with a label, in the manner of a compiler diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span {
    /// Path as the compiler or the user wrote it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 when only the line is known.
    pub column: u32,
    /// Bytes from the column on that the place covers; 0 when only its start is known.
    #[cfg_attr(feature = "serde", serde(default))]
    pub width: u32,
    /// What the reader should see at this place.
    pub label: String,
    /// Exactly one span of a finding is primary: the user's own line that the finding points at.
    pub primary: bool,
    /// The calls through which the code came to stand here, innermost first, as `file:line`.
    pub inlined_at: Vec<String>,
}

impl Span {
    /// The place that the finding points at.
    pub fn primary(file: impl Into<String>, line: u32, column: u32, label: impl Into<String>) -> Span {
        Span { primary: true, ..Span::cause(file, line, column, label) }
    }

    /// A cause or the other access.
    pub fn cause(file: impl Into<String>, line: u32, column: u32, label: impl Into<String>) -> Span {
        Span {
            file: file.into(),
            line,
            column,
            width: 0,
            label: label.into(),
            primary: false,
            inlined_at: Vec::new(),
        }
    }
}

/// How bad a finding is on the platform that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Severity {
    /// Advice, or something that could not be decided. Never makes a run fail.
    Note,
    /// A fault on some other platform or by the specification only, or one that is possible with strong signs.
    Warning,
    /// A fault on the platform asked for.
    Error,
}

impl Severity {
    /// The word that reports and the JSON contract use.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// How a finding is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Known {
    /// For all inputs, or for the launch shape given, under the finding's assumptions.
    Proved,
    /// Seen in a run that the replay flags reproduce.
    Observed,
    /// It could not be decided; the reason says why.
    Possible {
        /// Why it could not be decided, as the end of «possible: …».
        reason: String,
    },
}

impl Known {
    /// The word that reports and the JSON contract use.
    pub fn word(&self) -> &'static str {
        match self {
            Known::Proved => "proved",
            Known::Observed => "observed",
            Known::Possible { .. } => "possible",
        }
    }
}

/// One fault, or one note.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Finding {
    /// Which rule is broken.
    pub rule: Rule,
    /// How bad it is on the platform asked for.
    pub severity: Severity,
    /// How it is known.
    pub known: Known,
    /// The kernel's name as the compiler wrote it (mangled).
    pub kernel: String,
    /// One sentence: what is wrong.
    pub message: String,
    /// One line: what to do. Empty when there is nothing to say.
    pub help: String,
    /// Further sentences: why, and what was seen.
    pub notes: Vec<String>,
    /// The places; exactly one is primary.
    pub spans: Vec<Span>,
    /// What happens on which platform.
    pub platforms: PlatformRow,
    /// What the verdict rests on beyond the code itself.
    pub assumes: Vec<String>,
    /// Who waits for whom.
    pub waits: Option<WaitGraph>,
    /// Flags that replay an observed finding.
    pub replay: Option<String>,
}

impl Finding {
    /// A proved error of `rule` in `kernel`; the caller adds spans and whatever else is known.
    pub fn new(rule: Rule, kernel: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding {
            rule,
            severity: Severity::Error,
            known: Known::Proved,
            kernel: kernel.into(),
            message: message.into(),
            help: String::new(),
            notes: Vec::new(),
            spans: Vec::new(),
            platforms: PlatformRow::default(),
            assumes: Vec::new(),
            waits: None,
            replay: None,
        }
    }

    /// The span that the finding points at.
    pub fn primary_span(&self) -> Option<&Span> {
        self.spans.iter().find(|span| span.primary)
    }
}
