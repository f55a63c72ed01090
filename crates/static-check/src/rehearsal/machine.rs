//! One rehearsal: every thread of a few blocks is run on its own until it waits or ends.
//!
//! Threads run one after the other, each as far as it can. Where a fault depends on who is faster, running
//! far ahead is the order that shows it; where the code is right, every order gives the same arrivals.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use standstill_kernel_ir::{BlockId, InstructionId, Operand, Special, Terminator};

use super::barrier::BlockBarriers;
use super::memory::{Memory, Place};
use super::plan::Plan;
use super::value::{PointerBase, Taint, Unknowns, Value};
use super::{Choices, Fault};
use crate::body::Body;
use crate::launch::{Launch, WARP_SIZE};

/// Most instructions that one rehearsal executes.
const MAXIMUM_STEPS: u64 = 4_000_000;

/// Most conditions on memory that are chosen in one rehearsal.
const MAXIMUM_CHOICES: usize = 48;

/// What a thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// It can go on.
    Ready,
    /// It waits at a block barrier.
    AtBarrier {
        /// The barrier's id.
        id: u64,
    },
    /// It waits for the other lanes of a warp operation.
    AtWarpOperation,
    /// It waits at the cluster barrier.
    AtClusterBarrier,
    /// It goes around a loop that changes nothing, reading the same values.
    Spinning {
        /// The version of memory when it last looked.
        version: u64,
    },
    /// It has ended.
    Done,
}

/// One thread.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    /// Index of its block among those rehearsed.
    pub(crate) block: u32,
    /// Linear index in its block.
    pub(crate) index: u32,
    /// What it is doing.
    pub(crate) status: Status,
    /// The block of the code it stands in.
    pub(crate) at: BlockId,
    /// The instruction it does next, or waits at.
    pub(crate) next: u32,
    /// The places that it read since it last came around a loop.
    pub(crate) reads: SmallVec<[(Place, u32); 2]>,
    /// It changed something since then.
    pub(crate) changed: bool,
    /// Since then it read a place that somebody else may have changed.
    pub(crate) unsure: bool,
    /// Since then it tried to change a place that it polls, as a lock is taken.
    pub(crate) takes: bool,
    /// A chosen parameter value decided a condition since then.
    pub(crate) sampled: bool,
    /// What its registers hold, by the slots of the plan; empty until it sets one.
    slots: Vec<Value>,
    /// The state at the last time around: the loop's start, and all slots.
    pub(crate) lap: Option<(BlockId, Vec<Value>)>,
    /// Cluster barrier phases it has arrived in.
    pub(crate) cluster_arrivals: u32,
    /// When it last waited for somebody, by [`Machine::meetings`].
    pub(crate) synchronised: u64,
}

/// Why a rehearsal cannot say anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A condition that differs between threads is not known.
    UnknownCondition(BlockId),
    /// It would take too long.
    TooLong,
    /// A chosen parameter value would decide it.
    Sampled,
    /// An operation that is not rehearsed.
    Operation(InstructionId),
    /// Two conditions on the way rest on the same things of memory, so that what was chosen for them may be
    /// impossible together.
    Correlated,
}

/// A rehearsal under way.
#[derive(Clone)]
pub(crate) struct Machine<'a> {
    pub(crate) body: &'a Body,
    pub(crate) plan: &'a Plan,
    pub(crate) launch: &'a Launch,
    pub(crate) choices: Choices,
    pub(crate) unknowns: Unknowns,
    pub(crate) memory: Memory,
    pub(crate) threads: Vec<Thread>,
    pub(crate) barriers: Vec<BlockBarriers>,
    pub(crate) faults: Vec<Fault>,
    /// Barriers of the whole block that some threads came to without the others.
    pub(crate) improper: Vec<InstructionId>,
    /// A chosen parameter value was read.
    pub(crate) sampled: bool,
    /// Memory that others may write at any time was read: another order may give another picture.
    pub(crate) raced: bool,
    /// Completed barrier phases and other meetings of threads so far.
    pub(crate) meetings: u64,
    /// Linear numbers in the grid of the blocks rehearsed.
    pub(crate) blocks: Vec<u32>,
    pub(crate) block_shape: [u32; 3],
    pub(crate) grid_shape: [u32; 3],
    specials: FxHashMap<Special, Value>,
    /// Instructions executed so far.
    pub(crate) steps: u64,
}

