//! A sorted linked list that cells insert into at the same time: `cargo run -p standstill-kernel --example list`.
//!
//! Nodes are places in a pool, −1 is no node, node 0 stands before the first. The list is 10 30 50; one cell inserts 20,
//! another 25: both find the place between 10 and 30, and one of them comes too late.

#![allow(clippy::print_stdout, reason = "an example prints")]

use standstill_kernel::{Atomic, Buffer, Device, Space, kernel, tiles};

/// Whoever comes too late searches again from the head.
#[kernel]
fn insert(space: Space, next: &[Atomic<i32>], keys: &mut [i32], new: &[i32]) {
    let node = 4 + space.x;
    let key = new[space.x];
    keys[node] = key;
    loop {
        let mut before = 0;
        let mut after = next[before].load(Acquire);
        while after >= 0 && keys[after as u32] < key {
            before = after as u32;
            after = next[before].load(Acquire);
        }
        next[node].store(after, Relaxed);
        if next[before].compare_exchange(after, node as i32, AcqRel).is_ok() {
            break;
        }
    }
}

/// The classic fault: whoever comes too late tries again at the same place, where another key stands now.
#[kernel]
fn insert_at_the_old_place(space: Space, next: &[Atomic<i32>], keys: &mut [i32], new: &[i32]) {
    let node = 4 + space.x;
    let key = new[space.x];
    keys[node] = key;
    let mut before = 0;
    let mut after = next[before].load(Acquire);
    while after >= 0 && keys[after as u32] < key {
        before = after as u32;
        after = next[before].load(Acquire);
    }
    next[node].store(after, Relaxed);
    while let Err(now) = next[before].compare_exchange(after, node as i32, AcqRel) {
        after = now;
        next[node].store(after, Relaxed);
    }
}

/// The keys in the order of the list.
fn in_order(next: &Buffer<i32>, keys: &Buffer<i32>) -> Result<Vec<i32>, Box<dyn std::error::Error>> {
    let (next, keys) = (next.read()?, keys.read()?);
    let mut order = Vec::new();
    let mut node = next[0];
    while let Ok(index) = usize::try_from(node) {
        order.push(keys[index]);
        node = next[index];
    }
    Ok(order)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::from_environment()?;
    let next = device.buffer(&[1, 2, 3, -1, -1, -1])?;
    let mut keys = device.buffer(&[0, 10, 30, 50, 0, 0])?;
    let new = device.buffer(&[20, 25])?;
    // 10, 20, 25, 30, 50: by the places of their nodes 1, 4, 5, 2, 3.
    let sorted =
        "next[0] == 1 && next[1] == 4 && next[4] == 5 && next[5] == 2 && next[2] == 3 && next[3] == -1";

    let right = insert::explore(tiles(2), 1, sorted, &next, &mut keys, &new)?;
    println!("search again: {} states, {} results, right: {}", right.states, right.results, right.is_right());
    let wrong = insert_at_the_old_place::explore(tiles(2), 1, sorted, &next, &mut keys, &new)?;
    println!("same place again: {} results, right: {}", wrong.results, wrong.is_right());
    for finding in &wrong.findings {
        println!("  {}: {}", finding.rule.code(), finding.message);
    }

    insert::launch(&device, tiles(2), 1, &next, &mut keys, &new)?;
    let order = in_order(&next, &keys)?;
    println!("{order:?}");
    let confirmed = right.is_right() && !wrong.is_right() && order == [10, 20, 25, 30, 50];
    println!("{}", if confirmed { "confirmed" } else { "MISMATCH" });
    if confirmed { Ok(()) } else { Err("the list is not as expected".into()) }
}
