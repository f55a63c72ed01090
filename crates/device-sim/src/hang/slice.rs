//! What a loop's course depends on.
//!
//! A register matters at the head of a loop when its value there may reach, within the loop, a condition, an
//! address, a stored value, or an operation that somebody else can notice. A counter that only counts, and the
//! length of a sleep, do not matter: they never decide whether the loop goes on.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use standstill_kernel_ir::{BlockId, ControlFlow, Function, Instruction, Loops, Op, Operand, Terminator};

use crate::decode::code::{Code, Place};

/// What matters at the head of one loop.
#[derive(Debug, Default)]
pub(crate) struct Slice {
    /// Rows whose values decide the loop's course.
    pub(crate) rows: Vec<Place>,
    /// Heads of the loops inside, by position.
    pub(crate) inner: FxHashSet<u32>,
}

/// The slices of a function's loops, worked out when they are asked for.
#[derive(Default)]
pub(crate) struct Slices {
    known: Mutex<FxHashMap<u32, Arc<Slice>>>,
}

impl Slices {
    /// What matters at a position that is jumped back to.
    pub(crate) fn at(&self, code: &Code, head: u32) -> Arc<Slice> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(head).or_insert_with(|| Arc::new(slice(code, head))))
    }
}

fn slice(code: &Code, head: u32) -> Slice {
    let function = &code.function;
    let Some(block) = code.starts.iter().position(|&start| start == head) else { return Slice::default() };
    let block = BlockId(block as u32);
    let flow = ControlFlow::build(function);
    let loops = Loops::build(&flow);
    // The outermost loop that has this block for a head.
    let mut found = None;
    let mut at = loops.innermost(block);
    while let Some(id) = at {
        if loops.headers(id).contains(&block) {
            found = Some(id);
        }
        at = loops.get(id).and_then(|of| of.parent);
    }
    let blocks: Vec<BlockId> = match found {
        Some(id) => loops.blocks(id).to_vec(),
        None => flow.reverse_postorder().to_vec(),
    };
    let inner = match found {
        Some(id) => loops
            .iter()
            .filter(|&(other, of)| other != id && loops.contains(id, of.header))
            .filter_map(|(_, of)| code.starts.get(of.header.0 as usize).copied())
            .collect(),
        None => FxHashSet::default(),
    };
    let live = live(function, &blocks, block);
    let rows = live.iter().filter_map(|&register| code.rows.get(register as usize).copied());
    Slice { rows: rows.filter(|place| place.is_some()).collect(), inner }
}

/// Registers that matter at the start of `head`, looking at `blocks` only.
fn live(function: &Function, blocks: &[BlockId], head: BlockId) -> FxHashSet<u32> {
    let mut live_in: FxHashMap<u32, FxHashSet<u32>> = FxHashMap::default();
    let mut changed = true;
    while changed {
        changed = false;
        for &block in blocks.iter().rev() {
            let mut live = FxHashSet::default();
            function.successors(block, |next| {
                if let Some(after) = live_in.get(&next.0) {
                    live.extend(after.iter().copied());
                }
            });
            if let Some(body) = function.blocks.get(block.0 as usize) {
                match body.terminator {
                    Terminator::Branch { guard, .. } => {
                        live.insert(guard.register().0);
                    }
                    Terminator::Switch { index, .. } => {
                        live.extend(index.register().map(|register| register.0))
                    }
                    _ => {}
                }
            }
            for instruction in function.instructions_of(block).iter().rev() {
                step(function, instruction, &mut live);
            }
            let before = live_in.entry(block.0).or_default();
            if live.len() != before.len() {
                changed = true;
                *before = live;
            }
        }
    }
    live_in.remove(&head.0).unwrap_or_default()
}

/// Goes backward over one instruction.
fn step(function: &Function, instruction: &Instruction, live: &mut FxHashSet<u32>) {
    let destinations = function.destinations(instruction.operands);
    let written = |operand: &Operand| match operand {
        Operand::Register(register) => Some(register.0),
        _ => None,
    };
    let wanted = destinations.iter().filter_map(written).any(|register| live.contains(&register));
    if !(wanted || is_noticed(instruction.op)) {
        return;
    }
    if let Some(guard) = instruction.guard {
        live.insert(guard.register().0);
    } else {
        for register in destinations.iter().filter_map(written) {
            live.remove(&register);
        }
    }
    live.extend(
        function
            .sources(instruction.operands)
            .iter()
            .filter_map(|operand| operand.register())
            .map(|register| register.0),
    );
}

/// Whether an operation does more than give a value.
fn is_noticed(op: Op) -> bool {
    !matches!(op, Op::Arithmetic(_) | Op::ActiveMask | Op::Nanosleep | Op::Hint | Op::Fence { .. })
}
