//! What lies before and behind an instruction on paths that do not go round a loop, and what orders it.

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{BlockId, FenceKind, Instruction, InstructionId, Op, Order, Scope};

use crate::body::{Base, Body};

/// How far an operation orders the accesses around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// Not at all.
    None,
    /// Between threads that meet in it, which are of one block.
    Meeting,
    /// For the threads of the block.
    Block,
    /// For other blocks as well.
    Device,
}

/// Which way an order is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Way {
    /// From accesses to a later write of a flag.
    Release,
    /// From a read of a flag to later accesses.
    Acquire,
}

/// Scope of a strong access; volatile ones are as wide as can be (PTX ISA, «Volatile Operations»).
pub(super) fn scope_of(order: Order, scope: Scope) -> Scope {
    match order {
        Order::Volatile | Order::Mmio | Order::Weak => Scope::Sys,
        _ => scope,
    }
}

/// Whether an access of this order releases (or acquires) by itself.
pub(super) fn orders(order: Order, way: Way) -> bool {
    match order {
        Order::AcquireRelease | Order::SequentiallyConsistent => true,
        Order::Release => way == Way::Release,
        Order::Acquire => way == Way::Acquire,
        _ => false,
    }
}

/// How far an instruction orders what is before it with what is behind it.
pub(super) fn reach(body: &Body, id: InstructionId, instruction: &Instruction, way: Way) -> Reach {
    let by_scope = |scope: Scope| if scope == Scope::Cta { Reach::Block } else { Reach::Device };
    match instruction.op {
        Op::Fence { kind: FenceKind::Thread, scope, .. } => by_scope(scope),
        Op::Fence { kind: FenceKind::OtherProxy, .. } => Reach::Device,
        Op::Fence { .. } => Reach::Meeting,
        Op::Load(access) | Op::Store(access) | Op::Atomic { access, .. } => {
            if access.order == Order::Weak && !matches!(instruction.op, Op::Atomic { .. }) {
                Reach::None
            } else if body.base(id) == Base::Workspace {
                Reach::Device
            } else if orders(access.order, way) {
                by_scope(access.scope)
            } else {
                Reach::None
            }
        }
        Op::Barrier { .. }
        | Op::WarpSync
        | Op::Shuffle(_)
        | Op::Vote(_)
        | Op::Match { .. }
        | Op::WarpReduce { .. }
        | Op::Elect
        | Op::Mbarrier { .. }
        | Op::AsyncWait
        | Op::BulkWait { .. }
        | Op::Matrix(_) => Reach::Meeting,
        // What was not understood may order anything.
        Op::ClusterBarrier { .. } | Op::GridDependency { .. } | Op::Call(_) | Op::Opaque(_) => Reach::Device,
        _ => Reach::None,
    }
}

/// Whether blocks meet in an instruction, or what it does is not known; `within` a block, whether threads do.
pub(super) fn meets(body: &Body, id: InstructionId, instruction: &Instruction, within: bool) -> bool {
    match instruction.op {
        Op::Fence { .. } | Op::Load(_) | Op::Store(_) => false,
        Op::Atomic { .. } => body.base(id) == Base::Workspace,
        _ => match reach(body, id, instruction, Way::Release) {
            Reach::Device => true,
            Reach::Meeting => within,
            _ => false,
        },
    }
}

/// A set of instructions: in each block a range.
#[derive(Debug, Clone, Default)]
pub(super) struct Region {
    ranges: FxHashMap<u32, (u32, u32)>,
}

impl Region {
    pub(super) fn contains(&self, body: &Body, id: InstructionId) -> bool {
        self.ranges.get(&body.block_of(id).0).is_some_and(|&(first, end)| (first..end).contains(&id.0))
    }
}

/// Everything before an instruction back to the first that stops; with the stops that were met.
pub(super) fn before(
    body: &Body,
    from: InstructionId,
    stops: &dyn Fn(InstructionId, &Instruction) -> bool,
) -> (Region, Vec<InstructionId>) {
    let mut region = Region::default();
    let mut met = Vec::new();
    let mut stack = vec![(body.block_of(from), from.0)];
    while let Some((block, end)) = stack.pop() {
        let Some(range) = body.function.blocks.get(block.0 as usize) else { continue };
        let stop = (range.first..end)
            .rev()
            .map(InstructionId)
            .find(|&id| body.instruction(id).is_some_and(|instruction| stops(id, instruction)));
        let first = stop.map_or(range.first, |stop| stop.0 + 1);
        region.ranges.insert(block.0, (first, end));
        if let Some(stop) = stop {
            met.push(stop);
            continue;
        }
        for &previous in body.flow.predecessors(block) {
            if !body.flow.is_retreating(previous, block) && !region.ranges.contains_key(&previous.0) {
                region.ranges.insert(previous.0, (0, 0));
                stack.push((previous, end_of(body, previous)));
            }
        }
    }
    (region, met)
}

/// Everything behind an instruction up to the first that stops; with the stops that were met.
pub(super) fn behind(
    body: &Body,
    from: InstructionId,
    stops: &dyn Fn(InstructionId, &Instruction) -> bool,
) -> (Region, Vec<InstructionId>) {
    let mut region = Region::default();
    let mut met = Vec::new();
    let mut stack = vec![(body.block_of(from), from.0 + 1)];
    while let Some((block, first)) = stack.pop() {
        let end = end_of(body, block);
        let stop = (first..end)
            .map(InstructionId)
            .find(|&id| body.instruction(id).is_some_and(|instruction| stops(id, instruction)));
        region.ranges.insert(block.0, (first, stop.map_or(end, |stop| stop.0)));
        if let Some(stop) = stop {
            met.push(stop);
            continue;
        }
        for &next in body.flow.successors(block) {
            if !body.flow.is_retreating(block, next) && !region.ranges.contains_key(&next.0) {
                region.ranges.insert(next.0, (0, 0));
                let first = body.function.blocks.get(next.0 as usize).map_or(0, |block| block.first);
                stack.push((next, first));
            }
        }
    }
    (region, met)
}

fn end_of(body: &Body, block: BlockId) -> u32 {
    body.function.blocks.get(block.0 as usize).map_or(0, |block| block.end)
}

/// The accesses that nothing of at least `needed` reach separates from an instruction, on any path: where
/// a fence stands on some paths only, the code's own conditions may make it enough, and nothing is said.
pub(super) struct Exposed {
    open: Region,
    closed: Vec<Region>,
    /// The operations that do separate others from it.
    pub(super) covers: Vec<InstructionId>,
}

impl Exposed {
    pub(super) fn to(body: &Body, flag: InstructionId, way: Way, needed: Reach) -> Exposed {
        let covers =
            |id: InstructionId, instruction: &Instruction| reach(body, id, instruction, way) >= needed;
        let never = |_: InstructionId, _: &Instruction| false;
        let walk = |from, stops: &dyn Fn(InstructionId, &Instruction) -> bool| match way {
            Way::Release => before(body, from, stops),
            Way::Acquire => behind(body, from, stops),
        };
        let (open, met) = walk(flag, &covers);
        let closed = met.iter().map(|&cover| walk(cover, &never).0).collect();
        Exposed { open, closed, covers: met }
    }

    /// Whether there is a way without such an operation, and one with it.
    pub(super) fn contains_on_some_ways(&self, body: &Body, id: InstructionId) -> bool {
        self.open.contains(body, id) && !self.contains(body, id)
    }

    pub(super) fn contains(&self, body: &Body, id: InstructionId) -> bool {
        self.open.contains(body, id) && !self.closed.iter().any(|region| region.contains(body, id))
    }
}
