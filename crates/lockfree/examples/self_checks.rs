//! Three self-checks of lock-free structures: an update, a sorted list, reclamation.
//!
//! `cargo run --release -p standstill-lockfree --example self_checks` says `confirmed` or `MISMATCH` of each, with exit code 0 or 1; with `faulty` behind
//! it the faulty twins run. Each has a baseline on the CPU, the structure in any order, one chosen interleaving that is the worst for it,
//! and all interleavings.

#![allow(clippy::print_stdout, reason = "it prints what it has checked")]

use std::error::Error;
use std::process::ExitCode;

use standstill_kernel::{Device, kernels, tiles};
use standstill_lockfree::{HazardArray, SortedList, stack};

/// The chosen interleavings: cells wait for their turn at a clock. Without a clock (`turns` is 0) they run as they come.
#[kernels(with(
    standstill_lockfree::update,
    standstill_lockfree::stack,
    standstill_lockfree::hazard,
    standstill_lockfree::list
))]
mod work {
    use standstill_kernel::{Atomic, Space};

    #[device]
    fn await_turn(clock: &[Atomic<u32>], turns: u32, turn: u32) {
        while turns != 0 && clock[0].load(Acquire) < turn {}
    }

    #[device]
    fn end_turn(clock: &[Atomic<u32>], turns: u32) {
        if turns != 0 {
            clock[0].fetch_add(1, AcqRel);
        }
    }

    #[device]
    fn product(old: u32, factor: u32) -> u32 {
        old * factor
    }

    /// Four cells multiply; cell 0 reads first, and tries last.
    #[kernel]
    pub fn multiply(
        space: Space,
        number: &[Atomic<u32>],
        factors: &[u32],
        clock: &[Atomic<u32>],
        turns: u32,
        faulty: u32,
        retries: &mut [u32],
    ) {
        let factor = factors[space.x];
        await_turn(clock, turns, space.x);
        let mut old = number[0].load(Relaxed);
        if space.x == 0 {
            end_turn(clock, turns);
            await_turn(clock, turns, 4);
        }
        if faulty != 0 {
            number[0].store(product(old, factor), Relaxed);
        } else {
            while let Err(now) = number[0].compare_exchange(old, product(old, factor), Relaxed) {
                old = now;
                retries[space.x] += 1;
            }
        }
        end_turn(clock, turns);
    }

    /// Two cells insert: both search, then both link.
    #[kernel]
    pub fn insert(
        space: Space,
        links: &[Atomic<u32>],
        keys: &mut [u32],
        heads: &[Atomic<u64>],
        next: &[Atomic<u32>],
        hazards: &[Atomic<u32>],
        new: &[u32],
        clock: &[Atomic<u32>],
        turns: u32,
        faulty: u32,
        retries: &mut [u32],
    ) {
        let key = new[space.x];
        let mine = space.x;
        let node = hazard_take(heads, next, hazards);
        keys[node] = key;
        let mut before = 0;
        let mut found = 0;
        await_turn(clock, turns, space.x);
        list_find(links, keys, heads, next, hazards, mine, key, &mut before, &mut found);
        end_turn(clock, turns);
        await_turn(clock, turns, 2 + space.x);
        let mut behind = found << 1;
        links[node].store(behind, Relaxed);
        while let Err(now) = links[before].compare_exchange(behind, node << 1, AcqRel) {
            retries[space.x] += 1;
            behind = now;
            if faulty == 0 {
                list_find(links, keys, heads, next, hazards, mine, key, &mut before, &mut found);
                behind = found << 1;
            }
            links[node].store(behind, Relaxed);
        }
        list_leave(hazards, mine);
        end_turn(clock, turns);
    }

    /// Cell 0 comes to a node and reads it late; cell 1 unlinks it; cell 2 needs a node for key 99, and one more at the end.
    #[kernel]
    pub fn reclaim(
        space: Space,
        link: &[Atomic<u32>],
        keys: &[Atomic<u32>],
        heads: &[Atomic<u64>],
        next: &[Atomic<u32>],
        hazards: &[Atomic<u32>],
        clock: &[Atomic<u32>],
        turns: u32,
        faulty: u32,
        out: &mut [u32],
    ) {
        if space.x == 0 {
            let mut node = link[0].load(Acquire);
            if faulty == 0 {
                node = hazard_protect(hazards, 0, &link[0]);
            }
            end_turn(clock, turns);
            await_turn(clock, turns, 3);
            if node != NIL {
                out[0] = keys[node].load(Relaxed);
            }
            hazard_clear(hazards, 0);
            end_turn(clock, turns);
        } else if space.x == 1 {
            await_turn(clock, turns, 1);
            hazard_retire(heads, next, link[0].swap(NIL, AcqRel));
            end_turn(clock, turns);
        } else {
            await_turn(clock, turns, 2);
            let mut node = hazard_take(heads, next, hazards);
            out[1] = node;
            if node != NIL {
                keys[node].store(99, Relaxed);
            }
            end_turn(clock, turns);
            await_turn(clock, turns, 4);
            node = hazard_take(heads, next, hazards);
            out[2] = node;
        }
    }
}

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct Checks {
    device: Device,
    faulty: u32,
    right: bool,
}

impl Checks {
    fn verdict(&mut self, what: &str, right: bool) {
        self.right &= right;
        println!("{what:<44} {}", if right { "confirmed" } else { "MISMATCH" });
    }

