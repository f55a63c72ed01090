// why: the epoch goes on though a reader that entered two epochs ago is still inside
// with: treiber, epochs
// grid: 2
// place: u32[0]
// keys: u32[50, 0]
// epochs: u32[0, 0xffffffff, 0xffffffff]
// heads: u64[0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff]
// next: u32[0xffffffff, 0xffffffff]
// out: u32[50]
// expect: out[0] == 50
#[kernels(with(standstill_lockfree::stack, standstill_lockfree::epoch))]
mod fault {
    #[device]
    fn go_on_at_once(epochs: &[Atomic<u32>]) {
        epochs[0].fetch_add(1, AcqRel);
    }

    #[device]
    fn read(space: Space, place: &[Atomic<u32>], keys: &[u32], epochs: &[Atomic<u32>], out: &mut [u32]) {
        let inside = epoch_enter(space, epochs);
        let node = place[0].load(Acquire);
        if node != NIL {
            out[0] = keys[node]; //~ wrong-result
        }
        epoch_leave(epochs, inside);
    }

    #[device]
    fn unlink(space: Space, place: &[Atomic<u32>], epochs: &[Atomic<u32>], heads: &[Atomic<u64>], next: &[Atomic<u32>]) {
        let inside = epoch_enter(space, epochs);
        let old = place[0].swap(NIL, AcqRel);
        epoch_retire(epochs, heads, next, old);
        epoch_leave(epochs, inside);
    }

    #[device]
    fn use_anew(space: Space, keys: &mut [u32], epochs: &[Atomic<u32>], heads: &[Atomic<u64>], next: &[Atomic<u32>]) {
        let inside = epoch_enter(space, epochs);
        let node = epoch_take(space, epochs, heads, next, inside);
        if node != NIL {
            keys[node] = 99; //~ global-race
        }
        epoch_leave(epochs, inside);
    }

    #[kernel]
    fn wrong(space: Space, place: &[Atomic<u32>], keys: &mut [u32], epochs: &[Atomic<u32>], heads: &[Atomic<u64>], next: &[Atomic<u32>], out: &mut [u32]) {
        if space.x == 0 {
            read(space, place, keys, epochs, out);
        } else {
            unlink(space, place, epochs, heads, next);
            go_on_at_once(epochs);
            go_on_at_once(epochs);
            use_anew(space, keys, epochs, heads, next);
        }
    }

    #[kernel]
    fn right(space: Space, place: &[Atomic<u32>], keys: &mut [u32], epochs: &[Atomic<u32>], heads: &[Atomic<u64>], next: &[Atomic<u32>], out: &mut [u32]) {
        if space.x == 0 {
            read(space, place, keys, epochs, out);
        } else {
            unlink(space, place, epochs, heads, next);
            epoch_go_on(space, epochs);
            epoch_go_on(space, epochs);
            use_anew(space, keys, epochs, heads, next);
        }
    }
}
