//! Building a [`Dump`] from the sections of the file.
//!
//! Every table names the table that it belongs to by `sh_link` and the entry by `sh_info`; so tables are read
//! from the device down, and what belongs to something unreadable is a problem, never a guess.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::bytes::text_at;
use crate::dump::{Block, Device, Dump, Memory, Warp};
use crate::elf::{self, Kind, Section, Sections};
use crate::error::{ProblemKind, Problems, ReadError};
use crate::layout::{self, Entry};
use crate::salvage::salvage;
use crate::source::{Extent, Source};

/// The most entries that are read of one table: more than any device has.
const MOST_ENTRIES: u64 = 4096;
/// The most threads that are read of one dump.
const MOST_LANES: usize = 4 << 20;
/// The most threads of one block, on every device (CUDA C++ programming guide, "Compute Capabilities").
const MOST_THREADS_OF_BLOCK: u64 = 1024;

/// Reads a core dump.
///
/// # Errors
/// When it is no CUDA core dump, or when nothing in it can be found. Anything less is a problem in the result.
pub fn read(source: &dyn Source) -> Result<Dump, ReadError> {
    let mut problems = Problems::default();
    let sections = match elf::sections(source, &mut problems) {
        Ok(sections) => sections,
        Err(error) => return without_sections(source, error),
    };
    // Names of devices stand in a table of their own, beside the names of sections.
    let tables = || sections.all.iter().enumerate().filter(|(_, section)| section.kind == Kind::Strings);
    let strings = tables().find(|(at, _)| *at != sections.names as usize).or_else(|| tables().next());
    let strings = strings.map(|(_, section)| section);
    let mut reader = Reader { source, sections: &sections, problems, strings: Vec::new(), lanes: 0 };
    if let Some(strings) = strings {
        reader.strings = reader.string_table(strings);
    }
    let mut dump = Dump::default();
    reader.devices(&mut dump);
    dump.problems = reader.problems;
    if dump.lacks_threads() && dump.devices.iter().all(|device| device.grids.is_empty()) {
        // The part of the table that is there does not reach to the grids.
        add_salvaged(&mut dump, salvage(source));
    }
    Ok(dump)
}

/// Adds code and grids that were found without the table.
fn add_salvaged(dump: &mut Dump, found: Option<Device>) {
    let Some(found) = found else { return };
    match dump.devices.first_mut() {
        Some(device) => {
            device.modules = found.modules;
            device.grids = found.grids;
        }
        None => dump.devices.push(found),
    }
}

/// What is left of a dump without its table of sections.
fn without_sections(source: &dyn Source, error: ReadError) -> Result<Dump, ReadError> {
    let ReadError::NoSections { offset, size } = error else { return Err(error) };
    let mut dump = Dump::default();
    add_salvaged(&mut dump, salvage(source));
    if dump.devices.is_empty() {
        return Err(error);
    }
    dump.problems.push(size, ProblemKind::NoSections { offset });
    Ok(dump)
}

/// Where the entries of a table went: the place of the first, in the list that holds them.
type Places = FxHashMap<u32, Place>;

#[derive(Clone, Copy)]
struct Place {
    device: usize,
    /// Position of the table's first entry in the device's list, or (for lanes) block and warp.
    first: usize,
    second: usize,
    count: usize,
}

struct Reader<'a> {
    source: &'a dyn Source,
    sections: &'a Sections,
    problems: Problems,
    strings: Vec<u8>,
    lanes: usize,
}

impl<'a> Reader<'a> {
    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (u32, &'a Section)> + use<'a> {
        self.sections.all.iter().enumerate().filter(move |(_, s)| s.kind == kind).map(|(i, s)| (i as u32, s))
    }

    /// The bytes of a section that are there, at most `limit`.
    fn bytes(&mut self, section: &Section, limit: u64) -> Cow<'a, [u8]> {
        let Extent { offset, size } = section.extent;
        let available = self.source.size().saturating_sub(offset).min(size);
        if available < size {
            let what = section.kind.words();
            self.problems.push(offset, ProblemKind::CutShort { what, declared: size, available });
        }
        self.source.read(offset, available.min(limit) as usize).unwrap_or(Cow::Borrowed(&[]))
    }

