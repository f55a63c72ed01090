//! From a `.cu` file to PTX.

use std::path::Path;

use crate::args::CompilerArgs;

/// PTX and the compiler that wrote it.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// The PTX text.
    pub(crate) ptx: String,
    /// Name and version of the compiler.
    pub(crate) compiler: String,
}

/// Compiles the device code of `file`. The error says what to do.
pub(crate) fn compile(file: &Path, _arguments: &CompilerArgs) -> Result<Compiled, String> {
    Err(format!("no compiler for {}", file.display()))
}
