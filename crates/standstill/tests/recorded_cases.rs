//! The labelled programs with streams as a real card ran them (`tests/recorded-streams`): from the traces alone each
//! fault must be found on its line, and right programs must raise nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

#[path = "common/cases.rs"]
mod cases;

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use cases::{Case, compare, find_cases, judge_all};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Faults that the driver's calls do not show.
const UNSEEN: &[(&str, &str)] = &[
    ("at_atomic_read_early.bug", "the data decide which counters the kernel touches: a note"),
    ("hf_managed_write.bug", "what a function of the host writes"),
    ("hf_read_unordered.bug", "what a function of the host reads"),
    ("ho_across_pages.bug", "what the host itself reads"),
    ("ho_counter_read_early.bug", "what the host itself reads"),
    ("ho_managed_read.bug", "what the host itself reads"),
    ("ho_managed_refill.bug", "what the host itself writes"),
    ("ho_output_before_sync.bug", "what the host itself reads"),
    ("ho_read_from_file.bug", "what the host itself writes"),
    ("ho_second_thread.bug", "what the host itself reads"),
    ("ho_staging_recycled.bug", "what the host itself writes"),
    ("ho_text_length.bug", "what the host itself reads"),
    ("ho_written_to_file.bug", "what the host itself reads"),
    ("ho_zero_copy_read.bug", "what the host itself reads"),
    ("ue_launch_config.bug", "the runtime keeps the error of a refused launch to itself"),
];

fn traces() -> HashMap<String, Vec<u8>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recorded-streams/h200.traces.gz");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_end(&mut bytes).unwrap();
    let (mut rest, mut traces) = (bytes.as_slice(), HashMap::new());
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = std::str::from_utf8(&rest[..end]).unwrap();
        let (name, length) = line.split_once(' ').unwrap();
        let (trace, behind) = rest[end + 1..].split_at(length.parse().unwrap());
        traces.insert(name.to_owned(), trace.to_vec());
        rest = behind;
    }
    traces
}

/// The name without folder and extension.
fn short(case: &Case) -> &str {
    case.name.rsplit('/').next().unwrap().strip_suffix(".cu").unwrap()
}

#[test]
fn recorded_programs_are_judged_by_their_order() {
    let traces = traces();
    assert_eq!(traces.len(), 100);
    let cases = find_cases(|case| case.name.starts_with("streams/") && traces.contains_key(short(case)));
    assert!(cases.len() >= 70 || std::env::var("STANDSTILL_CASES").is_ok());
    judge_all(&cases, |case| judge(case, &traces[short(case)]));
}

fn judge(case: &Case, trace: &[u8]) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("trace");
    std::fs::write(&file, trace).map_err(|error| error.to_string())?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_standstill"));
    let output = command.args(["streams", "--format", "json"]).arg(&file).output();
    let output = output.map_err(|error| error.to_string())?;
    let answer: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{}: {error}", case.name))?;
    let hash = Sha256::digest(short(case));
    let hash: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let compared = compare(case, &answer, &format!("case_{hash}"));
    match UNSEEN.iter().find(|(name, _)| *name == short(case)) {
        None => compared,
        Some((name, _)) if compared.is_ok() => Err(format!("{name} is found now: take it from the list")),
        Some(_) => {
            match answer["findings"].as_array().unwrap().iter().find(|finding| finding["severity"] != "note")
            {
                Some(finding) => Err(format!("{}: {}", case.name, finding["message"])),
                None => Ok(()),
            }
        }
    }
}
