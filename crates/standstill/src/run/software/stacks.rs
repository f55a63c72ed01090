//! The program's own part of its stacks: neither the software GPU's threads, nor what it does inside a call.

use standstill_supervisor::{Captured, ProcessStacks, ThreadStack};

use super::library::FILE;

/// How the names of the software GPU's threads begin.
const OWN_THREADS: &str = "standstill-";

/// What was captured, without the parts that are not the program's.
pub(super) fn of_program(captured: &Captured) -> Captured {
    let process = |process: &ProcessStacks| {
        let mut process = process.clone();
        process.threads.retain(|thread| !thread.name.starts_with(OWN_THREADS));
        process.threads.iter_mut().for_each(leave_out_insides);
        process
    };
    Captured {
        reason: captured.reason.clone(),
        ran: captured.ran,
        stacks: captured.stacks.iter().map(process).collect(),
        programs: Vec::new(),
        skipped: captured.skipped,
        dumps: Vec::new(),
        expired: captured.expired,
    }
}

/// Leaves the frame of the CUDA call and everything outside of it.
fn leave_out_insides(thread: &mut ThreadStack) {
    let inside = thread.frames.iter().rposition(|frame| frame.module.ends_with(FILE));
    if let Some(outermost) = inside {
        thread.frames.drain(..outermost);
    }
}

#[cfg(test)]
mod tests {
    use standstill_supervisor::Frame;

    use super::*;

    #[test]
    fn the_call_and_its_callers_stay() {
        let frame = |function: &str, module: &str| Frame {
            function: function.into(),
            module: module.into(),
            ..Frame::default()
        };
        let library = format!("/a/{FILE}");
        let mut thread = ThreadStack {
            frames: vec![
                frame("syscall", "/lib/libc.so.6"),
                frame("wait", &library),
                frame("cudaDeviceSynchronize", &library),
                frame("main", "/b/program"),
            ],
            ..ThreadStack::default()
        };
        leave_out_insides(&mut thread);
        let left: Vec<&str> = thread.frames.iter().map(|frame| frame.function.as_str()).collect();
        assert_eq!(left, ["cudaDeviceSynchronize", "main"]);
    }
}
