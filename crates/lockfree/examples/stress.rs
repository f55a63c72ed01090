//! Long runs of every structure, on the software GPU or on a card, each checked against what must be left behind.
//!
//! `cargo run --release -p standstill-lockfree --example stress -- --device cuda --rounds 100`
//!
//! `--device` is `software` (or `sim`), `cuda` or `cuda:1`; `--rounds` says how often each is launched, `--blocks` and `--tile` how large, `--only`
//! takes the structures whose name holds a word. Rates count operations against the time from launch to end.

#![allow(clippy::print_stdout, reason = "it tells what it measures")]

#[path = "../drivers/mod.rs"]
mod drivers;

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use drivers::barrier::barrier_driver;
use drivers::epoch::epoch_driver;
use drivers::hazard::hazard_driver;
use drivers::list::list_driver;
use drivers::queue::queue_driver;
use drivers::stack::stack_driver;
use drivers::update::update_driver;
use standstill_kernel::{Buffer, Device, Schedule, tiles};
use standstill_lockfree::{Epochs, GridBarrier, HazardArray, Queue, SortedList, Stack};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Steps of each cell in a launch.
const STEPS: u32 = 8;

struct Run {
    device: Device,
    blocks: u32,
    tile: u32,
    round: u32,
}

/// What a round has shown: operations, their time, and whether what is left is as it must be.
struct Outcome {
    operations: u64,
    time: Duration,
    right: bool,
}

type Structure = (&'static str, fn(&Run) -> Result<Outcome>);

const STRUCTURES: [Structure; 11] = [
    ("update, one number", |run| update(run, 1, false)),
    ("update, one number, by warp", |run| update(run, 1, true)),
    ("update, 1,024 numbers", |run| update(run, 1024, false)),
    ("update, 1,024 numbers, by warp", |run| update(run, 1024, true)),
    ("update, 1,048,576 numbers", |run| update(run, 1 << 20, false)),
    ("stack", stack),
    ("queue", queue),
    ("list", list),
    ("hazards", hazards),
    ("epochs", epochs),
    ("barrier", barrier),
];

impl Run {
    fn cells(&self) -> u32 {
        self.blocks * self.tile
    }

    /// A number that looks like chance, for a place in this round.
    fn chance(&self, at: u32) -> u32 {
        let mixed = (at ^ self.round.wrapping_mul(0x85eb_ca6b)).wrapping_mul(0x9e37_79b9);
        (mixed ^ mixed >> 15).wrapping_mul(0x2c1b_3c6d) >> 8
    }

    /// `what` for each step of each cell.
    fn script(&self, what: impl Fn(u32, u32) -> u32) -> Vec<u32> {
        (0..self.cells() * STEPS).map(|at| what(at, self.chance(at))).collect()
    }
}

fn timed<T, E: Error + 'static>(launch: impl FnOnce() -> std::result::Result<T, E>) -> Result<Duration> {
    let start = Instant::now();
    launch()?;
    Ok(start.elapsed())
}

fn update(run: &Run, numbers: u32, by_warp: bool) -> Result<Outcome> {
    let index: Vec<u32> = (0..run.cells()).map(|at| run.chance(at) % numbers).collect();
    let factors: Vec<u32> = (0..run.cells()).map(|at| run.chance(at + 1) | 1).collect();
    let mut wanted = vec![1u32; numbers as usize];
    for (&at, &factor) in index.iter().zip(&factors) {
        if let Some(number) = wanted.get_mut(at as usize) {
            *number = number.wrapping_mul(factor);
        }
    }
    let device = &run.device;
    let cells = device.buffer(&vec![1u32; numbers as usize])?;
    let (at, by) = (device.buffer(&index)?, device.buffer(&factors)?);
    let time = timed(|| match by_warp {
        true => {
            update_driver::multiply_by_warp::launch(device, tiles(run.blocks), run.tile, &cells, &at, &by)
        }
        false => update_driver::multiply::launch(device, tiles(run.blocks), run.tile, &cells, &at, &by),
    })?;
    Ok(Outcome { operations: run.cells().into(), time, right: cells.read()? == wanted })
}

