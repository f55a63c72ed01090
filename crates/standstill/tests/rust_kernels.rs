//! `check` with Rust kernels: the full form of what the compiler can only tell in pieces.
#![allow(clippy::expect_used, reason = "a test fails by it")]

use std::path::Path;
use std::process::Command;

/// The exit code and the output of `check` with these arguments, from the folder of the example crate.
fn check(arguments: &[&str]) -> (i32, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/outside");
    let mut command = Command::new(env!("CARGO_BIN_EXE_standstill"));
    command.args(["check", "--color", "never"]).args(arguments).current_dir(folder);
    let output = command.output().expect("the command runs");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap_or(-1), text)
}

#[test]
fn a_sync_under_a_condition_is_shown_with_both_labels() {
    let (code, text) = check(&["wrong/branch.rs"]);
    let expected = "\
error[E0009]: divergent tile synchronization detected inside #[kernel]
  --> wrong/branch.rs:12:9
   |
 8 |     if space.cell_x < 128 {
   |        ------------------ branch condition is non-uniform across tile cells
...
12 |         space.sync();
   |         ^^^^^^^^^^^^ tile synchronization called here
   |
   = note: all cells of a tile must reach `space.sync()` together: a barrier inside non-uniform control flow deadlocks \
        the hardware for good, or lets cells run past it unordered
";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("= help: move `space.sync()` out of the conditional, or make"), "{text}");
    assert_eq!(code, 1);
}

#[test]
fn other_forms_of_it_are_told_as_what_they_are() {
    let cases: [(&str, &[&str]); 3] = [
        (
            "wrong/early_return.rs",
            &[
                "8 |     if !space.in_bounds_x() {",
                "-------------------- branch condition is non-uniform across tile cells: some return here",
                "12 |     space.sync();",
                "= help: let trailing cells load a neutral value and reach `space.sync()`",
            ],
        ),
        (
            "wrong/helper.rs",
            &[
                "12 |         space.sync();",
                "18 |         if input[space.x] > 100 {",
                "-------------------- branch condition is non-uniform across tile cells",
                "= note: reached through wrong/helper.rs:19",
            ],
        ),
        (
            "wrong/rounds.rs",
            &[
                "7 |     for round in 0..space.cell_x {",
                "--------------- the number of rounds is non-uniform across tile cells",
                "9 |         space.sync();",
            ],
        ),
    ];
    for (file, parts) in cases {
        let (code, text) = check(&[file]);
        assert_eq!((code, text.matches("error[E0009]").count()), (1, 1), "{text}");
        for part in parts {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}

#[test]
fn right_kernels_raise_nothing() {
    let files = ["src/main.rs", "../rust/first.rs", "../rust/matmul.rs", "../rust/histogram.rs"];
    let (code, text) = check(&files);
    assert!(text.contains("no findings; checked 7 kernels"), "{text}");
    assert_eq!(code, 0);
}

#[test]
fn what_is_no_kernel_has_its_place() {
    let (code, text) = check(&["wrong/not_a_kernel.rs"]);
    assert_eq!(code, 2, "{text}");
    for part in [
        "wrong/not_a_kernel.rs:8:18: a kernel's `for` runs over a range",
        "wrong/not_a_kernel.rs:12:29: expected `f32`, found `u32`; convert it with `as f32`",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_launch_decides_what_the_code_leaves_open() {
    // Whole tiles: nobody returns early.
    let arguments = ["wrong/early_return.rs", "--block", "256", "--grid", "4", "--param", "4=1024"];
    let (code, text) = check(&arguments);
    assert_eq!((code, text.contains("no findings")), (0, true), "{text}");
    let (code, _) = check(&["wrong/early_return.rs", "--block", "256", "--grid", "4", "--param", "4=1000"]);
    assert_eq!(code, 1);
}
