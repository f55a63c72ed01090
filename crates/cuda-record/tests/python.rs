//! Where Python programs call, for every Python that is installed here.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on must stop")]

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::Place;
use standstill_trace::Call;

/// Calls the driver as libraries do: without the interpreter's lock, from frames of the library's own.
const LIBRARY: &str = "\
import ctypes

driver = ctypes.CDLL('libcuda.so.1')


def allocate(size):
    place = ctypes.c_uint64()
    driver.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(size))
";

/// Begins a backward pass: the rest of it is asked for by a thread of the library.
const BACKWARD: &str = "\
import ctypes
import library


def backward():
    library.allocate(6)
    library.driver.cuAllocateElsewhere(ctypes.c_size_t(7))
";

const PROGRAM: &str = "\
import threading
import library


class Model:
    def forward(self):
        library.allocate(1)
        return [library.allocate(2) for _ in range(2)]


for _ in range(3):
    Model().forward()
thread = threading.Thread(target=lambda: library.allocate(3))
thread.start()
thread.join()
library.driver.cuMemAlloc_v2(library.ctypes.byref(library.ctypes.c_uint64()),
                             library.ctypes.c_size_t(4))
library.allocate(5)
import torch.autograd
torch.autograd.backward()
torch.autograd.backward()
library.allocate(8)
library.driver.cuAllocateElsewhere(library.ctypes.c_size_t(9))
";

/// The interpreters in `PATH` and those of pyenv.
fn interpreters() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        found.extend((10..=15).map(|minor| folder.join(format!("python3.{minor}"))));
    }
    if let Some(home) = std::env::var_os("HOME") {
        let versions = PathBuf::from(home).join(".pyenv/versions");
        let versions = std::fs::read_dir(versions).into_iter().flatten().flatten();
        found.extend(versions.map(|version| version.path().join("bin/python3")));
    }
    found.retain(|path| path.is_file() && !path.to_string_lossy().contains("shims"));
    found
}

/// Whether an interpreter is one whose frames are known.
fn is_known(python: &PathBuf) -> bool {
    let asked = "import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 15))";
    Command::new(python).args(["-c", asked]).status().is_ok_and(|status| status.success())
}

#[test]
fn calls_stand_on_the_lines_of_the_program_itself() {
    let place = Place::new();
    let packages = place.path("site-packages");
    std::fs::create_dir(&packages).unwrap();
    std::fs::write(packages.join("library.py"), LIBRARY).unwrap();
    let torch = packages.join("torch/autograd");
    std::fs::create_dir_all(&torch).unwrap();
    std::fs::write(torch.join("__init__.py"), BACKWARD).unwrap();
    std::fs::write(place.path("train.py"), PROGRAM).unwrap();
    for python in interpreters().iter().filter(|python| is_known(python)) {
        let mut command = Command::new(python);
        command.arg(place.path("train.py")).env("PYTHONPATH", &packages);
        let (status, _, traces) = place.run_command(command, "LD_LIBRARY_PATH", true);
        assert!(status.success(), "{}", python.display());
        let records = &traces[0];
        let line = |wanted: u32| {
            records.iter().find_map(|record| match &record.call {
                Call::PlaceSite { site, file, line } if *site == wanted && file.ends_with("train.py") => {
                    Some(*line)
                }
                _ => None,
            })
        };
        let allocated = records.iter().filter_map(|record| match record.call {
            Call::Allocate { bytes, .. } => Some((bytes, line(record.site).unwrap_or(0))),
            _ => None,
        });
        let pass = [(1, 7), (2, 8), (2, 8)];
        let backward = [(6, 20), (7, 20), (6, 21), (7, 21), (8, 22), (9, 0)];
        let rest = [(3, 13), (4, 16), (5, 18)];
        let expected = [&pass[..], &pass, &pass, &rest, &backward].concat();
        assert_eq!(allocated.collect::<Vec<_>>(), expected, "{}", python.display());
        // Each line is named once.
        let named = records.iter().filter(|record| matches!(record.call, Call::PlaceSite { .. })).count();
        assert!((10..=12).contains(&named), "{named} lines: {}", python.display());
        let elsewhere = records.iter().filter(|it| matches!(it.call, Call::ForBackward { .. })).count();
        assert_eq!(elsewhere, 2);
        println!("{}", python.display());
    }
}
