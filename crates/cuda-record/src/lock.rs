//! One at a time, at the price of one exchange: what is done meanwhile is short, and hardly two threads ever meet.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Turns to look again before the processor is left to others.
const TURNS: u32 = 100;

/// A value that one thread at a time may use.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Lock<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `with` lets one thread at a time have the value.
unsafe impl<T: Send> Sync for Lock<T> {}

/// Gives it back, also where what was done has panicked.
struct Taken<'a>(&'a AtomicBool);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl<T> Lock<Option<T>> {
    /// Nobody has it.
    pub fn new(value: Option<T>) -> Lock<Option<T>> {
        Lock { taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Does something with the value, where there is one.
    #[inline(always)]
    pub fn with(&self, does: impl FnOnce(&mut T)) {
        if self.taken.swap(true, Ordering::Acquire) {
            self.wait();
        }
        let _taken = Taken(&self.taken);
        // SAFETY: nobody else has it until `_taken` goes.
        if let Some(value) = unsafe { &mut *self.value.get() } {
            does(value);
        }
    }

    #[cold]
    fn wait(&self) {
        let mut turns = 0;
        while self.taken.swap(true, Ordering::Acquire) {
            turns += 1;
            if turns % TURNS == 0 { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns() {
        let lock = Lock::new(Some(0_u64));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| lock.with(|count| *count += 1)));
            }
        });
        lock.with(|count| assert_eq!(*count, 4000));
        Lock::<Option<u64>>::new(None).with(|_| unreachable!());
    }
}
