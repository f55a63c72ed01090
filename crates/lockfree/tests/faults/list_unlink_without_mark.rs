// why: the node is unlinked before it is marked: a key that is put in behind it is lost
// with: treiber, protected, sorted
// grid: 2
// links: u32[2, 4, 0xfffffffe, 0xfffffffe]
// keys: u32[0, 10, 30, 0]
// heads: u64[3, 0xffffffff]
// next: u32[0, 0, 0, 0xffffffff]
// hazards: u32[0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff]
// expect: links[0] == 6 && links[3] == 4
#[kernels(with(standstill_lockfree::stack, standstill_lockfree::hazard, standstill_lockfree::list))]
mod fault {
    #[device]
    fn remove_without_mark(links: &[Atomic<u32>], keys: &[u32], heads: &[Atomic<u64>], next: &[Atomic<u32>], hazards: &[Atomic<u32>], mine: u32, key: u32) {
        let mut before = 0;
        let mut found = 0;
        list_find(links, keys, heads, next, hazards, mine, key, &mut before, &mut found);
        let behind = links[found].load(Acquire);
        if links[before].compare_exchange(found << 1, behind, AcqRel).is_ok() { //~ wrong-result
            links[found].fetch_or(1, AcqRel);
            hazard_retire(heads, next, found);
        }
        list_leave(hazards, mine);
    }

    #[kernel]
    fn wrong(space: Space, links: &[Atomic<u32>], keys: &mut [u32], heads: &[Atomic<u64>], next: &[Atomic<u32>], hazards: &[Atomic<u32>]) {
        if space.x == 0 {
            list_insert(links, keys, heads, next, hazards, 0, 20);
        } else {
            remove_without_mark(links, keys, heads, next, hazards, 1, 10);
        }
    }

    #[kernel]
    fn right(space: Space, links: &[Atomic<u32>], keys: &mut [u32], heads: &[Atomic<u64>], next: &[Atomic<u32>], hazards: &[Atomic<u32>]) {
        if space.x == 0 {
            list_insert(links, keys, heads, next, hazards, 0, 20);
        } else {
            list_remove(links, keys, heads, next, hazards, 1, 10);
        }
    }
}
