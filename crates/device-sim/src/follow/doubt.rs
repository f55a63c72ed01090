//! What is doubtful of memory, byte by byte, and where doubt came from.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::fault::Place;

/// Bytes of a page.
const PAGE: u64 = 1024;
const WORD: u64 = 64;
const WORDS: usize = (PAGE / WORD) as usize;
/// Different origins that are kept.
const MOST_ORIGINS: usize = 1 << 16;

/// Where a value came from that nobody gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The kernel (mangled).
    pub(crate) kernel: String,
    /// The operation.
    pub(crate) place: Place,
    /// What was read, in the reader's words; for unknown values the operation that gave them.
    pub(crate) what: String,
    /// Who read it.
    pub(crate) who: String,
    /// The mark of the allocation that it was read from; 0 for others.
    pub(crate) mark: u64,
    /// It has no model; otherwise it was read from memory that nobody wrote.
    pub(crate) unknown: bool,
}

#[derive(Debug, Default, Clone)]
struct Page {
    /// Computed from what nobody wrote.
    unwritten: [u64; WORDS],
    unknown: [u64; WORDS],
    origin: u32,
}

/// The doubtful bytes of a memory.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    pages: FxHashMap<u64, Box<Page>>,
}

/// What a range of bytes holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// Every byte was computed from what nobody wrote.
    pub(crate) all_unwritten: bool,
    /// Some byte was.
    pub(crate) some_unwritten: bool,
    /// Some byte is unknown.
    pub(crate) unknown: bool,
    pub(crate) origin: u32,
}

/// The words of a range: page, index in it, and the bits that belong to the range.
fn words(start: u64, length: u64) -> impl Iterator<Item = (u64, usize, u64)> {
    let end = start.saturating_add(length);
    (start / WORD..end.div_ceil(WORD)).map(move |word| {
        let (first, last) = (word * WORD, (word + 1) * WORD);
        let mask = (u64::MAX << (start.max(first) - first)) & (u64::MAX >> (last - end.min(last)));
        (first / PAGE, (first % PAGE / WORD) as usize, mask)
    })
}

impl Doubts {
    pub(crate) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// What is known of a range.
    pub(crate) fn of(&self, start: u64, length: u64) -> Doubt {
        let mut found = Doubt { all_unwritten: true, ..Doubt::default() };
        if self.pages.is_empty() {
            return Doubt::default();
        }
        for (page, index, mask) in words(start, length) {
            let Some(page) = self.pages.get(&page) else {
                found.all_unwritten = false;
                continue;
            };
            let (unwritten, unknown) =
                (page.unwritten[index % WORDS] & mask, page.unknown[index % WORDS] & mask);
            found.all_unwritten &= unwritten == mask;
            found.some_unwritten |= unwritten != 0;
            found.unknown |= unknown != 0;
            if unwritten | unknown != 0 {
                found.origin = page.origin;
            }
        }
        found
    }

    /// The bytes have been written, with what is doubtful of the value; `None` for a value that is known.
    pub(crate) fn set(&mut self, start: u64, length: u64, doubt: Option<(bool, bool, u32)>) {
        if doubt.is_none() && self.pages.is_empty() {
            return;
        }
        for (number, index, mask) in words(start, length) {
            let page = match doubt {
                Some(_) => self.pages.entry(number).or_default(),
                None => match self.pages.get_mut(&number) {
                    Some(page) => page,
                    None => continue,
                },
            };
            let (unwritten, unknown, origin) = doubt.unwrap_or((false, false, page.origin));
            let index = index % WORDS;
            page.unwritten[index] = page.unwritten[index] & !mask | if unwritten { mask } else { 0 };
            page.unknown[index] = page.unknown[index] & !mask | if unknown { mask } else { 0 };
            page.origin = origin;
            if doubt.is_none() && page.unwritten == [0; WORDS] && page.unknown == [0; WORDS] {
                self.pages.remove(&number);
            }
        }
    }
}

/// The doubtful bytes of global memory, which outlive a launch, and all origins.
#[derive(Debug, Default)]
pub(crate) struct GlobalDoubts {
    any: AtomicBool,
    lost: AtomicBool,
    doubts: Mutex<Doubts>,
    origins: Mutex<Vec<Origin>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl GlobalDoubts {
    /// What is known of a range.
    pub(crate) fn of(&self, start: u64, length: u64) -> Doubt {
        match self.is_empty() {
            true => Doubt::default(),
            false => lock(&self.doubts).of(start, length),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Relaxed)
    }

    /// See [`Doubts::set`].
    pub(crate) fn set(&self, start: u64, length: u64, doubt: Option<(bool, bool, u32)>) {
        if doubt.is_none() && self.is_empty() {
            return;
        }
        let mut doubts = lock(&self.doubts);
        doubts.set(start, length, doubt);
        self.any.store(!doubts.is_empty(), Ordering::Relaxed);
    }

    /// Something has written to places that are not known: from now on nobody can say what is unwritten.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// Whether [`GlobalDoubts::lose`] was called.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Keeps an origin and gives its number.
    pub(crate) fn add(&self, origin: Origin) -> u32 {
        let mut origins = lock(&self.origins);
        if origins.len() < MOST_ORIGINS {
            origins.push(origin);
        }
        origins.len() as u32 - 1
    }

    /// The origin with a number.
    pub(crate) fn origin(&self, number: u32) -> Option<Origin> {
        lock(&self.origins).get(number as usize).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_told_apart() {
        let mut doubts = Doubts::default();
        doubts.set(1020, 8, Some((true, false, 3)));
        let all = Doubt { all_unwritten: true, some_unwritten: true, unknown: false, origin: 3 };
        assert_eq!(doubts.of(1020, 8), all);
        assert_eq!(doubts.of(1024, 4), all);
        assert!(!doubts.of(1024, 8).all_unwritten && doubts.of(1024, 8).some_unwritten);
        assert_eq!(doubts.of(0, 1020), Doubt::default());
        doubts.set(1000, 100, None);
        assert!(doubts.is_empty());
        doubts.set(64, 4, Some((false, true, 1)));
        assert!(doubts.of(60, 8).unknown && !doubts.of(68, 4).unknown);
    }
}
