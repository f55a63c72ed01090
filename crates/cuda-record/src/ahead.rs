//! Memory that will be needed soon is asked for before the driver's own work, which takes longer than it takes to come.
//!
//! Between two launches a program does so much else that nothing of this library is left in the caches: a launch is then
//! priced by how often it waits for memory, hardly by what it computes.

/// Bytes that come at once.
const LINE: usize = 64;

/// Asks for memory, which need not exist.
#[inline(always)]
pub fn ask_for<T>(start: *const T, bytes: usize) {
    // A loop of a known length is written out, and its own code is long to come.
    let bytes = std::hint::black_box(bytes);
    let mut at = 0;
    while at < bytes {
        ask_for_line(start.cast::<u8>().wrapping_add(at));
        at += LINE;
    }
}

#[cfg(target_arch = "x86_64")]
/// Asks for a line of a cache.
#[inline(always)]
pub fn ask_for_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: asking reads nothing, and an address without memory is passed over.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

#[cfg(target_arch = "aarch64")]
/// Asks for a line of a cache.
#[inline(always)]
pub fn ask_for_line(address: *const u8) {
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
/// Asks for a line of a cache.
#[inline(always)]
pub fn ask_for_line(_address: *const u8) {}
