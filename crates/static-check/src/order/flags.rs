//! Finding flags: locations that threads poll until another thread has written them, locks, and counters by
//! which the last to come is known.

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{
    AtomicOperation, BlockId, Comparison, Instruction, InstructionId, LoopId, Op, Operand, Operation, Order,
    Terminator, ValueId, evaluate,
};

use super::address::Address;
use crate::body::{Base, Body};
use crate::inline::is_shared;

/// Most blocks of a loop that only waits.
const MAXIMUM_SPIN: usize = 32;

/// What an access does to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Read,
    Write,
    /// An atomic that reads and writes.
    Update,
}

/// One access to memory that other threads can see.
#[derive(Debug, Clone)]
pub(super) struct Access {
    pub(super) at: InstructionId,
    pub(super) does: Does,
    pub(super) access: standstill_kernel_ir::Access,
    pub(super) address: Address,
    /// In shared memory.
    pub(super) shared: bool,
}

/// How a location is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A loop of these blocks reads it until it has changed.
    Spin(Vec<BlockId>),
    /// A loop tries to change it from a free to a taken value.
    Lock {
        /// The value that it must have to be taken, when one is named.
        free: Option<u64>,
        /// The value that says taken.
        taken: u64,
    },
}

/// A read that waits for a flag.
#[derive(Debug, Clone)]
pub(super) struct Poll {
    pub(super) access: Access,
    pub(super) kind: Kind,
}

/// All accesses of a kernel to global and shared memory whose address can be taken apart.
pub(super) fn accesses(body: &Body) -> Vec<Access> {
    let asked = body.function.instructions.iter().any(is_question_for_space);
    let mut found = Vec::new();
    for (at, instruction) in body.instructions() {
        let (access, does) = match instruction.op {
            Op::Load(access) => (access, Does::Read),
            Op::Store(access) => (access, Does::Write),
            Op::Atomic { access, operation } => {
                let does = if only_reads(body, instruction, operation) { Does::Read } else { Does::Update };
                (access, does)
            }
            _ => continue,
        };
        use standstill_kernel_ir::Space::{Const, Local, Param, Tensor};
        if matches!(access.space, Const | Local | Param | Tensor) {
            continue;
        }
        let Some(address) = Address::of(body, at) else { continue };
        if address.base == Base::Workspace || asked && access.order == Order::Weak && asks_for_space(body, at)
        {
            continue;
        }
        let shared = is_shared(access.space)
            || matches!(address.base, Base::Symbol(symbol) if body.is_shared_symbol(symbol));
        found.push(Access { at, does, access, address, shared });
    }
    found
}

/// Whether an access stands under a question about its address's space: libraries treat a thread's own
/// memory apart, with plain accesses that no other thread can see.
fn asks_for_space(body: &Body, at: InstructionId) -> bool {
    body.control_dependence.branches(body.block_of(at)).iter().any(|&branch| {
        body.ssa.terminator(branch).is_some_and(|condition| body.rests_on(condition, &is_question_for_space))
    })
}

fn is_question_for_space(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::Arithmetic(arithmetic) if arithmetic.operation == Operation::Isspacep)
}

/// Whether an atomic leaves memory as it is: an addition of zero, an exchange of equals.
pub(super) fn only_reads(body: &Body, instruction: &Instruction, operation: AtomicOperation) -> bool {
    let operand = body.constant(instruction, 1);
    match operation {
        AtomicOperation::Add | AtomicOperation::Or | AtomicOperation::Xor => operand == Some(0),
        AtomicOperation::And => operand.is_some_and(|bits| bits as u32 == u32::MAX),
        AtomicOperation::CompareExchange => operand.is_some() && operand == body.constant(instruction, 2),
        _ => false,
    }
}

