//! What a test that was stopped stood on, as text.

use std::fmt::Write;

use standstill_supervisor::{Captured, Observer, describe};

/// Keeps the text.
#[derive(Debug, Default)]
pub(crate) struct Explanation {
    pub(crate) text: String,
}

impl Observer for Explanation {
    fn captured(&mut self, captured: &Captured) {
        for dump in &captured.dumps {
            if let Some(error) = &dump.error {
                let _ = writeln!(self.text, "  no whole GPU core dump of process {}: {error}", dump.pid);
            }
        }
        self.text.push_str(&describe(&captured.stacks));
    }
}
