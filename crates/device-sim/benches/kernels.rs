//! Seconds of the three launches of `benches/software-gpu/kernels.cu`, whose PTX stands beside this file: without looking
//! for races, and with. Words after `--` say which launches, and `plain` or `races` which of the two; a number says how
//! often each runs.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench tells what it measured")]

#[path = "../tests/common/mod.rs"]
mod common;
mod processor;

use std::time::Instant;

use common::{Case, finish};
use processor::Processor;
use standstill_device_sim::{LaunchRequest, Progress};

const SIDE: u64 = 512;
const COUNT: u64 = 1 << 20;

/// Name, blocks, threads, addresses.
type Launch<'a> = (&'a str, [u32; 3], [u32; 3], &'a [u64]);

fn main() {
    let case = Case::new(include_str!("kernels.ptx"));
    let memory = case.device.memory();
    let values: Vec<u8> =
        (0..COUNT as u32).flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 20).to_le_bytes()).collect();
    let factor: Vec<u8> =
        (0..(SIDE * SIDE) as u32).flat_map(|i| ((i % 7) as f32 - 3.0).to_le_bytes()).collect();
    let [input, left, product, result] =
        [4 * COUNT, 4 * SIDE * SIDE, 4 * SIDE * SIDE, 1024].map(|bytes| memory.allocate(bytes).unwrap());
    memory.write(input, &values).unwrap();
    memory.write(left, &factor).unwrap();
    let launches: [Launch; 3] = [
        ("matmul", [32, 32, 1], [16, 16, 1], &[left, left, product]),
        ("reduce", [4096, 1, 1], [256, 1, 1], &[input, result]),
        ("histogram", [4096, 1, 1], [256, 1, 1], &[input, result]),
    ];
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let runs: usize = asked.iter().find_map(|word| word.parse().ok()).unwrap_or(9).max(1);
    let wanted = |name: &str, among: &[&str]| {
        let mut named = asked.iter().filter(|word| among.contains(&word.as_str())).peekable();
        named.peek().is_none() || named.any(|word| word == name)
    };
    let names = launches.map(|(name, ..)| name);
    for (name, grid, block, parameters) in launches {
        for races in [false, true] {
            if !wanted(name, &names) || !wanted(if races { "races" } else { "plain" }, &["plain", "races"]) {
                continue;
            }
            let mut times: Vec<(f64, f64)> = (0..runs)
                .map(|_| {
                    memory.fill(result, &[0], 1024).unwrap();
                    let mut request = LaunchRequest::new(case.module.kernel(name).unwrap(), 1, 1);
                    (request.grid, request.block, request.races) = (grid, block, races);
                    request.parameters =
                        parameters.iter().flat_map(|address| address.to_le_bytes()).collect();
                    let (start, busy) = (Instant::now(), Processor::now());
                    let mut grid = case.grid(request);
                    assert_eq!(finish(&mut grid), Progress::Finished);
                    assert!(grid.races().is_empty());
                    (busy.seconds(), start.elapsed().as_secs_f64())
                })
                .collect();
            times.sort_by(|one, two| one.0.total_cmp(&two.0));
            let [(best, elapsed), (median, _)] = [times[0], times[runs / 2]];
            let looks = if races { "races" } else { "" };
            println!(
                "{name:10} {looks:6} {best:.4} s of processor ({elapsed:.4} s elapsed), median {median:.4} s"
            );
        }
    }
}
