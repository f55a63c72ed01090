//! What host code asks of a device: one value for each call, whatever carries it out.
//!
//! The same values drive the software device, and can be written down as a trace.

use std::sync::Arc;

use standstill_trace::Copied;

use crate::call_site::CallSite;
use crate::image::Kernel;

/// An operation, by the order of submission over all streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(pub u64);

/// A stream. The legacy default stream is 0; the others are numbered as they are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub u64);

impl StreamId {
    /// The legacy default stream, which waits for every blocking stream and is waited for by them.
    pub const LEGACY: StreamId = StreamId(0);
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId(pub u64);

/// What an operation does when its turn has come.
#[derive(Debug, Clone)]
pub enum Work {
    /// Nothing: it only orders what stands before and behind it (an event's wait, a join of a graph).
    Order,
    /// Marks the event as reached.
    Record(EventId),
    /// Copies bytes.
    Copy(Copy),
    /// Fills bytes with a pattern.
    Fill(Fill),
    /// Runs a kernel.
    Launch(Arc<Launch>),
    /// Calls a function of the host.
    Host(HostCall),
    /// Makes memory of a stream-ordered allocation usable.
    Allocate {
        /// First byte.
        address: u64,
        /// Its size.
        bytes: u64,
    },
    /// Gives stream-ordered memory back.
    Free {
        /// First byte.
        address: u64,
        /// The call that asked for it.
        site: CallSite,
        /// It is a graph's, which keeps it for its next launch (CUDA C++ Programming Guide, «Graph Memory Nodes»).
        stays: bool,
    },
}

impl Work {
    /// One word for what it does, for reports.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Work::Order => "wait",
            Work::Record(_) => "event record",
            Work::Copy(_) => "copy",
            Work::Fill(_) => "memset",
            Work::Launch(_) => "kernel",
            Work::Host(_) => "host function",
            Work::Allocate { .. } => "allocation",
            Work::Free { .. } => "free",
        }
    }
}

/// A copy of up to three dimensions; sizes in bytes, rows and slices.
#[derive(Debug, Clone)]
pub struct Copy {
    /// Where to.
    pub to: Place,
    /// Where from.
    pub from: Place,
    /// Bytes of a row.
    pub width: u64,
    /// Rows of a slice.
    pub height: u64,
    /// Slices.
    pub depth: u64,
    /// Which call asked for it, and between what.
    pub copied: Copied,
}

/// One side of a copy.
#[derive(Debug, Clone)]
pub struct Place {
    /// Whose memory it is.
    pub memory: Memory,
    /// The address of the first byte.
    pub address: u64,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// Bytes from one slice to the next.
    pub slice: u64,
}

/// Whose memory an address is in.
#[derive(Debug, Clone)]
pub enum Memory {
    /// The device's own.
    Device,
    /// The host's, which includes pinned, mapped and managed memory.
    Host,
    /// Bytes that were taken when the call was made; the address counts from their start.
    Staged(Arc<Vec<u8>>),
}

/// A fill of up to two dimensions.
#[derive(Debug, Clone)]
pub struct Fill {
    /// Whose memory it is.
    pub memory: Memory,
    /// The first byte.
    pub address: u64,
    /// The bytes of one element, little-endian; the first `element` of them count.
    pub pattern: [u8; 4],
    /// Bytes of an element: 1, 2 or 4.
    pub element: u64,
    /// Bytes of a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// Whether the call that asked for it returns only when it is done.
    pub waits: bool,
}

/// A kernel with the shape and the arguments of one launch.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster; all one where there are none.
    pub cluster: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_shared: u32,
    /// Whether all blocks must be resident at once.
    pub cooperative: bool,
    /// The parameters, laid out as the kernel's parameter space.
    pub parameters: Vec<u8>,
}

/// A function of the host with its argument. The function's address stays valid as long as the program says:
/// that is part of CUDA's contract for host functions.
#[derive(Debug, Clone, Copy)]
pub struct HostCall {
    /// `void (*)(void *)`.
    pub function: extern "C" fn(usize),
    /// Its argument.
    pub argument: usize,
}