/// Whether what came out and what is left is what was put in.
fn balanced(script: &[u32], results: &Buffer<u32>, pop: u32, nothing: u32, left: Vec<u32>) -> Result<bool> {
    let (mut put, mut out) = (Vec::new(), left);
    for (&word, &result) in script.iter().zip(&results.read()?) {
        if result != nothing {
            if word == pop { out.push(result) } else { put.push(result) }
        }
    }
    put.sort_unstable();
    out.sort_unstable();
    Ok(put == out)
}

fn stack(run: &Run) -> Result<Outcome> {
    use stack_driver::{NOTHING, POP};
    let script = run.script(|at, chance| if chance % 2 == 0 { POP } else { at });
    let mut stack = Stack::new(&run.device, script.len() / 4)?;
    let words = run.device.buffer(&script)?;
    let mut results = run.device.zeros(script.len())?;
    let grid = tiles(run.blocks);
    let (heads, next, values) = (&stack.heads, &stack.next, &mut stack.values);
    let time = timed(|| {
        stack_driver::run::launch(&run.device, grid, run.tile, heads, next, values, &words, &mut results)
    })?;
    let right = balanced(&script, &results, POP, NOTHING, stack.contents()?)?;
    Ok(Outcome { operations: script.len() as u64, time, right })
}

fn queue(run: &Run) -> Result<Outcome> {
    use queue_driver::{NOTHING, POP};
    let script = run.script(|at, chance| if chance % 2 == 0 { POP } else { at });
    let queue = Queue::new(&run.device, script.len() / 4)?;
    let words = run.device.buffer(&script)?;
    let mut results = run.device.zeros(script.len())?;
    let grid = tiles(run.blocks);
    let (ends, slots) = (&queue.ends, &queue.slots);
    let time =
        timed(|| queue_driver::run::launch(&run.device, grid, run.tile, ends, slots, &words, &mut results))?;
    let right = balanced(&script, &results, POP, NOTHING, queue.contents()?)?;
    Ok(Outcome { operations: script.len() as u64, time, right })
}

fn list(run: &Run) -> Result<Outcome> {
    const KEYS: u32 = 64;
    let script = run.script(|_, chance| ((chance % 3) << 24) | (chance / 3 % KEYS));
    let cells = run.cells() as usize;
    // A node for each key, for each cell's hands, and for each that a reader holds.
    let mut list = SortedList::new(&run.device, &[], KEYS as usize + 3 * cells, cells)?;
    let (held, words) = (run.device.buffer(&[0u32; 0])?, run.device.buffer(&script)?);
    let mut results = run.device.zeros(script.len())?;
    let (grid, pool) = (tiles(run.blocks), &list.pool);
    let (links, keys) = (&list.links, &mut list.keys);
    let (heads, next, hazards) = (&pool.heads, &pool.next, &pool.hazards);
    let time = timed(|| {
        list_driver::run::launch(
            &run.device,
            grid,
            run.tile,
            links,
            keys,
            heads,
            next,
            hazards,
            &held,
            &words,
            &mut results,
        )
    })?;
    let mut balance = [0i64; KEYS as usize];
    for (&word, &result) in script.iter().zip(&results.read()?) {
        let key = word & 0xff_ffff;
        let change = match word - key {
            list_driver::INSERT => i64::from(result == 1),
            list_driver::REMOVE => -i64::from(result),
            _ => 0,
        };
        if let Some(count) = balance.get_mut(key as usize) {
            *count += change;
        }
    }
    let left: Vec<i64> = (0..i64::from(KEYS)).collect();
    let left = left.into_iter().zip(balance).filter(|(_, count)| *count == 1).map(|(key, _)| key as u32);
    let right =
        balance.iter().all(|count| (0..=1).contains(count)) && list.contents()? == left.collect::<Vec<_>>();
    Ok(Outcome { operations: script.len() as u64, time, right })
}

fn hazards(run: &Run) -> Result<Outcome> {
    let (cells, spare, count) = (run.blocks.max(2), 2 * run.blocks as usize, 64);
    let pool = HazardArray::new(&run.device, 1 + spare, 1, cells as usize - 1)?;
    let place = run.device.buffer(&[0u32])?;
    let mut pairs = run.device.zeros(1 + spare)?;
    let mut out = run.device.zeros(cells as usize)?;
    let (grid, heads, next, hazards) = (tiles(cells), &pool.heads, &pool.next, &pool.hazards);
    let time = timed(|| {
        hazard_driver::replace::launch(
            &run.device,
            grid,
            1,
            &place,
            &mut pairs,
            heads,
            next,
            hazards,
            count,
            &mut out,
        )
    })?;
    let right = out.read()?.iter().all(|&number| number <= count) && pool.unused()?.len() == spare;
    Ok(Outcome { operations: u64::from(cells * count), time, right })
}

