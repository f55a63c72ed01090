//! Compiling: the arguments with a compiler made for the test, and real sources where nvcc is installed.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use std::fs;
use std::path::Path;

use common::Folder;
use standstill_toolchain::{
    CompileError, Compiled, Compiler, CompilerKind, Environment, Found, Request, locate, split_flags,
};

/// Writes its folder and arguments into the output, each on a line, and has a version.
const SHOW: &str = r#"[ "$1" = --version ] && { echo "nvcc: NVIDIA"; echo "Cuda compilation tools, release 13.5, V13.5.37"; exit; }
for a; do [ "$last" = -o ] && out=$a; last=$a; done
pwd > "$out"
for a; do echo "$a" >> "$out"; done
ls "$TMPDIR" >&2"#;

#[track_caller]
fn check_arguments(kind: CompilerKind, source: &str, flags: &str, expected: &[&str]) {
    let folder = Folder::with(&[("cc", SHOW), ("work/a.cu", ""), ("work/-b.cu", "")]);
    let compiler = Compiler { kind, path: folder.path("cc"), found: Found::Named };
    let request = Request {
        source: Path::new(source),
        arch: "sm_90",
        flags: &split_flags(flags).unwrap(),
        directory: &folder.path("work"),
    };
    let compiled = compiler.compile(&request).unwrap();
    let shown = String::from_utf8(compiled.ptx).unwrap();
    let shown: Vec<&str> = shown.lines().collect();
    let (output, arguments) = shown[1..].split_last().unwrap();
    assert_eq!(shown[0], folder.path("work").canonicalize().unwrap().to_str().unwrap());
    assert_eq!(arguments, expected);
    assert!(!Path::new(output).exists(), "{output} is still there");
    assert!(!Path::new(output).parent().unwrap().exists(), "the folder of {output} is still there");
    assert_eq!(compiled.warnings, "out.ptx");
    let typed = format!("{} {} {output}", folder.path("cc").display(), expected.join(" "));
    assert_eq!(compiled.command.replace('\'', ""), typed);
}

#[test]
fn arguments_for_nvcc() {
    let nvcc = || CompilerKind::Nvcc;
    check_arguments(nvcc(), "a.cu", "", &["-ptx", "-lineinfo", "-arch=sm_90", "-x", "cu", "a.cu", "-o"]);
    check_arguments(
        nvcc(),
        "./a.cu",
        "-DN='1 2' -arch sm_80 -G",
        &["-ptx", "-x", "cu", "-DN=1 2", "-arch", "sm_80", "-G", "./a.cu", "-o"],
    );
    check_arguments(
        nvcc(),
        "-b.cu",
        "-gencode=arch=compute_80,code=compute_80",
        &["-ptx", "-lineinfo", "-x", "cu", "-gencode=arch=compute_80,code=compute_80", "./-b.cu", "-o"],
    );
}

