//! Stacks in words, for a person.

use std::fmt::Write;

use crate::launches::{Launch, OnGpu};
use crate::stacks::{Frame, Parked, ProcessStacks, ThreadStack};

/// What the threads of stopped processes stood on, in lines with two spaces before each, with the launches of the
/// kernels that were on the GPU.
#[must_use]
pub fn describe(processes: &[ProcessStacks], on_gpu: &[OnGpu]) -> String {
    let mut text = String::new();
    for process in processes {
        let own: Vec<&OnGpu> = on_gpu.iter().filter(|one| one.pid == process.pid).collect();
        let names: Vec<String> = own.iter().map(|one| format!("`{}`", one.kernel)).collect();
        describe_process(process, processes.len() > 1, &names.join(" and "), &mut text);
        for one in own {
            launch_lines(one, process, &mut text);
        }
    }
    text
}

/// Where the program launches a kernel, where its code says so. Of several places, the one in a function that now waits
/// for the GPU, or has called what waits, is the likely one.
fn launch_lines(one: &OnGpu, process: &ProcessStacks, text: &mut String) {
    const MOST: usize = 8;
    let place = |launch: &Launch| {
        let function = format!("`{}`", shortened(&launch.function, 100));
        match place(&launch.file, launch.line).as_str() {
            "" => function,
            place => format!("{place} in {function}"),
        }
    };
    let _ = match one.launches.as_slice() {
        [] => Ok(()),
        [launch] if launch.line > 0 => {
            writeln!(text, "  the kernel `{}` was launched at {}", one.kernel, place(launch))
        }
        [launch] => writeln!(text, "  the kernel `{}` was launched by {}", one.kernel, place(launch)),
        several => {
            let waiting = process.threads.iter().filter(|thread| thread.parked.is_some());
            let frames: Vec<&Frame> = waiting.flat_map(|thread| &thread.frames).collect();
            let on_stack = |launch: &&Launch| frames.iter().any(|frame| frame.function == launch.function);
            let mut likely = several.iter().filter(on_stack);
            if let (Some(launch), None) = (likely.next(), likely.next()) {
                let _ = writeln!(
                    text,
                    "  the kernel `{}` was launched at {}, it seems: of {} places that launch it, this is in a function \
                     on the stack",
                    one.kernel,
                    place(launch),
                    several.len()
                );
                return;
            }
            let shown: Vec<String> = several.iter().take(MOST).map(place).collect();
            let more = match several.len().saturating_sub(MOST) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            writeln!(text, "  the kernel `{}` was launched at one of {}{more}", one.kernel, shown.join(", "))
        }
    };
}

/// One process in lines, its innocent threads first.
fn describe_process(process: &ProcessStacks, several: bool, kernels: &str, text: &mut String) {
    if several {
        let _ = writeln!(text, "  process {}: {}", process.pid, shortened(&process.command, 100));
    }
    if !process.problem.is_empty() {
        let _ = writeln!(text, "  {}", process.problem);
    }
    if !process.test.is_empty() {
        let _ = writeln!(text, "  the test that hung: {}", process.test);
    }
    let mut others = 0;
    for (index, thread) in process.threads.iter().enumerate() {
        match &thread.parked {
            Some(parked) => innocent(thread, parked, kernels, text),
            // Threads of the driver and of pools stand in the kernel and say nothing.
            None if index == 0 || !thread.python.is_empty() || is_users(thread) => busy(thread, text),
            None => others += 1,
        }
    }
    if others > 0 {
        let _ = writeln!(
            text,
            "  {others} more thread{} without code of the program",
            if others == 1 { "" } else { "s" }
        );
    }
}

