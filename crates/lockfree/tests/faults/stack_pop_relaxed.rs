// why: the head is read without acquire, so that the node's value may be read before it is there
// with: treiber
// grid: 2
// heads: u64[0xffffffff]
// next: u32[0xffffffff, 0xffffffff]
// values: u32[0, 0]
// out: u32[0]
#[kernels(with(standstill_lockfree::stack))]
mod fault {
    #[device]
    fn pop_relaxed(head: &Atomic<u64>, next: &[Atomic<u32>]) -> u32 {
        let mut old = head.load(Relaxed);
        loop {
            let node = old as u32;
            if node == NIL {
                return NIL;
            }
            let below = next[node].load(Relaxed);
            match head.compare_exchange(old, (old & !EMPTY) + (1 << 32) | below as u64, Relaxed) {
                Ok(_) => return node,
                Err(now) => old = now,
            }
        }
    }

    #[kernel]
    fn wrong(space: Space, heads: &[Atomic<u64>], next: &[Atomic<u32>], values: &mut [u32], out: &mut [u32]) {
        if space.x == 0 {
            values[1] = 7;
            node_push(&heads[0], next, 1);
        } else {
            let node = pop_relaxed(&heads[0], next);
            if node != NIL {
                out[0] = values[node]; //~ global-race
            }
        }
    }

    #[kernel]
    fn right(space: Space, heads: &[Atomic<u64>], next: &[Atomic<u32>], values: &mut [u32], out: &mut [u32]) {
        if space.x == 0 {
            values[1] = 7;
            node_push(&heads[0], next, 1);
        } else {
            let node = node_pop(&heads[0], next);
            if node != NIL {
                out[0] = values[node];
            }
        }
    }
}
