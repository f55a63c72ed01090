//! The software GPU: executes kernel IR, warp by warp, and decides hangs.
//!
//! Belongs here: device memory, residency, the scheduling and execution of threads, every operation that
//! synchronises them, and the decision that a grid stands still, with who waits for whom.
//! Does not belong here: the CUDA API, files, printing, reading of any program format. The meaning of
//! arithmetic is `kernel_ir::evaluate`; the fast forms here are held to it by tests.
//!
//! A [`Device`] has memory and room for blocks. A [`Module`] is loaded onto it, a [`LaunchRequest`] makes a
//! [`Grid`], and whoever holds the grid advances it with [`Grid::run`], on any thread, while other grids are
//! resident and other threads read and write the memory. The grid ends [`Progress::Finished`] or with a
//! [`Fault`], or is [`Progress::Parked`]: every live thread waits for something, and nothing inside can move.
//! The holder knows whether somebody outside still may; if not, [`Grid::standstill`] is the verdict.
//!
//! Blocks that have nothing to do with each other may run on a second thread, ahead of their turn; what a grid does
//! never depends on that.

pub mod address;
mod decode;
mod device;
mod exec;
mod fault;
mod follow;
mod grid;
mod hang;
mod launch;
mod memory;
mod module;
mod place;
mod preempt;
mod race;
mod reach;

pub use device::Device;
pub use fault::{Beside, Fault, FaultKind, Place};
pub use grid::{Grid, Progress, Standstill, Statistics};
pub use launch::{
    Choice, DeviceSink, Interleaving, KernelInfo, LaunchError, LaunchRequest, ParameterInfo, Schedule,
};
pub use memory::{AllocationInfo, Memory, MemoryError};
pub use module::{LoadError, Module};
pub use reach::Touched;
pub use standstill_kernel_ir::{Pointer, VariableImage};
