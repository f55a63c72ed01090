//! A schedule access by access, as a scheduler of threads can follow it: what the search merges into one step is taken apart.

use standstill_kernel_ir::Program;

use crate::launch::Launch;
use crate::reductions::Reductions;
use crate::schedule::ScheduleStep;
use crate::system::{Next, System};
use crate::thread::{Local, Status};

/// Accesses of a schedule beyond which it is not taken apart.
const MOST_ACCESSES: usize = 200_000;

/// The accesses of a schedule in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Track {
    /// The accesses, those in private or read-only memory too.
    pub accesses: Vec<ScheduleStep>,
    /// Threads that have more to do and stand before an access, each with the offset of its instruction in the input.
    pub stands: Vec<Standing>,
}

/// Where a thread stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Block, by its linear index.
    pub block: u32,
    /// Thread of the block, by its linear index.
    pub thread: u32,
    /// Byte offset of the instruction that comes next.
    pub offset: u32,
}

/// The way to a state: who takes a step, and where every thread stands then.
#[derive(Debug, Clone, Default)]
pub(crate) struct Way {
    /// Where threads stand at first.
    pub(crate) start: Vec<Local>,
    pub(crate) moves: Vec<Move>,
}

/// One step.
#[derive(Debug, Clone)]
pub(crate) struct Move {
    pub(crate) thread: usize,
    /// Where threads stand after it.
    pub(crate) after: Vec<Local>,
}

/// An access that ends the schedule, within a step that is not gone to its end: thread, and offset of the instruction.
pub(crate) type Last = (usize, u32);

/// Takes a schedule apart; `None` where it is too long.
pub(crate) fn track(program: &dyn Program, launch: &Launch, way: &Way, last: Option<Last>) -> Option<Track> {
    let apart = Reductions {
        merge_own_accesses: false,
        merge_plain_accesses: false,
        merge_ends: true,
        symmetry: false,
    };
    let mut system = System::new(program, launch.clone(), apart, None).ok()?;
    let now = system.initial_in_order();
    let mut walker = Walker { system, now, accesses: Vec::new() };
    walker.catch_up(None, &way.start)?;
    for step in &way.moves {
        walker.step(step.thread)?;
        walker.catch_up(Some(step.thread), &step.after)?;
    }
    if let Some((thread, offset)) = last {
        walker.go_to(thread, offset);
    }
    let stands = walker.stands();
    Some(Track { accesses: walker.accesses, stands })
}

struct Walker<'p> {
    system: System<'p>,
    now: Vec<u32>,
    accesses: Vec<ScheduleStep>,
}

impl Walker<'_> {
    /// One access of a thread; `None` when it can make none.
    fn step(&mut self, thread: usize) -> Option<()> {
        let (local, memory) = (*self.now.get(thread)?, *self.now.last()?);
        let after = self.system.step_of(&self.now, thread)?;
        if self.accesses.len() >= MOST_ACCESSES {
            return None;
        }
        if self.system.next(local) == Next::Step {
            self.accesses.push(self.system.describe(thread, local, memory));
        }
        self.now = after;
        Some(())
    }

    /// Lets a thread go on until it has made an access at this instruction, if it has not yet come to its end.
    fn go_to(&mut self, thread: usize, offset: u32) {
        while self.step(thread).is_some() {
            if self.accesses.last().is_some_and(|access| access.place.offset == offset) {
                return;
            }
        }
    }

    /// Whether a thread stands where it is to stand.
    fn is_there(&self, thread: usize, target: &Local) -> bool {
        let Some(own) = self.now.get(thread).and_then(|&local| self.system.local(local)) else { return true };
        // Nobody sees how far one has come that goes round for ever; where its own memory is in steps, it does not look so.
        target.status == Status::Circles || own.status == target.status && own.frames == target.frames
    }

    /// Lets threads go on until each stands where it is to stand, `first` before the others.
    fn catch_up(&mut self, first: Option<usize>, targets: &[Local]) -> Option<()> {
        loop {
            let (mut moved, mut all) = (false, true);
            for thread in first.into_iter().chain(0..targets.len()) {
                let target = targets.get(thread)?;
                while !self.is_there(thread, target) {
                    if self.step(thread).is_none() {
                        all = false;
                        break;
                    }
                    moved = true;
                }
            }
            if all {
                return Some(());
            }
            if !moved || self.accesses.len() >= MOST_ACCESSES {
                return None;
            }
        }
    }

    fn stands(&self) -> Vec<Standing> {
        let per_block = self.system.launch.block_threads().max(1);
        let standing = |thread: usize| {
            let local = *self.now.get(thread)?;
            matches!(self.system.next(local), Next::Step | Next::Circle).then_some(())?;
            let (block, inside) = (self.system.block_of(thread), thread as u32 % per_block);
            Some(Standing { block, thread: inside, offset: self.system.standing(local).offset })
        };
        (0..self.system.threads()).filter_map(standing).collect()
    }
}
