//! All interleavings of a small launch of a kernel.
//!
//! Belongs here: the states of a launch and the steps between them, the search, what holds in all executions, under which
//! schedulers they end, and the shortest schedule that shows a fault.
//! Does not belong here: what an instruction computes (kernel-ir), reading files, and printing.

mod code;
mod graph;
mod intern;
mod interpret;
mod launch;
mod layout;
mod memory;
mod progress;
mod search;
mod system;
mod thread;

pub use launch::{Argument, Launch, LaunchError, MOST_THREADS, Region};
pub use progress::{
    Fairness, MOST_PROGRESS_THREADS, NAMED, Policy, ProgressError, ProgressGraph, Scheduler,
};
pub use search::{Limit, Limits, Observer};
