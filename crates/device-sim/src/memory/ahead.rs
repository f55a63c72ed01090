//! Blocks that run ahead of their turn, on a thread of their own.
//!
//! What they write to global memory is kept back until all blocks before them have ended. It is thrown away if one of
//! those has written what they have read: then they run again, in turn. So every run gives what blocks give that run
//! one after the other, whatever the threads do.

use rustc_hash::FxHashMap;
use standstill_kernel_ir::evaluate::atomic;
use standstill_kernel_ir::{AtomicOperation, Space, Type};

/// Bytes of memory that are told apart, as a power of two.
const GRANULE: u32 = 7;
/// Granules of a page of [`Granules`], likewise.
const PAGE: u32 = 12;
/// An access of a warp that stretches over more bytes than this is looked at lane by lane.
pub(crate) const WIDEST: u64 = 1 << 16;
/// Blocks ahead keep back no more granules than this.
const MOST_KEPT: usize = 1 << 20;

/// What is noted of accesses to global memory.
#[derive(Debug)]
pub(crate) enum Pace {
    /// These blocks are in turn, and others ahead of them.
    InTurn(Granules),
    /// These blocks run ahead.
    Ahead(Box<Ahead>),
}

/// A set of places in memory.
#[derive(Debug, Default)]
pub(crate) struct Granules {
    pages: FxHashMap<u64, usize>,
    bits: Vec<[u64; 64]>,
    /// The page that was last looked for.
    last: Option<(u64, usize)>,
    /// Accesses that took long to note.
    pub(crate) slow: u64,
}

impl Granules {
    /// Adds the places of so many bytes.
    pub(crate) fn add(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes.max(1) - 1) >> GRANULE;
        for granule in address >> GRANULE..=end {
            let page = granule >> PAGE;
            let index = match self.last {
                Some((last, index)) if last == page => index,
                _ => {
                    let bits = &mut self.bits;
                    let index = *self.pages.entry(page).or_insert_with(|| {
                        bits.push([0; 64]);
                        bits.len() - 1
                    });
                    self.last = Some((page, index));
                    index
                }
            };
            if let Some(word) = self.bits.get_mut(index).and_then(|bits| bits.get_mut(word_of(granule))) {
                *word |= 1 << (granule & 63);
            }
        }
    }

    /// Whether one of these bytes may be in it.
    pub(crate) fn touches(&self, address: u64, bytes: u64) -> bool {
        if self.bits.is_empty() {
            return false;
        }
        let end = address.saturating_add(bytes.max(1) - 1) >> GRANULE;
        (address >> GRANULE..=end).any(|granule| {
            let bits = self.pages.get(&(granule >> PAGE)).and_then(|&index| self.bits.get(index));
            bits.and_then(|bits| bits.get(word_of(granule)))
                .is_some_and(|word| word >> (granule & 63) & 1 != 0)
        })
    }

    /// Whether the two have a place in common.
    pub(crate) fn meets(&self, other: &Granules) -> bool {
        self.pages.iter().any(|(page, &index)| {
            let theirs = other.pages.get(page).and_then(|&index| other.bits.get(index));
            let own = self.bits.get(index);
            own.zip(theirs)
                .is_some_and(|(own, theirs)| own.iter().zip(theirs).any(|(own, theirs)| own & theirs != 0))
        })
    }
}

/// The word of a page that a granule's bit is in.
fn word_of(granule: u64) -> usize {
    (granule >> 6 & 63) as usize
}

/// Bytes of a granule, and which of them were written.
#[derive(Debug, Clone, Copy)]
struct Kept {
    granule: u64,
    bytes: [u8; 1 << GRANULE],
    written: u128,
}

/// What is done to memory in the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Effect<'a> {
    /// Bytes are written.
    Fill(&'a [u8]),
    /// So many low bytes of a value are stored.
    Store(u32, u64),
    /// The value there is changed by an operand.
    Change(AtomicOperation, Type, u64),
}

impl Effect<'_> {
    /// Bytes that it is done to.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Effect::Fill(bytes) => bytes.len(),
            Effect::Store(bytes, _) => *bytes as usize,
            Effect::Change(_, ty, _) => ty.bytes() as usize,
        }
    }
}

