//! What may go wrong with buffers and launches.

use std::fmt;

use standstill_device_sim::MemoryError;
use standstill_findings::Finding;

/// Why a device cannot be had, or does not do what it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The CUDA driver's library is not installed.
    #[error("there is no CUDA driver: its library cannot be loaded")]
    NoDriver,
    /// The driver has fewer devices.
    #[error("there is no CUDA device {ordinal}: the driver has {count}")]
    NoDevice {
        /// The device that was asked for, counted from 0.
        ordinal: u32,
        /// Devices that there are.
        count: u32,
    },
    /// An event of one device for a stream of another.
    #[error("the event belongs to another device")]
    OtherDevice,
    /// A word that names no device.
    #[error("`{0}` is no device; write `software`, `cuda`, or `cuda:1`")]
    Unknown(String),
    /// The driver refuses a call, or reports what failed before it.
    #[error("{call}: {meaning} ({name}, {code})")]
    Driver {
        /// The function of the driver.
        call: &'static str,
        /// Its answer, as the CUDA driver API numbers it.
        code: u32,
        /// The answer's name.
        name: String,
        /// The answer in words.
        meaning: String,
    },
}

/// Why a buffer cannot be had, written or read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BufferError {
    /// The software GPU's memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A card.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Another number of elements.
    #[error("{given} elements for a buffer of {length}")]
    Length {
        /// Elements given.
        given: usize,
        /// Elements of the buffer.
        length: usize,
    },
    /// Elements that nobody has written, or that a stream may be using still.
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
    /// A card failed while it ran: a cell has stopped it, or accessed memory that is none, and a card does not tell
    /// where. The software GPU does. Such a failure ends all use of the card; a device that is opened when all its
    /// devices and buffers are gone works again.
    #[error("`{kernel}` failed: {error}; run it on `Device::software()` to see where")]
    Failed {
        /// The kernel.
        kernel: String,
        /// What the driver says.
        error: DeviceError,
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
