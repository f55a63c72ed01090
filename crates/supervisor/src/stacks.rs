//! The stacks of every thread of a process, with source lines, taken from outside.
//!
//! Each thread is stopped for a moment (`PTRACE_SEIZE`, `PTRACE_INTERRUPT`), its frames are found by the unwind
//! tables of the loaded files, and it goes on. A thread that the kernel does not stop is described by what `/proc`
//! says of it.

mod image;
mod parked;
mod registers;
mod symbols;
mod trace;

use std::time::Duration;

pub(crate) use image::{Content, ElfReader, Image, images as images_of};
pub use parked::Parked;
pub(crate) use symbols::{Symbols, readable};

use crate::process;
use crate::python::{self, PythonFrame};

/// One frame of a thread's stack; the innermost is the first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// Address of the instruction, or of the one after the call.
    pub address: u64,
    /// The file that holds it: a program or library; empty when none does.
    pub module: String,
    /// The function, readable; empty when no symbol says it.
    pub function: String,
    /// Source file; empty when there is no line table.
    pub file: String,
    /// Source line, from 1; 0 when not known.
    pub line: u32,
    /// Whether the compiler put the function into its caller.
    pub inlined: bool,
}

/// One thread.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThreadStack {
    /// Its number.
    pub tid: i32,
    /// Its name.
    pub name: String,
    /// `R` running, `S` sleeping, `D` uninterruptible, `T` stopped.
    pub state: char,
    /// The kernel function in which it sleeps; empty when it runs or the system does not say.
    pub kernel_function: String,
    /// Its frames, the innermost first.
    pub frames: Vec<Frame>,
    /// Its Python frames, the innermost first.
    pub python: Vec<PythonFrame>,
    /// The CUDA call in which it stands, where it stands in one.
    pub parked: Option<Parked>,
    /// Why there are no frames, or not all; empty when there is nothing to say.
    pub problem: String,
}

/// All threads of one process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessStacks {
    /// Its number.
    pub pid: i32,
    /// Its command line.
    pub command: String,
    /// Whether it has the CUDA driver loaded.
    pub uses_cuda: bool,
    /// Its threads; the first is the one that runs `main`.
    pub threads: Vec<ThreadStack>,
    /// The Python test that it runs, as `FILE::TEST`; empty when it runs none.
    pub test: String,
    /// Why nothing could be read, and what would help; empty when it could.
    pub problem: String,
}

/// The frames at addresses of files, each address as its file counts and inside of an instruction. Functions that the
/// compiler put into others are frames of their own, before the frame that they are in.
#[must_use]
pub fn resolve(places: &[(&str, u64)]) -> Vec<Frame> {
    let mut symbols = Symbols::of(places.iter().map(|(_, address)| *address).collect());
    let frames = places.iter().flat_map(|(path, address)| {
        let image = Image {
            path: (*path).to_owned(),
            content: Content::File(path.into()),
            ranges: vec![(0, u64::MAX)],
            bias: 0,
        };
        symbols.frames(&[image], &[*address])
    });
    frames.collect()
}

/// Takes the stacks of a process. All waiting in it ends after `within`.
#[must_use]
pub fn capture(pid: i32, within: Duration) -> ProcessStacks {
    let mut result = ProcessStacks {
        pid,
        command: process::command_line(pid),
        uses_cuda: process::uses_cuda(pid),
        ..ProcessStacks::default()
    };
    let traced = trace::trace(pid, within);
    result.problem = traced.problem;
    let wanted: Vec<u64> = traced.threads.iter().flat_map(|thread| &thread.addresses).copied().collect();
    let mut symbols = Symbols::of(wanted);
    for thread in traced.threads {
        let frames = symbols.frames(&traced.images, &thread.addresses);
        result.threads.push(ThreadStack {
            tid: thread.tid,
            name: thread.name,
            state: thread.state,
            kernel_function: thread.kernel_function,
            frames,
            problem: thread.problem,
            ..ThreadStack::default()
        });
    }
    result.test = python::add_frames(pid, &mut result.threads).unwrap_or_default();
    for thread in &mut result.threads {
        thread.parked = parked::parked(thread);
    }
    result
}
