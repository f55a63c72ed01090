//! Code and memory of a dump, by address.

use rustc_hash::FxHashSet;

use crate::code::Code;
use crate::dump::{Block, Context, Device, Dump, Grid};
use crate::error::{ProblemKind, Problems};
use crate::sass::Space;
use crate::source::{Extent, Source};

/// A place in memory that threads read again and again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// Whether it is in shared memory; `address` then counts from the start of the block's.
    pub shared: bool,
    /// Its address.
    pub address: u64,
    /// The eight bytes there, when they were dumped.
    pub value: Option<u64>,
}

/// Bytes of the generic window of shared memory.
const WINDOW: u64 = 1 << 24;

/// Reads memory as threads of one block see it.
pub(crate) struct Reader<'a> {
    pub(crate) source: &'a dyn Source,
    pub(crate) dump: &'a Dump,
    pub(crate) context: Context,
    pub(crate) block: &'a Block,
    pub(crate) grid: &'a Grid,
}

impl Reader<'_> {
    /// The place that an address names in a space.
    pub(crate) fn locate(&self, space: Space, address: u64) -> Location {
        let window = address.wrapping_sub(self.context.shared_window);
        let shared = match space {
            Space::Shared => true,
            Space::Generic => self.context.shared_window != 0 && window < WINDOW,
            Space::Global => false,
        };
        if shared {
            // The upper byte is the block's number in its cluster.
            let address = if space == Space::Shared { address & (WINDOW - 1) } else { window };
            return Location { shared, address, value: self.shared(address) };
        }
        Location { shared, address, value: self.global(address) }
    }

    /// The eight bytes of constant bank 0 at a place: a parameter.
    pub(crate) fn constant(&self, at: u32) -> Option<u64> {
        let parameters = self.grid.parameters?;
        let at = u64::from(at).checked_sub(self.grid.parameter_offset)?;
        (at.checked_add(8)? <= parameters.size).then(|| self.word(parameters.offset + at))?
    }

    fn shared(&self, address: u64) -> Option<u64> {
        let Extent { offset, size } = self.block.shared?;
        (address.checked_add(8)? <= size).then(|| self.word(offset + address))?
    }

    fn global(&self, address: u64) -> Option<u64> {
        let after = self.dump.memory.partition_point(|memory| memory.address <= address);
        let memory = self.dump.memory.get(after.checked_sub(1)?)?;
        let at = address - memory.address;
        (at.checked_add(8)? <= memory.bytes.size).then(|| self.word(memory.bytes.offset + at))?
    }

    fn word(&self, offset: u64) -> Option<u64> {
        crate::bytes::u64_at(&self.source.read(offset, 8).ok()?, 0)
    }
}

/// The code of the modules in which threads stood or whose kernels ran.
pub(crate) fn codes(source: &dyn Source, device: &Device, problems: &mut Problems) -> Vec<Code> {
    /// A module is not larger than this.
    const MOST: u64 = 1 << 30;
    let mut used: FxHashSet<u64> = device.grids.iter().map(|grid| grid.entry).collect();
    for lane in device.blocks.iter().flat_map(|block| &block.warps).flat_map(|warp| &warp.lanes) {
        used.insert(lane.pc);
    }
    let mut codes = Vec::new();
    for image in device.modules.iter().filter_map(|module| module.relocated) {
        if image.size > MOST {
            continue;
        }
        let read = source.read(image.offset, image.size as usize).map_err(|error| error.to_string());
        match read.and_then(|bytes| Code::read(&bytes)) {
            Ok(code) => {
                let holds = |pc: &u64| code.function(*pc).is_some();
                if used.iter().any(holds) {
                    for problem in &code.problems {
                        problems.push(image.offset, ProblemKind::Module(problem.clone()));
                    }
                    codes.push(code);
                }
            }
            Err(what) => problems.push(image.offset, ProblemKind::Module(what)),
        }
    }
    codes
}
