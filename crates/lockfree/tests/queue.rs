//! The queue: against a model, in all interleavings of small launches, and in long runs.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by it, and tells how much it saw")]

#[path = "../drivers/mod.rs"]
mod drivers;

use std::collections::VecDeque;

use drivers::queue::queue_driver::{NOTHING, POP, hand_over, run};
use proptest::prelude::*;
use standstill_kernel::{Device, Schedule, tiles};
use standstill_lockfree::Queue;

/// What a script of one cell gives, and what it leaves.
fn model(capacity: usize, script: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut held = VecDeque::new();
    let mut one = |&word: &u32| {
        if word == POP {
            return held.pop_front().unwrap_or(NOTHING);
        }
        let fits = held.len() < capacity;
        held.extend(fits.then_some(word));
        if fits { word } else { NOTHING }
    };
    let results = script.iter().map(&mut one).collect();
    (results, held.into())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn one_cell_sees_a_queue(
        capacity in 0usize..6,
        script in prop::collection::vec(prop_oneof![Just(POP), 0u32..1000], 1..80),
    ) {
        let device = Device::software();
        let queue = Queue::new(&device, capacity).unwrap();
        let words = device.buffer(&script).unwrap();
        let mut results = device.zeros(script.len()).unwrap();
        run::launch(&device, tiles(1), 1, &queue.ends, &queue.slots, &words, &mut results).unwrap();
        let seen = (results.read().unwrap(), queue.contents().unwrap());
        prop_assert_eq!(seen, model(queue.capacity(), &script));
    }
}

/// Explores a script for so many cells, each in a tile of its own.
#[track_caller]
fn explored(cells: u32, capacity: usize, script: &[u32]) {
    let device = Device::software();
    let queue = Queue::new(&device, capacity).unwrap();
    let words = device.buffer(script).unwrap();
    let mut results = device.zeros(script.len()).unwrap();
    let explored =
        run::explore(tiles(cells), 1, "", &queue.ends, &queue.slots, &words, &mut results).unwrap();
    println!("{cells} cells, {capacity} slots, {script:?}: {} states", explored.states);
    assert!(explored.is_right(), "{:#?}", explored.findings);
}

#[test]
fn every_interleaving_is_that_of_a_queue() {
    explored(2, 2, &[1, 2]);
    explored(2, 2, &[1, POP]);
    explored(2, 2, &[1, POP, 2, POP]);
    explored(2, 4, &[1, 2, POP, POP]);
    explored(3, 4, &[1, 2, POP]);
    explored(4, 4, &[1, 2, POP, POP]);
}

/// What was written before it was put in is there for whoever takes it out.
#[test]
fn a_value_goes_with_its_place() {
    let device = Device::software();
    let queue = Queue::new(&device, 2).unwrap();
    let mut values = device.zeros(4).unwrap();
    let mut out = device.zeros(4).unwrap();
    let expected = "(out[1] == 0 || out[1] == 100 || out[1] == 102) && (out[1] == 0 || out[1] != out[3])";
    let explored =
        hand_over::explore(tiles(4), 1, expected, &queue.ends, &queue.slots, &mut values, &mut out).unwrap();
    assert!(explored.is_right(), "{:#?}", explored.findings);
}

/// Cells put in and take out as chance says. Nothing is lost, nothing comes twice.
#[test]
fn long_runs_keep_every_value() {
    let (blocks, tile, steps) = (8, 64, 4);
    let schedules = [Schedule::Turns, Schedule::Random(1), Schedule::Random(2), Schedule::Priorities(3)];
    for (schedule, seed) in schedules.into_iter().zip(0..) {
        let device = Device::software_with(schedule);
        let count = blocks * tile * steps;
        let word = |at: u32| if (at + seed).wrapping_mul(0x9e37_79b9) >> 31 == 0 { POP } else { at };
        let script: Vec<u32> = (0..count).map(word).collect();
        let queue = Queue::new(&device, 256).unwrap();
        let words = device.buffer(&script).unwrap();
        let mut results = device.zeros(script.len()).unwrap();
        run::launch(&device, tiles(blocks), tile, &queue.ends, &queue.slots, &words, &mut results).unwrap();
        let results = results.read().unwrap();
        let gone = |pops: bool| {
            let all = script.iter().zip(&results);
            all.filter(move |(word, result)| (**word == POP) == pops && **result != NOTHING)
                .map(|(_, result)| *result)
        };
        let mut pushed: Vec<u32> = gone(false).collect();
        let mut found: Vec<u32> = gone(true).chain(queue.contents().unwrap()).collect();
        pushed.sort_unstable();
        found.sort_unstable();
        assert_eq!(pushed, found);
        assert!(pushed.len() > 256);
    }
}
