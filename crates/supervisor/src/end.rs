//! Ending a program with everything that it started, in bounded time.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, pidfd_send_signal};

use crate::process::{self, Process, processes, read_text};
use crate::wait::{all_ended, open_process};

/// A process that could not be ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remaining {
    /// Its number.
    pub pid: i32,
    /// Its name.
    pub name: String,
    /// Its state: usually `D`, which no signal interrupts.
    pub state: char,
    /// The kernel function in which it waits; empty when the system does not say.
    pub kernel_function: String,
}

/// The processes that belong to one supervised program.
#[derive(Debug, Clone)]
pub(crate) struct Members {
    /// The program itself, and its process group.
    pub(crate) leader: i32,
    /// The variable that only its processes have, as `NAME` and `VALUE`.
    pub(crate) mark: (String, String),
    /// Whether orphans of the program become children of this process, and which child is none of them.
    pub(crate) adopts: Option<i32>,
}

impl Members {
    /// All living processes of the program: its group, everything started by one of them, everything that carries
    /// its mark.
    pub(crate) fn living(&self) -> Vec<Process> {
        let all = processes();
        let own = std::process::id() as i32;
        let mut members: Vec<i32> = vec![self.leader];
        for process in &all {
            let adopted = self.adopts.is_some_and(|guard| process.parent == own && process.pid != guard);
            if process.pid != own
                && Some(process.pid) != self.adopts
                && (process.group == self.leader || adopted || self.is_marked(process.pid))
            {
                members.push(process.pid);
            }
        }
        loop {
            let before = members.len();
            for process in &all {
                if members.contains(&process.parent) && !members.contains(&process.pid) {
                    members.push(process.pid);
                }
            }
            if members.len() == before {
                break;
            }
        }
        all.into_iter()
            .filter(|process| members.contains(&process.pid) && !matches!(process.state, 'Z' | 'X'))
            .collect()
    }

    fn is_marked(&self, pid: i32) -> bool {
        process::variable(pid, &self.mark.0).is_some_and(|value| value == self.mark.1)
    }

    /// Waits for all members to end; `true` when none is left.
    pub(crate) fn wait(&self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        loop {
            let members = open(&self.living());
            if members.is_empty() {
                return true;
            }
            if !all_ended(&members, deadline.saturating_duration_since(Instant::now())) {
                return false;
            }
        }
    }

    /// Sends a signal to all members.
    pub(crate) fn signal(&self, signal: Signal) {
        let living = self.living();
        // A group without members may have given its number to another.
        if living.iter().any(|process| process.group == self.leader)
            && let Some(group) = Pid::from_raw(self.leader)
        {
            let _ = kill_process_group(group, signal);
        }
        for member in &open(&living) {
            let _ = pidfd_send_signal(member, signal);
        }
    }

    /// Kills all members. Gives those that are still there after `within`.
    pub(crate) fn kill(&self, within: Duration) -> Vec<Remaining> {
        let deadline = Instant::now() + within;
        loop {
            // Again in each round: a process may have started another before it was killed.
            self.signal(Signal::KILL);
            let left = deadline.saturating_duration_since(Instant::now());
            if self.wait(left.min(Duration::from_millis(200))) {
                return Vec::new();
            }
            if left.is_zero() {
                return self.living().into_iter().map(remaining).collect();
            }
        }
    }
}

fn open(members: &[Process]) -> Vec<OwnedFd> {
    members.iter().filter_map(|member| open_process(member.pid)).collect()
}

fn remaining(process: Process) -> Remaining {
    let kernel_function = read_text(&format!("/proc/{}/wchan", process.pid)).unwrap_or_default();
    Remaining {
        pid: process.pid,
        name: process.name,
        state: process.state,
        kernel_function: kernel_function.trim_matches(['0', '\n']).to_owned(),
    }
}
