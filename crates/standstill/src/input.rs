//! Reading inputs: which kind a file is of, and the PTX in it.

use std::collections::HashMap;
use std::fs::FileType;
use std::io::{ErrorKind, Read};
use std::path::Path;

use standstill_fatbin::{Contents, FileKind};
use standstill_report::InputError;
use standstill_toolchain::Compiled;

use crate::compile::Toolchain;

/// A PTX text of an input.
#[derive(Debug)]
pub(crate) struct PtxText {
    /// The name that findings use for it: the path of a PTX file, or one made up from the input's path.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
}

/// What could be read of an input.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// The PTX texts.
    pub(crate) texts: Vec<PtxText>,
    /// The source text, where the input is a source file; its comments speak to the checker.
    pub(crate) source: Option<String>,
    /// Registers of a thread, by kernel, from compiled code beside the PTX.
    pub(crate) registers: HashMap<String, u32>,
    /// What the compiler said, when one was called; its PTX is among the texts.
    pub(crate) compiled: Option<Compiled>,
    /// The text of a source that is read without a compiler, and its language.
    pub(crate) kernel_text: Option<(Language, String)>,
    /// The bytes of a SPIR-V module.
    pub(crate) module: Option<Vec<u8>>,
    /// SHA-256 of the input, when asked for.
    pub(crate) sha256: String,
    /// What could not be read.
    pub(crate) errors: Vec<InputError>,
}

impl Loaded {
    fn fail(&mut self, shown: &str, message: impl Into<String>) {
        let message = message.into();
        self.errors.push(InputError { file: shown.to_owned(), line: 0, column: 0, message });
    }
}

/// Inputs that are CUDA sources by their names: nothing in such a text tells for certain.
const CUDA_EXTENSIONS: [&str; 3] = ["cu", "cuh", "cup"];

/// Most bytes of a file: offsets in a text have 32 bits.
const LARGEST_FILE: u64 = 4 << 30;

/// Most bytes of a pipe, whose end is not known before.
const LARGEST_STREAM: u64 = 1 << 30;

/// A language that is read without a compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// Rust kernels.
    Rust,
    /// Shaders in WGSL.
    Wgsl,
    /// Shaders in SPIR-V.
    SpirV,
}

/// By the extension of the file's name.
const LANGUAGES: [(&str, Language); 3] =
    [("rs", Language::Rust), ("wgsl", Language::Wgsl), ("spv", Language::SpirV)];

/// How a SPIR-V module begins, in either byte order.
const SPIRV_MAGIC: [[u8; 4]; 2] = [[0x03, 0x02, 0x23, 0x07], [0x07, 0x23, 0x02, 0x03]];

/// Reads an input and everything that an analysis needs of it.
pub(crate) fn load(path: &Path, toolchain: &Toolchain<'_>, hash: bool) -> Loaded {
    let shown = shown(path);
    let mut loaded = Loaded::default();
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    let is_source = CUDA_EXTENSIONS.contains(&extension.as_str());
    let bytes = match read(path, is_source) {
        Ok(bytes) => bytes,
        Err(message) => {
            loaded.fail(&shown, message);
            return loaded;
        }
    };
    if hash {
        loaded.sha256 = sha256(&bytes);
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        loaded.fail(&shown, "the file is empty");
        return loaded;
    }
    let language = LANGUAGES.iter().find(|(known, _)| *known == extension).map(|&(_, language)| language);
    if language == Some(Language::SpirV) || SPIRV_MAGIC.iter().any(|magic| bytes.starts_with(magic)) {
        loaded.module = Some(bytes);
    } else if let Some(language) = language {
        loaded.kernel_text = utf8(bytes, &shown, &mut loaded).map(|text| (language, text));
    } else if is_source {
        load_source(path, &shown, bytes, toolchain, &mut loaded);
    } else if extension == "ptx" || standstill_fatbin::sniff(&bytes) == FileKind::Ptx {
        if let Some(text) = utf8(bytes, &shown, &mut loaded) {
            loaded.texts.push(PtxText { name: shown, text });
        }
    } else {
        match standstill_fatbin::read(&bytes) {
            Ok(contents) => load_container(&contents, &shown, &mut loaded),
            Err(error) => loaded.fail(&shown, format!("{error}; a CUDA source must be named *.cu")),
        }
    }
    loaded
}

