//! The calls that Rust cannot check: what happens between `fork` and `exec`.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::unistd::{ForkResult, fork};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

use crate::guard;

/// Starts `command` as the leader of a process group of its own. It is killed when the calling thread ends.
/// It gets the signal mask `mask`: what this process blocks is no business of the program.
pub(crate) fn spawn(command: &mut Command, mask: Option<SigSet>) -> io::Result<Child> {
    let supervisor = getpid();
    let last_words = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if let Some(mask) = &mask {
            sigprocmask(SigmaskHow::SIG_SETMASK, Some(mask), None)?;
        }
        // The supervisor may have ended before that call.
        if getppid() == Some(supervisor) { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    command.process_group(0);
    // SAFETY: the closure makes three system calls, and neither allocates nor takes a lock.
    unsafe { command.pre_exec(last_words) };
    command.spawn()
}

/// Starts the guard: a process that reads `orders` and outlives this one. Gives its number.
pub(crate) fn start_guard(orders: OwnedFd, mark: &[u8]) -> io::Result<i32> {
    // SAFETY: the child of a program with several threads may make only calls that are safe in signal handlers:
    // `guard::watch` makes system calls with buffers on its stack and nothing else, and the child ends with
    // `_exit`, which runs no handler of this program.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(child.as_raw()),
        ForkResult::Child => {
            guard::watch(&orders, mark);
            // SAFETY: `_exit` has no preconditions.
            unsafe { libc::_exit(0) }
        }
    }
}

/// Closes all file descriptors of the calling process but one.
pub(crate) fn close_all_but(kept: i32) {
    let (Ok(before), Ok(after)) = (u32::try_from(kept - 1), u32::try_from(kept + 1)) else { return };
    for (first, last) in [(0, before), (after, u32::MAX)] {
        // SAFETY: only called in the guard, whose single descriptor in use is `kept`.
        let failed = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } != 0;
        if failed {
            for descriptor in first..=last.min(4096) {
                // SAFETY: as above.
                unsafe { libc::close(descriptor as i32) };
            }
        }
    }
}

/// Counts how often a thread executes the instruction at `address`, without stopping it.
pub(crate) fn count_executions(tid: i32, address: u64) -> io::Result<OwnedFd> {
    const TYPE_BREAKPOINT: u64 = 5;
    const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 0b110_0000;
    const ON_EXECUTION: u64 = 4;
    const CLOSE_ON_EXEC: u64 = 8;
    // `struct perf_event_attr` in its second version: type and size, config, period, sample type, read format,
    // flags, wakeup and breakpoint type, address, length.
    let size = 72;
    let attributes: [u64; 9] = [
        TYPE_BREAKPOINT | size << 32,
        0,
        0,
        0,
        0,
        EXCLUDE_KERNEL_AND_HYPERVISOR,
        ON_EXECUTION << 32,
        address,
        8,
    ];
    let any_processor = -1i32;
    let no_group = -1i32;
    // SAFETY: the kernel reads `size` bytes at the pointer, which is as large as the array.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attributes.as_ptr(),
            tid,
            any_processor,
            no_group,
            CLOSE_ON_EXEC,
        )
    };
    match i32::try_from(descriptor) {
        // SAFETY: the kernel just gave it, and nobody else has it.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}
