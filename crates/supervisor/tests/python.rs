//! Python lines of a stopped program, for every Python that is installed here.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use std::path::PathBuf;
use std::process::Command;
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
