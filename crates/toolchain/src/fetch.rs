//! Fetching nvcc once, from NVIDIA's packages on PyPI, into the user's cache.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use thiserror::Error;

use crate::environment::{Environment, is_program};
use crate::locate::{Compiler, CompilerKind, Found};
use crate::process::{Finished, run, run_with_lines};

/// The version of nvcc that is fetched.
pub const TOOLKIT_VERSION: &str = "13.5.37";

/// What is installed: nvcc with the parts it needs, and the CUDA C++ core libraries (`cuda/atomic`, CUB). All
/// are pinned, so that a report made on one machine can be made again on another.
const PACKAGES: [&str; 5] = [
    "nvidia-cuda-nvcc==13.5.37",
    "nvidia-nvvm==13.5.37",
    "nvidia-cuda-crt==13.5.37",
    "nvidia-cuda-runtime==13.5.37",
    "nvidia-cuda-cccl==13.3.5.0.6",
];

/// Where the packages put the toolkit, below the folder they are installed in.
const TOOLKIT_IN_PACKAGES: &str = "nvidia/cu13";

/// How the names of folders for unfinished fetches begin.
const TEMPORARY_PREFIX: &str = ".fetch-";

/// Why nvcc could not be fetched.
#[derive(Debug, Error)]
pub enum FetchError {
    /// Neither `XDG_CACHE_HOME` nor `HOME` says where the cache is.
    #[error("there is no folder to keep nvcc in: set HOME or XDG_CACHE_HOME")]
    NoCache,
    /// Something in the cache cannot be written or moved.
    #[error("{path}: {error}", path = path.display())]
    Cache {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// There is no Python to install with.
    #[error(
        "nvcc is fetched with Python's pip, and there is no python3 on PATH; install python3 with venv and pip"
    )]
    NoPython,
    /// Python has neither `venv` nor `pip`.
    #[error("{python} has no usable venv and no pip (on Debian and Ubuntu: apt install python3-venv):\n{output}", python = python.display())]
    NoPip {
        /// The Python that was tried.
        python: PathBuf,
        /// What it printed.
        output: String,
    },
    /// The package index cannot be reached.
    #[error(
        "the Python package index cannot be reached; check the network and pip's settings (pip config list):\n{output}"
    )]
    Network {
        /// What pip printed last.
        output: String,
    },
    /// pip ended with another error.
    #[error("pip could not install nvcc:\n{output}")]
    Install {
        /// What pip printed last.
        output: String,
    },
    /// What was installed is not a compiler that runs here.
    #[error("what was fetched does not run on this machine: {0}")]
    Unusable(String),
}

/// Fetches nvcc into the user's cache, or finds it there from an earlier time, without any network. `progress`
/// is told what is going on, a line at a time. A fetch that is cut off leaves no half of a compiler behind.
///
/// # Errors
/// Without a cache folder, Python, pip or network, or when what came does not run.
pub fn fetch(environment: &Environment, progress: &mut dyn FnMut(&str)) -> Result<Compiler, FetchError> {
    let cache = environment.compiler_cache().ok_or(FetchError::NoCache)?;
    let target = cache.join(format!("cuda-{TOOLKIT_VERSION}"));
    let compiler = Compiler { kind: CompilerKind::Nvcc, path: target.join("bin/nvcc"), found: Found::Cache };
    if is_program(&compiler.path) {
        return Ok(compiler);
    }
    let python = environment.find_program("python3").ok_or(FetchError::NoPython)?;
    let in_cache = |path: &Path| {
        let path = path.to_owned();
        move |error| FetchError::Cache { path, error }
    };
    fs::create_dir_all(&cache).map_err(in_cache(&cache))?;
    remove_abandoned(&cache);
    // On the same file system as the target, so that a rename puts the whole toolkit there at once.
    let temporary =
        tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempdir_in(&cache).map_err(in_cache(&cache))?;

    progress("preparing a Python environment");
    let pip = python_with_pip(&python, &temporary)?;
    progress(&format!("fetching nvcc {TOOLKIT_VERSION} (about 130 MB)"));
    let installed = temporary.path().join("packages");
    install(&pip, &temporary, &installed, progress)?;

    let toolkit = installed.join(TOOLKIT_IN_PACKAGES);
    check(&toolkit.join("bin/nvcc"))?;
    link_runtime(&toolkit).map_err(in_cache(&toolkit))?;
    put_in_place(&toolkit, &target, &compiler.path)?;
    progress(&format!("nvcc {TOOLKIT_VERSION} is in {}", target.display()));
    Ok(compiler)
}

