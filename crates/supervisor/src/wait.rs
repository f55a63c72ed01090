//! Waiting for the end of processes, with a deadline.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// What is left until `deadline`, for `poll`; `None` waits for ever.
pub(crate) fn remaining(deadline: Option<Instant>) -> Option<Timespec> {
    let left = deadline?.saturating_duration_since(Instant::now());
    Some(Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos()),
    })
}

/// `poll` that goes on after a signal; `false` at the deadline.
pub(crate) fn poll_until(fds: &mut [PollFd<'_>], deadline: Option<Instant>) -> bool {
    loop {
        match poll(fds, remaining(deadline).as_ref()) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            // Bad arguments only; the caller's deadline then decides.
            Err(_) => return false,
        }
    }
}

/// Whether something can be read from `fd` now.
pub(crate) fn readable(fd: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

/// A handle on a process that becomes readable when it ends; `None` when it is gone.
pub(crate) fn open_process(pid: i32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()
}

/// Waits until all processes have ended; `false` when the time was over first.
pub(crate) fn all_ended(processes: &[OwnedFd], within: Duration) -> bool {
    let deadline = Instant::now() + within;
    let mut waiting: Vec<&OwnedFd> = processes.iter().collect();
    loop {
        waiting.retain(|process| !readable(process));
        if waiting.is_empty() {
            return true;
        }
        let mut fds: Vec<PollFd<'_>> =
            waiting.iter().map(|process| PollFd::new(*process, PollFlags::IN)).collect();
        if !poll_until(&mut fds, Some(deadline)) {
            return false;
        }
    }
}
