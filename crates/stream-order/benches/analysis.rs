//! How fast a long trace is read and judged, and in how much memory: a pipeline of four slots over three streams,
//! as programs write it, for as many operations as the first argument says (10 million without one).
//!
//! `cargo bench -p standstill-stream-order -- 50000000`

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops when something is wrong"
)]

use std::time::Instant;

use standstill_stream_order::Check;
use standstill_trace::{
    Access, Call, Copied, Memory, Mode, Reader, Record, StreamKind, Target, Work, Writer,
};

const SLOTS: u64 = 4;
const BYTES: u64 = 1 << 20;

/// The records of one chunk that goes through the pipeline, and how many operations they are.
fn chunk(number: u64, operation: &mut u64, mut take: impl FnMut(Call)) -> u64 {
    let slot = number % SLOTS;
    let (host, device, out) =
        (0x1000_0000 + slot * BYTES, 0x7f00_0000_0000 + slot * BYTES, 0x7f10_0000_0000 + slot * BYTES);
    let before = *operation;
    let mut next = || {
        *operation += 1;
        *operation
    };
    let copied = |from, to| Copied { asynchronous: true, from, to };
    let (filled, computed, drained) = (slot, SLOTS + slot, 2 * SLOTS + slot);
    take(Call::WaitEvent { operation: next(), stream: 1, event: drained });
    let accesses = vec![Access::bytes(Mode::Read, host, BYTES), Access::bytes(Mode::Write, device, BYTES)];
    let work = Work::Copy { copied: copied(Memory::Pinned, Memory::Device), accesses };
    take(Call::Submit { operation: next(), stream: 1, work });
    take(Call::RecordEvent { operation: next(), stream: 1, event: filled });
    take(Call::WaitEvent { operation: next(), stream: 2, event: filled });
    let accesses =
        Some(vec![Access::bytes(Mode::Read, device, BYTES), Access::bytes(Mode::Write, out, BYTES)]);
    take(Call::Submit { operation: next(), stream: 2, work: Work::Kernel { name: "mix".into(), accesses } });
    take(Call::RecordEvent { operation: next(), stream: 2, event: computed });
    take(Call::WaitEvent { operation: next(), stream: 3, event: computed });
    let accesses =
        vec![Access::bytes(Mode::Read, out, BYTES), Access::bytes(Mode::Write, host + (1 << 30), BYTES)];
    let work = Work::Copy { copied: copied(Memory::Device, Memory::Pinned), accesses };
    take(Call::Submit { operation: next(), stream: 3, work });
    take(Call::RecordEvent { operation: next(), stream: 3, event: drained });
    if number % 1000 == 999 {
        take(Call::Synchronise(Target::Stream(3)));
    }
    *operation - before
}

/// Peak resident memory of this process in bytes, as Linux counts it.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn main() {
    let wanted = std::env::args().filter_map(|word| word.parse::<u64>().ok()).next().unwrap_or(10_000_000);
    // Written and read in pieces, as a trace is that is drained while the program runs.
    let (mut operation, mut number, mut written) = (0, 0, 0);
    let mut check = Check::default();
    for stream in 1..=3 {
        check.take(&Record {
            thread: 0,
            site: 0,
            call: Call::CreateStream { stream, kind: StreamKind::NonBlocking },
        });
    }
    let mut spent = std::time::Duration::ZERO;
    while operation < wanted {
        let mut writer = Writer::new(Vec::new()).unwrap();
        for _ in 0..100_000 / 9 {
            let mut site = 0;
            chunk(number, &mut operation, |call| {
                site += 1;
                writer.write(&Record { thread: 0, site, call }).unwrap();
            });
            number += 1;
        }
        let bytes = writer.into_inner();
        written += bytes.len() as u64;
        let start = Instant::now();
        for record in Reader::new(&bytes).unwrap() {
            check.take(&record.unwrap());
        }
        spent += start.elapsed();
    }
    let (conflicts, _) = check.finish();
    assert!(conflicts.is_empty(), "{:?}", conflicts.first());
    let seconds = spent.as_secs_f64();
    println!(
        "{operation} operations read and judged in {seconds:.2} s: {:.2} million a second; {:.1} bytes each; peak {:.1} MB",
        operation as f64 / seconds / 1e6,
        written as f64 / operation as f64,
        peak() as f64 / 1e6
    );
}
