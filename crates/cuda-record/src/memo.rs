//! Calls that are made again: found by a hash of where they stand and, for launches, of the kernel and its arguments.
//!
//! What is looked at lies in as few lines of the caches as possible, and at places that are known before the call: the
//! parameters of a kernel by its handle, and the launch itself because programs go round in loops, so that behind one
//! launch mostly comes the one that came behind it before.

use crate::ahead::ask_for_line;
use crate::kernels::Asked;
use crate::thread::Thread;

/// Kernels whose parameters are at hand.
const KERNELS: usize = 256;
/// Launches that are known again, in sets.
const SETS: usize = 8192;
const WAYS: usize = 2;
/// Parameters of a kernel that is at hand, at most.
const PARAMETERS: usize = 22;
/// Bytes of a parameter from which on several words are taken at a time.
const LONG: usize = 64;

/// The sizes of a kernel's parameters: one line of a cache.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Described {
    function: usize,
    kernel: u32,
    count: u16,
    sizes: [u16; PARAMETERS],
}

/// A launch that was made before.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Made {
    hash: u64,
    site: u32,
    launch: u32,
    /// The set of what came next.
    next: u32,
}

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Set([Made; WAYS]);

/// What is at hand.
#[derive(Debug)]
#[repr(C)]
pub struct Memo {
    described: [Described; KERNELS],
    sets: [Set; SETS],
}

/// A place among what was launched before.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    set: u32,
    hash: u64,
}

impl Memo {
    /// Nothing yet.
    pub fn new() -> Box<Memo> {
        let mut memo = Box::<Memo>::new_uninit();
        // SAFETY: numbers and arrays of numbers, which all may be zero.
        unsafe {
            memo.as_mut_ptr().write_bytes(0, 1);
            memo.assume_init()
        }
    }

    /// Asks for what this thread's next call will look at.
    #[inline(always)]
    pub fn ask_ahead(memo: *const Memo, thread: &Thread) {
        let sets = memo.cast::<Set>().wrapping_add(KERNELS);
        ask_for_line(sets.wrapping_add(thread.next_launch.get() as usize % SETS).cast());
    }

    /// Asks for what a launch of this kernel will look at.
    #[inline(always)]
    pub fn ask_ahead_for_launch(memo: *const Memo, function: usize) {
        ask_for_line(memo.cast::<Described>().wrapping_add(place(function)).cast());
    }

    /// Takes a kernel with the sizes of its parameters.
    pub fn describe(&mut self, function: usize, kernel: u32, sizes: &[u32]) {
        let Some(to) = self.described.get_mut(place(function)) else { return };
        let mut described = Described { function, kernel, count: 0, sizes: [0; PARAMETERS] };
        for size in sizes {
            let Some(place) = described.sizes.get_mut(described.count as usize) else { return };
            *place = *size as u16;
            described.count += 1;
        }
        *to = described;
    }

    /// Handles may come to mean other kernels.
    pub fn forget(&mut self) {
        *self = *Memo::new();
    }

    /// The sizes of a kernel's parameters, where they are at hand.
    #[inline(always)]
    pub fn described(&self, function: usize) -> Option<&Described> {
        self.described.get(place(function)).filter(|known| known.function == function && function != 0)
    }

    /// Where a launch with this hash, or another call with a hash of its own, is from this place: with its site and
    /// number when it was made before.
    #[inline(always)]
    pub fn find(&mut self, hash: u64, from: u64, thread: &Thread) -> (Slot, Option<(u32, u32)>) {
        // A hash of zero is that of nothing.
        let hash = mix(hash, from) | 1;
        let set = (hash >> 32) as u32 % SETS as u32;
        let slot = Slot { set, hash };
        if thread.next_launch.get() != set
            && let Some(Set([before, _])) = self.sets.get_mut(thread.last_launch.get() as usize)
        {
            before.next = set;
        }
        let found = self.sets.get(set as usize).map(|set| set.0);
        let Some([first, second]) = found else { return (slot, None) };
        thread.last_launch.set(set);
        thread.next_launch.set(first.next);
        let found = if first.hash == hash { Some(first) } else { Some(second).filter(|it| it.hash == hash) };
        (slot, found.map(|made| (made.site, made.launch)))
    }

    /// Keeps a launch.
    #[cold]
    pub fn keep(&mut self, slot: Slot, site: u32, launch: u32) {
        if let Some(Set([first, second])) = self.sets.get_mut(slot.set as usize) {
            *second = *first;
            *first = Made { hash: slot.hash, site, launch, next: first.next };
        }
    }
}

fn place(function: usize) -> usize {
    (function >> 4 ^ function >> 12) % KERNELS
}

const _: () = assert!(size_of::<Described>() == size_of::<Set>());

