//! Vector clocks over strands: chains of operations of which each comes before the next.

use smallvec::SmallVec;

/// A chain: a stream, a path through a graph, or the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Strand(pub(crate) u32);

impl Strand {
    /// The chain of the host's own accesses.
    pub(crate) const HOST: Strand = Strand(0);
}

/// How many operations of each strand come before a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Clock(SmallVec<[u64; 8]>);

impl Clock {
    pub(crate) fn get(&self, strand: Strand) -> u64 {
        self.0.get(strand.0 as usize).copied().unwrap_or(0)
    }

    pub(crate) fn set(&mut self, strand: Strand, index: u64) {
        let at = strand.0 as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        if let Some(place) = self.0.get_mut(at) {
            *place = index;
        }
    }

    /// Whether all that comes before this moment comes before the other one, too.
    pub(crate) fn is_before(&self, other: &Clock) -> bool {
        self.0.iter().zip(0..).all(|(own, strand)| *own <= other.get(Strand(strand)))
    }

    /// The later of both, in each strand.
    pub(crate) fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*other);
        }
    }
}
