//! Values by number: equal values have one number, so that states are compared and kept as numbers.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::room::{self, Heap};

/// Gives each distinct value a number, counted from 0.
pub(crate) struct Interner<T> {
    numbers: FxHashMap<Arc<T>, u32>,
    values: Vec<Arc<T>>,
    /// Bytes of the values.
    bytes: usize,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { numbers: FxHashMap::default(), values: Vec::new(), bytes: 0 }
    }
}

/// Bytes that counting references takes.
const COUNTS: usize = 16;

impl<T: Eq + Hash + Heap> Interner<T> {
    /// The number of a value, and whether it is new.
    pub(crate) fn number(&mut self, value: T) -> (u32, bool) {
        if let Some(&number) = self.numbers.get(&value) {
            return (number, false);
        }
        self.bytes += COUNTS + size_of::<T>() + value.heap();
        let (number, value) = (self.values.len() as u32, Arc::new(value));
        self.values.push(Arc::clone(&value));
        self.numbers.insert(value, number);
        (number, true)
    }

    /// The value of a number that was given.
    pub(crate) fn get(&self, number: u32) -> Option<&Arc<T>> {
        self.values.get(number as usize)
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Bytes that all of it takes.
    pub(crate) fn bytes(&self) -> usize {
        let numbers = room::table(self.numbers.len(), self.numbers.capacity(), size_of::<(Arc<T>, u32)>());
        self.bytes + numbers + self.values.capacity() * size_of::<Arc<T>>()
    }
}
