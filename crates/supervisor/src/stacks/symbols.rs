//! Functions and source lines of addresses.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gimli::{EndianRcSlice, RunTimeEndian};
use object::{Object, ObjectSection, ObjectSymbol, ReadRef};

use super::Frame;
use super::image::{Content, ElfReader, Image};

type Slice = EndianRcSlice<RunTimeEndian>;

/// What is known of files, loaded when an address in them is asked for.
pub(crate) struct Symbols {
    files: HashMap<String, Option<File>>,
    /// Every address that will be asked for: large libraries have a million symbols.
    wanted: Vec<u64>,
}

struct File {
    /// Address, size and name of functions, by address.
    functions: Vec<(u64, u64, String)>,
    lines: Option<addr2line::Context<Slice>>,
}

impl Symbols {
    /// Symbols for these addresses.
    pub(crate) fn of(wanted: Vec<u64>) -> Symbols {
        Symbols { files: HashMap::new(), wanted }
    }

    /// The frames of a stack, with the functions that the compiler put into others.
    pub(crate) fn frames(&mut self, images: &[Image], addresses: &[u64]) -> Vec<Frame> {
        addresses.iter().flat_map(|address| self.frame(images, *address)).collect()
    }

    fn frame(&mut self, images: &[Image], address: u64) -> Vec<Frame> {
        let bare = Frame { address, ..Frame::default() };
        let Some(image) = images.iter().find(|image| image.holds(address)) else { return vec![bare] };
        let bare = Frame { module: image.path.clone(), ..bare };
        let file = self.files.entry(image.path.clone()).or_insert_with(|| File::load(image, &self.wanted));
        let Some(file) = file else { return vec![bare] };
        let place = address.wrapping_sub(image.bias);
        let mut frames = file.inlined(place, &bare);
        if frames.is_empty() {
            frames.push(bare);
        }
        if let Some(outer) = frames.last_mut()
            && let Some(name) = file.function(place)
        {
            // The symbol is the linkage name of the function that is really there.
            outer.function = name;
        }
        frames
    }
}

impl File {
    fn load(image: &Image, wanted: &[u64]) -> Option<File> {
        // As the file itself counts.
        let mut wanted: Vec<u64> = wanted.iter().map(|address| address.wrapping_sub(image.bias)).collect();
        wanted.sort_unstable();
        let mut file = image.with_elf(Load { wanted: &wanted })?;
        if file.0.lines.is_none()
            && let (Some(debug), Content::File(_)) = (separate_debug_file(&file.1), &image.content)
        {
            let separate = Image { content: Content::File(debug), ..image.clone() };
            file.0.lines = separate.with_elf(Load { wanted: &wanted }).and_then(|(file, _)| file.lines);
        }
        Some(file.0)
    }

    fn inlined(&self, address: u64, bare: &Frame) -> Vec<Frame> {
        let Some(lines) = &self.lines else { return Vec::new() };
        let Ok(mut found) = lines.find_frames(address).skip_all_loads() else { return Vec::new() };
        let mut frames: Vec<Frame> = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let location = frame.location.as_ref();
            let name = frame
                .function
                .as_ref()
                .and_then(|name| name.raw_name().ok().map(|raw: Cow<'_, str>| readable(&raw)));
            frames.push(Frame {
                function: name.unwrap_or_default(),
                file: location.and_then(|place| place.file).unwrap_or_default().to_owned(),
                line: location.and_then(|place| place.line).unwrap_or(0),
                inlined: true,
                ..bare.clone()
            });
        }
        if let Some(outer) = frames.last_mut() {
            outer.inlined = false;
        }
        frames
    }

    fn function(&self, address: u64) -> Option<String> {
        let after = self.functions.partition_point(|function| function.0 <= address);
        let (start, size, name) = self.functions.get(after.checked_sub(1)?)?;
        (address - start < *size).then(|| readable(name))
    }
}

/// A name as the programmer wrote it.
pub(crate) fn readable(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    cpp_demangle::Symbol::new(name)
        .ok()
        .and_then(|symbol| symbol.demangle().ok())
        .unwrap_or_else(|| name.to_owned())
}

/// The file of debug information that distributions ship beside a stripped file.
fn separate_debug_file(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let path =
        Path::new("/usr/lib/debug/.build-id").join(format!("{first:02x}")).join(format!("{rest}.debug"));
    path.is_file().then_some(path)
}

struct Load<'a> {
    wanted: &'a [u64],
}

impl ElfReader<(File, Vec<u8>)> for Load<'_> {
    fn read<'data, R: ReadRef<'data>>(
        self,
        elf: &object::read::elf::ElfFile64<'data, object::Endianness, R>,
    ) -> Option<(File, Vec<u8>)> {
        let mut functions: Vec<(u64, u64, String)> = elf
            .symbols()
            .chain(elf.dynamic_symbols())
            .filter(|symbol| symbol.kind() == object::SymbolKind::Text && self.holds_wanted(symbol))
            .filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?.to_owned())))
            .collect();
        // Of several names the first without a leading underscore is the public one.
        functions.sort_by(|a, b| (a.0, a.2.starts_with('_'), &a.2).cmp(&(b.0, b.2.starts_with('_'), &b.2)));
        functions.dedup_by_key(|function| function.0);
        let endian = if elf.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let section = |id: gimli::SectionId| -> Result<Slice, gimli::Error> {
            let data = elf.section_by_name(id.name()).and_then(|section| section.uncompressed_data().ok());
            Ok(Slice::new(Rc::from(data.unwrap_or_default().as_ref()), endian))
        };
        let lines = elf
            .section_by_name(".debug_line")
            .and_then(|_| gimli::Dwarf::load(section).ok())
            .and_then(|dwarf| addr2line::Context::from_dwarf(dwarf).ok());
        let build_id = elf.build_id().ok().flatten().unwrap_or_default().to_vec();
        Some((File { functions, lines }, build_id))
    }
}

impl Load<'_> {
    /// Whether one of the addresses lies in a symbol.
    fn holds_wanted<'data>(&self, symbol: &impl ObjectSymbol<'data>) -> bool {
        let (start, size) = (symbol.address(), symbol.size());
        let next = self.wanted.partition_point(|address| *address < start);
        self.wanted.get(next).is_some_and(|address| address - start < size)
    }
}
