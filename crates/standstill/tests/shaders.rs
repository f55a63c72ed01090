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
        // Modules of other languages stand in folders of their own.
        if file.extension().is_none_or(|extension| extension != "wgsl") {
            continue;
        }
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

/// A text that goes too deep is an error of its own; the other inputs are checked.
#[test]
fn deep_texts_leave_the_other_inputs_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let sum = "+1".repeat(20_000);
    let shader = |body: &str| format!("@compute @workgroup_size(1) fn main() {{ {body} }}");
    let kernel = |body: &str| format!("#[kernel] fn g(space: Space, d: &mut [u32]) {{ {body} }}");
    let calls: String =
        (1..6_000).map(|n| format!("fn f{n}(x: u32) -> u32 {{ return f{}(x); }}\n", n - 1)).collect();
    let deep = [
        file("sum.wgsl", shader(&format!("let x = 1{sum};"))),
        file(
            "else.wgsl",
            shader(&format!("var x = 1; if x == 0 {{ }} {}", "else if x == 1 { x = 2; } ".repeat(9_000))),
        ),
        file(
            "calls.wgsl",
            format!("fn f0(x: u32) -> u32 {{ return x; }}\n{calls}{}", shader("_ = f5999(1u);")),
        ),
        file("sum.rs", kernel(&format!("d[0] = 1{sum};"))),
        file("if.rs", kernel(&format!("{}{}", "if d[0] > 1 { ".repeat(1_500), "}".repeat(1_500)))),
        file("not.rs", kernel(&format!("d[0] = {}1;", "!".repeat(40_000)))),
    ];
    let fault = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/shaders/reduce.bug.wgsl");
    let output =
        Command::new(env!("CARGO_BIN_EXE_standstill")).arg("check").args(&deep).arg(fault).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("error[E0009]"));
}
