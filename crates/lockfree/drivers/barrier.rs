//! Tiles that wait for each other.

use standstill_kernel::kernels;

#[kernels(with(standstill_lockfree::barrier))]
pub mod barrier_driver {
    use standstill_kernel::{Atomic, Space};

    /// In each round, each cell adds what its neighbour of the next tile had to its own.
    #[kernel]
    pub fn rounds(space: Space, barrier: &[Atomic<u32>], numbers: &mut [u32], count: u32) {
        for _ in 0..count {
            let other = numbers[(space.x + space.tile_size_x) % space.size_x];
            grid_wait(space, barrier);
            numbers[space.x] += other;
            grid_wait(space, barrier);
        }
    }
}
