//! What may be wrong with a structure.

use standstill_kernel::BufferError;

/// Why a structure cannot be had, or is not whole.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Its memory.
    #[error(transparent)]
    Buffer(#[from] BufferError),
    /// More places than can be told apart.
    #[error("a {structure} has at most {most} places, {wanted} are wanted")]
    Capacity {
        /// What it is.
        structure: &'static str,
        /// Places wanted.
        wanted: usize,
        /// Most places.
        most: usize,
    },
    /// Something that no order of its operations leaves behind.
    #[error("the {structure} is not whole: {what}")]
    NotWhole {
        /// What it is.
        structure: &'static str,
        /// What is wrong with it.
        what: String,
    },
}
