//! The states that were met: each once, in the order in which they were met, with the state before it.

use std::sync::Mutex;

use crate::batch::{Batch, PART, Part};
use crate::rows::{Columns, Rows};
use crate::share::share;

/// A state, by the order in which it was met.
pub(crate) type StateId = u32;

/// No state.
pub(crate) const NONE: StateId = u32::MAX;

/// Marks a row of the batch that is being put in.
const PENDING: u32 = 1 << 31;

/// Parts of the table, which are filled at the same time.
pub(crate) const SHARDS: usize = 32;

/// States that are looked at ahead, so that memory answers for all of them at once.
const AHEAD: usize = 16;

/// A part of the table: open addressing, with the numbers of states.
struct Shard {
    table: Vec<u32>,
    count: usize,
}

/// What putting a batch into a shard gave.
#[derive(Default)]
struct Put {
    /// Rows that are new, with their slots, in ascending order.
    fresh: Vec<(u32, u32)>,
    /// A row that is older than the state that it was met from.
    goes_back: bool,
}

/// States, found by a table of open addressing that holds their numbers.
pub(crate) struct Graph {
    rows: Rows,
    shards: Vec<Shard>,
}

/// What belongs to a row of a batch.
fn slot(ids: &mut [Vec<StateId>], row: u32) -> Option<&mut StateId> {
    ids.get_mut(row as usize / PART)?.get_mut(row as usize % PART)
}

/// The number by which a row is found.
pub(crate) fn hash(row: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word) * u128::from(FACTOR);
        product as u64 ^ (product >> 64) as u64
    };
    let (words, rest) = row.as_chunks::<8>();
    let start = words.iter().fold(FACTOR, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    rest.first_chunk().map_or(start, |word| mix(start, u32::from_le_bytes(*word).into()))
}

/// Whether two rows are the same, word by word: a call for so few bytes takes longer.
fn same(one: &[u8], other: &[u8]) -> bool {
    let (one, other) = (one.as_chunks::<4>().0, other.as_chunks::<4>().0);
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one == other)
}

/// The part of the table that a row belongs to.
pub(crate) fn shard_of(hash: u64) -> usize {
    (hash >> 59) as usize
}

impl Shard {
    /// Where a row stands, or where it would.
    fn place(&self, hash: u64, row: &[u8], rows: &Rows, batch: &Batch) -> usize {
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let known = match self.table.get(at) {
                None | Some(&NONE) => return at,
                Some(&id) if id & PENDING != 0 => batch.row(id & !PENDING),
                Some(&id) => rows.row(id),
            };
            if same(known, row) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn get(&self, place: usize) -> Option<u32> {
        self.table.get(place).copied().filter(|&id| id != NONE)
    }

    /// The size of the table when there are more rows.
    fn size_for(&self, more: usize) -> usize {
        let mut size = self.table.len();
        while (self.count + more) * 4 > size * 3 {
            size *= 2;
        }
        size
    }

    /// Makes room for more rows.
    fn reserve(&mut self, more: usize, rows: &Rows) {
        let size = self.size_for(more);
        if size == self.table.len() {
            return;
        }
        let old = std::mem::replace(&mut self.table, vec![NONE; size]);
        for id in old.into_iter().filter(|&id| id != NONE) {
            self.add(id, hash(rows.row(id)));
        }
    }

    /// Puts in a state that is not there.
    fn add(&mut self, id: u32, hash: u64) {
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        while self.get(at).is_some() {
            at = (at + 1) & mask;
        }
        if let Some(slot) = self.table.get_mut(at) {
            *slot = id;
        }
    }

    /// Puts in the rows of a batch that belong here.
    fn put(&mut self, number: usize, batch: &Batch, rows: &Rows) -> Put {
        self.reserve(batch.of_shard(number), rows);
        let mut put = Put::default();
        for (part, first) in batch.parts.iter().zip((0u32..).step_by(PART)) {
            for some in part.of_shard(number).chunks(AHEAD) {
                touch(some.iter().map(|&at| self.first(part.hash(at))), rows);
                for &at in some {
                    let row = part.row(at);
                    let place = self.place(part.hash(at), row, rows, batch);
                    match self.table.get_mut(place) {
                        Some(slot) if *slot == NONE => {
                            *slot = PENDING | (first + at);
                            put.fresh.push((first + at, place as u32));
                        }
                        Some(slot) if *slot & PENDING == 0 => put.goes_back |= *slot <= part.parent(at),
                        _ => {}
                    }
                }
            }
        }
        self.count += put.fresh.len();
        put
    }

    /// What stands where the search for a row begins.
    fn first(&self, hash: u64) -> u32 {
        self.table.get(hash as usize & (self.table.len() - 1)).copied().unwrap_or(NONE)
    }
}

/// Touches rows that will be needed soon: these loads do not depend on each other.
fn touch(ids: impl Iterator<Item = u32>, rows: &Rows) {
    let mut seen = [NONE; AHEAD];
    seen.iter_mut().zip(ids).for_each(|(slot, id)| *slot = id);
    let first = |&id: &u32| rows.row(id).first().copied().unwrap_or(0);
    let all = seen.iter().filter(|&&id| id & PENDING == 0).map(first).fold(0, |all, byte| all ^ byte);
    std::hint::black_box(all);
}

impl Graph {
    pub(crate) fn new(columns: Columns) -> Graph {
        let shards = (0..SHARDS).map(|_| Shard { table: vec![NONE; 32], count: 0 }).collect();
        Graph { rows: Rows::new(columns), shards }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The most states that can have numbers.
    pub(crate) const MOST: usize = PENDING as usize - 1;

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.rows.bytes() + self.shards.iter().map(|shard| shard.table.len() * 4).sum::<usize>()
    }

