//! The sorted list on its pool: against a model, in all interleavings of small launches, and in long runs.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by it, and tells how much it saw")]

#[path = "../drivers/mod.rs"]
mod drivers;

use std::collections::BTreeSet;

use drivers::list::list_driver::{CONTAINS, INSERT, NO_NODE, REMOVE, all_keys, run};
use proptest::prelude::*;
use standstill_kernel::{Buffer, Device, Explored, LaunchError, Launched, Schedule, tiles};
use standstill_lockfree::SortedList;

/// What a script of one cell gives, and what it leaves.
fn model(keys: &[u32], capacity: usize, script: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut held: BTreeSet<u32> = keys.iter().copied().collect();
    let mut one = |&word: &u32| {
        let key = word & 0xff_ffff;
        match word - key {
            // A node is taken before the key is looked for.
            INSERT if held.len() == capacity => NO_NODE,
            INSERT => u32::from(held.insert(key)),
            REMOVE => u32::from(held.remove(&key)),
            _ => u32::from(held.contains(&key)),
        }
    };
    let results = script.iter().map(&mut one).collect();
    (results, held.into_iter().collect())
}

/// A list with its script.
struct Launch {
    list: SortedList,
    held: Buffer<u32>,
    words: Buffer<u32>,
    results: Buffer<u32>,
}

impl Launch {
    fn new(device: &Device, cells: u32, keys: &[u32], capacity: usize, script: &[u32]) -> Launch {
        Launch {
            list: SortedList::new(device, keys, capacity, cells as usize).unwrap(),
            held: device.buffer(keys).unwrap(),
            words: device.buffer(script).unwrap(),
            results: device.zeros(script.len()).unwrap(),
        }
    }

    fn run(&mut self, device: &Device, blocks: u32, tile: u32) -> Result<Launched, LaunchError> {
        let Launch { list, held, words, results } = self;
        let (links, keys, pool) = (&list.links, &mut list.keys, &list.pool);
        let (heads, next, hazards) = (&pool.heads, &pool.next, &pool.hazards);
        run::launch(device, tiles(blocks), tile, links, keys, heads, next, hazards, held, words, results)
    }

    fn explore(&mut self, cells: u32) -> Explored {
        let Launch { list, held, words, results } = self;
        let (links, keys, pool) = (&list.links, &mut list.keys, &list.pool);
        let (heads, next, hazards) = (&pool.heads, &pool.next, &pool.hazards);
        run::explore(tiles(cells), 1, "", links, keys, heads, next, hazards, held, words, results).unwrap()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn one_cell_sees_a_sorted_set(
        keys in prop::collection::btree_set(0u32..12, 0..5),
        room in 0usize..4,
        script in prop::collection::vec((0u32..3, 0u32..12), 1..60),
    ) {
        let device = Device::software();
        let keys: Vec<u32> = keys.into_iter().collect();
        let capacity = keys.len() + room;
        let script: Vec<u32> = script.into_iter().map(|(operation, key)| operation << 24 | key).collect();
        let mut launch = Launch::new(&device, 1, &keys, capacity, &script);
        launch.run(&device, 1, 1).unwrap();
        let seen = (launch.results.read().unwrap(), launch.list.contents().unwrap());
        prop_assert_eq!(seen, model(&keys, capacity, &script));
    }
}

/// Explores a script for so many cells, each in a tile of its own.
#[track_caller]
fn explored(cells: u32, keys: &[u32], capacity: usize, script: &[u32]) {
    let explored = Launch::new(&Device::software(), cells, keys, capacity, script).explore(cells);
    println!("{cells} cells, {keys:?}, {script:?}: {} states", explored.states);
    assert!(explored.is_right(), "{:#?}", explored.findings);
}

#[test]
fn every_interleaving_is_that_of_a_set() {
    explored(2, &[10, 30, 50], 5, &[20, 25]);
    explored(2, &[10, 30], 4, &[20, REMOVE + 10]);
    explored(2, &[10, 30], 4, &[REMOVE + 10, REMOVE + 30]);
    explored(2, &[10, 30], 4, &[REMOVE + 10, CONTAINS + 30]);
    explored(2, &[10], 3, &[REMOVE + 10, REMOVE + 10]);
    explored(2, &[], 2, &[20, 20]);
}

/// Keys come in order, and all that are in.
#[test]
fn all_keys_come_in_order() {
    let device = Device::software();
    let list = SortedList::new(&device, &[0, 3, 9], 4, 2).unwrap();
    let mut out = device.buffer(&[77; 10]).unwrap();
    let pool = &list.pool;
    all_keys::launch(
        &device,
        tiles(2),
        1,
        &list.links,
        &list.keys,
        &pool.heads,
        &pool.next,
        &pool.hazards,
        &mut out,
    )
    .unwrap();
    assert_eq!(out.read().unwrap(), [0, 3, 9, 77, 77, 0, 3, 9, 77, 77]);
}

/// Cells insert, remove and look as chance says, in few keys and with few nodes to spare, so that nodes are used anew all the
/// time.
#[test]
fn long_runs_keep_the_list_whole() {
    let (blocks, tile, steps) = (4, 32, 6);
    let schedules = [Schedule::Turns, Schedule::Random(1), Schedule::Random(2), Schedule::Priorities(3)];
    for (schedule, seed) in schedules.into_iter().zip(0..) {
        let device = Device::software_with(schedule);
        let count = blocks * tile * steps;
        let word = |at: u32| {
            let chance = (at + seed).wrapping_mul(0x9e37_79b9) >> 8;
            ((chance % 3) << 24) | (chance / 3 % 24)
        };
        let script: Vec<u32> = (0..count).map(word).collect();
        let start = [4, 8, 15, 16, 23];
        let mut launch = Launch::new(&device, blocks * tile, &start, 60, &script);
        launch.run(&device, blocks, tile).unwrap();
        let mut balance = [0i32; 24];
        start.iter().for_each(|&key| balance[key as usize] += 1);
        for (&word, &result) in script.iter().zip(&launch.results.read().unwrap()) {
            let key = (word & 0xff_ffff) as usize;
            balance[key] += match word - key as u32 {
                INSERT => i32::from(result == 1),
                REMOVE => -(result as i32),
                _ => 0,
            };
        }
        let left: Vec<u32> = (0..24).filter(|&key| balance[key as usize] == 1).collect();
        assert!(balance.iter().all(|count| (0..=1).contains(count)), "{balance:?}");
        assert_eq!(launch.list.contents().unwrap(), left);
    }
}

#[test]
fn more_cells_see_a_set() {
    explored(3, &[10, 30], 5, &[20, REMOVE + 10, 5]);
    explored(3, &[10], 4, &[REMOVE + 10, 10, CONTAINS + 10]);
    explored(2, &[10], 4, &[REMOVE + 10, 20, 30, REMOVE + 20]);
    explored(4, &[10], 5, &[20, 20, REMOVE + 10, CONTAINS + 20]);
}
