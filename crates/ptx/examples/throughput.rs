//! Prints how fast PTX files are parsed: `throughput FILE…`.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use standstill_kernel_ir::{FunctionId, Program};
use standstill_ptx::Lowering;
use std::time::{Duration, Instant};

/// The median time of some runs.
fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..9)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn main() {
    for path in std::env::args().skip(1) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                println!("{path}: {error}");
                continue;
            }
        };
        let rate = |time: Duration| text.len() as f64 / 1e6 / time.as_secs_f64();
        let module = standstill_ptx::parse(&text);
        let parse = median(|| drop(std::hint::black_box(standstill_ptx::parse(&text))));
        let lower = median(|| {
            let module = standstill_ptx::parse(&text);
            let lowering = Lowering::new(&module);
            for id in 0..lowering.module().functions.len() {
                drop(std::hint::black_box(lowering.function(FunctionId(id as u32))));
            }
        });
        println!(
            "{path}: {} bytes, {} functions, {} statements, {} opcodes, {} errors, {:.2} bytes of syntax a byte; \
             parse {:.0} MB/s, with lowering {:.0} MB/s",
            text.len(),
            module.functions.len(),
            module.statements.len(),
            module.opcodes.len(),
            module.errors.count(),
            module.memory() as f64 / text.len() as f64,
            rate(parse),
            rate(lower),
        );
        for (opcode, count) in Lowering::new(&module).opaque_counts() {
            println!("  {count} times not understood: {opcode}");
        }
        for error in module.errors.kept().iter().take(5) {
            let place = module.position(error.span.start);
            let line = module.lines.line(&text, place.line).map_or("", |line| module.str(line));
            println!("  {}:{}: {error}: {line}", place.line, place.column);
        }
    }
}
