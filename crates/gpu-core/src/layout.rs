//! The fields of each table, by their byte offsets.
//!
//! The layout is that of `cudacoredump.h` in the CUDA toolkit. Drivers append fields, so an entry is as long
//! as its section says; a field past its end was not written by that driver and is `None`.

use crate::bytes::{u32_at, u64_at};
use crate::dump::{
    BarrierNote, Block, ConstantBank, Context, Convergence, Device, Grid, GridStatus, Lane, LaneState, Meta,
    Module, Stop, Warp,
};

/// Entry sizes of the oldest drivers that are read.
pub(crate) const DEVICE: u64 = 72;
pub(crate) const CONTEXT: u64 = 40;
pub(crate) const MODULE: u64 = 8;
pub(crate) const GRID: u64 = 104;
pub(crate) const SM: u64 = 4;
pub(crate) const BLOCK: u64 = 20;
pub(crate) const WARP: u64 = 28;
pub(crate) const LANE: u64 = 48;
pub(crate) const BANK: u64 = 16;
pub(crate) const META: u64 = 32;

/// One entry of a table; fields past its end read as absent.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a>(pub(crate) &'a [u8]);

impl Entry<'_> {
    pub(crate) fn half(self, at: usize) -> u32 {
        u32_at(self.0, at).unwrap_or(0)
    }

    pub(crate) fn whole(self, at: usize) -> u64 {
        u64_at(self.0, at).unwrap_or(0)
    }

    fn three(self, at: usize) -> [u32; 3] {
        [self.half(at), self.half(at + 4), self.half(at + 8)]
    }

    fn reaches(self, end: usize) -> bool {
        self.0.len() >= end
    }
}

pub(crate) fn meta(entry: Entry<'_>, text: &dyn Fn(u64) -> String) -> Meta {
    Meta {
        generator: text(entry.whole(0)),
        driver: (entry.half(8), entry.half(12)),
        cuda: (entry.half(16), entry.half(20)),
        flags: entry.half(24),
        timestamp: entry.half(28),
    }
}

pub(crate) fn device(entry: Entry<'_>, text: &dyn Fn(u64) -> String) -> Device {
    Device {
        name: text(entry.whole(0)),
        sm_type: text(entry.whole(16)),
        id: entry.half(24),
        multiprocessors: entry.half(36),
        warps_per_multiprocessor: entry.half(40),
        capability: (entry.half(56), entry.half(60)),
        instruction_size: entry.half(64),
        ..Device::default()
    }
}

pub(crate) fn context(entry: Entry<'_>) -> Context {
    Context {
        id: entry.whole(0),
        shared_window: entry.whole(8),
        local_window: entry.whole(16),
        host_thread: entry.half(36),
    }
}

pub(crate) fn module(entry: Entry<'_>) -> Module {
    Module { handle: entry.whole(0), ..Module::default() }
}

pub(crate) fn grid(entry: Entry<'_>) -> Grid {
    Grid {
        id: entry.whole(0),
        context: entry.whole(8),
        entry: entry.whole(24),
        module: entry.whole(32),
        parent: entry.whole(40),
        parameter_offset: entry.whole(48),
        status: GridStatus::of(entry.half(64)),
        registers: entry.half(68),
        grid_dim: entry.three(72),
        block_dim: entry.three(84),
        host_thread: entry.half(100),
        cluster_dim: entry.reaches(116).then(|| entry.three(104)),
        ..Grid::default()
    }
}

pub(crate) fn bank(entry: Entry<'_>) -> ConstantBank {
    ConstantBank { address: entry.whole(0), size: entry.half(8), bank: entry.half(12) }
}

/// The exception that a multiprocessor noted; exception 0 is none.
pub(crate) fn stop(entry: Entry<'_>) -> Stop {
    let pc = (entry.reaches(24) && entry.half(12) != 0).then(|| entry.whole(16));
    Stop { multiprocessor: entry.half(0), exception: entry.half(8), pc }
}

pub(crate) fn block(entry: Entry<'_>, multiprocessor: u32) -> Block {
    Block { grid: entry.whole(0), index: entry.three(8), multiprocessor, ..Block::default() }
}

pub(crate) fn warp(entry: Entry<'_>) -> Warp {
    let convergence =
        || Convergence { active: entry.half(52), exited: entry.half(56), collective: entry.half(60) };
    Warp {
        slot: entry.half(8),
        valid: entry.half(12),
        active: entry.half(16),
        error_pc: (entry.half(24) != 0).then(|| entry.whole(0)),
        convergence: entry.reaches(64).then(convergence),
        barrier: entry.reaches(80).then(|| BarrierNote { scope: entry.half(64), detail: entry.whole(72) }),
        ..Warp::default()
    }
}

pub(crate) fn lane(entry: Entry<'_>) -> Lane {
    Lane {
        pc: entry.whole(0),
        offset: entry.whole(8),
        lane: entry.half(16),
        thread: entry.three(20),
        exception: entry.half(32),
        call_depth: entry.half(36),
        state: if entry.reaches(52) { LaneState::of(entry.half(48)) } else { None },
        ..Lane::default()
    }
}
