// why: what others write between the load and the store is lost
// with: atomic_update
// grid: 4
// cells: u32[1]
// factors: u32[2, 3, 5, 7]
// expect: cells[0] == 210
#[kernels(with(standstill_lockfree::update))]
mod fault {
    #[device]
    fn product(old: u32, factor: u32) -> u32 {
        old * factor
    }

    #[kernel]
    fn wrong(space: Space, cells: &[Atomic<u32>], factors: &[u32]) {
        let old = cells[0].load(Relaxed);
        cells[0].store(product(old, factors[space.x]), Relaxed); //~ lost-update
    }

    #[kernel]
    fn right(space: Space, cells: &[Atomic<u32>], factors: &[u32]) {
        update_u32(&cells[0], product, factors[space.x]);
    }
}
