//! What cells do together: atomics, fences, warps.

use standstill_kernel::{Atomic, Device, Space, cells, kernel, tiles};

use super::{Case, Outcome, Word, words};

/// All read-modify-writes whose results do not depend on who comes first.
#[kernel]
fn atomics(
    space: Space,
    keys: &[u64],
    long: &[Atomic<u64>],
    short: &[Atomic<u32>],
    signed: &[Atomic<i32>],
    wide: &[Atomic<i64>],
    singles: &[Atomic<f32>],
    doubles: &[Atomic<f64>],
) {
    if space.in_bounds_x() {
        let key = keys[space.x];
        long[0].fetch_add(key, Relaxed);
        long[1].fetch_max(key, AcqRel);
        long[2].fetch_xor(key, SeqCst);
        long[3].fetch_or(1 << (key % 60), Relaxed);
        long[4].fetch_min(key, Relaxed, System);
        long[5].fetch_and(key | 0xff00, Release);
        long[6].fetch_sub(key, Acquire);
        short[0].fetch_add(key as u32, Relaxed);
        short[1].fetch_max(key as u32, Relaxed);
        short[2].fetch_xor(key as u32, Relaxed);
        short[3].swap(7, Relaxed);
        signed[0].fetch_sub(space.x as i32, Relaxed);
        signed[1].fetch_min(-(space.x as i32), Relaxed);
        signed[2].fetch_max(space.x as i32 - 5, Relaxed);
        if signed[3].compare_exchange(0, 1, AcqRel).is_ok() {
            signed[4].fetch_add(1, Relaxed);
        }
        wide[0].fetch_add(-(key as i64), Relaxed);
        wide[1].fetch_min(500 - key as i64, Relaxed);
        wide[2].fetch_max(key as i64 - 500, Relaxed);
        singles[0].fetch_add((key % 64) as f32 * 0.5, Relaxed);
        doubles[0].fetch_add(key as f64 * 0.5, Relaxed);
    }
}

fn keys() -> Vec<u64> {
    (0..200u64).map(|i| i * i * 1_000_003 % 7_777_777_777).collect()
}

fn run_atomics(device: &Device) -> Outcome {
    let input = device.buffer(&keys())?;
    let long = device.buffer(&[0u64, 0, 0, 0, u64::MAX, u64::MAX, 5])?;
    let (short, signed, wide) = (device.zeros(4)?, device.zeros(5)?, device.zeros(3)?);
    let (singles, doubles) = (device.zeros(1)?, device.zeros(1)?);
    atomics::launch(device, cells(200), 64, &input, &long, &short, &signed, &wide, &singles, &doubles)?;
    let mut all = words(long.read()?);
    all.extend(words(short.read()?));
    all.extend(words(signed.read()?));
    all.extend(words(wide.read()?));
    all.extend(words(singles.read()?));
    all.extend(words(doubles.read()?));
    Ok(all)
}

fn expect_atomics() -> Vec<Word> {
    let keys = keys();
    let fold = |with: fn(u64, u64) -> u64| keys.iter().copied().reduce(with).unwrap_or_default();
    let narrow =
        |with: fn(u32, u32) -> u32| keys.iter().map(|&key| key as u32).reduce(with).unwrap_or_default();
    let bits = keys.iter().fold(0, |all, key| all | 1u64 << (key % 60));
    let masks = keys.iter().fold(u64::MAX, |all, key| all & (key | 0xff00));
    let sum: u64 = keys.iter().sum();
    let halves: f32 = keys.iter().map(|key| (key % 64) as f32 * 0.5).sum();
    let (most, least) = (fold(u64::max), fold(u64::min));
    let mut all = words([sum, most, fold(|a, b| a ^ b), bits, least, masks, 5u64.wrapping_sub(sum)]);
    all.extend(words([narrow(u32::wrapping_add), narrow(u32::max), narrow(|a, b| a ^ b), 7]));
    all.extend(words([-(199 * 200 / 2), -199, 194, 1, 1]));
    all.extend(words([-(sum as i64), 500 - most as i64, (most as i64 - 500).max(0)]));
    all.extend(words([halves]));
    all.extend(words([sum as f64 * 0.5]));
    all
}

/// Every cell multiplies one of a few numbers by its factor, with a loop of `compare_exchange`.
#[kernel]
fn exchange_loop(space: Space, products: &[Atomic<u32>], wide: &[Atomic<u64>]) {
    let slot = space.x % 5;
    let factor = space.x * 2 + 1;
    let mut old = products[slot].load(Relaxed);
    while let Err(now) = products[slot].compare_exchange(old, old.wrapping_mul(factor), AcqRel) {
        old = now;
    }
    let mut held = wide[slot].load(Acquire);
    loop {
        match wide[slot].compare_exchange(held, held.wrapping_mul(factor as u64), SeqCst, System) {
            Ok(_) => break,
            Err(now) => held = now,
        }
    }
}