/// How an input is called in reports: `-` is standard input.
pub(crate) fn shown(path: &Path) -> String {
    if is_standard_input(path) { "<stdin>".to_owned() } else { path.display().to_string() }
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// An input's bytes, or why they cannot be had.
fn read(path: &Path, is_source: bool) -> Result<Vec<u8>, String> {
    let failed = |error| unreadable(path, &error);
    if is_standard_input(path) {
        return read_up_to(std::io::stdin().lock(), LARGEST_STREAM, path);
    }
    let metadata = std::fs::metadata(path).map_err(failed)?;
    let limit = match kind(metadata.file_type()) {
        Kind::File => LARGEST_FILE,
        // The compiler reads the source again.
        Kind::Pipe if is_source => {
            return Err("a CUDA source cannot be read from a pipe; save it to a file".to_owned());
        }
        Kind::Pipe => LARGEST_STREAM,
        Kind::Device => return Err("this is a device; files and pipes are read".to_owned()),
    };
    if metadata.len() > limit {
        return Err(too_large(limit));
    }
    let file = std::fs::File::open(path).map_err(failed)?;
    read_up_to(file, limit, path)
}

fn read_up_to(from: impl Read, limit: u64, path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = from.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > limit { Err(too_large(limit)) } else { Ok(bytes) }
}

fn too_large(limit: u64) -> String {
    format!("it holds more than {} GiB, the most that is read", limit >> 30)
}

/// What a path leads to.
enum Kind {
    /// A file, or a folder: opening says so.
    File,
    /// A named pipe.
    Pipe,
    /// A device or a socket, which may never end.
    Device,
}

#[cfg(unix)]
fn kind(file_type: FileType) -> Kind {
    use std::os::unix::fs::FileTypeExt;
    if file_type.is_fifo() {
        Kind::Pipe
    } else if file_type.is_file() || file_type.is_dir() {
        Kind::File
    } else {
        Kind::Device
    }
}

#[cfg(not(unix))]
fn kind(_: FileType) -> Kind {
    Kind::File
}

pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> String {
    if path.is_dir() {
        return "this is a directory; name the files in it".to_owned();
    }
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "permission to read it is denied".to_owned(),
        _ => format!("it cannot be read: {error}"),
    }
}

/// The bytes as text; a byte that is not UTF-8 is an error with its place.
fn utf8(bytes: Vec<u8>, shown: &str, loaded: &mut Loaded) -> Option<String> {
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..at).unwrap_or_default();
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
            loaded.errors.push(InputError {
                file: shown.to_owned(),
                line: u32::try_from(line).unwrap_or(u32::MAX),
                column: u32::try_from(column).unwrap_or(u32::MAX),
                message: "this byte is not UTF-8".to_owned(),
            });
            None
        }
    }
}

fn load_source(path: &Path, shown: &str, bytes: Vec<u8>, toolchain: &Toolchain<'_>, loaded: &mut Loaded) {
    // Comments may be in any encoding; the compiler judges the rest.
    loaded.source = Some(String::from_utf8_lossy(&bytes).into_owned());
    drop(bytes);
    match toolchain.compile(path) {
        Ok(mut compiled) => {
            let name = format!("{shown}!ptx");
            if let Some(text) = utf8(std::mem::take(&mut compiled.ptx), &name, loaded) {
                loaded.texts.push(PtxText { name, text });
            }
            loaded.compiled = Some(compiled);
        }
        Err(message) => loaded.fail(shown, message),
    }
}

fn load_container(contents: &Contents<'_>, shown: &str, loaded: &mut Loaded) {
    if let Some(why) = contents.explain_no_ptx() {
        loaded.fail(shown, why);
        return;
    }
    // What was read is analysed; what was not must not look like success.
    if let Some(problem) = contents.problems.first() {
        let more = match contents.problems.len() {
            1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        loaded.fail(shown, format!("{problem}{more}"));
    }
    for (_, cubin) in contents.cubins() {
        for kernel in &cubin.kernels {
            if let Some(registers) = kernel.registers {
                // Several architectures: the smallest use leaves the most room, so that nothing is
                // said to be too big that fits somewhere.
                let known = loaded.registers.entry(kernel.name.clone()).or_insert(registers);
                *known = registers.min(*known);
            }
        }
    }
    let count = contents.ptx().count();
    for (index, (_, text)) in contents.ptx().enumerate() {
        let name = if count == 1 { format!("{shown}!ptx") } else { format!("{shown}!ptx{}", index + 1) };
        if let Some(text) = utf8(text.to_vec(), &name, loaded) {
            loaded.texts.push(PtxText { name, text });
        }
    }
}

/// The SHA-256 of what is written to it.
#[derive(Debug, Default)]
pub(crate) struct Hash(sha2::Sha256);

impl Hash {
    pub(crate) fn text(self) -> String {
        use std::fmt::Write;

        use sha2::Digest;
        self.0.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

impl std::io::Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        sha2::Digest::update(&mut self.0, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut hash = Hash::default();
    sha2::Digest::update(&mut hash.0, bytes);
    hash.text()
}
