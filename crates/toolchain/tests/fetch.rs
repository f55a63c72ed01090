//! Fetching, with a Python made for the test; and once for real, when asked for.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use std::fs;
use std::time::{Duration, SystemTime};

use common::Folder;
use standstill_toolchain::{Environment, FetchError, Found, TOOLKIT_VERSION, fetch, locate};

/// A Python whose `venv` is a copy of itself and whose pip runs `install`, with the folder in `$into`.
fn python(venv: &str, install: &str) -> String {
    format!(
        r#"case "$2" in
venv) {venv} ;;
pip)
    [ "$3" = --version ] && {{ echo pip 1.0; exit; }}
    for a; do [ "$last" = --target ] && into=$a; last=$a; done
    {install} ;;
esac"#
    )
}

const VENV: &str = r#"mkdir -p "$3/bin" && cp "$0" "$3/bin/python3""#;

const INSTALL: &str = r##"echo "Collecting x"
    echo "  Downloading nvcc.whl (1 MB)"
    mkdir -p "$into/nvidia/cu13/bin" "$into/nvidia/cu13/lib"
    printf '#!/bin/sh\necho release 0\n' > "$into/nvidia/cu13/bin/nvcc"
    chmod +x "$into/nvidia/cu13/bin/nvcc"
    touch "$into/nvidia/cu13/lib/libcudart.so.13""##;

fn environment(folder: &Folder) -> Environment {
    // The scripts need the system's own tools.
    let path = vec![folder.path("bin"), "/usr/bin".into(), "/bin".into()];
    Environment { path, cache: Some(folder.path("cache")), ..Environment::default() }
}

/// The names in the cache, hidden ones too.
fn cached(folder: &Folder) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder.path("cache/standstill")) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn fetched_once_and_found_afterwards() {
    let folder = Folder::with(&[("bin/python3", &python(VENV, INSTALL))]);
    let environment = environment(&folder);
    let mut lines = Vec::new();
    let compiler = fetch(&environment, &mut |line| lines.push(line.to_owned())).unwrap();
    let toolkit = folder.path(&format!("cache/standstill/cuda-{TOOLKIT_VERSION}"));
    assert_eq!((&compiler.path, compiler.found), (&toolkit.join("bin/nvcc"), Found::Cache));
    assert_eq!(
        lines,
        [
            "preparing a Python environment".to_owned(),
            format!("fetching nvcc {TOOLKIT_VERSION} (about 130 MB)"),
            "Downloading nvcc.whl (1 MB)".to_owned(),
            format!("nvcc {TOOLKIT_VERSION} is in {}", toolkit.display()),
        ]
    );
    assert_eq!(cached(&folder), [format!("cuda-{TOOLKIT_VERSION}")]);
    let link = fs::read_link(toolkit.join("lib/libcudart.so")).unwrap();
    assert_eq!(link.to_str(), Some("libcudart.so.13"));

    // Again, without Python and without a word.
    let offline = Environment { path: Vec::new(), ..environment };
    let again = fetch(&offline, &mut |line| panic!("{line}")).unwrap();
    assert_eq!(again, compiler);
    assert_eq!(locate(None, &offline).unwrap(), compiler);
}

#[test]
fn a_toolkit_without_a_compiler_is_replaced() {
    let folder = Folder::with(&[("bin/python3", &python(VENV, INSTALL))]);
    folder.add(&format!("cache/standstill/cuda-{TOOLKIT_VERSION}/lib/rest"), "", 0o644);
    let compiler = fetch(&environment(&folder), &mut |_| {}).unwrap();
    assert!(compiler.path.is_file());
    assert_eq!(cached(&folder), [format!("cuda-{TOOLKIT_VERSION}")]);
}

#[test]
fn abandoned_folders_are_removed() {
    let folder = Folder::with(&[("bin/python3", &python(VENV, INSTALL))]);
    for (name, days) in [(".fetch-old", 2), (".fetch-new", 0), ("other", 2)] {
        folder.add(&format!("cache/standstill/{name}/file"), "", 0o644);
        let path = folder.path(&format!("cache/standstill/{name}"));
        let time = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60 + 60);
        fs::File::open(path).unwrap().set_modified(time).unwrap();
    }
    fetch(&environment(&folder), &mut |_| {}).unwrap();
    let mut left = cached(&folder);
    left.sort();
    assert_eq!(left, [".fetch-new".to_owned(), format!("cuda-{TOOLKIT_VERSION}"), "other".to_owned()]);
}

