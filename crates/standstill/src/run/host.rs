//! The host's side of a program that was stopped: which thread stands where, and which are innocent.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use standstill_supervisor::{Captured, Frame, Parked, ProcessStacks, Reason, ThreadStack};

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

/// Describes what a program stood on.
pub(crate) fn host_section(captured: &Captured, explained: &Explained) -> HostReport {
    let mut text = String::new();
    let _ = writeln!(text, "{}", why(captured, explained));
    for state in &explained.states {
        let _ = writeln!(text, "  on the GPU: {state}");
    }
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
    for process in &captured.stacks {
        describe(process, captured.stacks.len() > 1, &mut text);
    }
    if captured.skipped > 0 {
        let _ = writeln!(text, "  {} further processes were not looked at", captured.skipped);
    }
    HostReport { text, json: to_json(captured), explained_after: Duration::ZERO }
}

fn why(captured: &Captured, explained: &Explained) -> String {
    let ran = words(captured.ran);
    match &captured.reason {
        Reason::TimeLimit(limit) => {
            let what = if explained.findings.is_empty() && !explained.states.is_empty() {
                "; nothing on the GPU is known to hang, it was working:"
            } else {
                ""
            };
            format!("stopped by --timeout after {}{what}", words(*limit))
        }
        Reason::NoProgress { window, judged } => {
            format!("stopped by --no-progress after {ran}: nothing moved on the GPU for {}, {judged}", words(*window))
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

/// One process in lines, its innocent threads first.
pub(crate) fn describe(process: &ProcessStacks, several: bool, text: &mut String) {
    if several {
        let _ = writeln!(text, "  process {}: {}", process.pid, shortened(&process.command, 100));
    }
    if !process.problem.is_empty() {
        let _ = writeln!(text, "  {}", process.problem);
    }
    let mut others = 0;
    for (index, thread) in process.threads.iter().enumerate() {
        match &thread.parked {
            Some(parked) => innocent(thread, parked, text),
            // Threads of the driver and of pools stand in the kernel and say nothing.
            None if index == 0 || !thread.python.is_empty() || is_users(thread) => busy(thread, text),
            None => others += 1,
        }
    }
    if others > 0 {
        let _ = writeln!(text, "  {others} more thread{} without code of the program", if others == 1 { "" } else { "s" });
    }
}

fn innocent(thread: &ThreadStack, parked: &Parked, text: &mut String) {
    let call = if parked.call.is_empty() { "the CUDA driver" } else { &parked.call };
    let place = place(&parked.file, parked.line);
    let by = match (parked.caller.as_str(), place.as_str()) {
        ("", "") => String::new(),
        ("", place) => format!(", called at {place}"),
        (caller, "") => format!(", called by `{}`", shortened(caller, 100)),
        (caller, place) => format!(", called by `{}` at {place}", shortened(caller, 100)),
    };
    let verdict = if parked.waits { "it is innocent: it waits for the GPU" } else { "it is inside the driver" };
    let _ = writeln!(text, "  host thread {} `{}` stands in {call}{by}; {verdict}", thread.tid, thread.name);
    python_lines(thread, text);
    frame_lines(thread, text);
}

fn busy(thread: &ThreadStack, text: &mut String) {
    let doing = match thread.state {
        'R' => "runs".to_owned(),
        'D' => format!("is held by the kernel{}", in_function(thread)),
        'T' | 't' => "is stopped".to_owned(),
        _ => format!("sleeps{}", in_function(thread)),
    };
    let _ = writeln!(text, "  host thread {} `{}` {doing}", thread.tid, thread.name);
    python_lines(thread, text);
    frame_lines(thread, text);
}

fn in_function(thread: &ThreadStack) -> String {
    match thread.kernel_function.as_str() {
        "" => String::new(),
        function => format!(" in {function}"),
    }
}

fn python_lines(thread: &ThreadStack, text: &mut String) {
    const MOST: usize = 12;
    for frame in thread.python.iter().take(MOST) {
        let _ = writeln!(text, "    Python: {} in {}", place(&frame.file, frame.line), frame.function);
    }
    if thread.python.len() > MOST {
        let _ = writeln!(text, "    … {} more Python frames", thread.python.len() - MOST);
    }
    if let Some(test) = thread.python.iter().find(|frame| frame.function.starts_with("test")) {
        let _ = writeln!(text, "    the test that hung: {}::{}", test.file, test.function);
    }
}

/// The frames that have lines: those are the program's own.
fn frame_lines(thread: &ThreadStack, text: &mut String) {
    const MOST: usize = 12;
    let own: Vec<&Frame> = thread.frames.iter().filter(|frame| frame.line > 0 && !frame.function.is_empty()).collect();
    for frame in own.iter().take(MOST) {
        let _ = writeln!(text, "    {} in {}", place(&frame.file, frame.line), shortened(&frame.function, 120));
    }
    if own.len() > MOST {
        let _ = writeln!(text, "    … {} more frames", own.len() - MOST);
    }
    if own.is_empty() && thread.python.is_empty() {
        let names: Vec<String> = thread
            .frames
            .iter()
            .filter(|frame| !frame.function.is_empty())
            .map(|frame| shortened(&frame.function, 60))
            .take(8)
            .collect();
        if !names.is_empty() {
            let _ = writeln!(text, "    {}", names.join(" ← "));
        }
    }
    if !thread.problem.is_empty() {
        let _ = writeln!(text, "    ({})", thread.problem);
    }
}

fn is_users(thread: &ThreadStack) -> bool {
    thread.frames.iter().any(|frame| frame.line > 0 && !frame.file.starts_with("/rustc/") && !frame.file.starts_with("./"))
}

/// `FILE:LINE`, relative to the current folder where the file lies in it.
fn place(file: &str, line: u32) -> String {
    let here = std::env::current_dir().ok();
    let shown = here.and_then(|here| Some(std::path::Path::new(file).strip_prefix(here).ok()?.display().to_string()));
    let file = shown.unwrap_or_else(|| file.to_owned());
    match (file.as_str(), line) {
        ("", _) => String::new(),
        (file, 0) => file.to_owned(),
        (file, line) => format!("{file}:{line}"),
    }
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most).collect();
    format!("{kept}…")
}

fn to_json(captured: &Captured) -> Value {
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
        "host": captured.stacks.iter().map(process_json).collect::<Vec<Value>>(),
    })
}

/// One process for scripts.
pub(crate) fn process_json(process: &ProcessStacks) -> Value {
    let frame = |frame: &Frame| {
        json!({"function": frame.function, "file": frame.file, "line": frame.line, "module": frame.module})
    };
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
        "pid": process.pid, "command": process.command, "problem": process.problem,
        "threads": process.threads.iter().map(thread).collect::<Vec<Value>>(),
    })
}
