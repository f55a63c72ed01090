//! Arrays, tile arrays, slices and parts of them, helpers that write through references.

use standstill_kernel::{Device, Space, cells, kernel, kernels, tiles};

use super::{Case, Outcome, Word, pairs, words};

pairs!(arrays(a, b: u32) -> u64 {
    let mut table = [[1u32; 3]; 4];
    let weights = [3, 5, 7, 11];
    for row in 0..4usize {
        for column in 0..3usize { table[row][column] = weights[(row + column) % 4] + a % 10; }
    }
    table[b as usize % 4][a as usize % 3] *= 2;
    let mut long = [0u64; 40];
    long[b as usize % 40] = 9;
    let mut narrow = [-3i8; 20];
    narrow[a as usize % 20] = 100;
    let mut flags = [false; 5];
    flags[b as usize % 5] = true;
    let mut sum = 0u64;
    for i in 0..40usize { sum += long[i] * i as u64; }
    for i in 0..20usize { sum = sum.wrapping_add(narrow[i] as u64); }
    for i in 0..5usize { if flags[i] { sum += i as u64; } }
    for row in 0..4usize { for column in 0..3usize { sum = sum.wrapping_add(table[row][column] as u64); } }
    sum
} of [0u32, 1, 5, 17, 39, 40, 1000, u32::MAX]);

#[kernels]
mod parts {
    use standstill_kernel::Space;

    const WIDTH: u32 = 10;

    #[device]
    fn smallest(values: &[u32], least: &mut u32, place: &mut u32) {
        for i in 0..values.len() {
            if values[i] < *least {
                *least = values[i];
                *place = i as u32;
            }
        }
    }

    #[device]
    fn swap(values: &mut [u32], a: u32, b: u32) {
        let kept = values[a];
        values[a] = values[b];
        values[b] = kept;
    }

    #[device]
    fn is_mine(space: Space) -> bool {
        space.in_bounds_x()
    }

    /// Each cell sorts a row of its own by choosing the smallest of what is left.
    #[kernel]
    pub fn sort_rows(space: Space, data: &mut [u32]) {
        if is_mine(space) {
            let row = &mut data[space.x * WIDTH..(space.x + 1) * WIDTH];
            for first in 0..WIDTH {
                let mut least = u32::MAX;
                let mut place = 0;
                smallest(&row[first..], &mut least, &mut place);
                swap(row, first, first + place);
            }
        }
    }
}

fn rows() -> Vec<u32> {
    (0..400u32).map(|i| i.wrapping_mul(2_654_435_761) % 1000).collect()
}

fn run_helpers(device: &Device) -> Outcome {
    let mut data = device.buffer(&rows())?;
    parts::sort_rows::launch(device, cells(40), 32, &mut data)?;
    Ok(words(data.read()?))
}

fn expect_helpers() -> Vec<Word> {
    let mut values = rows();
    values.chunks_mut(10).for_each(<[u32]>::sort_unstable);
    words(values)
}

/// The sum of each tile of 256, and the elements of the tile backwards.
#[kernel]
fn tile_sums(space: Space, input: &[f32], sums: &mut [f32], backwards: &mut [f32]) {
    let mut cache = space.tile_array::<f32, 256>();
    let mut turned = space.tile_array::<f32, 256>();
    let value = if space.in_bounds_x() { input[space.x] } else { 0.0 };
    cache[space.cell_x] = value;
    turned[255 - space.cell_x] = value;
    space.sync();
    let mut stride = 128;
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
    if space.in_bounds_x() {
        backwards[space.x] = turned[space.cell_x];
    }
}

fn tenths() -> Vec<f32> {
    (0..1000).map(|i| (i * 37 % 1009) as f32 * 0.1 - 20.0).collect()
}

fn run_tile_sums(device: &Device) -> Outcome {
    let input = device.buffer(&tenths())?;
    let (mut sums, mut backwards) = (device.zeros(4)?, device.zeros(1000)?);
    tile_sums::launch(device, cells(1000), 256, &input, &mut sums, &mut backwards)?;
    Ok([words(sums.read()?), words(backwards.read()?)].concat())
}

fn expect_tile_sums() -> Vec<Word> {
    let mut padded = tenths();
    padded.resize(1024, 0.0);
    let sum = |tile: &[f32]| {
        let mut cache = tile.to_vec();
        while cache.len() > 1 {
            let (low, high) = cache.split_at(cache.len() / 2);
            cache = low.iter().zip(high).map(|(a, b)| a + b).collect();
        }
        cache[0]
    };
    let turned = padded.chunks(256).flat_map(|tile| tile.iter().rev().copied()).take(1000);
    [words(padded.chunks(256).map(sum)), words(turned)].concat()
}

/// Transposes in tiles of 8 × 8.
#[kernel]
fn transpose(space: Space, input: &[u16], output: &mut [u16], rows: u32, columns: u32) {
    let mut tile = space.tile_array::<[u16; 8], 8>();
    tile[space.cell_y][space.cell_x] = if space.in_bounds() { input[space.y * columns + space.x] } else { 0 };
    space.sync();
    let column = space.tile_x * 8 + space.cell_y;
    let row = space.tile_y * 8 + space.cell_x;
    if column < columns && row < rows {
        output[column * rows + row] = tile[space.cell_x][space.cell_y];
    }
}

