//! A tile's cells part before its barrier.

use standstill_kernel::{Space, kernel};

#[kernel]
fn reverse(space: Space, data: &mut [f32]) {
    let mut cache = space.tile_array::<f32, 256>();
    if space.cell_x < 128 {
        cache[space.cell_x] = data[space.x];

        // The other half of the tile never comes here.
        space.sync();
        data[space.x] = cache[127 - space.cell_x];
    }
}

fn main() {}
