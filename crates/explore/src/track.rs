//! A schedule access by access, as a scheduler of threads can follow it: what the search merges into one step is taken apart.

use standstill_kernel_ir::Program;

use crate::follow::Looks;
use crate::launch::{Launch, LaunchError};
use crate::reductions::Reductions;
use crate::schedule::{ScheduleStep, StepKind};
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

/// Takes a schedule apart; `None` where it is too long. What the search looked for decides where threads stand in it.
pub(crate) fn track(
    program: &dyn Program,
    launch: &Launch,
    looks: Option<Looks>,
    way: &Way,
    last: Option<Last>,
) -> Option<Track> {
    let mut walker = Walker::new(program, launch, looks).ok()?;
    walker.catch_up(None, &way.start)?;
    for step in &way.moves {
        walker.step(step.thread)?;
        walker.catch_up(Some(step.thread), &step.after)?;
    }
    if let Some((thread, offset)) = last {
        walker.go_to(thread, offset);
    }
    Some(walker.end())
}

/// What threads do that make accesses in this order (block and thread, by their linear indices), as far as they can.
///
/// # Errors
/// When the launch cannot be made.
pub fn retrace(
    program: &dyn Program,
    launch: &Launch,
    order: impl IntoIterator<Item = (u32, u32)>,
) -> Result<Track, LaunchError> {
    let mut walker = Walker::new(program, launch, None)?;
    for (block, thread) in order {
        let per_block = u64::from(walker.system.per_block);
        let thread = u64::from(block).saturating_mul(per_block).saturating_add(thread.into());
        if walker.access(usize::try_from(thread).unwrap_or(usize::MAX)).is_none() {
            break;
        }
    }
    Ok(walker.end())
}

struct Walker<'p> {
    system: System<'p>,
    now: Vec<u32>,
    accesses: Vec<ScheduleStep>,
}

impl<'p> Walker<'p> {
    fn new(
        program: &'p dyn Program,
        launch: &Launch,
        looks: Option<Looks>,
    ) -> Result<Walker<'p>, LaunchError> {
        let apart = Reductions {
            merge_own_accesses: false,
            merge_plain_accesses: false,
            merge_ends: true,
            symmetry: false,
        };
        let mut system = System::new(program, launch.clone(), apart, looks)?;
        let now = system.initial_in_order();
        Ok(Walker { system, now, accesses: Vec::new() })
    }

    fn end(mut self) -> Track {
        let stands = self.stands();
        Track { accesses: self.accesses, stands }
    }

    /// The next access of a thread; `None` when it makes none.
    fn access(&mut self, thread: usize) -> Option<()> {
        let &local = self.now.get(thread)?;
        (self.system.next(local) == Next::Step).then(|| self.step(thread))?
    }

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

    fn stands(&mut self) -> Vec<Standing> {
        let memory = self.now.last().copied().unwrap_or(0);
        let mut stands = Vec::new();
        for (thread, &local) in self.now.iter().take(self.system.threads()).enumerate() {
            let next = self.system.next(local);
            if !matches!(next, Next::Step | Next::Circle) {
                continue;
            }
            let step = self.system.describe(thread, local, memory);
            // Behind a mark the access that comes next counts: the mark itself is nothing that runs.
            let offset = match step.kind {
                StepKind::End => self.system.standing(local).offset,
                _ => step.place.offset,
            };
            stands.push(Standing { block: step.block, thread: step.thread, offset });
        }
        stands
    }
}
