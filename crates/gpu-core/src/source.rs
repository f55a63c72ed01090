//! Where the bytes of a dump come from: memory, or a file that is read in parts.

use std::borrow::Cow;
use std::io;

/// Bytes that can be read at any place. A dump with the memory of a whole card is larger than the memory
/// of the machine that reads it, so only what is asked for is read.
pub trait Source: Sync {
    /// How many bytes there are.
    fn size(&self) -> u64;

    /// The `length` bytes from `offset` on.
    ///
    /// # Errors
    /// When they are not all there, or cannot be read.
    fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>>;
}

impl Source for &[u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Cow<'_, [u8]>> {
        let end = io::ErrorKind::UnexpectedEof;
        crate::bytes::slice_at(self, offset, length as u64).map(Cow::Borrowed).ok_or(end.into())
    }
}

/// A piece of a dump: where it stands and how long it is, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// Bytes from the start of the dump.
    pub offset: u64,
    /// Length in bytes.
    pub size: u64,
}
