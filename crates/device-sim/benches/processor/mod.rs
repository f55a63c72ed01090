//! How long something keeps a processor busy.

use std::time::Instant;

/// Time on a processor, where the system tells it, so that other work on the machine does not count.
pub(crate) struct Processor(Option<u64>, Instant);

impl Processor {
    fn spent() -> Option<u64> {
        std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
    }

    pub(crate) fn now() -> Processor {
        Processor(Processor::spent(), Instant::now())
    }

    pub(crate) fn seconds(&self) -> f64 {
        match (self.0, Processor::spent()) {
            (Some(before), Some(after)) => (after - before) as f64 / 1e9,
            _ => self.1.elapsed().as_secs_f64(),
        }
    }
}
