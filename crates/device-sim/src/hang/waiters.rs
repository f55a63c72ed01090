//! Who waits, for what, and where.

use standstill_kernel_ir::{BlockId, ControlFlow, Loops, MbarrierOperation, Op, Order};

use super::spy::Read;
use crate::decode::code::{Code, Origin};
use crate::exec::core::lanes;
use crate::exec::warp::State;
use crate::fault::Place;
use crate::grid::Grid;

/// What a group of threads waits for.
#[derive(Debug, Clone)]
pub(crate) enum Why {
    /// A barrier of the block: its number, what its operations name, and what has come.
    Barrier { id: u32, count: Option<u32>, arrived: u32 },
    /// The cluster's barrier.
    Cluster,
    /// Lanes that its mask names and that do not come.
    Lanes { missing: u32 },
    /// Memory: what its loop reads; the strongest of the reads; whether it is an mbarrier.
    Memory { reads: Vec<Read>, order: Order, mbarrier: bool },
    /// Time that passes without end.
    Time,
    /// Nothing: its loop depends on itself alone; by equal steps, or by values that repeat.
    Itself { steps: bool },
}

/// A group of threads that waits.
#[derive(Debug, Clone)]
pub(crate) struct Waiter {
    pub(crate) slot: usize,
    pub(crate) warp: usize,
    /// Linear index of the block.
    pub(crate) block: u32,
    /// Linear indices of the threads in the block.
    pub(crate) threads: Vec<u32>,
    pub(crate) why: Why,
    /// The waiting operation.
    pub(crate) place: Place,
    /// For loops: their exit test.
    pub(crate) test: Place,
    /// Function and position where the group stands.
    pub(crate) at: (u32, u32),
}

impl Grid {
    /// All groups that wait.
    pub(crate) fn waiters(&self) -> Vec<Waiter> {
        let mut waiters = Vec::new();
        for (block, slot) in
            self.slots.iter().zip(0..).filter_map(|(block, slot)| Some((block.as_ref()?, slot)))
        {
            for (warp, index) in block.warps.iter().zip(0..) {
                for group in &warp.flow.groups {
                    let Some(frame) = warp.flow.frames.get(group.frame as usize) else { continue };
                    let code = &frame.code.0;
                    let function = code.function.id.0;
                    let mut at = (function, group.pc);
                    let mut test = Place::default();
                    let why = match &group.state {
                        State::Ready | State::Converging | State::Arriving | State::Delayed(_) => continue,
                        State::AtBarrier(id) => {
                            let barrier = block.barriers.get(*id as usize).copied().unwrap_or_default();
                            Why::Barrier { id: *id, count: barrier.expected, arrived: barrier.arrived }
                        }
                        State::AtCluster => Why::Cluster,
                        State::AtCollective(named) => {
                            let flow = &warp.flow;
                            let is_sync = flow.is_sync(group.frame, group.pc);
                            let there = flow.groups.iter().filter(|other| {
                                matches!(other.state, State::AtCollective(same) if same == *named)
                                    && if is_sync {
                                        flow.is_sync(other.frame, other.pc)
                                    } else {
                                        (other.frame, other.pc) == (group.frame, group.pc)
                                    }
                            });
                            let there = there.fold(0, |all, other| all | other.mask);
                            Why::Lanes { missing: named & warp.flow.live & !there }
                        }
                        State::Parked(parked) => {
                            test = self.exit_test(code, parked.head);
                            match (parked.reads.first(), parked.timed) {
                                (_, true) => Why::Time,
                                (None, _) => Why::Itself { steps: parked.steps },
                                (Some(first), _) => {
                                    let strongest = parked
                                        .reads
                                        .iter()
                                        .max_by_key(|read| strength(self.order_of(read).0));
                                    let read = strongest.unwrap_or(first);
                                    at = read.at;
                                    let (order, mbarrier) = self.order_of(read);
                                    Why::Memory { reads: parked.reads.clone(), order, mbarrier }
                                }
                            }
                        }
                    };
                    let place = self.place(at.0, at.1);
                    let of_loop = matches!(why, Why::Itself { .. } | Why::Time);
                    let place = if place.line == 0 || of_loop { test.clone() } else { place };
                    waiters.push(Waiter {
                        slot,
                        warp: index,
                        block: block.place.index,
                        threads: lanes(group.mask)
                            .map(|lane| warp.place.first_thread + lane as u32)
                            .collect(),
                        why,
                        place,
                        test,
                        at: (function, group.pc),
                    });
                }
            }
        }
        waiters
    }

    /// The order that a read has, and whether it is one of an mbarrier.
    fn order_of(&self, read: &Read) -> (Order, bool) {
        self.order_at(read.at)
    }

    /// The order of the access at a function's position, and whether it is one of an mbarrier.
    pub(super) fn order_at(&self, at: (u32, u32)) -> (Order, bool) {
        let code = self.shared.kernel.functions.get(at.0 as usize).and_then(Option::as_ref);
        let Some(code) = code else { return (Order::Weak, false) };
        let Some(Origin::Instruction(id)) = code.origins.get(at.1 as usize) else {
            return (Order::Weak, false);
        };
        match code.function.instructions.get(id.0 as usize).map(|instruction| instruction.op) {
            Some(Op::Load(access)) => (access.order, false),
            Some(Op::Atomic { access, .. }) => (access.order.max(Order::Relaxed), false),
            Some(Op::Mbarrier { operation: MbarrierOperation::Wait { .. }, order, .. }) => {
                (order.max(Order::Relaxed), true)
            }
            _ => (Order::Weak, false),
        }
    }

    /// The place of the test that leaves a loop; of its head when nothing leaves it.
    pub(super) fn exit_test(&self, code: &Code, head: u32) -> Place {
        let function = code.function.id.0;
        let at = exit(code, head).map(|(from, _)| from);
        let position = at.and_then(|block| {
            let terminator = Origin::Terminator(block);
            // The last of the block's positions is its jump.
            code.origins.iter().rposition(|&origin| origin == terminator)
        });
        let place = self.place(function, position.map_or(head, |position| position as u32));
        if place.line > 0 {
            return place;
        }
        // A loop that nothing leaves: any line of it.
        (head..code.ops.len() as u32)
            .map(|at| self.place(function, at))
            .find(|place| place.line > 0)
            .unwrap_or(place)
    }
}

/// An edge that leaves the loop with this head.
pub(crate) fn exit(code: &Code, head: u32) -> Option<(BlockId, BlockId)> {
    let block = BlockId(code.starts.iter().position(|&start| start == head)? as u32);
    let flow = ControlFlow::build(&code.function);
    let loops = Loops::build(&flow);
    let id = loops.innermost(block)?;
    loops.exits(id).first().copied()
}

fn strength(order: Order) -> u8 {
    match order {
        Order::Weak => 0,
        _ => 1,
    }
}
