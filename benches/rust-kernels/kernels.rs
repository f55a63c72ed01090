//! The kernels of the comparison with CUDA C++, as PTX on standard output:
//! `cargo run -p standstill-kernel --example against_cuda -- sm_90`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use standstill_kernel::kernels;

#[kernels]
mod loops {
    use standstill_kernel::{Atomic, Space};

    /// Multiplies numbers by 3, each chosen by a hash, with a loop of `compare_exchange`.
    #[kernel]
    pub fn multiply(space: Space, numbers: &[Atomic<u32>], mask: u32, rounds: u32) {
        for round in 0..rounds {
            let at = ((space.x + round * 7919).wrapping_mul(2_654_435_761) >> 7) & mask;
            let mut old = numbers[at].load(Relaxed);
            while let Err(now) = numbers[at].compare_exchange(old, old * 3, Relaxed) {
                old = now;
            }
        }
    }

    #[kernel]
    pub fn saxpy(space: Space, x: &[f32], y: &mut [f32], a: f32) {
        for i in (space.x..x.len() as u32).step_by(space.tiles_x * space.tile_size_x) {
            y[i] = a * x[i] + y[i];
        }
    }

    #[kernel]
    pub fn dot(space: Space, x: &[f32], y: &[f32], sum: &[Atomic<f32>]) {
        let mut own = 0.0;
        for i in (space.x..x.len() as u32).step_by(space.tiles_x * space.tile_size_x) {
            own += x[i] * y[i];
        }
        own = space.warp_sum(own);
        if space.lane == 0 {
            sum[0].fetch_add(own, Relaxed);
        }
    }

    #[kernel]
    pub fn histogram(space: Space, text: &[u8], counts: &[Atomic<u32>]) {
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
            counts[bin].fetch_add(own[bin].load(Relaxed, Tile), Relaxed);
        }
    }

    /// Whole tiles only.
    #[kernel]
    pub fn matmul(space: Space, a: &[f32], b: &[f32], c: &mut [f32], side: u32) {
        let mut left = space.tile_array::<[f32; 16], 16>();
        let mut right = space.tile_array::<[f32; 16], 16>();
        let mut sum = 0.0;
        for step in 0..side / 16 {
            left[space.cell_y][space.cell_x] = a[space.y * side + step * 16 + space.cell_x];
            right[space.cell_y][space.cell_x] = b[(step * 16 + space.cell_y) * side + space.x];
            space.sync();
            for k in 0..16u32 {
                sum += left[space.cell_y][k] * right[k][space.cell_x];
            }
            space.sync();
        }
        c[space.y * side + space.x] = sum;
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target = std::env::args().nth(1).unwrap_or_else(|| "sm_90".to_owned());
    println!("{}", loops::multiply::ptx(&target)?);
    Ok(())
}
