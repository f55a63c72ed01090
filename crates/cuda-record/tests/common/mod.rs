//! A stand-in for the driver, and programs before which the library stands.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use standstill_trace::{Reader, Record};
use tempfile::TempDir;

/// A folder with the library in the driver's place, the driver, and a program.
pub(crate) struct Place {
    folder: TempDir,
}

fn compile(source: &str, to: &Path, flags: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
    let mut command = Command::new("g++");
    let built = command.args(["-std=c++17", "-g", "-o"]).arg(to).arg(source).args(flags).status().unwrap();
    assert!(built.success());
}

fn library() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.parent().unwrap().join("libstandstill_cuda_record.so")
}

impl Place {
    pub(crate) fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        compile("driver.cpp", &path("libcuda-real.so"), &["-shared", "-fPIC", "-ldl"]);
        compile("program.cpp", &path("program"), &["-ldl"]);
        for name in ["libcuda.so", "libcuda.so.1"] {
            symlink(library(), path(name)).unwrap();
        }
        Place { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the program with the library before the driver: its end, its output and the traces of its processes.
    pub(crate) fn run(
        &self,
        variable: &str,
        arguments: &[&str],
        record: bool,
    ) -> (ExitStatus, String, Vec<Vec<Record>>) {
        let mut command = Command::new(self.path("program"));
        command.args(arguments);
        self.run_command(command, variable, record)
    }

    /// As [`Place::run`], for another program.
    pub(crate) fn run_command(
        &self,
        mut command: Command,
        variable: &str,
        record: bool,
    ) -> (ExitStatus, String, Vec<Vec<Record>>) {
        let traces = tempfile::tempdir().unwrap();
        match variable {
            "LD_PRELOAD" => command.env(variable, self.path("libcuda.so.1")),
            _ => command.env(variable, self.folder.path()),
        };
        command.env("STANDSTILL_JOURNAL", traces.path());
        if record {
            command.env("STANDSTILL_RECORD", "on");
        }
        let output = command.output().unwrap();
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(traces.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort_by_key(|file| std::fs::metadata(file).unwrap().modified().unwrap());
        let read = |file: &PathBuf| {
            let bytes = std::fs::read(file).unwrap();
            Reader::new(bytes.as_slice()).unwrap().collect::<Result<Vec<_>, _>>().unwrap()
        };
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status, text, files.iter().map(read).collect())
    }
}
