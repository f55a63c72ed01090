//! A set of those who know something, as bits.

use std::ops::{BitOr, BitOrAssign};

const WORDS: usize = 4;

/// Threads and locations, by number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Knowers([u64; WORDS]);

impl Knowers {
    /// Nobody.
    pub(crate) const NONE: Knowers = Knowers([0; WORDS]);
    /// Numbers are below this.
    pub(crate) const MOST: usize = WORDS * 64;

    /// One of them; nobody beyond the last.
    pub(crate) fn one(number: usize) -> Knowers {
        let mut bits = [0; WORDS];
        if let Some(word) = bits.get_mut(number / 64) {
            *word = 1 << (number % 64);
        }
        Knowers(bits)
    }

    /// Whether any of `others` is among them.
    pub(crate) fn meets(self, others: Knowers) -> bool {
        self.0.iter().zip(others.0).any(|(&mine, theirs)| mine & theirs != 0)
    }

    /// Whether all of `others` are.
    pub(crate) fn holds(self, others: Knowers) -> bool {
        self.0.iter().zip(others.0).all(|(&mine, theirs)| mine & theirs == theirs)
    }

    /// Takes others out.
    pub(crate) fn remove(&mut self, others: Knowers) {
        self.0.iter_mut().zip(others.0).for_each(|(mine, theirs)| *mine &= !theirs);
    }
}

impl BitOr for Knowers {
    type Output = Knowers;

    fn bitor(mut self, others: Knowers) -> Knowers {
        self |= others;
        self
    }
}

impl BitOrAssign for Knowers {
    fn bitor_assign(&mut self, others: Knowers) {
        self.0.iter_mut().zip(others.0).for_each(|(mine, theirs)| *mine |= theirs);
    }
}
