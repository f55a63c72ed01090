//! What a launch finds is its error: races, waits without an end, accesses out of bounds.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by it")]

use standstill_kernel::{Atomic, Device, LaunchError, Launched, Space, cells, kernel, tiles};

/// The codes of what was found.
fn codes(result: Result<Launched, LaunchError>) -> Vec<&'static str> {
    match result {
        Ok(_) => Vec::new(),
        Err(LaunchError::Found(findings)) => findings.iter().map(|finding| finding.rule.code()).collect(),
        Err(other) => panic!("{other}"),
    }
}

#[kernel]
fn neighbours_without_sync(space: Space, output: &mut [u32]) {
    let mut cache = space.tile_array::<u32, 64>();
    cache[space.cell_x] = space.x;
    output[space.x] = cache[63 - space.cell_x];
}

#[kernel]
fn same_element(space: Space, output: &mut [u32]) {
    output[0] = space.x;
}

#[kernel]
fn beyond(space: Space, output: &mut [u32]) {
    output[space.x] = 1;
}

#[kernel]
fn waits_for_nobody(space: Space, flag: &[Atomic<u32>]) {
    if space.x == 0 {
        while flag[0].load(Acquire, Device) == 0 {}
    }
}

#[kernel]
fn divides(space: Space, output: &mut [i32], by: i32) {
    output[space.x] = 7 / by;
}

#[kernel]
fn reads_what_nobody_wrote(space: Space, output: &mut [u32]) {
    let mut cache = space.tile_array::<u32, 64>();
    if space.cell_x < 32 {
        cache[space.cell_x] = 1;
    }
    space.sync();
    output[space.x] = if cache[space.cell_x] > 3 { 1 } else { 0 };
}

#[test]
fn races_are_errors() {
    let device = Device::software();
    let mut output = device.zeros(64).unwrap();
    assert_eq!(codes(neighbours_without_sync::launch(&device, tiles(1), 64, &mut output)), ["E0201"]);
    assert_eq!(codes(same_element::launch(&device, tiles(2), 32, &mut output)), ["E0202"]);
}

#[test]
fn accesses_out_of_bounds_are_errors() {
    let device = Device::software();
    let mut output = device.zeros(100).unwrap();
    assert_eq!(codes(beyond::launch(&device, cells(100), 100, &mut output)), [""; 0]);
    let error = beyond::launch(&device, cells(100), 64, &mut output).unwrap_err();
    let text = error.to_string();
    let start = "error[E0210]: the index is not below the length of `output`, in cell [36, 0, 0]";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains("found.rs:29:5: this access"), "{text}");
}

#[test]
fn waits_without_an_end_are_errors() {
    let device = Device::software();
    let flag = device.zeros(1).unwrap();
    assert_eq!(codes(waits_for_nobody::launch(&device, tiles(1), 32, &flag)), ["E0105"]);
}

#[test]
fn values_that_nobody_gave_are_told() {
    let device = Device::software();
    let mut output = device.zeros(64).unwrap();
    assert_eq!(codes(reads_what_nobody_wrote::launch(&device, tiles(1), 64, &mut output)), ["E0212"]);
}

#[test]
fn a_division_by_zero_stops() {
    let device = Device::software();
    let mut output = device.zeros(32).unwrap();
    divides::launch(&device, tiles(1), 32, &mut output, 2).unwrap();
    assert_eq!(output.read().unwrap(), [3; 32]);
    let LaunchError::Stopped(stopped) = divides::launch(&device, tiles(1), 32, &mut output, 0).unwrap_err()
    else {
        panic!("it was not stopped");
    };
    assert_eq!((stopped.reason.as_str(), stopped.line, stopped.cell), ("division by zero", 41, [0, 0, 0]));
}

#[test]
fn launches_that_do_not_fit_are_refused() {
    let device = Device::software();
    let mut output = device.zeros(32).unwrap();
    let error = beyond::launch(&device, tiles(1), 2048, &mut output).unwrap_err();
    assert!(matches!(error, LaunchError::Refused { .. }), "{error}");
    let mut elsewhere = Device::software().zeros(32).unwrap();
    let error = beyond::launch(&device, tiles(1), 32, &mut elsewhere).unwrap_err();
    assert_eq!(error.to_string(), "the launch of `beyond` was refused: a buffer lies on another device");
}
