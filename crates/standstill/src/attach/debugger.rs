//! NVIDIA's debugger, where it is installed: its table of threads, read.

use std::fmt::Write;
use std::io::{Read, Seek};
use std::process::{Command, Stdio};
use std::time::Duration;

use standstill_supervisor::{Captured, Observer, Plan, run};

/// Attaching to a large program takes the debugger seconds.
const LIMIT: Duration = Duration::from_secs(60);

struct Silent;

impl Observer for Silent {
    fn captured(&mut self, _: &Captured) {}
}

/// Asks the debugger where the GPU threads of a process stand; the error says what is not available.
pub(super) fn look(pid: i32) -> Result<String, String> {
    let mut command = Command::new("cuda-gdb");
    command.args(["-batch", "-nx", "-p", &pid.to_string()]);
    command.args(["-ex", "info cuda kernels", "-ex", "info cuda threads"]);
    let no_file = |error: std::io::Error| format!("the debugger's output cannot be kept: {error}");
    let mut output = tempfile::tempfile().map_err(no_file)?;
    command.stdin(Stdio::null());
    command.stdout(output.try_clone().map_err(no_file)?);
    command.stderr(output.try_clone().map_err(no_file)?);
    let mut plan = Plan::new(command);
    plan.dumps = false;
    plan.limits.time = Some(LIMIT);
    let outcome = run(plan, &mut Silent).map_err(|error| match error.exit_code() {
        127 => "cuda-gdb is not installed, so its view cannot be had either".to_owned(),
        _ => format!("cuda-gdb cannot be started: {error}"),
    })?;
    let mut bytes = Vec::new();
    output.rewind().and_then(|()| output.read_to_end(&mut bytes)).map_err(no_file)?;
    let text = String::from_utf8_lossy(&bytes);
    let rows = threads(&text);
    if !rows.is_empty() {
        return Ok(described(&rows));
    }
    if outcome.stopped.is_some() {
        return Err(format!("cuda-gdb gave no answer within {} s", LIMIT.as_secs()));
    }
    let refused = text.lines().find(|line| line.contains("ptrace") || line.contains("not permitted"));
    match refused {
        Some(line) => Err(format!("cuda-gdb may not attach: {}", line.trim())),
        None => Err("cuda-gdb shows no GPU threads of it".to_owned()),
    }
}

/// Threads at one place, as the debugger's table has them.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    first: (String, String),
    last: (String, String),
    count: u64,
    place: String,
}

/// Rows `[*] (block) (thread) (to block) (to thread) COUNT ADDRESS FILE LINE`.
fn threads(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().filter(|word| *word != "*").collect();
        let [block, thread, to_block, to_thread, count, address, rest @ ..] = words.as_slice() else {
            return None;
        };
        let shape = |word: &str| word.starts_with('(') && word.ends_with(')');
        if ![block, thread, to_block, to_thread].into_iter().all(|word| shape(word)) {
            return None;
        }
        let place = match rest {
            [file, line] if line.bytes().all(|byte| byte.is_ascii_digit()) => format!("{file}:{line}"),
            _ => (*address).to_owned(),
        };
        let name = |word: &str| word.to_owned();
        Some(Row {
            first: (name(block), name(thread)),
            last: (name(to_block), name(to_thread)),
            count: count.parse().ok()?,
            place,
        })
    };
    text.lines().filter_map(row).collect()
}

fn described(rows: &[Row]) -> String {
    let mut text = "  cuda-gdb shows where the GPU threads stand, and not why:\n".to_owned();
    for row in rows.iter().take(40) {
        let _ = writeln!(
            text,
            "    {} threads at {}: block {} thread {} to block {} thread {}",
            row.count, row.place, row.first.0, row.first.1, row.last.0, row.last.1
        );
    }
    if rows.len() > 40 {
        let _ = writeln!(text, "    … {} more rows", rows.len() - 40);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_threads() {
        let text = "\
  BlockIdx ThreadIdx To BlockIdx To ThreadIdx Count                 PC   Filename  Line
Kernel 0
*  (0,0,0)   (0,0,0)     (0,0,0)   (127,0,0)   128 0x00007fffd9fa4a10 handoff.cu    15
   (0,0,0) (128,0,0)     (0,0,0)   (255,0,0)   128 0x00007fffd9fa4b30        n/a   n/a
";
        let rows = threads(text);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].count, rows[0].place.as_str()), (128, "handoff.cu:15"));
        assert_eq!(rows[1].place, "0x00007fffd9fa4b30");
        assert!(described(&rows).contains("128 threads at handoff.cu:15: block (0,0,0) thread (0,0,0) to"));
        assert_eq!(threads("(0,0,0) nonsense\n\n"), []);
    }
}
