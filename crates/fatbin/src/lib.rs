//! What CUDA compilers put into files: embedded PTX, and the registers and memory each compiled kernel uses.
//!
//! Here lives the reading of containers: host executables, shared objects, object files and static
//! archives, NVIDIA's fatbins inside them or alone, and cubins. The input is bytes and the output is data;
//! nothing here opens files, parses PTX text or knows a rule about programs.
//!
//! Reading is tolerant. A file that is cut short or damaged gives every image that could be read whole and
//! a [`Problem`] with the byte offset for each thing that could not. Memory is bounded by [`Limits`]: sizes
//! that a file declares are checked before anything is reserved for them.

mod arch;
mod bytes;
mod container;
mod cubin;
mod error;
mod host;
mod payload;
mod sniff;

use std::borrow::Cow;
use std::sync::Arc;

pub use arch::{Arch, ArchVariant};
pub use cubin::{Cubin, KernelResources};
pub use error::{Problem, ProblemKind, ReadError};
pub use sniff::{FileKind, sniff};

/// What one file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents<'data> {
    /// What kind of file the bytes are.
    pub kind: FileKind,
    /// The device images, in the order in which they stand in the file.
    pub images: Vec<Image<'data>>,
    /// What could not be read, each with its place.
    pub problems: Vec<Problem>,
}

impl<'data> Contents<'data> {
    /// The PTX texts in the file, each with the image it stands in.
    pub fn ptx(&self) -> impl Iterator<Item = (&Image<'data>, &[u8])> {
        self.images.iter().filter_map(|image| match &image.data {
            ImageData::Ptx(text) => Some((image, text.as_ref())),
            _ => None,
        })
    }

    /// The cubins in the file, each with the image it stands in.
    pub fn cubins(&self) -> impl Iterator<Item = (&Image<'data>, &Cubin)> {
        self.images.iter().filter_map(|image| match &image.data {
            ImageData::Cubin(cubin) => Some((image, cubin)),
            _ => None,
        })
    }

    /// Why the file has no PTX to analyse and what to do about it; `None` when it has some.
    #[must_use]
    pub fn explain_no_ptx(&self) -> Option<String> {
        if self.ptx().next().is_some() {
            return None;
        }
        if let Some(problem) = self.problems.first() {
            return Some(format!("no PTX could be read: {problem}"));
        }
        if self.images.is_empty() {
            return Some("it holds no CUDA device code".to_owned());
        }
        let mut held: Vec<String> = Vec::new();
        for image in &self.images {
            let arch = image.arch.map(|arch| format!(" for {arch}")).unwrap_or_default();
            let what = match &image.data {
                ImageData::Ptx(_) => continue,
                ImageData::Cubin(_) => format!("machine code{arch}"),
                ImageData::LtoIr => format!("link-time optimisation code{arch}"),
                ImageData::Other(kind) => format!("an image of unknown kind {kind}{arch}"),
            };
            if !held.contains(&what) {
                held.push(what);
            }
        }
        Some(format!(
            "it holds {} but no PTX; compile it with PTX inside, for example with \
             -gencode arch=compute_90,code=[sm_90,compute_90]",
            held.join(", ")
        ))
    }
}

/// One device image: a PTX text, a cubin or something else that a fatbin can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image<'data> {
    /// What the image holds.
    pub data: ImageData<'data>,
    /// The architecture it was made for; `None` for a PTX file on its own, whose text says it.
    pub arch: Option<Arch>,
    /// How it was stored.
    pub compression: Compression,
    /// Where its header (or, without a container, its first byte) stands, in bytes from the start of the file.
    pub offset: u64,
    /// The archive member that it stands in.
    pub member: Option<Arc<str>>,
    /// The source file's name, where the compiler recorded one (with `-lineinfo` or `-G`).
    pub source_name: Option<String>,
    /// The options that the compiler recorded for compiling it at run time, such as `--compile-only`
    /// (relocatable device code) or `-g`.
    pub options: Option<String>,
}

