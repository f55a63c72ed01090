//! The binary form: a header, then records, each with its length before it.

use std::io::{self, Write};

use thiserror::Error;

use crate::record::Record;

/// How a trace begins.
const MAGIC: [u8; 8] = *b"standstl";
/// Grows when an old reader would misread a new trace.
const VERSION: u32 = 4;
/// Bytes of the header: the magic and the version.
const HEADER: usize = 12;
/// No record is longer: a longer length is damage.
const MOST: usize = 64 << 20;
/// Bytes of a record's length.
pub(crate) const LENGTH: usize = 4;

/// Why a trace cannot be read, or not further. Places are bytes from its start.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Damage {
    /// It does not begin as a trace does.
    #[error("it is no trace of Standstill")]
    NoTrace,
    /// It was written by a newer version.
    #[error("it has version {found} of the format; this version of Standstill reads up to {VERSION}")]
    Newer {
        /// The version that it has.
        found: u32,
    },
    /// The last record is not whole, as when the program was killed.
    #[error("the record at byte {offset} is cut short")]
    CutShort {
        /// Where it begins.
        offset: usize,
    },
    /// A record makes no sense.
    #[error("the record at byte {offset} cannot be read")]
    Record {
        /// Where it begins.
        offset: usize,
    },
}

/// Writes a trace.
#[derive(Debug)]
pub struct Writer<W> {
    into: W,
    /// The record that is being written.
    bytes: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// What writing the header gave.
    pub fn new(mut into: W) -> io::Result<Writer<W>> {
        into.write_all(&MAGIC)?;
        into.write_all(&VERSION.to_le_bytes())?;
        Ok(Writer::behind(into))
    }

    /// Goes on with a trace that was begun.
    pub fn behind(into: W) -> Writer<W> {
        Writer { into, bytes: Vec::new() }
    }

    /// Adds a record, in one call of the writer behind it.
    ///
    /// # Errors
    /// What writing it gave.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        bytes.extend([0; LENGTH]);
        bytes = postcard::to_extend(record, bytes).map_err(io::Error::other)?;
        let length = u32::try_from(bytes.len() - LENGTH).map_err(io::Error::other)?;
        if let Some(place) = bytes.get_mut(..LENGTH) {
            place.copy_from_slice(&length.to_le_bytes());
        }
        self.bytes = bytes;
        self.into.write_all(&self.bytes)
    }

    /// What is written to, for records that somebody else puts there ([`put_launch`](crate::put_launch)).
    #[inline(always)]
    pub fn into_mut(&mut self) -> &mut W {
        &mut self.into
    }

    /// Gives back what is written to.
    pub fn into_inner(self) -> W {
        self.into
    }
}

/// Reads a trace: whole records, up to the end or to the first damage.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    ended: bool,
}

impl<'a> Reader<'a> {
    /// Begins to read.
    ///
    /// # Errors
    /// When it is no trace, or a newer one.
    pub fn new(bytes: &'a [u8]) -> Result<Reader<'a>, Damage> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(Damage::NoTrace)?;
        let version = rest.first_chunk().ok_or(Damage::CutShort { offset: 0 })?;
        match u32::from_le_bytes(*version) {
            found if found > VERSION => Err(Damage::Newer { found }),
            _ => Ok(Reader { bytes, at: HEADER, ended: false }),
        }
    }

    fn take(&mut self) -> Result<Option<Record>, Damage> {
        let offset = self.at;
        let rest = self.bytes.get(offset..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let (length, rest) = rest.split_first_chunk().ok_or(Damage::CutShort { offset })?;
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 {
            return Ok(None);
        }
        if length > MOST {
            return Err(Damage::Record { offset });
        }
        let body = rest.get(..length).ok_or(Damage::CutShort { offset })?;
        let record = postcard::from_bytes(body).map_err(|_| Damage::Record { offset })?;
        self.at = offset + LENGTH + length;
        Ok(Some(record))
    }
}

impl Reader<'_> {
    /// Bytes of the records that were read, with what stands before them.
    #[must_use]
    pub fn length(&self) -> usize {
        self.at
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Record, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let taken = self.take().transpose();
        self.ended = !matches!(taken, Some(Ok(_)));
        taken
    }
}
