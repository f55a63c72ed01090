// why: a compare-and-swap that fails has done nothing, and nobody tries again
// with: atomic_update
// grid: 2
// cells: u32[1]
// factors: u32[2, 3]
// expect: cells[0] == 6
#[kernels(with(standstill_lockfree::update))]
mod fault {
    #[device]
    fn product(old: u32, factor: u32) -> u32 {
        old * factor
    }

    #[kernel]
    fn wrong(space: Space, cells: &[Atomic<u32>], factors: &[u32]) {
        let old = cells[0].load(Relaxed);
        let _tried = cells[0].compare_exchange(old, product(old, factors[space.x]), Relaxed).is_ok(); //~ wrong-result
    }

    #[kernel]
    fn right(space: Space, cells: &[Atomic<u32>], factors: &[u32]) {
        update_u32(&cells[0], product, factors[space.x]);
    }
}
