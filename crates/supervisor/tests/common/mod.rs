//! What the tests share: compiling stand-in programs, and looking for what is left.
#![allow(dead_code, clippy::unwrap_used, reason = "each test program uses a part of it")]

use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use standstill_supervisor::{Captured, Observer, Plan, ProcessStacks, Reason};

/// Compiles a stand-in program once per test binary and gives its path.
pub(crate) fn compiled(name: &str) -> PathBuf {
    static LOCK: Mutex<()> = Mutex::new(());
    let _one_at_a_time = LOCK.lock().unwrap();
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/children").join(format!("{name}.c"));
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    if !program.exists() {
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let status = Command::new(compiler)
            .args(["-g", "-O1", "-pthread", "-o"])
            .arg(&program)
            .arg(&source)
            .status()
            .unwrap();
        assert!(status.success());
    }
    program
}

/// A shell program.
pub(crate) fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// A plan with short times.
pub(crate) fn plan(command: Command, limit: Duration) -> Plan {
    let mut plan = Plan::new(command);
    plan.limits.time = Some(limit);
    plan.limits.grace = Duration::from_millis(300);
    plan.limits.leftover_grace = Duration::from_millis(100);
    plan.limits.dump_silence = Duration::from_millis(700);
    plan.limits.kill = Duration::from_secs(5);
    plan
}

/// Keeps what it is told.
#[derive(Default)]
pub(crate) struct Keep {
    pub(crate) lines: Vec<String>,
    pub(crate) reason: Option<Reason>,
    pub(crate) stacks: Vec<ProcessStacks>,
    /// For each dump: process, bytes, whether the file was there, and the error's text.
    pub(crate) dumps: Vec<(i32, u64, bool, String)>,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) notes: Vec<String>,
}

impl Observer for Keep {
    fn progress(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    fn captured(&mut self, captured: &Captured) {
        self.reason = Some(captured.reason.clone());
        self.stacks = captured.stacks.clone();
        for dump in &captured.dumps {
            let error = dump.error.as_ref().map(ToString::to_string).unwrap_or_default();
            self.dumps.push((dump.pid, dump.bytes, dump.core.exists(), error));
            self.folder = dump.core.parent().map(Into::into);
        }
    }

    fn note(&mut self, line: &str) {
        self.notes.push(line.to_owned());
    }
}

/// Whether a process with this word in its command line or environment is alive.
pub(crate) fn alive(word: &str) -> Vec<i32> {
    let own = std::process::id() as i32;
    let holds = |pid: i32, file: &str| {
        let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        bytes.windows(word.len()).any(|window| window == word.as_bytes())
    };
    standstill_supervisor::processes()
        .into_iter()
        .filter(|process| process.state != 'Z' && process.pid != own)
        .map(|process| process.pid)
        .filter(|pid| holds(*pid, "cmdline") || holds(*pid, "environ"))
        .collect()
}

/// Waits until `condition` holds; fails after a minute, for a busy machine.
#[track_caller]
pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
