//! What a dump holds: devices, grids, blocks, warps and lanes, as the hardware had them when it stopped.
//!
//! Large things (registers, memory, code) stay where they are and are named by their [`Extent`]; a full
//! card has 270,000 threads.

use std::borrow::Cow;

use crate::error::Problems;
use crate::source::{Extent, Source};

/// A core dump of one process: what every device of it was doing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dump {
    /// Who wrote the dump; drivers before r565 do not say.
    pub meta: Option<Meta>,
    /// The devices that the process could see.
    pub devices: Vec<Device>,
    /// Pieces of global and managed memory.
    pub memory: Vec<Memory>,
    /// What could not be read, each with its place.
    pub problems: Problems,
}

/// Who wrote a dump.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    /// The program that wrote it.
    pub generator: String,
    /// Version of the driver, such as 580 and 159.
    pub driver: (u32, u32),
    /// Version of CUDA that the driver has, such as 13 and 0.
    pub cuda: (u32, u32),
    /// The flags that say what was left out (`CUDBGCoredumpGenerationFlags`).
    pub flags: u32,
    /// When it was written, in seconds since 1970.
    pub timestamp: u32,
}

/// A piece of global or managed memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Its address on the device.
    pub address: u64,
    /// Where its bytes stand.
    pub bytes: Extent,
}

/// One device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Device {
    /// The name to show.
    pub name: String,
    /// The instruction set, such as `sm_90`.
    pub sm_type: String,
    /// The CUDA number of the device.
    pub id: u32,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Warps that fit on one multiprocessor.
    pub warps_per_multiprocessor: u32,
    /// Bytes of an instruction.
    pub instruction_size: u32,
    /// Compute capability.
    pub capability: (u32, u32),
    /// The contexts, with where shared and local memory begin in their address space.
    pub contexts: Vec<Context>,
    /// The code that was loaded.
    pub modules: Vec<Module>,
    /// The grids that were running.
    pub grids: Vec<Grid>,
    /// The blocks that held a place on a multiprocessor.
    pub blocks: Vec<Block>,
    /// Exceptions that multiprocessors noted; drivers before r555 do not.
    pub stops: Vec<Stop>,
}

/// An exception that a multiprocessor noted. The warps that it happened to may be gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stop {
    /// The multiprocessor.
    pub multiprocessor: u32,
    /// What happened (`CUDBGException_t`).
    pub exception: u32,
    /// The instruction, when it is known.
    pub pc: Option<u64>,
}

impl Device {
    /// The grid with this number.
    pub fn grid(&self, id: u64) -> Option<&Grid> {
        self.grids.iter().find(|grid| grid.id == id)
    }

    /// The context with this handle.
    pub fn context(&self, id: u64) -> Option<&Context> {
        self.contexts.iter().find(|context| context.id == id)
    }
}

/// One context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Context {
    /// Its handle.
    pub id: u64,
    /// Generic address at which shared memory begins.
    pub shared_window: u64,
    /// Generic address at which local memory begins.
    pub local_window: u64,
    /// The host thread that owns it.
    pub host_thread: u32,
}

/// A module: code that was loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Module {
    /// Its handle.
    pub handle: u64,
    /// The cubin with every address filled in.
    pub relocated: Option<Extent>,
    /// The cubin as it was given to the driver.
    pub original: Option<Extent>,
}

/// A grid: one launch of a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grid {
    /// Its number.
    pub id: u64,
    /// Handle of its context.
    pub context: u64,
    /// Address of the kernel's first instruction.
    pub entry: u64,
    /// Handle of the kernel's module.
    pub module: u64,
    /// The grid that launched it, on the device; 0 for none.
    pub parent: u64,
    /// Whether it waits, runs or has finished.
    pub status: GridStatus,
    /// Registers of each thread.
    pub registers: u32,
    /// Blocks of the grid.
    pub grid_dim: [u32; 3],
    /// Threads of a block; zeros when the file says an impossible shape.
    pub block_dim: [u32; 3],
    /// Blocks of a cluster; `None` where the driver (before r525) does not say, zeros without clusters.
    pub cluster_dim: Option<[u32; 3]>,
    /// The host thread that launched it.
    pub host_thread: u32,
    /// Where parameters begin in constant bank 0, in bytes.
    pub parameter_offset: u64,
    /// Its parameters.
    pub parameters: Option<Extent>,
    /// Its constant banks.
    pub constant_banks: Vec<ConstantBank>,
}

impl Grid {
    /// How many blocks it has.
    pub fn blocks(&self) -> u64 {
        self.grid_dim.iter().map(|n| u64::from(*n)).fold(1, u64::saturating_mul)
    }

    /// How many threads a block has.
    pub fn threads_per_block(&self) -> u64 {
        self.block_dim.iter().map(|n| u64::from(*n)).fold(1, u64::saturating_mul)
    }

    /// The number of a block in the order in which blocks are counted, x first.
    pub fn linear_block(&self, index: [u32; 3]) -> u64 {
        linear(index, self.grid_dim)
    }

    /// The number of a thread in its block, x first.
    pub fn linear_thread(&self, index: [u32; 3]) -> u32 {
        u32::try_from(linear(index, self.block_dim)).unwrap_or(u32::MAX)
    }
}