/// Removes what fetches left behind that were killed. Younger folders may belong to one that is running.
fn remove_abandoned(cache: &Path) {
    const AGE: Duration = Duration::from_secs(24 * 60 * 60);
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let is_old = modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > AGE));
        if is_old && entry.file_name().as_encoded_bytes().starts_with(TEMPORARY_PREFIX.as_bytes()) {
            // Only tidying: a folder that cannot be removed does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A Python that has pip: that of a new virtual environment, or else the given one.
fn python_with_pip(python: &Path, temporary: &TempDir) -> Result<PathBuf, FetchError> {
    let venv = temporary.path().join("venv");
    let attempt = run(Command::new(python).args(["-m", "venv"]).arg(&venv));
    let in_venv = venv.join("bin/python3");
    if attempt.as_ref().is_ok_and(|finished| finished.status.success()) && is_program(&in_venv) {
        return Ok(in_venv);
    }
    let has_pip = run(Command::new(python).args(["-m", "pip", "--version"]));
    if has_pip.is_ok_and(|finished| finished.status.success()) {
        return Ok(python.to_owned());
    }
    let output = match attempt {
        Ok(finished) => last_lines(&finished),
        Err(error) => error.to_string(),
    };
    Err(FetchError::NoPip { python: python.to_owned(), output })
}

fn install(
    python: &Path,
    temporary: &TempDir,
    into: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<(), FetchError> {
    let mut command = Command::new(python);
    command
        .args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-compile"])
        .args(["--no-cache-dir", "--only-binary", ":all:", "--progress-bar", "off"])
        .args(["--retries", "2", "--timeout", "20", "--target"])
        .arg(into)
        .args(PACKAGES)
        .env("TMPDIR", temporary.path());
    let mut line = |line: &str| {
        // "Downloading nvidia_cuda_nvcc-13.5.37-….whl (38.1 MB)"; the other lines repeat it.
        let line = line.trim();
        if line.starts_with("Downloading ") || line.starts_with("Installing ") {
            progress(line);
        }
    };
    let finished = run_with_lines(&mut command, &mut line)
        .map_err(|error| FetchError::Install { output: error.to_string() })?;
    if finished.status.success() {
        return Ok(());
    }
    let output = last_lines(&finished);
    if is_network_failure(&finished.stderr) {
        Err(FetchError::Network { output })
    } else {
        Err(FetchError::Install { output })
    }
}

/// Whether pip's words mean that the index was not reached. After its tries it only says that it found no
/// version at all.
fn is_network_failure(stderr: &str) -> bool {
    const SIGNS: [&str; 8] = [
        "(from versions: none)",
        "NewConnectionError",
        "ConnectTimeoutError",
        "ReadTimeoutError",
        "NameResolutionError",
        "Temporary failure in name resolution",
        "ProxyError",
        "SSLError",
    ];
    SIGNS.iter().any(|sign| stderr.contains(sign))
}

fn last_lines(finished: &Finished) -> String {
    const LINES: usize = 12;
    let text = if finished.stderr.trim().is_empty() { &finished.stdout } else { &finished.stderr };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join("\n")
}

/// Whether the fetched program starts: it may have been built for another system.
fn check(nvcc: &Path) -> Result<(), FetchError> {
    match run(Command::new(nvcc).arg("--version")) {
        Ok(finished) if finished.status.success() => Ok(()),
        Ok(finished) => Err(FetchError::Unusable(last_lines(&finished))),
        Err(error) => Err(FetchError::Unusable(format!("{}: {error}", nvcc.display()))),
    }
}

/// Gives the runtime library the name without a version that linkers look for; the package leaves it out.
fn link_runtime(toolkit: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let libraries = toolkit.join("lib");
        let link = libraries.join("libcudart.so");
        if libraries.join("libcudart.so.13").exists() && !link.exists() {
            std::os::unix::fs::symlink("libcudart.so.13", link)?;
        }
    }
    Ok(())
}

/// Moves the whole toolkit to its place. When another process was faster, its toolkit stays.
fn put_in_place(toolkit: &Path, target: &Path, nvcc: &Path) -> Result<(), FetchError> {
    let error = |error| FetchError::Cache { path: target.to_owned(), error };
    match fs::rename(toolkit, target) {
        Ok(()) => Ok(()),
        Err(_) if is_program(nvcc) => Ok(()),
        Err(_) if target.exists() => {
            // Not made by this function, since it has no compiler: somebody deleted a part.
            fs::remove_dir_all(target).map_err(error)?;
            fs::rename(toolkit, target).map_err(error)
        }
        Err(first) => Err(error(first)),
    }
}