/// The reads that wait for a flag.
pub(super) fn polls(body: &Body, accesses: &[Access]) -> Vec<Poll> {
    let mut found = Vec::new();
    for access in accesses {
        let block = body.block_of(access.at);
        let Some(innermost) = body.loops.innermost(block) else { continue };
        let Some(instruction) = body.instruction(access.at) else { continue };
        let Some(result) = body.destination_value(instruction, 0) else { continue };
        if let Op::Atomic { operation, .. } = instruction.op
            && access.does == Does::Update
        {
            let constants = (body.constant(instruction, 1), body.constant(instruction, 2));
            let kind = match (operation, constants) {
                (AtomicOperation::CompareExchange, (Some(free), Some(taken))) => {
                    Kind::Lock { free: Some(free), taken }
                }
                (AtomicOperation::Exchange, (Some(taken), _)) => Kind::Lock { free: None, taken },
                _ => continue,
            };
            found.push(Poll { access: access.clone(), kind });
            continue;
        }
        if access.access.order == Order::Weak || access.access.elements > 1 {
            continue;
        }
        if let Some(blocks) = spin_loop(body, access.at, result, innermost) {
            found.push(Poll { access: access.clone(), kind: Kind::Spin(blocks) });
        }
    }
    found
}

/// The blocks of the loop that waits for what a read gives: of the one that does nothing else, where it is one.
pub(crate) fn waiting_loop(body: &Body, poll: InstructionId) -> Option<Vec<BlockId>> {
    let innermost = body.loops.innermost(body.block_of(poll))?;
    let result = body.destination_value(body.instruction(poll)?, 0);
    let alone = result.and_then(|result| spin_loop(body, poll, result, innermost));
    Some(alone.unwrap_or_else(|| body.loops.blocks(innermost).to_vec()))
}

/// The blocks of a loop that does nothing but wait for what a read gives.
fn spin_loop(body: &Body, poll: InstructionId, result: ValueId, innermost: LoopId) -> Option<Vec<BlockId>> {
    let waits = |blocks: &[BlockId]| {
        blocks.contains(&body.block_of(poll))
            && exits_on(body, blocks, result).next().is_some()
            && only_waits(body, blocks)
            && is_invariant(body, blocks, poll)
    };
    let mut around = Some(innermost);
    for _ in 0..4 {
        let id = around?;
        // A spin at the head of another loop shares its header with it: each way back by itself first.
        for &latch in body.loops.latches(id) {
            for &header in body.loops.headers(id) {
                if body.flow.successors(latch).contains(&header)
                    && let Some(blocks) = between(body, header, latch)
                    && waits(&blocks)
                {
                    return Some(blocks);
                }
            }
        }
        let blocks = body.loops.blocks(id);
        if waits(blocks) {
            return Some(blocks.to_vec());
        }
        around = body.loops.get(id)?.parent;
    }
    None
}

/// The blocks on the ways from a loop's header to a block that leads back to it.
fn between(body: &Body, header: BlockId, latch: BlockId) -> Option<Vec<BlockId>> {
    let mut blocks = vec![header];
    let mut stack = vec![latch];
    while let Some(block) = stack.pop() {
        if !blocks.contains(&block) {
            if blocks.len() >= MAXIMUM_SPIN {
                return None;
            }
            blocks.push(block);
            stack.extend_from_slice(body.flow.predecessors(block));
        }
    }
    Some(blocks)
}

/// The edges that may leave a loop by a condition on a value.
fn exits_on(body: &Body, blocks: &[BlockId], result: ValueId) -> impl Iterator<Item = (BlockId, BlockId)> {
    let deciding = blocks.iter().copied().filter(move |&from| {
        body.flow.successors(from).iter().any(|to| !blocks.contains(to))
            && body.ssa.terminator(from).is_some_and(|condition| depends(body, condition, result))
    });
    deciding.flat_map(move |from| {
        body.flow.successors(from).iter().filter(|to| !blocks.contains(to)).map(move |&to| (from, to))
    })
}

/// Whether a value is computed from another through arithmetic, votes and meeting paths.
pub(super) fn depends(body: &Body, value: ValueId, on: ValueId) -> bool {
    let mut seen = vec![value];
    let mut next = 0;
    while let Some(&value) = seen.get(next) {
        next += 1;
        if value == on {
            return true;
        }
        let mut visit = |value: Option<ValueId>| {
            if let Some(value) = value
                && seen.len() < 128
                && !seen.contains(&value)
            {
                seen.push(value);
            }
        };
        match body.definition(value) {
            Some((_, instruction)) if matches!(instruction.op, Op::Arithmetic(_) | Op::Vote(_)) => {
                for index in 0..usize::from(instruction.operands.sources) {
                    visit(body.source_value(instruction, index));
                }
            }
            Some(_) => {}
            None => body.ssa.incoming(value).iter().for_each(|&(_, value)| visit(Some(value))),
        }
    }
    false
}

