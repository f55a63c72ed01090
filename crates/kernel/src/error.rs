//! What may go wrong with buffers and launches.

use std::fmt;

use standstill_device_sim::MemoryError;
use standstill_findings::Finding;

/// Why a buffer cannot be had, written or read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BufferError {
    /// The device's memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Another number of elements.
    #[error("{given} elements for a buffer of {length}")]
    Length {
        /// Elements given.
        given: usize,
        /// Elements of the buffer.
        length: usize,
    },
    /// Elements that nobody has written.
    #[error("{}", .0.message)]
    Doubtful(Box<Finding>),
}

/// Why a launch has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LaunchError {
    /// The device refuses it: nothing has run.
    #[error("the launch of `{kernel}` was refused: {reason}")]
    Refused {
        /// The kernel.
        kernel: String,
        /// Why.
        reason: String,
    },
    /// A cell ended it.
    #[error(transparent)]
    Stopped(Stopped),
    /// Faults that were seen: races, waits without an end, accesses out of bounds.
    #[error("{}", shown(.0))]
    Found(Vec<Finding>),
}

impl LaunchError {
    /// The faults that were seen.
    pub fn findings(&self) -> &[Finding] {
        match self {
            LaunchError::Found(findings) => findings,
            _ => &[],
        }
    }
}

/// A cell that ended a launch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{kernel}` was stopped at {file}:{line}:{column}: {reason}, in cell {cell:?} of tile {tile:?}")]
pub struct Stopped {
    /// The kernel.
    pub kernel: String,
    /// Why.
    pub reason: String,
    /// The source file.
    pub file: String,
    /// Line from 1.
    pub line: u32,
    /// Column from 1.
    pub column: u32,
    /// The cell in its tile, in x, y and z.
    pub cell: [u32; 3],
    /// The tile, in x, y and z.
    pub tile: [u32; 3],
}

/// Findings as text: message, places, notes and help of each.
struct Text<'a>(&'a [Finding]);

fn shown(findings: &[Finding]) -> Text<'_> {
    Text(findings)
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, finding) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            let (word, code) = (finding.severity.word(), finding.rule.code());
            write!(f, "{word}[{code}]: {}", finding.message)?;
            for span in &finding.spans {
                write!(f, "\n  --> {}:{}:{}: {}", span.file, span.line, span.column, span.label)?;
            }
            if let Some(waits) = &finding.waits {
                write!(f, "\nnote: {}", waits.sentence)?;
            }
            for note in &finding.notes {
                write!(f, "\nnote: {note}")?;
            }
            if !finding.help.is_empty() {
                write!(f, "\nhelp: {}", finding.help)?;
            }
        }
        Ok(())
    }
}
