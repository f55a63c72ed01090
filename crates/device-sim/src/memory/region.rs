//! Bytes that several parties read and write at once: blocks, other grids, and the host program.
//!
//! The only unsafe code of the crate. It is needed because mapped and managed host memory belongs to the
//! program that runs beside the software GPU and is written by it at any time: such bytes can be neither
//! borrowed nor copied, only read and written as atomics through their address. Device memory goes the
//! same way, so that one path serves both. Every function checks its bounds itself; all accesses are
//! relaxed atomics of the element's size, which cost no more than plain ones.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::written::Written;

/// Owned memory is aligned for every element, and for vectors of them.
const ALIGNMENT: usize = 64;

/// A run of bytes at a fixed address.
#[derive(Debug)]
pub(crate) struct Region {
    base: *mut u8,
    length: usize,
    /// What to give back; `None` for host memory.
    owned: Option<Layout>,
    /// Which bytes somebody has written, where that is asked for.
    pub(crate) written: Option<Box<Written>>,
}

// SAFETY: all accesses go through atomics, and owned memory lives as long as the region.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

/// An element that memory is accessed by.
pub(crate) trait Word: Copy + Eq + Default + 'static {
    /// Size in bytes.
    const BYTES: usize;
    /// Reads it. The pointer must be valid and aligned.
    unsafe fn load(pointer: *mut u8) -> Self;
    /// Writes it. The pointer must be valid and aligned.
    unsafe fn store(pointer: *mut u8, value: Self);
    /// Replaces `old` by `new`; gives what is there when it is not `old`. The pointer must be valid and
    /// aligned.
    unsafe fn exchange(pointer: *mut u8, old: Self, new: Self) -> Result<Self, Self>;
    /// Widens it.
    fn to_u64(self) -> u64;
    /// The low bytes of a value.
    fn from_u64(value: u64) -> Self;
}

macro_rules! word {
    ($($ty:ty, $atomic:ty;)*) => {$(
        impl Word for $ty {
            const BYTES: usize = size_of::<$ty>();
            #[inline(always)]
            unsafe fn load(pointer: *mut u8) -> Self {
                // SAFETY: promised by the caller.
                unsafe { <$atomic>::from_ptr(pointer.cast()) }.load(Ordering::Relaxed)
            }
            #[inline(always)]
            unsafe fn store(pointer: *mut u8, value: Self) {
                // SAFETY: promised by the caller.
                unsafe { <$atomic>::from_ptr(pointer.cast()) }.store(value, Ordering::Relaxed);
            }
            #[inline(always)]
            unsafe fn exchange(pointer: *mut u8, old: Self, new: Self) -> Result<Self, Self> {
                // SAFETY: promised by the caller.
                unsafe { <$atomic>::from_ptr(pointer.cast()) }
                    .compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst)
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self.into()
            }
            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                value as $ty
            }
        }
    )*};
}

word! {
    u8, AtomicU8;
    u16, AtomicU16;
    u32, AtomicU32;
    u64, AtomicU64;
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(layout) = self.owned {
            // SAFETY: allocated with this layout, and nobody has the region any more.
            unsafe { dealloc(self.base, layout) };
        }
    }
}

