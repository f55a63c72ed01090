//! A first kernel: `cargo run -p standstill-kernel --example first`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use standstill_kernel::{Device, Space, cells, kernel};

#[kernel]
fn scale(space: Space, input: &[f32], output: &mut [f32], factor: f32) {
    if space.in_bounds_x() {
        output[space.x] = factor * input[space.x];
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::software();
    let input = device.buffer(&[1.0, 2.0, 3.0, 4.0])?;
    let mut output = device.zeros(4)?;
    scale::launch(&device, cells(4), 256, &input, &mut output, 2.5)?;
    println!("{:?}", output.read()?);
    Ok(())
}
