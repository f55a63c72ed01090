// why: whoever comes too late tries again at the same place, where another key stands now
// with: treiber, protected, sorted
// grid: 2
// links: u32[2, 4, 0xfffffffe, 0xfffffffe, 0xfffffffe]
// keys: u32[0, 10, 30, 0, 0]
// heads: u64[3, 0xffffffff]
// next: u32[0, 0, 0, 4, 0xffffffff]
// hazards: u32[0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff]
// new: u32[20, 25]
// expect: links[1] == 6 && keys[3] == 20 && links[3] == 8 && links[4] == 4 || links[1] == 8 && keys[4] == 20 && links[4] == 6 && links[3] == 4
#[kernels(with(standstill_lockfree::stack, standstill_lockfree::hazard, standstill_lockfree::list))]
mod fault {
    #[kernel]
    fn wrong(space: Space, links: &[Atomic<u32>], keys: &mut [u32], heads: &[Atomic<u64>], next: &[Atomic<u32>], hazards: &[Atomic<u32>], new: &[u32]) {
        let key = new[space.x];
        let node = hazard_take(heads, next, hazards);
        keys[node] = key;
        let mut before = 0;
        let mut found = 0;
        list_find(links, keys, heads, next, hazards, space.x, key, &mut before, &mut found);
        let mut behind = found << 1;
        links[node].store(behind, Relaxed);
        while let Err(now) = links[before].compare_exchange(behind, node << 1, AcqRel) { //~ wrong-result
            behind = now;
            links[node].store(behind, Relaxed);
        }
    }

    #[kernel]
    fn right(space: Space, links: &[Atomic<u32>], keys: &mut [u32], heads: &[Atomic<u64>], next: &[Atomic<u32>], hazards: &[Atomic<u32>], new: &[u32]) {
        list_insert(links, keys, heads, next, hazards, space.x, new[space.x]);
    }
}
