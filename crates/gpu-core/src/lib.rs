//! Reads CUDA core dumps and says what every thread in them was doing and waiting for.
//!
//! Here lives the reading of the dump (any driver from r535, whole or cut short), of the line tables and the
//! few instructions that waiting needs, the grouping of threads by position, and the findings that follow.
//! Nothing here opens files, calls the other engines, or prints.
//!
//! Reading is tolerant: what cannot be read is a [`Problem`] with its place, and the rest is used.

mod account;
mod bytes;
mod code;
mod dump;
mod elf;
mod error;
mod explain;
mod layout;
mod lines;
mod loops;
mod mbarrier;
mod memory;
mod observe;
mod outlook;
mod parameters;
mod position;
mod prune;
mod read;
mod salvage;
mod sass;
mod source;
mod values;

pub use code::{Code, Function, Place, SourceLine};
pub use dump::{
    BarrierNote, Block, ConstantBank, Context, Convergence, Device, Dump, Grid, GridStatus, Lane, LaneState,
    Memory, Meta, Module, Stop, Warp, words,
};
pub use error::{Problem, ProblemKind, Problems, ReadError};
pub use explain::{Options, explain};
pub use mbarrier::MbarrierWord;
pub use memory::Location;
pub use observe::positions;
pub use position::{Arrivals, Count, Doing, GridState, Group, Ptx};
pub use prune::prune;
pub use read::read;
pub use source::{Extent, Source};
