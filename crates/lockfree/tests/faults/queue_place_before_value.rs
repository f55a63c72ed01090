// why: the place is counted before its value is there, so that an empty slot is taken out
// with: bounded
// grid: 2
// ends: u64[0, 0]
// slots: u64[0, 0]
#[kernels(with(standstill_lockfree::queue))]
mod fault {
    #[device]
    fn push_counted_first(ends: &[Atomic<u64>], slots: &[Atomic<u64>], value: u32) {
        let t = ends[0].fetch_add(1, Relaxed);
        slots[t & (slots.len() as u64 - 1)].store(1 << 32 | value as u64, Release);
    }

    #[device]
    fn pop_counted(ends: &[Atomic<u64>], slots: &[Atomic<u64>]) -> i64 {
        let h = ends[1].load(Relaxed);
        if h == ends[0].load(Acquire) || ends[1].compare_exchange(h, h + 1, Relaxed).is_err() {
            return -1;
        }
        slots[h & (slots.len() as u64 - 1)].load(Acquire) as u32 as i64
    }

    #[kernel]
    fn wrong(space: Space, ends: &[Atomic<u64>], slots: &[Atomic<u64>]) {
        if space.x == 0 {
            space.mark_begins(queue_push, &ends[0], 7);
            push_counted_first(ends, slots, 7);
            space.mark_ends(0);
        } else {
            space.mark_begins(queue_pop, &ends[0]);
            let value = pop_counted(ends, slots);
            space.mark_ends(value); //~ not-linearizable
        }
    }

    #[kernel]
    fn right(space: Space, ends: &[Atomic<u64>], slots: &[Atomic<u64>]) {
        if space.x == 0 {
            space.mark_begins(queue_push, &ends[0], 7);
            queue_push(ends, slots, 7);
            space.mark_ends(0);
        } else {
            let mut value = 0;
            space.mark_begins(queue_pop, &ends[0]);
            let there = queue_pop(ends, slots, &mut value);
            space.mark_ends(if there { value as i64 } else { -1 });
        }
    }
}