fn innocent(thread: &ThreadStack, parked: &Parked, kernels: &str, text: &mut String) {
    let call = if parked.call.is_empty() { "the CUDA driver" } else { &parked.call };
    let place = place(&parked.file, parked.line);
    let by = match (parked.caller.as_str(), place.as_str()) {
        ("", "") => String::new(),
        ("", place) => format!(", called at {place}"),
        (caller, "") => format!(", called by `{}`", shortened(caller, 100)),
        (caller, place) => format!(", called by `{}` at {place}", shortened(caller, 100)),
    };
    let verdict = match (parked.waits, kernels) {
        (true, "") => "it is innocent: it waits for the GPU".to_owned(),
        (true, kernels) if parked.call.contains("Launch") => {
            format!("it is innocent: loading code for a first launch waits for the kernel {kernels}")
        }
        (true, kernels) => format!("it is innocent: it waits for the kernel {kernels}"),
        (false, "") if parked.call.contains("Query") => "it polls whether the GPU is done".to_owned(),
        (false, kernels) if parked.call.contains("Query") => {
            format!("it polls whether the kernel {kernels} is done")
        }
        (false, _) => "it is inside the driver".to_owned(),
    };
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
}

/// The frames that have lines: those are the program's own.
fn frame_lines(thread: &ThreadStack, text: &mut String) {
    const MOST: usize = 12;
    let own = |frame: &&Frame| frame.line > 0 && !frame.function.is_empty() && !is_library(frame);
    let own: Vec<&Frame> = thread.frames.iter().filter(own).collect();
    for frame in own.iter().take(MOST) {
        let _ =
            writeln!(text, "    {} in {}", place(&frame.file, frame.line), shortened(&frame.function, 120));
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
    thread.frames.iter().any(|frame| frame.line > 0 && !is_library(frame))
}

/// Whether a frame with a line is of Rust's or C's own library.
fn is_library(frame: &Frame) -> bool {
    ["/rustc/", "./"].iter().any(|start| frame.file.starts_with(start))
}

/// `FILE:LINE`, relative to the current folder where the file lies in it.
fn place(file: &str, line: u32) -> String {
    let here = std::env::current_dir().ok();
    let shown =
        here.and_then(|here| Some(std::path::Path::new(file).strip_prefix(here).ok()?.display().to_string()));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(function: &str, line: u32) -> Launch {
        let file = if line > 0 { "prog.cu" } else { "" };
        Launch { function: function.to_owned(), file: file.to_owned(), line }
    }

    #[track_caller]
    fn check(launches: &[Launch], expected: &str) {
        let frame = |function: &str| Frame { function: function.to_owned(), ..Frame::default() };
        let thread = ThreadStack {
            frames: vec![frame("cudaDeviceSynchronize"), frame("step(int)"), frame("main")],
            parked: Some(Parked::default()),
            ..ThreadStack::default()
        };
        let process = ProcessStacks { threads: vec![thread], ..ProcessStacks::default() };
        let one = OnGpu { pid: 7, kernel: "k".to_owned(), launches: launches.to_vec() };
        let mut text = String::new();
        launch_lines(&one, &process, &mut text);
        assert_eq!(text, expected);
    }

    #[test]
    fn launches_in_words() {
        check(&[], "");
        check(&[launch("f", 4)], "  the kernel `k` was launched at prog.cu:4 in `f`\n");
        check(&[launch("f", 0)], "  the kernel `k` was launched by `f`\n");
        check(
            &[launch("f", 4), launch("g", 0)],
            "  the kernel `k` was launched at one of prog.cu:4 in `f`, `g`\n",
        );
        check(
            &[launch("f", 4), launch("step(int)", 9)],
            "  the kernel `k` was launched at prog.cu:9 in `step(int)`, it seems: of 2 places that launch it, this is in a \
             function on the stack\n",
        );
        check(
            &[launch("main", 4), launch("step(int)", 9)],
            "  the kernel `k` was launched at one of prog.cu:4 in `main`, prog.cu:9 in `step(int)`\n",
        );
        let many: Vec<Launch> = (1..=9).map(|line| launch("f", line)).collect();
        let eight: Vec<String> = (1..=8).map(|line| format!("prog.cu:{line} in `f`")).collect();
        check(&many, &format!("  the kernel `k` was launched at one of {} and 1 more\n", eight.join(", ")));
    }
}
