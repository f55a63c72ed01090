//! All interleavings of small launches of Rust kernels.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use standstill_kernel::{Atomic, Device, Explored, Space, kernel, tiles};

/// Multiplies by a loop of compare-and-swap: whoever loses goes on from what memory holds now.
#[kernel]
fn product(space: Space, acc: &[Atomic<u32>], factors: &[u32]) {
    let factor = factors[space.x];
    let mut old = acc[0].load(Relaxed);
    while let Err(now) = acc[0].compare_exchange(old, old * factor, Relaxed) {
        old = now;
    }
}

/// Reads and writes in two steps.
#[kernel]
fn product_that_loses(space: Space, acc: &[Atomic<u32>], factors: &[u32]) {
    let old = acc[0].load(Relaxed);
    acc[0].store(old * factors[space.x], Relaxed);
}

/// The first cell hands a number to the second.
#[kernel]
fn hand_over(space: Space, flag: &[Atomic<u32>], parcel: &mut [u32], out: &mut [u32]) {
    if space.x == 0 {
        parcel[0] = 42;
        flag[0].store(1, Release);
    } else {
        while flag[0].load(Acquire) == 0 {}
        out[0] = parcel[0];
    }
}

fn codes(explored: &Explored) -> Vec<&'static str> {
    explored.findings.iter().map(|finding| finding.rule.code()).collect()
}

#[test]
fn a_compare_and_swap_loop_loses_nothing() {
    let device = Device::software();
    let acc = device.buffer(&[1u32]).unwrap();
    let factors = device.buffer(&[2u32, 3, 5, 7]).unwrap();
    let explored = product::explore(tiles(1), 4, "acc[0] == 210", &acc, &factors).unwrap();
    assert!(explored.is_right(), "{:?}", explored.findings);
    assert_eq!(explored.results, 1);
    // The buffers are as they were; the device comes to the same.
    assert_eq!(acc.read().unwrap(), [1]);
    product::launch(&device, tiles(1), 4, &acc, &factors).unwrap();
    assert_eq!(acc.read().unwrap(), [210]);
}

#[test]
fn what_is_lost_is_found_with_its_schedule() {
    let device = Device::software();
    let acc = device.buffer(&[1u32]).unwrap();
    let factors = device.buffer(&[2u32, 3]).unwrap();
    let explored = product_that_loses::explore(tiles(1), 2, "acc[0] == 6", &acc, &factors).unwrap();
    assert!(!explored.is_right());
    assert!(codes(&explored).contains(&"E0205"), "{:?}", codes(&explored));
}

#[test]
fn a_payload_goes_with_its_flag() {
    let device = Device::software();
    let mut payload = device.zeros(1).unwrap();
    let mut out = device.zeros(1).unwrap();
    let flag = device.zeros(1).unwrap();
    let right = hand_over::explore(tiles(2), 1, "out[0] == 42", &flag, &mut payload, &mut out).unwrap();
    assert!(right.is_right(), "{:?}", right.findings);
}

/// A reader publishes which slot it is going to read, and looks again whether the slot is still in the list; who takes
/// the slot out uses it for another key only when nobody has published it.
#[kernel]
fn hazard(space: Space, head: &[Atomic<i32>], hazards: &[Atomic<i32>], keys: &mut [i32], out: &mut [i32]) {
    if space.x == 0 {
        let slot = head[0].load(Acquire);
        hazards[0].store(slot, SeqCst);
        if slot >= 0 && head[0].load(SeqCst) == slot {
            out[0] = keys[slot as u32];
        }
        hazards[0].store(-1, Release);
    } else {
        let slot = head[0].swap(-1, SeqCst);
        if hazards[0].load(SeqCst) != slot {
            keys[slot as u32] = 99;
        }
    }
}

/// The same with the slot published after the second look: too late.
#[kernel]
fn hazard_published_late(
    space: Space,
    head: &[Atomic<i32>],
    hazards: &[Atomic<i32>],
    keys: &mut [i32],
    out: &mut [i32],
) {
    if space.x == 0 {
        let slot = head[0].load(Acquire);
        if slot >= 0 && head[0].load(SeqCst) == slot {
            hazards[0].store(slot, SeqCst);
            out[0] = keys[slot as u32];
        }
        hazards[0].store(-1, Release);
    } else {
        let slot = head[0].swap(-1, SeqCst);
        if hazards[0].load(SeqCst) != slot {
            keys[slot as u32] = 99;
        }
    }
}

#[test]
fn a_hazard_keeps_a_slot_from_being_reused() {
    let device = Device::software();
    let (head, hazards) = (device.buffer(&[2]).unwrap(), device.buffer(&[-1]).unwrap());
    let mut keys = device.buffer(&[10, 30, 50]).unwrap();
    let mut out = device.zeros(1).unwrap();
    let expected = "out[0] == 50 || out[0] == 0";
    let right = hazard::explore(tiles(2), 1, expected, &head, &hazards, &mut keys, &mut out).unwrap();
    assert!(right.is_right(), "{:?}", right.findings);
    let late =
        hazard_published_late::explore(tiles(2), 1, expected, &head, &hazards, &mut keys, &mut out).unwrap();
    assert!(!late.is_right());
    assert!(codes(&late).contains(&"E0401"), "{:?}", codes(&late));
}
