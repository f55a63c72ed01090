//! Where kernels are launched, in programs as compilers make them (x86-64 is what can be read).

#![cfg(target_arch = "x86_64")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use standstill_supervisor::Programs;

const SOURCE: &str = include_str!("children/launching.cpp");
const KERNELS: [(&str, &str); 7] = [
    ("once", "_Z4oncePi"),
    ("twice", "_Z5twicePi"),
    ("hidden", "_Z6hiddenPi"),
    ("generic", "_Z7genericIiEvPT_"),
    ("plain", "plain"),
    ("cooperative", "_Z11cooperativePi"),
    ("never", "_Z5neverPi"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/children")
}

fn compile(arguments: &[&str], sources: &[&str], output: &Path) {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "g++".to_owned());
    let sources = sources.iter().map(|source| folder().join(source));
    let mut command = Command::new(compiler);
    command.args(sources).args(arguments).arg("-o").arg(output);
    assert!(command.status().unwrap().success(), "{command:?}");
}

/// A program that has come to its end of work and waits.
struct Running(Child);

impl Running {
    fn start(program: &Path) -> Running {
        let mut child = Command::new(program).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Running(child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The lines on which a kernel is launched, by the marks in the source.
fn marked(kernel: &str) -> Vec<u32> {
    let mark = format!("// launches {kernel}");
    let numbered = SOURCE.lines().zip(1u32..);
    numbered.filter(|(line, _)| line.ends_with(&mark)).map(|(_, number)| number).collect()
}

/// Compares what is found in a program with the marks; the program has ended by then.
#[track_caller]
fn check(what: &str, program: &Path) {
    let running = Running::start(program);
    let programs = Programs::of(running.0.id() as i32);
    drop(running);
    for (name, symbol) in KERNELS {
        let found = programs.launches(symbol);
        let lines: Vec<u32> = found.iter().map(|launch| launch.line).collect();
        assert_eq!(lines, marked(name), "{what}: {name}: {found:?}");
        assert!(found.iter().all(|launch| launch.file.ends_with("launching.cpp")), "{what}: {found:?}");
        let known = |function: &str| ["work(int*)", "helper(int*)"].contains(&function);
        assert!(found.iter().all(|launch| known(&launch.function)), "{what}: {found:?}");
    }
    assert_eq!(programs.launches("_Z6absentPi"), []);
    assert_eq!(programs.launches(""), []);
}

#[test]
fn launches_of_every_form() {
    let place = tempfile::tempdir().unwrap();
    let both = ["launching.cpp", "launching_runtime.cpp"];
    for flags in [
        "-O0",
        "-O1",
        "-O2",
        "-O3",
        "-O2 -fno-plt",
        "-O0 -no-pie",
        "-O2 -no-pie",
        "-Os",
        "-O2 -fcf-protection",
    ] {
        let program = place.path().join("program");
        let arguments: Vec<&str> = flags.split(' ').chain(["-g"]).collect();
        compile(&arguments, &both, &program);
        check(flags, &program);
    }
    // As an extension of another program: calls go through the linker's table.
    for flags in ["-O0", "-O2", "-O2 -fno-plt", "-O2 -fno-semantic-interposition", "-O2 -fvisibility=hidden"]
    {
        let library = place.path().join("liblaunching.so");
        let mut arguments: Vec<&str> = flags.split(' ').chain(["-g", "-shared", "-fPIC"]).collect();
        if flags.contains("hidden") {
            arguments.push("-Dwork=__attribute__((visibility(\"default\")))work");
        }
        compile(&arguments, &["launching.cpp"], &library);
        let program = place.path().join("program");
        let rpath = format!("-Wl,-rpath,{}", place.path().display());
        compile(&["-rdynamic", &rpath, library.to_str().unwrap()], &["launching_runtime.cpp"], &program);
        check(&format!("library {flags}"), &program);
    }
}

#[test]
fn without_lines_the_function_is_named_and_without_names_nothing() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("program");
    compile(&["-O1"], &["launching.cpp", "launching_runtime.cpp"], &program);
    let running = Running::start(&program);
    let found = Programs::of(running.0.id() as i32).launches("_Z4oncePi");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].function.as_str(), found[0].line), ("work(int*)", 0));
    drop(running);
    compile(&["-O1", "-s"], &["launching.cpp", "launching_runtime.cpp"], &program);
    let running = Running::start(&program);
    assert_eq!(Programs::of(running.0.id() as i32).launches("_Z4oncePi"), []);
}

#[test]
fn a_program_that_was_built_anew_is_read_as_it_runs() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("program");
    compile(&["-O1", "-g"], &["launching.cpp", "launching_runtime.cpp"], &program);
    let running = Running::start(&program);
    std::fs::remove_file(&program).unwrap();
    std::fs::write(&program, "another").unwrap();
    let found = Programs::of(running.0.id() as i32).launches("_Z4oncePi");
    assert_eq!(found.iter().map(|launch| launch.line).collect::<Vec<u32>>(), marked("once"));
}

#[test]
fn programs_without_device_code_are_left_alone() {
    let programs = Programs::of(std::process::id() as i32);
    assert_eq!(programs.launches("main"), []);
}