/// What blocks have done that run ahead.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    read: Granules,
    written: Granules,
    reduced: Granules,
    kept: Vec<Kept>,
    /// Where in the list each granule is, and the one that was last looked for.
    places: FxHashMap<u64, usize>,
    last: Option<(u64, usize)>,
    /// By address: what is done to the value there in the end.
    sums: FxHashMap<u64, (AtomicOperation, Type, u64)>,
    /// Something that cannot be kept back.
    pub(crate) failed: bool,
    /// Accesses that took long to note.
    pub(crate) slow: u64,
}

impl Ahead {
    /// Notes a read of what was there before; false where these blocks have written it themselves, which
    /// [`Ahead::patch`] knows.
    pub(crate) fn reads(&mut self, address: u64, bytes: u64) -> bool {
        if self.written.touches(address, bytes) || self.reduced.touches(address, bytes) {
            return false;
        }
        self.read.add(address, bytes);
        true
    }

    /// What these blocks see where memory holds `value`; notes the read.
    pub(crate) fn patch(&mut self, address: u64, bytes: u32, value: u64) -> u64 {
        self.read.add(address, bytes.into());
        self.failed |= self.reduced.touches(address, bytes.into());
        if !self.written.touches(address, bytes.into()) {
            return value;
        }
        self.slow += 1;
        let mut seen = value.to_le_bytes();
        for (byte, at) in seen.iter_mut().zip(address..).take(bytes as usize) {
            let within = (at & ((1 << GRANULE) - 1)) as usize;
            if let Some(kept) = self.places.get(&(at >> GRANULE)).and_then(|&place| self.kept.get(place))
                && kept.written >> within & 1 != 0
            {
                *byte = kept.bytes.get(within).copied().unwrap_or_default();
            }
        }
        u64::from_le_bytes(seen)
    }

    /// Keeps a write back.
    pub(crate) fn write(&mut self, address: u64, bytes: u32, value: u64) {
        let value = value.to_le_bytes();
        self.write_run(address, value.get(..bytes as usize).unwrap_or(&value));
    }

    /// Keeps back a write of neighbouring bytes.
    pub(crate) fn write_run(&mut self, address: u64, bytes: &[u8]) {
        let length = bytes.len() as u64;
        self.failed |= self.reduced.touches(address, length) || self.kept.len() > MOST_KEPT;
        self.written.add(address, length);
        let (mut at, mut rest) = (address, bytes);
        while !rest.is_empty() {
            let within = (at & ((1 << GRANULE) - 1)) as usize;
            let (now, later) = rest.split_at(rest.len().min((1 << GRANULE) - within));
            let kept = self.keep(at >> GRANULE);
            if let Some(place) = kept.and_then(|kept| {
                kept.written |= (u128::MAX >> (128 - now.len())) << within;
                kept.bytes.get_mut(within..within + now.len())
            }) {
                place.copy_from_slice(now);
            }
            at += now.len() as u64;
            rest = later;
        }
    }

    /// What is kept of a granule.
    fn keep(&mut self, granule: u64) -> Option<&mut Kept> {
        let place = match self.last {
            Some((last, place)) if last == granule => place,
            _ => {
                let kept = &mut self.kept;
                *self.places.entry(granule).or_insert_with(|| {
                    kept.push(Kept { granule, bytes: [0; 1 << GRANULE], written: 0 });
                    kept.len() - 1
                })
            }
        };
        self.last = Some((granule, place));
        self.kept.get_mut(place)
    }

    /// Keeps back a change of the value at an address whose order among others like it does not matter.
    pub(crate) fn reduce(&mut self, address: u64, operation: AtomicOperation, ty: Type, operand: u64) {
        let bytes = ty.bytes().into();
        self.failed |= self.read.touches(address, bytes) || self.written.touches(address, bytes);
        self.reduced.add(address, bytes);
        let sum = self.sums.entry(address);
        let sum = sum.and_modify(|(before, of, sum)| {
            match atomic::atomic(operation, ty, Space::Global, *sum, operand, 0) {
                Some(new) if (*before, *of) == (operation, ty) => *sum = new,
                _ => self.failed = true,
            }
        });
        sum.or_insert((operation, ty, operand));
        self.failed |= self.sums.len() > MOST_KEPT;
    }

