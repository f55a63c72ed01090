//! Rust kernels: from source to kernel IR.
//!
//! Belongs here: which Rust is a kernel, the types of its expressions, what each construct means as kernel IR, and
//! where everything stands in the source.
//! Does not belong here: any rule about what is right or wrong with a well-formed kernel, reading files, running.
//!
//! A [`Unit`] is what can be looked at together: one `#[kernel]` function, or a `#[kernels]` module with its helpers.
//! [`lower`] turns it into a [`Lowered`] program, or into [`Problem`]s that each stand on the piece of source they
//! are about and say what to write instead. Helpers are copied into their callers.
//!
//! ```
//! let source = "
//! #[kernel]
//! fn double(space: Space, data: &mut [f32]) {
//!     if space.in_bounds_x() {
//!         data[space.x] *= 2.0;
//!     }
//! }";
//! let file = syn::parse_file(source).unwrap();
//! let units = standstill_kernel_syntax::Unit::all(&file);
//! let lowered = standstill_kernel_syntax::lower(&units[0], "double.rs", 1).unwrap();
//! assert_eq!(lowered.program.kernels()[0].name, "double");
//! ```

mod check;
mod edges;
mod extent;
mod layout;
mod lower;
mod problem;
mod tree;
mod types;
mod unit;

pub use extent::{Extent, Place};
pub use layout::rebuilt;
pub use lower::{Kernel, Lowered, Program, Stop};
pub use problem::Problem;
pub use types::{Scalar, Ty};
pub use unit::Unit;

/// Turns a unit into kernel IR. `file` is what findings call the source, `first_line` the line of the file that its
/// line 1 stands for.
///
/// # Errors
/// What is no kernel source, each with its place.
pub fn lower(unit: &Unit, file: &str, first_line: u32) -> Result<Lowered, Vec<Problem>> {
    let checked = check::check(unit)?;
    lower::lower(&checked, file, first_line)
}
