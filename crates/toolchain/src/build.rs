//! One source file to an executable.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use crate::compile::{ARCH_FLAGS, CompileError, Request, hint, matches_flag, program_of};
use crate::locate::{Compiler, CompilerKind};
use crate::passed::{Passed, passed};
use crate::process;

/// Which CUDA runtime a program is linked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// Inside the executable: nvcc's default.
    Static,
    /// As a shared library, which another may stand in for.
    Shared,
}

/// An executable that was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The exact command, as one would type it in a shell.
    pub command: String,
    /// What the compiler says of its version.
    pub compiler: String,
    /// What the compiler printed: warnings.
    pub warnings: String,
    /// The device code as nvcc wrote it, with the comments that executables do not hold; one text for each
    /// architecture.
    pub ptx: Vec<String>,
}

impl Compiler {
    /// Builds an executable from a CUDA source file: host code with debug information, device code with line
    /// information, PTX embedded. The compiler's temporary files are gone afterwards, whatever happens.
    ///
    /// # Errors
    /// When the source cannot be read, or the compiler cannot be started or fails.
    pub fn build(
        &self,
        request: &Request<'_>,
        runtime: Runtime,
        output: &Path,
    ) -> Result<Built, CompileError> {
        let passed = passed(request)?;
        let program = program_of(self)?;
        let temporary =
            tempfile::Builder::new().prefix("standstill-").tempdir().map_err(CompileError::Temporary)?;
        let mut arguments = self.build_arguments(request, &passed, runtime, output);
        let keeps = request.flags.iter().any(|flag| {
            KEEPING.iter().any(|name| matches_flag(flag, name) || matches_flag(flag, &format!("-{name}")))
        });
        if matches!(self.kind, CompilerKind::Nvcc) && !keeps {
            arguments.push("--keep".into());
            arguments.push(joined("--keep-dir=", temporary.path()));
        }
        let command_line = process::command_line(&self.path, arguments.iter().map(OsString::as_os_str));
        let start_error = |error| CompileError::Start { path: self.path.clone(), error };
        let mut command = Command::new(program);
        command.args(&arguments).current_dir(request.directory).env("TMPDIR", temporary.path());
        let finished = process::run(&mut command).map_err(start_error)?;
        let printed = [finished.stdout.trim_end(), finished.stderr.trim_end()];
        let printed = printed.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
        let printed = passed.with_typed_names(printed);
        if !finished.status.success() || !output.is_file() {
            return Err(CompileError::Failed {
                compiler: self.path.clone(),
                status: finished.status.to_string(),
                hint: hint(&printed).to_owned(),
                output: printed,
                command: command_line,
            });
        }
        let compiler = self.version().map_err(start_error)?;
        Ok(Built { command: command_line, compiler, warnings: printed, ptx: ptx_in(temporary.path()) })
    }

    fn build_arguments(
        &self,
        request: &Request<'_>,
        source: &Passed,
        runtime: Runtime,
        output: &Path,
    ) -> Vec<OsString> {
        let has = |names: &[&str]| {
            request.flags.iter().any(|flag| names.iter().any(|name| matches_flag(flag, name)))
        };
        let mut arguments: Vec<OsString> = Vec::new();
        let mut add = |argument: &str| arguments.push(OsString::from(argument));
        add("-g");
        match &self.kind {
            CompilerKind::Nvcc => {
                if !has(&["-G", "--device-debug", "-lineinfo", "--generate-line-info"]) {
                    add("-lineinfo");
                }
                if !has(&ARCH_FLAGS) {
                    add(&format!("-arch={}", request.arch));
                }
                if !has(&["-cudart", "--cudart"]) {
                    add(if runtime == Runtime::Shared { "-cudart=shared" } else { "-cudart=static" });
                }
                if !has(&["-x", "--x"]) {
                    add("-x");
                    add("cu");
                }
                arguments.extend(request.flags.iter().map(OsString::from));
                arguments.extend(source.arguments());
            }
            CompilerKind::Clang { toolkit } => {
                add("-Wno-unknown-cuda-version");
                if !request.flags.iter().any(|flag| flag.starts_with("-O")) {
                    add("-O3");
                }
                if !has(&ARCH_FLAGS) {
                    add(&format!("--cuda-gpu-arch={}", request.arch));
                }
                // A folder of the caller's own comes before the toolkit's: the linker takes the first.
                arguments.extend(request.flags.iter().map(OsString::from));
                if let Some(toolkit) = toolkit {
                    if !has(&["--cuda-path"]) {
                        arguments.push(joined("--cuda-path=", toolkit));
                    }
                    for folder in ["lib64", "lib"] {
                        arguments.push(joined("-L", &toolkit.join(folder)));
                    }
                }
                arguments.extend(["-x", "cuda"].map(OsString::from));
                arguments.extend(source.arguments());
                let libraries: &[&str] = match runtime {
                    Runtime::Static => &["-lcudart_static", "-ldl", "-lrt", "-pthread"],
                    Runtime::Shared => &["-lcudart"],
                };
                arguments.extend(libraries.iter().map(OsString::from));
            }
        }
        arguments.push(OsStr::new("-o").to_owned());
        arguments.push(output.as_os_str().to_owned());
        arguments
    }
}

/// Flags of nvcc that keep intermediate files, with one of the two hyphens that they may have.
const KEEPING: [&str; 3] = ["-keep", "-keep-dir", "-save-temps"];

/// The PTX files in a folder. What cannot be read is left out: the executable has its own.
fn ptx_in(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut ptx: Vec<_> = files.filter(|path| path.extension() == Some(OsStr::new("ptx"))).collect();
    ptx.sort();
    ptx.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

fn joined(flag: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(flag);
    argument.push(path);
    argument
}