    /// Whether blocks before have written what these have read.
    pub(crate) fn was_misled(&self, written: &Granules) -> bool {
        self.read.meets(written)
    }

    /// Everything that was kept back.
    pub(crate) fn release(&self, mut act: impl FnMut(u64, Effect<'_>)) {
        for kept in &self.kept {
            let start = kept.granule << GRANULE;
            if kept.written == u128::MAX {
                act(start, Effect::Fill(&kept.bytes));
                continue;
            }
            for (word, at) in kept.bytes.chunks_exact(8).zip((0u64..).step_by(8)) {
                let written = (kept.written >> at & 0xff) as u8;
                let value = word.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
                if written == 0xff {
                    act(start + at, Effect::Store(8, value));
                    continue;
                }
                for half in [0, 4] {
                    if written >> half & 0xf == 0xf {
                        act(start + at + half, Effect::Store(4, value >> (8 * half)));
                    } else {
                        let bytes = (half..half + 4).filter(|byte| written >> byte & 1 != 0);
                        bytes.for_each(|byte| act(start + at + byte, Effect::Store(1, value >> (8 * byte))));
                    }
                }
            }
        }
        for (&address, &(operation, ty, sum)) in &self.sums {
            act(address, Effect::Change(operation, ty, sum));
        }
    }
}

/// Whether changes of this kind give the same in any order.
pub(crate) fn commutes(operation: AtomicOperation, ty: Type) -> bool {
    let whole = matches!(ty, Type::B32 | Type::U32 | Type::S32 | Type::B64 | Type::U64 | Type::S64);
    use AtomicOperation as A;
    whole && matches!(operation, A::Add | A::And | A::Or | A::Xor | A::Min | A::Max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_writes_are_seen_and_released() {
        let mut ahead = Ahead::default();
        ahead.write(0x1000, 4, 0x0403_0201);
        ahead.write(0x1006, 1, 7);
        assert!(!ahead.reads(0x1000, 4));
        assert_eq!(ahead.patch(0x1000, 8, 0x1111_1111_1111_1111), 0x1107_1111_0403_0201);
        assert!(ahead.reads(0x2000, 128));
        ahead.reduce(0x3000, AtomicOperation::Add, Type::U32, 5);
        ahead.reduce(0x3000, AtomicOperation::Add, Type::U32, u32::MAX.into());
        ahead.write_run(0x40c0, &[9; 200]);
        let mut effects = Vec::new();
        ahead.release(|address, effect| effects.push((address, format!("{effect:?}"))));
        let low = |bytes| Effect::Store(bytes, 0x0007_0000_0403_0201 >> if bytes == 1 { 48 } else { 0 });
        assert_eq!(effects[..2], [(0x1000, format!("{:?}", low(4))), (0x1006, format!("{:?}", low(1)))]);
        let words = effects.iter().filter(|(address, _)| (0x40c0..0x4100).contains(address)).count();
        assert_eq!(words, 8);
        assert_eq!(effects[10], (0x4100, format!("{:?}", Effect::Fill(&[9; 128]))));
        assert_eq!(effects[11], (0x4180, format!("{:?}", Effect::Store(8, 0x0909_0909_0909_0909))));
        let change = Effect::Change(AtomicOperation::Add, Type::U32, 4);
        assert_eq!(effects[12..], [(0x3000, format!("{change:?}"))]);
        assert!(!ahead.failed);
        let mut written = Granules::default();
        written.add(0x1fff, 1);
        assert!(!ahead.was_misled(&written));
        written.add(0x207f, 8);
        assert!(ahead.was_misled(&written));
    }

    #[test]
    fn mixed_uses_of_a_place_fail() {
        let mut one = Ahead::default();
        one.reduce(0, AtomicOperation::Add, Type::U32, 1);
        one.patch(0, 4, 0);
        assert!(one.failed);
        let mut two = Ahead::default();
        two.reduce(0, AtomicOperation::Add, Type::U32, 1);
        two.reduce(0, AtomicOperation::Max, Type::U32, 1);
        assert!(two.failed);
        let mut three = Ahead::default();
        three.write(0, 4, 1);
        three.reduce(0, AtomicOperation::Add, Type::U32, 1);
        assert!(three.failed);
    }
}
