//! Python lines of a stopped program, for every Python that is installed here.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{Keep, plan};
use standstill_supervisor::run;

const PROGRAM: &str = "\
import threading, time


def leaf(seconds):
    if seconds > 1:
        time.sleep(
            seconds)


class Größe:
    def step(self):
        leaf(1000)


threading.Thread(target=lambda: time.sleep(1001), daemon=True).start()
Größe().step()
";

/// The interpreters in `PATH` and those of pyenv.
fn interpreters() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        found.extend((11..=15).map(|minor| folder.join(format!("python3.{minor}"))));
    }
    if let Some(home) = std::env::var_os("HOME") {
        let versions = std::fs::read_dir(PathBuf::from(home).join(".pyenv/versions")).into_iter().flatten();
        found.extend(versions.flatten().map(|version| version.path().join("bin/python3")));
    }
    found.retain(|path| path.is_file() && !path.to_string_lossy().contains("shims"));
    found
}

fn version(python: &PathBuf) -> Option<(u32, u32)> {
    let output =
        Command::new(python).args(["-c", "import sys; print(*sys.version_info[:2])"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut numbers = text.split_ascii_whitespace().map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[test]
fn lines_of_every_python() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("größe-{}.py", std::process::id()));
    std::fs::write(&file, PROGRAM).unwrap();
    let mut seen = Vec::new();
    for python in interpreters() {
        let version = version(&python);
        if seen.contains(&version) || !matches!(version, Some((3, 10..))) {
            continue;
        }
        seen.push(version);
        let known = matches!(version, Some((3, 11..=15)));
        let mut command = Command::new(&python);
        command.arg(&file);
        let mut keep = Keep::default();
        run(plan(command, Duration::from_millis(1500)), &mut keep).unwrap();
        let threads = &keep.stacks[0].threads;
        let main: Vec<(&str, u32)> =
            threads[0].python.iter().map(|frame| (frame.function.as_str(), frame.line)).collect();
        if !known {
            assert_eq!(main, [], "{}", python.display());
            continue;
        }
        assert_eq!(main, [("leaf", 6), ("Größe.step", 12), ("<module>", 16)], "{}", python.display());
        assert!(threads[0].python.iter().all(|frame| file.ends_with(&frame.file)), "{}", python.display());
        let other: Vec<(&str, u32)> =
            threads[1].python.iter().map(|frame| (frame.function.as_str(), frame.line)).collect();
        assert_eq!(other[0], ("<lambda>", 15), "{}", python.display());
    }
    let _ = std::fs::remove_file(file);
}

/// What the report names as the test, for a program that hangs.
fn test_of(command: Command) -> String {
    let mut keep = Keep::default();
    run(plan(command, Duration::from_millis(2500)), &mut keep).unwrap();
    keep.stacks
        .iter()
        .find(|process| !process.test.is_empty())
        .map(|process| process.test.clone())
        .unwrap_or_default()
}

/// An interpreter whose frames can be read.
fn readable_python() -> Option<PathBuf> {
    interpreters().into_iter().find(|python| matches!(version(python), Some((3, 11..=15))))
}

const TESTS: &str = "\
import time, unittest


class TestKernels(unittest.TestCase):
    def test_passes(self):
        pass

    def test_waits(self):
        helper()


def helper():
    time.sleep(1000)


def pytest_generate_tests(metafunc):
    if 'size' in metafunc.fixturenames:
        metafunc.parametrize('size', [128, 256])


def test_sizes(size):
    if size == 256:
        helper()
";

#[test]
fn the_test_that_hangs_is_named() {
    let Some(python) = readable_python() else { return };
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("test_kernels.py"), TESTS).unwrap();
    let command = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        command.args(arguments).current_dir(place.path()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let found = test_of(command(&["-m", "unittest", "test_kernels"]));
    assert!(found.ends_with("test_kernels.py::TestKernels::test_waits"), "{found}");
    // As pytest does it, changing the variable before each test.
    let script = "import os, time
for name in ('a.py::test_one (call)', 'a.py::test_two[256-fp16] (call)'):
    os.environ['PYTEST_CURRENT_TEST'] = name
time.sleep(1000)
";
    assert_eq!(test_of(command(&["-c", script])), "a.py::test_two[256-fp16]");
    assert_eq!(test_of(command(&["-c", "import time; time.sleep(1000)"])), "");
    // The real one, where it is installed.
    if command(&["-m", "pytest", "--version"]).status().is_ok_and(|status| status.success()) {
        let found = test_of(command(&["-m", "pytest", "-q", "-k", "sizes"]));
        assert_eq!(found, "test_kernels.py::test_sizes[256]");
    }
}