impl<'a> Machine<'a> {
    /// All threads at the start.
    pub(crate) fn new(
        body: &'a Body,
        plan: &'a Plan,
        launch: &'a Launch,
        choices: Choices,
        blocks: &[u32],
        grid_shape: [u32; 3],
    ) -> Machine<'a> {
        let block_shape = launch.block.unwrap_or([1, 1, 1]);
        let per_block: u32 = block_shape.iter().product();
        let entry = BlockId(0);
        let first = body.function.blocks.first().map_or(0, |b| b.first);
        let threads: Vec<Thread> = (0..blocks.len() as u32)
            .flat_map(|block| (0..per_block).map(move |index| (block, index)))
            .map(|(block, index)| Thread {
                block,
                index,
                status: Status::Ready,
                at: entry,
                next: first,
                reads: SmallVec::new(),
                changed: false,
                unsure: false,
                takes: false,
                sampled: false,
                slots: Vec::new(),
                lap: None,
                cluster_arrivals: 0,
                synchronised: 0,
            })
            .collect();
        let barriers = blocks.iter().map(|_| BlockBarriers::new(per_block)).collect();
        Machine {
            body,
            plan,
            launch,
            choices,
            unknowns: Unknowns::default(),
            memory: Memory::default(),
            threads,
            barriers,
            faults: Vec::new(),
            improper: Vec::new(),
            sampled: false,
            raced: false,
            meetings: 0,
            blocks: blocks.to_vec(),
            block_shape,
            grid_shape,
            specials: FxHashMap::default(),
            steps: 0,
        }
    }

    /// Runs until nothing can go on; whether every thread has ended.
    pub(crate) fn run(&mut self) -> Result<bool, Stop> {
        loop {
            let mut moved = false;
            for thread in 0..self.threads.len() {
                let status = self.threads.get(thread).map(|t| t.status);
                let awake = match status {
                    Some(Status::Ready) => true,
                    Some(Status::Spinning { version }) => version != self.memory.version,
                    _ => false,
                };
                if awake {
                    moved = true;
                    self.advance(thread)?;
                }
            }
            if !moved && !self.complete_by_warps() {
                return Ok(self.threads.iter().all(|t| t.status == Status::Done));
            }
        }
    }

    /// Runs one thread until it waits or ends.
    fn advance(&mut self, thread: usize) -> Result<(), Stop> {
        if let Some(t) = self.threads.get_mut(thread) {
            if matches!(t.status, Status::Spinning { .. }) {
                t.reads.clear();
            }
            t.status = Status::Ready;
        }
        loop {
            self.steps += 1;
            if self.steps > MAXIMUM_STEPS {
                return Err(Stop::TooLong);
            }
            if self.threads.get(thread).is_none_or(|t| t.status != Status::Ready) {
                return Ok(());
            }
            self.step(thread)?;
        }
    }

    /// The next instruction of a thread that matters, or its way out of a block of code.
    pub(crate) fn step(&mut self, thread: usize) -> Result<(), Stop> {
        let Some(t) = self.threads.get(thread) else { return Ok(()) };
        let Some(block) = self.body.function.blocks.get(t.at.0 as usize) else { return Ok(()) };
        let (at, next, end) = (t.at, t.next, block.end);
        match self.plan.instructions.ones_from(next as usize).filter(|&i| (i as u32) < end) {
            Some(instruction) => {
                if let Some(t) = self.threads.get_mut(thread) {
                    t.next = instruction as u32;
                }
                self.execute(thread, InstructionId(instruction as u32))
            }
            None => self.leave(thread, at),
        }
    }

    /// Goes on behind the instruction that a thread waited at.
    pub(crate) fn resume(&mut self, thread: usize) {
        if let Some(t) = self.threads.get_mut(thread) {
            t.status = Status::Ready;
            t.next += 1;
        }
    }

    /// Takes a thread out of a block of code.
    fn leave(&mut self, thread: usize, at: BlockId) -> Result<(), Stop> {
        let Some(block) = self.body.function.blocks.get(at.0 as usize) else { return Ok(()) };
        let to = match block.terminator {
            Terminator::Jump(to) => Some(to),
            Terminator::Return | Terminator::Exit | Terminator::Trap => None,
            _ if !self.plan.branches.contains(at.0 as usize) => self.body.post_dominators.immediate(at),
            Terminator::Branch { guard, taken, otherwise } => {
                let value = self.register(thread, guard.register());
                let holds = self.decide(thread, at, value)?;
                Some(if holds != guard.negated() { taken } else { otherwise })
            }
            Terminator::Switch { index, first, count } => {
                let index = self.operand(thread, index);
                match index.bits() {
                    Some(index) if index < u64::from(count) => {
                        let target = first as usize + index as usize;
                        self.body.function.switch_targets.get(target).copied()
                    }
                    _ => return Err(Stop::UnknownCondition(at)),
                }
            }
        };
        match to {
            Some(to) => self.go(thread, at, to),
            None => self.end(thread),
        }
        Ok(())
    }

    /// The truth of a condition, by its value or by a choice that all threads share. Where none was made yet it
    /// is taken not to hold; the other way is for another rehearsal.
    fn decide(&mut self, thread: usize, at: BlockId, value: Value) -> Result<bool, Stop> {
        if value.taint() == Taint::Mixed {
            return Err(Stop::Sampled);
        }
        if value.sampled()
            && let Some(t) = self.threads.get_mut(thread)
        {
            t.sampled = true;
        }
        if let Some(bits) = value.bits() {
            return Ok(bits & 1 == 1);
        }
        if self.unknowns.is_private(value) {
            return Err(Stop::UnknownCondition(at));
        }
        if let Some(holds) = self.choices.get(value) {
            return Ok(holds);
        }
        let rests_on = |&(other, _): &(Value, bool)| {
            self.unknowns.roots(other).iter().any(|root| self.unknowns.roots(value).contains(root))
        };
        if self.choices.made.iter().any(rests_on) {
            return Err(Stop::Correlated);
        }
        if self.choices.made.len() >= MAXIMUM_CHOICES {
            return Err(Stop::TooLong);
        }
        self.choices.made.push((value, false));
        Ok(false)
    }

    fn go(&mut self, thread: usize, from: BlockId, to: BlockId) {
        let first = self.body.function.blocks.get(to.0 as usize).map_or(0, |b| b.first);
        let retreating = self.body.flow.is_retreating(from, to);
        let version = self.memory.version;
        let Some(t) = self.threads.get_mut(thread) else { return };
        t.at = to;
        t.next = first;
        if !retreating {
            return;
        }
        let same = !t.changed && t.lap.as_ref().is_some_and(|(at, lap)| *at == to && *lap == t.slots);
        if same {
            t.status = Status::Spinning { version };
            return;
        }
        match &mut t.lap {
            Some((at, lap)) => {
                *at = to;
                lap.clear();
                lap.extend_from_slice(&t.slots);
            }
            None => t.lap = Some((to, t.slots.clone())),
        }
        t.reads.clear();
        t.changed = false;
        t.unsure = false;
        t.takes = false;
        t.sampled = false;
    }

    fn end(&mut self, thread: usize) {
        let Some(t) = self.threads.get_mut(thread) else { return };
        t.status = Status::Done;
        let (block, index) = (t.block, t.index);
        self.thread_ended(block, index);
    }

    /// What a register holds.
    pub(crate) fn register(&self, thread: usize, register: standstill_kernel_ir::Register) -> Value {
        let slot = self.plan.slot(register).and_then(|slot| self.threads.get(thread)?.slots.get(slot));
        slot.copied().unwrap_or(Value::known(0))
    }

    /// Sets a register.
    pub(crate) fn set(&mut self, thread: usize, destination: Operand, value: Value) {
        let value = match (value, destination.register()) {
            (value, Some(register)) => value.kept(self.body.register_type(register)),
            (value, None) => value,
        };
        if let Some(register) = destination.register()
            && let Some(slot) = self.plan.slot(register)
            && let Some(t) = self.threads.get_mut(thread)
        {
            if t.slots.is_empty() {
                t.slots = vec![Value::known(0); self.plan.slot_count];
            }
            if let Some(slot) = t.slots.get_mut(slot) {
                *slot = value;
            }
        }
    }

    /// What an operand is, in one thread.
    pub(crate) fn operand(&mut self, thread: usize, operand: Operand) -> Value {
        match operand {
            Operand::Register(register) => self.register(thread, register),
            Operand::Negated(register) => match self.register(thread, register) {
                Value::Known { bits, taint } => Value::Known { bits: bits & 1 ^ 1, taint },
                value => self.unknowns.negated(value),
            },
            Operand::Immediate(bits) => Value::known(bits),
            Operand::Symbol { symbol, offset } => {
                Value::Linear { base: PointerBase::Symbol(symbol), offset: i64::from(offset) }
            }
            Operand::Address { base, offset } => self.register(thread, base).plus(i64::from(offset)),
            Operand::Parameter { index, offset } => {
                Value::Linear { base: PointerBase::Parameter(index, offset), offset: 0 }
            }
            Operand::Special(special) => self.special(thread, special),
            Operand::Absent => Value::known(0),
        }
    }

    fn special(&mut self, thread: usize, special: Special) -> Value {
        let Some(t) = self.threads.get(thread) else { return Value::known(0) };
        let block = self.blocks.get(t.block as usize).copied().unwrap_or(0);
        let lane = t.index % WARP_SIZE;
        let part = |linear: u32, shape: [u32; 3], axis: u8| {
            let [x, y, _] = shape.map(|extent| extent.max(1));
            u64::from(match axis {
                0 => linear % x,
                1 => linear / x % y,
                _ => linear / x / y,
            })
        };
        let extent =
            |shape: [u32; 3], axis: u8| u64::from(shape.get(usize::from(axis)).copied().unwrap_or(1));
        let known = match special {
            Special::Tid(axis) => part(t.index, self.block_shape, axis),
            Special::Ntid(axis) => return Value::known(extent(self.block_shape, axis)),
            Special::Ctaid(axis) if self.blocks.len() == 1 => {
                return Value::known(part(block, self.grid_shape, axis));
            }
            Special::Ctaid(axis) => part(block, self.grid_shape, axis),
            Special::Nctaid(axis) => return Value::known(extent(self.grid_shape, axis)),
            Special::LaneId => u64::from(lane),
            Special::WarpId => u64::from(t.index / WARP_SIZE),
            Special::WarpSize => return Value::known(u64::from(WARP_SIZE)),
            Special::LaneMaskEq => 1 << lane,
            Special::LaneMaskLt => (1 << lane) - 1,
            Special::LaneMaskLe => (2 << lane) - 1,
            Special::LaneMaskGe => u64::from(u32::MAX) & !((1 << lane) - 1),
            Special::LaneMaskGt => u64::from(u32::MAX) & !((2 << lane) - 1),
            Special::Clock
            | Special::Clock64
            | Special::GlobalTimer
            | Special::SmId
            | Special::NwarpId
            | Special::Other => return self.unknowns.fresh(),
            other => {
                if let Some(value) = self.specials.get(&other) {
                    return *value;
                }
                let value = self.unknowns.common();
                self.specials.insert(other, value);
                return value;
            }
        };
        Value::of_thread(known)
    }

    /// Threads of a block that have not ended, by their position in [`Machine::threads`].
    pub(crate) fn live(&self, block: u32) -> impl Iterator<Item = usize> + '_ {
        let per_block = self.threads.len() / self.blocks.len().max(1);
        let first = block as usize * per_block;
        (first..first + per_block).filter(|&t| self.threads.get(t).is_some_and(|t| t.status != Status::Done))
    }
}

/// The first member of a bit set from a position on.
trait OnesFrom {
    fn ones_from(&self, from: usize) -> Option<usize>;
}

impl OnesFrom for fixedbitset::FixedBitSet {
    fn ones_from(&self, from: usize) -> Option<usize> {
        const BITS: usize = usize::BITS as usize;
        let words = self.as_slice();
        let mut index = from / BITS;
        let mut word = words.get(index)? & (usize::MAX << (from % BITS));
        loop {
            if word != 0 {
                return Some(index * BITS + word.trailing_zeros() as usize);
            }
            index += 1;
            word = *words.get(index)?;
        }
    }
}
