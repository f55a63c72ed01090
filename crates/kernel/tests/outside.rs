//! The crate outside of the workspace: its wrong kernels do not compile, and say why where it stands; its right ones
//! run.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/outside").canonicalize().unwrap()
}

/// Runs cargo on the crate, offline: what it depends on is what the workspace depends on.
fn cargo(arguments: &[&str]) -> Output {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).arg("--offline").current_dir(folder());
    command.env("CARGO_TARGET_DIR", target).env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    command.output().unwrap()
}

/// The errors of one program of the crate, as text: place and message of each.
fn errors_of(name: &str, messages: &str) -> String {
    let mut text = String::new();
    for line in messages.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        if message["target"]["name"] != name || message["message"]["level"] != "error" {
            continue;
        }
        let Some(span) = message["message"]["spans"].get(0) else { continue };
        let file = span["file_name"].as_str().unwrap().replace('\\', "/");
        let numbers = ["line_start", "column_start", "line_end", "column_end"].map(|key| &span[key]);
        let [line, column, end_line, end_column] = numbers;
        writeln!(text, "{file}:{line}:{column}-{end_line}:{end_column}").unwrap();
        for line in message["message"]["message"].as_str().unwrap().lines() {
            writeln!(text, "    {line}").unwrap();
        }
    }
    text
}

#[test]
fn wrong_kernels_do_not_compile() {
    let output =
        cargo(&["check", "--bins", "--features", "wrong", "--keep-going", "--message-format", "json"]);
    assert!(!output.status.success());
    let messages = String::from_utf8(output.stdout).unwrap();
    let bless = std::env::var_os("BLESS").is_some();
    for name in ["branch", "early_return", "helper", "rounds", "relaxed_flag", "not_a_kernel"] {
        let path = folder().join(format!("wrong/{name}.txt"));
        let found = errors_of(name, &messages);
        if bless {
            std::fs::write(&path, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(found, expected, "{name}; {}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(errors_of("right", &messages), "");
}

#[test]
fn right_kernels_run() {
    let output = cargo(&["run", "--bin", "right"]);
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(text, "elements=1000 kernels=4 mismatches=0\n", "{errors}");
    assert!(output.status.success());
}
