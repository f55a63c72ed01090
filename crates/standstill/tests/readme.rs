//! The README shows what its first command prints, to the letter.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::path::Path;
use std::process::Command;

use standstill_toolchain::{Environment, locate};

#[test]
fn the_readme_shows_the_real_output() {
    if let Err(error) = locate(None, &Environment::from_process()) {
        assert!(std::env::var("CI").is_err(), "the README's command needs a CUDA compiler: {error}");
        println!("SKIPPED: the README's output was not compared, for want of a CUDA compiler");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_standstill"))
        .current_dir(&root)
        .args(["check", "examples/handoff.cu"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let shown = readme.split("```text\n").nth(1).and_then(|rest| rest.split("\n```").next()).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), shown.trim_end());
}
