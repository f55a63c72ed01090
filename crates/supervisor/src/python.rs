//! Python lines of a thread, from the interpreter's own structures.

use crate::stacks::ThreadStack;

/// One Python frame.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PythonFrame {
    /// The function.
    pub function: String,
    /// Source file.
    pub file: String,
    /// Source line, from 1; 0 when not known.
    pub line: u32,
}

pub(crate) fn add_frames(_pid: i32, _threads: &mut [ThreadStack]) {}
