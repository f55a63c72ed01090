//! One source file to PTX.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

use crate::locate::{Compiler, CompilerKind};
use crate::passed::{Passed, passed};
use crate::process;

/// What to compile.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The source file, as the user typed it: relative to `directory`, or absolute.
    pub source: &'a Path,
    /// The architecture, such as `sm_90`. Flags that name one go before it.
    pub arch: &'a str,
    /// Further flags, as [`split_flags`](crate::split_flags) gives them.
    pub flags: &'a [String],
    /// The folder in which the compiler runs: relative paths in `source` and `flags` count from here.
    pub directory: &'a Path,
}

/// A compiled file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The PTX text, with line information.
    pub ptx: Vec<u8>,
    /// The exact command, as one would type it in a shell.
    pub command: String,
    /// What the compiler says of its version.
    pub compiler: String,
    /// What the compiler printed: warnings.
    pub warnings: String,
    /// The folder in which it ran, with links resolved.
    directory: PathBuf,
    /// The path that it was given, where it is not the typed one.
    passed: Option<(PathBuf, PathBuf)>,
    /// Names in place of others that it could not be given, with the typed ones.
    links: Vec<(PathBuf, PathBuf)>,
}

impl Compiled {
    /// A file name of the PTX's `.file` directives as the user would type it. Compilers write the folder they
    /// run in before a relative path; this takes it off again. Other names stay as they are.
    #[must_use]
    pub fn as_typed<'name>(&self, name: &'name str) -> Cow<'name, str> {
        for (link, typed) in &self.links {
            match Path::new(name).strip_prefix(link) {
                Ok(rest) if rest.as_os_str().is_empty() => {
                    return Cow::Owned(typed.to_string_lossy().into_owned());
                }
                Ok(rest) => return Cow::Owned(typed.join(rest).to_string_lossy().into_owned()),
                Err(_) => {}
            }
        }
        let Some(rest) = self.directory.to_str().and_then(|directory| name.strip_prefix(directory)) else {
            return Cow::Borrowed(name);
        };
        let Some(relative) = rest.strip_prefix('/') else { return Cow::Borrowed(name) };
        match &self.passed {
            Some((passed, typed)) if Path::new(relative) == passed => {
                Cow::Owned(typed.to_string_lossy().into_owned())
            }
            _ => Cow::Borrowed(relative),
        }
    }
}

