//! A launch that runs: residency, turns, and how it ends.

pub(crate) mod block;
mod cluster;
mod launching;
mod residency;
mod schedule;
pub(crate) mod shared;
mod split;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use standstill_findings::Finding;

use crate::decode::code::Kind;
use crate::device::Device;
use crate::fault::{Fault, FaultKind, Place};
use crate::launch::{Choice, LaunchError, LaunchRequest, Schedule};
use crate::module::Module;
use crate::reach::Touched;
use block::Block;
use cluster::Cluster;
pub(crate) use launching::WORKSPACE;
use shared::GridShared;

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
    /// Of these, blocks that ran ahead of their turn on another thread.
    pub blocks_ahead: u64,
}

/// Turns of warps since a block was last started.
#[derive(Debug, Default)]
struct Turns {
    /// All of them.
    all: u64,
    /// Those that took their whole time.
    whole: u64,
}

/// A launch that runs. Advance it with [`Grid::run`].
pub struct Grid {
    pub(crate) shared: GridShared,
    arch: pulp::Arch,
    /// Resident blocks; places of blocks that have ended are used again.
    pub(crate) slots: Vec<Option<Box<Block>>>,
    /// Slots that are free.
    vacant: Vec<usize>,
    /// Blocks that have ended, to be used again.
    #[allow(clippy::vec_box, reason = "slots hold blocks in boxes, which are moved as they are")]
    idle: Vec<Box<Block>>,
    /// Warps that can run: slot and warp.
    ready: VecDeque<(u32, u32)>,
    /// For loops that warps have been in for long the warp that goes on, by function and head; the others that
    /// came to the same loop are held back.
    leaders: BTreeMap<(u32, u32), (usize, usize)>,
    held: Vec<((u32, u32), (usize, usize))>,
    /// Clusters with resident blocks.
    clusters: Vec<Cluster>,
    /// The next block to start, and how many there are.
    pub(crate) next_block: u64,
    pub(crate) blocks: u64,
    /// Blocks from this one on do not start yet.
    stop: u64,
    ended: u64,
    ran_ahead: u64,
    /// Blocks of a cluster.
    cluster_blocks: u32,
    /// How many such blocks a multiprocessor holds.
    per_multiprocessor: u64,
    schedule: Schedule,
    random: u64,
    work: u64,
    /// Blocks have nothing to do with each other, and run one after the other as long as none takes very long.
    in_order: bool,
    /// There is a second thread for the blocks, and they run well on two.
    splits: bool,
    /// All blocks start before anything runs.
    at_once: bool,
    /// There was no room for another block.
    full: bool,
    turns: Turns,
    /// Turns until parked warps are looked at.
    until_look: u64,
    /// How far the clock jumps when everybody waits for time.
    jump: u64,
    /// Warps with groups whose access is delayed.
    delayed: Vec<(usize, usize)>,
    pub(crate) livelock: crate::hang::livelock::Livelock,
    fault: Option<Box<Fault>>,
}

impl std::fmt::Debug for Grid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grid").field("kernel", &self.shared.kernel.name).field("ended", &self.ended).finish()
    }
}

impl Grid {
    /// The ranges of global memory that were touched so far, by address; `None` unless the launch asked for them, or
    /// when not all are known.
    pub fn reach(&self) -> Option<Vec<(Touched, std::ops::Range<u64>)>> {
        self.shared.reach.as_ref()?.ranges()
    }

    pub(crate) fn new(
        device: &Arc<Device>,
        module: &Arc<Module>,
        request: LaunchRequest,
    ) -> Result<Grid, LaunchError> {
        launching::launch(device, module, request)
    }

    /// What was executed so far.
    pub fn statistics(&self) -> Statistics {
        let running = self.slots.iter().flatten().flat_map(|block| &block.warps).map(|warp| warp.flow.work);
        Statistics {
            lane_instructions: self.work + running.sum::<u64>(),
            warp_instructions: self.shared.clock,
            blocks_ended: self.ended,
            blocks_ahead: self.ran_ahead,
        }
    }

    /// Blocks that have ended.
    pub(crate) fn ended(&self) -> u64 {
        self.ended
    }

    /// In which order its threads run.
    pub(crate) fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Whether there was no room for another block.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// The kernel's name (mangled).
    pub fn kernel(&self) -> &str {
        &self.shared.kernel.name
    }

    /// The module that the kernel is of.
    pub fn module(&self) -> &Arc<Module> {
        &self.shared.module
    }

    /// Places where results were unknown because the software GPU has no values for them.
    pub fn unknown(&self) -> Vec<Place> {
        self.shared.unknown.iter().map(|&(function, position)| self.place(function, position)).collect()
    }

    /// The place of a decoded operation.
    pub(crate) fn place(&self, function: u32, position: u32) -> Place {
        crate::place::place(&self.shared, function, position)
    }

    fn fault_of(&self, kind: FaultKind, slot: usize, warp: usize, lane: u32, at: (u32, u32)) -> Box<Fault> {
        let block = self.slots.get(slot).and_then(Option::as_ref);
        let first = block.and_then(|block| block.warps.get(warp)).map_or(0, |warp| warp.place.first_thread);
        let linear = first + lane;
        let [x, y, _] = self.shared.block.map(|extent| extent.max(1));
        Box::new(Fault {
            kind,
            place: self.place(at.0, at.1),
            kernel: self.shared.kernel.name.clone(),
            block: block.map_or([0; 3], |block| block.place.coordinates),
            thread: [linear % x, linear / x % y, linear / x / y],
        })
    }

    /// Threads that can run, for a chosen interleaving.
    fn choices(&self) -> (Vec<Choice>, Vec<(usize, usize, usize)>) {
        let files = &self.shared.module.program().module().files;
        let mut choices = Vec::new();
        let mut places = Vec::new();
        for (block, slot) in
            self.slots.iter().zip(0..).filter_map(|(block, slot)| Some((block.as_ref()?, slot)))
        {
            for (warp, index) in block.warps.iter().zip(0..) {
                for (group, at) in
                    warp.flow.groups.iter().zip(0..).filter(|(group, _)| group.state.is_ready())
                {
                    let code = warp.flow.frames.get(group.frame as usize).map(|frame| &frame.code.0);
                    // A join is passed with the operation behind it.
                    let op = code.and_then(|code| code.ops.get(group.pc as usize));
                    let next = group.pc + u32::from(op.is_some_and(|op| op.kind == Kind::Join));
                    choices.push(Choice {
                        block: block.place.index,
                        thread: warp.place.first_thread + group.mask.trailing_zeros(),
                        line: code.map_or(0, |code| crate::place::line(files, code, next)),
                        offset: code.map_or(0, |code| crate::place::location(code, next).1),
                        visible: code.is_some_and(|code| crate::place::is_visible(code, next)),
                    });
                    places.push((slot, index, at));
                }
            }
        }
        (choices, places)
    }
}

impl Drop for Grid {
    fn drop(&mut self) {
        for block in self.slots.iter().flatten() {
            self.shared.device.give_room(block.place.multiprocessor, self.per_multiprocessor);
        }
        if self.shared.workspace != 0 {
            // It may be gone only if somebody freed it by its address, which is theirs to answer for.
            let _ = self.shared.device.memory().free(self.shared.workspace);
        }
    }
}
