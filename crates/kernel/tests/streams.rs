//! What orders the operations of streams, and what does not.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use standstill_kernel::{Atomic, BufferError, Device, LaunchError, Space, cells, kernel};

#[kernel]
fn add(space: Space, input: &[u32], sums: &mut [u32]) {
    if space.in_bounds_x() {
        sums[space.x] += input[space.x];
    }
}

#[kernel]
fn count(space: Space, input: &[u32], total: &[Atomic<u32>]) {
    if space.in_bounds_x() {
        total[0].fetch_add(input[space.x], Relaxed);
    }
}

fn code(error: &LaunchError) -> &'static str {
    error.findings()[0].rule.code()
}

#[test]
fn an_event_and_the_host_order_streams() {
    let device = Device::software();
    let (one, other) = (device.stream().unwrap(), device.stream().unwrap());
    let input = device.buffer(&[1u32, 2, 3]).unwrap();
    let mut sums = device.zeros::<u32>(3).unwrap();
    add::launch_on(&one, cells(3), 32, &input, &mut sums).unwrap();
    let done = one.record().unwrap();
    other.wait(&done).unwrap();
    add::launch_on(&other, cells(3), 32, &input, &mut sums).unwrap();
    other.synchronize().unwrap();
    // The host has waited for both.
    add::launch(&device, cells(3), 32, &input, &mut sums).unwrap();
    add::launch_on(&one, cells(3), 32, &input, &mut sums).unwrap();
    assert_eq!(one.read(&sums).unwrap(), [4, 8, 12]);
    assert_eq!(sums.read().unwrap(), [4, 8, 12]);
}

#[test]
fn what_only_reads_or_counts_needs_no_order() {
    let device = Device::software();
    let (one, other) = (device.stream().unwrap(), device.stream().unwrap());
    let input = device.buffer(&[1u32, 2, 3]).unwrap();
    let total = device.zeros::<u32>(1).unwrap();
    for stream in [&one, &other, &one] {
        count::launch_on(stream, cells(3), 32, &input, &total).unwrap();
    }
    one.synchronize().unwrap();
    assert!(matches!(total.read(), Err(BufferError::Doubtful(_))));
    other.synchronize().unwrap();
    assert_eq!(total.read().unwrap(), [18]);
}

#[test]
fn what_nothing_orders_is_told_in_every_run() {
    let device = Device::software();
    let (one, other) = (device.stream().unwrap(), device.stream().unwrap());
    let input = device.buffer(&[1u32, 2, 3]).unwrap();
    let mut sums = device.zeros::<u32>(3).unwrap();
    let early = one.record().unwrap();
    add::launch_on(&one, cells(3), 32, &input, &mut sums).unwrap();
    // The event was recorded before the operation that it should cover.
    other.wait(&early).unwrap();
    let error = add::launch_on(&other, cells(3), 32, &input, &mut sums).unwrap_err();
    assert_eq!(code(&error), "E0301");
    assert!(
        error.to_string().contains("nothing orders `add` in stream 1 before `add` in stream 2"),
        "{error}"
    );
    assert!(error.to_string().contains("streams.rs"), "{error}");
    assert!(matches!(sums.read(), Err(BufferError::Doubtful(_))));
    assert!(matches!(sums.write(&[0, 0, 0]), Err(BufferError::Doubtful(_))));
    let mut input = input;
    assert!(other.write(&mut input, &[4, 5, 6]).is_err());
    one.synchronize().unwrap();
    assert_eq!(sums.read().unwrap(), [1, 2, 3]);
}
