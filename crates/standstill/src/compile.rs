//! From a `.cu` file to PTX.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use standstill_toolchain::{
    Built, Compiled, Compiler, Environment, Request, Runtime, fetch, locate, split_flags,
};

use crate::args::CompilerArgs;

/// The compiler of a call: found, or fetched, when the first source needs it.
#[derive(Debug)]
pub(crate) struct Toolchain<'a> {
    arguments: &'a CompilerArgs,
    compiler: OnceLock<Result<Compiler, String>>,
}

impl<'a> Toolchain<'a> {
    /// The compiler that the arguments ask for.
    pub(crate) fn new(arguments: &'a CompilerArgs) -> Toolchain<'a> {
        Toolchain { arguments, compiler: OnceLock::new() }
    }

    /// Compiles the device code of `source` to PTX. The error says what to do.
    pub(crate) fn compile(&self, source: &Path) -> Result<Compiled, String> {
        let (compiler, flags, directory) = self.prepared()?;
        let request = Request { source, arch: &self.arguments.arch, flags: &flags, directory: &directory };
        compiler.compile(&request).map_err(|error| error.to_string())
    }

    /// Builds an executable from `source`. The error says what to do.
    pub(crate) fn build(
        &self,
        source: &Path,
        arch: &str,
        runtime: Runtime,
        output: &Path,
    ) -> Result<Built, String> {
        let (compiler, flags, directory) = self.prepared()?;
        let request = Request { source, arch, flags: &flags, directory: &directory };
        compiler.build(&request, runtime, output).map_err(|error| error.to_string())
    }

    /// The compiler, its further flags, and the folder to run it in.
    fn prepared(&self) -> Result<(&Compiler, Vec<String>, PathBuf), String> {
        let flags: Vec<Vec<String>> = self
            .arguments
            .cflags
            .iter()
            .map(|text| split_flags(text))
            .collect::<Result<_, _>>()
            .map_err(|error| format!("--cflags: {error}"))?;
        let compiler = self.compiler.get_or_init(|| self.find()).as_ref().map_err(Clone::clone)?;
        let directory = std::env::current_dir().map_err(|error| format!("no current folder: {error}"))?;
        Ok((compiler, flags.concat(), directory))
    }

    fn find(&self) -> Result<Compiler, String> {
        let environment = Environment::from_process();
        match locate(self.arguments.nvcc.as_deref(), &environment) {
            Ok(compiler) => Ok(compiler),
            Err(_) if self.arguments.fetch_nvcc && self.arguments.nvcc.is_none() => {
                fetch(&environment, &mut progress).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// A line of progress for a person who waits; nothing when nobody looks.
fn progress(line: &str) {
    let mut out = std::io::stderr();
    if out.is_terminal() {
        let _ = writeln!(out, "standstill: {line}");
    }
}