    /// Bytes that it can take more when a batch is put in, with what it takes while it grows.
    pub(crate) fn growth(&self, batch: &Batch, columns: &Columns) -> usize {
        let rows = Rows::bytes_of(self.len() + batch.len(), columns).saturating_sub(self.rows.bytes());
        let tables = self.shards.iter().enumerate().map(|(number, shard)| {
            let size = shard.size_for(batch.of_shard(number));
            if size > shard.table.len() { size * size_of::<StateId>() } else { 0 }
        });
        rows + tables.sum::<usize>()
    }

    pub(crate) fn columns(&self) -> &Columns {
        self.rows.columns()
    }

    /// Gives the numbers of states other columns.
    pub(crate) fn widen(&mut self, columns: Columns) {
        self.rows = std::mem::replace(&mut self.rows, Rows::new(columns.clone())).with(columns);
        // In other columns a state may belong to another shard.
        for shard in &mut self.shards {
            shard.table.fill(NONE);
            shard.count = 0;
        }
        for id in 0..self.rows.len() as u32 {
            let hash = hash(self.rows.row(id));
            if let Some(shard) = self.shards.get_mut(shard_of(hash)) {
                shard.reserve(1, &self.rows);
                shard.add(id, hash);
                shard.count += 1;
            }
        }
    }

    pub(crate) fn read(&self, id: StateId, state: &mut Vec<u32>) {
        self.rows.read(id, state);
    }

    pub(crate) fn state(&self, id: StateId) -> Vec<u32> {
        let mut state = Vec::new();
        self.read(id, &mut state);
        state
    }

    pub(crate) fn parent(&self, id: StateId) -> StateId {
        self.rows.parent(id).unwrap_or(NONE)
    }

    /// The number of a state that was met.
    pub(crate) fn find(&self, state: &[u32]) -> Option<StateId> {
        let mut row = Vec::with_capacity(self.columns().width());
        self.columns().pack(state, &mut row);
        let hash = hash(&row);
        let shard = self.shards.get(shard_of(hash))?;
        shard.get(shard.place(hash, &row, &self.rows, &Batch::default()))
    }

    /// The numbers of the states of a part; [`NONE`] for one that was not met.
    pub(crate) fn find_all(&self, part: &Part) -> Vec<StateId> {
        let (rows, nothing) = (&self.rows, Batch::default());
        let mut ids = Vec::with_capacity(part.len());
        for first in (0..part.len()).step_by(AHEAD) {
            let some = first as u32..part.len().min(first + AHEAD) as u32;
            let shard = |at: u32| self.shards.get(shard_of(part.hash(at)));
            touch(some.clone().map(|at| shard(at).map_or(NONE, |shard| shard.first(part.hash(at)))), rows);
            ids.extend(some.map(|at| {
                let found = shard(at)
                    .and_then(|shard| shard.get(shard.place(part.hash(at), part.row(at), rows, &nothing)));
                found.unwrap_or(NONE)
            }));
        }
        ids
    }

    /// Puts in the states of a batch, by as many threads as it has parts; says whether one of them is older than the state that it was
    /// met from. New states get their numbers in the order of the batch, whatever the number of threads.
    pub(crate) fn insert(&mut self, batch: &Batch) -> bool {
        let mut puts: Vec<Put> = Vec::new();
        puts.resize_with(SHARDS, Put::default);
        let rows = &self.rows;
        let mut work: Vec<(usize, &mut Shard, &mut Put)> = self
            .shards
            .iter_mut()
            .zip(&mut puts)
            .enumerate()
            .map(|(at, (shard, put))| (at, shard, put))
            .collect();
        let each = SHARDS.div_ceil(batch.parts.len().max(1));
        let work: Vec<_> = work.chunks_mut(each).map(Mutex::new).collect();
        share(work.len(), |at| {
            let Some(Ok(mut some)) = work.get(at).map(Mutex::lock) else { return };
            for (number, shard, put) in some.iter_mut() {
                **put = shard.put(*number, batch, rows);
            }
        });
        drop(work);
        let parts = batch.parts.iter();
        let mut ids: Vec<Vec<StateId>> = parts.map(|part| vec![NONE; part.len()]).collect();
        for &(row, _) in puts.iter().flat_map(|put| &put.fresh) {
            if let Some(slot) = slot(&mut ids, row) {
                *slot = 0;
            }
        }
        for (part, ids) in batch.parts.iter().zip(&mut ids) {
            for (id, at) in ids.iter_mut().zip(0u32..).filter(|(id, _)| **id != NONE) {
                *id = self.rows.len() as StateId;
                self.rows.push(part.row(at), part.parent(at));
            }
        }
        for (shard, put) in self.shards.iter_mut().zip(&puts) {
            for &(row, place) in &put.fresh {
                if let (Some(entry), Some(id)) = (shard.table.get_mut(place as usize), slot(&mut ids, row)) {
                    *entry = *id;
                }
            }
        }
        puts.iter().any(|put| put.goes_back)
    }

    /// The states from the first one to this one.
    pub(crate) fn path(&self, id: StateId) -> Vec<StateId> {
        let mut path = Vec::new();
        let mut at = id;
        while at != NONE {
            path.push(at);
            at = self.parent(at);
        }
        path.reverse();
        path
    }
}
