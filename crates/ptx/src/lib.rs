//! PTX: a tolerant parser with spans, lowering to kernel IR, and writing of it.
//!
//! Belongs here: the syntax of PTX (PTX ISA 9.x), what its compilers write beside it (line tables, debug
//! sections, the project's own comments), what each instruction is in terms of kernel IR, and the way back.
//! Does not belong here: any rule about what is right or wrong, execution, and reading of files.
//!
//! [`parse`] never fails: unknown opcodes and modifiers are kept as text, and after a syntax error reading
//! goes on at the next `;` or `}`.
//!
//! ```
//! use standstill_kernel_ir::{FunctionId, Program};
//!
//! let module = standstill_ptx::parse(".entry k() { bar.sync 0; frobnicate 1; ret; }");
//! assert!(module.errors.is_empty());
//! let lowering = standstill_ptx::Lowering::new(&module);
//! assert_eq!(lowering.opaque_counts(), [("frobnicate", 1)]);
//! let kernel = lowering.function(FunctionId(0));
//! assert_eq!(kernel.map(|kernel| kernel.instructions.len()), Some(2));
//! ```

mod debug_names;
pub mod error;
mod initial;
pub mod lower;
mod parser;
pub mod span;
pub mod syntax;
pub mod write;

pub use error::{ErrorKind, Errors, SyntaxError};
pub use lower::Lowering;
pub use parser::parse;
pub use span::{LineIndex, Position, Span};
pub use syntax::Module;
