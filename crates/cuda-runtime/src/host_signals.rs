//! Functions of the C library about signals, as far as they concern faults: what the program asks about these is kept
//! behind the handler that watches its memory, and no thread blocks them, since the system ends a program that faults
//! while they are blocked.

#![cfg_attr(test, allow(dead_code, reason = "tests keep the C library's own functions"))]

use std::ffi::c_int;
use std::mem::MaybeUninit;

use standstill_host_access::replace_handler;

use crate::host_calls::next_function;

/// A set without the signal of faults.
///
/// # Safety
/// The set is null or whole.
unsafe fn without_faults(set: *const libc::sigset_t) -> Option<libc::sigset_t> {
    // SAFETY: by the caller's promise.
    let mut set = unsafe { set.as_ref() }.copied()?;
    // SAFETY: a whole set.
    unsafe { libc::sigdelset(&raw mut set, libc::SIGSEGV) };
    Some(set)
}

fn pointer<T>(value: &Option<T>) -> *const T {
    value.as_ref().map_or(std::ptr::null(), std::ptr::from_ref)
}

/// As the C library's.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the program passes null or whole actions, and a place for the result or null.
    unsafe {
        if signal == libc::SIGSEGV
            && let Some(previous) = replace_handler(new.as_ref())
        {
            if let Some(old) = old.as_mut() {
                *old = previous;
            }
            return 0;
        }
        let new = new.as_ref().map(|new| {
            let mut new = *new;
            if signal != libc::SIGSEGV {
                libc::sigdelset(&raw mut new.sa_mask, libc::SIGSEGV);
            }
            new
        });
        let next: unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int =
            std::mem::transmute(next_function!("sigaction"));
        next(signal, pointer(&new), old)
    }
}

/// As the C library's.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: zero is a value of it.
    let mut new: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    new.sa_sigaction = handler;
    new.sa_flags = libc::SA_RESTART;
    if signal == libc::SIGSEGV
        && let Some(previous) = replace_handler(Some(&new))
    {
        return previous.sa_sigaction;
    }
    // SAFETY: the C library's function has this type.
    unsafe {
        let next: unsafe extern "C" fn(c_int, libc::sighandler_t) -> libc::sighandler_t =
            std::mem::transmute(next_function!("signal"));
        next(signal, handler)
    }
}

/// Functions that change which signals a thread blocks.
macro_rules! masks {
    ($($name:ident)*) => {$(
        /// As the C library's.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        unsafe extern "C" fn $name(how: c_int, set: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
            // SAFETY: the program passes null or a whole set, and a place for the result or null; the C library's
            // function has this type.
            unsafe {
                let set = if how == libc::SIG_UNBLOCK { set.as_ref().copied() } else { without_faults(set) };
                let next: unsafe extern "C" fn(c_int, *const libc::sigset_t, *mut libc::sigset_t) -> c_int =
                    std::mem::transmute(next_function!(stringify!($name)));
                next(how, pointer(&set), old)
            }
        }
    )*};
}

masks! { pthread_sigmask sigprocmask }
