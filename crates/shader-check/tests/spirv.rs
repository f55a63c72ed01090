//! Kernels of `tests/shaders/spirv`, right and wrong, as three compilers write them: the same verdict on every module, on the marked
//! line where the module has lines.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::io::Read as _;
use std::path::PathBuf;

use standstill_findings::Severity;
use standstill_kernel_ir::launch::LaunchShape;
use standstill_shader_check::Request;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/shaders/spirv")
}

/// The modules, each with its name: `KERNEL.COMPILER.LEVEL.DEBUG.spv`.
fn modules() -> Vec<(String, Vec<u8>)> {
    let packed = std::fs::read(folder().join("modules.tar.gz")).unwrap();
    let mut tar = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut tar).unwrap();
    let (mut modules, mut rest) = (Vec::new(), tar.as_slice());
    // An entry is a header of 512 bytes with name and octal size, then the file in blocks of 512.
    while rest.first().is_some_and(|&byte| byte != 0) {
        let text = |from: usize, to: usize| {
            std::str::from_utf8(&rest[from..to]).unwrap().trim_end_matches('\0').trim().to_owned()
        };
        let size = usize::from_str_radix(&text(124, 136), 8).unwrap();
        modules.push((text(0, 100), rest[512..512 + size].to_vec()));
        rest = &rest[512 + size.next_multiple_of(512)..];
    }
    modules
}

/// Code and line of everything that is found.
fn judged(module: &[u8], name: &str) -> Vec<(String, u32)> {
    let shader = standstill_shader::spirv(module, "module.spv").unwrap();
    assert_eq!(shader.problems(), [], "{name}");
    let launch = |_: &str| LaunchShape::default();
    let request = Request { file: "module.spv", launch: &launch, wanted: &|_| true, platform: None };
    let (findings, coverage) = standstill_shader_check::check(&shader, &request);
    assert_eq!(coverage.kernels, 1, "{name}");
    let mut found: Vec<(String, u32)> = findings
        .iter()
        .filter(|finding| finding.severity > Severity::Note)
        .map(|finding| (finding.rule.info().code.to_owned(), finding.primary_span().unwrap().line))
        .collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn compilers_agree() {
    let modules = modules();
    assert_eq!(modules.len(), 320);
    let mut wrong = Vec::new();
    for (name, module) in &modules {
        let kernel: Vec<&str> = name.splitn(3, '.').take(2).collect();
        let source = std::fs::read_to_string(folder().join(kernel.join(".") + ".hlsl")).unwrap();
        let marked: Vec<(String, u32)> = source
            .lines()
            .zip(1..)
            .filter_map(|(line, number)| Some((line.split_once("//~ ")?.1.to_owned(), number)))
            .collect();
        let mut found = judged(module, name);
        if name.ends_with(".none.spv") && found.len() == marked.len() {
            // It has no lines.
            found = found.into_iter().zip(&marked).map(|((code, _), (_, line))| (code, *line)).collect();
        }
        if found != marked {
            wrong.push(format!("{name}: {marked:?}, said {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
