//! Any pure function of a number in memory, applied at once.

use standstill_kernel::kernels;

/// Helpers that apply a function to a number in memory as one step that nobody comes between.
///
/// `apply(old, argument)` is any helper that takes two numbers and gives one. Such a helper can touch no memory, so that an
/// attempt that fails leaves nothing behind.
///
/// **Progress.** Lock-free: an attempt fails only because another cell's succeeded. How often one cell fails has no bound.
///
/// **Memory order.** All accesses are relaxed: the number is all that is handed on, and every change of it is one atomic step on the
/// newest value. What else a cell wrote before is *not* ordered by an update; put `space.fence(AcqRel, Device)` before it, and
/// behind the read that goes by it, where that is wanted.
///
/// **By warp.** `update_…_by_warp` first applies the function among the arguments of the cells of a warp that mean the same number, and
/// then makes one attempt for all of them. It needs a function with `apply(apply(x, a), b) == apply(x, apply(a, b))`: sum,
/// product, minimum, maximum, bits, but not a difference or an average. Arguments come together in the order of the lanes, so that the
/// function need not be commutative. All cells of the warp call it together; those without work say so with `active`.
#[kernels(export)]
pub mod update {
    /// Applies a function to a number of 32 bits; gives what it was before.
    #[device]
    fn update_u32(cell: &Atomic<u32>, apply: fn(u32, u32) -> u32, argument: u32) -> u32 {
        let mut old = cell.load(Relaxed);
        loop {
            match cell.compare_exchange(old, apply(old, argument), Relaxed) {
                Ok(before) => return before,
                Err(now) => old = now,
            }
        }
    }

    /// Applies a function to a number of 64 bits; gives what it was before.
    #[device]
    fn update_u64(cell: &Atomic<u64>, apply: fn(u64, u64) -> u64, argument: u64) -> u64 {
        let mut old = cell.load(Relaxed);
        loop {
            match cell.compare_exchange(old, apply(old, argument), Relaxed) {
                Ok(before) => return before,
                Err(now) => old = now,
            }
        }
    }

    /// Applies an associative function to `cells[index]`, with one attempt for all cells of the warp that mean the same number.
    #[device]
    fn update_u32_by_warp(
        space: Space,
        cells: &[Atomic<u32>],
        index: u32,
        apply: fn(u32, u32) -> u32,
        argument: u32,
        active: bool,
    ) {
        let peers = space.warp_match(if active { index } else { 0xffff_ffff });
        let mut all = argument;
        // The next lane that means the same number; 32 when there is none. `all` is made of the arguments up to it.
        let mut next = (peers & (0xffff_fffe << space.lane)).trailing_zeros();
        for _ in 0..5 {
            let others = space.shuffle(all, next % 32);
            let behind = space.shuffle(next, next % 32);
            if next < 32 {
                all = apply(all, others);
                next = behind;
            }
        }
        if active && peers & ((1 << space.lane) - 1) == 0 {
            update_u32(&cells[index], apply, all);
        }
    }

    /// The same for numbers of 64 bits.
    #[device]
    fn update_u64_by_warp(
        space: Space,
        cells: &[Atomic<u64>],
        index: u32,
        apply: fn(u64, u64) -> u64,
        argument: u64,
        active: bool,
    ) {
        let peers = space.warp_match(if active { index } else { 0xffff_ffff });
        let mut all = argument;
        let mut next = (peers & (0xffff_fffe << space.lane)).trailing_zeros();
        for _ in 0..5 {
            let low = space.shuffle(all as u32, next % 32);
            let high = space.shuffle((all >> 32) as u32, next % 32);
            let behind = space.shuffle(next, next % 32);
            if next < 32 {
                all = apply(all, (high as u64) << 32 | low as u64);
                next = behind;
            }
        }
        if active && peers & ((1 << space.lane) - 1) == 0 {
            update_u64(&cells[index], apply, all);
        }
    }
}
