//! Readers of a place, and a writer that puts new nodes there.

use standstill_kernel::kernels;

#[kernels(with(standstill_lockfree::stack, standstill_lockfree::hazard))]
pub mod hazard_driver {
    use standstill_kernel::{Atomic, Space};

    /// Cell 0 replaces the node that `place` leads to, `count` times if there are nodes, by one with the next number; the others read what is there.
    /// A node holds its number twice. `out[x]` is the last number that a reader has seen; 0xffffffff where its halves differ.
    #[kernel]
    pub fn replace(
        space: Space,
        place: &[Atomic<u32>],
        pairs: &mut [[u32; 2]],
        heads: &[Atomic<u64>],
        next: &[Atomic<u32>],
        hazards: &[Atomic<u32>],
        count: u32,
        out: &mut [u32],
    ) {
        if space.x == 0 {
            for number in 1..=count {
                let node = hazard_take(heads, next, hazards);
                if node != NIL {
                    pairs[node][0] = number;
                    pairs[node][1] = number;
                    let old = place[0].swap(node, AcqRel);
                    hazard_retire(heads, next, old);
                }
            }
        } else {
            for _ in 0..count {
                let node = hazard_protect(hazards, space.x - 1, &place[0]);
                let first = pairs[node][0];
                let second = pairs[node][1];
                out[space.x] = if first == second { first } else { 0xffff_ffff };
                hazard_clear(hazards, space.x - 1);
            }
        }
    }
}
