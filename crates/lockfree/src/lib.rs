//! Lock-free structures for kernels in Rust.
//!
//! A structure has two sides. Its *helpers* are `#[device]` functions that a module of kernels brings in:
//!
//! ```
//! use standstill_kernel::{Device, kernels, tiles};
//! use standstill_lockfree::Stack;
//!
//! #[kernels(with(standstill_lockfree::stack))]
//! mod work {
//!     use standstill_kernel::{Atomic, Space};
//!
//!     /// Each cell puts its number on the stack.
//!     #[kernel]
//!     pub fn push(space: Space, heads: &[Atomic<u64>], next: &[Atomic<u32>], values: &mut [u32]) {
//!         assert!(stack_push(heads, next, values, space.x));
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::software();
//! let mut stack = Stack::new(&device, 64)?;
//! work::push::launch(&device, tiles(2), 32, &stack.heads, &stack.next, &mut stack.values)?;
//! assert_eq!(stack.contents()?.len(), 64);
//! # Ok(())
//! # }
//! ```
//!
//! Its *host side* owns the memory, and says of what is left behind a launch whether it is whole.
//!
//! | helpers | host side | progress | for |
//! |---|---|---|---|
//! | [`update`](mod@update) | | lock-free | any pure function of a number in memory; one attempt per warp and address where it is associative |
//! | [`stack`](mod@stack) | [`Stack`] | lock-free | a pool of nodes, last in, first out; values with a capacity |
//! | [`queue`](mod@queue) | [`Queue`] | lock-free | a bounded queue, first in, first out |
//! | [`hazard`](mod@hazard) | [`HazardArray`] | lock-free | nodes that are used anew only when no reader holds them |
//! | [`epoch`](mod@epoch) | [`Epochs`] | lock-free; no reuse while somebody stays inside | the same with one announcement for many reads |
//! | [`list`](mod@list) | [`SortedList`] | lock-free | a sorted set of keys |
//! | [`barrier`](mod@barrier) | [`GridBarrier`] | blocks; a launch that does not fit is refused | all tiles wait for each other |
//!
//! *Lock-free*: whenever cells take steps, some operation ends, whoever is held up. None assumes that one block starts before
//! another, or that any number of them runs at a time. What does not fit is the answer of an operation, never memory that is
//! not its own.
//!
//! Belongs here: structures of kernels on atomics, and their host sides.
//! Does not belong here: the language of kernels, running or checking them.

mod atomic_update;
mod bounded;
mod error;
mod meeting;
// The helpers of one become a macro that those behind it use.
#[macro_use]
mod treiber;
#[macro_use]
mod protected;
mod epochs;
mod sorted;

pub use atomic_update::update;
pub use bounded::{Queue, queue};
pub use epochs::{Epochs, epoch};
pub use error::Error;
pub use meeting::{GridBarrier, barrier};
pub use protected::{HazardArray, hazard};
pub use sorted::{SortedList, list};
pub use treiber::{Stack, stack};
