//! Which bytes of a memory somebody has written: a bit for each.

use std::sync::atomic::{AtomicU64, Ordering};

use super::region::Region;

/// Bits of a word.
const WORD: usize = 64;

/// One bit for each byte of a region.
#[derive(Debug)]
pub(crate) struct Written {
    /// Zeroed pages cost nothing until something is written.
    bits: Region,
    /// Bytes that nobody has written, and all of them.
    left: AtomicU64,
    all: u64,
}

impl Written {
    /// For a region of which nothing is written; `None` when the host has no memory for it.
    pub(crate) fn nothing(bytes: usize) -> Option<Written> {
        let words = bytes.div_ceil(WORD);
        let all = bytes as u64;
        Some(Written { bits: Region::owned(words * 8)?, left: AtomicU64::new(all), all })
    }

    /// Nothing is written, as at the beginning.
    pub(crate) fn forget(&self) {
        self.bits.clear();
        self.left.store(self.all, Ordering::Relaxed);
    }

    /// Whether every byte is written.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// The words of a range, each with the bits that belong to it.
    fn words(start: usize, length: usize) -> impl Iterator<Item = (usize, u64)> {
        let end = start.saturating_add(length);
        (start / WORD..end.div_ceil(WORD)).map(move |word| {
            let (first, last) = (word * WORD, word * WORD + WORD);
            let from = start.max(first) - first;
            let unused = last - end.min(last);
            (word * 8, (u64::MAX << from) & (u64::MAX >> unused))
        })
    }

    /// The bytes have been written.
    pub(crate) fn set(&self, start: usize, length: usize) {
        if self.is_complete() || length == 0 {
            return;
        }
        for (at, mask) in Written::words(start, length) {
            let old = self.bits.load::<u64>(at).unwrap_or(u64::MAX);
            if old & mask != mask
                && let Some(old) = self.bits.update(at, |old: u64| old | mask)
            {
                self.left.fetch_sub(u64::from((mask & !old).count_ones()), Ordering::Relaxed);
            }
        }
    }

    /// The bytes hold again what nobody has written.
    pub(crate) fn clear(&self, start: usize, length: usize) {
        for (at, mask) in Written::words(start, length) {
            if let Some(old) = self.bits.update(at, |old: u64| old & !mask) {
                self.left.fetch_add(u64::from((mask & old).count_ones()), Ordering::Relaxed);
            }
        }
    }

    /// Whether none of the bytes is written.
    pub(crate) fn is_nothing(&self, start: usize, length: usize) -> bool {
        !self.is_complete()
            && Written::words(start, length)
                .all(|(at, mask)| self.bits.load::<u64>(at).is_some_and(|bits| bits & mask == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_apart() {
        let written = Written::nothing(200).unwrap();
        assert!(written.is_nothing(0, 200));
        written.set(60, 8);
        assert!(written.is_nothing(0, 60) && written.is_nothing(68, 132));
        assert!(!written.is_nothing(67, 4) && !written.is_nothing(60, 1) && !written.is_nothing(63, 2));
        written.clear(62, 4);
        assert!(written.is_nothing(62, 4));
        written.set(0, 200);
        assert!(written.is_complete() && !written.is_nothing(199, 1));
        written.clear(10, 1);
        assert!(!written.is_complete() && written.is_nothing(10, 1) && !written.is_nothing(9, 2));
        written.forget();
        assert!(written.is_nothing(0, 200));
        written.set(0, 200);
        assert!(written.is_complete());
    }
}
