//! The shaders below `tests/shaders`: `NAME.bug.wgsl` has its fault on the line that is marked with the rule, `NAME.fix.wgsl` is right.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn check(file: &Path, more: &[&str]) -> (Vec<(u64, String)>, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_standstill"))
        .args(["check", "--format", "json"])
        .args(more)
        .arg(file)
        .output()
        .unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["coverage"]["kernels"], 1, "{answer}");
    let findings = answer["findings"].as_array().unwrap().iter().map(|finding| {
        let spans = finding["spans"].as_array().unwrap();
        let primary = spans.iter().find(|span| span["primary"] == true).unwrap();
        (primary["line"].as_u64().unwrap(), finding["rule"].as_str().unwrap().to_owned())
    });
    (findings.collect(), output.status.code())
}

#[test]
fn each_shader_is_judged_as_it_is_marked() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/shaders");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        let marked: Vec<(u64, String)> = text
            .lines()
            .zip(1..)
            .filter_map(|(line, number)| Some((number, line.split_once("//~ ")?.1.to_owned())))
            .collect();
        let is_bug = file.to_str().unwrap().ends_with(".bug.wgsl");
        assert_eq!(is_bug, !marked.is_empty(), "{}", file.display());
        let code = Some(i32::from(is_bug));
        assert_eq!(check(&file, &[]), (marked.clone(), code), "{}", file.display());
        assert_eq!(check(&file, &["--wgsl-strict"]), (marked, code), "{}", file.display());
        count += 1;
    }
    assert!(count >= 4);
}