fn run_transpose(device: &Device) -> Outcome {
    let input = device.buffer(&(0..20 * 30).map(|i| i as u16 * 7).collect::<Vec<u16>>())?;
    let mut output = device.zeros(600)?;
    transpose::launch(device, cells([30, 20]), [8, 8], &input, &mut output, 20, 30)?;
    Ok(words(output.read()?))
}

fn expect_transpose() -> Vec<Word> {
    words((0..30u16).flat_map(|column| (0..20).map(move |row| (row * 30 + column).wrapping_mul(7))))
}

/// Indices of every unsigned type, elements that are arrays, elements of one byte, lengths.
#[kernel]
fn slices(
    space: Space,
    points: &[[f32; 3]],
    bytes: &[u8],
    flags: &[bool],
    out: &mut [f64],
    shift: i16,
    twice: bool,
) {
    let at = space.x;
    if at < out.len() as u32 {
        let point = at as usize % points.len();
        let mut sum = 0.0f64;
        for axis in 0..3u8 {
            sum += points[point][axis] as f64;
        }
        let part = &bytes[at..at + 4];
        let narrow = (at % 4) as u8;
        sum += part[narrow] as f64 + part[part.len() - 1] as f64 * 0.5;
        if flags[at as u64 % 3] {
            sum *= 2.0;
        }
        out[at] = if twice { sum + shift as f64 } else { sum };
    }
}

fn points() -> Vec<[f32; 3]> {
    (0..7).map(|i| [i as f32 * 0.1, 1.0 / (i + 1) as f32, -3.5]).collect()
}

fn run_slices(device: &Device) -> Outcome {
    let bytes: Vec<u8> = (0..104u32).map(|i| (i * 91) as u8).collect();
    let (points, bytes) = (device.buffer(&points())?, device.buffer(&bytes)?);
    let flags = device.buffer(&[true, false, true])?;
    let mut out = device.zeros(100)?;
    slices::launch(device, tiles(2), 64, &points, &bytes, &flags, &mut out, -12, true)?;
    Ok(words(out.read()?))
}

fn expect_slices() -> Vec<Word> {
    let (points, bytes) = (points(), |i: u32| f64::from((i * 91) as u8));
    words((0..100u32).map(|at| {
        let mut sum = points[at as usize % 7].iter().fold(0.0, |sum, axis| sum + f64::from(*axis));
        sum += bytes(at + at % 4) + bytes(at + 3) * 0.5;
        if at % 3 != 1 {
            sum *= 2.0;
        }
        sum - 12.0
    }))
}

/// Every number that a space tells.
#[kernel]
fn coordinates(space: Space, out: &mut [u32]) {
    let width = space.tiles_x * space.tile_size_x;
    let height = space.tiles_y * space.tile_size_y;
    let at = (space.z * height + space.y) * width + space.x;
    let row = &mut out[at * 8..at * 8 + 8];
    row[0] = space.cell_x | space.cell_y << 8 | space.cell_z << 16;
    row[1] = space.tile_x | space.tile_y << 8 | space.tile_z << 16;
    row[2] = space.tile_size_x | space.tile_size_y << 8 | space.tile_size_z << 16;
    row[3] = space.tiles_x | space.tiles_y << 8 | space.tiles_z << 16;
    row[4] = space.size_x | space.size_y << 8 | space.size_z << 16;
    row[5] = space.lane;
    row[6] = space.warp;
    row[7] = space.in_bounds_x() as u32 | (space.in_bounds_y() as u32) << 1 | (space.in_bounds() as u32) << 2;
}

const SPACE: [u32; 3] = [11, 5, 3];
const TILE: [u32; 3] = [4, 4, 3];

fn run_coordinates(device: &Device) -> Outcome {
    let mut out = device.zeros(12 * 8 * 3 * 8)?;
    coordinates::launch(device, cells(SPACE), TILE, &mut out)?;
    Ok(words(out.read()?))
}

fn expect_coordinates() -> Vec<Word> {
    let packed = |[x, y, z]: [u32; 3]| x | y << 8 | z << 16;
    let tiles = [3, 2, 1];
    let mut out = Vec::new();
    for z in 0..3 {
        for y in 0..8 {
            for x in 0..12 {
                let index = [x, y, z];
                let cell: [u32; 3] = std::array::from_fn(|axis| index[axis] % TILE[axis]);
                let tile = std::array::from_fn(|axis| index[axis] / TILE[axis]);
                let flat = (cell[2] * 4 + cell[1]) * 4 + cell[0];
                let inside = (x < 11) as u32 | ((y < 5) as u32) << 1 | ((x < 11 && y < 5) as u32) << 2;
                let numbers = [packed(cell), packed(tile), packed(TILE), packed(tiles), packed(SPACE)];
                out.extend(numbers);
                out.extend([flat % 32, flat / 32, inside]);
            }
        }
    }
    words(out)
}

pub(super) const CASES: &[Case] = &[
    arrays::CASE,
    Case { name: "helpers", run: run_helpers, expected: expect_helpers, ptx: parts::sort_rows::ptx },
    Case { name: "tile_sums", run: run_tile_sums, expected: expect_tile_sums, ptx: tile_sums::ptx },
    Case { name: "transpose", run: run_transpose, expected: expect_transpose, ptx: transpose::ptx },
    Case { name: "slices", run: run_slices, expected: expect_slices, ptx: slices::ptx },
    Case { name: "coordinates", run: run_coordinates, expected: expect_coordinates, ptx: coordinates::ptx },
];
