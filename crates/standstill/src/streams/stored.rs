//! Traces where they are kept: they may be longer than memory.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use standstill_trace::{Damage, Reader};

/// A trace.
#[derive(Debug)]
pub(crate) enum Stored {
    Bytes(Vec<u8>),
    File(PathBuf),
}

impl Stored {
    fn bytes(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match self {
            Stored::Bytes(bytes) => Box::new(bytes.as_slice()),
            Stored::File(path) => Box::new(File::open(path)?),
        })
    }

    /// Begins to read it.
    ///
    /// # Errors
    /// When it cannot be read, or is no trace.
    pub(crate) fn open(&self) -> Result<Reader<Box<dyn Read + '_>>, Damage> {
        let bytes = self.bytes().map_err(|error| Damage::Unreadable { error: error.to_string() })?;
        Reader::new(bytes)
    }

    /// Writes it all.
    pub(crate) fn copy_to(&self, into: &mut dyn Write) -> io::Result<()> {
        io::copy(&mut self.bytes()?, into).map(|_| ())
    }
}

/// Writes the traces: the first process's under the name that the user gave, the others' with a number behind it.
pub(crate) fn keep_traces(path: &Path, traces: &[Stored]) -> Result<(), String> {
    for (number, trace) in traces.iter().enumerate() {
        let mut name = path.as_os_str().to_owned();
        if number > 0 {
            name.push(format!(".{}", number + 1));
        }
        let written = File::create(&name).and_then(|mut file| trace.copy_to(&mut file));
        written.map_err(|error| format!("{}: {error}", Path::new(&name).display()))?;
    }
    Ok(())
}
