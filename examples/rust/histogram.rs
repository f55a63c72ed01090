//! How often each byte occurs: `cargo run -p standstill-kernel --example histogram`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use standstill_kernel::{Atomic, Device, Space, cells, kernel};

/// Each tile counts into a histogram of its own, and adds it to that of all at the end.
#[kernel]
fn histogram(space: Space, text: &[u8], counts: &[Atomic<u32>]) {
    let own = space.tile_array::<Atomic<u32>, 256>();
    for bin in (space.cell_x..256).step_by(space.tile_size_x) {
        own[bin].store(0, Relaxed, Tile);
    }
    space.sync();
    for at in (space.x..text.len() as u32).step_by(space.tiles_x * space.tile_size_x) {
        own[text[at]].fetch_add(1, Relaxed, Tile);
    }
    space.sync();
    for bin in (space.cell_x..256).step_by(space.tile_size_x) {
        let count = own[bin].load(Relaxed, Tile);
        if count > 0 {
            counts[bin].fetch_add(count, Relaxed, Device);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text: Vec<u8> = include_bytes!("histogram.rs").repeat(4);
    let device = Device::from_environment()?;
    let bytes = device.buffer(&text)?;
    let counts = device.zeros::<u32>(256)?;
    histogram::launch(&device, cells(2048), 128, &bytes, &counts)?;
    let counts = counts.read()?;
    for letter in *b"eta" {
        println!("{:?} occurs {} times", char::from(letter), counts[usize::from(letter)]);
    }
    let right = (0..=255u8)
        .all(|byte| counts[usize::from(byte)] as usize == text.iter().filter(|b| **b == byte).count());
    if right { Ok(()) } else { Err("the counts are wrong".into()) }
}
