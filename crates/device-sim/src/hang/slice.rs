//! What a loop's course depends on.
//!
//! A register matters at the head of a loop when its value there may reach, within the loop, a condition, an
//! address, a stored value, or an operation that somebody else can notice. A counter that only counts, and the
//! length of a sleep, do not matter: they never decide whether the loop goes on.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use standstill_kernel_ir::{
    BlockId, ControlFlow, Function, Instruction, InstructionId, Loops, Op, Operand, Terminator,
};

use super::induction::{self, Exits};
use crate::decode::code::{Code, Origin, Place};

/// What matters at the head of one loop.
#[derive(Debug, Default)]
pub(crate) struct Slice {
    /// Rows whose values decide the loop's course.
    pub(crate) rows: Vec<Place>,
    /// Heads of the loops inside, by position.
    pub(crate) inner: FxHashSet<u32>,
    /// Nothing in the loop can be noticed by anybody else.
    pub(crate) pure: bool,
    /// Rows that decide a lane's course together with what it reads, when that is always from the same places and
    /// lanes do not hear of each other.
    pub(crate) of_a_lane: Option<Vec<Place>>,
    /// Position of the loop's head; `None` outside of every loop.
    pub(crate) head: Option<u32>,
}

/// The slices of a function's loops, worked out when they are asked for.
#[derive(Default)]
pub(crate) struct Slices {
    known: Mutex<FxHashMap<u32, Arc<Slice>>>,
    behind: Mutex<FxHashMap<u32, Arc<Slice>>>,
    before: Mutex<FxHashMap<u32, Arc<Slice>>>,
    exits: Mutex<FxHashMap<u32, Option<Arc<Exits>>>>,
}

impl Slices {
    /// What matters at a position that is jumped back to.
    pub(crate) fn at(&self, code: &Code, head: u32) -> Arc<Slice> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(head).or_insert_with(|| Arc::new(slice(code, head))))
    }

    /// What leaves the loop with this head, when that is a matter of arithmetic.
    pub(crate) fn exits(&self, code: &Code, head: u32) -> Option<Arc<Exits>> {
        let mut known = self.exits.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(head).or_insert_with(|| induction::exits(code, head).map(Arc::new)).clone()
    }

    /// What matters before the operation at a position, of which nothing has happened yet.
    pub(crate) fn before(&self, code: &Code, position: u32) -> Arc<Slice> {
        let mut known = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(position).or_insert_with(|| Arc::new(slice_before(code, position))))
    }

    /// What matters behind the instruction at a position.
    pub(crate) fn behind(&self, code: &Code, position: u32) -> Arc<Slice> {
        let mut known = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(position).or_insert_with(|| Arc::new(slice_behind(code, position))))
    }
}

/// What matters behind an instruction, within the outermost loop around it.
fn slice_behind(code: &Code, position: u32) -> Slice {
    let function = &code.function;
    let Some(Origin::Instruction(id)) = code.origins.get(position as usize) else { return Slice::default() };
    let flow = ControlFlow::build(function);
    let Some(block) = flow.instruction_block(*id) else { return Slice::default() };
    within_outermost(code, &flow, block, |blocks| behind(function, blocks, block, Some(*id)))
}

/// What matters before the operation at a position, within the outermost loop around it.
fn slice_before(code: &Code, position: u32) -> Slice {
    let function = &code.function;
    let flow = ControlFlow::build(function);
    let start = code.starts.iter().position(|&start| start == position);
    let (block, id) = match (start, code.origins.get(position as usize)) {
        (Some(block), _) => (BlockId(block as u32), None),
        (None, Some(Origin::Instruction(id))) => match flow.instruction_block(*id) {
            Some(block) => (block, Some(*id)),
            None => return Slice::default(),
        },
        (None, Some(Origin::Terminator(block))) => {
            return within_outermost(code, &flow, *block, |blocks| {
                at_end(function, *block, &live_in(function, blocks))
            });
        }
        (None, None) => return Slice::default(),
    };
    within_outermost(code, &flow, block, |blocks| {
        let before = id.and_then(|id| id.0.checked_sub(1)).map(InstructionId);
        let first = function.blocks.get(block.0 as usize).map(|body| body.first);
        match before {
            Some(before) if first.is_some_and(|first| first <= before.0) => {
                behind(function, blocks, block, Some(before))
            }
            _ => behind(function, blocks, block, None),
        }
    })
}