    fn string_table(&mut self, section: &Section) -> Vec<u8> {
        /// Names of devices and of the generator stand in it; section names may too.
        const MOST: u64 = 64 << 20;
        self.bytes(section, MOST).into_owned()
    }

    /// Where a section that is kept for later stands; nothing when it reaches past the end of the file.
    fn extent(&mut self, section: &Section) -> Option<Extent> {
        let Extent { offset, size } = section.extent;
        let available = self.source.size().saturating_sub(offset).min(size);
        if available < size {
            let what = section.kind.words();
            self.problems.push(offset, ProblemKind::CutShort { what, declared: size, available });
            return None;
        }
        Some(section.extent)
    }

    /// The entries of a table, each in the form that its driver wrote.
    fn table<T>(&mut self, section: &Section, least: u64, mut read: impl FnMut(Entry<'_>) -> T) -> Vec<T> {
        let what = section.kind.words();
        // The description is one entry, and drivers leave its size out.
        let alone = section.kind == Kind::Meta && section.entry_size == 0;
        let entry = if alone { section.extent.size } else { u64::from(section.entry_size) };
        if entry < least {
            let kind = ProblemKind::EntrySize { what, found: entry, least };
            self.problems.push(section.extent.offset, kind);
            return Vec::new();
        }
        let count = section.extent.size / entry;
        if count > MOST_ENTRIES {
            let kind = ProblemKind::TooMany { what, found: count, limit: MOST_ENTRIES };
            self.problems.push(section.extent.offset, kind);
        }
        let bytes = self.bytes(section, entry.saturating_mul(MOST_ENTRIES));
        bytes.chunks_exact(entry as usize).map(|entry| read(Entry(entry))).collect()
    }

    fn orphan(&mut self, section: &Section) {
        self.problems.push(section.extent.offset, ProblemKind::NoParent { what: section.kind.words() });
    }

    fn devices(&mut self, dump: &mut Dump) {
        let strings = std::mem::take(&mut self.strings);
        let text = |at: u64| text_at(&strings, at).unwrap_or_default();
        for (_, section) in self.of_kind(Kind::Meta) {
            dump.meta =
                self.table(section, layout::META, |e| layout::meta(e, &text)).pop().or(dump.meta.take());
        }
        let mut devices = Places::default();
        for (index, section) in self.of_kind(Kind::Devices) {
            let read = self.table(section, layout::DEVICE, |e| layout::device(e, &text));
            let place = Place { device: dump.devices.len(), first: 0, second: 0, count: read.len() };
            devices.insert(index, place);
            dump.devices.extend(read);
        }
        self.strings = strings;
        self.contexts(dump, &devices);
        self.grids(dump, &devices);
        self.blocks(dump, &devices);
        for kind in [Kind::Global, Kind::Managed] {
            for (_, section) in self.of_kind(kind) {
                if let Some(bytes) = self.extent(section) {
                    dump.memory.push(Memory { address: section.address, bytes });
                }
            }
        }
        dump.memory.sort_by_key(|memory| memory.address);
    }

    /// The device that a table of devices gives for a section below it.
    fn device(&mut self, devices: &Places, section: &Section, dump: &Dump) -> Option<usize> {
        let place = devices.get(&section.link).filter(|place| (section.info as usize) < place.count);
        let device = place.map(|place| place.device + section.info as usize);
        let device = device.filter(|device| *device < dump.devices.len());
        if device.is_none() {
            self.orphan(section);
        }
        device
    }

    fn contexts(&mut self, dump: &mut Dump, devices: &Places) {
        let mut contexts = Places::default();
        for (index, section) in self.of_kind(Kind::Contexts) {
            let Some(device) = self.device(devices, section, dump) else { continue };
            let read = self.table(section, layout::CONTEXT, layout::context);
            let Some(target) = dump.devices.get_mut(device) else { continue };
            let place = Place { device, first: target.contexts.len(), second: 0, count: read.len() };
            contexts.insert(index, place);
            target.contexts.extend(read);
        }
        let mut modules = Places::default();
        for (index, section) in self.of_kind(Kind::Modules) {
            let Some(place) = contexts.get(&section.link).copied() else {
                self.orphan(section);
                continue;
            };
            let read = self.table(section, layout::MODULE, layout::module);
            let Some(target) = dump.devices.get_mut(place.device) else { continue };
            let place = Place { first: target.modules.len(), count: read.len(), ..place };
            modules.insert(index, place);
            target.modules.extend(read);
        }
        for kind in [Kind::RelocatedImage, Kind::Image] {
            for (_, section) in self.of_kind(kind) {
                let Some(extent) = self.extent(section) else { continue };
                let module = entry_place(&modules, section)
                    .and_then(|(place, at)| dump.devices.get_mut(place.device)?.modules.get_mut(at));
                let Some(module) = module else {
                    self.orphan(section);
                    continue;
                };
                match kind {
                    Kind::RelocatedImage => module.relocated = Some(extent),
                    _ => module.original = Some(extent),
                }
            }
        }
    }

    fn grids(&mut self, dump: &mut Dump, devices: &Places) {
        let mut grids = Places::default();
        for (index, section) in self.of_kind(Kind::Grids) {
            let Some(device) = self.device(devices, section, dump) else { continue };
            let mut read = self.table(section, layout::GRID, layout::grid);
            for grid in read.iter_mut().filter(|grid| grid.threads_per_block() > MOST_THREADS_OF_BLOCK) {
                let kind = ProblemKind::BlockShape { found: grid.block_dim, limit: MOST_THREADS_OF_BLOCK };
                self.problems.push(section.extent.offset, kind);
                // Not known: what threads of a block are gone is then not asked.
                grid.block_dim = [0; 3];
            }
            let Some(target) = dump.devices.get_mut(device) else { continue };
            let place = Place { device, first: target.grids.len(), second: 0, count: read.len() };
            grids.insert(index, place);
            target.grids.extend(read);
        }
        for kind in [Kind::Parameters, Kind::ConstantBanks] {
            for (_, section) in self.of_kind(kind) {
                let Some((place, at)) = entry_place(&grids, section) else {
                    self.orphan(section);
                    continue;
                };
                let (parameters, banks) = match kind {
                    Kind::Parameters => (self.extent(section), Vec::new()),
                    _ => (None, self.table(section, layout::BANK, layout::bank)),
                };
                let grid = dump.devices.get_mut(place.device).and_then(|device| device.grids.get_mut(at));
                let Some(grid) = grid else { continue };
                grid.parameters = grid.parameters.or(parameters);
                grid.constant_banks.extend(banks);
            }
        }
    }

    fn blocks(&mut self, dump: &mut Dump, devices: &Places) {
        let mut sms = FxHashMap::default();
        for (index, section) in self.of_kind(Kind::Sms) {
            let Some(device) = self.device(devices, section, dump) else { continue };
            let read = self.table(section, layout::SM, layout::stop);
            sms.insert(index, (device, read.iter().map(|stop| stop.multiprocessor).collect::<Vec<u32>>()));
            if let Some(target) = dump.devices.get_mut(device) {
                target.stops.extend(read.into_iter().filter(|stop| stop.exception != 0));
            }
        }
        let mut blocks = Places::default();
        for (index, section) in self.of_kind(Kind::Blocks) {
            let sm = sms.get(&section.link);
            let sm = sm.and_then(|(device, sms)| Some((*device, *sms.get(section.info as usize)?)));
            let Some((device, sm)) = sm else {
                self.orphan(section);
                continue;
            };
            let read = self.table(section, layout::BLOCK, |entry| layout::block(entry, sm));
            let Some(target) = dump.devices.get_mut(device) else { continue };
            let place = Place { device, first: target.blocks.len(), second: 0, count: read.len() };
            blocks.insert(index, place);
            target.blocks.extend(read);
        }
        for (_, section) in self.of_kind(Kind::Shared) {
            let Some(extent) = self.extent(section) else { continue };
            match block(dump, &blocks, section) {
                Some(block) => block.shared = Some(extent),
                None => self.orphan(section),
            }
        }
        self.warps(dump, &blocks);
    }

    fn warps(&mut self, dump: &mut Dump, blocks: &Places) {
        let mut warps = Places::default();
        for (index, section) in self.of_kind(Kind::Warps) {
            let read = self.table(section, layout::WARP, layout::warp);
            let (Some((place, at)), Some(block)) =
                (entry_place(blocks, section), block(dump, blocks, section))
            else {
                self.orphan(section);
                continue;
            };
            let place = Place { first: at, second: block.warps.len(), count: read.len(), ..place };
            warps.insert(index, place);
            block.warps.extend(read);
        }
        let kinds = [Kind::UniformRegisters, Kind::UniformPredicates, Kind::ConvergenceBarriers];
        for (_, section) in self.sections.all.iter().enumerate().filter(|(_, s)| kinds.contains(&s.kind)) {
            let Some(extent) = self.extent(section) else { continue };
            let Some((warp, _)) = warp(dump, &warps, section) else {
                self.orphan(section);
                continue;
            };
            match section.kind {
                Kind::UniformRegisters => warp.uniform_registers = Some(extent),
                Kind::UniformPredicates => warp.uniform_predicates = Some(extent),
                _ => warp.convergence_barriers = Some(extent),
            }
        }
        self.lanes(dump, &warps);
    }

    fn lanes(&mut self, dump: &mut Dump, warps: &Places) {
        let mut lanes = Places::default();
        for (index, section) in self.of_kind(Kind::Lanes) {
            let read = self.table(section, layout::LANE, layout::lane);
            self.lanes += read.len();
            if self.lanes > MOST_LANES {
                let (found, limit) = (self.lanes as u64, MOST_LANES as u64);
                let kind = ProblemKind::TooMany { what: section.kind.words(), found, limit };
                self.problems.push(section.extent.offset, kind);
                break;
            }
            let Some((warp, place)) = warp(dump, warps, section) else {
                self.orphan(section);
                continue;
            };
            // A second table for the same warp stands behind the first.
            if warp.lanes.is_empty() {
                lanes.insert(index, Place { count: read.len(), ..place });
                warp.lanes = read;
            }
        }
        let kinds = [Kind::Registers, Kind::Predicates, Kind::Backtrace];
        for section in self.sections.all.iter().filter(|section| kinds.contains(&section.kind)) {
            let Some(extent) = self.extent(section) else { continue };
            let place = lanes.get(&section.link);
            let lane = place.and_then(|place| {
                let block = dump.devices.get_mut(place.device)?.blocks.get_mut(place.first)?;
                block.warps.get_mut(place.second)?.lanes.get_mut(section.info as usize)
            });
            let Some(lane) = lane else {
                self.orphan(section);
                continue;
            };
            match section.kind {
                Kind::Registers => lane.registers = Some(extent),
                Kind::Predicates => lane.predicates = Some(extent),
                _ => lane.backtrace = Some(extent),
            }
        }
    }
}

/// The table that a section belongs to, and the position of its entry in the device's list.
fn entry_place(places: &Places, section: &Section) -> Option<(Place, usize)> {
    let place = places.get(&section.link).filter(|place| (section.info as usize) < place.count)?;
    Some((*place, place.first + section.info as usize))
}

fn block<'d>(dump: &'d mut Dump, blocks: &Places, section: &Section) -> Option<&'d mut Block> {
    let (place, at) = entry_place(blocks, section)?;
    dump.devices.get_mut(place.device)?.blocks.get_mut(at)
}

fn warp<'d>(dump: &'d mut Dump, warps: &Places, section: &Section) -> Option<(&'d mut Warp, Place)> {
    let place = *warps.get(&section.link).filter(|place| (section.info as usize) < place.count)?;
    let second = place.second + section.info as usize;
    let block = dump.devices.get_mut(place.device)?.blocks.get_mut(place.first)?;
    Some((block.warps.get_mut(second)?, Place { second, ..place }))
}
