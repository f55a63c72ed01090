//! Where the laboratory's kernels are launched, as a CUDA compiler made its programs. Without a card they end soon and are
//! kept there.

#![cfg(target_arch = "x86_64")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on must stop, and says what it skips"
)]

mod common;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::Workplace;
use standstill_supervisor::Programs;
use standstill_toolchain::{CompilerKind, Environment, locate};

/// The lines of the laboratory with this text, from 1.
fn lines(part: &str) -> Vec<u32> {
    let source = include_str!("../../../examples/hang-lab/hang_lab.cu");
    source.lines().zip(1u32..).filter(|(line, _)| line.contains(part)).map(|(_, number)| number).collect()
}

#[test]
fn the_launches_of_the_laboratory() {
    let nvcc = match locate(None, &Environment::from_process()) {
        Ok(compiler) if compiler.kind == CompilerKind::Nvcc => compiler.path,
        found => {
            assert!(std::env::var("CI").is_err(), "this test needs nvcc: {found:?}");
            println!("SKIPPED for want of nvcc");
            return;
        }
    };
    let place = Workplace::new();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let built = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
    let staying = place.path("staying.so");
    let source = folder.join("../supervisor/tests/children/staying.c");
    built(Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&staying).arg(source));
    let cooperative = lines("cudaLaunchCooperativeKernel(");
    let kernels = [
        ("_Z11handoff_bugPKiPiS1_", lines("handoff_bug<<<")),
        ("_Z11handoff_fixPKiPiS1_", lines("handoff_fix<<<")),
        ("_Z12grid_barrierPiS_S_", [lines("grid_barrier<<<"), cooperative].concat()),
        ("_Z9steps_bugPKfiPiPf", lines("steps_bug<<<")),
    ];
    for level in ["-O0", "-O3"] {
        let program = place.path("hang_lab");
        let source = folder.join("../../examples/hang-lab/hang_lab.cu");
        built(Command::new(&nvcc).args(["-g", level, "-arch=sm_90", "-o"]).arg(&program).arg(source));
        check(&program, &staying, &kernels, level);
    }
}

/// Compares what is found with the lines of the source.
fn check(program: &Path, staying: &Path, kernels: &[(&str, Vec<u32>)], level: &str) {
    let mut command = Command::new(program);
    command.args(["--live", "9"]).env("LD_PRELOAD", staying).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    assert!(output.lines().map_while(Result::ok).any(|line| line == "ready"));
    let programs = Programs::of(child.id() as i32);
    child.kill().unwrap();
    child.wait().unwrap();
    for (kernel, expected) in kernels {
        let found = programs.launches(kernel);
        let lines: Vec<u32> = found.iter().map(|launch| launch.line).collect();
        assert_eq!(&lines, expected, "{level} {kernel} {found:?}");
        assert!(found.iter().all(|launch| launch.file.ends_with("hang_lab.cu")), "{found:?}");
    }
}
