//! The labelled programs under `tests/cases` on the software GPU: each faulty one must end with its rule on its marked
//! line, within twenty runs where it needs an order of threads, each right program must give right numbers and raise
//! nothing.
//!
//! `STANDSTILL_CASES=part` runs only the cases whose path contains that part.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

#[path = "common/cases.rs"]
mod cases;

use std::path::Path;
use std::process::Command;

use cases::{Case, compare, compiler, find_cases, judge_all, patiently, place};
use serde_json::Value;

/// Rules about threads that wait.
const WAITING: &[&str] = &[
    "divergent-barrier",
    "early-exit-barrier",
    "barrier-count",
    "warp-mask",
    "grid-divergence",
    "grid-residency",
    "wait-cycle",
    "spin-lock-lockstep",
    "non-terminating-loop",
    "hoistable-spin",
    "mbarrier-phase",
];

#[test]
fn every_case_runs_as_its_header_says() {
    let Some((_, version)) = compiler() else { return };
    judge_all(&find_cases(shows_in_a_run), |case| judge(case, &version));
}

#[test]
fn every_program_with_streams_is_judged_by_its_order() {
    let Some((_, version)) = compiler() else { return };
    judge_all(&find_cases(|case| case.header("where").is_empty()), |case| judge(case, &version));
}

/// Right programs, and faults that show as a hang or by the order of accesses.
fn shows_in_a_run(case: &Case) -> bool {
    match (case.header("where"), case.is_bug) {
        ("" | "explore", _) | ("static", true) => false,
        (_, false) => true,
        (_, true) => hangs(case) || case.rules().iter().any(|rule| !WAITING.contains(rule)),
    }
}

fn hangs(case: &Case) -> bool {
    let may = case.header("nvidia").contains("hang") || case.header("h200").contains("hang");
    may && case.rules().iter().any(|rule| WAITING.contains(rule))
}

fn judge(case: &Case, version: &str) -> Result<(), String> {
    let wrong = |what: String| format!("{}: {what}", case.name);
    let (folder, stem) = place(case, version).map_err(wrong)?;
    let answer = run(case, &folder, &stem).map_err(wrong)?;
    let (program, exit) = (&answer["program_exit"], &answer["exit"]);
    if !case.is_bug && (program != &Value::from(0) || exit != &Value::from(0)) {
        return Err(wrong(format!("the program ended with {program}, the run with {exit}")));
    }
    compare(case, &answer, &stem)
}

fn run(case: &Case, folder: &Path, stem: &str) -> Result<Value, String> {
    let answer = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_standstill"));
    command.current_dir(folder).args([
        "run",
        "--device",
        "sim",
        "--timeout",
        "60s",
        "--format",
        "json",
        "--output",
    ]);
    command.arg(answer.path());
    if case.is_bug && !hangs(case) {
        command.args(["--runs", "20"]);
    }
    let flags = case.header("flags");
    if !flags.is_empty() {
        command.arg(format!("--cflags={flags}"));
    }
    command.arg(format!("{stem}.cu"));
    let output = patiently(&mut command)?;
    let words = String::from_utf8_lossy(&output.stderr);
    let text = std::fs::read(answer.path()).map_err(|error| error.to_string())?;
    let document =
        serde_json::from_slice(&text).map_err(|error| format!("no JSON ({error}); {}", words.trim()))?;
    match output.status.code() {
        // What is proved counts also where the run itself does not come to the verdict in this time.
        Some(124) if case.is_bug => Ok(document),
        Some(124 | 125) | None => Err(format!("exit {:?}: {}", output.status.code(), words.trim())),
        _ => Ok(document),
    }
}
