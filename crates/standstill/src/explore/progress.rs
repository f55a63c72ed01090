//! The line that tells on a terminal how far a search has come.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use standstill_explore::Observer;

/// Shown from the second second on; nothing when standard error is no terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    begun: Instant,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Progress {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        Progress { bar, begun: Instant::now() }
    }

    pub(crate) fn done(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Progress {
    fn progress(&mut self, states: usize, frontier: usize) {
        let passed = self.begun.elapsed();
        if passed < Duration::from_secs(1) {
            return;
        }
        let rate = states as f64 / passed.as_secs_f64() / 1e6;
        self.bar
            .set_message(format!("{states} states, {rate:.2} million a second, {frontier} still to look at"));
        self.bar.tick();
    }
}
