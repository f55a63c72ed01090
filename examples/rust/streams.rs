//! The stream contract: two streams, one buffer: `cargo run -p standstill-kernel --example streams`.
//!
//! The producer copies in, doubles, and records an event behind its kernel; the consumer waits for that event before its kernel, and adds one. Without
//! the wait the software GPU tells in every run that nothing orders the two.

#![allow(clippy::print_stdout, reason = "an example prints")]

use standstill_kernel::{Device, Space, cells, kernel};

#[kernel]
fn twice(space: Space, data: &mut [f32]) {
    if space.in_bounds_x() {
        data[space.x] *= 2.0;
    }
}

#[kernel]
fn plus_one(space: Space, data: &mut [f32]) {
    if space.in_bounds_x() {
        data[space.x] += 1.0;
    }
}

/// How many elements are wrong.
fn contract(device: &Device, count: u32, waits: bool) -> Result<usize, Box<dyn std::error::Error>> {
    // Integers that single precision holds exactly: only so is an exact comparison right.
    let input: Vec<f32> = (0..count).map(|i| (i % 1000) as f32).collect();
    let (producer, consumer) = (device.stream()?, device.stream()?);
    let mut data = device.zeros(input.len())?;
    producer.write(&mut data, &input)?;
    twice::launch_on(&producer, cells(count), 256, &mut data)?;
    let produced = producer.record()?;
    if waits {
        consumer.wait(&produced)?;
    }
    plus_one::launch_on(&consumer, cells(count), 256, &mut data)?;
    let output = consumer.read(&data)?;
    Ok(output.iter().zip(&input).filter(|&(out, of)| *out != of * 2.0 + 1.0).count())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::from_environment()?;
    let mut mismatches = 0;
    for count in [1, 257, 4096, 4097] {
        let wrong = contract(&device, count, true)?;
        println!("elements={count} mismatches={wrong}");
        mismatches += wrong;
    }
    let told = contract(&Device::software(), 4096, false).err().map(|error| error.to_string());
    println!("without the wait: {}", told.as_deref().unwrap_or("nothing was told"));
    if mismatches == 0 && told.is_some() { Ok(()) } else { Err("the contract is broken".into()) }
}
