//! Executing operations.
#![allow(clippy::needless_range_loop, reason = "several rows are walked lane by lane, in step")]

pub(crate) mod access;
mod ahead;
pub(crate) mod atomic;
pub(crate) mod barrier;
pub(crate) mod calls;
pub(crate) mod collective;
pub(crate) mod copy;
pub(crate) mod core;
pub(crate) mod flow;
pub(crate) mod general;
mod groups;
pub(crate) mod matrix;
pub(crate) mod mbarrier;
pub(crate) mod memory;
mod pattern;
mod printf;
mod registers;
mod run;
pub(crate) mod special;
pub(crate) mod warp;
pub(crate) mod wide;
