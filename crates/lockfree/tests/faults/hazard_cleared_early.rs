// why: the entry is cleared before the node is read
// with: treiber, protected
// grid: 2
// place: u32[0]
// keys: u32[50, 0]
// heads: u64[0xffffffff, 0xffffffff]
// next: u32[0xffffffff, 0xffffffff]
// hazards: u32[0xffffffff]
// out: u32[50]
// expect: out[0] == 50
#[kernels(with(standstill_lockfree::stack, standstill_lockfree::hazard))]
mod fault {
    #[device]
    fn unlink_and_use_anew(place: &[Atomic<u32>], keys: &mut [u32], heads: &[Atomic<u64>], next: &[Atomic<u32>], hazards: &[Atomic<u32>]) {
        let old = place[0].swap(NIL, AcqRel);
        hazard_retire(heads, next, old);
        let node = hazard_take(heads, next, hazards);
        if node != NIL {
            keys[node] = 99; //~ global-race
        }
    }

    #[kernel]
    fn wrong(space: Space, place: &[Atomic<u32>], keys: &mut [u32], heads: &[Atomic<u64>], next: &[Atomic<u32>], hazards: &[Atomic<u32>], out: &mut [u32]) {
        if space.x == 0 {
            let node = hazard_protect(hazards, 0, &place[0]);
            hazard_clear(hazards, 0);
            if node != NIL {
                out[0] = keys[node]; //~ wrong-result
            }
        } else {
            unlink_and_use_anew(place, keys, heads, next, hazards);
        }
    }

    #[kernel]
    fn right(space: Space, place: &[Atomic<u32>], keys: &mut [u32], heads: &[Atomic<u64>], next: &[Atomic<u32>], hazards: &[Atomic<u32>], out: &mut [u32]) {
        if space.x == 0 {
            let node = hazard_protect(hazards, 0, &place[0]);
            if node != NIL {
                out[0] = keys[node];
            }
            hazard_clear(hazards, 0);
        } else {
            unlink_and_use_anew(place, keys, heads, next, hazards);
        }
    }
}
