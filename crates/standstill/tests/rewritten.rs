//! Kernels that nvcc compiled, written again from their kernel IR: the assembler takes the text.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

#[path = "common/cases.rs"]
mod cases;

use std::path::Path;
use std::process::Command;

use cases::compiler;
use standstill_ptx::{Lowering, parse, write::write};
use standstill_toolchain::Request;

const ARCH: &str = "sm_90";

#[test]
fn the_assembler_takes_what_is_written() {
    let Some((compiler, _)) = compiler() else { return };
    let Some(assembler) =
        compiler.path.parent().map(|folder| folder.join("ptxas")).filter(|path| path.exists())
    else {
        println!("SKIPPED: the compiler has no ptxas beside it");
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["atomic_update", "hazard_pointers", "sorted_list"] {
        let source = root.join(format!("examples/lock-free/{name}.cu"));
        let request = Request { source: &source, arch: ARCH, flags: &[], directory: &root };
        let compiled = compiler.compile(&request).unwrap();
        let text = String::from_utf8(compiled.ptx).unwrap();
        let module = parse(&text);
        let lowering = Lowering::new(&module);
        let written = write(&lowering, ARCH, &lowering.first_values()).unwrap();
        let file = folder.path().join(format!("{name}.ptx"));
        std::fs::write(&file, &written).unwrap();
        let output =
            Command::new(&assembler).args(["-arch", ARCH, "-o", "/dev/null"]).arg(&file).output().unwrap();
        assert!(output.status.success(), "{name}: {}\n{written}", String::from_utf8_lossy(&output.stderr));
    }
}
