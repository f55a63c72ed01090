//! One loop and what its exits are decided by.

use standstill_kernel_ir::{
    BlockId, Callee, Instruction, InstructionId, LoopId, Op, Operand, Operation, Order, Space, Special,
    Terminator, ValueDef, ValueId,
};

use crate::body::Body;
use crate::kernel::Kernel;

/// How deep a value is followed.
const MAXIMUM_DEPTH: u32 = 48;

/// Most jumps back of a loop that is looked at for shorter rounds.
const MAXIMUM_LATCHES: usize = 8;

/// Most blocks of one: who spins does little.
const MAXIMUM_ROUND: usize = 64;

/// Functions of the runtime that come back to their caller.
const RETURNING: [&str; 3] = ["vprintf", "malloc", "free"];

/// A loop with one header.
pub(super) struct Cycle<'a> {
    pub(super) kernel: &'a Kernel<'a>,
    pub(super) body: &'a Body,
    pub(super) id: LoopId,
    pub(super) header: BlockId,
    pub(super) exits: Vec<Exit>,
    /// Its blocks, where they are not all of the loop's.
    rounds: Option<Vec<BlockId>>,
}

/// An edge that leaves a loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exit {
    /// The block that it leaves from.
    pub(super) from: BlockId,
    /// Where it leads.
    pub(super) to: BlockId,
    /// The predicate that decides, and its value with which the loop is left; none for a jump table.
    pub(super) test: Option<(ValueId, bool)>,
}

impl<'a> Cycle<'a> {
    pub(super) fn new(kernel: &'a Kernel<'a>, id: LoopId, header: BlockId) -> Cycle<'a> {
        Cycle::with_exits(kernel, id, header, kernel.body.loops.exits(id), None)
    }

    /// The shorter ways round a loop of which compilers have made one out of two, the inner one's header being the
    /// outer one's as well: a loop for each jump back that leaves out others.
    pub(super) fn shorter_rounds(&self) -> Vec<Cycle<'a>> {
        let flow = &self.body.flow;
        let latches = self.body.loops.latches(self.id);
        if latches.len() < 2 || latches.len() > MAXIMUM_LATCHES {
            return Vec::new();
        }
        let rounds_by = |&latch: &BlockId| {
            let mut rounds = vec![self.header];
            let mut left = vec![latch];
            while let Some(block) = left.pop() {
                if !rounds.contains(&block) {
                    rounds.push(block);
                    left.extend(flow.predecessors(block).iter().filter(|from| self.contains(**from)));
                }
                if rounds.len() > MAXIMUM_ROUND {
                    return None;
                }
            }
            latches.iter().any(|latch| !rounds.contains(latch)).then_some(rounds)
        };
        let cycle = |rounds: Vec<BlockId>| {
            let edges =
                rounds.iter().flat_map(|&from| flow.successors(from).iter().map(move |&to| (from, to)));
            let exits: Vec<_> = edges.filter(|(_, to)| !rounds.contains(to)).collect();
            Cycle::with_exits(self.kernel, self.id, self.header, &exits, Some(rounds))
        };
        latches.iter().filter_map(rounds_by).map(cycle).collect()
    }

    fn with_exits(
        kernel: &'a Kernel<'a>,
        id: LoopId,
        header: BlockId,
        exits: &[(BlockId, BlockId)],
        rounds: Option<Vec<BlockId>>,
    ) -> Cycle<'a> {
        let body = kernel.body;
        let exits = exits.iter().map(|&(from, to)| {
            let terminator = body.function.blocks.get(from.0 as usize).map(|block| block.terminator);
            let test = match (terminator, body.ssa.terminator(from)) {
                (Some(Terminator::Branch { guard, taken, .. }), Some(condition)) => {
                    Some((condition, (taken == to) != guard.negated()))
                }
                _ => None,
            };
            Exit { from, to, test }
        });
        Cycle { kernel, body, id, header, exits: exits.collect(), rounds }
    }

    pub(super) fn blocks(&self) -> &[BlockId] {
        self.rounds.as_deref().unwrap_or_else(|| self.body.loops.blocks(self.id))
    }

    pub(super) fn contains(&self, block: BlockId) -> bool {
        match &self.rounds {
            Some(rounds) => rounds.contains(&block),
            None => self.body.loops.contains(self.id, block),
        }
    }

    /// The instructions of the loop, block after block.
    pub(super) fn instructions(&self) -> impl Iterator<Item = (InstructionId, &'a Instruction)> + '_ {
        let body = self.body;
        self.blocks().iter().flat_map(move |block| {
            let range = body.function.blocks.get(block.0 as usize).map_or(0..0, |b| b.first..b.end);
            range.filter_map(move |index| {
                let id = InstructionId(index);
                Some((id, body.instruction(id)?))
            })
        })
    }

    /// Whether the loop calls something that may end the thread or that is not known.
    pub(super) fn may_end_by_call(&self) -> bool {
        self.instructions().any(|(_, instruction)| {
            let Op::Call(call) = instruction.op else { return false };
            match self.body.function.calls.get(call.0 as usize).map(|call| &call.callee) {
                Some(Callee::Direct(id)) => {
                    let header = self.kernel.places.module.functions.get(id.0 as usize);
                    header.is_none_or(|header| !header.defined && !RETURNING.contains(&header.name.as_str()))
                }
                _ => true,
            }
        })
    }

    /// Whether a value is defined in the loop.
    pub(super) fn is_inside(&self, value: ValueId) -> bool {
        match self.body.ssa.definition(value) {
            Some(ValueDef::Undefined(_) | ValueDef::Entry(_)) | None => false,
            Some(_) => self.body.ssa.block(value, &self.body.flow).is_some_and(|block| self.contains(block)),
        }
    }

    /// Whether a value is the same in every round.
    pub(super) fn is_invariant(&self, value: ValueId) -> bool {
        self.repeats(value, &mut None, 0)
    }

    /// Whether a value is the same in every round as long as nobody else writes what its weak loads read;
    /// gives those loads.
    pub(super) fn stale_loads(&self, value: ValueId) -> Option<Vec<InstructionId>> {
        let mut loads = Some(Vec::new());
        if self.repeats(value, &mut loads, 0) { loads } else { None }
    }

    fn repeats(&self, value: ValueId, loads: &mut Option<Vec<InstructionId>>, depth: u32) -> bool {
        if !self.is_inside(value) {
            return true;
        }
        if depth > MAXIMUM_DEPTH {
            return false;
        }
        let Some((id, instruction)) = self.body.definition(value) else {
            if self.stays(value) {
                return true;
            }
            // What comes round the loop is read there again; only a loop that polls has such a value.
            return loads.is_some()
                && self.body.ssa.incoming(value).iter().all(|&(_, from)| {
                    from == value || !self.is_inside(from) || {
                        let is_load = self.body.definition(from).is_some_and(|(_, i)| is_plain_load(i));
                        is_load && self.repeats(from, loads, depth + 1)
                    }
                });
        };
        if instruction.guard.is_some() {
            return false;
        }
        match instruction.op {
            Op::Arithmetic(_) => {}
            Op::Load(_) if is_plain_load(instruction) => match loads {
                Some(list) if !list.contains(&id) => list.push(id),
                Some(_) => {}
                None => return false,
            },
            _ => return false,
        }
        (0..usize::from(instruction.operands.sources)).all(|index| {
            match self.body.source(instruction, index) {
                Operand::Special(special) => is_steady(special),
                _ => self
                    .body
                    .source_value(instruction, index)
                    .is_none_or(|source| self.repeats(source, loads, depth + 1)),
            }
        })
    }

    /// Whether a value that meets at the header is what it was in the round before.
    fn stays(&self, value: ValueId) -> bool {
        let at_header = matches!(self.body.ssa.definition(value), Some(ValueDef::Phi { block, .. }) if block == self.header);
        at_header
            && self.body.ssa.incoming(value).iter().all(|&(from, next)| next == value || !self.contains(from))
    }

    /// For a value that meets at the loop's header: what it is before the first round, when that is one value,
    /// and what each round leaves, when that is one value.
    pub(super) fn state(&self, phi: ValueId) -> Option<(Option<ValueId>, ValueId)> {
        match self.body.ssa.definition(phi) {
            Some(ValueDef::Phi { block, .. }) if block == self.header => {}
            _ => return None,
        }
        let (mut start, mut starts) = (None, 0);
        let mut next = None;
        for &(from, value) in self.body.ssa.incoming(phi) {
            if self.contains(from) {
                if next.is_some_and(|known| known != value) {
                    return None;
                }
                next = Some(value);
            } else if start != Some(value) {
                start = Some(value);
                starts += 1;
            }
        }
        Some((start.filter(|_| starts == 1), next?))
    }

    /// Whether every round passes a block.
    pub(super) fn in_every_round(&self, block: BlockId) -> bool {
        self.body.loops.latches(self.id).iter().all(|&latch| self.body.dominators.dominates(block, latch))
    }
}

