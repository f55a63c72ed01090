//! Seconds of the three launches of `benches/software-gpu/kernels.cu`, whose PTX stands beside this file: without looking
//! for races, and with.
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
    for (name, grid, block, parameters) in launches {
        if !asked.is_empty() && !asked.iter().any(|asked| asked == name) {
            continue;
        }
        for races in [false, true] {
            let mut times: Vec<(f64, f64)> = (0..9)
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
            let [(best, elapsed), (median, _)] = [times[0], times[4]];
            let looks = if races { "races" } else { "" };
            println!(
                "{name:10} {looks:6} {best:.4} s of processor ({elapsed:.4} s elapsed), median {median:.4} s"
            );
        }
    }
}
