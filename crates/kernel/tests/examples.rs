//! The examples run, and print what they should.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::process::Command;

/// Runs an example, which cargo has built beside the tests.
fn check(name: &str, expected: &str) {
    let own = std::env::current_exe().unwrap();
    let program = own.parent().and_then(|deps| deps.parent()).unwrap().join("examples").join(name);
    if !program.exists() {
        // Only some targets were built, as by `cargo test --test examples`.
        return;
    }
    let output = Command::new(program).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(expected), "{name}: {text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name}");
}

#[test]
fn examples_print_what_they_should() {
    check("first", "[2.5, 5.0, 7.5, 10.0]");
    check("matmul", "0 of 3500 elements differ");
    check("histogram", "'e' occurs");
    check("atomic_update", "a plain read and write, all reads first: 2\nconfirmed\n");
    check("streams", "elements=4097 mismatches=0\nwithout the wait: error[E0301]");
    check("list", "[10, 20, 25, 30, 50]\nconfirmed\n");
}
