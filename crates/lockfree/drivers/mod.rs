//! Kernels that use the structures: each cell goes through its part of a script. Tests and the stress runner launch them.
#![allow(dead_code, unreachable_pub, reason = "each of them uses some")]

pub mod barrier;
pub mod epoch;
pub mod hazard;
pub mod list;
pub mod queue;
pub mod stack;
pub mod update;
