//! The states that were met: each once, in the order in which they were met, with the state before it.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// A state, by the order in which it was met.
pub(crate) type StateId = u32;

/// No state.
pub(crate) const NONE: StateId = u32::MAX;

/// States of one width, found by a table of open addressing that holds their numbers.
pub(crate) struct Graph {
    width: usize,
    states: Vec<u32>,
    /// The state that each was met from.
    parents: Vec<StateId>,
    table: Vec<StateId>,
}

impl Graph {
    pub(crate) fn new(width: usize) -> Graph {
        Graph { width, states: Vec::new(), parents: Vec::new(), table: vec![NONE; 1 << 10] }
    }

    pub(crate) fn len(&self) -> usize {
        self.parents.len()
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        (self.states.capacity() + self.parents.capacity() + self.table.len()) * 4
    }

    pub(crate) fn state(&self, id: StateId) -> &[u32] {
        let start = id as usize * self.width;
        self.states.get(start..start + self.width).unwrap_or(&[])
    }

    pub(crate) fn parent(&self, id: StateId) -> StateId {
        self.parents.get(id as usize).copied().unwrap_or(NONE)
    }

    fn hash(state: &[u32]) -> usize {
        let mut hasher = FxHasher::default();
        for pair in state.chunks(2) {
            let high = pair.get(1).copied().unwrap_or(0);
            hasher.write_u64(u64::from(high) << 32 | u64::from(pair.first().copied().unwrap_or(0)));
        }
        hasher.finish() as usize
    }

    /// Where a state stands in the table, or where it would.
    fn place(&self, state: &[u32]) -> usize {
        let mask = self.table.len() - 1;
        let mut at = Graph::hash(state) & mask;
        loop {
            match self.table.get(at) {
                Some(&id) if id != NONE && self.state(id) != state => at = (at + 1) & mask,
                _ => return at,
            }
        }
    }

    /// The number of a state that was met.
    pub(crate) fn find(&self, state: &[u32]) -> Option<StateId> {
        self.table.get(self.place(state)).copied().filter(|&id| id != NONE)
    }

    /// The number of a state, and whether it is met for the first time.
    pub(crate) fn insert(&mut self, state: &[u32], parent: StateId) -> (StateId, bool) {
        let place = self.place(state);
        if let Some(&id) = self.table.get(place)
            && id != NONE
        {
            return (id, false);
        }
        let id = self.parents.len() as StateId;
        self.states.extend_from_slice(state);
        self.parents.push(parent);
        if let Some(slot) = self.table.get_mut(place) {
            *slot = id;
        }
        if self.parents.len() * 4 > self.table.len() * 3 {
            self.grow();
        }
        (id, true)
    }

    fn grow(&mut self) {
        let size = self.table.len() * 2;
        self.table.clear();
        self.table.resize(size, NONE);
        for id in 0..self.parents.len() as StateId {
            let place = self.place(self.state(id));
            if let Some(slot) = self.table.get_mut(place) {
                *slot = id;
            }
        }
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
