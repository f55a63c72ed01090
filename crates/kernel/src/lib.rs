//! GPU kernels in Rust, checked for hangs and races while they compile and while they run.
//!
//! ```
//! use standstill_kernel::{Device, Space, cells, kernel};
//!
//! #[kernel]
//! fn double(space: Space, data: &mut [f32]) {
//!     if space.in_bounds_x() {
//!         data[space.x] *= 2.0;
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::software();
//! let mut data = device.buffer(&[1.0, 2.0, 3.0])?;
//! double::launch(&device, cells(3), 256, &mut data)?;
//! assert_eq!(data.read()?, [2.0, 4.0, 6.0]);
//! # Ok(())
//! # }
//! ```
//!
//! A launch runs one *cell* for each point of a [`Space`], in *tiles* whose cells share tile arrays and can wait for
//! each other with [`Space::sync`]. A `sync()` that some cells of a tile could miss does not compile; see [`kernel`].
//! What shows only in a run (races, hangs, accesses out of bounds) is the error of the launch. Which Rust a kernel is
//! made of is told in `docs/rust-kernels.md`.
//!
//! Belongs here: what kernels and their host code are written with; devices, buffers, launches.
//! Does not belong here: which Rust is a kernel, rules, executing kernel IR.

mod buffer;
mod cuda;
mod device;
mod element;
mod error;
#[doc(hidden)]
pub mod explore;
#[doc(hidden)]
pub mod launch;
mod order;
mod shape;
mod software;
mod space;
mod stream;

pub use buffer::Buffer;
pub use device::Device;
pub use element::Element;
pub use error::{BufferError, DeviceError, LaunchError, Stopped};
pub use explore::Explored;
pub use launch::Launched;
pub use shape::{Grid, Tile, cells, tiles};
pub use software::Schedule;
pub use space::{Atomic, Order, Scope, Space};
#[doc(hidden)]
pub use standstill_kernel_macros::kernels_with;
pub use standstill_kernel_macros::{device, kernel, kernels};
pub use stream::{Event, Stream};
