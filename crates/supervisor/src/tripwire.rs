//! Whether a call of a host thread has returned, without touching the program: the processor counts how often the
//! thread executes the instruction behind the call (a hardware breakpoint that counts and does not stop,
//! `perf_event_open`). This is how progress is judged. Comparing two GPU core dumps is not: the driver ends the
//! kernels that it dumps, with and without `skip_abort` (measured with driver 580).

use std::io;
use std::os::fd::OwnedFd;

use crate::stacks::ProcessStacks;
use crate::system;

/// A call that is waited for.
#[derive(Debug)]
struct Wire {
    counter: OwnedFd,
    words: String,
}

/// The calls in which the host waits for the GPU.
#[derive(Debug, Default)]
pub(crate) struct Tripwires {
    wires: Vec<Wire>,
}

impl Tripwires {
    /// Watches every call of these processes that waits for the GPU. None is not an error: then the host does not
    /// wait.
    pub(crate) fn set(processes: &[ProcessStacks]) -> io::Result<Tripwires> {
        let mut wires = Vec::new();
        for thread in processes.iter().flat_map(|process| &process.threads) {
            let Some(parked) = thread.parked.as_ref().filter(|parked| parked.waits && parked.returns_to != 0)
            else {
                continue;
            };
            let counter = system::count_executions(thread.tid, parked.returns_to)?;
            let call = if parked.call.is_empty() { "the CUDA driver" } else { &parked.call };
            let words = match parked.line {
                0 => call.to_owned(),
                line => format!("{call} ({}:{line})", parked.file),
            };
            wires.push(Wire { counter, words });
        }
        Ok(Tripwires { wires })
    }

    /// Whether nothing is watched.
    pub(crate) fn is_empty(&self) -> bool {
        self.wires.is_empty()
    }

    /// Whether one of the calls has returned.
    pub(crate) fn fired(&self) -> bool {
        self.wires.iter().any(|wire| {
            let mut count = [0; 8];
            // A thread that has ended gives no count: that is a change too.
            rustix::io::read(&wire.counter, &mut count).map_or(true, |read| read != 8 || count != [0; 8])
        })
    }

    /// The calls, for a person.
    pub(crate) fn words(&self) -> String {
        let mut calls: Vec<&str> = self.wires.iter().map(|wire| wire.words.as_str()).collect();
        calls.dedup();
        let rest = calls.len().saturating_sub(3);
        calls.truncate(3);
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        format!("{}{more}", calls.join(", "))
    }
}
