//! Kernels that are right: 1,000 elements in tiles of 256, so that the last tile has 24 cells to spare.

use standstill_kernel::{Device, Space, cells, kernel, kernels};

const ELEMENTS: usize = 1000;

/// Trailing cells load a neutral value, reach every `sync()`, and only the store is guarded.
#[kernel]
fn tile_sums(space: Space, input: &[f32], sums: &mut [f32]) {
    let mut cache = space.tile_array::<f32, 256>();
    cache[space.cell_x] = if space.in_bounds_x() { input[space.x] } else { 0.0 };
    space.sync();
    let mut stride = space.tile_size_x / 2;
    while stride > 0 {
        if space.cell_x < stride {
            cache[space.cell_x] += cache[space.cell_x + stride];
        }
        space.sync();
        stride /= 2;
    }
    if space.cell_x == 0 {
        sums[space.tile_x] = cache[0];
    }
}

/// Branches on a parameter and on the tile's index are the same for all cells of a tile.
#[kernel]
fn reverse_in_tiles(space: Space, input: &[u32], output: &mut [u32], reverse: bool) {
    let mut cache = space.tile_array::<u32, 256>();
    cache[space.cell_x] = if space.in_bounds_x() { input[space.x] } else { 0 };
    if reverse && space.tile_x < space.tiles_x - 1 {
        space.sync();
        output[space.x] = cache[255 - space.cell_x];
    } else if space.in_bounds_x() {
        output[space.x] = cache[space.cell_x];
    }
}

/// Cells that part without a `sync()` are right, only slower; an early return before none is, too.
#[kernel]
fn collatz_steps(space: Space, steps: &mut [u32]) {
    if !space.in_bounds_x() {
        return;
    }
    let mut number = space.x as u64 + 1;
    let mut count = 0;
    while number != 1 {
        number = match number % 2 {
            0 => number / 2,
            _ => 3 * number + 1,
        };
        count += 1;
    }
    steps[space.x] = count;
}

/// A helper with a `sync()` that all cells call.
#[kernels]
mod neighbours {
    use standstill_kernel::Space;

    const TILE: usize = 256;

    #[device]
    fn share(space: Space, cache: &mut [i32], value: i32) {
        cache[space.cell_x] = value;
        space.sync();
    }

    #[kernel]
    pub fn differences(space: Space, input: &[i32], output: &mut [i32]) {
        let mut cache = space.tile_array::<i32, TILE>();
        let own = if space.in_bounds_x() { input[space.x] } else { 0 };
        share(space, &mut cache, own);
        if space.in_bounds_x() {
            let left = match space.cell_x {
                0 if space.x == 0 => 0,
                0 => input[space.x - 1],
                cell => cache[cell - 1],
            };
            output[space.x] = own - left;
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::software();
    let space = cells(ELEMENTS as u32);

    let numbers: Vec<f32> = (0..ELEMENTS).map(|i| (i % 17) as f32).collect();
    let input = device.buffer(&numbers)?;
    let mut sums = device.zeros(4)?;
    tile_sums::launch(&device, space, 256, &input, &mut sums)?;
    let expected: Vec<f32> = numbers.chunks(256).map(|tile| tile.iter().sum()).collect();
    assert_eq!(sums.read()?, expected);

    let numbers: Vec<u32> = (0..ELEMENTS as u32).collect();
    let input = device.buffer(&numbers)?;
    let mut output = device.zeros(ELEMENTS)?;
    reverse_in_tiles::launch(&device, space, 256, &input, &mut output, true)?;
    let expected = |i: u32| if i < 768 { i / 256 * 256 + 255 - i % 256 } else { i };
    assert_eq!(output.read()?, numbers.iter().map(|&i| expected(i)).collect::<Vec<_>>());
    reverse_in_tiles::launch(&device, space, 256, &input, &mut output, false)?;
    assert_eq!(output.read()?, numbers);

    let mut steps = device.zeros(ELEMENTS)?;
    collatz_steps::launch(&device, space, 256, &mut steps)?;
    let steps = steps.read()?;
    assert_eq!((steps[0], steps[26], steps[999]), (0, 111, 111));

    let numbers: Vec<i32> = (0..ELEMENTS as i32).map(|i| i * i % 97).collect();
    let input = device.buffer(&numbers)?;
    let mut output = device.zeros(ELEMENTS)?;
    neighbours::differences::launch(&device, space, 256, &input, &mut output)?;
    let left = std::iter::once(0).chain(numbers.iter().copied());
    let expected: Vec<i32> = numbers.iter().zip(left).map(|(own, left)| own - left).collect();
    assert_eq!(output.read()?, expected);

    println!("elements={ELEMENTS} kernels=4 mismatches=0");
    Ok(())
}
