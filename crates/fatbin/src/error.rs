//! What can be wrong with an input.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// Why a file could not be read at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// There are no bytes.
    #[error("the file is empty")]
    Empty,
    /// The bytes are of no known kind, and no fatbin stands anywhere in them.
    #[error("neither PTX, an executable, an object file, an archive, a fatbin nor a cubin")]
    Unrecognised,
    /// The table of a static archive cannot be read.
    #[error("damaged archive: {0}")]
    Archive(String),
}

/// One thing that could not be read, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Bytes from the start of the file.
    pub offset: u64,
    /// The archive member that it stands in.
    pub member: Option<Arc<str>>,
    /// What is wrong.
    pub kind: ProblemKind,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {:#x}", self.kind, self.offset)?;
        match &self.member {
            Some(member) => write!(f, " (archive member {member})"),
            None => Ok(()),
        }
    }
}

/// What is wrong at the place of a [`Problem`]. All sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProblemKind {
    /// A fatbin was expected and its header makes no sense.
    #[error("damaged fatbin header")]
    NotAContainer,
    /// A container reaches past the end of its section or file.
    #[error("fatbin cut short: {missing} of its {declared} bytes are missing")]
    ContainerCutShort {
        /// The size that the container declares.
        declared: u64,
        /// How much of it is not there.
        missing: u64,
    },
    /// An image header reaches past the end of its container.
    #[error("image header cut short")]
    HeaderCutShort,
    /// An image header contradicts itself.
    #[error("damaged image header: {0}")]
    BadHeader(&'static str),
    /// An image reaches past the end of its container.
    #[error("image cut short: {available} of its {declared} bytes are there")]
    ImageCutShort {
        /// The size that the image's header declares.
        declared: u64,
        /// How much of it is there.
        available: u64,
    },
    /// An image declares more than may be decompressed, or more than its compressed bytes can hold.
    #[error("image refused: it declares {declared} bytes after decompression, the limit here is {limit}")]
    TooLarge {
        /// The size that the image's header declares.
        declared: u64,
        /// The most that was allowed for this image.
        limit: u64,
    },
    /// A compressed image cannot be decompressed.
    #[error("damaged compressed image: {0}")]
    Decompress(String),
    /// A compressed image came out longer or shorter than its header declares.
    #[error("damaged compressed image: it should give {declared} bytes and gives {found}")]
    LengthMismatch {
        /// The size that the image's header declares.
        declared: u64,
        /// The size found; one more than declared stands for anything longer.
        found: u64,
    },
    /// A cubin cannot be read.
    #[error("damaged cubin: {0}")]
    Cubin(String),
    /// A thin archive names a member that stands in another file.
    #[error("the archive holds only the name of {0}, not its contents")]
    ThinMember(String),
    /// A member of an archive cannot be read.
    #[error("damaged archive member: {0}")]
    ArchiveMember(String),
}
