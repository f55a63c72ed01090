//! What cells do together, on the software GPU: warps, atomics, parts of slices, helpers that write through references.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use standstill_kernel::{Atomic, Device, Space, cells, kernel, kernels, tiles};

#[kernel]
fn warps(
    space: Space,
    input: &[i32],
    floats: &[f32],
    sums: &mut [i32],
    lanes: &mut [u32],
    float_sums: &mut [f32],
) {
    let value = input[space.x];
    sums[space.x] = space.warp_sum(value) - space.warp_min(value) + space.warp_max(value);
    let next = space.shuffle(value, (space.lane + 1) % 32);
    let before = space.shuffle_up(value, 1);
    let partner = space.shuffle_xor(value, 16);
    lanes[space.x] = space.warp_ballot(value % 3 == 0);
    if space.warp_all(next < 1000) && space.warp_any(partner == 5) {
        lanes[space.x] ^= before as u32 + space.shuffle_down(partner, 2) as u32;
    }
    float_sums[space.x] = space.warp_sum(floats[space.x]);
}

#[kernels]
mod parts {
    use standstill_kernel::Space;

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

    /// Each cell sorts a row of its own by choosing the smallest of what is left.
    #[kernel]
    pub fn sort_rows(space: Space, data: &mut [u32], width: u32) {
        let row = &mut data[space.x * width..(space.x + 1) * width];
        for first in 0..width {
            let mut least = u32::MAX;
            let mut place = 0;
            smallest(&row[first..], &mut least, &mut place);
            swap(row, first, first + place);
        }
    }
}

#[kernel]
fn counts(
    space: Space,
    keys: &[u64],
    numbers: &[Atomic<u64>],
    floats: &[Atomic<f64>],
    signed: &[Atomic<i32>],
) {
    let key = keys[space.x];
    numbers[0].fetch_add(key, Relaxed);
    numbers[1].fetch_max(key, AcqRel);
    numbers[2].fetch_xor(key, SeqCst);
    numbers[3].fetch_or(1 << (key % 60), Relaxed);
    numbers[4].fetch_min(key, Relaxed, System);
    floats[0].fetch_add(key as f64 * 0.5, Relaxed);
    signed[0].fetch_sub(space.x as i32, Relaxed);
    signed[1].fetch_min(-(space.x as i32), Relaxed);
    if signed[2].compare_exchange(0, space.x as i32 + 1, AcqRel).is_ok() {
        signed[3].fetch_add(1, Relaxed);
    }
    numbers[5].swap(7, Relaxed);
}

#[test]
fn warps_work_together() {
    let device = Device::software();
    let values: Vec<i32> = (0..64).map(|i| i * 37 % 101 - 50).collect();
    let singles: Vec<f32> = values.iter().map(|&v| v as f32 * 0.25).collect();
    let (input, floats) = (device.buffer(&values).unwrap(), device.buffer(&singles).unwrap());
    let (mut sums, mut lanes) = (device.zeros(64).unwrap(), device.zeros(64).unwrap());
    let mut float_sums = device.zeros(64).unwrap();
    warps::launch(&device, tiles(1), 64, &input, &floats, &mut sums, &mut lanes, &mut float_sums).unwrap();
    for (warp, own) in values.chunks(32).enumerate() {
        let total: i32 = own.iter().sum::<i32>() - own.iter().min().unwrap() + own.iter().max().unwrap();
        let ballot = own.iter().zip(0..).map(|(&v, lane)| u32::from(v % 3 == 0) << lane).sum::<u32>();
        let partner = |lane: usize| own[lane ^ 16];
        let taken = own.iter().all(|&v| v < 1000) && own.contains(&5);
        for lane in 0..32 {
            let at = warp * 32 + lane;
            let up = own[lane.saturating_sub(1)];
            let down = partner(if lane + 2 < 32 { lane + 2 } else { lane });
            let mixed = (up as u32).wrapping_add(down as u32);
            let expected = if taken { ballot ^ mixed } else { ballot };
            assert_eq!(sums.read().unwrap()[at], total, "cell {at}");
            assert_eq!(lanes.read().unwrap()[at], expected, "cell {at}");
            assert_eq!(float_sums.read().unwrap()[at], own.iter().sum::<i32>() as f32 * 0.25);
        }
    }
}

#[test]
fn helpers_write_through_references_and_parts() {
    let device = Device::software();
    let mut values: Vec<u32> = (0..50).map(|i| i * 7919 % 64).collect();
    let mut data = device.buffer(&values).unwrap();
    parts::sort_rows::launch(&device, cells(5), 5, &mut data, 10).unwrap();
    values.chunks_mut(10).for_each(<[u32]>::sort_unstable);
    assert_eq!(data.read().unwrap(), values);
}

#[test]
fn atomics_of_all_kinds() {
    let device = Device::software();
    let keys: Vec<u64> = (0..96u64).map(|i| i * i * 1_000_003 % 7_777_777_777).collect();
    let input = device.buffer(&keys).unwrap();
    let numbers = device.buffer(&[0u64, 0, 0, 0, u64::MAX, 0]).unwrap();
    let floats = device.zeros(1).unwrap();
    let signed = device.zeros(4).unwrap();
    counts::launch(&device, cells(96), 32, &input, &numbers, &floats, &signed).unwrap();
    let fold = |with: fn(u64, u64) -> u64| keys.iter().copied().reduce(with).unwrap();
    let bits = keys.iter().fold(0, |all, key| all | 1u64 << (key % 60));
    let (sum, most, least) = (keys.iter().sum(), fold(u64::max), fold(u64::min));
    assert_eq!(numbers.read().unwrap(), [sum, most, fold(|a, b| a ^ b), bits, least, 7]);
    assert_eq!(floats.read().unwrap(), [sum as f64 * 0.5]);
    let signed = signed.read().unwrap();
    assert_eq!((signed[0], signed[1], signed[3]), (-(95 * 96 / 2), -95, 1));
}
