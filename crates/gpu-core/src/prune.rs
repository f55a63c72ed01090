//! Making a small dump out of a large one, with the same structure: for test data.
//!
//! Every device, context, grid, multiprocessor, block, warp and thread stays, with its program counter and state.
//! What goes: global, managed and local memory, code in which no thread stands, and (but for the first few
//! blocks) shared memory, registers, predicates and call stacks. The names of sections go too.

use rustc_hash::FxHashMap;

use crate::bytes::{u32_at, u64_at};
use crate::code::Code;
use crate::elf::{self, HEADER_SIZE, Kind, SECTION_SIZE};
use crate::error::{Problems, ReadError};
use crate::source::{Extent, Source};

/// Prunes a dump: values of threads stay for the first `blocks` blocks of the file.
///
/// # Errors
/// As for [`crate::read`], and when something that stays cannot be read.
pub fn prune(source: &dyn Source, blocks: usize) -> Result<Vec<u8>, ReadError> {
    let mut problems = Problems::default();
    let sections = elf::sections(source, &mut problems)?;
    let dump = crate::read(source)?;
    let used: Vec<u64> = used(&dump);
    let mut owners = Owners { blocks: FxHashMap::default(), sections: &sections.all };
    let read = |offset: u64, size: u64| {
        let bytes = source.read(offset, usize::try_from(size).unwrap_or(usize::MAX));
        bytes.map_err(|error| ReadError::Io { offset, what: error.to_string() })
    };
    let mut kept: Vec<usize> = Vec::new();
    for (at, section) in sections.all.iter().enumerate() {
        let keep = match section.kind {
            Kind::Managed | Kind::Global | Kind::Local | Kind::Image => false,
            // The first entry of the table stays as it is; names of sections go.
            Kind::Strings => at != sections.names as usize,
            Kind::RelocatedImage => {
                let image = read(section.extent.offset, section.extent.size)?;
                Code::read(&image).is_ok_and(|code| used.iter().any(|pc| code.function(*pc).is_some()))
            }
            Kind::Registers
            | Kind::Predicates
            | Kind::Backtrace
            | Kind::UniformRegisters
            | Kind::UniformPredicates
            | Kind::ConvergenceBarriers
            | Kind::Shared => owners.block(at as u32).is_some_and(|block| block < blocks),
            _ => true,
        };
        if keep {
            kept.push(at);
        }
    }
    let new_index: FxHashMap<u32, u32> =
        kept.iter().enumerate().map(|(new, old)| (*old as u32, new as u32)).collect();
    let mut out = read(0, HEADER_SIZE as u64)?.into_owned();
    let mut table = Vec::with_capacity(kept.len() * SECTION_SIZE);
    for old in &kept {
        let entry = sections.table + *old as u64 * SECTION_SIZE as u64;
        let mut entry = read(entry, SECTION_SIZE as u64)?.into_owned();
        let Extent { offset, size } =
            Extent { offset: u64_at(&entry, 24).unwrap_or(0), size: u64_at(&entry, 32).unwrap_or(0) };
        put(&mut entry, 0, &[0; 4]);
        if *old != 0 {
            let contents = read(offset, size)?;
            put(&mut entry, 24, &(out.len() as u64).to_le_bytes());
            out.extend_from_slice(&contents);
            let link = u32_at(&entry, 40).unwrap_or(0);
            put(&mut entry, 40, &new_index.get(&link).copied().unwrap_or(0).to_le_bytes());
        }
        table.extend_from_slice(&entry);
    }
    finish(&mut out, table, kept.len());
    Ok(out)
}

/// Where threads stand and kernels begin.
fn used(dump: &crate::Dump) -> Vec<u64> {
    let entries = dump.devices.iter().flat_map(|device| &device.grids).map(|grid| grid.entry);
    let warps = dump.devices.iter().flat_map(|device| &device.blocks).flat_map(|block| &block.warps);
    let mut used: Vec<u64> = entries.chain(warps.flat_map(|warp| &warp.lanes).map(|lane| lane.pc)).collect();
    used.sort_unstable();
    used.dedup();
    used
}

/// Appends the table and puts its place into the header.
fn finish(out: &mut Vec<u8>, mut table: Vec<u8>, count: usize) {
    let place = out.len() as u64;
    let short = u16::try_from(count).ok().filter(|count| *count < 0xff00);
    if short.is_none() {
        put(&mut table, 32, &(count as u64).to_le_bytes());
    } else {
        put(&mut table, 32, &[0; 8]);
    }
    put(out, 40, &place.to_le_bytes());
    put(out, 60, &short.unwrap_or(0).to_le_bytes());
    put(out, 62, &[0; 2]);
    put(&mut table, 40, &[0; 4]);
    out.extend_from_slice(&table);
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

/// Finds the block that a section belongs to.
struct Owners<'a> {
    /// Numbers of blocks in the order of the file, by table and entry.
    blocks: FxHashMap<(u32, u32), usize>,
    sections: &'a [elf::Section],
}

impl Owners<'_> {
    fn block(&mut self, section: u32) -> Option<usize> {
        // From a thread's values over the tables of threads and of warps to the table of blocks.
        const LEVELS: usize = 4;
        let mut at = section;
        for _ in 0..LEVELS {
            let section = self.sections.get(at as usize)?;
            let above = self.sections.get(section.link as usize)?;
            if above.kind == Kind::Blocks {
                let next = self.blocks.len();
                return Some(*self.blocks.entry((section.link, section.info)).or_insert(next));
            }
            at = section.link;
        }
        None
    }
}