#[test]
fn arguments_for_clang() {
    let fixed = ["-x", "cuda", "--cuda-device-only", "-S", "-gline-tables-only", "-Wno-unknown-cuda-version"];
    let with = |more: &[&'static str]| [&fixed, more].concat();
    let clang = |toolkit: Option<&str>| CompilerKind::Clang { toolkit: toolkit.map(Into::into) };
    check_arguments(
        clang(Some("/opt/x")),
        "a.cu",
        "",
        &with(&["-O3", "--cuda-gpu-arch=sm_90", "--cuda-path=/opt/x", "a.cu", "-o"]),
    );
    check_arguments(
        clang(Some("/opt/x")),
        "a.cu",
        "-O1 --cuda-path=/y --offload-arch=sm_80",
        &with(&["-O1", "--cuda-path=/y", "--offload-arch=sm_80", "a.cu", "-o"]),
    );
    check_arguments(clang(None), "a.cu", "", &with(&["-O3", "--cuda-gpu-arch=sm_90", "a.cu", "-o"]));
}

#[test]
fn failures() {
    let folder = Folder::with(&[
        ("fails", "echo 'a.cu(3): error: no'; exit 2"),
        ("hostless", "echo 'nvcc fatal   : Failed to preprocess host compiler properties.' >&2; exit 1"),
        ("silent", ""),
        ("a.cu", ""),
    ]);
    let compile = |program: &str, source: &str| {
        let compiler = Compiler { kind: CompilerKind::Nvcc, path: folder.path(program), found: Found::Named };
        let directory = folder.path("");
        let request = Request { source: Path::new(source), arch: "sm_90", flags: &[], directory: &directory };
        compiler.compile(&request).unwrap_err()
    };
    let message = compile("fails", "a.cu").to_string();
    let expected = format!(
        "{} failed (exit status: 2):\na.cu(3): error: no\nthe command was: ",
        folder.path("fails").display()
    );
    assert!(message.starts_with(&expected), "{message}");
    let message = compile("hostless", "a.cu").to_string();
    assert!(message.contains("install g++"), "{message}");
    let message = compile("silent", "a.cu").to_string();
    assert!(message.contains("it wrote no PTX"), "{message}");
    assert!(matches!(compile("missing", "a.cu"), CompileError::Start { .. }));
    let message = compile("fails", "b.cu").to_string();
    assert_eq!(message, "b.cu: No such file or directory (os error 2)");
    assert!(matches!(compile("fails", "."), CompileError::Source { .. }));
}

/// The installed nvcc, for the tests that need one.
fn nvcc() -> Option<Compiler> {
    let found = locate(None, &Environment::from_process()).ok().filter(|c| c.kind == CompilerKind::Nvcc);
    if found.is_none() {
        eprintln!("skipped: no nvcc here");
    }
    found
}

fn compile(
    compiler: &Compiler,
    directory: &Path,
    source: &str,
    flags: &str,
) -> Result<Compiled, CompileError> {
    compiler.compile(&Request {
        source: Path::new(source),
        arch: "sm_90",
        flags: &split_flags(flags).unwrap(),
        directory,
    })
}

/// The names in a PTX text's `.file` directives, as typed.
fn files(compiled: &Compiled) -> Vec<String> {
    let text = std::str::from_utf8(&compiled.ptx).unwrap();
    let names = text.lines().filter(|line| line.trim_start().starts_with(".file"));
    names.map(|line| compiled.as_typed(line.split('"').nth(1).unwrap()).into_owned()).collect()
}

const KERNEL: &str = "__global__ void k(int *p) { p[threadIdx.x] = 1; }\n";

#[test]
fn real_file_names_are_as_typed() {
    let folder = Folder::with(&[]);
    let Some(compiler) = nvcc() else { return };
    let work = folder.path("a folder");
    fs::create_dir_all(work.join("sub")).unwrap();
    let header = "#include \"parts.h\"\n__global__ void k(int *p) { p[threadIdx.x] = part(p); }\n";
    fs::write(work.join("sub/k.cu"), header).unwrap();
    fs::write(work.join("sub/parts.h"), "__device__ inline int part(int *p) { return atomicAdd(p, 3); }\n")
        .unwrap();
    fs::write(work.join("-k.cu"), KERNEL).unwrap();
    let link = folder.path("link");
    std::os::unix::fs::symlink(&work, &link).unwrap();

    let absolute = work.canonicalize().unwrap().join("sub/k.cu");
    for directory in [&work, &link] {
        for source in ["sub/k.cu", "./sub/k.cu", "../a folder/sub/k.cu"] {
            let compiled = compile(&compiler, directory, source, "").unwrap();
            let names = files(&compiled);
            assert_eq!(names[0], source);
            assert_eq!(names[1], source.replace("k.cu", "parts.h"));
        }
        assert_eq!(files(&compile(&compiler, directory, "-k.cu", "").unwrap()), ["-k.cu"]);
    }
    // An absolute path below the folder comes out shorter, but names the same file.
    let compiled = compile(&compiler, &folder.path(""), absolute.to_str().unwrap(), "").unwrap();
    assert_eq!(folder.path("").join(&files(&compiled)[0]).canonicalize().unwrap(), absolute);
}

/// Characters that a shell would read, or that a line table writes in another way.
#[test]
fn real_file_names_with_any_character() {
    let folder = Folder::with(&[]);
    let Some(compiler) = nvcc() else { return };
    let header = "#include \"parts.h\"\n#include \"../up.h\"\n\
                  __global__ void k(int *p) { p[threadIdx.x] = part(p) + up(p); }\n";
    let function =
        |name: &str| format!("__device__ inline int {name}(int *p) {{ return atomicAdd(p, 3); }}\n");
    for (parent, name) in [("sub", "a\"b c.cu"), ("s$b `u'", "k.cu"), ("sub", "é\\.cu")] {
        let work = folder.path("work");
        fs::create_dir_all(work.join(parent)).unwrap();
        fs::write(work.join(parent).join(name), header).unwrap();
        fs::write(work.join(parent).join("parts.h"), function("part")).unwrap();
        fs::write(work.join("up.h"), function("up")).unwrap();
        let source = format!("{parent}/{name}");
        let compiled = compile(&compiler, &work, &source, "").unwrap();
        let expected = [source.clone(), format!("{parent}/parts.h"), format!("{parent}/../up.h")];
        let mut names = files(&compiled);
        names.retain(|name| Path::new(name).is_relative());
        assert_eq!(names, expected);
        fs::write(work.join(parent).join(name), "int x = ;\n").unwrap();
        let message = compile(&compiler, &work, &source, "").unwrap_err().to_string();
        assert!(message.contains(&format!("\n{source}(1): error")), "{message}");
    }
}

#[test]
fn real_headers() {
    let folder = Folder::with(&[]);
    let Some(compiler) = nvcc() else { return };
    let source = "#include <cooperative_groups.h>
#include <cub/block/block_reduce.cuh>
#include <cuda/atomic>
#include <cuda_runtime.h>
__global__ void k(int *p) {
    cooperative_groups::this_thread_block().sync();
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(p[0]);
    flag.store(1, cuda::std::memory_order_release);
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ typename Reduce::TempStorage storage;
    p[1] = Reduce(storage).Sum(threadIdx.x);
}
";
    fs::write(folder.path("k.cu"), source).unwrap();
    let compiled = compile(&compiler, &folder.path(""), "k.cu", "-DX='a b' -std=c++17").unwrap();
    let text = std::str::from_utf8(&compiled.ptx).unwrap();
    assert!(text.contains(".entry _Z1kPi") && text.contains("barrier.sync"), "{text}");
    assert!(compiled.compiler.starts_with("nvcc: Cuda compilation tools, release "), "{}", compiled.compiler);
    assert_eq!(compiled.warnings, "");
}

#[test]
fn real_warnings_and_errors() {
    let folder = Folder::with(&[]);
    let Some(compiler) = nvcc() else { return };
    fs::write(folder.path("warn.cu"), "__global__ void k() { int unused; }\n").unwrap();
    fs::write(folder.path("bad.cu"), "__global__ void k() { int x = }\n").unwrap();
    let warned = compile(&compiler, &folder.path(""), "warn.cu", "").unwrap();
    assert!(warned.warnings.contains("warn.cu(1): warning"), "{}", warned.warnings);
    let error = compile(&compiler, &folder.path(""), "bad.cu", "").unwrap_err().to_string();
    assert!(error.contains("bad.cu(1): error: expected an expression"), "{error}");
    let error = compile(&compiler, &folder.path(""), "warn.cu", "-arch=sm_12").unwrap_err().to_string();
    assert!(error.contains("Unsupported gpu architecture 'sm_12'"), "{error}");
}
