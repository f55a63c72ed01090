//! Values in memory by which streams wait for each other.
//!
//! «Work ordered after the operation will block until the given condition on the memory is satisfied» (CUDA Driver API,
//! `cuStreamWaitValue32`); a write «is preceded by a system-wide memory fence, […] scoped to the stream», unless it was
//! asked for without (`cuStreamWriteValue32`).

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::clock::{Clock, Strand};
use crate::order::Placed;

/// Writes to one place that are kept.
const KEPT: usize = 64;

#[derive(Debug)]
struct Written {
    value: u64,
    strand: Strand,
    index: u64,
    covers: Clock,
}

/// What was written where.
#[derive(Debug, Default)]
pub(crate) struct Values(FxHashMap<u64, VecDeque<Written>>);

impl Values {
    pub(crate) fn write(&mut self, address: u64, value: u64, placed: &Placed) {
        let writes = self.0.entry(address).or_default();
        if writes.len() == KEPT {
            writes.pop_front();
        }
        let (strand, index) = (placed.strand, placed.index);
        writes.push_back(Written { value, strand, index, covers: placed.end() });
    }

    /// Adds what comes before the end of a wait: the first writes that can end it. Where several streams write such
    /// values, it is taken to have waited for all of them, so that nothing is found that may be in order. Gives
    /// whether there is any.
    pub(crate) fn wait(&self, address: u64, is_met: &dyn Fn(u64) -> bool, before: &mut Clock) -> bool {
        let writes = self.0.get(&address).into_iter().flatten();
        let able: Vec<&Written> = writes.filter(|write| is_met(write.value)).collect();
        let comes_behind = |write: &Written, other: &Written| {
            (write.strand, write.index) != (other.strand, other.index)
                && write.covers.get(other.strand) >= other.index
        };
        for write in &able {
            if !able.iter().any(|other| comes_behind(write, other)) {
                before.join(&write.covers);
            }
        }
        !able.is_empty()
    }
}
