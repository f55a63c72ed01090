//! Each cell comes to the barrier a different number of times.

use standstill_kernel::{Space, kernel};

#[kernel]
fn staircase(space: Space, data: &mut [u32]) {
    for round in 0..space.cell_x {
        data[space.x] += round;
        space.sync();
    }
}

fn main() {}