/// Why a file could not be compiled.
#[derive(Debug, Error)]
pub enum CompileError {
    /// The source cannot be read.
    #[error("{path}: {error}", path = path.display())]
    Source {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The compiler cannot be started, or its output cannot be read.
    #[error("cannot run {path}: {error}", path = path.display())]
    Start {
        /// The compiler.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The compiler ended with an error.
    #[error("{compiler} failed ({status}):\n{output}{hint}\nthe command was: {command}", compiler = compiler.display())]
    Failed {
        /// The compiler.
        compiler: PathBuf,
        /// Its exit status in words.
        status: String,
        /// What it printed.
        output: String,
        /// What may help, as a further line; otherwise empty.
        hint: String,
        /// The exact command.
        command: String,
    },
    /// No place for temporary files.
    #[error("cannot make a folder for temporary files: {0}")]
    Temporary(io::Error),
}

impl CompileError {
    /// The first line that says what is wrong.
    pub(crate) fn first_line(&self) -> String {
        match self {
            CompileError::Failed { output, status, .. } => {
                let error = output.lines().find(|line| line.contains("error"));
                error.or(output.lines().next()).map_or_else(|| status.clone(), |line| line.trim().to_owned())
            }
            other => other.to_string(),
        }
    }
}

/// Flags of nvcc and clang that choose the architecture.
pub(crate) const ARCH_FLAGS: [&str; 7] = [
    "-arch",
    "--gpu-architecture",
    "-gencode",
    "--generate-code",
    "--cuda-gpu-arch",
    "--offload-arch",
    "-code",
];

impl Compiler {
    /// Compiles a CUDA source file to PTX with line information. The compiler's temporary files are gone
    /// afterwards, whatever happens.
    ///
    /// # Errors
    /// When the source cannot be read, or the compiler cannot be started or fails.
    pub fn compile(&self, request: &Request<'_>) -> Result<Compiled, CompileError> {
        let passed = passed(request)?;
        let program = program_of(self)?;
        let start_error = |error| CompileError::Start { path: self.path.clone(), error };
        let temporary =
            tempfile::Builder::new().prefix("standstill-").tempdir().map_err(CompileError::Temporary)?;
        let output_path = temporary.path().join("out.ptx");

        let arguments = self.arguments(request, &passed, &output_path);
        let command_line = process::command_line(&self.path, arguments.iter().map(OsString::as_os_str));

        let mut command = Command::new(&program);
        command.args(&arguments).current_dir(request.directory).env("TMPDIR", temporary.path());
        let finished = process::run(&mut command).map_err(start_error)?;
        let printed = [finished.stdout.trim_end(), finished.stderr.trim_end()];
        let printed = printed.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
        let printed = passed.with_typed_names(printed);
        let failed = |status: String| CompileError::Failed {
            compiler: self.path.clone(),
            status,
            hint: hint(&printed).to_owned(),
            output: printed.clone(),
            command: command_line.clone(),
        };
        if !finished.status.success() {
            return Err(failed(finished.status.to_string()));
        }
        let ptx = fs::read(&output_path).map_err(|_| failed("it wrote no PTX".to_owned()))?;
        Ok(Compiled {
            ptx,
            command: command_line,
            compiler: self.version().map_err(start_error)?,
            warnings: printed,
            directory: request.directory.canonicalize().unwrap_or_else(|_| request.directory.to_owned()),
            passed: (passed.path != request.source).then(|| (passed.path, request.source.to_owned())),
            links: passed.links,
        })
    }

    fn arguments(&self, request: &Request<'_>, source: &Passed, output: &Path) -> Vec<OsString> {
        let has = |names: &[&str]| {
            request.flags.iter().any(|flag| names.iter().any(|name| matches_flag(flag, name)))
        };
        let mut arguments: Vec<OsString> = Vec::new();
        let mut add = |argument: &str| arguments.push(OsString::from(argument));
        match &self.kind {
            CompilerKind::Nvcc => {
                add("-ptx");
                // With -G nvcc warns about -lineinfo and leaves it out.
                if !has(&["-G", "--device-debug", "-lineinfo", "--generate-line-info"]) {
                    add("-lineinfo");
                }
                if !has(&ARCH_FLAGS) {
                    add(&format!("-arch={}", request.arch));
                }
                if !has(&["-x", "--x"]) {
                    add("-x");
                    add("cu");
                }
            }
            CompilerKind::Clang { toolkit } => {
                for flag in [
                    "-x",
                    "cuda",
                    "--cuda-device-only",
                    "-S",
                    "-gline-tables-only",
                    "-Wno-unknown-cuda-version",
                ] {
                    add(flag);
                }
                // As nvcc, whose device code is optimised by default.
                if !request.flags.iter().any(|flag| flag.starts_with("-O")) {
                    add("-O3");
                }
                if !has(&ARCH_FLAGS) {
                    add(&format!("--cuda-gpu-arch={}", request.arch));
                }
                if let Some(toolkit) = toolkit
                    && !has(&["--cuda-path"])
                {
                    let mut flag = OsString::from("--cuda-path=");
                    flag.push(toolkit);
                    arguments.push(flag);
                }
            }
        }
        arguments.extend(request.flags.iter().map(OsString::from));
        arguments.extend(source.arguments());
        arguments.push(OsStr::new("-o").to_owned());
        arguments.push(output.as_os_str().to_owned());
        arguments
    }
}

/// The compiler's absolute path: one that is named by a relative path must be found from another folder too.
pub(crate) fn program_of(compiler: &Compiler) -> Result<PathBuf, CompileError> {
    std::path::absolute(&compiler.path)
        .map_err(|error| CompileError::Start { path: compiler.path.clone(), error })
}

/// Whether `flag` is `name`, alone or with its value behind `=`.
pub(crate) fn matches_flag(flag: &str, name: &str) -> bool {
    flag.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// What may help against a failure that is not in the source.
pub(crate) fn hint(printed: &str) -> &'static str {
    if printed.contains("Failed to preprocess host compiler properties")
        || printed.contains("No supported host compiler")
        || printed.contains("Cannot find compiler")
    {
        "\nnvcc needs a host compiler to preprocess with: install g++, or name one: --cflags '-ccbin /path/to/g++'"
    } else {
        ""
    }
}
