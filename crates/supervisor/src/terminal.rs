//! The terminal: a program in a process group of its own is in the background, and is stopped when it reads from
//! the terminal. It then gets the terminal, and the supervisor takes it back afterwards.

use std::fs::File;

use rustix::process::{Pid, Signal, getpgrp, kill_process_group};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

/// The terminal, where the supervisor was started in its foreground.
#[derive(Debug)]
pub(crate) struct Terminal {
    device: Option<File>,
    lent: bool,
}

impl Terminal {
    pub(crate) fn open() -> Terminal {
        let device = File::options().read(true).write(true).open("/dev/tty").ok();
        let own = |device: &File| tcgetpgrp(device).is_ok_and(|group| group == getpgrp());
        Terminal { device: device.filter(own), lent: false }
    }

    /// For a program that has none.
    pub(crate) fn none() -> Terminal {
        Terminal { device: None, lent: false }
    }

    /// Lets a stopped program read from the terminal and go on.
    pub(crate) fn lend(&mut self, group: Pid) {
        if let Some(device) = &self.device
            && tcsetpgrp(device, group).is_ok()
        {
            self.lent = true;
            let _ = kill_process_group(group, Signal::CONT);
        }
    }

    /// Takes the terminal back. The caller must have SIGTTOU blocked.
    pub(crate) fn take_back(&mut self) {
        if let Some(device) = self.device.as_ref().filter(|_| self.lent) {
            let _ = tcsetpgrp(device, getpgrp());
            self.lent = false;
        }
    }
}
