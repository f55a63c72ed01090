//! One thread that publishes, or waits, for all threads of its block: the others must meet it in between.
//! A fence orders the stores of the thread that executes it, and nothing of its neighbours.

use standstill_kernel_ir::{BlockId, Instruction, InstructionId, Op, Space};

use super::address::Atom;
use super::flags::{Access, Kind, Poll};
use super::paths::{self, Way};
use super::{Check, roles};
use crate::divergence::guilty;
use crate::uniformity::Agreement;

impl Check<'_> {
    /// A flag between blocks that one thread writes for payload of all, or that one thread waits for before all
    /// read: the payload's access, its other side, and which of the two is not ordered.
    pub(super) fn leader_alone<'c>(
        &'c self,
        poll: &Poll,
        writer: &Access,
        behind: &[&'c Access],
    ) -> Option<(&'c Access, &'c Access, Way)> {
        let Kind::Spin(_) = poll.kind else { return None };
        if self.kernel.launch.is_one_warp() {
            return None;
        }
        let pair = |of_all: &dyn Fn(&Access, &Access) -> bool| {
            self.accesses.iter().find_map(|store| {
                let load = behind.iter().find(|load| {
                    of_all(store, load)
                        && self.is_of_each_thread(store)
                        && self.is_of_many(load)
                        && self.handed_over(poll, writer, store, load)
                })?;
                Some((store, *load))
            })
        };
        if self.is_for_others(writer)
            && let Some((store, load)) = pair(&|store, _| self.unmet(writer, store, Way::Release))
        {
            return Some((store, load, Way::Release));
        }
        if self.is_for_others(&poll.access)
            && let Some((store, load)) =
                pair(&|_, load| self.is_of_each_thread(load) && self.unmet(&poll.access, load, Way::Acquire))
        {
            return Some((store, load, Way::Acquire));
        }
        None
    }

    /// Whether the flag is one for the block.
    fn is_for_others(&self, flag: &Access) -> bool {
        let each = |atom| super::address::atom_agreement(self.kernel, atom) >= Agreement::Block;
        !flag.shared && flag.address.atoms().into_iter().all(each) && !self.leaders(flag).is_empty()
    }

    /// The branches over an access that pick threads of a block by their indices alone.
    fn leaders(&self, flag: &Access) -> Vec<BlockId> {
        let body = self.kernel.body;
        let other = |instruction: &Instruction| match instruction.op {
            Op::Arithmetic(_) => false,
            Op::Load(access) => access.space != Space::Param,
            _ => true,
        };
        let branches = guilty(self.kernel, body.block_of(flag.at), Agreement::Block);
        let by_index = |&branch: &BlockId| {
            body.ssa.terminator(branch).is_some_and(|value| !body.rests_on(value, &other))
        };
        if branches.iter().all(by_index) { branches } else { Vec::new() }
    }

    /// Whether every thread of the block makes an access, each to a place of its own.
    fn is_of_each_thread(&self, access: &Access) -> bool {
        let body = self.kernel.body;
        let own = |atom| super::address::atom_agreement(self.kernel, atom) == Agreement::Thread;
        self.kernel.uniformity.control(body.block_of(access.at)) >= Agreement::Block
            && access.address.atoms().into_iter().any(own)
    }

    /// Whether an access goes to many places: one for each thread, or another in each round of a loop.
    fn is_of_many(&self, access: &Access) -> bool {
        let body = self.kernel.body;
        let around = body.loops.innermost(body.block_of(access.at));
        let in_loop = |atom| match (atom, around) {
            (Atom::Value(value), Some(around)) => {
                body.ssa.block(value, &body.flow).is_some_and(|block| body.loops.contains(around, block))
            }
            _ => false,
        };
        self.is_of_each_thread(access) || access.address.atoms().into_iter().any(in_loop)
    }

    /// Whether a thread comes from a payload to a flag, or back, without meeting anyone on any way.
    fn unmet(&self, flag: &Access, payload: &Access, way: Way) -> bool {
        let body = self.kernel.body;
        let meets = |id: InstructionId, instruction: &Instruction| paths::meets(body, id, instruction, true);
        let never = |_: InstructionId, _: &Instruction| false;
        let walk = |from, stops: &dyn Fn(InstructionId, &Instruction) -> bool| match way {
            Way::Release => paths::before(body, from, stops),
            Way::Acquire => paths::behind(body, from, stops),
        };
        let (open, met) = walk(flag.at, &meets);
        let block = body.block_of(payload.at);
        open.contains(body, payload.at)
            && !met.iter().any(|&stop| walk(stop, &never).0.contains(body, payload.at))
            && self.leaders(flag).iter().all(|&branch| !roles::stands_under(body, block, branch))
    }
}
