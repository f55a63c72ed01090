//! Which plain loads may see different values in different threads because somebody else writes there.
//!
//! A program without data races decides most of it: what a barrier has ordered before a plain load, no
//! thread of the block can still be writing. So only what was touched since the last barrier counts, and for
//! global memory what other blocks do, unless a lock keeps them out.

use std::cell::RefCell;

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use standstill_kernel_ir::{
    AtomicOperation, BarrierKind, BlockId, Comparison, Instruction, InstructionId, Op, Operand, Operation,
    Order, Special, Symbol,
};

use crate::body::{Base, Body};
use crate::inline::is_shared;

/// Atomics and strong accesses of a kernel.
pub(super) struct Memory {
    /// What they are based on.
    bases: Vec<Base>,
    /// Each with the position of its base.
    accesses: Vec<(InstructionId, usize)>,
    /// For each block of the code, the bases touched since the last barrier when it begins.
    touched: Vec<FixedBitSet>,
    /// Locks that are taken in a loop.
    locks: Vec<Lock>,
    /// Answers that were given.
    known: RefCell<FxHashMap<InstructionId, bool>>,
}

/// A lock: an exchange that is repeated until it succeeds.
struct Lock {
    /// The block of the exchange.
    taken: BlockId,
    /// The block whose end tells one thread to take it for all; that of the exchange where nothing does.
    told: BlockId,
    /// What the lock is based on, by its position.
    base: usize,
}

impl Memory {
    pub(super) fn of(body: &Body) -> Memory {
        let mut memory = Memory {
            bases: Vec::new(),
            accesses: Vec::new(),
            touched: Vec::new(),
            locks: Vec::new(),
            known: RefCell::default(),
        };
        for (id, instruction) in body.instructions() {
            let contends = match instruction.op {
                Op::Atomic { .. } => true,
                Op::Store(access) | Op::Load(access) => access.order != Order::Weak,
                _ => false,
            };
            if contends {
                let base = body.base(id);
                let position = memory.bases.iter().position(|known| *known == base).unwrap_or_else(|| {
                    memory.bases.push(base);
                    memory.bases.len() - 1
                });
                memory.accesses.push((id, position));
            }
        }
        if !memory.accesses.is_empty() {
            memory.follow(body);
            memory.find_locks(body);
        }
        memory
    }

    /// Whether somebody may write what a plain load reads while others read it.
    pub(super) fn contends(&self, body: &Body, load: InstructionId) -> bool {
        let base = body.base(load);
        let Some(position) = self.bases.iter().position(|known| *known == base) else { return false };
        if let Some(known) = self.known.borrow().get(&load) {
            return *known;
        }
        let contends = self.decide(body, load, base, position);
        self.known.borrow_mut().insert(load, contends);
        contends
    }

    fn decide(&self, body: &Body, load: InstructionId, base: Base, position: usize) -> bool {
        if base == Base::Unknown || self.touched_before(body, load, position) {
            return true;
        }
        let Some(instruction) = body.instruction(load) else { return true };
        let shared = matches!(instruction.op, Op::Load(access) if is_shared(access.space));
        let place = exact_place(body, instruction);
        let mut touchers = self.accesses.iter().filter(|(_, of)| *of == position).map(|(id, _)| *id);
        if shared {
            // The very word that another thread changes before the next barrier.
            touchers.any(|id| {
                place.is_some()
                    && body.instruction(id).and_then(|other| exact_place(body, other)) == place
                    && reaches_without_barrier(body, load, id)
            })
        } else {
            !self.locks.iter().any(|lock| {
                lock.base != position
                    && self.holds(body, lock, load)
                    && !self.touched_before(body, load, lock.base)
                    && self.accesses.iter().all(|&(id, of)| of != position || self.holds(body, lock, id))
            })
        }
    }

    /// Whether a lock was taken before an instruction.
    fn holds(&self, body: &Body, lock: &Lock, at: InstructionId) -> bool {
        let block = body.block_of(at);
        body.dominators.dominates(lock.told, block)
            && body.loops.innermost(lock.taken).is_some_and(|id| !body.loops.contains(id, block))
    }

    /// Whether a base was touched since the last barrier before an instruction.
    fn touched_before(&self, body: &Body, at: InstructionId, position: usize) -> bool {
        let block = body.block_of(at);
        let first = body.function.blocks.get(block.0 as usize).map_or(0, |b| b.first);
        for index in (first..at.0).rev() {
            let id = InstructionId(index);
            let Some(instruction) = body.instruction(id) else { continue };
            if keeps_apart(body, instruction) {
                return false;
            }
            if self.position_of(id) == Some(position) {
                return true;
            }
        }
        self.touched.get(block.0 as usize).is_none_or(|bases| bases.contains(position))
    }

    fn position_of(&self, id: InstructionId) -> Option<usize> {
        let index = self.accesses.binary_search_by_key(&id, |(access, _)| *access).ok()?;
        self.accesses.get(index).map(|(_, position)| *position)
    }

