//! Numbers that cells update.

use standstill_kernel::kernels;

#[kernels(with(standstill_lockfree::update))]
pub mod update_driver {
    use standstill_kernel::{Atomic, Space};

    #[device]
    fn product(old: u32, factor: u32) -> u32 {
        old * factor
    }

    #[device]
    fn long_product(old: u64, factor: u64) -> u64 {
        old * factor
    }

    /// An affine map `x → a·x + b` modulo 2¹⁶, as `a << 16 | b`: first the one of `old`, then `then`. Associative, but not
    /// commutative.
    #[device]
    fn first_then(old: u32, then: u32) -> u32 {
        let a = (then >> 16) * (old >> 16);
        let b = (then >> 16) * (old & 0xffff) + then;
        a << 16 | b & 0xffff
    }

    /// Multiplies `cells[index[x]]` by `factors[x]`, for each cell.
    #[kernel]
    pub fn multiply(space: Space, cells: &[Atomic<u32>], index: &[u32], factors: &[u32]) {
        if space.in_bounds_x() {
            update_u32(&cells[index[space.x]], product, factors[space.x]);
        }
    }

    /// The same with one attempt per warp and number.
    #[kernel]
    pub fn multiply_by_warp(space: Space, cells: &[Atomic<u32>], index: &[u32], factors: &[u32]) {
        let active = space.in_bounds_x();
        let at = if active { index[space.x] } else { 0 };
        let factor = if active { factors[space.x] } else { 1 };
        update_u32_by_warp(space, cells, at, product, factor, active);
    }

    /// [`multiply`] of 64 bits.
    #[kernel]
    pub fn multiply_long(space: Space, cells: &[Atomic<u64>], index: &[u32], factors: &[u64]) {
        if space.in_bounds_x() {
            update_u64(&cells[index[space.x]], long_product, factors[space.x]);
        }
    }

    /// [`multiply_by_warp`] of 64 bits.
    #[kernel]
    pub fn multiply_long_by_warp(space: Space, cells: &[Atomic<u64>], index: &[u32], factors: &[u64]) {
        let active = space.in_bounds_x();
        let at = if active { index[space.x] } else { 0 };
        let factor = if active { factors[space.x] } else { 1 };
        update_u64_by_warp(space, cells, at, long_product, factor, active);
    }

    /// Puts maps together in the order of the cells of one warp.
    #[kernel]
    pub fn compose_by_warp(space: Space, cells: &[Atomic<u32>], index: &[u32], maps: &[u32]) {
        let active = space.in_bounds_x();
        let at = if active { index[space.x] } else { 0 };
        let map = if active { maps[space.x] } else { 0 };
        update_u32_by_warp(space, cells, at, first_then, map, active);
    }
}
