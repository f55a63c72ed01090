//! The host's side of a program that was stopped: which thread stands where, and which are innocent.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use standstill_supervisor::{Captured, Frame, Launch, OnGpu, ProcessStacks, Reason, ThreadStack};

use super::duration::words;
use super::gpu::Explained;

/// What the report says beside the findings.
#[derive(Debug, Default)]
pub(crate) struct HostReport {
    /// Lines for a person.
    pub(crate) text: String,
    /// The same for scripts.
    pub(crate) json: Value,
    /// From the limit to the explanation.
    pub(crate) explained_after: Duration,
}

impl HostReport {
    /// What the host has asked for and does not know to be done, in lines.
    pub(crate) fn outstanding(&mut self, lines: &[String]) {
        for line in lines {
            let _ = writeln!(self.text, "  {line}");
        }
        self.json["outstanding"] = lines.iter().map(|line| line.trim_start()).collect::<Vec<_>>().into();
    }

    /// The explanation is there, so long after the limit.
    pub(crate) fn explained(&mut self, after: Duration) {
        self.explained_after = after;
        self.json["explained_seconds"] = after.as_secs_f64().into();
    }
}

/// Describes what a program stood on.
pub(crate) fn host_section(captured: &Captured, explained: &Explained) -> HostReport {
    let mut text = String::new();
    let _ = writeln!(text, "{}", why(captured, explained));
    for dump in &captured.dumps {
        let size = dump.bytes as f64 / 1e6;
        let _ = match &dump.error {
            None => {
                let took = dump.took.as_secs_f64();
                writeln!(text, "  GPU core dump of process {}: {size:.1} MB in {took:.2} s", dump.pid)
            }
            Some(error) => writeln!(text, "  no whole GPU core dump of process {}: {error}", dump.pid),
        };
    }
    text.push_str(&standstill_supervisor::describe(&captured.stacks, &explained.on_gpu));
    if captured.skipped > 0 {
        let _ = writeln!(text, "  {} further processes were not looked at", captured.skipped);
    }
    HostReport { text, json: to_json(captured, &explained.on_gpu), explained_after: Duration::ZERO }
}

fn why(captured: &Captured, explained: &Explained) -> String {
    let ran = words(captured.ran);
    let at_work = if explained.hangs() || explained.on_gpu.is_empty() {
        ""
    } else {
        "; nothing on the GPU is known to hang: it was at work, and longer than the limit"
    };
    match &captured.reason {
        Reason::TimeLimit(limit) => format!("stopped by --timeout after {}{at_work}", words(*limit)),
        Reason::NoProgress { window, judged } => {
            format!("stopped by --no-progress after {ran}: for {} {judged}{at_work}", words(*window))
        }
        Reason::Interrupted { signal } => {
            let name = match signal {
                2 => "Ctrl-C".to_owned(),
                15 => "SIGTERM".to_owned(),
                1 => "SIGHUP".to_owned(),
                number => format!("signal {number}"),
            };
            format!("stopped by {name} after {ran}")
        }
    }
}

fn to_json(captured: &Captured, on_gpu: &[OnGpu]) -> Value {
    let (reason, judged) = match &captured.reason {
        Reason::TimeLimit(_) => ("timeout".to_owned(), None),
        Reason::NoProgress { judged, .. } => ("no-progress".to_owned(), Some(judged.clone())),
        Reason::Interrupted { signal } => (format!("signal {signal}"), None),
    };
    let dumps: Vec<Value> = captured
        .dumps
        .iter()
        .map(|dump| {
            json!({"pid": dump.pid, "bytes": dump.bytes, "seconds": dump.took.as_secs_f64(),
                   "error": dump.error.as_ref().map(ToString::to_string)})
        })
        .collect();
    json!({
        "reason": reason,
        "judged": judged,
        "ran_seconds": captured.ran.as_secs_f64(),
        "dumps": dumps,
        "kernels": on_gpu.iter().map(kernel_json).collect::<Vec<Value>>(),
        "host": captured.stacks.iter().map(process_json).collect::<Vec<Value>>(),
    })
}

/// A kernel for scripts, with the places where it can have been launched.
fn kernel_json(one: &OnGpu) -> Value {
    let launch =
        |launch: &Launch| json!({"file": launch.file, "line": launch.line, "function": launch.function});
    let launches: Vec<Value> = one.launches.iter().map(launch).collect();
    json!({"pid": one.pid, "kernel": one.kernel, "launched": launches})
}

/// One process for scripts.
pub(crate) fn process_json(process: &ProcessStacks) -> Value {
    let frame = |frame: &Frame| json!({"function": frame.function, "file": frame.file, "line": frame.line, "module": frame.module});
    let thread = |thread: &ThreadStack| {
        json!({
            "tid": thread.tid, "name": thread.name, "state": thread.state.to_string(),
            "parked": thread.parked.as_ref().map(|parked| json!({
                "call": parked.call, "waits": parked.waits, "caller": parked.caller,
                "file": parked.file, "line": parked.line})),
            "python": thread.python.iter().map(|frame| json!({
                "function": frame.function, "file": frame.file, "line": frame.line})).collect::<Vec<Value>>(),
            "frames": thread.frames.iter().map(frame).collect::<Vec<Value>>(),
            "problem": thread.problem,
        })
    };
    json!({
        "pid": process.pid, "command": process.command, "test": process.test, "problem": process.problem,
        "threads": process.threads.iter().map(thread).collect::<Vec<Value>>(),
    })
}