/// The payload of an [`Image`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageData<'data> {
    /// PTX text without its padding. It is not checked to be UTF-8.
    Ptx(Cow<'data, [u8]>),
    /// Machine code: what each kernel in it uses.
    Cubin(Cubin),
    /// NVVM intermediate code for link-time optimisation.
    LtoIr,
    /// A kind of image that this reader does not know, by its number in the container.
    Other(u16),
}

/// How an image was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// As it is.
    None,
    /// One LZ4 block (`--compress-mode=speed`, and compilers before CUDA 12.4).
    Lz4,
    /// One Zstandard frame (the other modes).
    Zstd,
}

/// How much memory reading may take. Beyond a limit an image is refused with a [`Problem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest single image, in bytes after decompression.
    pub image_bytes: u64,
    /// All images of one file together, in bytes after decompression.
    pub total_bytes: u64,
    /// The most problems that are recorded; reading stops at this many.
    pub problems: usize,
}

impl Default for Limits {
    /// 512 MiB for an image, 4 GiB for a file, 1000 problems.
    fn default() -> Self {
        Limits { image_bytes: 512 << 20, total_bytes: 4 << 30, problems: 1000 }
    }
}

/// Reads all device images in `bytes`: a PTX text, a cubin, a fatbin, or any executable, shared object,
/// object file or static archive with fatbins inside.
///
/// # Errors
/// When the bytes are empty or of no kind that can hold device code. Anything less is a [`Problem`] in the
/// result.
pub fn read(bytes: &[u8]) -> Result<Contents<'_>, ReadError> {
    read_with(bytes, &Limits::default())
}

/// Like [`read`], with other limits.
///
/// # Errors
/// As for [`read`].
pub fn read_with<'data>(bytes: &'data [u8], limits: &Limits) -> Result<Contents<'data>, ReadError> {
    if bytes.is_empty() {
        return Err(ReadError::Empty);
    }
    let kind = sniff(bytes);
    let mut reader = Reader::new(*limits);
    match kind {
        FileKind::Ptx => reader.images.push(Image {
            data: ImageData::Ptx(Cow::Borrowed(payload::trim_padding(bytes))),
            arch: None,
            compression: Compression::None,
            offset: 0,
            member: None,
            source_name: None,
            options: None,
        }),
        FileKind::Cubin => reader.read_cubin_file(bytes, 0),
        FileKind::Archive => host::read_archive(&mut reader, bytes)?,
        FileKind::Elf | FileKind::Pe => host::read_object(&mut reader, bytes, 0),
        FileKind::Fatbin | FileKind::Unknown => host::scan(&mut reader, bytes, 0, &[]),
    }
    if kind == FileKind::Unknown && reader.images.is_empty() && reader.problems.is_empty() {
        return Err(ReadError::Unrecognised);
    }
    if kind == FileKind::Fatbin && reader.images.is_empty() && reader.problems.is_empty() {
        reader.problem(0, ProblemKind::NotAContainer);
    }
    Ok(Contents { kind, images: reader.images, problems: reader.problems })
}

/// What has been read so far, and how much more may be.
struct Reader<'data> {
    limits: Limits,
    /// Bytes of decompressed images that are still allowed.
    budget: u64,
    images: Vec<Image<'data>>,
    problems: Vec<Problem>,
    member: Option<Arc<str>>,
}

impl<'data> Reader<'data> {
    fn new(limits: Limits) -> Self {
        Reader { limits, budget: limits.total_bytes, images: Vec::new(), problems: Vec::new(), member: None }
    }

    fn problem(&mut self, offset: u64, kind: ProblemKind) {
        if !self.is_full() {
            self.problems.push(Problem { offset, member: self.member.clone(), kind });
        }
    }

    /// Whether so many problems have been found that going on is pointless.
    fn is_full(&self) -> bool {
        self.problems.len() >= self.limits.problems
    }

    fn read_cubin_file(&mut self, bytes: &'data [u8], base: u64) {
        match cubin::read(bytes) {
            Ok(cubin) => self.images.push(Image {
                arch: Some(cubin.arch),
                data: ImageData::Cubin(cubin),
                compression: Compression::None,
                offset: base,
                member: self.member.clone(),
                source_name: None,
                options: None,
            }),
            Err(kind) => self.problem(base, kind),
        }
    }
}
