//! Trailing cells return before their tile's barrier.

use standstill_kernel::{Space, kernel};

#[kernel]
fn blur(space: Space, input: &[f32], output: &mut [f32]) {
    let mut cache = space.tile_array::<f32, 256>();
    if !space.in_bounds_x() {
        return;
    }
    cache[space.cell_x] = input[space.x];
    space.sync();
    let left = if space.cell_x > 0 { cache[space.cell_x - 1] } else { cache[0] };
    output[space.x] = 0.5 * (left + cache[space.cell_x]);
}

fn main() {}
