//! Operations that the lanes of a warp do together.

use standstill_kernel_ir::{Instruction, InstructionId, Op, Operand, ShuffleMode, VoteMode};

use super::Fault;
use super::machine::{Machine, Status, Stop};
use super::value::{Taint, Value};
use crate::launch::WARP_SIZE;

impl Machine<'_> {
    /// An operation of a warp: waited for where they are rehearsed, else taken to be right.
    pub(super) fn warp(
        &mut self,
        thread: usize,
        id: InstructionId,
        instruction: &Instruction,
    ) -> Result<(), Stop> {
        let mask = mask_position(&instruction.op).map(|index| self.body.source(instruction, index));
        match mask {
            Some(mask) if mask != Operand::Absent && self.plan.warp_operations => {
                let mask = self.operand(thread, mask);
                self.warp_operation(thread, id, mask)
            }
            _ => {
                let value = self.unknowns.fresh();
                self.define(thread, instruction, &[value]);
                self.resume(thread);
                Ok(())
            }
        }
    }

    /// A thread comes to an operation of its warp.
    pub(crate) fn warp_operation(
        &mut self,
        thread: usize,
        at: InstructionId,
        mask: Value,
    ) -> Result<(), Stop> {
        if mask.sampled() {
            return Err(Stop::Sampled);
        }
        let Some(t) = self.threads.get_mut(thread) else { return Ok(()) };
        let (block, index) = (t.block, t.index);
        t.changed = true;
        let Some(mask) = mask.bits() else {
            // A mask that the program computed at run time (`__activemask()`, a ballot): taken as right.
            return self.lone_results(thread, at);
        };
        if mask >> (index % WARP_SIZE) & 1 == 0 {
            self.fault(Fault::MaskLeavesOutCaller { at, mask: mask as u32, thread: index });
            return self.lone_results(thread, at);
        }
        t.status = Status::AtWarpOperation;
        self.complete_warp(block, index / WARP_SIZE);
        Ok(())
    }

    /// The mask that a waiting thread's operation names.
    pub(crate) fn mask_of(&mut self, thread: usize) -> Option<u32> {
        let at = self.threads.get(thread)?.next;
        let instruction = *self.body.instruction(InstructionId(at))?;
        let index = mask_position(&instruction.op)?;
        let operand = self.body.source(&instruction, index);
        self.operand(thread, operand).bits().map(|mask| mask as u32)
    }

    /// Lets the lanes of a warp go on that wait for each other and are all there.
    pub(super) fn complete_warp(&mut self, block: u32, warp: u32) {
        let per_block = (self.threads.len() / self.blocks.len().max(1)) as u32;
        let first = block * per_block + warp * WARP_SIZE;
        let lanes = WARP_SIZE.min(per_block.saturating_sub(warp * WARP_SIZE));
        let status = |m: &Self, lane: u32| m.threads.get((first + lane) as usize).map(|t| t.status);
        for lane in 0..lanes {
            if status(self, lane) != Some(Status::AtWarpOperation) {
                continue;
            }
            let thread = (first + lane) as usize;
            let Some(mask) = self.mask_of(thread) else { continue };
            let at = self.threads.get(thread).map_or(0, |t| t.next);
            let mut ended = Vec::new();
            let mut all = true;
            for other in (0..WARP_SIZE).filter(|other| mask >> other & 1 == 1) {
                let other_thread = (first + other) as usize;
                match (other < lanes).then(|| status(self, other)).flatten() {
                    None => {}
                    Some(Status::Done) => ended.push(warp * WARP_SIZE + other),
                    Some(Status::AtWarpOperation) => {
                        let same_place = self.threads.get(other_thread).is_some_and(|t| t.next == at);
                        let meets = same_place
                            || self.is_warp_sync(at) && {
                                let there = self.threads.get(other_thread).map_or(0, |t| t.next);
                                self.is_warp_sync(there)
                            };
                        all &= meets && self.mask_of(other_thread) == Some(mask);
                    }
                    Some(_) => all = false,
                }
            }
            if !all {
                continue;
            }
            if !ended.is_empty() {
                let at = InstructionId(at);
                self.fault(Fault::MaskNamesEnded { at, mask, ended });
            }
            let members: Vec<usize> = (0..lanes)
                .filter(|&other| {
                    mask >> other & 1 == 1 && status(self, other) == Some(Status::AtWarpOperation)
                })
                .map(|other| (first + other) as usize)
                .collect();
            self.warp_results(&members, first as usize);
            self.meetings += 1;
            let meetings = self.meetings;
            for thread in members {
                self.resume(thread);
                if let Some(t) = self.threads.get_mut(thread) {
                    t.synchronised = meetings;
                }
            }
        }
    }

    fn is_warp_sync(&self, at: u32) -> bool {
        matches!(self.body.instruction(InstructionId(at)).map(|i| i.op), Some(Op::WarpSync))
    }

    /// Results of an operation whose other lanes are not known.
    fn lone_results(&mut self, thread: usize, at: InstructionId) -> Result<(), Stop> {
        if let Some(instruction) = self.body.instruction(at) {
            for &destination in self.body.function.destinations(instruction.operands) {
                let value = self.unknowns.fresh();
                self.set(thread, destination, value);
            }
        }
        self.resume(thread);
        Ok(())
    }

    /// What the lanes of a warp get from an operation that they do together.
    fn warp_results(&mut self, members: &[usize], first: usize) {
        let Some(&leader) = members.first() else { return };
        let Some(t) = self.threads.get(leader) else { return };
        let Some(instruction) = self.body.instruction(InstructionId(t.next)).copied() else { return };
        let sources: Vec<Operand> = self.body.function.sources(instruction.operands).to_vec();
        let destinations: Vec<Operand> = self.body.function.destinations(instruction.operands).to_vec();
        if destinations.is_empty() {
            return;
        }
        let first_source = sources.first().copied().unwrap_or(Operand::Absent);
        let inputs: Vec<Value> = members.iter().map(|&t| self.operand(t, first_source)).collect();
        let common = inputs.windows(2).all(|pair| pair.first() == pair.last());
        let bits: Option<Vec<u64>> = inputs.iter().map(|v| v.bits()).collect();
        let taint = inputs.iter().map(|v| v.taint()).max().unwrap_or(Taint::Code);
        for (position, &member) in members.iter().enumerate() {
            let own = inputs.get(position).copied().unwrap_or(Value::known(0));
            let lane = (member - first) as u32;
            let result = match instruction.op {
                Op::Shuffle(_) if common => Some(own),
                Op::Shuffle(mode) => {
                    let distance = sources.get(1).map(|&o| self.operand(member, o)).and_then(Value::bits);
                    let clamp = sources.get(2).map(|&o| self.operand(member, o)).and_then(Value::bits);
                    distance.zip(clamp).map(|(distance, clamp)| {
                        let from = shuffle_source(mode, lane, distance as u32, clamp as u32);
                        let at = members.iter().position(|&m| (m - first) as u32 == from);
                        at.and_then(|at| inputs.get(at).copied()).unwrap_or(own)
                    })
                }
                Op::Vote(mode) => bits.as_ref().map(|bits| {
                    let set = |b: &u64| b & 1 == 1;
                    let value = match mode {
                        VoteMode::All => u64::from(bits.iter().all(set)),
                        VoteMode::Any => u64::from(bits.iter().any(set)),
                        VoteMode::Uni => u64::from(bits.iter().all(set) || !bits.iter().any(set)),
                        VoteMode::Ballot => members
                            .iter()
                            .zip(bits)
                            .filter(|(_, b)| set(b))
                            .fold(0, |mask, (&m, _)| mask | 1 << (m - first)),
                    };
                    Value::Known { bits: value, taint }
                }),
                _ => None,
            };
            let result = result.unwrap_or_else(|| self.unknowns.fresh());
            for (index, &destination) in destinations.iter().enumerate() {
                let value = if index == 0 { result } else { self.unknowns.fresh() };
                self.set(member, destination, value);
            }
        }
    }
}

