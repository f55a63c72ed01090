//! Programs on a card, whose driver is a stand-in that only keeps count: their host operations are recorded and judged.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use std::path::Path;
use std::process::Command;

use common::{Ran, Workplace};

/// A folder with a program and, in a folder of its own, its driver.
fn place() -> Workplace {
    let place = Workplace::new();
    std::fs::create_dir(place.path("driver")).unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cuda-record/tests/programs");
    let compile = |source: &str, to: &str, flags: &[&str]| {
        let mut command = Command::new("g++");
        command.args(["-std=c++17", "-g", "-o"]).arg(place.path(to)).arg(sources.join(source));
        assert!(command.args(flags).arg("-ldl").status().unwrap().success());
    };
    compile("driver.cpp", "driver/libcuda.so.1", &["-shared", "-fPIC"]);
    compile("program.cpp", "program", &[]);
    place
}

fn run(place: &Workplace, flags: &[&str], how: &str) -> Ran {
    let mut command = place.command();
    command.env("LD_LIBRARY_PATH", place.path("driver"));
    Ran::new(
        command.args(["run", "--device", "gpu"]).args(flags).args(["--", "./program", how]).output().unwrap(),
    )
}

#[test]
fn missing_order_is_found_and_the_trace_says_the_same() {
    let place = place();
    let ran = run(&place, &["--trace", "kept"], "race").exits(1);
    let ran = ran.says(
        "error[E0301]: the memset on stream 2 writes memory that the memset on stream 1 may still write",
    );
    ran.says("both touch 32 bytes").says("program.cpp:");
    place.run(&["streams", "kept"]).exits(1).prints("error[E0301]").prints("program.cpp:");
    place.run(&["streams", "--dump", "kept"]).exits(0).prints("stream 2  3: memset: writes");
}

#[test]
fn a_right_program_is_left_alone() {
    let place = place();
    let ran = run(&place, &[], "ordered").exits(0);
    assert_eq!((ran.out().as_str(), ran.err().as_str()), ("", "no findings; checked 2 operations\n"));
    let mut ran = run(&place, &["-q"], "ordered").exits(0);
    assert_eq!(ran.err(), "");
    ran = run(&place, &["--races", "off"], "race").exits(0);
    assert_eq!(ran.err(), "");
    ran = run(&place, &["--format", "json", "--output", "report.json"], "ordered").exits(0);
    assert_eq!(ran.err(), "");
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(place.path("report.json")).unwrap()).unwrap();
    assert_eq!(report["coverage"]["operations"], 2);
}

#[test]
fn what_a_killed_program_has_asked_is_judged() {
    let place = place();
    run(&place, &["--trace", "kept"], "killed").exits(1).prints("first byte 7").says("error[E0310]");
    // The launches' arguments lead to their memory, and no code says what they do with it.
    place.run(&["streams", "--format", "json", "kept"]).exits(1).prints("\"widened\": 3");
}

#[test]
fn without_a_driver_the_program_runs_and_it_is_said() {
    let place = place();
    let mut command = place.command();
    let command =
        command.env("LD_LIBRARY_PATH", "").args(["run", "--device", "gpu", "--", "./program", "race"]);
    if Path::new("/dev/nvidiactl").exists() {
        return;
    }
    Ran::new(command.output().unwrap())
        .exits(8)
        .says("the order of host operations is not checked: libcuda.so.1 is nowhere to be found");
}