impl Region {
    /// Zeroed memory of this many bytes; `None` when the host has not that much.
    pub(crate) fn owned(bytes: usize) -> Option<Region> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGNMENT).ok()?;
        // SAFETY: the size is not zero. The system gives such memory lazily, so that a large allocation of which
        // little is used costs little.
        let base = unsafe { alloc_zeroed(layout) };
        (!base.is_null()).then_some(Region { base, length: bytes, owned: Some(layout), written: None })
    }

    /// The same, and from now on it is known which bytes were written.
    pub(crate) fn watched(mut self) -> Option<Region> {
        let written = Box::new(Written::nothing(self.length)?);
        self.written = Some(written);
        Some(self)
    }

    /// These bytes are written now, by other ways than those that are watched.
    #[inline]
    pub(crate) fn note_written(&self, offset: usize, length: usize) {
        if let Some(written) = &self.written {
            written.set(offset, length);
        }
    }

    /// Memory of the host program.
    ///
    /// # Safety
    /// The bytes must stay mapped, readable and writable as long as the region lives, and nothing in
    /// Rust code may hold a reference to them.
    pub(crate) unsafe fn host(base: *mut u8, bytes: usize) -> Region {
        Region { base, length: bytes, owned: None, written: None }
    }

    /// Size in bytes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Reads an element; `None` outside or where it is not aligned.
    #[inline(always)]
    pub(crate) fn load<W: Word>(&self, offset: usize) -> Option<W> {
        // SAFETY: `run` gives valid, aligned pointers.
        self.run::<W>(offset, 1).map(|pointer| unsafe { W::load(pointer) })
    }

    /// Writes an element; false outside or where it is not aligned.
    #[inline(always)]
    pub(crate) fn store<W: Word>(&self, offset: usize, value: W) -> bool {
        let Some(pointer) = self.run::<W>(offset, 1) else { return false };
        // SAFETY: `run` gives valid, aligned pointers.
        unsafe { W::store(pointer, value) };
        true
    }

    /// Changes an element as one atomic step and gives its old value; `None` outside or where it is not
    /// aligned.
    #[inline]
    pub(crate) fn update<W: Word>(&self, offset: usize, mut change: impl FnMut(W) -> W) -> Option<W> {
        let pointer = self.run::<W>(offset, 1)?;
        // SAFETY: `run` gives valid, aligned pointers.
        let mut old = unsafe { W::load(pointer) };
        loop {
            // SAFETY: as above.
            match unsafe { W::exchange(pointer, old, change(old)) } {
                Ok(old) => return Some(old),
                Err(found) => old = found,
            }
        }
    }

    /// The same where nobody else can reach the region.
    #[inline]
    pub(crate) fn update_own<W: Word>(&self, offset: usize, change: impl FnOnce(W) -> W) -> Option<W> {
        let old = self.load(offset)?;
        self.store(offset, change(old));
        Some(old)
    }

    /// A pointer to so many neighbouring elements, when they lie inside and are aligned.
    #[inline(always)]
    pub(super) fn run<W: Word>(&self, offset: usize, count: usize) -> Option<*mut u8> {
        let end = offset.checked_add(count * W::BYTES)?;
        if end > self.length {
            return None;
        }
        // SAFETY: within the region.
        let pointer = unsafe { self.base.add(offset) };
        (pointer.addr() % W::BYTES == 0).then_some(pointer)
    }

    /// Where it begins.
    #[inline(always)]
    pub(crate) fn address(&self) -> u64 {
        self.base.addr() as u64
    }

    /// Reads an element.
    ///
    /// # Safety
    /// It must lie inside, at an aligned address.
    #[inline(always)]
    pub(super) unsafe fn load_inside<W: Word>(&self, offset: usize) -> W {
        // SAFETY: promised by the caller.
        unsafe { W::load(self.base.add(offset)) }
    }

    /// Makes all bytes zero, as nobody wrote them.
    pub(crate) fn clear(&self) {
        if let Some(written) = &self.written {
            written.forget();
        }
        for offset in (0..self.length).step_by(8) {
            if !self.store::<u64>(offset, 0) {
                (offset..self.length).for_each(|offset| _ = self.store::<u8>(offset, 0));
                return;
            }
        }
    }

    /// Copies bytes out; false when they do not all lie inside.
    pub(crate) fn read(&self, offset: usize, into: &mut [u8]) -> bool {
        if offset.checked_add(into.len()).is_none_or(|end| end > self.length) {
            return false;
        }
        // Words where they are aligned, single bytes before and after.
        let misaligned = (self.base.addr() + offset) % 8;
        let head = if misaligned == 0 { 0 } else { (8 - misaligned).min(into.len()) };
        let (first, rest) = into.split_at_mut(head);
        let mut at = offset;
        for byte in first {
            *byte = self.load::<u8>(at).unwrap_or_default();
            at += 1;
        }
        let (words, last) = rest.as_chunks_mut::<8>();
        for word in words {
            *word = self.load::<u64>(at).unwrap_or_default().to_le_bytes();
            at += 8;
        }
        for byte in last {
            *byte = self.load::<u8>(at).unwrap_or_default();
            at += 1;
        }
        true
    }

    /// Copies bytes in; false when they do not all lie inside.
    pub(crate) fn write(&self, offset: usize, from: &[u8]) -> bool {
        if offset.checked_add(from.len()).is_none_or(|end| end > self.length) {
            return false;
        }
        let (mut at, mut rest) = (offset, from);
        while let Some((&head, tail)) = rest.split_first() {
            if let Some((bytes, after)) = rest.split_first_chunk::<8>()
                && self.store::<u64>(at, u64::from_le_bytes(*bytes))
            {
                (rest, at) = (after, at + 8);
                continue;
            }
            self.store::<u8>(at, head);
            (rest, at) = (tail, at + 1);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_stay_inside() {
        let region = Region::owned(20).unwrap();
        assert!(region.store::<u32>(16, 7));
        assert!(!region.store::<u64>(16, 7));
        assert_eq!(region.load::<u32>(16), Some(7));
        assert_eq!(region.load::<u32>(18), None);
        assert_eq!(region.load::<u32>(usize::MAX), None);
        assert_eq!(region.update::<u8>(3, |old| old + 2), Some(0));
        let mut bytes = [0; 20];
        assert!(region.read(0, &mut bytes));
        assert_eq!(bytes[3], 2);
        assert!(region.write(1, &[9; 19]));
        assert!(!region.write(2, &[9; 19]));
        assert!(region.read(0, &mut bytes));
        assert_eq!(bytes[0], 0);
        assert_eq!(bytes[19], 9);
    }

    #[test]
    fn host_memory_is_seen_both_ways() {
        let mut host = vec![0u64; 4];
        // SAFETY: the vector outlives the region.
        let region = unsafe { Region::host(host.as_mut_ptr().cast(), 32) };
        region.store::<u32>(4, 5);
        assert_eq!(region.load::<u64>(0), Some(5 << 32));
        drop(region);
        assert_eq!(host[0], 5 << 32);
    }
}
