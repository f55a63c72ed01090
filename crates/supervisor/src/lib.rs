//! Runs a program under a watchdog. When the program has to be stopped, it is asked first what it stood on:
//! the stacks of its threads on the host, and a core dump of the GPU through the driver's dump pipe; then the
//! program and everything that it started is ended.
//!
//! Belongs here: process groups, the watchdog, host stacks, where kernels are launched, triggering dumps, a clean end.
//! Does not belong here: any CUDA call (a process that has touched CUDA cannot start GPU programs by fork),
//! reading GPU core dumps, and printing: what happens is told to an [`Observer`].
//!
//! Linux only, on x86-64 and aarch64. Nothing is decided by sleeping where the system offers an event: the end of
//! a process is its pidfd, the growth of a dump is inotify, limits are timeouts of `poll`.

mod dump;
mod end;
mod error;
mod guard;
mod launches;
mod process;
mod python;
mod stacks;
mod system;
mod terminal;
mod tripwire;
mod wait;
mod watch;
mod words;

pub use dump::{
    Dump, DumpError, DumpFolder, DumpProgress, DumpRequest, ThreadTimes, dump_variables, request_dumps,
};
pub use end::Remaining;
pub use error::StartError;
pub use launches::{Launch, OnGpu, Programs};
pub use process::{Process, processes, uses_cuda, variable};
pub use python::PythonFrame;
pub use stacks::{Frame, Parked, ProcessStacks, ThreadStack, capture, resolve};
pub use watch::{Captured, Ended, Limits, Observer, Outcome, Plan, Reason, run};
pub use words::describe;