/// Whether a loop changes nothing that others can see and meets with nobody.
fn only_waits(body: &Body, blocks: &[BlockId]) -> bool {
    blocks.len() <= MAXIMUM_SPIN
        && blocks.iter().all(|&block| {
            body.function.instructions_of(block).iter().all(|instruction| match instruction.op {
                Op::Store(access) => access.space == standstill_kernel_ir::Space::Local,
                Op::Atomic { operation, .. } => only_reads(body, instruction, operation),
                Op::Barrier { .. } | Op::ClusterBarrier { .. } | Op::Mbarrier { .. } | Op::Call(_) => false,
                Op::AsyncCopy { .. } | Op::BulkCopy { .. } | Op::Opaque(_) => false,
                _ => true,
            })
        })
}

/// Whether an address stays the same in a loop.
fn is_invariant(body: &Body, blocks: &[BlockId], at: InstructionId) -> bool {
    let Some(instruction) = body.instruction(at) else { return false };
    match body.source(instruction, 0) {
        Operand::Symbol { .. } => true,
        _ => {
            body.source_value(instruction, 0).is_some_and(|value| value_is_invariant(body, blocks, value, 0))
        }
    }
}

fn value_is_invariant(body: &Body, blocks: &[BlockId], value: ValueId, depth: u32) -> bool {
    let Some(block) = body.ssa.block(value, &body.flow) else { return false };
    if !blocks.contains(&block) {
        return true;
    }
    match body.definition(value) {
        Some((_, instruction)) if matches!(instruction.op, Op::Arithmetic(_)) && depth < 16 => {
            (0..usize::from(instruction.operands.sources)).all(|index| {
                body.source_value(instruction, index)
                    .is_none_or(|value| value_is_invariant(body, blocks, value, depth + 1))
            })
        }
        Some(_) => false,
        None => body
            .ssa
            .incoming(value)
            .iter()
            .all(|&(from, incoming)| incoming == value || !blocks.contains(&from)),
    }
}

/// Whether a written constant can end a wait: false only where every exit that looks at the flag is known
/// to stay shut for it.
pub(super) fn can_end(body: &Body, poll: &Poll, written: Option<u64>) -> bool {
    let Some(written) = written else { return true };
    match &poll.kind {
        Kind::Lock { free: Some(free), .. } => *free as u32 == written as u32,
        Kind::Lock { free: None, taken } => *taken as u32 != written as u32,
        Kind::Spin(blocks) => can_end_spin(body, blocks, poll.access.at, written),
    }
}

/// Whether a written constant can end a loop that polls: false only where the loop has exits that look at what
/// was read, and all of them are known to stay shut for it.
pub(crate) fn can_end_spin(body: &Body, blocks: &[BlockId], poll: InstructionId, written: u64) -> bool {
    let Some(instruction) = body.instruction(poll) else { return true };
    let (Op::Load(access) | Op::Atomic { access, .. }) = instruction.op else { return true };
    let Some(result) = body.destination_value(instruction, 0) else { return true };
    let mut known = FxHashMap::default();
    known.insert(result, Some(evaluate::keep(written, access.ty)));
    let mut shut = false;
    for (from, to) in exits_on(body, blocks, result) {
        let Some(condition) = body.ssa.terminator(from) else { return true };
        let Some(bits) = evaluated(body, condition, &mut known, 0) else { return true };
        let goes =
            match body.function.blocks.get(from.0 as usize).map(|block| block.terminator) {
                Some(Terminator::Branch { guard, taken, otherwise }) => {
                    if (bits & 1 == 1) != guard.negated() { taken } else { otherwise }
                }
                _ => return true,
            };
        if goes == to {
            return true;
        }
        shut = true;
    }
    !shut
}

