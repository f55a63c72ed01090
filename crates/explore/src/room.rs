//! How much room what a search keeps takes, so that a limit on it holds.

/// Bytes that an allocation takes beside what it holds.
const ALLOCATION: usize = 16;

/// What a value takes beside itself.
pub(crate) trait Heap {
    /// Bytes outside of the value.
    fn heap(&self) -> usize;
}

impl<T: Heap> Heap for Vec<T> {
    fn heap(&self) -> usize {
        ALLOCATION
            + self.capacity() * size_of::<T>()
            + self.iter().map(|element| element.heap()).sum::<usize>()
    }
}

impl<T: Heap> Heap for Box<[T]> {
    fn heap(&self) -> usize {
        ALLOCATION + size_of_val(&**self) + self.iter().map(|element| element.heap()).sum::<usize>()
    }
}

impl Heap for String {
    fn heap(&self) -> usize {
        ALLOCATION + self.capacity()
    }
}

impl<A: Heap, B: Heap> Heap for (A, B) {
    fn heap(&self) -> usize {
        self.0.heap() + self.1.heap()
    }
}

impl Heap for Option<u64> {
    fn heap(&self) -> usize {
        0
    }
}

/// Values that are all in one piece.
macro_rules! in_one_piece {
    ($($ty:ty),* $(,)?) => { $(impl $crate::room::Heap for $ty {
        fn heap(&self) -> usize {
            0
        }
    })* };
}
pub(crate) use in_one_piece;

in_one_piece!(u8, u64);

/// What is put in between two looks at the limit, at most: who is let go on by one step.
const BETWEEN_LOOKS: usize = 4096;

/// Bytes of a hash table with room for `capacity` entries: an eighth is kept free, and each has a byte beside it. One that is about to grow
/// counts with what it will be, as both are there while it does.
pub(crate) fn table(len: usize, capacity: usize, entry: usize) -> usize {
    let now = capacity / 7 * 8 * (entry + 1);
    if capacity > BETWEEN_LOOKS && len + BETWEEN_LOOKS > capacity { now * 3 } else { now }
}