/// The registers that `live` gives for the blocks of the outermost loop around a block.
fn within_outermost(
    code: &Code,
    flow: &ControlFlow,
    block: BlockId,
    live: impl FnOnce(&[BlockId]) -> FxHashSet<u32>,
) -> Slice {
    let loops = Loops::build(flow);
    let mut found = loops.innermost(block);
    while let Some(around) = found.and_then(|id| loops.get(id)).and_then(|of| of.parent) {
        found = Some(around);
    }
    let Some(around) = found else { return Slice::default() };
    let mut live: Vec<u32> = live(loops.blocks(around)).into_iter().collect();
    live.sort_unstable();
    let rows = live.iter().filter_map(|&register| code.rows.get(register as usize).copied());
    let head = loops.get(around).and_then(|of| code.starts.get(of.header.0 as usize).copied());
    Slice { rows: rows.filter(|place| place.is_some()).collect(), head, ..Slice::default() }
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
    let (pure, addresses) = contents(function, &blocks);
    let place = |register: u32| code.rows.get(register as usize).copied().filter(|place| place.is_some());
    let rows = live.iter().filter_map(|&register| place(register)).collect();
    let deciding = |addresses: FxHashSet<u32>| {
        live.iter()
            .filter(|register| !addresses.contains(register))
            .filter_map(|&register| place(register))
            .collect()
    };
    Slice { rows, inner, pure, of_a_lane: addresses.map(deciding), head: Some(head) }
}

/// Registers that matter at the start of `head`, looking at `blocks` only.
fn live(function: &Function, blocks: &[BlockId], head: BlockId) -> FxHashSet<u32> {
    live_in(function, blocks).remove(&head.0).unwrap_or_default()
}

/// Registers that matter behind an instruction of `block`, or at its start, looking at `blocks` only.
fn behind(
    function: &Function,
    blocks: &[BlockId],
    block: BlockId,
    id: Option<InstructionId>,
) -> FxHashSet<u32> {
    let live_in = live_in(function, blocks);
    let mut live = at_end(function, block, &live_in);
    let Some(body) = function.blocks.get(block.0 as usize) else { return live };
    let later = (id.map_or(body.first, |id| id.0 + 1)..body.end).rev();
    for instruction in later.filter_map(|index| function.instructions.get(index as usize)) {
        step(function, instruction, &mut live);
    }
    live
}

/// Registers that matter at the end of a block.
fn at_end(function: &Function, block: BlockId, live_in: &FxHashMap<u32, FxHashSet<u32>>) -> FxHashSet<u32> {
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
            Terminator::Switch { index, .. } => live.extend(index.register().map(|register| register.0)),
            _ => {}
        }
    }
    live
}

/// Registers that matter at the start of each of `blocks`, looking at these only.
fn live_in(function: &Function, blocks: &[BlockId]) -> FxHashMap<u32, FxHashSet<u32>> {
    let mut live_in: FxHashMap<u32, FxHashSet<u32>> = FxHashMap::default();
    let mut changed = true;
    while changed {
        changed = false;
        for &block in blocks.iter().rev() {
            let mut live = at_end(function, block, &live_in);
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
    live_in
}

/// Whether nothing in these blocks can be noticed by others; and registers that nothing there writes and that serve as
/// addresses only, when all reads are through such and no lane knows which one it is.
fn contents(function: &Function, blocks: &[BlockId]) -> (bool, Option<FxHashSet<u32>>) {
    let (mut pure, mut alike) = (true, true);
    let (mut written, mut used, mut addresses) =
        (FxHashSet::default(), FxHashSet::default(), FxHashSet::default());
    for &block in blocks {
        for instruction in function.instructions_of(block) {
            let sources = function.sources(instruction.operands);
            alike &= !sources.iter().any(|source| matches!(source, Operand::Special(_)));
            let registers = sources.iter().filter_map(|source| source.register()).map(|register| register.0);
            match instruction.op {
                Op::Load(_) => addresses.extend(registers),
                Op::Arithmetic(_) | Op::Hint => used.extend(registers),
                Op::Nanosleep => {}
                _ => pure = false,
            }
            used.extend(instruction.guard.map(|guard| guard.register().0));
            let destinations = function.destinations(instruction.operands);
            written.extend(
                destinations.iter().filter_map(|operand| operand.register()).map(|register| register.0),
            );
        }
    }
    alike &= addresses.is_disjoint(&written);
    addresses.retain(|register| !used.contains(register));
    (pure, (pure && alike).then_some(addresses))
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
