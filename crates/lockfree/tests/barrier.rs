//! The barrier: against a model, in all interleavings of small launches, in long runs; and what does not fit.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

#[path = "../drivers/mod.rs"]
mod drivers;

use drivers::barrier::barrier_driver::rounds;
use proptest::prelude::*;
use standstill_kernel::{Device, LaunchError, Schedule, tiles};
use standstill_lockfree::GridBarrier;

/// The numbers after so many rounds.
fn model(tile: u32, count: u32, start: &[u32]) -> Vec<u32> {
    let mut numbers = start.to_vec();
    for _ in 0..count {
        let before = numbers.clone();
        for (at, number) in numbers.iter_mut().enumerate() {
            *number = number.wrapping_add(before[(at + tile as usize) % before.len()]);
        }
    }
    numbers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rounds_follow_each_other(blocks in 1u32..6, tile in 1u32..40, count in 0u32..4, seed in 0u64..1000) {
        let device = Device::software_with(Schedule::Random(seed));
        let start: Vec<u32> = (0..blocks * tile).collect();
        let barrier = GridBarrier::new(&device).unwrap();
        let mut numbers = device.buffer(&start).unwrap();
        rounds::launch_together(&device, tiles(blocks), tile, &barrier.state, &mut numbers, count).unwrap();
        prop_assert_eq!(numbers.read().unwrap(), model(tile, count, &start));
        prop_assert_eq!(barrier.rounds().unwrap(), 2 * count);
    }
}

#[track_caller]
fn explored(blocks: u32, tile: u32, count: u32, expected: &str) {
    let device = Device::software();
    let barrier = GridBarrier::new(&device).unwrap();
    let mut numbers = device.buffer(&(1..=blocks * tile).collect::<Vec<_>>()).unwrap();
    let explored =
        rounds::explore(tiles(blocks), tile, expected, &barrier.state, &mut numbers, count).unwrap();
    assert!(explored.is_right(), "{:#?}", explored.findings);
}

#[test]
fn in_every_interleaving_all_wait_for_all() {
    explored(2, 1, 1, "numbers[0] == 3 && numbers[1] == 3");
    explored(2, 1, 2, "numbers[0] == 6 && numbers[1] == 6");
    explored(2, 2, 1, "numbers[0] == 4 && numbers[3] == 6");
    explored(3, 1, 1, "numbers[0] == 3 && numbers[1] == 5 && numbers[2] == 4");
    explored(4, 1, 1, "numbers[3] == 5");
}

/// The software GPU is an H200: 132 multiprocessors with two tiles of 1,024 cells each.
#[test]
fn a_launch_that_does_not_fit_is_refused() {
    let device = Device::software();
    let barrier = GridBarrier::new(&device).unwrap();
    let mut numbers = device.zeros(265 * 1024).unwrap();
    let refused =
        rounds::launch_together(&device, tiles(265), 1024, &barrier.state, &mut numbers, 1).unwrap_err();
    assert!(matches!(refused, LaunchError::Refused { .. }), "{refused}");
    assert_eq!(
        refused.to_string(),
        "the launch of `rounds` was refused: a cooperative launch of 265 tiles: only 264 are resident at once on the h200"
    );
    assert_eq!(barrier.rounds().unwrap(), 0);
}
