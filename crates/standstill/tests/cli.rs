//! The command as a person calls it: arguments, bad input, formats and exit codes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use std::path::Path;

use common::{Ran, Workplace};
use serde_json::Value;

/// A kernel with nothing wrong in it.
const GOOD: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z4goodPi(.param .u64 p)
{
    bar.sync 0;
    ret;
}
";

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_clean_kernel_is_clean() {
    let place = Workplace::new();
    place.file("good.ptx", GOOD);
    place.run(&["check", "good.ptx"]).exits(0).prints("no findings; checked 1 kernel and ");
    let json = place.run(&["check", "--format", "json", "good.ptx"]).exits(0).json();
    assert_eq!(json["version"], 1);
    assert_eq!(json["coverage"]["kernels"], 1);
    assert_eq!(json["exit"], 0);
    assert_eq!(json["evidence"]["inputs"][0]["path"], "good.ptx");
    assert_eq!(json["evidence"]["inputs"][0]["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(json["evidence"]["command"], "standstill check --format json good.ptx");
}

/// Each bad input gives its one error with its place, and the good one beside it is still checked.
#[test]
fn bad_input_is_named_and_the_others_are_checked() {
    let place = Workplace::new();
    place.file("good.ptx", GOOD);
    place.file("empty.ptx", "");
    place.file("empty.cu", " \n\n");
    place.file("empty", "");
    place.file("bytes.ptx", b".version 8.0\n.target sm_90\n  \xff\n");
    place.file("cut.ptx", &GOOD[..GOOD.len() - 10]);
    place.file("cut-header.ptx", ".version 8.0\n.target sm_90\n.visible .entry k(.param .u6");
    place.file("random", [0x13u8, 0x37, 0xff, 0x00].repeat(1000));
    place.file("text.txt", "hello\n");
    place.file("a.wgsl", "fn main() {}");
    place.file("a.spv", [3, 2, 35, 7]);
    place.file("a.rs", "fn main() {}");
    place.file("cut.rs", "#[kernel]\nfn k(space: Space");
    std::fs::create_dir(place.path("folder")).unwrap();
    let cases = [
        ("missing.ptx", "missing.ptx: there is no such file"),
        ("folder", "folder: this is a directory"),
        ("empty.ptx", "empty.ptx: the file is empty"),
        ("empty.cu", "empty.cu: the file is empty"),
        ("empty", "empty: the file is empty"),
        ("bytes.ptx", "bytes.ptx:3:3: this byte is not UTF-8"),
        ("cut.ptx", "cut.ptx:"),
        ("cut-header.ptx", "cut-header.ptx:"),
        ("random", "random: neither PTX"),
        ("text.txt", "text.txt: neither PTX"),
        ("a.wgsl", "it has no compute entry point"),
        ("a.spv", "the module ends in the middle of a word, or in its header"),
        ("a.rs", "a.rs: no function in it is marked `#[kernel]`"),
        ("cut.rs", "cut.rs:2:"),
    ];
    for (file, message) in cases {
        let ran = place.run(&["check", file, "good.ptx"]).exits(2).says(message);
        assert!(ran.out().contains("checked "), "{file}: {}", ran.out());
        assert!(!ran.out().contains("checked 0 kernels"), "{file}: {}", ran.out());
        assert_eq!(ran.err().matches("error").count(), 1, "{file}: one clear error: {}", ran.err());
    }
    let files: Vec<&str> = cases.iter().map(|(file, _)| *file).collect();
    let all = [&["check", "--format", "json", "-j", "2"], files.as_slice()].concat();
    let errors = place.run(&all).exits(2).json()["errors"].as_array().unwrap().len();
    assert_eq!(errors, cases.len());
}

#[test]
fn a_binary_without_ptx_says_what_it_holds() {
    let place = Workplace::new();
    let own = env!("CARGO_BIN_EXE_standstill");
    place.run(&["check", own]).exits(2).says("it holds no CUDA device code");
}

#[test]
fn the_place_of_a_syntax_error_is_a_line_and_a_column() {
    let place = Workplace::new();
    let next = "\n.visible .entry next() { ret; }\n";
    place.file("bad.ptx", GOOD.replace("bar.sync 0;", "bar.sync [[[;\n    mov.u32 %r1, 3;") + next);
    let json = place.run(&["check", "--format", "json", "bad.ptx"]).exits(2).json();
    assert_eq!(json["errors"][0]["line"], 6, "{json}");
    // Reading goes on behind the error; a kernel that is read in part is not judged.
    assert_eq!(json["coverage"]["kernels"], 1, "{json}");
    place.run(&["check", "bad.ptx", "--kernel", "next"]).exits(2).prints("checked 1 kernel");
    place.run(&["check", "bad.ptx", "--kernel", "good"]).exits(2).prints("checked 0 kernels");
}

#[test]
fn what_is_not_understood_is_counted_and_counts_under_strict() {
    let place = Workplace::new();
    place.file("new.ptx", GOOD.replace("bar.sync 0;", "frob.sync.b32 %r1, 3;\n    frob.sync.b32 %r1, 4;"));
    place.run(&["check", "new.ptx"]).exits(0).prints("not understood: 2 instructions (frob.sync.b32 ×2)");
    let json = place.run(&["check", "--strict", "--format", "json", "new.ptx"]).exits(3).json();
    let expected = serde_json::json!([{"file": "new.ptx", "line": 6, "what": "frob.sync.b32", "count": 2}]);
    assert_eq!(json["not_understood"], expected);
}

#[test]
fn nothing_to_analyse_is_not_success() {
    let place = Workplace::new();
    place.file("none.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n");
    place.run(&["check", "none.ptx"]).exits(3).prints("nothing was analysed");
    place.file("good.ptx", GOOD);
    place.run(&["check", "none.ptx", "good.ptx"]).exits(0);
    place.run(&["check", "--kernel", "good", "good.ptx"]).exits(0);
    place
        .run(&["check", "--kernel", "goof", "good.ptx"])
        .exits(2)
        .says("no kernel in the inputs is named goof");
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_and_not_lost() {
    let place = Workplace::new();
    place.file("good.ptx", GOOD);
    place
        .run(&["check", "good.ptx", "--output", "no/such/folder/report"])
        .exits(2)
        .says("no/such/folder/report: the report cannot be written there")
        .prints("checked 1 kernel");
    std::fs::create_dir(place.path("folder")).unwrap();
    place.run(&["check", "good.ptx", "-o", "folder"]).exits(2).says("it is a directory");
    let ran = place.run(&["check", "good.ptx", "--format", "json", "-o", "report.json"]).exits(0);
    assert_eq!(ran.out(), "");
    assert_eq!(json_of(&place.path("report.json"))["exit"], 0);
}

#[test]
fn wrong_calls_exit_with_2() {
    let place = Workplace::new();
    place.file("good.ptx", GOOD);
    let cases: &[(&[&str], &str)] = &[
        (&["check"], "<FILE>"),
        (&["chek", "good.ptx"], "chek"),
        (&["check", "good.ptx", "--block", "0"], "at least 1"),
        (&["check", "good.ptx", "--block", "1x2x3x4"], "at most three"),
        (&["check", "good.ptx", "--grid", "many"], "not a number"),
        (&["check", "good.ptx", "--param", "n=3"], "POSITION=VALUE"),
        (&["check", "good.ptx", "--assume", "p0 = 3"], "column 4"),
        (&["check", "good.ptx", "--assume", "n > 3"], "neither a number"),
        (&["check", "good.ptx", "--allow", "divergent-barier"], "did you mean divergent-barrier?"),
        (&["check", "good.ptx", "--format", "xml"], "xml"),
        (&["check", "good.ptx", "--fail-on", "note"], "note"),
        (&["check", "good.ptx", "-q", "-v"], "cannot be used with"),
        (&["check", "good.ptx", "--regs", "0"], "0"),
        (&["check", "good.ptx", "--gpu", "h2000"], "known cards are v100, t4,"),
        (&["explain", "E9999"], "there is no rule `E9999`"),
    ];
    for (arguments, message) in cases {
        place.run(arguments).exits(2).says(message);
    }
}

#[test]
fn arguments_of_all_kinds_are_accepted() {
    let place = Workplace::new();
    place.file("good.ptx", GOOD);
    let arguments = [
        "check",
        "good.ptx",
        "--block=32x8",
        "--grid=4x2x1",
        "--cluster=2",
        "--param=0=7",
        "--param=good:0=-8",
        "--assume",
        "p0 % 256 == 0 && grid.x >= 1",
        "--cflags",
        "-O1 -DX=\"a b\"",
        "--arch=sm_80",
        "--platform=all",
        "--gpu=h200",
        "--regs=64",
        "--allow=E0009,wait-cycle",
        "--fail-on=warning",
        "--color=never",
        "-v",
        "-j1",
    ];
    place.run(&arguments).exits(0);
}

#[test]
fn a_wrong_launch_comment_is_an_error_with_its_line() {
    let place = Workplace::new();
    place.file("good.ptx", format!("// standstill: launch(blok = 3)\n{GOOD}"));
    place.run(&["check", "good.ptx"]).exits(2).says("good.ptx:1: `blok` in a launch comment");
    place.file("good.ptx", format!("// standstill: launch(block = 32, grid = 2, p0 = 4)\n{GOOD}"));
    place.run(&["check", "good.ptx"]).exits(0);
}

#[test]
fn every_format_is_written() {
    let place = Workplace::new();
    place.file("good.ptx", GOOD);
    place.run(&["check", "good.ptx", "--format", "junit"]).exits(0).prints("<testcase name=\"good\"");
    let sarif = place.run(&["check", "good.ptx", "--format", "sarif"]).exits(0).json();
    assert_eq!(sarif["version"], "2.1.0");
    let quiet = place.run(&["check", "good.ptx", "-q"]).exits(0);
    assert_eq!(quiet.out(), "");
}

#[test]
fn rules_are_listed_and_explained() {
    let place = Workplace::new();
    place.run(&["rules"]).exits(0).prints("E0009  early-exit-barrier");
    place.run(&["explain", "e0203"]).exits(0).prints("# missing-release").prints("# missing-acquire");
    place.run(&["explain", "wait-cycle"]).exits(0).prints("# wait-cycle (E0105)");
}

#[test]
fn without_a_compiler_the_three_ways_are_named() {
    let place = Workplace::new();
    place.file("a.cu", "__global__ void k() {}\n");
    let output = place
        .command()
        .args(["check", "a.cu"])
        .env_remove("CUDA_HOME")
        .env_remove("CUDA_PATH")
        .env("PATH", "/nonexistent")
        .env("HOME", place.folder.path())
        .env("XDG_CACHE_HOME", place.folder.path())
        .output()
        .unwrap();
    // A toolkit in its default place is found without PATH.
    if !Path::new("/usr/local/cuda/bin/nvcc").exists() {
        Ran::new(output).exits(2).says("--nvcc").says("--fetch-nvcc");
    }
    place.run(&["check", "a.cu", "--nvcc", "no-such-nvcc"]).exits(2).says("no-such-nvcc");
}
