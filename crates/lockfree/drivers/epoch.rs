//! Readers of a place and writers that put new nodes there, with epochs.

use standstill_kernel::kernels;

#[kernels(with(standstill_lockfree::stack, standstill_lockfree::epoch))]
pub mod epoch_driver {
    use standstill_kernel::{Atomic, Space};

    /// As a result: no number was written.
    pub const NO_NODE: u32 = 0xffff_fffe;

    /// Tiles of even number replace the node that `place` leads to, `count` times, by one with their own number; the others
    /// read what is there. A node holds its number twice. `out[x]` is the last number that was seen or written; 0xffffffff where
    /// the halves of a node differ.
    #[kernel]
    pub fn replace(
        space: Space,
        place: &[Atomic<u32>],
        pairs: &mut [[u32; 2]],
        epochs: &[Atomic<u32>],
        heads: &[Atomic<u64>],
        next: &[Atomic<u32>],
        count: u32,
        out: &mut [u32],
    ) {
        let mut seen = NO_NODE;
        for _ in 0..count {
            let inside = epoch_enter(space, epochs);
            if inside != NIL {
                if space.tile_x % 2 == 0 {
                    let node = epoch_take(space, epochs, heads, next, inside);
                    if node != NIL {
                        pairs[node][0] = space.x;
                        pairs[node][1] = space.x;
                        let old = place[0].swap(node, AcqRel);
                        epoch_retire(epochs, heads, next, old);
                        seen = space.x;
                    }
                } else {
                    let node = place[0].load(Acquire);
                    let first = pairs[node][0];
                    let second = pairs[node][1];
                    seen = if first == second { first } else { 0xffff_ffff };
                }
                epoch_leave(epochs, inside);
            }
        }
        out[space.x] = seen;
    }
}
