//! A sorted list that cells work on.

use standstill_kernel::kernels;

#[kernels(with(standstill_lockfree::stack, standstill_lockfree::hazard, standstill_lockfree::list))]
pub mod list_driver {
    use standstill_kernel::{Atomic, Space};

    /// In a script, in the upper 8 bits of a word; the key is in the others.
    pub const INSERT: u32 = 0;
    /// Takes a key out.
    pub const REMOVE: u32 = 0x100_0000;
    /// Asks for a key.
    pub const CONTAINS: u32 = 0x200_0000;
    /// As a result of an insertion: the pool had no node.
    pub const NO_NODE: u32 = 2;

    /// Each cell does what its part of the script says. The first one says what the list holds from before.
    #[kernel]
    pub fn run(
        space: Space,
        links: &[Atomic<u32>],
        keys: &mut [u32],
        heads: &[Atomic<u64>],
        next: &[Atomic<u32>],
        hazards: &[Atomic<u32>],
        held: &[u32],
        script: &[u32],
        results: &mut [u32],
    ) {
        if space.x == 0 {
            for i in 0..held.len() {
                space.mark_held(set_insert, &links[0], held[i]);
            }
        }
        let steps = script.len() as u32 / space.size_x;
        for step in 0..steps {
            let at = space.x * steps + step;
            let key = script[at] & 0xff_ffff;
            let operation = script[at] - key;
            let mine = space.x;
            let mut result = 0;
            if operation == INSERT {
                space.mark_begins(set_insert, &links[0], key);
                result = list_insert(links, keys, heads, next, hazards, mine, key);
                space.mark_ends(result);
            } else if operation == REMOVE {
                space.mark_begins(set_remove, &links[0], key);
                result = if list_remove(links, keys, heads, next, hazards, mine, key) { 1 } else { 0 };
                space.mark_ends(result);
            } else {
                space.mark_begins(set_contains, &links[0], key);
                result = if list_contains(links, keys, heads, next, hazards, mine, key) { 1 } else { 0 };
                space.mark_ends(result);
            }
            results[at] = result;
        }
    }

    /// Each cell writes all keys of the list one after the other into its part of `out`.
    #[kernel]
    pub fn all_keys(
        space: Space,
        links: &[Atomic<u32>],
        keys: &[u32],
        heads: &[Atomic<u64>],
        next: &[Atomic<u32>],
        hazards: &[Atomic<u32>],
        out: &mut [u32],
    ) {
        let room = out.len() as u32 / space.size_x;
        let mut count = 0;
        let mut key = 0;
        while count < room && list_from(links, keys, heads, next, hazards, space.x, &mut key) {
            out[space.x * room + count] = key;
            count += 1;
            key += 1;
        }
    }
}
