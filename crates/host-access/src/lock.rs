//! A lock that a signal handler can take: whoever holds it handles no signal meanwhile.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// A value behind the lock. What is done while it is held must not touch watched memory.
pub(crate) struct Lock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
    /// The signals that whoever holds it blocked before.
    mask: UnsafeCell<Option<libc::sigset_t>>,
}

// SAFETY: one thread at a time reaches the value.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Lock<T> {
        Lock { held: AtomicBool::new(false), value: UnsafeCell::new(value), mask: UnsafeCell::new(None) }
    }

    /// Takes the lock with all signals blocked.
    pub(crate) fn take(&self) -> Held<'_, T> {
        let mut all = MaybeUninit::uninit();
        // SAFETY: the set is filled before it is used.
        let mask = unsafe {
            libc::sigfillset(all.as_mut_ptr());
            set_mask(all.assume_init_ref())
        };
        self.spin();
        // SAFETY: the lock is held.
        unsafe { *self.mask.get() = Some(mask) };
        Held { lock: self, mask: Some(mask) }
    }

    /// Gives back what [`Lock::take`] took and was forgotten.
    ///
    /// # Safety
    /// This thread holds the lock in that way.
    pub(crate) unsafe fn give_back(&self) {
        // SAFETY: the lock is held.
        let mask = unsafe { (*self.mask.get()).take() };
        drop(Held { lock: self, mask });
    }

    /// Takes the lock in a signal handler, during which the system blocks all signals.
    pub(crate) fn take_in_handler(&self) -> Held<'_, T> {
        self.spin();
        Held { lock: self, mask: None }
    }

    fn spin(&self) {
        let mut turns = 0u32;
        while self.held.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            turns += 1;
            if turns.is_multiple_of(64) {
                // SAFETY: takes nothing.
                unsafe { libc::sched_yield() };
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

/// The lock is held as long as this lives.
pub(crate) struct Held<'a, T> {
    lock: &'a Lock<T>,
    mask: Option<libc::sigset_t>,
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        self.lock.held.store(false, Ordering::Release);
        if let Some(mask) = &self.mask {
            set_mask(mask);
        }
    }
}

/// Sets the signals that this thread blocks, by the system's own call: a function of that name that the program sees
/// may do more. Gives those that it blocked before.
pub(crate) fn set_mask(mask: &libc::sigset_t) -> libc::sigset_t {
    /// Bytes of the system's set; the C library's is longer.
    const BYTES: usize = 8;
    let mut old = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: both sets have at least so many bytes, and zero is a value of the result.
    unsafe {
        let mask = std::ptr::from_ref(mask);
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, mask, old.as_mut_ptr(), BYTES);
        old.assume_init()
    }
}
