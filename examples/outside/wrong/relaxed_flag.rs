//! A flag that says «the parcel is there» without a release.

use standstill_kernel::{Atomic, Space, kernel};

#[kernel]
fn hand_over(space: Space, flag: &[Atomic<u32>], parcel: &mut [u32], out: &mut [u32]) {
    if space.x == 0 {
        parcel[0] = 42;
        flag[0].store(1, Relaxed);
    } else {
        while flag[0].load(Acquire) == 0 {}
        out[space.x] = parcel[0];
    }
}

fn main() {}
