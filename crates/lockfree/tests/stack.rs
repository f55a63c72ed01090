//! The stack: against a model, in all interleavings of small launches, and in long runs.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by it, and tells how much it saw")]

#[path = "../drivers/mod.rs"]
mod drivers;

use drivers::stack::stack_driver::{NOTHING, POP, move_nodes, run};
use proptest::prelude::*;
use standstill_kernel::{Device, Schedule, tiles};
use standstill_lockfree::{Error, Stack, stack};

/// What a script of one cell gives, and what it leaves.
fn model(capacity: usize, script: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut held = Vec::new();
    let mut one = |&word: &u32| {
        if word == POP {
            return held.pop().unwrap_or(NOTHING);
        }
        let fits = held.len() < capacity;
        held.extend(fits.then_some(word));
        if fits { word } else { NOTHING }
    };
    let results = script.iter().map(&mut one).collect();
    held.reverse();
    (results, held)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn one_cell_sees_a_stack(
        capacity in 0usize..6,
        script in prop::collection::vec(prop_oneof![Just(POP), 0u32..1000], 1..60),
    ) {
        let device = Device::software();
        let mut stack = Stack::new(&device, capacity).unwrap();
        let words = device.buffer(&script).unwrap();
        let mut results = device.zeros(script.len()).unwrap();
        run::launch(&device, tiles(1), 1, &stack.heads, &stack.next, &mut stack.values, &words, &mut results).unwrap();
        prop_assert_eq!((results.read().unwrap(), stack.contents().unwrap()), model(capacity, &script));
    }
}

/// Explores a script for so many cells, each in a tile of its own.
#[track_caller]
fn explored(cells: u32, capacity: usize, script: &[u32]) {
    let device = Device::software();
    let mut stack = Stack::new(&device, capacity).unwrap();
    let words = device.buffer(script).unwrap();
    let mut results = device.zeros(script.len()).unwrap();
    let explored =
        run::explore(tiles(cells), 1, "", &stack.heads, &stack.next, &mut stack.values, &words, &mut results)
            .unwrap();
    println!("{cells} cells, {capacity} nodes, {script:?}: {} states", explored.states);
    assert!(explored.is_right(), "{:#?}", explored.findings);
}

#[test]
fn every_interleaving_is_that_of_a_stack() {
    explored(2, 2, &[1, 2]);
    explored(2, 2, &[1, POP]);
    explored(2, 2, &[1, POP, 2, POP]);
    explored(3, 3, &[1, 2, POP]);
}

#[test]
fn more_cells_see_a_stack() {
    explored(4, 2, &[1, 2, POP, POP]);
}

/// All nodes arrive, each once, whoever comes between.
#[test]
fn every_node_moves_once() {
    let device = Device::software();
    let (top, nil) = (stack::EMPTY, stack::NIL);
    let heads = device.buffer(&[0, top]).unwrap();
    let next = device.buffer(&[1, 2, nil]).unwrap();
    let mut owner = device.zeros(3).unwrap();
    let explored = move_nodes::explore(tiles(2), 1, "", &heads, &next, &mut owner).unwrap();
    assert!(explored.is_right(), "{:#?}", explored.findings);
}

#[test]
fn a_capacity_beyond_indices_is_an_error() {
    let error = Stack::new(&Device::software(), stack::NIL as usize).unwrap_err();
    assert!(matches!(error, Error::Capacity { .. }), "{error}");
}

/// Cells push and pop as chance says. Nothing is lost, nothing comes twice.
#[test]
fn long_runs_keep_every_value() {
    let (tiles_, tile, steps) = (8, 64, 8);
    let schedules = [Schedule::Turns, Schedule::Random(1), Schedule::Random(2), Schedule::Priorities(3)];
    for (schedule, seed) in schedules.into_iter().zip(0..) {
        let device = Device::software_with(schedule);
        let count = tiles_ * tile * steps;
        let word = |at: u32| if (at + seed).wrapping_mul(0x9e37_79b9) >> 31 == 0 { POP } else { at };
        let script: Vec<u32> = (0..count).map(word).collect();
        let mut stack = Stack::new(&device, 300).unwrap();
        let words = device.buffer(&script).unwrap();
        let mut results = device.zeros(script.len()).unwrap();
        run::launch(
            &device,
            tiles(tiles_),
            tile,
            &stack.heads,
            &stack.next,
            &mut stack.values,
            &words,
            &mut results,
        )
        .unwrap();
        let results = results.read().unwrap();
        let gone = |pops: bool| {
            let all = script.iter().zip(&results);
            all.filter(move |(word, result)| (**word == POP) == pops && **result != NOTHING)
                .map(|(_, result)| *result)
        };
        let mut pushed: Vec<u32> = gone(false).collect();
        let mut found: Vec<u32> = gone(true).chain(stack.contents().unwrap()).collect();
        pushed.sort_unstable();
        found.sort_unstable();
        assert_eq!(pushed, found);
        assert!(pushed.len() > 300);
    }
}
