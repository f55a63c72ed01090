// why: the node is on the stack before it is linked: who takes it off takes what the link said before
// with: treiber
// grid: 2
// heads: u64[0]
// next: u32[0xffffffff, 0xffffffff]
// expect: next[1] == 0 && next[0] == -1 || next[0] == 1 && next[1] == -1
#[kernels(with(standstill_lockfree::stack))]
mod fault {
    #[device]
    fn push_then_link(head: &Atomic<u64>, next: &[Atomic<u32>], node: u32) {
        let mut old = head.load(Relaxed);
        loop {
            match head.compare_exchange(old, old & !EMPTY | node as u64, Release) {
                Ok(_) => break,
                Err(now) => old = now,
            }
        }
        next[node].store(old as u32, Relaxed); //~ wrong-result
    }

    #[kernel]
    fn wrong(space: Space, heads: &[Atomic<u64>], next: &[Atomic<u32>]) {
        if space.x == 0 {
            push_then_link(&heads[0], next, 1);
        } else {
            let node = node_pop(&heads[0], next);
            node_push(&heads[0], next, node);
        }
    }

    #[kernel]
    fn right(space: Space, heads: &[Atomic<u64>], next: &[Atomic<u32>]) {
        if space.x == 0 {
            node_push(&heads[0], next, 1);
        } else {
            let node = node_pop(&heads[0], next);
            node_push(&heads[0], next, node);
        }
    }
}
