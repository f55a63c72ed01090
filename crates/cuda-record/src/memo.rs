//! Calls that are made again: found by a hash of where they stand and, for launches, of the kernel and its arguments.
//!
//! Between two launches a program does so much else that nothing of this library is left in the nearest caches, so what
//! is looked at lies in as few lines of them as possible: one for the parameters of a kernel and one for a launch.

use standstill_trace::TensorLists;

use crate::kernels::Asked;
use crate::memory::Spans;

/// Kernels whose parameters are at hand, and places that each of them can have: programs have few kernels that they
/// launch all the time, and two that shared one place would never be at hand.
const KERNELS: usize = 512;
const PLACES: usize = 8;
/// Launches that are known again, in sets.
const SETS: usize = 8192;
const WAYS: usize = 4;
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
    /// How many lists of tensors the first parameter has; 0 for another kernel.
    lists: u8,
    /// Whether the second parameter is what to do with each element, of which only addresses are of interest: the rest may
    /// be what was never set.
    functor: bool,
    sizes: [u16; PARAMETERS],
}

/// A launch that was made before.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Made {
    hash: u64,
    site: u32,
    launch: u32,
}

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Set([Made; WAYS]);

/// What is known of a kernel of PyTorch by its name.
#[derive(Debug, Clone, Copy, Default)]
pub struct Library {
    /// The first parameter is lists of tensors.
    lists: Option<TensorLists>,
    /// The second parameter is a functor (`CUDALoops.cuh`).
    functor: bool,
}

impl Library {
    /// By its mangled name.
    pub fn of(name: &str) -> Library {
        const ELEMENTWISE: [&str; 2] =
            ["2at6native29vectorized_elementwise_kernel", "2at6native27unrolled_elementwise_kernel"];
        Library { lists: TensorLists::of(name), functor: ELEMENTWISE.iter().any(|part| name.contains(part)) }
    }
}

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

    /// Takes a kernel with the sizes of its parameters.
    pub fn describe(&mut self, function: usize, kernel: u32, sizes: &[u32], library: Library) {
        let Library { lists, functor } = library;
        let (lists, count) = (TensorLists::depth(lists), 0);
        let mut described = Described { function, kernel, count, lists, functor, sizes: [0; PARAMETERS] };
        for size in sizes {
            let Some(place) = described.sizes.get_mut(described.count as usize) else { return };
            *place = *size as u16;
            described.count += 1;
        }
        // Its own place or a free one; where there is none, the first is another one's from now on.
        let can_have =
            |at: &usize| self.described.get(*at).is_some_and(|known| [0, function].contains(&known.function));
        let at = places(function).find(can_have).or(places(function).next());
        if let Some(to) = at.and_then(|at| self.described.get_mut(at)) {
            *to = described;
        }
    }

    /// Handles may come to mean other kernels.
    pub fn forget(&mut self) {
        *self = *Memo::new();
    }

    /// The sizes of a kernel's parameters, where they are at hand.
    #[inline(always)]
    pub fn described(&self, function: usize) -> Option<&Described> {
        let mut all = places(function).filter_map(|at| self.described.get(at));
        all.find(|known| known.function == function).filter(|_| function != 0)
    }

    /// Where a launch with this hash, or another call with a hash of its own, is from this place: with its site and
    /// number when it was made before.
    #[inline(always)]
    pub fn find(&self, hash: u64, from: u64) -> (Slot, Option<(u32, u32)>) {
        // A hash of zero is that of nothing.
        let hash = mix(hash, from) | 1;
        let slot = Slot { set: (hash >> 32) as u32 % SETS as u32, hash };
        let set = self.sets.get(slot.set as usize);
        let found = set.and_then(|set| set.0.iter().find(|made| made.hash == hash));
        (slot, found.map(|made| (made.site, made.launch)))
    }

    /// Keeps a launch.
    #[cold]
    pub fn keep(&mut self, slot: Slot, site: u32, launch: u32) {
        if let Some(Set(made)) = self.sets.get_mut(slot.set as usize) {
            // The oldest goes.
            made.rotate_right(1);
            made[0] = Made { hash: slot.hash, site, launch };
        }
    }
}

/// The places that a kernel can have.
#[inline(always)]
fn places(function: usize) -> impl Iterator<Item = usize> {
    let first = (function as u64).wrapping_mul(FACTOR) >> 40;
    (0..PLACES).map(move |number| (first as usize + number) % KERNELS)
}

/// The golden ratio: products with it differ in their upper bits.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

const _: () = assert!(size_of::<Described>() == 64 && size_of::<Set>() == 64);

/// Takes a word into a hash.
#[inline(always)]
fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word).wrapping_mul(u128::from(FACTOR));
    product as u64 ^ (product >> 64) as u64 ^ FACTOR.rotate_left(17)
}