fn epochs(run: &Run) -> Result<Outcome> {
    let (cells, spare, count) = (run.blocks, 2 * run.blocks as usize, 64);
    let pool = Epochs::new(&run.device, 1 + spare, 1, cells as usize)?;
    let place = run.device.buffer(&[0u32])?;
    let mut pairs = run.device.zeros(1 + spare)?;
    let mut out = run.device.zeros(cells as usize)?;
    let (grid, epochs, heads, next) = (tiles(cells), &pool.epochs, &pool.heads, &pool.next);
    let time = timed(|| {
        epoch_driver::replace::launch(
            &run.device,
            grid,
            1,
            &place,
            &mut pairs,
            epochs,
            heads,
            next,
            count,
            &mut out,
        )
    })?;
    let known = |number: u32| number < cells || number == epoch_driver::NO_NODE;
    let right = out.read()?.iter().all(|&number| known(number)) && pool.unused()?.len() == spare;
    Ok(Outcome { operations: u64::from(cells * count), time, right })
}

fn barrier(run: &Run) -> Result<Outcome> {
    let (cells, tile, count) = (run.cells() as usize, run.tile as usize, 4);
    let start: Vec<u32> = (0..run.cells()).map(|at| run.chance(at)).collect();
    let mut wanted = start.clone();
    for _ in 0..count {
        let before = wanted.clone();
        let others = before.iter().cycle().skip(tile);
        wanted = before.iter().zip(others).map(|(a, b)| a.wrapping_add(*b)).collect();
    }
    let barrier = GridBarrier::new(&run.device)?;
    let mut numbers = run.device.buffer(&start)?;
    let grid = tiles(run.blocks);
    let time = timed(|| {
        barrier_driver::rounds::launch_together(
            &run.device,
            grid,
            run.tile,
            &barrier.state,
            &mut numbers,
            count,
        )
    })?;
    let right = numbers.read()? == wanted && barrier.rounds()? == 2 * count && wanted.len() == cells;
    Ok(Outcome { operations: u64::from(2 * count * run.blocks), time, right })
}

/// The words behind the program's name.
struct Words(Vec<String>);

impl Words {
    fn of(&self, name: &str) -> Option<&str> {
        let at = self.0.iter().position(|word| word == name)?;
        self.0.get(at + 1).map(String::as_str)
    }

    fn number(&self, name: &str, otherwise: u32) -> Result<u32> {
        self.of(name).map_or(Ok(otherwise), |word| Ok(word.parse()?))
    }
}

fn main() -> Result<ExitCode> {
    let words = Words(std::env::args().collect());
    let named = words.of("--device").unwrap_or("software");
    let software = matches!(named, "software" | "sim");
    let card = if software { None } else { Some(Device::named(named)?) };
    let rounds = words.number("--rounds", 4)?;
    let blocks = words.number("--blocks", if software { 8 } else { 264 })?;
    let tile = words.number("--tile", if software { 32 } else { 256 })?;
    let only = words.of("--only").unwrap_or("");
    let mut all_right = true;
    for (name, round_of) in STRUCTURES.iter().filter(|(name, _)| name.contains(only)) {
        let (mut operations, mut time, mut right) = (0, Duration::ZERO, true);
        // Each cell of a list looks at the entries of all others: fewer of them.
        let (blocks, tile) = if *name == "list" { (blocks.min(32), tile.min(32)) } else { (blocks, tile) };
        for round in 0..rounds {
            let schedule = if round % 2 == 0 {
                Schedule::Random(round.into())
            } else {
                Schedule::Priorities(round.into())
            };
            let device = card.clone().unwrap_or_else(|| Device::software_with(schedule));
            let outcome = round_of(&Run { device, blocks, tile, round })?;
            operations += outcome.operations;
            time += outcome.time;
            right &= outcome.right;
        }
        all_right &= right;
        let rate = operations as f64 / time.as_secs_f64().max(1e-9);
        let verdict = if right { "confirmed" } else { "MISMATCH" };
        println!("{name:<32} {operations:>12} operations  {rate:>14.0}/s  {verdict}");
    }
    Ok(if all_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
