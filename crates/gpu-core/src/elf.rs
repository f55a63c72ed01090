//! The ELF frame of a dump: its header and the table of sections, which says where everything stands.
//!
//! A full card has a million sections, so they are read in pieces and kept small.

use crate::bytes::{u16_at, u32_at, u64_at};
use crate::error::{ProblemKind, Problems, ReadError};
use crate::source::{Extent, Source};

/// `e_type` of a core dump.
const ET_CORE: u16 = 4;
/// `e_machine` of CUDA.
const EM_CUDA: u16 = 0xbe;
/// `EI_OSABI` of CUDA.
const ELFOSABI_CUDA: u8 = 0x33;
pub(crate) const HEADER_SIZE: usize = 64;
pub(crate) const SECTION_SIZE: usize = 64;
const SHT_STRTAB: u32 = 3;
const SHT_LOUSER: u32 = 0x8000_0000;

/// What a section holds. The numbers are offsets from `SHT_LOUSER`, as the CUDA toolkit's
/// `cudacoredump.h` lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum Kind {
    Managed = 1,
    Global = 2,
    Local = 3,
    Shared = 4,
    Registers = 5,
    Image = 6,
    RelocatedImage = 7,
    Backtrace = 8,
    Devices = 9,
    Contexts = 10,
    Sms = 11,
    Grids = 12,
    Blocks = 13,
    Warps = 14,
    Lanes = 15,
    Modules = 16,
    Predicates = 17,
    Parameters = 18,
    UniformRegisters = 19,
    UniformPredicates = 20,
    ConstantBanks = 21,
    Meta = 22,
    ConvergenceBarriers = 23,
    Strings = 100,
    Other = 101,
}

impl Kind {
    const ALL: [Kind; 23] = [
        Kind::Managed,
        Kind::Global,
        Kind::Local,
        Kind::Shared,
        Kind::Registers,
        Kind::Image,
        Kind::RelocatedImage,
        Kind::Backtrace,
        Kind::Devices,
        Kind::Contexts,
        Kind::Sms,
        Kind::Grids,
        Kind::Blocks,
        Kind::Warps,
        Kind::Lanes,
        Kind::Modules,
        Kind::Predicates,
        Kind::Parameters,
        Kind::UniformRegisters,
        Kind::UniformPredicates,
        Kind::ConstantBanks,
        Kind::Meta,
        Kind::ConvergenceBarriers,
    ];

    fn of(section_type: u32) -> Kind {
        if section_type == SHT_STRTAB {
            return Kind::Strings;
        }
        let number = section_type.wrapping_sub(SHT_LOUSER).wrapping_sub(1) as usize;
        Kind::ALL.get(number).copied().unwrap_or(Kind::Other)
    }

    /// The section in the reader's words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Kind::Managed => "managed memory",
            Kind::Global => "global memory",
            Kind::Local => "local memory of a thread",
            Kind::Shared => "shared memory of a block",
            Kind::Registers => "registers of a thread",
            Kind::Image => "code of a module",
            Kind::RelocatedImage => "relocated code of a module",
            Kind::Backtrace => "call stack of a thread",
            Kind::Devices => "table of devices",
            Kind::Contexts => "table of contexts",
            Kind::Sms => "table of multiprocessors",
            Kind::Grids => "table of grids",
            Kind::Blocks => "table of blocks",
            Kind::Warps => "table of warps",
            Kind::Lanes => "table of threads",
            Kind::Modules => "table of modules",
            Kind::Predicates => "predicates of a thread",
            Kind::Parameters => "parameters of a grid",
            Kind::UniformRegisters => "uniform registers of a warp",
            Kind::UniformPredicates => "uniform predicates of a warp",
            Kind::ConstantBanks => "table of constant banks",
            Kind::Meta => "description of the dump",
            Kind::ConvergenceBarriers => "convergence barriers of a warp",
            Kind::Strings => "table of strings",
            Kind::Other => "section",
        }
    }
}

/// One section.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section {
    pub(crate) kind: Kind,
    /// Index of the section of the table that it belongs to.
    pub(crate) link: u32,
    /// Index in that table.
    pub(crate) info: u32,
    /// Bytes of a table's entry.
    pub(crate) entry_size: u32,
    /// Address of memory.
    pub(crate) address: u64,
    pub(crate) extent: Extent,
}

