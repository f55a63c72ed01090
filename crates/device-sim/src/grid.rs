//! A launch that runs.

use std::sync::Arc;

use standstill_findings::Finding;

use crate::device::Device;
use crate::fault::Fault;
use crate::launch::{LaunchError, LaunchRequest};
use crate::module::Module;

/// How far a grid has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It can go on.
    Running,
    /// Every live thread waits, and nothing inside the grid can move: only a write to memory from outside,
    /// or room that another grid leaves, can change that. [`Grid::run`] may be called again at any time.
    Parked,
    /// All blocks have ended.
    Finished,
    /// The kernel did something that ends it.
    Fault(Box<Fault>),
}

/// The verdict on a parked grid that nobody outside will help.
#[derive(Debug, Clone)]
pub struct Standstill {
    /// Rule, place, and who waits for whom.
    pub finding: Finding,
    /// Threads that waited.
    pub threads: u64,
}

/// What was executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Instructions times the lanes that executed them.
    pub lane_instructions: u64,
    /// Instructions of warps.
    pub warp_instructions: u64,
    /// Blocks that have ended.
    pub blocks_ended: u64,
}

/// A launch that runs. Advance it with [`Grid::run`].
pub struct Grid {
    device: Arc<Device>,
    module: Arc<Module>,
}

impl Grid {
    pub(crate) fn new(
        device: &Arc<Device>,
        module: &Arc<Module>,
        request: LaunchRequest,
    ) -> Result<Grid, LaunchError> {
        let _ = request;
        Ok(Grid { device: Arc::clone(device), module: Arc::clone(module) })
    }

    /// Runs about `budget` instructions of warps and tells how far the grid has come. The budget only says
    /// when the call returns; it decides nothing.
    pub fn run(&mut self, budget: u64) -> Progress {
        let _ = (budget, &self.device, &self.module);
        Progress::Running
    }

    /// Who waits for whom, when the grid is parked. `outside` says that somebody outside may still write
    /// what is waited for; then the finding is possible, not observed.
    pub fn standstill(&self, outside: Option<&str>) -> Option<Standstill> {
        let _ = outside;
        None
    }

    /// What was executed so far.
    pub fn statistics(&self) -> Statistics {
        Statistics::default()
    }
}
