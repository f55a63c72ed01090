//! Real compiler output: every way in which nvcc stores device code. `fixtures/generate.sh` made the files.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::fmt::Write;

use common::fixture;
use standstill_fatbin::{FileKind, ImageData, ReadError, read, sniff};

/// One line for each image: what it is, for which architecture, how it is stored, the kernels in it.
fn describe(bytes: &[u8]) -> String {
    let contents = read(bytes).unwrap();
    let mut out = String::new();
    for image in &contents.images {
        if let Some(member) = &image.member {
            write!(out, "{member}: ").unwrap();
        }
        let arch = image.arch.map(|arch| arch.to_string()).unwrap_or_default();
        match &image.data {
            ImageData::Ptx(text) => {
                let text = std::str::from_utf8(text).unwrap();
                assert_eq!(sniff(text.as_bytes()), FileKind::Ptx);
                assert!(text.ends_with('\n'), "{text:?}");
                let entries: Vec<_> = text.lines().filter(|line| line.contains(".entry")).collect();
                let names: Vec<_> = entries
                    .iter()
                    .map(|l| l.split_whitespace().last().unwrap().trim_end_matches('('))
                    .collect();
                write!(out, "ptx {arch} {:?} {}", image.compression, names.join(" ")).unwrap();
            }
            ImageData::Cubin(cubin) => {
                let names: Vec<_> = cubin.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
                assert_eq!(cubin.arch.number, image.arch.unwrap().number);
                let kind = if cubin.relocatable { "relocatable" } else { "cubin" };
                write!(out, "{kind} {arch} {:?} {}", image.compression, names.join(" ")).unwrap();
            }
            other => write!(out, "{other:?} {arch} {:?}", image.compression).unwrap(),
        }
        for text in [&image.source_name, &image.options].into_iter().flatten() {
            write!(out, " [{text}]").unwrap();
        }
        out = out.trim_end().to_owned() + "\n";
    }
    for problem in &contents.problems {
        writeln!(out, "problem: {problem}").unwrap();
    }
    out
}

#[track_caller]
fn check(name: &str, kind: FileKind, expected: &str) {
    let bytes = fixture(name);
    assert_eq!(sniff(&bytes), kind);
    let expected: String = expected.trim().lines().map(|line| line.trim().to_owned() + "\n").collect();
    let expected = expected
        .replace("TILE", "_Z8tile_sumPKiPi")
        .replace("FILL", "_Z4fillPii")
        .replace("OTHER", "_Z5otherPf");
    assert_eq!(describe(&bytes), expected, "{name}");
}

#[test]
fn every_compression_mode() {
    for (mode, cubin, ptx) in [
        ("default", "None", "Zstd"),
        ("size", "Zstd", "Zstd"),
        ("speed", "None", "Lz4"),
        ("balance", "None", "Zstd"),
        ("none", "None", "None"),
    ] {
        check(
            &format!("mode-{mode}.fatbin"),
            FileKind::Fatbin,
            &format!(
                "cubin sm_90 {cubin} FILL TILE
                 ptx sm_90 {ptx} TILE FILL
                 cubin sm_80 {cubin} FILL TILE
                 ptx sm_80 {ptx} TILE FILL"
            ),
        );
    }
}

#[test]
fn images_compressed_as_one() {
    check(
        "concatenated.fatbin",
        FileKind::Fatbin,
        "ptx sm_90 Zstd TILE FILL
         ptx sm_80 Zstd TILE FILL
         cubin sm_90 Zstd FILL TILE
         cubin sm_80 Zstd FILL TILE",
    );
}

#[test]
fn other_images() {
    check(
        "variants.fatbin",
        FileKind::Fatbin,
        "cubin sm_90a None FILL TILE
         ptx sm_90a Zstd TILE FILL
         cubin sm_100f None FILL TILE
         ptx sm_100f Zstd TILE FILL",
    );
    check("lto.fatbin", FileKind::Fatbin, "LtoIr sm_90 Zstd [-ftz=0 -prec_div=1 -prec_sqrt=1 -fmad=1]");
    check("lineinfo.fatbin", FileKind::Fatbin, "ptx sm_90 Zstd TILE FILL [tile.cu] [--generate-line-info]");
    check("no-ptx.fatbin", FileKind::Fatbin, "cubin sm_90 None FILL TILE");
}

/// An empty cubin that nvcc links into every program.
const RUNTIME: &str = "cubin sm_90 None";

const PAIR: &str = "cubin sm_90 None FILL TILE
    ptx sm_90 Zstd TILE FILL";

const TWO_FILES: &str = "cubin sm_90 None FILL TILE
    ptx sm_90 Zstd TILE FILL
    cubin sm_90 None OTHER
    ptx sm_90 Zstd OTHER";

const LINKED: &str = "cubin sm_90 None FILL TILE OTHER
    relocatable sm_90 Zstd FILL TILE
    ptx sm_90 Zstd TILE FILL [--compile-only]
    relocatable sm_90 Zstd OTHER
    ptx sm_90 Zstd OTHER [--compile-only]";

#[test]
fn objects_and_libraries() {
    check("object.o", FileKind::Elf, PAIR);
    check(
        "relocatable.o",
        FileKind::Elf,
        "relocatable sm_90 Zstd FILL TILE
         ptx sm_90 Zstd TILE FILL [--compile-only]",
    );
    check("library.so", FileKind::Elf, &format!("{RUNTIME}\n{PAIR}"));
    check(
        "archive.a",
        FileKind::Archive,
        "object.o: cubin sm_90 None FILL TILE
         object.o: ptx sm_90 Zstd TILE FILL
         other.o: cubin sm_90 None OTHER
         other.o: ptx sm_90 Zstd OTHER
         relocatable.o: relocatable sm_90 Zstd FILL TILE
         relocatable.o: ptx sm_90 Zstd TILE FILL [--compile-only]",
    );
}