/// The sections of a dump.
#[derive(Debug)]
pub(crate) struct Sections {
    /// In the file's order, so that `link` finds its section.
    pub(crate) all: Vec<Section>,
    /// The section with the names of sections.
    pub(crate) names: u32,
    /// Where the table stands, in bytes from the start of the file.
    pub(crate) table: u64,
}

fn io(offset: u64) -> impl Fn(std::io::Error) -> ReadError {
    move |error| ReadError::Io { offset, what: error.to_string() }
}

/// Reads the header and the table of sections.
pub(crate) fn sections(source: &dyn Source, problems: &mut Problems) -> Result<Sections, ReadError> {
    let size = source.size();
    if size == 0 {
        return Err(ReadError::Empty);
    }
    let start = source.read(0, HEADER_SIZE.min(size as usize)).map_err(io(0))?;
    if !start.starts_with(b"\x7fELF") {
        return Err(ReadError::NotElf);
    }
    if start.len() < HEADER_SIZE {
        let what = format!("it is {size} bytes long and should be {HEADER_SIZE}");
        return Err(ReadError::Header { offset: 0, what });
    }
    // Class 2 is 64 bits, data 1 is little-endian.
    if start.get(4..6) != Some(&[2, 1]) {
        return Err(ReadError::OtherElf("it is not a 64-bit little-endian one".to_owned()));
    }
    let (kind, machine) = (u16_at(&start, 16).unwrap_or(0), u16_at(&start, 18).unwrap_or(0));
    let abi = start.get(7).copied().unwrap_or(0);
    if machine != EM_CUDA || kind != ET_CORE || abi != ELFOSABI_CUDA {
        let what = match (machine == EM_CUDA, kind == ET_CORE) {
            (true, _) => format!("it is device code (type {kind}, ABI {abi:#x})"),
            (false, true) => format!("it is the core dump of a host program (machine {machine})"),
            (false, false) => format!("its type is {kind} and its machine {machine}"),
        };
        return Err(ReadError::OtherElf(what));
    }
    let table = u64_at(&start, 40).unwrap_or(0);
    let entry = u16_at(&start, 58).unwrap_or(0);
    let mut count = u64::from(u16_at(&start, 60).unwrap_or(0));
    let mut names = u32::from(u16_at(&start, 62).unwrap_or(0));
    if usize::from(entry) != SECTION_SIZE {
        let what = format!("section entries of {entry} bytes instead of {SECTION_SIZE}");
        return Err(ReadError::Header { offset: 58, what });
    }
    let Some(room) = size.checked_sub(table).filter(|room| *room >= SECTION_SIZE as u64 && table != 0) else {
        return Err(ReadError::NoSections { offset: table, size });
    };
    let first = source.read(table, SECTION_SIZE).map_err(io(table))?;
    // With 65,280 sections or more, the first entry holds what does not fit into the header.
    if count == 0 {
        count = u64_at(&first, 32).unwrap_or(0);
    }
    if names == 0xffff {
        names = u32_at(&first, 40).unwrap_or(0);
    }
    let found = count.min(room / SECTION_SIZE as u64);
    if found < count {
        problems.push(table, ProblemKind::SectionsCutShort { declared: count, found });
    }
    Ok(Sections { all: read_table(source, table, found)?, names, table })
}

fn read_table(source: &dyn Source, table: u64, count: u64) -> Result<Vec<Section>, ReadError> {
    /// Entries that are read at once.
    const PIECE: u64 = 1 << 14;
    let mut all = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
    let mut done = 0;
    while done < count {
        let entries = PIECE.min(count - done);
        let offset = table + done * SECTION_SIZE as u64;
        let piece = source.read(offset, entries as usize * SECTION_SIZE).map_err(io(offset))?;
        all.extend(piece.as_chunks::<SECTION_SIZE>().0.iter().map(|entry| section(entry)));
        done += entries;
    }
    Ok(all)
}

fn section(entry: &[u8]) -> Section {
    let half = |at| u32_at(entry, at).unwrap_or(0);
    let whole = |at| u64_at(entry, at).unwrap_or(0);
    Section {
        kind: Kind::of(half(4)),
        link: half(40),
        info: half(44),
        entry_size: u32::try_from(whole(56)).unwrap_or(u32::MAX),
        address: whole(16),
        extent: Extent { offset: whole(24), size: whole(32) },
    }
}
