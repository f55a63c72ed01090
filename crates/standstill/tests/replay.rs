//! What a run with chosen schedules finds, the flags that it prints find again: to the byte.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

#[path = "common/cases.rs"]
mod cases;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use cases::{Case, compiler, find_cases, judge_all, patiently, place};
use serde_json::Value;

/// Faults that need threads to come in between, and faults of order.
const FAULTS: &[&str] = &[
    "kernels/hazard_after_read.bug.cu",
    "kernels/treiber_aba.bug.cu",
    "kernels/mp_reader_no_acquire.bug.cu",
    "scoped/lock_no_fence_out.bug.cu",
];

#[test]
fn a_finding_prints_the_flags_that_find_it_again() {
    let Some((_, version)) = compiler() else { return };
    judge_all(&find_cases(|case| FAULTS.contains(&case.name.as_str())), |case| judge(case, &version));
}

fn judge(case: &Case, version: &str) -> Result<(), String> {
    let wrong = |what: String| format!("{}: {what}", case.name);
    let (folder, stem) = place(case, version).map_err(wrong)?;
    for schedule in ["random", "pct", "adversarial"] {
        for stale in [&[][..], &["--stale"]] {
            let hunt = [&["--runs", "20", "--schedule", schedule], stale].concat();
            let (_, found) = run(&folder, &stem, &hunt).map_err(wrong)?;
            let observed = observed(&found);
            let Some(flags) = observed.iter().find_map(|finding| finding["replay"].as_str()) else {
                continue;
            };
            if flags.contains("--stale") == stale.is_empty() || !flags.contains(schedule) {
                return Err(wrong(format!("{hunt:?} says: replay with {flags}")));
            }
            let flags: Vec<&str> = flags.split(' ').collect();
            let (first, again) = (run(&folder, &stem, &flags), run(&folder, &stem, &flags));
            let (first, again) = (first.map_err(wrong)?, again.map_err(wrong)?);
            if self::observed(&first.1) != observed {
                return Err(wrong(format!("{flags:?} finds something else:\n{}\n{found}", first.1)));
            }
            if first.0.stdout != again.0.stdout || first.1 != again.1 {
                return Err(wrong(format!("{flags:?} is not the same twice")));
            }
        }
    }
    Ok(())
}

/// What was seen, as text.
fn observed(document: &Value) -> Vec<Value> {
    let findings = document["findings"].as_array().cloned().unwrap_or_default();
    findings.into_iter().filter(|finding| finding["known"] == "observed").collect()
}

fn run(folder: &Path, stem: &str, flags: &[&str]) -> Result<(Output, Value), String> {
    let answer = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_standstill"));
    command.current_dir(folder).args(["run", "--device", "sim", "--timeout", "60s", "--format", "json"]);
    command.arg("--output").arg(answer.path()).args(flags).arg(format!("{stem}.cu"));
    let output = patiently(command.stdout(Stdio::piped()))?;
    let text = std::fs::read(answer.path()).map_err(|error| error.to_string())?;
    let mut document: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    // The command line names the file of the answer.
    document["evidence"]["command"] = Value::Null;
    Ok((output, document))
}
