//! Which threads of a block come to a place.

use std::rc::Rc;

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use standstill_kernel_ir::{BlockId, Op, Operand, Operation, Terminator, Type, ValueId};

use crate::body::Body;
use crate::threads::ThreadValues;

/// The threads that come to one block, as far as conditions over thread indices tell.
pub(crate) struct Arrivals {
    /// Threads that no known condition keeps away.
    pub(crate) may: FixedBitSet,
    /// A condition that is not known keeps threads away or not.
    pub(crate) undecided: bool,
}

impl Arrivals {
    /// Follows each thread of the block from the entry.
    pub(crate) fn of(body: &Body, values: &mut ThreadValues<'_>, threads: u32, to: BlockId) -> Arrivals {
        let mut known: FxHashMap<BlockId, Truths> = FxHashMap::default();
        let mut undecided = false;
        for &block in body.flow.reverse_postorder() {
            if block == to || body.flow.successors(block).len() < 2 {
                continue;
            }
            let is_branch = matches!(terminator(body, block), Some(Terminator::Branch { .. }));
            let condition = body.ssa.terminator(block).filter(|_| is_branch);
            let truths = condition.and_then(|condition| truths(body, values, condition, 0));
            if truths.as_ref().is_none_or(|truths| truths.contains(&None)) {
                let sides = body.flow.successors(block);
                undecided |= leads_to(body, BlockId(0), block, to)
                    && sides.iter().any(|&side| leads_to(body, side, to, block))
                    && sides.iter().any(|&side| !leads_to(body, side, to, block));
            }
            known.extend(truths.map(|truths| (block, truths)));
        }
        let mut may = FixedBitSet::with_capacity(threads as usize);
        let mut seen = FixedBitSet::with_capacity(body.flow.block_count());
        for thread in 0..threads as usize {
            seen.clear();
            let mut stack = vec![BlockId(0)];
            while let Some(block) = stack.pop() {
                if block == to {
                    may.insert(thread);
                    break;
                }
                if seen.put(block.0 as usize) {
                    continue;
                }
                let truth = known.get(&block).and_then(|truths| truths.get(thread).copied().flatten());
                match (terminator(body, block), truth) {
                    (Some(Terminator::Branch { guard, taken, otherwise }), Some(holds)) => {
                        stack.push(if holds != guard.negated() { taken } else { otherwise });
                    }
                    _ => stack.extend_from_slice(body.flow.successors(block)),
                }
            }
        }
        Arrivals { may, undecided }
    }
}

/// The truth of a predicate in each thread, where it is known.
type Truths = Rc<[Option<bool>]>;

/// How many conditions deep a predicate is taken apart.
const MAXIMUM_DEPTH: u32 = 16;

/// A predicate in each thread: where `a` alone decides `a || b`, what `b` is does not matter.
fn truths(body: &Body, values: &mut ThreadValues<'_>, value: ValueId, depth: u32) -> Option<Truths> {
    if let Some(vector) = values.vector(value) {
        return Some(vector.iter().map(|bits| Some(bits & 1 == 1)).collect());
    }
    let (_, instruction) = body.definition(value)?;
    let Op::Arithmetic(arithmetic) = instruction.op else { return None };
    if depth > MAXIMUM_DEPTH || arithmetic.ty != Type::Pred || instruction.guard.is_some() {
        return None;
    }
    let mut source = |index: usize| {
        let negated = matches!(body.source(instruction, index), Operand::Negated(_));
        let truths = truths(body, values, body.source_value(instruction, index)?, depth + 1)?;
        Some(truths.iter().map(|truth| truth.map(|holds| holds != negated)).collect::<Vec<_>>())
    };
    let decides = match arithmetic.operation {
        Operation::Or => true,
        Operation::And => false,
        Operation::Not => {
            return Some(source(0)?.into_iter().map(|truth| truth.map(|holds| !holds)).collect());
        }
        _ => return None,
    };
    match (source(0), source(1)) {
        (Some(left), Some(right)) => {
            let both = left.into_iter().zip(right).map(|pair| match pair {
                (Some(left), Some(right)) => Some(if decides { left || right } else { left && right }),
                (Some(one), None) | (None, Some(one)) => Some(one).filter(|&one| one == decides),
                (None, None) => None,
            });
            Some(both.collect())
        }
        (Some(one), None) | (None, Some(one)) => {
            Some(one.into_iter().map(|truth| truth.filter(|&holds| holds == decides)).collect())
        }
        (None, None) => None,
    }
}

fn terminator(body: &Body, block: BlockId) -> Option<Terminator> {
    body.function.blocks.get(block.0 as usize).map(|block| block.terminator)
}

/// Whether control can go from the start of one block to another without passing a third.
pub(crate) fn leads_to(body: &Body, from: BlockId, to: BlockId, avoiding: BlockId) -> bool {
    let mut seen = FixedBitSet::with_capacity(body.flow.block_count());
    let mut stack = vec![from];
    while let Some(block) = stack.pop() {
        if block == to {
            return true;
        }
        if block == avoiding || seen.put(block.0 as usize) {
            continue;
        }
        stack.extend_from_slice(body.flow.successors(block));
    }
    false
}
