//! How fast a long trace is read and judged, and in how much memory: a pipeline of four slots over three streams,
//! as a program on a card records it, for as many operations as the first argument says (10 million without one).
//!
//! `cargo bench -p standstill-stream-order -- 50000000`
//!
//! With a file as the second argument the trace is only written there, for `standstill streams`.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops when something is wrong"
)]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::{Duration, Instant};

use standstill_stream_order::{Check, Launches, NoReach};
use standstill_trace::{
    Access, Allocation, Call, Copied, LaunchShape, Memory, Mode, Parameter, Reader, Record, StreamKind,
    Target, Work, Writer,
};

const SLOTS: u64 = 4;
const BYTES: u64 = 1 << 20;
const HOST: u64 = 0x1000_0000;
const RESULTS: u64 = 0x5000_0000;
const INPUT: u64 = 0x7f00_0000_0000;
const OUTPUT: u64 = 0x7f10_0000_0000;
/// Chunks after which a launch has arguments that none had before.
const NEW_ARGUMENTS: u64 = 8;

/// What the program's calls are so far.
#[derive(Default)]
struct Program {
    operations: u64,
    chunks: u64,
    launches: u32,
}

impl Program {
    fn next(&mut self) -> u64 {
        self.operations += 1;
        self.operations
    }

    /// Streams, memory and the kernel.
    fn begin(take: &mut dyn FnMut(Call)) {
        for stream in 1..=3 {
            take(Call::CreateStream { stream, kind: StreamKind::NonBlocking });
        }
        for slot in 0..SLOTS {
            let memory = |start, kind| Call::Allocate { address: start + slot * BYTES, bytes: BYTES, kind };
            take(memory(HOST, Allocation::Pinned));
            take(memory(RESULTS, Allocation::Pinned));
            take(memory(INPUT, Allocation::Device));
            take(memory(OUTPUT, Allocation::Device));
        }
        let parameters = [0, 8, 16].map(|offset| Parameter { offset, bytes: 8 }).to_vec();
        take(Call::NameKernel { kernel: 1, name: "_Z3mixPKfPfl".into(), parameters });
    }

    /// The kernel with a slot's memory.
    fn launch(&mut self, slot: u64, take: &mut dyn FnMut(Call)) -> Work {
        let is_new = self.chunks < SLOTS || self.chunks.is_multiple_of(NEW_ARGUMENTS);
        if !is_new {
            return Work::Launch { launch: 1 + slot as u32 };
        }
        self.launches += 1;
        let words = [INPUT + slot * BYTES, OUTPUT + slot * BYTES, self.chunks];
        let shape = LaunchShape {
            kernel: 1,
            grid: [1024, 1, 1],
            block: [256, 1, 1],
            cluster: [1; 3],
            dynamic_shared: 0,
            cooperative: false,
            arguments: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        };
        take(Call::NameLaunch { launch: self.launches, shape });
        Work::Launch { launch: self.launches }
    }

    /// The calls for one chunk that goes through the pipeline.
    fn chunk(&mut self, take: &mut dyn FnMut(Call)) {
        let slot = self.chunks % SLOTS;
        let (host, input, output) = (HOST + slot * BYTES, INPUT + slot * BYTES, OUTPUT + slot * BYTES);
        let copied = |from, to| Copied { asynchronous: true, from, to };
        let (filled, computed, drained) = (slot, SLOTS + slot, 2 * SLOTS + slot);
        take(Call::WaitEvent { operation: self.next(), stream: 1, event: drained });
        let accesses = vec![Access::bytes(Mode::Read, host, BYTES), Access::bytes(Mode::Write, input, BYTES)];
        let work = Work::Copy { copied: copied(Memory::Pinned, Memory::Device), accesses };
        take(Call::Submit { operation: self.next(), stream: 1, work });
        take(Call::RecordEvent { operation: self.next(), stream: 1, event: filled });
        take(Call::WaitEvent { operation: self.next(), stream: 2, event: filled });
        let work = self.launch(slot, take);
        take(Call::Submit { operation: self.next(), stream: 2, work });
        take(Call::RecordEvent { operation: self.next(), stream: 2, event: computed });
        take(Call::WaitEvent { operation: self.next(), stream: 3, event: computed });
        let to = RESULTS + slot * BYTES;
        let accesses = vec![Access::bytes(Mode::Read, output, BYTES), Access::bytes(Mode::Write, to, BYTES)];
        let work = Work::Copy { copied: copied(Memory::Device, Memory::Pinned), accesses };
        take(Call::Submit { operation: self.next(), stream: 3, work });
        take(Call::RecordEvent { operation: self.next(), stream: 3, event: drained });
        if self.chunks % 1000 == 999 {
            take(Call::Synchronise(Target::Stream(3)));
        }
        self.chunks += 1;
    }
}

/// Writes records, each from a site of its own among a few.
fn writing<W: Write>(writer: &mut Writer<W>) -> impl FnMut(Call) {
    let mut number = 0;
    move |call| {
        number += 1;
        writer.write(&Record { thread: 0, site: 1 + number % 200, call }).unwrap();
    }
}

/// Peak resident memory of this process in bytes, as Linux counts it.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn write(wanted: u64, file: File) {
    let (mut writer, mut program) = (Writer::new(BufWriter::new(file)).unwrap(), Program::default());
    let mut take = writing(&mut writer);
    Program::begin(&mut take);
    while program.operations < wanted {
        program.chunk(&mut take);
    }
    println!("{} operations written", program.operations);
}

/// Reads and judges in pieces that are written in between, so that nothing else counts.
fn judge(wanted: u64) {
    let (mut program, mut reach, mut check) = (Program::default(), NoReach, Check::default());
    let mut launches = Launches::new(&mut reach);
    let (mut written, mut spent) = (0, Duration::ZERO);
    while program.operations < wanted {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let mut take = writing(&mut writer);
        if program.chunks == 0 {
            Program::begin(&mut take);
        }
        for _ in 0..10_000 {
            program.chunk(&mut take);
        }
        drop(take);
        let bytes = writer.into_inner();
        written += bytes.len() as u64;
        let start = Instant::now();
        for record in Reader::new(bytes.as_slice()).unwrap() {
            check.take(&launches.expand(record.unwrap()));
        }
        spent += start.elapsed();
    }
    let (conflicts, _) = check.finish();
    assert!(conflicts.is_empty(), "{:?}", conflicts.first());
    let (operations, seconds) = (program.operations, spent.as_secs_f64());
    println!(
        "{operations} operations read and judged in {seconds:.2} s: {:.2} million a second; {:.1} bytes each; peak {:.1} MB",
        operations as f64 / seconds / 1e6,
        written as f64 / operations as f64,
        peak() as f64 / 1e6
    );
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let wanted = words.first().and_then(|word| word.parse().ok()).unwrap_or(10_000_000);
    match words.get(1) {
        Some(path) => write(wanted, File::create(path).unwrap()),
        None => judge(wanted),
    }
}
