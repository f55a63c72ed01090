//! What can be had of a dump whose table of sections is missing. The driver writes that table last, so a dump that is
//! cut short (a full disk, a process that was killed) has none, and nothing says where anything stands. Two things say
//! themselves what they are: the code of modules, by its ELF header; and the entry of a grid, by the address at which
//! its kernel begins. Where threads stood cannot be told from other bytes and is not guessed.

use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::FileHeader;

use crate::bytes::u64_at;
use crate::code::Code;
use crate::dump::{Device, Grid, Module};
use crate::layout::{self, Entry};
use crate::source::{Extent, Source};

/// Bytes that are looked through at once.
const PIECE: usize = 1 << 20;
/// Larger images are not believed.
const LARGEST: u64 = 1 << 30;
/// Grids and modules, at most: more are no dump.
const MOST: usize = 4096;

/// A device with the code and the grids that can be found; nothing where there is no code.
pub(crate) fn salvage(source: &dyn Source) -> Option<Device> {
    let images = images(source);
    let mut device = Device::default();
    let mut kernels: Vec<u64> = Vec::new();
    for image in images {
        let bytes = source.read(image.offset, usize::try_from(image.size).unwrap_or(usize::MAX));
        let Some(code) = bytes.ok().and_then(|bytes| Code::read(&bytes).ok()) else { continue };
        // Kernels that were never launched are not loaded: they stand at address 0.
        let loaded = code.functions().iter().filter(|function| function.is_kernel && function.start != 0);
        kernels.extend(loaded.map(|function| function.start));
        device.modules.push(Module { relocated: Some(image), ..Module::default() });
    }
    kernels.sort_unstable();
    device.grids = grids(source, &kernels);
    (!device.modules.is_empty()).then_some(device)
}

/// Calls `look` with pieces of the file and their places; each overlaps the next by `overlap` bytes.
fn pieces(source: &dyn Source, overlap: usize, mut look: impl FnMut(u64, &[u8])) {
    let size = source.size();
    let mut at = 0;
    while at < size {
        let left = usize::try_from(size - at).unwrap_or(usize::MAX);
        let Ok(bytes) = source.read(at, left.min(PIECE + overlap)) else { return };
        look(at, &bytes);
        at += PIECE as u64;
    }
}

/// Where whole ELF files of device code stand.
fn images(source: &dyn Source) -> Vec<Extent> {
    const HEADER: usize = 64;
    let mut found: Vec<Extent> = Vec::new();
    pieces(source, HEADER, |base, bytes| {
        for at in memchr::memmem::find_iter(bytes, b"\x7fELF\x02\x01").take_while(|at| *at < PIECE) {
            let offset = base + at as u64;
            let inside = found.last().is_some_and(|last| offset < last.offset + last.size);
            // The dump itself begins like one.
            if offset == 0 || inside || found.len() >= MOST {
                continue;
            }
            let header = bytes.get(at..).and_then(|bytes| bytes.get(..HEADER));
            if let Some(size) = header.and_then(image_size)
                && offset.checked_add(size).is_some_and(|end| end <= source.size())
            {
                found.push(Extent { offset, size });
            }
        }
    });
    found
}

/// How long an ELF file of device code is, by its header: its tables stand last.
fn image_size(header: &[u8]) -> Option<u64> {
    const EM_CUDA: u16 = 0xbe;
    let header = FileHeader64::<Endianness>::parse(header).ok()?;
    let endian = Endianness::Little;
    if header.e_machine(endian).0 != EM_CUDA {
        return None;
    }
    let table = |offset: u64, entry: u16, count: u16| offset.checked_add(u64::from(entry) * u64::from(count));
    let sections = table(header.e_shoff(endian), header.e_shentsize(endian), header.e_shnum(endian))?;
    let segments = table(header.e_phoff(endian), header.e_phentsize(endian), header.e_phnum(endian))?;
    Some(sections.max(segments)).filter(|size| *size <= LARGEST)
}

/// The grids of kernels that begin at these addresses.
fn grids(source: &dyn Source, kernels: &[u64]) -> Vec<Grid> {
    const ENTRY: usize = layout::GRID as usize;
    /// Where the address of the kernel stands in an entry.
    const KERNEL: usize = 24;
    let mut grids: Vec<Grid> = Vec::new();
    if kernels.is_empty() {
        return grids;
    }
    pieces(source, ENTRY, |_, bytes| {
        // Everything in a dump has a length that four divides.
        for at in (0..bytes.len().saturating_sub(ENTRY - 1)).step_by(4) {
            let begins = u64_at(bytes, at + KERNEL).is_some_and(|word| kernels.binary_search(&word).is_ok());
            let entry = bytes.get(at..at + ENTRY).filter(|_| begins);
            let Some(grid) = entry.map(|entry| layout::grid(Entry(entry))) else { continue };
            let known = grids.iter().any(|known| known.id == grid.id && known.entry == grid.entry);
            if is_possible(&grid) && !known && grids.len() < MOST {
                grids.push(grid);
            }
        }
    });
    grids
}

/// Whether a grid can be launched at all (CUDA C++ Programming Guide, «Compute Capabilities»).
fn is_possible(grid: &Grid) -> bool {
    let [x, y, z] = grid.grid_dim;
    let [wide, high, deep] = grid.block_dim;
    (1..=0x7fff_ffff).contains(&x)
        && [y, z].iter().all(|size| (1..=0xffff).contains(size))
        && [wide, high].iter().all(|size| (1..=1024).contains(size))
        && (1..=64).contains(&deep)
        && grid.threads_per_block() <= 1024
        && (1..=255).contains(&grid.registers)
}
