//! What was looked at, so that silence can be told from blindness.

/// Counts of what was seen and analysed. Zero coverage is never success.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Coverage {
    /// Kernels analysed.
    pub kernels: u64,
    /// Kernel launches analysed.
    pub launches: u64,
    /// Instructions (check) or host operations (streams) analysed.
    pub operations: u64,
    /// Byte ranges that had to be widened to a whole allocation.
    pub widened: u64,
}

impl Coverage {
    /// Adds the counts of another part of the work.
    pub fn add(&mut self, other: Coverage) {
        self.kernels += other.kernels;
        self.launches += other.launches;
        self.operations += other.operations;
        self.widened += other.widened;
    }
}

/// Something in an input that the product does not understand; the rest was analysed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NotUnderstood {
    /// The input's path.
    pub file: String,
    /// First line where it occurs, from 1; 0 when the input has no lines.
    pub line: u32,
    /// The instruction with its modifiers, or what else it is.
    pub what: String,
    /// How often it occurs in that file.
    pub count: u64,
}
