//! The files that a process has loaded: their places in its memory, and the tables that unwinding needs.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use framehop::{ExplicitModuleSectionInfo, MayAllocateDuringUnwind, Module, Unwinder, UnwinderNative};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ReadCache, elf};

use crate::process::{Mapping, path_seen_by};

/// Where a file's bytes come from.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// A file, by the path under which it can be opened.
    File(PathBuf),
    /// The virtual library that the kernel maps into every process.
    Memory(Arc<Vec<u8>>),
}

/// One loaded file.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    /// As the process knows it.
    pub(crate) path: String,
    pub(crate) content: Content,
    /// Its executable ranges.
    pub(crate) ranges: Vec<(u64, u64)>,
    /// What is added to the file's addresses.
    pub(crate) bias: u64,
}

type Elf<'data, R> = ElfFile64<'data, Endianness, R>;

impl Image {
    pub(crate) fn holds(&self, address: u64) -> bool {
        self.ranges.iter().any(|(start, end)| (*start..*end).contains(&address))
    }

    /// Calls `read` with the parsed file; `None` when it cannot be read.
    pub(crate) fn with_elf<T>(&self, read: impl ElfReader<T>) -> Option<T> {
        match &self.content {
            Content::File(path) => {
                let cache = ReadCache::new(File::open(path).ok()?);
                read.read(&Elf::parse(&cache).ok()?)
            }
            Content::Memory(bytes) => read.read(&Elf::parse(bytes.as_slice()).ok()?),
        }
    }
}

/// Something that looks into an ELF file, wherever its bytes are.
pub(crate) trait ElfReader<T> {
    fn read<'data, R: object::ReadRef<'data>>(self, elf: &Elf<'data, R>) -> Option<T>;
}

/// The loaded files of a process.
pub(crate) fn images(pid: i32, mappings: &[Mapping]) -> Vec<Image> {
    let memory = File::open(format!("/proc/{pid}/mem")).ok();
    let mut images: Vec<Image> = Vec::new();
    for mapping in mappings.iter().filter(|mapping| mapping.executable) {
        let range = (mapping.start, mapping.end);
        if let Some(known) = images.iter_mut().find(|image| image.path == mapping.path) {
            known.ranges.push(range);
            continue;
        }
        let content = match mapping.path.as_str() {
            "[vdso]" => {
                let length = usize::try_from(mapping.end - mapping.start).unwrap_or(0).min(1 << 20);
                let mut bytes = vec![0; length];
                let read = memory.as_ref().map(|memory| memory.read_exact_at(&mut bytes, mapping.start));
                if !matches!(read, Some(Ok(()))) {
                    continue;
                }
                Content::Memory(Arc::new(bytes))
            }
            path if path.starts_with('/') => {
                // Deleted files (a rebuilt program) can still be had as the running program.
                let path = path.strip_suffix(" (deleted)").unwrap_or(path);
                Content::File(path_seen_by(pid, path))
            }
            _ => continue,
        };
        let mut image = Image { path: mapping.path.clone(), content, ranges: vec![range], bias: 0 };
        if let Some(bias) = image.with_elf(Bias { mapping }) {
            image.bias = bias;
            images.push(image);
        }
    }
    images
}

/// The difference between memory and file addresses, by the segment that a mapping shows.
struct Bias<'a> {
    mapping: &'a Mapping,
}

impl ElfReader<u64> for Bias<'_> {
    fn read<'data, R: object::ReadRef<'data>>(self, elf: &Elf<'data, R>) -> Option<u64> {
        let endian = elf.endian();
        let header = elf.elf_header();
        let segments = header.program_headers(endian, elf.data()).ok()?;
        segments.iter().find_map(|segment| {
            let (offset, size) = segment.file_range(endian);
            let page_start = offset & !0xfff;
            let inside = (page_start..offset.checked_add(size)?).contains(&self.mapping.offset);
            let loaded =
                segment.p_type(endian) == elf::PT_LOAD && segment.p_flags(endian).0 & elf::PF_X.0 != 0;
            (loaded && inside).then(|| {
                let shown = segment.p_vaddr(endian).wrapping_sub(offset).wrapping_add(self.mapping.offset);
                self.mapping.start.wrapping_sub(shown)
            })
        })
    }
}

/// Gives the unwinder the tables of `image`.
pub(crate) fn add_to(unwinder: &mut UnwinderNative<Vec<u8>, MayAllocateDuringUnwind>, image: &Image) {
    let Some(tables) = image.with_elf(Tables) else { return };
    let first = image.ranges.iter().map(|range| range.0).min().unwrap_or(0);
    let last = image.ranges.iter().map(|range| range.1).max().unwrap_or(0);
    unwinder.add_module(Module::new(image.path.clone(), first..last, image.bias, tables));
}

struct Tables;

impl ElfReader<ExplicitModuleSectionInfo<Vec<u8>>> for Tables {
    fn read<'data, R: object::ReadRef<'data>>(
        self,
        elf: &Elf<'data, R>,
    ) -> Option<ExplicitModuleSectionInfo<Vec<u8>>> {
        let range = |name: &str| {
            let section = elf.section_by_name(name)?;
            Some(section.address()..section.address().checked_add(section.size())?)
        };
        let data = |name: &str| {
            let bytes = elf.section_by_name(name)?.uncompressed_data().ok()?.into_owned();
            (!bytes.is_empty()).then_some(bytes)
        };
        Some(ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: range(".text"),
            got_svma: range(".got"),
            eh_frame_svma: range(".eh_frame"),
            eh_frame: data(".eh_frame"),
            eh_frame_hdr_svma: range(".eh_frame_hdr"),
            eh_frame_hdr: data(".eh_frame_hdr"),
            debug_frame: data(".debug_frame"),
            ..ExplicitModuleSectionInfo::default()
        })
    }
}
