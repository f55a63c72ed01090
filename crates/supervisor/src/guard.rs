//! The guard: a small process beside the supervisor that ends the supervised program when the supervisor is
//! killed. It holds the read end of a pipe; when the supervisor dies, however it dies, the pipe reports it.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use rustix::fs::{Mode, OFlags, RawDir, open};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, setsid, waitpid};

use crate::system;

/// The supervisor's end.
#[derive(Debug)]
pub(crate) struct Guard {
    orders: Option<File>,
    pid: i32,
}

impl Guard {
    /// Starts a guard over all processes whose environment holds `mark` (`NAME=VALUE`).
    pub(crate) fn start(mark: &[u8]) -> io::Result<Guard> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        let pid = system::start_guard(read, mark)?;
        Ok(Guard { orders: Some(File::from(write)), pid })
    }

    /// From now on the guard kills this process group as well.
    pub(crate) fn protect(&mut self, group: i32) {
        if let Some(orders) = &mut self.orders {
            // A guard that is gone cannot guard; the program runs all the same.
            let _ = orders.write_all(&group.to_ne_bytes());
        }
    }

    /// The guard's process number.
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }
}

impl Drop for Guard {
    /// Nothing is left to guard.
    fn drop(&mut self) {
        if let Some(mut orders) = self.orders.take() {
            let _ = orders.write_all(&0i32.to_ne_bytes());
        }
        if let Some(pid) = Pid::from_raw(self.pid) {
            let _ = kill_process(pid, Signal::KILL);
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

/// The guard's life. Only system calls, no allocation: see `system::start_guard`.
pub(crate) fn watch(orders: &OwnedFd, mark: &[u8]) {
    let _ = setsid();
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None);
    system::close_all_but(orders.as_raw_fd());
    let mut group = 0i32;
    loop {
        let mut bytes = [0u8; 4];
        match rustix::io::read(orders, &mut bytes) {
            // A pipe delivers so few bytes whole.
            Ok(4) => {
                group = i32::from_ne_bytes(bytes);
                if group == 0 {
                    return;
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            _ => break,
        }
    }
    // Processes may start others while they are being killed.
    for _ in 0..4 {
        if let Some(group) = Pid::from_raw(group) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        if kill_marked(mark) == 0 {
            return;
        }
    }
}

/// Kills every process whose environment holds `mark`; gives how many there were.
fn kill_marked(mark: &[u8]) -> usize {
    let Ok(folder) = open(c"/proc", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    else {
        return 0;
    };
    let mut killed = 0;
    let mut buffer = [MaybeUninit::<u8>::uninit(); 8192];
    let mut entries = RawDir::new(folder, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name().to_bytes();
        let number = name.iter().try_fold(0i32, |number, byte| {
            let digit = byte.is_ascii_digit().then(|| i32::from(byte - b'0'))?;
            number.checked_mul(10)?.checked_add(digit)
        });
        let Some(pid) = number.and_then(Pid::from_raw) else { continue };
        if environment_holds(name, mark) && kill_process(pid, Signal::KILL).is_ok() {
            killed += 1;
        }
    }
    killed
}

fn environment_holds(pid: &[u8], mark: &[u8]) -> bool {
    let mut path = [0u8; 40];
    let mut length = 0;
    for byte in b"/proc/".iter().chain(pid).chain(b"/environ") {
        let Some(slot) = path.get_mut(length) else { return false };
        *slot = *byte;
        length += 1;
    }
    let Some(path) = path.get(..=length).and_then(|path| CStr::from_bytes_with_nul(path).ok()) else {
        return false;
    };
    let Ok(file) = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else { return false };
    let mut buffer = [0u8; 4096];
    let mut kept = 0usize;
    loop {
        let Some(space) = buffer.get_mut(kept..) else { return false };
        let Ok(read @ 1..) = rustix::io::read(&file, space) else { return false };
        let filled = kept + read;
        let Some(text) = buffer.get(..filled) else { return false };
        if text.windows(mark.len().max(1)).any(|window| window == mark) {
            return true;
        }
        // The mark may lie across two reads.
        kept = mark.len().saturating_sub(1).min(filled);
        buffer.copy_within(filled - kept..filled, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_mark_is_found_wherever_it_stands() {
        for padding in [0usize, 10, 4070, 4090, 4096, 9000] {
            let mut child = Command::new("sleep")
                .arg("60")
                .env_clear()
                .env("A", "x".repeat(padding))
                .env("STANDSTILL_TEST_MARK", "value")
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let pid = child.id().to_string();
            assert!(environment_holds(pid.as_bytes(), b"STANDSTILL_TEST_MARK=value"), "{padding}");
            assert!(!environment_holds(pid.as_bytes(), b"STANDSTILL_TEST_MARK=other"), "{padding}");
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(!environment_holds(b"not-a-process-with-a-very-very-long-name", b"A=b"));
    }
}
