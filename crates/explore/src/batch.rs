//! States that are on their way into the graph.

use crate::graph::{SHARDS, StateId, hash, shard_of};
use crate::rows::Columns;

/// The most rows of a part. A row of a batch is numbered by its part and its place in it.
pub(crate) const PART: usize = 1 << 24;

/// The states that follow some states, in parts that were worked out at the same time.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) parts: Vec<Part>,
    /// Memory was full before all were worked out.
    pub(crate) is_cut: bool,
}

impl Batch {
    pub(crate) fn row(&self, number: u32) -> &[u8] {
        self.parts.get(number as usize / PART).map_or(&[], |part| part.row((number as usize % PART) as u32))
    }

    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(Part::len).sum()
    }

    /// How many rows belong to a part of the graph's table.
    pub(crate) fn of_shard(&self, number: usize) -> usize {
        self.parts.iter().map(|part| part.of_shard(number).len()).sum()
    }
}

/// The states that follow neighbouring states.
#[derive(Default)]
pub(crate) struct Part {
    width: usize,
    rows: Vec<u8>,
    hashes: Vec<u64>,
    parents: Vec<StateId>,
    /// The rows of each part of the graph's table, in ascending order.
    shards: Vec<Vec<u32>>,
    /// Rows that are not worked out: which, from which state, and by whose step.
    pub(crate) open: Vec<(u32, StateId, usize)>,
    /// Faults that steps showed: from which state, by whose step, and its number.
    pub(crate) shown: Vec<(StateId, usize, u32)>,
    /// States without a step, with the thread state that stopped the launch.
    pub(crate) quiet: Vec<(StateId, Option<u32>)>,
}

impl Part {
    pub(crate) fn new(columns: &Columns) -> Part {
        let mut part = Part { width: columns.width(), ..Part::default() };
        part.shards.resize_with(SHARDS, Vec::new);
        part
    }

    pub(crate) fn len(&self) -> usize {
        self.parents.len()
    }

    pub(crate) fn row(&self, at: u32) -> &[u8] {
        let start = at as usize * self.width;
        self.rows.get(start..start + self.width).unwrap_or(&[])
    }

    pub(crate) fn hash(&self, at: u32) -> u64 {
        self.hashes.get(at as usize).copied().unwrap_or(0)
    }

    pub(crate) fn parent(&self, at: u32) -> StateId {
        self.parents.get(at as usize).copied().unwrap_or(0)
    }

    pub(crate) fn of_shard(&self, number: usize) -> &[u32] {
        self.shards.get(number).map_or(&[], |rows| &rows[..])
    }

    /// Adds a state that follows another.
    pub(crate) fn push(&mut self, columns: &Columns, state: &[u32], parent: StateId) {
        let start = self.rows.len();
        columns.pack(state, &mut self.rows);
        let hash = hash(self.rows.get(start..).unwrap_or(&[]));
        self.assign(self.parents.len() as u32, hash);
        self.hashes.push(hash);
        self.parents.push(parent);
    }

    fn assign(&mut self, at: u32, hash: u64) {
        if let Some(rows) = self.shards.get_mut(shard_of(hash)) {
            rows.push(at);
        }
    }

    /// Leaves room for the state after a step that is not known yet.
    pub(crate) fn leave_open(&mut self, state: StateId, thread: usize) {
        self.open.push((self.parents.len() as u32, state, thread));
        self.rows.resize(self.rows.len() + self.width, 0);
        self.hashes.push(0);
        self.parents.push(state);
    }

    /// Puts in the states of the open rows, one behind the other, and writes all rows in other columns where those have changed.
    pub(crate) fn close(&mut self, late: &[u32], before: &Columns, columns: &Columns) {
        if before != columns {
            self.rows = before.rewrite(&self.rows, columns);
            self.width = columns.width();
            let rows = self.rows.chunks_exact(self.width.max(1));
            self.hashes.iter_mut().zip(rows).for_each(|(slot, row)| *slot = hash(row));
        } else if self.open.is_empty() {
            return;
        }
        let mut packed = Vec::new();
        let numbers = (late.len() / self.open.len().max(1)).max(1);
        for (state, &(at, ..)) in late.chunks_exact(numbers).zip(&self.open) {
            packed.clear();
            columns.pack(state, &mut packed);
            let start = at as usize * self.width;
            if let Some(row) = self.rows.get_mut(start..start + packed.len()) {
                row.copy_from_slice(&packed);
            }
            if let Some(slot) = self.hashes.get_mut(at as usize) {
                *slot = hash(&packed);
            }
        }
        self.shards.iter_mut().for_each(Vec::clear);
        for at in 0..self.hashes.len() as u32 {
            self.assign(at, self.hash(at));
        }
        self.open.clear();
    }
}
