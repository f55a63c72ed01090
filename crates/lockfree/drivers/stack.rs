//! A stack that cells work on.

use standstill_kernel::kernels;

#[kernels(with(standstill_lockfree::stack))]
pub mod stack_driver {
    use standstill_kernel::{Atomic, Space};

    /// In a script: pop. Any other number is pushed.
    pub const POP: u32 = 0xffff_fffe;
    /// As a result: nothing was there, or nothing fitted.
    pub const NOTHING: u32 = 0xffff_ffff;

    /// Each cell does what its part of the script says; results are values that were popped, or what was pushed.
    #[kernel]
    pub fn run(
        space: Space,
        heads: &[Atomic<u64>],
        next: &[Atomic<u32>],
        values: &mut [u32],
        script: &[u32],
        results: &mut [u32],
    ) {
        let steps = script.len() as u32 / space.size_x;
        for step in 0..steps {
            let at = space.x * steps + step;
            let word = script[at];
            let mut value = NOTHING;
            if word == POP {
                space.mark_begins(stack_pop, &heads[0]);
                stack_pop(heads, next, values, &mut value);
                space.mark_ends(if value == NOTHING { -1 } else { value as i64 });
            } else {
                space.mark_begins(stack_push, &heads[0], word);
                if stack_push(heads, next, values, word) {
                    value = word;
                }
                space.mark_ends(0);
            }
            results[at] = value;
        }
    }

    /// Each cell takes nodes of the first stack and puts them on the second, until there is none.
    #[kernel]
    pub fn move_nodes(space: Space, heads: &[Atomic<u64>], next: &[Atomic<u32>], owner: &mut [u32]) {
        loop {
            let node = node_pop(&heads[0], next);
            if node == NIL {
                break;
            }
            owner[node] = space.x;
            node_push(&heads[1], next, node);
        }
    }
}
