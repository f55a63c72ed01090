//! Matrices multiplied in tiles: `cargo run -p standstill-kernel --example matmul`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use standstill_kernel::{Device, cells, kernels};

#[kernels]
mod matrices {
    use standstill_kernel::Space;

    const SIDE: usize = 16;

    /// An element of a matrix, or zero beside it: every cell has something to load, and all come to the `sync()`.
    #[device]
    fn element(matrix: &[f32], row: u32, column: u32, rows: u32, columns: u32) -> f32 {
        if row < rows && column < columns { matrix[row * columns + column] } else { 0.0 }
    }

    /// `c = a · b`, with `a` of `rows` × `inner` and `b` of `inner` × `columns` elements.
    #[kernel]
    pub fn multiply(space: Space, a: &[f32], b: &[f32], c: &mut [f32], rows: u32, inner: u32, columns: u32) {
        let mut left = space.tile_array::<[f32; SIDE], SIDE>();
        let mut right = space.tile_array::<[f32; SIDE], SIDE>();
        let side = SIDE as u32;
        let mut sum = 0.0;
        for step in 0..(inner + side - 1) / side {
            left[space.cell_y][space.cell_x] = element(a, space.y, step * side + space.cell_x, rows, inner);
            right[space.cell_y][space.cell_x] =
                element(b, step * side + space.cell_y, space.x, inner, columns);
            space.sync();
            for k in 0..SIDE {
                sum += left[space.cell_y][k] * right[k][space.cell_x];
            }
            space.sync();
        }
        if space.in_bounds() {
            c[space.y * columns + space.x] = sum;
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rows, inner, columns) = (50u32, 40u32, 70u32);
    let value = |row: u32, column: u32| ((row * 7 + column * 3) % 11) as f32;
    let matrix = |height: u32, width: u32| -> Vec<f32> {
        (0..height * width).map(|at| value(at / width, at % width)).collect()
    };
    let device = Device::from_environment()?;
    let (a, b) = (device.buffer(&matrix(rows, inner))?, device.buffer(&matrix(inner, columns))?);
    let mut c = device.zeros((rows * columns) as usize)?;
    let space = cells([columns, rows]);
    matrices::multiply::launch(&device, space, [16, 16], &a, &b, &mut c, rows, inner, columns)?;
    let product = c.read()?;
    let wrong = product.iter().zip(0..).filter(|&(&got, at)| {
        let (row, column) = (at / columns, at % columns);
        got != (0..inner).map(|k| value(row, k) * value(k, column)).sum::<f32>()
    });
    let wrong = wrong.count();
    println!("{rows} × {inner} times {inner} × {columns}: {wrong} of {} elements differ", rows * columns);
    if wrong == 0 { Ok(()) } else { Err("the product is wrong".into()) }
}
