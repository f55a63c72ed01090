// why: ten less two less three is five, but two less three are taken off together here: ten less minus one
// with: atomic_update
// grid: 1
// block: 2
// cells: u32[10]
// amounts: u32[2, 3]
// expect: cells[0] == 5
#[kernels(with(standstill_lockfree::update))]
mod fault {
    #[device]
    fn difference(old: u32, amount: u32) -> u32 {
        old - amount
    }

    #[device]
    fn sum(old: u32, amount: u32) -> u32 {
        old + amount
    }

    #[kernel]
    fn wrong(space: Space, cells: &[Atomic<u32>], amounts: &[u32]) {
        update_u32_by_warp(space, cells, 0, difference, amounts[space.x], true); //~ wrong-result
    }

    #[kernel]
    fn right(space: Space, cells: &[Atomic<u32>], amounts: &[u32]) {
        update_u32_by_warp(space, cells, 0, sum, 0 - amounts[space.x], true);
    }
}
