//! Hazard entries and epochs: in all interleavings of small launches, and in long runs.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by it, and tells how much it saw")]

#[path = "../drivers/mod.rs"]
mod drivers;

use drivers::{epoch::epoch_driver, hazard::hazard_driver};
use standstill_kernel::{Device, Schedule, tiles};
use standstill_lockfree::{Epochs, HazardArray, stack};

const SCHEDULES: [Schedule; 4] =
    [Schedule::Turns, Schedule::Random(1), Schedule::Random(2), Schedule::Priorities(3)];

/// A writer and so many readers; the writer has `spare` nodes beside the one that is in place.
#[track_caller]
fn hazards_explored(readers: u32, spare: usize, count: u32) {
    let device = Device::software();
    let pool = HazardArray::new(&device, 1 + spare, 1, readers as usize).unwrap();
    let place = device.buffer(&[0u32]).unwrap();
    let mut pairs = device.zeros(1 + spare).unwrap();
    let mut out = device.zeros(1 + readers as usize).unwrap();
    let (heads, next, hazards) = (&pool.heads, &pool.next, &pool.hazards);
    let grid = tiles(1 + readers);
    let explored = hazard_driver::replace::explore(
        grid, 1, "", &place, &mut pairs, heads, next, hazards, count, &mut out,
    )
    .unwrap();
    println!("hazards, {readers} readers: {} states", explored.states);
    assert!(explored.is_right(), "{:#?}", explored.findings);
}

#[test]
fn no_interleaving_reads_a_node_that_is_used_anew() {
    hazards_explored(1, 1, 2);
    hazards_explored(1, 2, 3);
    hazards_explored(2, 2, 1);
}

#[test]
fn long_runs_with_hazards_read_whole_nodes() {
    for schedule in SCHEDULES {
        let device = Device::software_with(schedule);
        let (readers, spare, count) = (31, 40, 60);
        let pool = HazardArray::new(&device, 1 + spare, 1, readers).unwrap();
        let place = device.buffer(&[0u32]).unwrap();
        let mut pairs = device.zeros(1 + spare).unwrap();
        let mut out = device.zeros(1 + readers).unwrap();
        let (heads, next, hazards) = (&pool.heads, &pool.next, &pool.hazards);
        let grid = tiles(1 + readers as u32);
        hazard_driver::replace::launch(
            &device, grid, 1, &place, &mut pairs, heads, next, hazards, count, &mut out,
        )
        .unwrap();
        assert!(out.read().unwrap().iter().all(|&number| number <= count));
        // All but the one in place.
        assert_eq!(pool.unused().unwrap().len(), spare);
    }
}

#[track_caller]
fn epochs_explored(blocks: u32, spare: usize, places: usize, count: u32) {
    let device = Device::software();
    let pool = Epochs::new(&device, 1 + spare, 1, places).unwrap();
    let place = device.buffer(&[0u32]).unwrap();
    let mut pairs = device.zeros(1 + spare).unwrap();
    let mut out = device.zeros(blocks as usize).unwrap();
    let (epochs, heads, next) = (&pool.epochs, &pool.heads, &pool.next);
    let grid = tiles(blocks);
    let expected = "out[0] != -1 && out[1] != -1";
    let explored = epoch_driver::replace::explore(
        grid, 1, expected, &place, &mut pairs, epochs, heads, next, count, &mut out,
    )
    .unwrap();
    println!("epochs, {blocks} blocks, {spare} spare: {} states", explored.states);
    assert!(explored.is_right(), "{:#?}", explored.findings);
}

#[test]
fn no_interleaving_reads_a_node_before_its_epochs_are_over() {
    epochs_explored(2, 1, 2, 2);
    epochs_explored(2, 1, 1, 2);
    epochs_explored(2, 1, 2, 4);
}

#[test]
fn long_runs_with_epochs_read_whole_nodes() {
    for schedule in SCHEDULES {
        let device = Device::software_with(schedule);
        let (blocks, spare, count) = (24u32, 20, 60);
        let pool = Epochs::new(&device, 1 + spare, 1, blocks as usize).unwrap();
        let place = device.buffer(&[0u32]).unwrap();
        let mut pairs = device.zeros(1 + spare).unwrap();
        let mut out = device.zeros(blocks as usize).unwrap();
        let (epochs, heads, next) = (&pool.epochs, &pool.heads, &pool.next);
        let grid = tiles(blocks);
        epoch_driver::replace::launch(
            &device, grid, 1, &place, &mut pairs, epochs, heads, next, count, &mut out,
        )
        .unwrap();
        assert!(out.read().unwrap().iter().all(|&number| number < blocks || number == epoch_driver::NO_NODE));
        assert_eq!(pool.unused().unwrap().len(), spare);
        // Nodes were used anew: more were put in place than there are.
        assert!(pool.epochs.read().unwrap()[0] >= 2);
        assert_ne!(place.read().unwrap()[0], stack::NIL);
    }
}