fn run_exchange_loop(device: &Device) -> Outcome {
    let (products, wide) = (device.buffer(&[1u32; 5])?, device.buffer(&[3u64; 5])?);
    exchange_loop::launch(device, tiles(4), 64, &products, &wide)?;
    Ok([words(products.read()?), words(wide.read()?)].concat())
}

fn expect_exchange_loop() -> Vec<Word> {
    let product = |slot: u32, first: u64| {
        (slot..256).step_by(5).fold(first, |all, x| all.wrapping_mul(u64::from(x * 2 + 1)))
    };
    [words((0..5).map(|slot| product(slot, 1) as u32)), words((0..5).map(|slot| product(slot, 3)))].concat()
}

/// A value handed from tile to tile: by release and acquire, and by fences around relaxed accesses.
#[kernel]
fn handed_on(space: Space, data: &mut [u32], flags: &[Atomic<u32>]) {
    let tile = space.tile_x;
    if space.cell_x == 0 {
        if tile == 0 {
            data[0] = 17;
            flags[0].store(1, Release);
        } else if tile % 2 == 1 {
            while flags[tile - 1].load(Acquire) == 0 {}
            data[tile] = data[tile - 1] * 3 + tile;
            space.fence(AcqRel, Device);
            flags[tile].store(1, Relaxed);
        } else {
            while flags[tile - 1].load(Relaxed) == 0 {}
            space.fence(SeqCst, Device);
            data[tile] = data[tile - 1] * 5 + tile;
            flags[tile].store(1, Release, Device);
        }
    }
}

fn run_handed_on(device: &Device) -> Outcome {
    let (mut data, flags) = (device.zeros(8)?, device.zeros(8)?);
    handed_on::launch(device, tiles(8), 32, &mut data, &flags)?;
    Ok([words(data.read()?), words(flags.read()?)].concat())
}

fn expect_handed_on() -> Vec<Word> {
    let mut data = vec![17u32];
    for tile in 1..8 {
        let before = data[tile as usize - 1];
        data.push(before * if tile % 2 == 1 { 3 } else { 5 } + tile);
    }
    [words(data), words([1u32; 8])].concat()
}

/// Counts in a tile's memory.
#[kernel]
fn tile_atomics(space: Space, keys: &[u8], counts: &mut [u32]) {
    let own = space.tile_array::<Atomic<u32>, 16>();
    if space.cell_x < 16 {
        own[space.cell_x].store(0, Relaxed, Tile);
    }
    space.sync();
    own[keys[space.x] % 16].fetch_add(1, Relaxed, Tile);
    space.sync();
    if space.cell_x < 16 {
        counts[space.tile_x * 16 + space.cell_x] = own[space.cell_x].load(Relaxed, Tile);
    }
}

fn letters() -> Vec<u8> {
    (0..512u32).map(|i| (i * i * 7 + i / 3) as u8).collect()
}

fn run_tile_atomics(device: &Device) -> Outcome {
    let keys = device.buffer(&letters())?;
    let mut counts = device.zeros(64)?;
    tile_atomics::launch(device, tiles(4), 128, &keys, &mut counts)?;
    Ok(words(counts.read()?))
}

fn expect_tile_atomics() -> Vec<Word> {
    let count = |tile: &[u8], bin: u8| tile.iter().filter(|key| **key % 16 == bin).count() as u32;
    words(letters().chunks(128).flat_map(|tile| (0..16).map(move |bin| count(tile, bin))))
}

#[kernel]
fn shuffles(space: Space, input: &[i32], floats: &[f32], out: &mut [i32], turned: &mut [f32]) {
    let value = input[space.x];
    let single = floats[space.x];
    let next = space.shuffle(value, (space.lane + 1) % 32);
    let above = space.shuffle_up(value, 3);
    let below = space.shuffle_down(value, 5);
    let partner = space.shuffle_xor(value, 16);
    out[space.x] = next.wrapping_mul(31).wrapping_add(above).wrapping_mul(31).wrapping_add(below) ^ partner;
    turned[space.x] = space.shuffle(single, 31 - space.lane) + space.shuffle_xor(single, 1);
}

fn numbers() -> (Vec<i32>, Vec<f32>) {
    let values: Vec<i32> = (0..96).map(|i| i * 3737 % 1009 - 500).collect();
    let singles = values.iter().map(|&value| value as f32 * 0.1).collect();
    (values, singles)
}

fn run_shuffles(device: &Device) -> Outcome {
    let (values, singles) = numbers();
    let (input, floats) = (device.buffer(&values)?, device.buffer(&singles)?);
    let (mut out, mut turned) = (device.zeros(96)?, device.zeros(96)?);
    shuffles::launch(device, tiles(3), 32, &input, &floats, &mut out, &mut turned)?;
    Ok([words(out.read()?), words(turned.read()?)].concat())
}

