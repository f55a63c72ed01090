//! The handler of faults, in front of the one that the program has.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::lock::{Lock, set_mask};
use crate::notes::MOST_FRAMES;
use crate::{arch, watch};

/// Frames that are looked at: those of the handler are among them.
pub(crate) const CHAIN: usize = MOST_FRAMES + 8;

/// The code of a fault by protection (`siginfo.h`).
const SEGV_ACCERR: c_int = 2;

/// What the program wants done with faults that are none of ours; `None` until the handler is in.
static PREVIOUS: Lock<Option<libc::sigaction>> = Lock::new(None);

/// Puts the handler in; false when that is not possible.
pub(crate) fn install() -> bool {
    // The unwinder is loaded at its first use, which must not be in the handler.
    let mut frames = [0; CHAIN];
    chain(&mut frames, 0);
    // SAFETY: the callback takes what `dl_iterate_phdr` documents, and asks for nothing of its own.
    unsafe { libc::dl_iterate_phdr(Some(look_for_c_library), std::ptr::null_mut()) };
    stay_in_front()
}

/// Where the C library's code lies.
static C_LIBRARY: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// Whether an instruction is one of the C library.
pub(crate) fn in_c_library(instruction: usize) -> bool {
    let [start, end] =
        [0, 1].map(|side: usize| C_LIBRARY.get(side).map_or(0, |at| at.load(Ordering::Relaxed)));
    (start..end).contains(&instruction)
}

extern "C" fn look_for_c_library(
    object: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    _nothing: *mut c_void,
) -> c_int {
    // A function that nobody puts another one in front of.
    let known =
        libc::memfd_create as unsafe extern "C" fn(*const libc::c_char, libc::c_uint) -> c_int as usize;
    // SAFETY: the loader passes a whole description, whose headers are as many as it says.
    let (bias, headers) = unsafe {
        let Some(object) = object.as_ref().filter(|object| !object.dlpi_phdr.is_null()) else { return 0 };
        (object.dlpi_addr as usize, std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()))
    };
    for header in headers.iter().filter(|header| header.p_type == libc::PT_LOAD) {
        let start = bias.wrapping_add(header.p_vaddr as usize);
        let range = start..start.wrapping_add(header.p_memsz as usize);
        if range.contains(&known) {
            let [first, last] = &C_LIBRARY;
            first.store(range.start, Ordering::Relaxed);
            last.store(range.end, Ordering::Relaxed);
        }
    }
    0
}

/// Goes in front, should the program have put in a handler by a way that is not seen; false when that is not possible.
pub(crate) fn stay_in_front() -> bool {
    let Some(now) = sigaction(None) else { return false };
    if now.sa_sigaction == handler() {
        return true;
    }
    *PREVIOUS.take() = Some(now);
    put_in(now.sa_flags)
}

/// Takes what the program wants done with faults from now on, if anything; gives what it wanted before. `None` when no
/// handler is in front of the program's.
#[must_use]
pub fn replace_handler(new: Option<&libc::sigaction>) -> Option<libc::sigaction> {
    let mut previous = PREVIOUS.take();
    let old = (*previous)?;
    if let Some(new) = new {
        *previous = Some(*new);
        put_in(new.sa_flags);
    }
    Some(old)
}

fn handler() -> libc::sighandler_t {
    handle as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as libc::sighandler_t
}

/// The C library's `sigaction`; the program may see another one of this name.
fn sigaction(new: Option<&libc::sigaction>) -> Option<libc::sigaction> {
    type Sigaction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let mut next = NEXT.load(Ordering::Relaxed);
    if next == 0 {
        // SAFETY: asks for a symbol by its name.
        next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"sigaction".as_ptr()) }.addr();
        NEXT.store(next, Ordering::Relaxed);
    }
    if next == 0 {
        return None;
    }
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    let new = new.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: that function has this type; the action is null or whole, and zero is a value of the result.
    unsafe {
        let sigaction = std::mem::transmute::<usize, Sigaction>(next);
        (sigaction(libc::SIGSEGV, new, old.as_mut_ptr()) == 0).then(|| old.assume_init())
    }
}

