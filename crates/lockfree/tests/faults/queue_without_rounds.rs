// why: a slot says only whether it is full, so that whoever is late puts its value at a position that is long past
// with: bounded
// grid: 2
// ends: u64[0, 0]
// slots: u64[0]
// script: u32[1, 2, 0, 3, 0, 0]
#[kernels(with(standstill_lockfree::queue))]
mod fault {
    #[device]
    fn push_without_rounds(ends: &[Atomic<u64>], slots: &[Atomic<u64>], value: u32) -> bool {
        let t = ends[0].load(Relaxed);
        let slot = t & (slots.len() as u64 - 1);
        if slots[slot].load(Acquire) != 0 {
            return false;
        }
        slots[slot].store(1 << 32 | value as u64, Release);
        ends[0].store(t + 1, Relaxed); //~ lost-update
        true
    }

    #[kernel]
    fn wrong(space: Space, ends: &[Atomic<u64>], slots: &[Atomic<u64>], script: &[u32]) {
        push_without_rounds(ends, slots, script[space.x]);
    }

    #[kernel]
    fn right(space: Space, ends: &[Atomic<u64>], slots: &[Atomic<u64>], script: &[u32]) {
        queue_push(ends, slots, script[space.x]);
    }
}
