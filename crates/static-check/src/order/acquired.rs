//! Waits for a flag that was acquired in a wait before.

use fixedbitset::FixedBitSet;
use standstill_kernel_ir::BlockId;

use super::Check;
use super::flags::{Access, Kind, Poll};
use super::paths::{self, Way};

impl Check<'_> {
    /// Whether every thread that comes to a poll has set the flag itself, or has acquired it in a wait before.
    pub(super) fn acquired_before(&self, poll: &Poll, writer: &Access) -> bool {
        let body = self.kernel.body;
        let passed: Vec<BlockId> = self
            .polls
            .iter()
            .filter(|other| {
                matches!(other.kind, Kind::Spin(_))
                    && paths::orders(other.access.access.order, Way::Acquire)
                    && other.access.address.same(&poll.access.address)
            })
            .map(|other| other.access.at)
            .chain([writer.at])
            .map(|at| body.block_of(at))
            .collect();
        let to = body.block_of(poll.access.at);
        if passed.len() < 2 || passed.contains(&to) {
            return false;
        }
        let mut seen = FixedBitSet::with_capacity(body.function.blocks.len());
        let mut open = vec![BlockId(0)];
        while let Some(block) = open.pop() {
            if block == to {
                return false;
            }
            if !passed.contains(&block) && !seen.put(block.0 as usize) {
                body.function.successors(block, |next| open.push(next));
            }
        }
        true
    }
}
