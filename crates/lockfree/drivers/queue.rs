//! A queue that cells work on.

use standstill_kernel::kernels;

#[kernels(with(standstill_lockfree::queue))]
pub mod queue_driver {
    use standstill_kernel::{Atomic, Space};

    /// In a script: take out. Any other number is put in.
    pub const POP: u32 = 0xffff_fffe;
    /// As a result: nothing was there, or nothing fitted.
    pub const NOTHING: u32 = 0xffff_ffff;

    /// Each cell does what its part of the script says; results are values that came out, or what was put in.
    #[kernel]
    pub fn run(
        space: Space,
        ends: &[Atomic<u64>],
        slots: &[Atomic<u64>],
        script: &[u32],
        results: &mut [u32],
    ) {
        let steps = script.len() as u32 / space.size_x;
        for step in 0..steps {
            let at = space.x * steps + step;
            let word = script[at];
            let mut value = NOTHING;
            if word == POP {
                space.mark_begins(queue_pop, &ends[0]);
                queue_pop(ends, slots, &mut value);
                space.mark_ends(if value == NOTHING { -1 } else { value as i64 });
            } else {
                space.mark_begins(queue_push, &ends[0], word);
                if queue_push(ends, slots, word) {
                    value = word;
                }
                space.mark_ends(0);
            }
            results[at] = value;
        }
    }

    /// Cells of even number hand a plain value through a slot of a pool, the others look at it.
    #[kernel]
    pub fn hand_over(
        space: Space,
        ends: &[Atomic<u64>],
        slots: &[Atomic<u64>],
        values: &mut [u32],
        out: &mut [u32],
    ) {
        let mut node = space.x;
        if space.x % 2 == 0 {
            values[node] = node + 100;
            queue_push(ends, slots, node);
        } else if queue_pop(ends, slots, &mut node) {
            out[space.x] = values[node];
        }
    }
}
