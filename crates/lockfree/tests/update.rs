//! Updates: against a model, in all interleavings of small launches, and in long runs.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

#[path = "../drivers/mod.rs"]
mod drivers;

use drivers::update::update_driver::{
    compose_by_warp, multiply, multiply_by_warp, multiply_long, multiply_long_by_warp,
};
use proptest::prelude::*;
use standstill_kernel::{Device, cells, tiles};

/// The numbers after every factor has been applied; the order does not matter.
fn model(start: &[u64], index: &[u32], factors: &[u64]) -> Vec<u64> {
    let mut all = start.to_vec();
    for (&at, &factor) in index.iter().zip(factors) {
        all[at as usize] = all[at as usize].wrapping_mul(factor);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any number of cells in tiles of any size, any pattern of addresses.
    #[test]
    fn every_form_applies_every_factor(
        pairs in prop::collection::vec((0u32..5, any::<u64>()), 1..200),
        tile in 1u32..80,
    ) {
        let device = Device::software();
        let (index, factors): (Vec<u32>, Vec<u64>) = pairs.into_iter().unzip();
        let start = [1u64, 3, 5, 7, 11];
        let wanted = model(&start, &index, &factors);
        let short: Vec<u32> = wanted.iter().map(|&number| number as u32).collect();
        let grid = cells(index.len() as u32);
        let (at, long_factors) = (device.buffer(&index).unwrap(), device.buffer(&factors).unwrap());
        let factors = device.buffer(&factors.iter().map(|&f| f as u32).collect::<Vec<_>>()).unwrap();
        let mut numbers = device.zeros::<u32>(5).unwrap();
        let mut long_numbers = device.buffer(&start).unwrap();
        for by_warp in [false, true] {
            numbers.write(&start.map(|number| number as u32)).unwrap();
            long_numbers.write(&start).unwrap();
            if by_warp {
                multiply_by_warp::launch(&device, grid, tile, &numbers, &at, &factors).unwrap();
                multiply_long_by_warp::launch(&device, grid, tile, &long_numbers, &at, &long_factors).unwrap();
            } else {
                multiply::launch(&device, grid, tile, &numbers, &at, &factors).unwrap();
                multiply_long::launch(&device, grid, tile, &long_numbers, &at, &long_factors).unwrap();
            }
            prop_assert_eq!(numbers.read().unwrap(), short.clone());
            prop_assert_eq!(long_numbers.read().unwrap(), wanted.clone());
        }
    }

    /// A function that is not commutative: the arguments of a warp come together in the order of the lanes.
    #[test]
    fn a_warp_keeps_the_order_of_its_lanes(
        pairs in prop::collection::vec((0u32..3, any::<u32>()), 1..32),
    ) {
        let device = Device::software();
        let (index, maps): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
        let identity = 1 << 16;
        let mut wanted = [identity; 3];
        for (&at, &map) in index.iter().zip(&maps) {
            let old: u32 = wanted[at as usize];
            let a = (map >> 16).wrapping_mul(old >> 16);
            let b = (map >> 16).wrapping_mul(old & 0xffff).wrapping_add(map);
            wanted[at as usize] = a << 16 | b & 0xffff;
        }
        let numbers = device.buffer(&[identity; 3]).unwrap();
        let (at, maps) = (device.buffer(&index).unwrap(), device.buffer(&maps).unwrap());
        compose_by_warp::launch(&device, cells(index.len() as u32), 32, &numbers, &at, &maps).unwrap();
        prop_assert_eq!(numbers.read().unwrap(), wanted);
    }
}

/// Explores with one cell per tile, or all in one warp.
#[track_caller]
fn explored(tiled: bool, by_warp: bool, index: &[u32], expected: &str) {
    let device = Device::software();
    let count = index.len() as u32;
    let numbers = device.buffer(&[1u32, 1]).unwrap();
    let index = device.buffer(index).unwrap();
    let factors = device.buffer(&[2u32, 3, 5, 7][..count as usize]).unwrap();
    let (grid, tile) = if tiled { (tiles(count), 1) } else { (tiles(1), count) };
    let explored = if by_warp {
        multiply_by_warp::explore(grid, tile, expected, &numbers, &index, &factors)
    } else {
        multiply::explore(grid, tile, expected, &numbers, &index, &factors)
    };
    let explored = explored.unwrap();
    assert!(explored.is_right(), "{:#?}", explored.findings);
    assert_eq!(explored.results, 1);
}

#[test]
fn no_interleaving_loses_an_update() {
    explored(true, false, &[0, 0], "cells[0] == 6");
    explored(true, false, &[0, 0, 0, 0], "cells[0] == 210");
    explored(false, false, &[0, 0, 0, 0], "cells[0] == 210");
    explored(true, false, &[0, 1, 0, 1], "cells[0] == 10 && cells[1] == 21");
}

#[test]
fn no_interleaving_loses_an_update_by_warp() {
    explored(true, true, &[0, 0, 0], "cells[0] == 30");
    explored(false, true, &[0, 0, 0, 0], "cells[0] == 210");
    explored(false, true, &[0, 1, 0, 1], "cells[0] == 10 && cells[1] == 21");
}

/// Two warps meet on one number.
#[test]
fn warps_meet() {
    let device = Device::software();
    let numbers = device.buffer(&[1u32]).unwrap();
    let index = device.buffer(&[0u32; 4]).unwrap();
    let factors = device.buffer(&[2u32, 3, 5, 7]).unwrap();
    let explored =
        multiply_by_warp::explore(tiles(2), 2, "cells[0] == 210", &numbers, &index, &factors).unwrap();
    assert!(explored.is_right(), "{:#?}", explored.findings);
}
