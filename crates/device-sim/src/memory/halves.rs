//! Sixteen elements of a region at once: what half a warp accesses.
//!
//! Bytes of a region may be written by others at any time, which Rust's own vectors do not allow for. A vector
//! instruction by hand is one access of each element that it covers, as a relaxed atomic is: processors with AVX
//! never tear an aligned element of up to eight bytes.
#![allow(unsafe_code)]

use super::region::{Region, Word};

/// Elements of half a warp.
pub(crate) const HALF: usize = 16;

/// Reads 32 bytes.
///
/// # Safety
/// The pointer must be valid, and the processor have AVX.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
#[inline]
unsafe fn read_vector(pointer: *const u8) -> [u64; 4] {
    let vector: std::arch::x86_64::__m256i;
    // SAFETY: promised by the caller.
    unsafe {
        std::arch::asm!("vmovdqu {}, [{}]", out(ymm_reg) vector, in(reg) pointer,
            options(nostack, preserves_flags, readonly));
        std::mem::transmute(vector)
    }
}

/// Writes 32 bytes.
///
/// # Safety
/// The pointer must be valid, and the processor have AVX.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
#[inline]
unsafe fn write_vector(pointer: *mut u8, value: [u64; 4]) {
    // SAFETY: promised by the caller.
    unsafe {
        let vector: std::arch::x86_64::__m256i = std::mem::transmute(value);
        std::arch::asm!("vmovdqu [{}], {}", in(reg) pointer, in(ymm_reg) vector,
            options(nostack, preserves_flags));
    }
}

/// The same elements as another type of the same size; `None` when the sizes differ.
#[inline(always)]
pub(crate) fn same_size<A: Word, B: Word>(row: [A; HALF]) -> Option<[B; HALF]> {
    // SAFETY: both are integers of the same size.
    (A::BYTES == B::BYTES).then(|| unsafe { std::mem::transmute_copy(&row) })
}

impl Region {
    /// Whether 16 neighbouring elements lie inside and are aligned.
    #[inline(always)]
    pub(crate) fn holds_half<W: Word>(&self, offset: usize) -> bool {
        self.run::<W>(offset, HALF).is_some()
    }

    /// Reads 16 neighbouring elements; `None` outside or where they are not aligned. `AVX` says that the processor
    /// has it.
    #[inline(always)]
    pub(crate) fn load_half<W: Word, const AVX: bool>(&self, offset: usize) -> Option<[W; HALF]> {
        let pointer = self.run::<W>(offset, HALF)?;
        let mut row = [W::default(); HALF];
        #[cfg(target_arch = "x86_64")]
        if AVX && W::BYTES > 1 {
            for index in 0..W::BYTES / 2 {
                // SAFETY: within the run, and within the row, which is as large.
                unsafe {
                    let vector = read_vector(pointer.add(32 * index));
                    row.as_mut_ptr().cast::<[u64; 4]>().add(index).write_unaligned(vector);
                }
            }
            return Some(row);
        }
        for (index, element) in row.iter_mut().enumerate() {
            // SAFETY: within the run.
            *element = unsafe { W::load(pointer.add(index * W::BYTES)) };
        }
        Some(row)
    }

    /// Writes 16 neighbouring elements; false outside or where they are not aligned. `AVX` says that the processor
    /// has it.
    #[inline(always)]
    pub(crate) fn store_half<W: Word, const AVX: bool>(&self, offset: usize, row: &[W; HALF]) -> bool {
        let Some(pointer) = self.run::<W>(offset, HALF) else { return false };
        #[cfg(target_arch = "x86_64")]
        if AVX && W::BYTES > 1 {
            for index in 0..W::BYTES / 2 {
                // SAFETY: within the run, and within the row, which is as large.
                unsafe {
                    let vector = row.as_ptr().cast::<[u64; 4]>().add(index).read_unaligned();
                    write_vector(pointer.add(32 * index), vector);
                }
            }
            return true;
        }
        for (index, element) in row.iter().enumerate() {
            // SAFETY: within the run.
            unsafe { W::store(pointer.add(index * W::BYTES), *element) };
        }
        true
    }

    /// Reads 32 elements; `None` when one of them lies outside or is not aligned.
    #[inline(always)]
    pub(crate) fn gather<W: Word>(&self, offsets: &[u64; 32]) -> Option<[W; 32]> {
        let mut last = 0;
        let mut bits = self.address();
        for &offset in offsets {
            last = last.max(offset);
            bits |= offset;
        }
        let inside = last.checked_add(W::BYTES as u64).is_some_and(|end| end <= self.len() as u64);
        if !inside || !bits.is_multiple_of(W::BYTES as u64) {
            return None;
        }
        let mut row = [W::default(); 32];
        for (element, &offset) in row.iter_mut().zip(offsets) {
            // SAFETY: no offset is beyond the last, which lies inside; base and offsets are aligned.
            *element = unsafe { self.load_inside(offset as usize) };
        }
        Some(row)
    }

    /// [`Region::gather`] with narrow offsets.
    #[inline(always)]
    pub(crate) fn gather_near<W: Word>(&self, offsets: &[u32; 32]) -> Option<[W; 32]> {
        let mut last = 0;
        let mut bits = self.address() as u32;
        for &offset in offsets {
            last = last.max(offset);
            bits |= offset;
        }
        if last as usize + W::BYTES > self.len() || !bits.is_multiple_of(W::BYTES as u32) {
            return None;
        }
        let mut row = [W::default(); 32];
        for (element, &offset) in row.iter_mut().zip(offsets) {
            // SAFETY: no offset is beyond the last, which lies inside; base and offsets are aligned.
            *element = unsafe { self.load_inside(offset as usize) };
        }
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_stay_inside() {
        let region = Region::owned(100).unwrap();
        for offset in 0..100 {
            region.store(offset, offset as u8);
        }
        let fits = |offset: usize| offset + 64 <= 100 && offset.is_multiple_of(4);
        for offset in 0..120 {
            let expected = fits(offset).then(|| {
                std::array::from_fn::<u32, HALF, _>(|index| region.load(offset + 4 * index).unwrap())
            });
            assert_eq!(region.load_half::<u32, false>(offset), expected);
            assert_eq!(region.holds_half::<u32>(offset), expected.is_some());
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                assert_eq!(region.load_half::<u32, true>(offset), expected);
                assert_eq!(
                    region.store_half::<u32, true>(offset, &expected.unwrap_or_default()),
                    fits(offset)
                );
            }
            assert_eq!(region.store_half::<u32, false>(offset, &expected.unwrap_or_default()), fits(offset));
        }
        assert_eq!(region.load_half::<u8, false>(84).map(|row| row[15]), Some(99));
        assert_eq!(region.load_half::<u8, false>(85), None);
        assert_eq!(region.load_half::<u32, false>(usize::MAX - 3), None);
        let mut offsets = [4; 32];
        assert_eq!(region.gather::<u32>(&offsets), region.load(4).map(|word: u32| [word; 32]));
        offsets[31] = 97;
        assert_eq!(region.gather::<u32>(&offsets), None);
        offsets[31] = u64::MAX - 3;
        assert_eq!(region.gather::<u32>(&offsets), None);
        assert_eq!(region.gather_near::<u32>(&[u32::MAX - 3; 32]), None);
        assert_eq!(region.gather_near::<u32>(&[98; 32]), None);
        assert_eq!(region.gather_near::<u32>(&[96; 32]), region.load(96).map(|word: u32| [word; 32]));
    }
}