fn expect_shuffles() -> Vec<Word> {
    let (values, singles) = numbers();
    let (mut out, mut turned) = (Vec::new(), Vec::new());
    for (own, floats) in values.chunks(32).zip(singles.chunks(32)) {
        for lane in 0..32 {
            let above = own[if lane >= 3 { lane - 3 } else { lane }];
            let below = own[if lane + 5 < 32 { lane + 5 } else { lane }];
            let next = own[(lane + 1) % 32];
            out.push(
                next.wrapping_mul(31).wrapping_add(above).wrapping_mul(31).wrapping_add(below)
                    ^ own[lane ^ 16],
            );
            turned.push(floats[31 - lane] + floats[lane ^ 1]);
        }
    }
    [words(out), words(turned)].concat()
}

#[kernel]
fn votes(space: Space, input: &[i32], out: &mut [u32]) {
    let value = input[space.x];
    let mut all = space.warp_ballot(value % 3 == 0);
    if space.warp_all(value < 490) {
        all ^= 0x8000_0001;
    }
    if space.warp_any(value == 237) {
        all = all.wrapping_add(77);
    }
    space.warp_sync();
    out[space.x] = all;
}

fn run_votes(device: &Device) -> Outcome {
    let input = device.buffer(&numbers().0)?;
    let mut out = device.zeros(96)?;
    votes::launch(device, tiles(3), 32, &input, &mut out)?;
    Ok(words(out.read()?))
}

fn expect_votes() -> Vec<Word> {
    words(numbers().0.chunks(32).flat_map(|own| {
        let mut all = own.iter().zip(0..).map(|(&v, lane)| u32::from(v % 3 == 0) << lane).sum::<u32>();
        if own.iter().all(|&value| value < 490) {
            all ^= 0x8000_0001;
        }
        if own.contains(&237) {
            all = all.wrapping_add(77);
        }
        [all; 32]
    }))
}

#[kernel]
fn reductions(
    space: Space,
    input: &[i32],
    floats: &[f32],
    out: &mut [i32],
    unsigned: &mut [u32],
    sums: &mut [f32],
) {
    let value = input[space.x];
    out[space.x] =
        space.warp_sum(value).wrapping_mul(31) ^ space.warp_min(value) ^ space.warp_max(value) << 12;
    unsigned[space.x] =
        space.warp_sum(value as u32) ^ space.warp_max(value as u32) ^ space.warp_min(value as u32);
    let single = floats[space.x];
    sums[space.x] = space.warp_sum(single) + space.warp_max(single) * 0.5 - space.warp_min(single);
}

fn run_reductions(device: &Device) -> Outcome {
    let (values, singles) = numbers();
    let (input, floats) = (device.buffer(&values)?, device.buffer(&singles)?);
    let (mut out, mut unsigned, mut sums) = (device.zeros(96)?, device.zeros(96)?, device.zeros(96)?);
    reductions::launch(device, tiles(3), 32, &input, &floats, &mut out, &mut unsigned, &mut sums)?;
    Ok([words(out.read()?), words(unsigned.read()?), words(sums.read()?)].concat())
}

fn expect_reductions() -> Vec<Word> {
    let (values, singles) = numbers();
    let (mut out, mut unsigned, mut sums) = (Vec::new(), Vec::new(), Vec::new());
    for (own, floats) in values.chunks(32).zip(singles.chunks(32)) {
        let fold = |with: fn(i32, i32) -> i32| own.iter().copied().reduce(with).unwrap_or_default();
        let bare = |with: fn(u32, u32) -> u32| own.iter().map(|&v| v as u32).reduce(with).unwrap_or_default();
        let single = |with: fn(f32, f32) -> f32| floats.iter().copied().reduce(with).unwrap_or_default();
        out.extend([fold(i32::wrapping_add).wrapping_mul(31) ^ fold(i32::min) ^ fold(i32::max) << 12; 32]);
        unsigned.extend([bare(u32::wrapping_add) ^ bare(u32::max) ^ bare(u32::min); 32]);
        // All lanes add the same pairs.
        let mut sum = floats.to_vec();
        for distance in [16, 8, 4, 2, 1] {
            sum = (0..32).map(|lane| sum[lane] + sum[lane ^ distance]).collect();
        }
        sums.extend([sum[0] + single(f32::max) * 0.5 - single(f32::min); 32]);
    }
    [words(out), words(unsigned), words(sums)].concat()
}

pub(super) const CASES: &[Case] = &[
    Case { name: "atomics", run: run_atomics, expected: expect_atomics, ptx: atomics::ptx },
    Case {
        name: "exchange_loop",
        run: run_exchange_loop,
        expected: expect_exchange_loop,
        ptx: exchange_loop::ptx,
    },
    Case { name: "handed_on", run: run_handed_on, expected: expect_handed_on, ptx: handed_on::ptx },
    Case {
        name: "tile_atomics",
        run: run_tile_atomics,
        expected: expect_tile_atomics,
        ptx: tile_atomics::ptx,
    },
    Case { name: "shuffles", run: run_shuffles, expected: expect_shuffles, ptx: shuffles::ptx },
    Case { name: "votes", run: run_votes, expected: expect_votes, ptx: votes::ptx },
    Case { name: "reductions", run: run_reductions, expected: expect_reductions, ptx: reductions::ptx },
];