    fn update(&mut self) -> Result<()> {
        let factors = [2u32, 3, 5, 7];
        let on_the_cpu: u32 = factors.iter().product();
        let by = self.device.buffer(&factors)?;
        for turns in [0, 1] {
            let number = self.device.buffer(&[1u32])?;
            let clock = self.device.zeros(1)?;
            let mut retries = self.device.zeros(4)?;
            let faulty = self.faulty;
            if turns == 0 {
                let explored = work::multiply::explore(
                    tiles(4),
                    1,
                    "number[0] == 210",
                    &number,
                    &by,
                    &clock,
                    0,
                    faulty,
                    &mut retries,
                )?;
                self.verdict("update: every interleaving gives 210", explored.is_right());
            } else {
                work::multiply::launch(
                    &self.device,
                    tiles(4),
                    1,
                    &number,
                    &by,
                    &clock,
                    1,
                    faulty,
                    &mut retries,
                )?;
                let (number, retries) = (number.read()?, retries.read()?);
                println!("  cell 0 delayed: {number:?}, retries {retries:?}, on the CPU {on_the_cpu}");
                self.verdict(
                    "update: cell 0 delayed behind its read",
                    number == [on_the_cpu] && retries == [1, 0, 0, 0],
                );
            }
        }
        Ok(())
    }

    fn list(&mut self) -> Result<()> {
        let start = [10, 30, 50];
        let new = self.device.buffer(&[20u32, 25])?;
        let mut on_the_cpu = [start.as_slice(), &[20, 25]].concat();
        on_the_cpu.sort_unstable();
        let faulty = self.faulty;
        for turns in [0, 1] {
            let mut list = SortedList::new(&self.device, &start, 5, 2)?;
            let clock = self.device.zeros(1)?;
            let mut retries = self.device.zeros(2)?;
            let (links, keys, pool) = (&list.links, &mut list.keys, &list.pool);
            let (heads, next, hazards) = (&pool.heads, &pool.next, &pool.hazards);
            if turns == 0 {
                // Nodes 4 and 5 get the new keys, whoever takes which; 1, 2 and 3 are 10, 30 and 50.
                let sorted = "links[2] == 6 && (links[1] == 8 && links[4] == 10 && links[5] == 4 && keys[4] == 20 \
                              || links[1] == 10 && links[5] == 8 && links[4] == 4 && keys[5] == 20)";
                let explored = work::insert::explore(
                    tiles(2),
                    1,
                    sorted,
                    links,
                    keys,
                    heads,
                    next,
                    hazards,
                    &new,
                    &clock,
                    0,
                    faulty,
                    &mut retries,
                )?;
                self.verdict("list: every interleaving keeps the order", explored.is_right());
            } else {
                work::insert::launch(
                    &self.device,
                    tiles(2),
                    1,
                    links,
                    keys,
                    heads,
                    next,
                    hazards,
                    &new,
                    &clock,
                    1,
                    faulty,
                    &mut retries,
                )?;
                let (contents, retries) = (list.contents(), retries.read()?);
                println!("  both search first: {contents:?}, retries {retries:?}, on the CPU {on_the_cpu:?}");
                let right = contents.is_ok_and(|keys| keys == on_the_cpu) && retries == [0, 1];
                self.verdict("list: both search before either links", right);
            }
        }
        Ok(())
    }

    fn reclamation(&mut self) -> Result<()> {
        let on_the_cpu = 50;
        let faulty = self.faulty;
        for turns in [0, 1] {
            // Node 2 holds key 50. Node 3 was unlinked before, and waits: it comes behind node 2.
            let mut pool = HazardArray::new(&self.device, 4, 4, 1)?;
            pool.heads.write(&[stack::EMPTY, 3])?;
            let link = self.device.buffer(&[2u32])?;
            let keys = self.device.buffer(&[10u32, 30, 50, 0])?;
            let clock = self.device.zeros(1)?;
            let mut out = self.device.buffer(&[50u32, 0, 0])?;
            let (heads, next, hazards) = (&pool.heads, &pool.next, &pool.hazards);
            let wanted = "out[0] == 50";
            if turns == 0 {
                let explored = work::reclaim::explore(
                    tiles(3),
                    1,
                    wanted,
                    &link,
                    &keys,
                    heads,
                    next,
                    hazards,
                    &clock,
                    0,
                    faulty,
                    &mut out,
                )?;
                self.verdict("hazards: every interleaving reads 50", explored.is_right());
            } else {
                work::reclaim::launch(
                    &self.device,
                    tiles(3),
                    1,
                    &link,
                    &keys,
                    heads,
                    next,
                    hazards,
                    &clock,
                    1,
                    faulty,
                    &mut out,
                )?;
                let out = out.read()?;
                println!(
                    "  the reader is late: {out:?} (key read, node for 99, node behind it), on the CPU {on_the_cpu}"
                );
                self.verdict("hazards: node 2 is left alone, then used", out == [on_the_cpu, 3, 2]);
            }
        }
        Ok(())
    }
}

fn main() -> Result<ExitCode> {
    let faulty = u32::from(std::env::args().any(|word| word == "faulty"));
    let mut checks = Checks { device: Device::from_environment()?, faulty, right: true };
    checks.update()?;
    checks.list()?;
    checks.reclamation()?;
    Ok(if checks.right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
