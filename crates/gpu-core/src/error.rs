//! What can be wrong with a dump.

use std::fmt;

use thiserror::Error;

use crate::elf::Kind;

/// Why a dump could not be read at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReadError {
    /// There are no bytes.
    #[error("the file is empty")]
    Empty,
    /// It does not begin like an ELF file.
    #[error("it is not an ELF file, so no CUDA core dump")]
    NotElf,
    /// It is an ELF file of another kind.
    #[error("it is an ELF file but no CUDA core dump: {0}")]
    OtherElf(String),
    /// The file header is cut short or contradicts itself.
    #[error("the ELF header at byte {offset:#x} cannot be used: {what}")]
    Header {
        /// Bytes from the start of the file.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// The table that says where everything stands is not there.
    #[error(
        "cut short: the table of sections should stand at byte {offset:#x}, and the file ends at byte \
         {size:#x}; without it nothing can be found"
    )]
    NoSections {
        /// Where the table should begin, in bytes from the start of the file.
        offset: u64,
        /// The size of the file in bytes.
        size: u64,
    },
    /// Reading itself failed.
    #[error("it cannot be read at byte {offset:#x}: {what}")]
    Io {
        /// Bytes from the start of the file.
        offset: u64,
        /// What the system says.
        what: String,
    },
}

/// One thing that could not be read, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Bytes from the start of the file.
    pub offset: u64,
    /// What is wrong.
    pub kind: ProblemKind,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {:#x}", self.kind, self.offset)
    }
}

/// What is wrong at the place of a [`Problem`]. All sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProblemKind {
    /// The table of sections is not in the file. It is written last.
    #[error(
        "cut short: the table of sections should stand at byte {offset:#x}, so where threads stood cannot be told; the \
         file ends"
    )]
    NoSections {
        /// Where the table should begin, in bytes from the start of the file.
        offset: u64,
    },
    /// The table of sections reaches past the end of the file.
    #[error("the table of sections is cut short: {found} of {declared} entries are there")]
    SectionsCutShort {
        /// Entries that the header declares.
        declared: u64,
        /// Entries that are there.
        found: u64,
    },
    /// A section reaches past the end of the file.
    #[error("the {what} is cut short: {available} of its {declared} bytes are there")]
    CutShort {
        /// What stands there.
        what: &'static str,
        /// Its declared size.
        declared: u64,
        /// How much of it is there.
        available: u64,
    },
    /// The entries of a table are smaller than in any driver.
    #[error("the {what} has entries of {found} bytes, the oldest drivers write {least}")]
    EntrySize {
        /// Which table.
        what: &'static str,
        /// The size of an entry that its section declares.
        found: u64,
        /// The size of an entry in the oldest form.
        least: u64,
    },
    /// A table belongs to something that is not there.
    #[error("the {what} belongs to nothing in this dump")]
    NoParent {
        /// Which table.
        what: &'static str,
    },
    /// A table has more entries than any device.
    #[error("the {what} has {found} entries, more than any device; the first {limit} were read")]
    TooMany {
        /// Which table.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many were read.
        limit: u64,
    },
    /// The blocks of a grid have more threads than on any device.
    #[error(
        "a grid has blocks of {found:?} threads, more than {limit} on every device: the shape is not known"
    )]
    BlockShape {
        /// The shape that is written there.
        found: [u32; 3],
        /// The most threads of a block.
        limit: u64,
    },
    /// The code of a module cannot be used.
    #[error("the code of a module cannot be read: {0}")]
    Module(String),
}

impl ProblemKind {
    /// What is concerned, in the reader's words, for kinds that can be many.
    fn what(&self) -> Option<&'static str> {
        match self {
            ProblemKind::CutShort { what, .. }
            | ProblemKind::EntrySize { what, .. }
            | ProblemKind::NoParent { what }
            | ProblemKind::TooMany { what, .. } => Some(what),
            _ => None,
        }
    }

    /// Whether threads that were on the card may be missing because of it.
    fn loses_threads(&self) -> bool {
        match self {
            ProblemKind::NoSections { .. } | ProblemKind::SectionsCutShort { .. } => true,
            ProblemKind::Module(_) => false,
            _ => self.what().is_some_and(|what| THREADS.iter().any(|kind| kind.words() == what)),
        }
    }
}

/// The tables that lead to threads.
const THREADS: [Kind; 7] =
    [Kind::Devices, Kind::Contexts, Kind::Grids, Kind::Sms, Kind::Blocks, Kind::Warps, Kind::Lanes];

/// Problems in the order in which they were found; of very many only the first are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems {
    kept: Vec<Problem>,
    count: u64,
    lose_threads: bool,
}

impl Problems {
    /// More are counted, not kept.
    const KEPT: usize = 1000;

    pub(crate) fn push(&mut self, offset: u64, kind: ProblemKind) {
        self.count += 1;
        self.lose_threads |= kind.loses_threads();
        if self.kept.len() < Self::KEPT {
            self.kept.push(Problem { offset, kind });
        }
    }

    /// The first problems.
    pub fn kept(&self) -> &[Problem] {
        &self.kept
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether threads that were on the card may be missing.
    pub(crate) fn lose_threads(&self) -> bool {
        self.lose_threads
    }

    /// The problems in words, those of one kind together: the first with how many more there are.
    #[must_use]
    pub fn summary(&self) -> Vec<String> {
        let mut groups: Vec<(&Problem, u64)> = Vec::new();
        for problem in &self.kept {
            let alike = |(first, _): &&mut (&Problem, u64)| {
                std::mem::discriminant(&first.kind) == std::mem::discriminant(&problem.kind)
                    && first.kind.what() == problem.kind.what()
                    && first.kind.what().is_some()
            };
            match groups.iter_mut().find(alike) {
                Some((_, count)) => *count += 1,
                None => groups.push((problem, 1)),
            }
        }
        let words = |(first, count): (&Problem, u64)| match count {
            1 => first.to_string(),
            _ => format!("{first}, and {} more like it", count - 1),
        };
        let mut lines: Vec<String> = groups.into_iter().map(words).collect();
        match self.count - self.kept.len() as u64 {
            0 => {}
            more => lines.push(format!("{more} more problems")),
        }
        lines
    }
}
