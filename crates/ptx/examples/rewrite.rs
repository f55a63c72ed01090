//! Reads PTX and writes it again from its kernel IR: `cargo run -p standstill-ptx --example rewrite -- FILE.ptx [sm_90]`.

use std::process::ExitCode;

use standstill_kernel_ir::Program as _;
use standstill_ptx::{Lowering, parse, write::write};

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: rewrite FILE.ptx [TARGET]");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    let module = parse(&text);
    let lowering = Lowering::new(&module);
    let target = arguments.next().unwrap_or_else(|| lowering.module().target.clone());
    match write(&lowering, &target, &lowering.first_values()) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{path}: {error} (byte {})", error.offset);
            ExitCode::FAILURE
        }
    }
}
