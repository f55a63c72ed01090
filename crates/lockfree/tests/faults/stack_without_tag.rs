// why: the top is the same node again, but another lies below it: the node below comes onto the stack though it is taken
// with: treiber
// grid: 2
// heads: u64[0]
// next: u32[1, 2, 0xffffffff]
// taken: u32[0, 0, 0]
// expect: taken[0] <= 1 && taken[1] <= 1 && taken[2] <= 1
#[kernels(with(standstill_lockfree::stack))]
mod fault {
    #[device]
    fn pop_without_tag(head: &Atomic<u64>, next: &[Atomic<u32>]) -> u32 {
        let mut old = head.load(Acquire);
        loop {
            let node = old as u32;
            if node == NIL {
                return NIL;
            }
            let below = next[node].load(Relaxed);
            match head.compare_exchange(old, below as u64, Acquire) { //~ aba
                Ok(_) => return node,
                Err(now) => old = now,
            }
        }
    }

    #[kernel]
    fn wrong(space: Space, heads: &[Atomic<u64>], next: &[Atomic<u32>], taken: &[Atomic<u32>]) {
        let first = pop_without_tag(&heads[0], next);
        if space.x == 0 {
            if first != NIL {
                taken[first].fetch_add(1, Relaxed);
            }
        } else {
            let second = pop_without_tag(&heads[0], next);
            if first != NIL {
                node_push(&heads[0], next, first);
            }
            if second != NIL {
                taken[second].fetch_add(1, Relaxed);
            }
            let third = pop_without_tag(&heads[0], next);
            if third != NIL {
                taken[third].fetch_add(1, Relaxed);
            }
        }
    }

    #[kernel]
    fn right(space: Space, heads: &[Atomic<u64>], next: &[Atomic<u32>], taken: &[Atomic<u32>]) {
        let first = node_pop(&heads[0], next);
        if space.x == 0 {
            if first != NIL {
                taken[first].fetch_add(1, Relaxed);
            }
        } else {
            let second = node_pop(&heads[0], next);
            if first != NIL {
                node_push(&heads[0], next, first);
            }
            if second != NIL {
                taken[second].fetch_add(1, Relaxed);
            }
            let third = node_pop(&heads[0], next);
            if third != NIL {
                taken[third].fetch_add(1, Relaxed);
            }
        }
    }
}