/// An action without flags.
fn action(handler: libc::sighandler_t) -> libc::sigaction {
    // SAFETY: zero is a value of it.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler;
    action
}

/// A program whose handler runs on a stack of its own may have filled the ordinary one.
fn put_in(flags_of_program: c_int) -> bool {
    let mut new = action(handler());
    new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | (flags_of_program & libc::SA_ONSTACK);
    // SAFETY: the set is part of the action.
    unsafe { libc::sigfillset(&raw mut new.sa_mask) };
    sigaction(Some(&new)).is_some()
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes both; errno is this thread's.
    unsafe {
        let errno = *libc::__errno_location();
        let address = (*info).si_addr().addr();
        let ours = (*info).si_code == SEGV_ACCERR
            && watch::may_meet(address, 1)
            && watch::let_through(address, arch::cause(context.cast()));
        if !ours {
            hand_on(signal, info, context);
        }
        *libc::__errno_location() = errno;
    }
}

/// Does what would have been done without this library.
///
/// # Safety
/// The arguments are a handler's.
unsafe fn hand_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let previous = *PREVIOUS.take_in_handler();
    let previous = previous.unwrap_or_else(|| action(libc::SIG_DFL));
    // SAFETY: the system passes a whole description.
    let sent = unsafe { (*info).si_code } <= 0;
    if matches!(previous.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
        if sent && previous.sa_sigaction == libc::SIG_IGN {
            return;
        }
        // The instruction is tried again, and the system ends the program as it would have.
        sigaction(Some(&action(libc::SIG_DFL)));
        if sent {
            // Somebody has sent the signal: no instruction will bring it again.
            // SAFETY: names this thread.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::gettid(), signal) };
        }
        return;
    }
    // SAFETY: the arguments are what the system gave, and the program's handler has the type that its flags say.
    unsafe {
        // The signals that are blocked during that handler, and no others.
        let mut mask = (*context.cast::<libc::ucontext_t>()).uc_sigmask;
        for number in 1..=libc::SIGRTMAX() {
            if libc::sigismember(&raw const previous.sa_mask, number) == 1 {
                libc::sigaddset(&raw mut mask, number);
            }
        }
        if previous.sa_flags & libc::SA_NODEFER == 0 {
            libc::sigaddset(&raw mut mask, signal);
        }
        set_mask(&mask);
        if previous.sa_flags & libc::SA_SIGINFO != 0 {
            let call = std::mem::transmute::<usize, extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)>(
                previous.sa_sigaction,
            );
            call(signal, info, context);
        } else {
            let call = std::mem::transmute::<usize, extern "C" fn(c_int)>(previous.sa_sigaction);
            call(signal);
        }
    }
}

/// Return addresses from an instruction on, its own with one added first; from here on when it is 0.
pub(crate) fn chain(frames: &mut [usize; CHAIN], instruction: usize) -> &[usize] {
    let count = return_addresses(frames).min(CHAIN);
    if instruction == 0 {
        return frames.get(..count).unwrap_or_default();
    }
    let found = frames.iter().take(count).position(|frame| *frame == instruction);
    // Where the stack cannot be followed from the handler on, the instruction itself is known.
    let (first, end) = found.map_or((0, 1), |first| (first, count));
    if let Some(own) = frames.get_mut(first) {
        *own = instruction + 1;
    }
    frames.get(first..end).unwrap_or_default()
}

#[cfg(target_env = "gnu")]
fn return_addresses(frames: &mut [usize; CHAIN]) -> usize {
    // SAFETY: the array has room for as many addresses as are asked for; an address has the size of a number.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr().cast(), CHAIN as c_int) };
    usize::try_from(count).unwrap_or(0)
}

#[cfg(not(target_env = "gnu"))]
fn return_addresses(_frames: &mut [usize; CHAIN]) -> usize {
    0
}
