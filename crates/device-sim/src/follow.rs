//! Following values that nobody gave to where they matter.
//!
//! Two kinds: what stands in memory that nobody wrote, and results for which the software GPU has no model (matrix
//! operations of several warps, tensor copies). They go through registers and memory without harm; told is what they
//! decide: a branch, an address, what the host gets to see.
//!
//! Unwritten memory is told without false alarms: a value counts only when none of its bytes was ever written, and
//! stops to count where the rest of an operation decides alone. Moving such a value, padding among others, is
//! nothing; only what is computed from it matters to the host. Unknown values count as soon as one byte is unknown.
#![allow(clippy::needless_range_loop, reason = "several rows are walked lane by lane, in step")]

mod arithmetic;
pub(crate) mod doubt;
pub(crate) mod marks;
mod memory;
mod observe;
mod report;

use rustc_hash::{FxHashMap, FxHashSet};

use doubt::Doubts;
pub(crate) use observe::{before, branch, not_known, switch, tensor_copy};
pub(crate) use report::copied;

/// Different faults that are kept.
const MOST_FOUND: usize = 64;

/// What a value decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Branch,
    Address,
    Compare,
    Host,
}

/// Something that a value has decided.
#[derive(Debug, Clone)]
struct Found {
    origin: u32,
    unknown: bool,
    reach: Reach,
    /// Function and position.
    at: (u32, u32),
    count: u64,
}

/// Everything that is followed in a grid.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    /// Reads of unwritten memory count.
    unwritten: bool,
    /// Doubtful bytes of shared and local memory.
    private: FxHashMap<memory::Private, Doubts>,
    /// Blocks that a tensor copy has written to, nobody knows where.
    tensor: FxHashSet<u32>,
    /// Origins of this grid by function, position, and kind.
    origins: FxHashMap<(u32, u32, bool), u32>,
    found: Vec<Found>,
    /// It is of blocks that run ahead, which leave global memory as it is.
    ahead: bool,
    /// There was something doubtful.
    pub(crate) doubts: bool,
}

impl Follow {
    /// For a launch in which reads of unwritten memory count, or only unknown results.
    pub(crate) fn new(unwritten: bool) -> Box<Follow> {
        Box::new(Follow { unwritten, ..Follow::default() })
    }

    /// The same for blocks that run ahead; `None` when none can.
    pub(crate) fn ahead(&self) -> Option<Box<Follow>> {
        let can = self.unwritten && !self.doubts;
        can.then(|| Box::new(Follow { unwritten: true, ahead: true, ..Follow::default() }))
    }

    /// Forgets a block that has ended.
    pub(crate) fn forget(&mut self, block: u32) {
        self.tensor.remove(&block);
        if !self.private.is_empty() {
            self.private.retain(|private, _| private.block() != block);
        }
    }

    fn found(&mut self, origin: u32, unknown: bool, reach: Reach, at: (u32, u32)) {
        let same = |found: &&mut Found| found.origin == origin && found.unknown == unknown;
        if let Some(known) = self.found.iter_mut().find(same) {
            known.count += 1;
        } else if self.found.len() < MOST_FOUND {
            self.found.push(Found { origin, unknown, reach, at, count: 1 });
        }
    }
}
