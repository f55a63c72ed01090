//! Which compiler is taken, in folders made for the test.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};

use common::Folder;
use standstill_toolchain::{CompilerKind, Environment, Found, LocateError, locate};

#[track_caller]
fn check(named: Option<&Path>, environment: &Environment, path: PathBuf, found: Found) {
    let compiler = locate(named, environment).unwrap();
    assert_eq!((compiler.path, compiler.found), (path, found));
    assert_eq!(compiler.kind, CompilerKind::Nvcc);
}

#[test]
fn nvcc_in_the_order_of_the_places() {
    let all = Folder::with(&[
        ("path/nvcc", ""),
        ("home/bin/nvcc", ""),
        ("system/bin/nvcc", ""),
        ("cache/standstill/cuda-13.5.37/bin/nvcc", ""),
        ("cache/standstill/cuda-13.10.1/bin/nvcc", ""),
        ("named/nvcc", ""),
        ("named/bin/nvcc", ""),
    ]);
    all.add("cache/standstill/cuda-14.0.0/bin/nvcc", "", 0o644);
    all.add("cache/standstill/.fetch-x/bin/nvcc", "", 0o755);
    let mut environment = Environment {
        path: vec![all.path("nowhere"), all.path("path")],
        cuda_homes: vec![all.path("nowhere"), all.path("home")],
        system_toolkits: vec![all.path("system")],
        cache: Some(all.path("cache")),
    };
    check(Some(&all.path("named/nvcc")), &environment, all.path("named/nvcc"), Found::Named);
    check(Some(&all.path("named")), &environment, all.path("named/bin/nvcc"), Found::Named);
    check(Some(&all.path("named/bin")), &environment, all.path("named/bin/nvcc"), Found::Named);
    check(Some(Path::new("nvcc")), &environment, all.path("path/nvcc"), Found::Named);
    check(None, &environment, all.path("path/nvcc"), Found::Path);
    environment.path.clear();
    check(None, &environment, all.path("home/bin/nvcc"), Found::CudaHome);
    environment.cuda_homes.clear();
    check(None, &environment, all.path("system/bin/nvcc"), Found::System);
    environment.system_toolkits.clear();
    // The newest that can be executed: versions are numbers, not text.
    check(None, &environment, all.path("cache/standstill/cuda-13.10.1/bin/nvcc"), Found::Cache);
}

#[test]
fn a_file_that_cannot_be_executed_is_passed_over() {
    let folder = Folder::with(&[("second/nvcc", "")]);
    folder.add("first/nvcc", "", 0o644);
    let path = vec![folder.path("first"), folder.path("second")];
    let environment = Environment { path, ..Environment::default() };
    check(None, &environment, folder.path("second/nvcc"), Found::Path);
}

#[track_caller]
fn check_named_error(named: &Path, environment: &Environment, expected: &str) {
    let error = locate(Some(named), environment).unwrap_err();
    assert!(matches!(error, LocateError::Named { .. }));
    assert_eq!(error.to_string(), format!("{}: {expected}", named.display()));
}

#[test]
fn a_named_compiler_must_be_there() {
    let folder = Folder::with(&[]);
    folder.add("nvcc", "", 0o644);
    let environment = Environment::default();
    check_named_error(&folder.path("nothing"), &environment, "no such file");
    check_named_error(&folder.path("nvcc"), &environment, "not an executable file");
    check_named_error(&folder.path(""), &environment, "no nvcc in this folder");
    check_named_error(Path::new("nvcc-of-no-name"), &environment, "no such program in PATH");
}

/// A clang that writes its arguments to the file behind `-o`.
const WORKING: &str = r#"out=; for a; do [ "$last" = -o ] && out=$a; last=$a; done; echo "$*" > "$out""#;
const BROKEN: &str = "echo warning: x >&2; echo 'clang: error: cannot find CUDA installation' >&2; exit 1";

#[test]
fn a_clang_that_can_compile_cuda() {
    let folder = Folder::with(&[("clang++", BROKEN), ("clang++-15", BROKEN), ("clang++-19", WORKING)]);
    folder.add("cuda/include/cuda.h", "", 0o644);
    let environment = Environment {
        path: vec![folder.path("")],
        cuda_homes: vec![folder.path("nowhere"), folder.path("cuda")],
        ..Environment::default()
    };
    let compiler = locate(None, &environment).unwrap();
    assert_eq!((compiler.path, compiler.found), (folder.path("clang++-19"), Found::Path));
    assert_eq!(compiler.kind, CompilerKind::Clang { toolkit: Some(folder.path("cuda")) });

    // One that is named is believed.
    let named = locate(Some(Path::new("clang++")), &environment).unwrap();
    assert_eq!((named.path, named.found), (folder.path("clang++"), Found::Named));
    assert_eq!(named.kind, CompilerKind::Clang { toolkit: Some(folder.path("cuda")) });
}

#[test]
fn no_compiler_names_the_three_ways() {
    let message = locate(None, &Environment::default()).unwrap_err().to_string();
    for way in ["PATH", "CUDA_HOME", "--nvcc", "clang", "--fetch-nvcc"] {
        assert!(message.contains(way), "{way}: {message}");
    }
    assert_eq!(message.lines().count(), 4);

    let folder = Folder::with(&[("clang++-16", BROKEN)]);
    let environment = Environment { path: vec![folder.path("")], ..Environment::default() };
    let message = locate(None, &environment).unwrap_err().to_string();
    let clang = folder.path("clang++-16");
    let last = format!(
        "({} cannot compile CUDA here: clang: error: cannot find CUDA installation)",
        clang.display()
    );
    assert_eq!(message.lines().last(), Some(last.as_str()));
}
