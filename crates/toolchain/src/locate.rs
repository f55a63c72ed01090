//! Where a CUDA compiler is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

use crate::environment::{Environment, is_program};
use crate::process;

/// A compiler that turns CUDA C++ into PTX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// Which compiler it is, and what it needs to be told.
    pub kind: CompilerKind,
    /// The program.
    pub path: PathBuf,
    /// How it was found.
    pub found: Found,
}

/// Which compiler it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompilerKind {
    /// NVIDIA's.
    Nvcc,
    /// clang, with the CUDA toolkit whose headers it uses; without one it looks for itself.
    Clang {
        /// The toolkit's folder.
        toolkit: Option<PathBuf>,
    },
}

/// How a compiler was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Found {
    /// It was named.
    Named,
    /// In `PATH`.
    Path,
    /// In the folder that `CUDA_HOME` or `CUDA_PATH` names.
    CudaHome,
    /// Where CUDA is installed by default.
    System,
    /// Fetched earlier, in the user's cache.
    Cache,
}

/// Why no compiler was found.
#[derive(Debug, Error)]
pub enum LocateError {
    /// The compiler that was named is not one.
    #[error("{path}: {reason}", path = path.display())]
    Named {
        /// What was named.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no compiler anywhere.
    #[error(
        "no CUDA compiler found; there are three ways to get one:
  1. install the CUDA toolkit and put nvcc on PATH (or set CUDA_HOME), or name it: --nvcc /path/to/nvcc
  2. install clang, which compiles CUDA when it finds a toolkit's headers (set CUDA_HOME), or name it: --nvcc clang++
  3. have nvcc fetched once from PyPI into the user's cache, no GPU or root needed: --fetch-nvcc{clang}"
    )]
    NotFound {
        /// Why the clang that is there cannot be used, as a further line; otherwise empty.
        clang: String,
    },
}

/// The newest and oldest clang that is looked for under its versioned name, as Debian installs it.
const CLANG_VERSIONS: std::ops::RangeInclusive<u32> = 14..=30;

/// Finds a compiler: the named one, or else nvcc in `PATH`, in `CUDA_HOME` or `CUDA_PATH`, where CUDA is installed by default
/// and in the user's cache, or else a clang in `PATH` that can compile CUDA.
///
/// # Errors
/// When the named one is not there, or none is found; the message then tells what to do.
pub fn locate(named: Option<&Path>, environment: &Environment) -> Result<Compiler, LocateError> {
    if let Some(named) = named {
        return locate_named(named, environment);
    }
    if let Some((path, found)) = find_nvcc(environment) {
        return Ok(Compiler { kind: CompilerKind::Nvcc, path, found });
    }
    find_clang(environment)
}

fn locate_named(named: &Path, environment: &Environment) -> Result<Compiler, LocateError> {
    let error = |reason: &str| LocateError::Named { path: named.to_owned(), reason: reason.to_owned() };
    // A bare name is searched for as a shell does.
    let bare = named.components().count() == 1 && !named.exists();
    let path = if bare {
        environment.find_program(named).ok_or_else(|| error("no such program in PATH"))?
    } else if named.is_dir() {
        // The toolkit's folder, or its `bin`.
        [named.join("bin/nvcc"), named.join("nvcc")]
            .into_iter()
            .find(|path| is_program(path))
            .ok_or_else(|| error("no nvcc in this folder"))?
    } else if is_program(named) {
        named.to_owned()
    } else if named.exists() {
        return Err(error("not an executable file"));
    } else {
        return Err(error("no such file"));
    };
    let is_clang = path.file_name().is_some_and(|name| name.to_string_lossy().contains("clang"));
    let kind = if is_clang {
        CompilerKind::Clang { toolkit: find_toolkit(environment) }
    } else {
        CompilerKind::Nvcc
    };
    Ok(Compiler { kind, path, found: Found::Named })
}

fn find_nvcc(environment: &Environment) -> Option<(PathBuf, Found)> {
    if let Some(path) = environment.find_program("nvcc") {
        return Some((path, Found::Path));
    }
    let in_toolkits = |toolkits: &[PathBuf]| {
        toolkits.iter().map(|toolkit| toolkit.join("bin/nvcc")).find(|path| is_program(path))
    };
    if let Some(path) = in_toolkits(&environment.cuda_homes) {
        return Some((path, Found::CudaHome));
    }
    if let Some(path) = in_toolkits(&environment.system_toolkits) {
        return Some((path, Found::System));
    }
    in_toolkits(&cached_toolkits(environment)).map(|path| (path, Found::Cache))
}

/// The fetched toolkits, newest first.
fn cached_toolkits(environment: &Environment) -> Vec<PathBuf> {
    let entries = environment.compiler_cache().and_then(|cache| fs::read_dir(cache).ok());
    let mut toolkits: Vec<(Vec<u32>, PathBuf)> = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let version = path.file_name()?.to_str()?.strip_prefix("cuda-")?;
            let version = version.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>()?;
            Some((version, path))
        })
        .collect();
    toolkits.sort();
    toolkits.into_iter().rev().map(|(_, path)| path).collect()
}

/// A toolkit whose headers clang can use.
fn find_toolkit(environment: &Environment) -> Option<PathBuf> {
    let has_headers = |toolkit: &&PathBuf| toolkit.join("include/cuda.h").is_file();
    environment.cuda_homes.iter().chain(&environment.system_toolkits).find(has_headers).cloned()
}

fn find_clang(environment: &Environment) -> Result<Compiler, LocateError> {
    let names = std::iter::once("clang++".to_owned())
        .chain(CLANG_VERSIONS.rev().map(|version| format!("clang++-{version}")));
    let toolkit = find_toolkit(environment);
    let mut reason = String::new();
    for path in names.filter_map(|name| environment.find_program(name)) {
        let compiler =
            Compiler { kind: CompilerKind::Clang { toolkit: toolkit.clone() }, path, found: Found::Path };
        match compiler.probe() {
            Ok(()) => return Ok(compiler),
            Err(why) if reason.is_empty() => {
                reason = format!("\n({} cannot compile CUDA here: {why})", compiler.path.display());
            }
            Err(_) => {}
        }
    }
    Err(LocateError::NotFound { clang: reason })
}

impl Compiler {
    /// The compiler's own words about its version, on one line.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn version(&self) -> io::Result<String> {
        let output = process::run(Command::new(&self.path).arg("--version"))?;
        let lines = || output.stdout.lines().map(str::trim).filter(|line| !line.is_empty());
        // nvcc gives its name and a copyright first; "Cuda compilation tools, release 13.5, V13.5.37" is it.
        let line = lines().find(|line| line.contains("release")).or_else(|| lines().next());
        Ok(match (&self.kind, line) {
            (CompilerKind::Nvcc, Some(line)) => format!("nvcc: {line}"),
            (CompilerKind::Clang { .. }, Some(line)) => line.to_owned(),
            (_, None) => "unknown version".to_owned(),
        })
    }

    /// Whether it can compile an empty kernel; otherwise the first error.
    fn probe(&self) -> Result<(), String> {
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let source = folder.path().join("probe.cu");
        fs::write(&source, "__global__ void probe() {}\n").map_err(|e| e.to_string())?;
        let request = crate::Request { source: &source, arch: "sm_80", flags: &[], directory: folder.path() };
        self.compile(&request).map(|_| ()).map_err(|error| error.first_line())
    }
}
