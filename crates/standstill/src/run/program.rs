//! What is to be run: a program, or one that is compiled first.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use standstill_report::{Evidence, Input};
use standstill_toolchain::Runtime;
use tempfile::TempDir;

use crate::args::CompilerArgs;
use crate::check::command_line;
use crate::compile::Toolchain;
use crate::input::sha256;
use crate::output::say;

/// A program that can be started.
#[derive(Debug)]
pub(crate) struct Prepared {
    program: PathBuf,
    arguments: Vec<OsString>,
    evidence: Evidence,
    /// Its device code: the texts that the compiler left behind, else the program itself.
    code: Vec<Vec<u8>>,
    /// Holds a program that was compiled; removed with it.
    _folder: Option<TempDir>,
}

impl Prepared {
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    pub(crate) fn code(&self) -> &[Vec<u8>] {
        &self.code
    }

    pub(crate) fn evidence(&self) -> Evidence {
        self.evidence.clone()
    }
}

/// Compiles a source; takes everything else as a program. The error says what to do.
pub(crate) fn prepare(command: &[OsString], compiler: &CompilerArgs) -> Result<Prepared, String> {
    let (first, arguments) = command.split_first().ok_or("no program is named")?;
    let mut prepared = Prepared {
        program: PathBuf::from(first),
        arguments: arguments.to_vec(),
        evidence: Evidence {
            command: command_line(),
            driver: driver_version().unwrap_or_default(),
            device: "gpu".to_owned(),
            ..Evidence::default()
        },
        code: Vec::new(),
        _folder: None,
    };
    let source = Path::new(first);
    if source.extension().and_then(OsStr::to_str) != Some("cu") {
        if let Ok(bytes) = std::fs::read(source) {
            prepared.add_input(source, &bytes);
            prepared.code = vec![bytes];
        }
        return Ok(prepared);
    }
    let bytes = std::fs::read(source).map_err(|error| format!("{}: {error}", source.display()))?;
    prepared.add_input(source, &bytes);
    let folder = tempfile::Builder::new()
        .prefix("standstill-")
        .tempdir()
        .map_err(|error| format!("cannot make a folder for temporary files: {error}"))?;
    let name = source.file_stem().unwrap_or(OsStr::new("program"));
    prepared.program = folder.path().join(name);
    let arch = capability().unwrap_or_else(|| compiler.arch.clone());
    let built = Toolchain::new(compiler).build(source, &arch, Runtime::Static, &prepared.program)?;
    if !built.warnings.is_empty() {
        say(&built.warnings);
    }
    prepared.evidence.compiler = built.compiler;
    prepared.code = built.ptx.into_iter().map(String::into_bytes).collect();
    prepared._folder = Some(folder);
    Ok(prepared)
}

impl Prepared {
    fn add_input(&mut self, path: &Path, bytes: &[u8]) {
        self.evidence.inputs.push(Input { path: path.display().to_string(), sha256: sha256(bytes) });
    }
}

/// Files that the NVIDIA driver makes when there is a card; WSL and Jetson have others.
const CARD_FILES: [&str; 4] = ["/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/nvmap"];

/// Whether this machine has a card, found out without any CUDA call.
pub(crate) fn has_card() -> bool {
    CARD_FILES.iter().any(|file| Path::new(file).exists())
}

/// The architecture of the first card, as nvcc names it.
fn capability() -> Option<String> {
    let output =
        Command::new("nvidia-smi").args(["--query-gpu=compute_cap", "--format=csv,noheader"]).output();
    let text = String::from_utf8(output.ok()?.stdout).ok()?;
    let digits: String = text.lines().next()?.chars().filter(char::is_ascii_digit).collect();
    (2..=3).contains(&digits.len()).then(|| format!("sm_{digits}"))
}

/// The driver's version, where the kernel module says it.
fn driver_version() -> Option<String> {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let words = text.lines().next()?.split_ascii_whitespace();
    words
        .into_iter()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
        .map(Into::into)
}