fn linear(index: [u32; 3], shape: [u32; 3]) -> u64 {
    let [x, y, z] = index.map(u64::from);
    let [width, height, _] = shape.map(u64::from);
    z.saturating_mul(height).saturating_add(y).saturating_mul(width).saturating_add(x)
}

/// Where a grid stands (`CUDBGGridStatus`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GridStatus {
    /// Launched, not on the hardware yet.
    Pending,
    /// Running.
    Active,
    /// On the device, waiting for its children.
    Sleeping,
    /// Finished.
    Terminated,
    /// Queued or finished, or the driver could not say.
    #[default]
    Undetermined,
}

impl GridStatus {
    pub(crate) fn of(number: u32) -> GridStatus {
        match number {
            1 => GridStatus::Pending,
            2 => GridStatus::Active,
            3 => GridStatus::Sleeping,
            4 => GridStatus::Terminated,
            _ => GridStatus::Undetermined,
        }
    }
}

/// A constant bank of a grid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConstantBank {
    /// Global address of its first byte.
    pub address: u64,
    /// Length in bytes.
    pub size: u32,
    /// Its number.
    pub bank: u32,
}

/// A block on a multiprocessor.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Block {
    /// Number of its grid.
    pub grid: u64,
    /// Its index in the grid.
    pub index: [u32; 3],
    /// The multiprocessor that it was on.
    pub multiprocessor: u32,
    /// Its shared memory, when it was dumped.
    pub shared: Option<Extent>,
    /// Its warps that had not finished.
    pub warps: Vec<Warp>,
}

/// A warp.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Warp {
    /// Its slot on the multiprocessor.
    pub slot: u32,
    /// Lanes that had not exited.
    pub valid: u32,
    /// Lanes that the warp's program counter stood for.
    pub active: u32,
    /// Where the warp faulted, when it did.
    pub error_pc: Option<u64>,
    /// What the convergence hardware says; drivers before r575 do not.
    pub convergence: Option<Convergence>,
    /// What the driver says about the barrier that the warp waits at; drivers before r590 do not.
    pub barrier: Option<BarrierNote>,
    /// Uniform registers, 4 bytes each.
    pub uniform_registers: Option<Extent>,
    /// Uniform predicates, 4 bytes each.
    pub uniform_predicates: Option<Extent>,
    /// Masks of the convergence barriers, 4 bytes each.
    pub convergence_barriers: Option<Extent>,
    /// Its lanes.
    pub lanes: Vec<Lane>,
}

/// Masks of the convergence hardware.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Convergence {
    /// Lanes that ran together.
    pub active: u32,
    /// Lanes that have exited.
    pub exited: u32,
    /// Lanes in a collective operation.
    pub collective: u32,
}

/// The barrier that a warp waits at, as drivers from r590 on write it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BarrierNote {
    /// What kind of barrier.
    pub scope: u32,
    /// More about it.
    pub detail: u64,
}

/// A lane: one thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lane {
    /// Its program counter, an address on the device.
    pub pc: u64,
    /// Bytes from the first instruction of the function that it was in.
    pub offset: u64,
    /// Its number in the warp.
    pub lane: u32,
    /// Its index in the block.
    pub thread: [u32; 3],
    /// The exception that it hit (`CUDBGException_t`); 0 for none.
    pub exception: u32,
    /// Functions on its call stack.
    pub call_depth: u32,
    /// What the convergence hardware says of it; drivers before r575 do not.
    pub state: Option<LaneState>,
    /// Its registers, 4 bytes each.
    pub registers: Option<Extent>,
    /// Its predicates, 4 bytes each.
    pub predicates: Option<Extent>,
    /// Its call stack.
    pub backtrace: Option<Extent>,
}

/// What the convergence hardware does with a lane (`CUDBGCbuThreadState`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LaneState {
    /// It has exited.
    Exited,
    /// It can run.
    Ready,
    /// It gave way to other lanes.
    Yielded,
    /// It sleeps.
    Sleeping,
    /// It waits for lanes of its warp, in `WARPSYNC` of all.
    BlockedAll,
    /// It waits for lanes of its warp, in a collective operation.
    BlockedCollective,
    /// It waits at this convergence barrier for lanes of its warp.
    BlockedAt(u8),
    /// It waits in another way; the number is the driver's.
    Other(u32),
}

impl LaneState {
    pub(crate) fn of(number: u32) -> Option<LaneState> {
        Some(match number {
            u32::MAX => return None,
            0 => LaneState::Exited,
            1 | 5 => LaneState::Ready,
            2 => LaneState::Yielded,
            3 | 4 => LaneState::Sleeping,
            7 => LaneState::BlockedAll,
            8 => LaneState::BlockedCollective,
            9..=24 => LaneState::BlockedAt((number - 9) as u8),
            other => LaneState::Other(other),
        })
    }

    /// Whether the lane waits for other lanes of its warp.
    pub fn is_blocked(self) -> bool {
        matches!(self, LaneState::BlockedAll | LaneState::BlockedCollective | LaneState::BlockedAt(_))
    }
}

/// Reads 4-byte words (registers, predicates) at an extent; what is not there is left out.
pub fn words(source: &dyn Source, extent: Option<Extent>) -> Vec<u32> {
    /// No table of registers is longer.
    const MOST: u64 = 4096;
    let Some(extent) = extent else { return Vec::new() };
    let bytes = source.read(extent.offset, extent.size.min(MOST) as usize).unwrap_or(Cow::Borrowed(&[]));
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}