    /// Finds what was touched since the last barrier, for every block.
    fn follow(&mut self, body: &Body) {
        let empty = FixedBitSet::with_capacity(self.bases.len());
        let count = body.function.blocks.len();
        let mut adds = vec![empty.clone(); count];
        let mut clears = vec![false; count];
        for (id, instruction) in body.instructions() {
            let block = body.block_of(id).0 as usize;
            let (Some(adds), Some(clears)) = (adds.get_mut(block), clears.get_mut(block)) else { continue };
            if keeps_apart(body, instruction) {
                adds.clear();
                *clears = true;
            } else if let Some(position) = self.position_of(id) {
                adds.insert(position);
            }
        }
        let mut touched = vec![empty; count];
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &block in body.flow.reverse_postorder() {
                let index = block.0 as usize;
                let mut out = adds.get(index).cloned().unwrap_or_default();
                if clears.get(index) == Some(&false)
                    && let Some(before) = touched.get(index)
                {
                    out.union_with(before);
                }
                for to in body.flow.successors(block) {
                    if let Some(after) = touched.get_mut(to.0 as usize)
                        && !out.is_subset(after)
                    {
                        after.union_with(&out);
                        changed = true;
                    }
                }
            }
        }
        self.touched = touched;
    }

    fn find_locks(&mut self, body: &Body) {
        for &(id, base) in &self.accesses {
            let takes = matches!(
                body.instruction(id).map(|i| i.op),
                Some(Op::Atomic {
                    operation: AtomicOperation::CompareExchange | AtomicOperation::Exchange,
                    ..
                })
            );
            let taken = body.block_of(id);
            if takes && body.loops.innermost(taken).is_some() && self.bases.get(base) != Some(&Base::Unknown)
            {
                let told = one_thread(body, taken).unwrap_or(taken);
                self.locks.push(Lock { taken, told, base });
            }
        }
    }
}

/// The branch that lets one thread of the block into a loop: `threadIdx.x == 0`.
fn one_thread(body: &Body, inside: BlockId) -> Option<BlockId> {
    let id = body.loops.innermost(inside)?;
    let header = *body.loops.headers(id).first()?;
    let mut outside =
        body.control_dependence.branches(header).iter().filter(|&&branch| !body.loops.contains(id, branch));
    let branch = *outside.next()?;
    let (_, comparison) = body.definition(body.ssa.terminator(branch)?)?;
    let Op::Arithmetic(arithmetic) = comparison.op else { return None };
    let index = match body.source(comparison, 0) {
        Operand::Special(special) => special,
        _ => match body.definition(body.source_value(comparison, 0)?)?.1 {
            read if matches!(read.op, Op::Arithmetic(a) if a.operation == Operation::Mov) => {
                match body.source(read, 0) {
                    Operand::Special(special) => special,
                    _ => return None,
                }
            }
            _ => return None,
        },
    };
    let one = arithmetic.operation == Operation::Setp
        && matches!(arithmetic.comparison, Comparison::Eq | Comparison::Ne)
        && matches!(index, Special::Tid(_))
        && body.constant(comparison, 1).is_some();
    (one && outside.next().is_none()).then_some(branch)
}

/// Whether an instruction is a barrier that all threads of the block wait at.
fn keeps_apart(body: &Body, instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::Barrier { kind: BarrierKind::Sync, .. })
        && body.source(instruction, 1) == Operand::Absent
}

/// Whether there is a way from one instruction to another on which no barrier lies.
fn reaches_without_barrier(body: &Body, from: InstructionId, to: InstructionId) -> bool {
    let end_of =
        |block: BlockId| body.function.blocks.get(block.0 as usize).map_or((0, 0), |b| (b.first, b.end));
    // What happens first among the instructions of a range: the wanted one (true) or a barrier (false).
    let first_of = |first: u32, end: u32| {
        (first..end).map(InstructionId).find_map(|id| {
            if id == to {
                return Some(true);
            }
            body.instruction(id).is_some_and(|i| keeps_apart(body, i)).then_some(false)
        })
    };
    let start = body.block_of(from);
    if let Some(found) = first_of(from.0 + 1, end_of(start).1) {
        return found;
    }
    let mut seen = FixedBitSet::with_capacity(body.function.blocks.len());
    let mut stack = body.flow.successors(start).to_vec();
    while let Some(block) = stack.pop() {
        if seen.put(block.0 as usize) {
            continue;
        }
        let (first, end) = end_of(block);
        match first_of(first, end) {
            Some(true) => return true,
            Some(false) => {}
            None => stack.extend_from_slice(body.flow.successors(block)),
        }
    }
    false
}

/// The variable and the byte in it that a memory operation accesses, where the code names both.
fn exact_place(body: &Body, instruction: &Instruction) -> Option<(Symbol, i64)> {
    let (mut offset, mut value) = match body.source(instruction, 0) {
        Operand::Symbol { symbol, offset } => return Some((symbol, i64::from(offset))),
        Operand::Address { offset, .. } => (i64::from(offset), body.source_value(instruction, 0)?),
        Operand::Register(_) => (0, body.source_value(instruction, 0)?),
        _ => return None,
    };
    for _ in 0..8 {
        let (_, definition) = body.definition(value)?;
        let Op::Arithmetic(arithmetic) = definition.op else { return None };
        if definition.guard.is_some() {
            return None;
        }
        match arithmetic.operation {
            Operation::Mov | Operation::Cvta | Operation::Cvt => {}
            Operation::Add => offset += body.constant(definition, 1)? as u32 as i32 as i64,
            _ => return None,
        }
        match body.source(definition, 0) {
            Operand::Symbol { symbol, offset: more } => return Some((symbol, offset + i64::from(more))),
            Operand::Register(_) => value = body.source_value(definition, 0)?,
            _ => return None,
        }
    }
    None
}
