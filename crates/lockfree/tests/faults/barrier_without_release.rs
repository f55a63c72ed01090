// why: a tile that comes does not release what it wrote
// with: meeting
// grid: 2
// barrier: u32[0, 0]
// numbers: u32[1, 2]
// out: u32[0, 0]
#[kernels(with(standstill_lockfree::barrier))]
mod fault {
    #[device]
    fn wait_relaxed(space: Space, barrier: &[Atomic<u32>]) {
        let round = barrier[1].load(Relaxed);
        if barrier[0].fetch_add(1, Relaxed) + 1 == space.tiles_x {
            barrier[0].store(0, Relaxed);
            barrier[1].store(round + 1, Release);
        } else {
            while barrier[1].load(Acquire) == round {}
        }
    }

    #[kernel]
    fn wrong(space: Space, barrier: &[Atomic<u32>], numbers: &mut [u32], out: &mut [u32]) {
        numbers[space.x] += 1;
        wait_relaxed(space, barrier);
        out[space.x] = numbers[1 - space.x]; //~ global-race
    }

    #[kernel]
    fn right(space: Space, barrier: &[Atomic<u32>], numbers: &mut [u32], out: &mut [u32]) {
        numbers[space.x] += 1;
        grid_wait(space, barrier);
        out[space.x] = numbers[1 - space.x];
    }
}
