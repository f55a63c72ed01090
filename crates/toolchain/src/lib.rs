//! The CUDA compiler: finding it, fetching it once, and compiling a source file to PTX, or
//! to an executable, with it.
//!
//! Here lives everything that starts a compiler or knows where one may be installed. Reading what it
//! produced does not, and neither does printing: progress goes to a callback, warnings and failures are
//! values.
//!
//! Nothing reads the process's environment but [`Environment::from_process`]; everything else takes an
//! [`Environment`] as a value.
//!
//! Where the time of one `nvcc -ptx` goes was measured with `nvcc --time` (13.5, two cores): preprocessing by
//! gcc 27 %, compiling by cicc 65 %, checking the PTX with ptxas 8 % (25 ms) of 0.25 s for a small kernel;
//! 31 %, 68 % and 1 % of 2.4 s for a file that includes CUB. `--split-compile 0` changes nothing (2.4 s), and
//! no other option leaves out a step, so none is added.

mod build;
mod compile;
mod environment;
mod fetch;
mod flags;
mod locate;
mod passed;
mod process;

pub use build::{Built, Runtime};
pub use compile::{CompileError, Compiled, Request};
pub use environment::Environment;
pub use fetch::{FetchError, TOOLKIT_VERSION, fetch};
pub use flags::{FlagsError, split_flags};
pub use locate::{Compiler, CompilerKind, Found, LocateError, locate};