/// The lane that a shuffle reads from (PTX ISA, «shfl.sync»).
fn shuffle_source(mode: ShuffleMode, lane: u32, distance: u32, clamp: u32) -> u32 {
    let segment = clamp >> 8 & 0x1f;
    let bound = clamp & 0x1f;
    let maximum = (lane & segment) | (bound & !segment);
    let minimum = lane & segment;
    let distance = distance & 0x1f;
    let (from, inside) = match mode {
        ShuffleMode::Up => {
            (lane.wrapping_sub(distance), lane.wrapping_sub(distance) as i32 >= maximum as i32)
        }
        ShuffleMode::Down => (lane + distance, lane + distance <= maximum),
        ShuffleMode::Bfly => (lane ^ distance, (lane ^ distance) <= maximum),
        ShuffleMode::Idx => {
            let from = minimum | (distance & !segment);
            (from, from <= maximum)
        }
    };
    if inside { from } else { lane }
}

/// The position of the mask among an operation's sources; `None` where there is none.
pub(crate) fn mask_position(op: &Op) -> Option<usize> {
    match op {
        Op::WarpSync | Op::Elect => Some(0),
        Op::Shuffle(_) => Some(3),
        Op::Vote(_) | Op::Match { .. } | Op::WarpReduce { .. } => Some(1),
        _ => None,
    }
}
