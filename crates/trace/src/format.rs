//! The binary form: a header, then records, each with its length before it.

use std::io::{self, Read, Write};

use thiserror::Error;

use crate::record::Record;

/// How a trace begins.
const MAGIC: [u8; 8] = *b"standstl";
/// Grows when an old reader would misread a new trace.
const VERSION: u32 = 5;
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
    /// What it is read from gave an error.
    #[error("it cannot be read: {error}")]
    Unreadable {
        /// The error.
        error: String,
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

/// Reads a trace: whole records, up to the end or to the first damage. No more than a piece of it is held.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    /// What was read from there and not forgotten.
    held: Vec<u8>,
    /// Where in it the next record begins, and the last one that was given.
    next: usize,
    last: usize,
    /// Where the next record begins in the trace.
    offset: usize,
    ended: bool,
}

/// Bytes that are read at once.
const PIECE: usize = 256 << 10;

impl<R: Read> Reader<R> {
    /// Begins to read.
    ///
    /// # Errors
    /// When it is no trace, or a newer one.
    pub fn new(from: R) -> Result<Reader<R>, Damage> {
        let mut reader = Reader { from, held: Vec::new(), next: 0, last: 0, offset: 0, ended: false };
        reader.hold(HEADER)?;
        let rest = reader.held.strip_prefix(&MAGIC).ok_or(Damage::NoTrace)?;
        let version = rest.first_chunk().ok_or(Damage::CutShort { offset: 0 })?;
        match u32::from_le_bytes(*version) {
            found if found > VERSION => Err(Damage::Newer { found }),
            _ => Ok(Reader { next: HEADER, last: HEADER, offset: HEADER, ..reader }),
        }
    }

    /// Reads on until so many bytes are held that were not given, or there are no more.
    fn hold(&mut self, bytes: usize) -> Result<(), Damage> {
        let held = self.held.len() - self.next;
        if held >= bytes {
            return Ok(());
        }
        self.held.drain(..self.next);
        (self.next, self.last) = (0, 0);
        let wanted = (bytes - held).max(PIECE) as u64;
        let read = self.from.by_ref().take(wanted).read_to_end(&mut self.held);
        read.map(|_| ()).map_err(|error| Damage::Unreadable { error: error.to_string() })
    }

    fn rest(&self) -> &[u8] {
        self.held.get(self.next..).unwrap_or_default()
    }

    fn take(&mut self) -> Result<Option<Record>, Damage> {
        let offset = self.offset;
        self.hold(LENGTH)?;
        let rest = self.rest();
        if rest.is_empty() {
            return Ok(None);
        }
        let (length, _) = rest.split_first_chunk().ok_or(Damage::CutShort { offset })?;
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 {
            return Ok(None);
        }
        if length > MOST {
            return Err(Damage::Record { offset });
        }
        self.hold(LENGTH + length)?;
        let body = self.rest().get(LENGTH..LENGTH + length).ok_or(Damage::CutShort { offset })?;
        let record = postcard::from_bytes(body).map_err(|_| Damage::Record { offset })?;
        self.last = self.next;
        self.next += LENGTH + length;
        self.offset += LENGTH + length;
        Ok(Some(record))
    }

    /// Bytes of the records that were read, with what stands before them.
    #[must_use]
    pub fn length(&self) -> usize {
        self.offset
    }

    /// The record that was given last, as it stands in the trace.
    #[must_use]
    pub fn as_written(&self) -> &[u8] {
        self.held.get(self.last..self.next).unwrap_or_default()
    }

    /// Copies what stands behind the records that were given.
    ///
    /// # Errors
    /// What reading or writing gave.
    pub fn copy_rest(mut self, into: &mut dyn Write) -> io::Result<()> {
        into.write_all(self.rest())?;
        io::copy(&mut self.from, into).map(|_| ())
    }
}

impl<R: Read> Iterator for Reader<R> {
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