#[test]
fn programs() {
    let two_files = format!("{RUNTIME}\n{TWO_FILES}");
    check("program-shared", FileKind::Elf, &two_files);
    check("program-stripped", FileKind::Elf, &two_files);
    check("program-static", FileKind::Elf, &two_files);
    check("program-rdc-shared", FileKind::Elf, LINKED);
    check("program-rdc-static", FileKind::Elf, LINKED);
}

#[test]
fn programs_without_a_section_table() {
    for name in ["program-shared", "program-rdc-static", "object.o"] {
        let bytes = fixture(name);
        let whole = describe(&bytes);
        // The section table stands at the end; without it the containers are found by their magic.
        assert_eq!(describe(&bytes[..bytes.len() - 200]), whole, "{name}");
        let embedded = [b"some other file ".as_slice(), &bytes].concat();
        assert_eq!(sniff(&embedded), FileKind::Unknown);
        assert_eq!(describe(&embedded), whole, "{name}");
    }
}

#[test]
fn resources_as_ptxas_prints_them() {
    for name in ["80", "90", "100", "80-cuda12", "90-cuda12"] {
        let bytes = fixture(&format!("resources-{name}.cubin"));
        let path = format!("{}/tests/fixtures/resources-{name}.txt", env!("CARGO_MANIFEST_DIR"));
        let printed = std::fs::read_to_string(path).unwrap();
        let contents = read(&bytes).unwrap();
        assert_eq!(contents.problems, []);
        let (_, cubin) = contents.cubins().next().unwrap();
        let mut found = 0;
        let mut lines = printed.lines().peekable();
        while let Some(line) = lines.next() {
            let Some(rest) = line.strip_prefix("ptxas info    : Compiling entry function '") else {
                continue;
            };
            let (kernel_name, _) = rest.split_once('\'').unwrap();
            let mut frame = 0;
            let used = loop {
                let line = lines.next().unwrap();
                if let Some((bytes, _)) = line.trim().split_once(" bytes stack frame") {
                    frame = bytes.parse().unwrap();
                } else if let Some((_, used)) = line.split_once("Used ") {
                    break used;
                }
            };
            let number = |unit: &str| {
                used.split(", ").find_map(|part| part.strip_suffix(unit)?.rsplit(' ').next()?.parse().ok())
            };
            let kernel = cubin.kernels.iter().find(|kernel| kernel.name == kernel_name).unwrap();
            assert_eq!(kernel.registers, number(" registers"), "{name} {kernel_name}");
            assert_eq!(
                kernel.shared_bytes,
                u64::from(number(" bytes smem").unwrap_or(0)),
                "{name} {kernel_name}"
            );
            let local = if kernel_name == "recursive" { None } else { Some(frame) };
            assert_eq!(kernel.local_bytes, local, "{name} {kernel_name}");
            if let Some(barriers) = number(" barriers") {
                assert_eq!(kernel.barriers.unwrap_or(0), barriers, "{name} {kernel_name}");
            }
            let bounds = match kernel_name {
                "bounded" => Some([256, 1, 1]),
                "ranked" => Some([64, 1, 1]),
                _ => None,
            };
            assert_eq!(kernel.max_block, bounds, "{name} {kernel_name}");
            let required = (kernel_name == "required").then_some([32, 4, 1]);
            assert_eq!(kernel.required_block, required, "{name} {kernel_name}");
            // `__block_size__` makes clusters of one block.
            let cluster = match kernel_name {
                "clustered" => Some([2, 1, 1]),
                "required" => Some([1, 1, 1]),
                _ => None,
            };
            assert_eq!(kernel.cluster, cluster, "{name} {kernel_name}");
            assert_eq!(
                kernel.max_cluster_rank,
                (kernel_name == "ranked").then_some(4),
                "{name} {kernel_name}"
            );
            let parameters = if matches!(kernel_name, "with_local" | "recursive") { 12 } else { 8 };
            assert_eq!(kernel.parameter_bytes, Some(parameters), "{name} {kernel_name}");
            found += 1;
        }
        assert_eq!(found, cubin.kernels.len(), "{name}");
        assert!(found >= 4, "{name}");
        let barriers = cubin.kernels.iter().find(|kernel| kernel.name == "bounded").unwrap().barriers;
        assert_eq!(barriers, Some(4), "{name}");
    }
}

#[test]
fn why_there_is_no_ptx() {
    let explain = |bytes: &[u8]| read(bytes).unwrap().explain_no_ptx();
    assert_eq!(explain(&fixture("object.o")), None);
    let machine_code = explain(&fixture("no-ptx.fatbin")).unwrap();
    assert!(
        machine_code.starts_with("it holds machine code for sm_90 but no PTX; compile it"),
        "{machine_code}"
    );
    let lto = explain(&fixture("lto.fatbin")).unwrap();
    assert!(lto.starts_with("it holds link-time optimisation code for sm_90 but no PTX"), "{lto}");
    // A host program without device code: an ELF header and nothing else of it.
    let host = explain(&fixture("object.o")[..64]).unwrap();
    assert_eq!(host, "it holds no CUDA device code");
}

#[test]
fn no_device_code_at_all() {
    assert_eq!(read(b"").unwrap_err(), ReadError::Empty);
    assert_eq!(read(b"int main() {}").unwrap_err(), ReadError::Unrecognised);
    let damaged = b"!<arch>\nxyz";
    assert!(matches!(read(damaged), Err(ReadError::Archive(_))), "{:?}", read(damaged));
}