/// Takes a word into a hash.
#[inline(always)]
fn mix(hash: u64, word: u64) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let product = u128::from(hash ^ word).wrapping_mul(u128::from(FACTOR));
    product as u64 ^ (product >> 64) as u64 ^ FACTOR.rotate_left(17)
}

impl Described {
    /// A hash of a launch, wherever it is made; `None` where its arguments are not given one by one.
    ///
    /// # Safety
    /// The driver has taken these parameters for this kernel.
    #[inline(always)]
    pub unsafe fn hash(&self, asked: &Asked) -> Option<u64> {
        let [[x, y, z], [a, b, c]] = [asked.grid, asked.block].map(|shape| shape.map(u64::from));
        let [p, q, r] = asked.cluster.map(u64::from);
        let mut hash = mix(0, self.kernel.into());
        hash = mix(hash, x | y << 32);
        hash = mix(hash, z | a << 16 | b << 32 | c << 48);
        let kind = u64::from(asked.cooperative) | p << 1 | q << 12 | r << 24;
        hash = mix(hash, u64::from(asked.dynamic_shared) | kind << 32);
        if asked.parameters.is_null() && self.count > 0 {
            return None;
        }
        for (size, index) in self.sizes.iter().take(self.count as usize).zip(0..) {
            // SAFETY: the driver has taken the same addresses for parameters of these sizes.
            unsafe {
                let from = asked.parameters.add(index).read().cast::<u8>();
                if from.is_null() {
                    return None;
                }
                hash = match size {
                    8 => mix(hash, from.cast::<u64>().read_unaligned()),
                    4 => mix(hash, from.cast::<u32>().read_unaligned().into()),
                    _ => hash_of(hash, std::slice::from_raw_parts(from, usize::from(*size))),
                };
            }
        }
        Some(hash)
    }
}

/// Takes bytes into a hash.
#[inline(never)]
fn hash_of(mut hash: u64, mut bytes: &[u8]) -> u64 {
    let mut lanes = [hash, 1, 2, 3];
    while bytes.len() >= LONG
        && let Some((now, rest)) = bytes.split_first_chunk::<32>()
    {
        for (lane, word) in lanes.iter_mut().zip(now.as_chunks::<8>().0) {
            *lane = mix(*lane, u64::from_le_bytes(*word));
        }
        bytes = rest;
    }
    hash = lanes.into_iter().skip(1).fold(lanes[0], mix);
    let (words, rest) = bytes.as_chunks::<8>();
    hash = words.iter().fold(hash, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;

    use super::*;

    #[test]
    fn launches_are_told_apart_by_all_that_they_are() {
        let mut memo = Memo::new();
        memo.describe(0x1000, 7, &[8, 4, 100]);
        let described = *memo.described(0x1000).unwrap();
        assert_eq!(described.kernel, 7);
        assert!(memo.described(0).is_none() && memo.described(0x5000).is_none());
        let hash = |pointer: u64, number: u32, last: u8, x: u32| {
            let mut bytes = [3_u8; 100];
            bytes[99] = last;
            let parameters =
                [(&raw const pointer).cast::<c_void>(), (&raw const number).cast(), bytes.as_ptr().cast()];
            let asked = Asked {
                function: std::ptr::without_provenance_mut(0x1000),
                grid: [x, 1, 1],
                block: [32, 1, 1],
                cluster: [1; 3],
                dynamic_shared: 0,
                cooperative: false,
                parameters: parameters.as_ptr(),
                extra: std::ptr::null(),
            };
            // SAFETY: as many parameters of these sizes.
            unsafe { described.hash(&asked) }.unwrap()
        };
        let first = hash(1, 2, 3, 4);
        assert_eq!(first, hash(1, 2, 3, 4));
        let others = [hash(2, 2, 3, 4), hash(1, 3, 3, 4), hash(1, 2, 4, 4), hash(1, 2, 3, 5)];
        assert!(others.into_iter().all(|other| other != first));

        let thread = crate::thread::here();
        let (slot, found) = memo.find(first, 5, thread);
        assert_eq!(found, None);
        memo.keep(slot, 8, 9);
        assert_eq!(memo.find(first, 5, thread).1, Some((8, 9)));
        assert_eq!(memo.find(first, 6, thread).1, None);
        memo.forget();
        assert_eq!(memo.find(first, 5, thread).1, None);
    }

    #[test]
    fn what_came_next_is_expected_next() {
        let mut memo = Memo::new();
        let thread = crate::thread::here();
        let mut before = Vec::new();
        for round in 0..9 {
            let expects = thread.next_launch.get();
            memo.find(round % 3, 1, thread);
            before.push(expects == thread.last_launch.get());
        }
        assert_eq!(before[4..], [true; 5]);
    }
}