fn evaluated(
    body: &Body,
    value: ValueId,
    known: &mut FxHashMap<ValueId, Option<u64>>,
    depth: u32,
) -> Option<u64> {
    if let Some(known) = known.get(&value) {
        return *known;
    }
    known.insert(value, None);
    let (_, instruction) = body.definition(value)?;
    let Op::Arithmetic(arithmetic) = instruction.op else { return None };
    if instruction.guard.is_some() || depth > 16 {
        return None;
    }
    let mut sources = Vec::new();
    for index in 0..usize::from(instruction.operands.sources) {
        sources.push(match body.source(instruction, index) {
            Operand::Immediate(bits) => bits,
            Operand::Register(_) => {
                evaluated(body, body.source_value(instruction, index)?, known, depth + 1)?
            }
            Operand::Negated(_) => {
                evaluated(body, body.source_value(instruction, index)?, known, depth + 1)? & 1 ^ 1
            }
            _ => return None,
        });
    }
    let destinations = usize::from(instruction.operands.destinations);
    let results = evaluate::evaluate(&arithmetic, &sources, destinations)?;
    let position =
        (0..destinations).find(|&index| body.destination_value(instruction, index) == Some(value))?;
    let result = results.get(position).copied();
    known.insert(value, result);
    result
}

/// The constant that an access leaves in memory.
pub(super) fn written_constant(body: &Body, access: &Access) -> Option<u64> {
    constant_at(body, access.at)
}

/// The constant that a store or an atomic leaves in memory.
pub(crate) fn constant_at(body: &Body, at: InstructionId) -> Option<u64> {
    let instruction = body.instruction(at)?;
    match instruction.op {
        Op::Store(_) | Op::Atomic { operation: AtomicOperation::Exchange, .. } => {
            body.constant(instruction, 1)
        }
        Op::Atomic { operation: AtomicOperation::CompareExchange, .. } => body.constant(instruction, 2),
        _ => None,
    }
}

/// The branch that asks whether an atomic's result is one certain number: whoever comes last.
pub(super) fn last_branch(body: &Body, access: &Access) -> Option<BlockId> {
    let instruction = body.instruction(access.at)?;
    let Op::Atomic { operation: AtomicOperation::Add | AtomicOperation::Inc | AtomicOperation::Dec, .. } =
        instruction.op
    else {
        return None;
    };
    let result = body.destination_value(instruction, 0)?;
    let mut places = Vec::new();
    // The answer may be handed to the other threads through a variable.
    for (at, store) in body.instructions() {
        if let Op::Store(_) = store.op
            && at > access.at
            && body.source_value(store, 1).is_some_and(|value| depends(body, value, result))
        {
            let base = body.base(at);
            if matches!(base, Base::Symbol(symbol) if body.is_shared_symbol(symbol)) {
                places.push((base, body.source_value(store, 1)));
            }
        }
    }
    body.flow.reverse_postorder().iter().copied().find(|&block| {
        let Some(condition) = body.ssa.terminator(block) else { return false };
        if depends(body, condition, result) {
            return asks_equality(body, condition, result);
        }
        places.iter().any(|&(base, stored)| {
            reads_from(body, condition, base)
                && (stored.is_some_and(|stored| asks_equality(body, stored, result))
                    || compares_equal(body, condition))
        })
    })
}

/// Whether a value is made by a comparison for equality of what an atomic gave.
fn asks_equality(body: &Body, value: ValueId, result: ValueId) -> bool {
    body.rests_on(value, &|instruction| {
        is_equality(instruction)
            && (0..usize::from(instruction.operands.sources)).any(|index| {
                body.source_value(instruction, index).is_some_and(|source| depends(body, source, result))
            })
    })
}

fn compares_equal(body: &Body, condition: ValueId) -> bool {
    body.rests_on(condition, &is_equality)
}

fn is_equality(instruction: &Instruction) -> bool {
    matches!(
        instruction.op,
        Op::Arithmetic(arithmetic)
            if matches!(arithmetic.operation, Operation::Setp | Operation::Set)
                && matches!(arithmetic.comparison, Comparison::Eq | Comparison::Ne)
    )
}

fn reads_from(body: &Body, condition: ValueId, base: Base) -> bool {
    body.rests_on(condition, &|instruction| {
        matches!(instruction.op, Op::Load(_)) && body.base_of_source(instruction, 0) == base
    })
}