#[test]
fn pip_without_venv_is_enough() {
    let folder = Folder::with(&[("bin/python3", &python("echo no ensurepip >&2; exit 1", INSTALL))]);
    assert!(fetch(&environment(&folder), &mut |_| {}).is_ok());
}

/// Fetches with a Python of which `venv` and `install` are the parts, and expects an error in these words.
#[track_caller]
fn check_failure(script: &str, expected: &str) -> FetchError {
    let folder = Folder::with(&[("bin/python3", script)]);
    let error = fetch(&environment(&folder), &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string().replace(folder.path("").to_str().unwrap(), "/"), expected);
    // Nothing is left behind.
    assert_eq!(cached(&folder), Vec::<String>::new());
    error
}

#[test]
fn failures_say_what_is_missing() {
    let neither = "echo 'No module named venv' >&2; exit 1";
    let error = check_failure(
        neither,
        "/bin/python3 has no usable venv and no pip (on Debian and Ubuntu: apt install python3-venv):\n\
         No module named venv",
    );
    assert!(matches!(error, FetchError::NoPip { .. }));

    let no_version = "echo 'ERROR: Could not find a version (from versions: none)' >&2; exit 1";
    let error = check_failure(
        &python(VENV, no_version),
        "the Python package index cannot be reached; check the network and pip's settings (pip config list):\n\
         ERROR: Could not find a version (from versions: none)",
    );
    assert!(matches!(error, FetchError::Network { .. }));

    let full = "echo 'ERROR: No space left on device' >&2; exit 1";
    let error =
        check_failure(&python(VENV, full), "pip could not install nvcc:\nERROR: No space left on device");
    assert!(matches!(error, FetchError::Install { .. }));

    let foreign = INSTALL.replace("echo release 0", "echo wrong machine; exit 1");
    let error = check_failure(
        &python(VENV, &foreign),
        "what was fetched does not run on this machine: wrong machine",
    );
    assert!(matches!(error, FetchError::Unusable(_)));
}

#[test]
fn without_python_or_a_cache() {
    let folder = Folder::with(&[]);
    let mut environment = environment(&folder);
    environment.path.clear();
    assert!(matches!(fetch(&environment, &mut |_| {}), Err(FetchError::NoPython)));
    environment.cache = None;
    assert!(matches!(fetch(&environment, &mut |_| {}), Err(FetchError::NoCache)));
    // A cache that cannot be written.
    folder.add("file", "", 0o644);
    folder.add("bin/python3", "", 0o755);
    let environment = Environment {
        path: vec![folder.path("bin")],
        cache: Some(folder.path("file")),
        ..Environment::default()
    };
    let error = fetch(&environment, &mut |_| {}).unwrap_err();
    assert!(matches!(error, FetchError::Cache { .. }), "{error}");
}

/// 130 MB from the network: `cargo test -p standstill-toolchain -- --ignored`.
#[test]
#[ignore = "fetches 130 MB"]
fn the_real_packages() {
    let cache = tempfile::tempdir().unwrap();
    let environment = Environment { cache: Some(cache.path().to_owned()), ..Environment::from_process() };
    let compiler = fetch(&environment, &mut |line| eprintln!("{line}")).unwrap();
    let source = cache.path().join("kernel.cu");
    fs::write(&source, "#include <cuda/atomic>\n__global__ void k(int *p) { *p = 1; }\n").unwrap();
    let request =
        standstill_toolchain::Request { source: &source, arch: "sm_90", flags: &[], directory: cache.path() };
    let compiled = compiler.compile(&request).unwrap();
    assert!(String::from_utf8(compiled.ptx).unwrap().contains(".entry _Z1kPi"));
    assert!(compiled.compiler.contains(&TOOLKIT_VERSION[..4]), "{}", compiled.compiler);
}
