//! The labelled programs under `tests/cases`: each bug must be found on its marked line, each right
//! program must raise nothing.
//!
//! A case's header names the rule, the launch and the compiler flags; marks (`//~ rule`, `//~| label`)
//! say where the finding must point. Comments and the file's name are taken out before the command
//! sees the program, so that nothing but the code can decide. `STANDSTILL_CASES=part` runs only the
//! cases whose path contains that part.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

#[path = "common/cases.rs"]
mod cases;

use std::path::{Path, PathBuf};
use std::process::Command;

use cases::{Case, compare, compiler, find_cases, judge_all, patiently, place};
use serde_json::Value;
use standstill_toolchain::{Compiler, Request, split_flags};

#[test]
fn every_case_is_judged_as_its_header_says() {
    let Some((compiler, version)) = compiler() else { return };
    let decidable = |case: &Case| match case.header("where") {
        "" | "explore" => false,
        "dynamic" => !case.is_bug,
        _ => true,
    };
    judge_all(&find_cases(decidable), |case| judge(case, &compiler, &version));
}

/// Runs the command on one case and compares; the error is a line for the test's report.
fn judge(case: &Case, compiler: &Compiler, version: &str) -> Result<(), String> {
    let wrong = |what: String| format!("{}: {what}", case.name);
    let (folder, stem) = compile(case, compiler, version).map_err(wrong)?;
    compare(case, &run(case, &folder, &stem).map_err(wrong)?, &stem)?;
    if case.is_bug { Ok(()) } else { judge_without_source(case, &folder, &stem) }
}

/// A right program must raise nothing either where its source cannot be read.
fn judge_without_source(case: &Case, folder: &Path, stem: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(folder.join(format!("{stem}.ptx"))).unwrap();
    let gone = format!("{stem}_gone");
    let part = folder.join(format!("{gone}.part{}", std::process::id()));
    std::fs::write(&part, text.replace(stem, &gone)).unwrap();
    std::fs::rename(&part, folder.join(format!("{gone}.ptx"))).unwrap();
    let wrong = |what: String| format!("{} without its source: {what}", case.name);
    compare(case, &run(case, folder, &gone).map_err(wrong)?, &gone).map_err(wrong)
}

/// Compiles the case, once for its content, flags and compiler; gives its folder and name.
fn compile(case: &Case, compiler: &Compiler, version: &str) -> Result<(PathBuf, String), String> {
    let (folder, stem) = place(case, version)?;
    let ptx = folder.join(format!("{stem}.ptx"));
    if ptx.exists() {
        return Ok((folder, stem));
    }
    let name = format!("{stem}.cu");
    let flags = split_flags(case.header("flags")).map_err(|error| error.to_string())?;
    let request = Request { source: Path::new(&name), arch: "sm_90", flags: &flags, directory: &folder };
    let compiled = compiler.compile(&request).map_err(|error| error.to_string())?;
    // Written beside and renamed, so that a run that is cut off leaves no half of it.
    let part = folder.join(format!("{stem}.part{}", std::process::id()));
    std::fs::write(&part, compiled.ptx).map_err(|error| error.to_string())?;
    std::fs::rename(&part, &ptx).map_err(|error| error.to_string())?;
    Ok((folder, stem))
}

fn run(case: &Case, folder: &Path, stem: &str) -> Result<Value, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_standstill"));
    command.current_dir(folder).args(["check", "--format", "json"]).args(case.launch());
    command.arg(format!("{stem}.ptx"));
    let output = patiently(&mut command)?;
    let words = String::from_utf8_lossy(&output.stderr);
    let answer = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("no JSON ({error}); {}", words.trim()))?;
    match output.status.code() {
        Some(0 | 1) => Ok(answer),
        code => Err(format!("exit {code:?}: {}", words.trim())),
    }
}