impl Described {
    /// A hash of a launch, wherever it is made; `None` where its arguments are not given one by one.
    ///
    /// # Safety
    /// The driver has taken these parameters for this kernel.
    #[inline(always)]
    pub unsafe fn hash(&self, asked: &Asked, spans: &Spans) -> Option<u64> {
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
                    8 if !(self.functor && index == 1) => mix(hash, from.cast::<u64>().read_unaligned()),
                    4 => mix(hash, from.cast::<u32>().read_unaligned().into()),
                    size => {
                        let bytes = std::slice::from_raw_parts(from, usize::from(*size));
                        match TensorLists::with_depth(self.lists) {
                            Some(lists) if index == 0 => hash_of_lists(hash, lists, bytes, asked.grid[0]),
                            _ if self.functor && index == 1 => hash_of_addresses(hash, bytes, spans),
                            _ => hash_of(hash, bytes),
                        }
                    }
                };
            }
        }
        Some(hash)
    }
}

/// Takes what was set of lists of tensors into a hash.
#[inline(never)]
fn hash_of_lists(hash: u64, lists: TensorLists, bytes: &[u8], blocks: u32) -> u64 {
    let Some(tensors) = lists.tensors(bytes, blocks) else { return hash_of(hash, bytes) };
    lists.set(bytes, tensors).fold(hash, hash_of)
}

/// Takes what may be addresses into a hash.
#[inline(never)]
fn hash_of_addresses(hash: u64, bytes: &[u8], spans: &Spans) -> u64 {
    let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    words.filter(|word| spans.may_hold(*word)).fold(hash, mix)
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
        memo.describe(0x1000, 7, &[8, 4, 100], Library::default());
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
            unsafe { described.hash(&asked, &Spans::NONE) }.unwrap()
        };
        let first = hash(1, 2, 3, 4);
        assert_eq!(first, hash(1, 2, 3, 4));
        let others = [hash(2, 2, 3, 4), hash(1, 3, 3, 4), hash(1, 2, 4, 4), hash(1, 2, 3, 5)];
        assert!(others.into_iter().all(|other| other != first));

        let (slot, found) = memo.find(first, 5);
        assert_eq!(found, None);
        memo.keep(slot, 8, 9);
        assert_eq!(memo.find(first, 5).1, Some((8, 9)));
        assert_eq!(memo.find(first, 6).1, None);
        memo.forget();
        assert_eq!(memo.find(first, 5).1, None);
    }

    #[test]
    fn of_what_was_never_set_nothing_counts() {
        let functor = Library::of("_ZN2at6native29vectorized_elementwise_kernelILi4EN");
        let lists = Library::of("_ZN2at6native25multi_tensor_apply_kernelINS0_18TensorListMetadataILi1EEEE");
        let mut ranges = crate::memory::Ranges::default();
        ranges.add(0x1000, 0x1000, standstill_trace::Memory::Device);
        let mut memo = Memo::new();
        memo.describe(1, 1, &[4, 16, 8], functor);
        memo.describe(2, 2, &[3000], lists);
        let hash = |function: usize, parameters: &[&[u8]]| {
            let parameters: Vec<*const c_void> =
                parameters.iter().map(|bytes| bytes.as_ptr().cast::<c_void>()).collect();
            let asked = Asked {
                function: std::ptr::without_provenance_mut(function),
                grid: [2, 1, 1],
                block: [32, 1, 1],
                cluster: [1; 3],
                dynamic_shared: 0,
                cooperative: false,
                parameters: parameters.as_ptr(),
                extra: std::ptr::null(),
            };
            // SAFETY: as many parameters of these sizes.
            unsafe { memo.described(function).unwrap().hash(&asked, &ranges.spans) }.unwrap()
        };
        let of_functor = |word: u64| {
            let functor: Vec<u8> = [1.5_f64.to_bits(), word].iter().flat_map(|it| it.to_le_bytes()).collect();
            hash(1, &[&[4, 0, 0, 0], &functor, &[0; 8]])
        };
        assert_eq!(of_functor(0x7fff_1234), of_functor(7));
        assert_ne!(of_functor(0x1800), of_functor(7));
        // One tensor in one list, for two blocks.
        let of_lists = |tensor: u8, other: u8| {
            let mut bytes = vec![other; 3000];
            bytes[..8].fill(tensor);
            bytes[880..888].fill(1);
            bytes[1760..1762].fill(0);
            hash(2, &[&bytes])
        };
        assert_eq!(of_lists(1, 2), of_lists(1, 3));
        assert_ne!(of_lists(1, 2), of_lists(2, 2));
    }

    #[test]
    fn kernels_are_at_hand_together() {
        let mut memo = Memo::new();
        // As many as a large program launches all the time, at addresses as allocators give them.
        let functions: Vec<usize> = (0..200).map(|number| 0x5555_0000_1000 + number * 0x2_1040).collect();
        for (function, kernel) in functions.iter().zip(1..) {
            memo.describe(*function, kernel, &[8], Library::default());
        }
        for (function, kernel) in functions.iter().zip(1..) {
            assert_eq!(memo.described(*function).unwrap().kernel, kernel);
        }
        let taken = |memo: &Memo| memo.described.iter().filter(|known| known.function != 0).count();
        memo.describe(functions[0], 1, &[8], Library::default());
        assert_eq!(taken(&memo), 200);
        // More than there is room for.
        (0..2000).for_each(|number| memo.describe(0x1000 + number * 16, 9, &[8], Library::default()));
        assert_eq!(memo.described(0x1000 + 1999 * 16).unwrap().kernel, 9);
    }
}
