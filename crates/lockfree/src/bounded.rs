//! A bounded queue for any number of cells at both ends, over slots with the number of their round.

use standstill_kernel::{Buffer, Device, kernels};

use crate::Error;

/// Helpers for a bounded queue: first in, first out.
///
/// `ends[0]` counts what was put in, `ends[1]` what was taken out. Position `t` is slot `t mod n` in round `r = t / n`. A slot holds a
/// value in its lower 32 bits, and in the upper ones `2r` while it is empty in round `r`, `2r + 1` while it is full. Slots only
/// count up, so that a value that comes back never fools a compare-and-swap; a cell that stands still for 2³¹ rounds would be.
///
/// **Progress.** Lock-free: the step that counts is the compare-and-swap on the slot. Whoever finds a slot changed and its end not yet
/// counted on counts it on for the other, so that nobody waits for a cell that is held up.
///
/// **Why it is a queue.** An end shows `t` only after position `t − 1` has changed, so positions change in order. «Full» is read off a slot
/// that is still full from the round before: `n` values were in at that moment. «Empty» is read off a slot not yet filled in its
/// round: nothing was in at that moment.
///
/// **Memory order.** Putting in releases, taking out acquires, both on the slot: what the one wrote before is visible to the other. The
/// ends are relaxed: an old value of an end leads to a slot whose round does not fit, and to another attempt. `true` and the
/// values are exact; «full» and «empty» speak of a moment that no happens-before of the caller excludes.
///
/// **Capacity.** `queue_push` gives `false` when the queue is full.
#[kernels(export)]
pub mod queue {
    /// Puts a value in. `false` when the queue is full.
    #[device]
    fn queue_push(ends: &[Atomic<u64>], slots: &[Atomic<u64>], value: u32) -> bool {
        let round_bits = slots.len().trailing_zeros();
        loop {
            let t = ends[0].load(Relaxed);
            let slot = t & (slots.len() as u64 - 1);
            let empty = (t >> round_bits) as u32 * 2;
            let held = slots[slot].load(Acquire);
            let round = (held >> 32) as u32;
            if round == empty {
                let full = (empty as u64 + 1) << 32 | value as u64;
                if slots[slot].compare_exchange(held, full, Release).is_ok() {
                    let _counted = ends[0].compare_exchange(t, t + 1, Relaxed).is_ok();
                    return true;
                }
            } else if round == empty + 1 {
                let _counted = ends[0].compare_exchange(t, t + 1, Relaxed).is_ok();
            } else if round == empty - 1 {
                return false;
            }
        }
    }

    /// Takes the oldest value out. `false` when the queue is empty; `value` stays as it is then.
    #[device]
    fn queue_pop(ends: &[Atomic<u64>], slots: &[Atomic<u64>], value: &mut u32) -> bool {
        let round_bits = slots.len().trailing_zeros();
        loop {
            let h = ends[1].load(Relaxed);
            let slot = h & (slots.len() as u64 - 1);
            let empty = (h >> round_bits) as u32 * 2;
            let held = slots[slot].load(Acquire);
            let round = (held >> 32) as u32;
            if round == empty + 1 {
                if slots[slot].compare_exchange(held, ((empty + 2) as u64) << 32, Acquire).is_ok() {
                    let _counted = ends[1].compare_exchange(h, h + 1, Relaxed).is_ok();
                    *value = held as u32;
                    return true;
                }
            } else if round == empty + 2 {
                let _counted = ends[1].compare_exchange(h, h + 1, Relaxed).is_ok();
            } else if round == empty {
                return false;
            }
        }
    }
}

/// The memory of a queue; see [`queue`](mod@queue).
#[derive(Debug)]
pub struct Queue {
    /// Values put in and taken out so far.
    pub ends: Buffer<u64>,
    /// The slots.
    pub slots: Buffer<u64>,
}

impl Queue {
    /// An empty queue for at least so many values: the next power of two, as positions are taken apart by bits.
    ///
    /// # Errors
    /// For more than 2³¹ values, and when the device's memory is full.
    pub fn new(device: &Device, capacity: usize) -> Result<Queue, Error> {
        let most = 1 << 31;
        if capacity > most {
            return Err(Error::Capacity { structure: "queue", wanted: capacity, most });
        }
        let slots = capacity.max(1).next_power_of_two();
        Ok(Queue { ends: device.zeros(2)?, slots: device.zeros(slots)? })
    }

    /// The values that it can hold.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The values, from the oldest on.
    ///
    /// # Errors
    /// When a slot is in a round that its position has not come to.
    pub fn contents(&self) -> Result<Vec<u32>, Error> {
        let (ends, slots) = (self.ends.read()?, self.slots.read()?);
        let [tail, head] = <[u64; 2]>::try_from(ends).unwrap_or_default();
        let count = slots.len() as u64;
        let not_whole = |what: String| Error::NotWhole { structure: "queue", what };
        if tail.wrapping_sub(head) > count {
            return Err(not_whole(format!("{tail} values were put in, {head} taken out")));
        }
        let mut values = Vec::new();
        for position in head..head.saturating_add(count) {
            let slot = slots.get((position % count) as usize).copied().unwrap_or_default();
            let round = (position / count) as u32;
            let state = round.wrapping_mul(2) + u32::from(position < tail);
            if (slot >> 32) as u32 != state {
                return Err(not_whole(format!(
                    "position {position} is in state {}, not {state}",
                    slot >> 32
                )));
            }
            values.extend((position < tail).then_some(slot as u32));
        }
        Ok(values)
    }
}
