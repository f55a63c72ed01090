//! Bytes, and what is done to them.

use serde::{Deserialize, Serialize};

/// Bytes that something touches: `rows` rows of `width` bytes, `pitch` bytes from one to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Access {
    /// The first byte.
    pub address: u64,
    /// Bytes of a row.
    pub width: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// What is done to them.
    pub mode: Mode,
    /// Whether these are the bytes, and not a wider range that holds them.
    pub exact: bool,
}

impl Access {
    /// One row that is known exactly.
    #[must_use]
    pub fn bytes(mode: Mode, address: u64, width: u64) -> Access {
        Access { address, width, rows: 1, pitch: width, mode, exact: true }
    }
}

/// What is done to bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Mode {
    /// Read.
    Read,
    /// Written.
    Write,
    /// Only changed by atomic operations of the whole device, which need no order among themselves.
    Update,
    /// Besides what other accesses say of them: by operations that the host can take part in, so that host and device
    /// may order each other by these bytes.
    Signal,
    /// Perhaps read or written: a pointer to them was handed over, and what is done with it is not known.
    May,
    /// Perhaps read: a pointer to constant data was handed over.
    MayRead,
    /// Perhaps written: a pointer to them was handed over that is not to constant data, beside others that are.
    MayWrite,
}

impl Mode {
    /// What somebody does to bytes.
    #[must_use]
    pub fn verb(self) -> &'static str {
        match self {
            Mode::Read => "reads",
            Mode::Write => "writes",
            Mode::Update => "updates",
            Mode::Signal => "signals by",
            Mode::May => "may touch",
            Mode::MayRead => "may read",
            Mode::MayWrite => "may write",
        }
    }
}
