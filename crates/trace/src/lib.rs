//! The record of what a program's host code asked of a GPU.
//!
//! Belongs here: the recorded operations, their binary form, writing it while the program runs and reading it
//! while it is still written or after a crash.
//! Does not belong here: what order the operations have (`stream-order`), recording them (`cuda-driver`,
//! `cuda-runtime`), opening files.
//!
//! A record is written whole or not at all: a reader takes whole records up to where the bytes end, or to a length of
//! zero, which is what a file has behind its records that is longer than them because a program writes into its memory.

mod access;
mod format;
mod launch;
mod quick;
mod record;
mod tensor_lists;
mod work;

pub use access::{Access, Mode};
pub use format::{Damage, Reader, Writer};
pub use launch::{LaunchShape, Parameter};
pub use quick::{Caller, Launched, ROOM, put_call, put_copy, put_launch};
pub use record::{Allocation, Call, Frame, Operation, Record, Site, StreamKind, Target};
pub use tensor_lists::TensorLists;
pub use work::{Copied, Memory, Until, Work};
