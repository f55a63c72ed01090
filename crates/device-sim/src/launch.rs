//! What a launch asks for, and what may be wrong with it.

use std::collections::BTreeSet;
use std::sync::Arc;

use standstill_kernel_ir::FunctionId;

/// A launch.
pub struct LaunchRequest {
    /// The kernel, by its index in the module.
    pub kernel: FunctionId,
    /// Blocks of the grid in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Blocks of a cluster in x, y, z; `None` takes what the kernel requires, else no clusters.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_shared: u32,
    /// The kernel's parameters, laid out as [`KernelInfo::parameters`] says.
    pub parameters: Vec<u8>,
    /// The grid must be resident as a whole, and may synchronise as a whole.
    pub cooperative: bool,
    /// Registers of a thread, from compiled code or the user; `None` takes the kernel's stated bound, else 32.
    pub registers: Option<u32>,
    /// Where random choices start.
    pub seed: u64,
    /// In which order threads run.
    pub schedule: Schedule,
    /// Where what the kernel prints goes.
    pub sink: Option<Box<dyn DeviceSink>>,
    /// Ends this launch with an error instead of giving unknown values a place-holder.
    pub strict: bool,
    /// Looks for races and faults of memory order; see [`crate::Grid::races`].
    pub races: bool,
    /// Lets loads that are weak or relaxed return values that were overwritten, where the memory consistency model
    /// allows it; needs `races`.
    pub stale: bool,
    /// Notes which bytes of global memory are touched; see [`crate::Grid::reach`].
    pub reach: bool,
}

impl LaunchRequest {
    /// A launch of one-dimensional shape without parameters; round-robin.
    pub fn new(kernel: FunctionId, blocks: u32, threads: u32) -> LaunchRequest {
        LaunchRequest {
            kernel,
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            cluster: None,
            dynamic_shared: 0,
            parameters: Vec::new(),
            cooperative: false,
            registers: None,
            seed: 0,
            schedule: Schedule::RoundRobin,
            sink: None,
            strict: false,
            races: false,
            stale: false,
            reach: false,
        }
    }
}

/// Takes what the device prints.
pub trait DeviceSink: Send {
    /// The text of one `printf`, formatted.
    fn print(&mut self, text: &[u8]);
}

/// In which order threads run.
#[derive(Default)]
pub enum Schedule {
    /// Warps take turns.
    #[default]
    RoundRobin,
    /// Warps and divergent parts of warps run in a random order, in pieces of random length.
    Random,
    /// The warp with the highest priority runs, and loses it at a few accesses that chance chooses.
    Pct,
    /// As at random, and threads are held up before or behind accesses at these places: functions and positions as
    /// [`crate::Grid::contended`] gives them; at any access when there are none.
    Adversarial(Arc<BTreeSet<(u32, u32)>>),
    /// Every thread runs by itself, and the caller chooses each step.
    Chosen(Box<dyn Interleaving>),
}

/// Chooses who runs next.
pub trait Interleaving: Send {
    /// Chooses one of the threads that can run (never empty), and for how many instructions it runs before
    /// the next choice. `None` leaves the rest of the run to round-robin.
    fn next(&mut self, threads: &[Choice]) -> Option<(usize, u64)>;
}

/// A thread that can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Linear index of its block in the grid.
    pub block: u32,
    /// Linear index in its block.
    pub thread: u32,
    /// Source line of its next instruction; 0 when unknown.
    pub line: u32,
    /// Byte offset of its next instruction in the program's text.
    pub offset: u32,
    /// Whether its next instruction accesses memory or synchronises.
    pub visible: bool,
}

/// What is known of a kernel before it is launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelInfo {
    /// The kernel.
    pub id: FunctionId,
    /// Name as in the input (mangled).
    pub name: String,
    /// Where its parameters lie.
    pub parameters: Vec<ParameterInfo>,
    /// Bytes of all parameters together.
    pub parameter_bytes: u32,
    /// Static shared memory of a block, in bytes.
    pub static_shared: u32,
    /// Local memory of a thread, in bytes, without the functions it calls.
    pub local_bytes: u32,
    /// Most threads of a block: its own bound, else 1024.
    pub most_threads: u32,
}

/// Where a parameter lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterInfo {
    /// Bytes from the start of the parameters.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
}

/// Why a launch is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The module has no such kernel with a body.
    #[error("the module has no kernel {0}")]
    NoSuchKernel(u32),
    /// An extent is zero or beyond the limits (CUDA guide, «Technical Specifications per Compute Capability»).
    #[error("invalid {what} {shape:?}: {why}")]
    InvalidShape {
        /// `grid`, `block` or `cluster`.
        what: &'static str,
        /// The extents.
        shape: [u32; 3],
        /// What is wrong with them.
        why: &'static str,
    },
    /// One block needs more than a multiprocessor has.
    #[error("one block needs {what}: more than a multiprocessor of the {device} has")]
    TooManyResources {
        /// What it needs.
        what: String,
        /// The card.
        device: &'static str,
    },
    /// A cooperative grid that cannot be resident as a whole.
    #[error("a cooperative launch of {blocks} blocks: only {capacity} are resident at once on the {device}")]
    CooperativeTooLarge {
        /// Blocks asked for.
        blocks: u64,
        /// Blocks that fit.
        capacity: u64,
        /// The card.
        device: &'static str,
    },
    /// Fewer parameter bytes than the kernel reads.
    #[error("{given} bytes of parameters given, the kernel takes {expected}")]
    Parameters {
        /// Bytes given.
        given: u32,
        /// Bytes taken.
        expected: u32,
    },
    /// The code uses something that cannot be executed.
    #[error("{instruction} on line {line} of {file} cannot be executed on the software GPU")]
    NotSupported {
        /// The instruction.
        instruction: String,
        /// Source file, or empty.
        file: String,
        /// Source line; 0 when unknown.
        line: u32,
    },
    /// The card's memory does not hold what the launch itself needs.
    #[error("out of memory for the launch")]
    OutOfMemory,
}
