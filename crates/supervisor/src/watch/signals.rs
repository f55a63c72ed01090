//! Signals as something to read, for a process that is there for one program alone.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

/// What a signal says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// The program is to be ended.
    End(i32),
    /// A child stopped or ended.
    Child,
    /// The terminal's user wants to pause.
    Pause,
}

/// The signals of this process, blocked and read; as before when dropped.
#[derive(Debug)]
pub(super) struct Signals {
    all: SignalFd,
    ending: SignalFd,
    before: SigSet,
}

impl Signals {
    pub(super) fn block() -> std::io::Result<Signals> {
        let ending: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
        let mut all = ending;
        all.extend([Signal::SIGCHLD, Signal::SIGTSTP]);
        let mut blocked = all;
        // Only to take the terminal back.
        blocked.add(Signal::SIGTTOU);
        let mut before = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&blocked), Some(&mut before))?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Signals {
            all: SignalFd::with_flags(&all, flags)?,
            ending: SignalFd::with_flags(&ending, flags)?,
            before,
        })
    }

    /// What was blocked before.
    pub(super) fn before(&self) -> SigSet {
        self.before
    }

    pub(super) fn next(&mut self) -> Option<Told> {
        let information = self.all.read_signal().ok()??;
        let signal = i32::try_from(information.ssi_signo).unwrap_or(0);
        Some(match Signal::try_from(signal) {
            Ok(Signal::SIGCHLD) => Told::Child,
            Ok(Signal::SIGTSTP) => Told::Pause,
            _ => Told::End(signal),
        })
    }

    /// Readable when a signal that ends the program has come.
    pub(super) fn ending(&self) -> BorrowedFd<'_> {
        self.ending.as_fd()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.all.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // What came while the program was being ended has had its effect.
        while self.next().is_some() {}
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.before), None);
    }
}

/// Whether a child was stopped because it wanted the terminal.
pub(super) fn waits_for_terminal(child: i32) -> bool {
    let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG;
    matches!(
        waitid(Id::Pid(Pid::from_raw(child)), flags),
        Ok(WaitStatus::Stopped(_, Signal::SIGTTIN | Signal::SIGTTOU))
    )
}

/// Waits for all children that have ended, but not for `kept`.
pub(super) fn reap_others(kept: &[Option<i32>]) {
    let own = std::process::id();
    let children = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children"));
    let children = match children {
        Ok(text) => text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        Err(_) => {
            let parent = i32::try_from(own).unwrap_or(0);
            let all = crate::process::processes().into_iter();
            all.filter(|process| process.parent == parent).map(|process| process.pid).collect::<Vec<i32>>()
        }
    };
    for child in children.into_iter().filter(|child| !kept.contains(&Some(*child))) {
        let _ = waitpid(Pid::from_raw(child), Some(WaitPidFlag::WNOHANG));
    }
}