/// Whether a load may be done once for many: weak, from memory that others can write.
pub(super) fn is_plain_load(instruction: &Instruction) -> bool {
    match instruction.op {
        Op::Load(access) => {
            access.order == Order::Weak
                && matches!(
                    access.space,
                    Space::Generic | Space::Global | Space::Shared | Space::SharedCluster
                )
        }
        _ => false,
    }
}

/// Whether a special register keeps its value while a thread runs.
pub(super) fn is_steady(special: Special) -> bool {
    !matches!(
        special,
        Special::Clock
            | Special::Clock64
            | Special::GlobalTimer
            | Special::SmId
            | Special::WarpId
            | Special::Other
    )
}

/// The comparison that makes a predicate, through negations: the instruction, and whether it is turned round.
pub(crate) fn comparison(body: &Body, condition: ValueId) -> Option<(InstructionId, &Instruction, bool)> {
    let mut value = condition;
    let mut negated = false;
    for _ in 0..4 {
        let (id, instruction) = body.definition(value)?;
        let Op::Arithmetic(arithmetic) = instruction.op else { return None };
        if instruction.guard.is_some() {
            return None;
        }
        match arithmetic.operation {
            Operation::Not => {
                value = body.source_value(instruction, 0)?;
                negated = !negated;
            }
            Operation::Setp => {
                let second = body.destination_value(instruction, 1) == Some(value);
                return Some((id, instruction, negated != second));
            }
            _ => return None,
        }
    }
    None
}
