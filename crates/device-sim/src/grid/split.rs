//! Two threads for one grid: blocks in turn on this one, and those behind them ahead on another.
//!
//! It changes nothing but the time: see [`crate::memory::ahead`].

use std::sync::atomic::{AtomicBool, Ordering};

use standstill_kernel_ir::Space;
use standstill_kernel_ir::evaluate::atomic;

use super::schedule::Pause;
use super::{Grid, Turns};
use crate::decode::code::Kernel;
use crate::fault::Fault;
use crate::launch::Schedule;
use crate::memory::ahead::{Effect, Granules, Pace};

/// Ticks of both threads together between two meetings; fewer where what blocks ahead do has to be listed.
const MOST: u64 = 16_000_000;
const MOST_LISTED: u64 = 2_000_000;
/// A block that has not ended after so many is left to the turns of one thread.
const TOO_LONG: u64 = 64_000_000;

/// How a run of blocks ended.
enum End {
    /// All have ended.
    Done,
    /// They wait, or take so long that others must start.
    Undone,
    Fault(Box<Fault>),
}

impl Grid {
    /// Whether the next blocks can be split between two threads.
    pub(super) fn may_split(&self) -> bool {
        self.splits
            && self.in_order
            && self.ended > 0
            && self.ended == self.next_block
            && self.ready.is_empty()
    }

    /// Runs some of the next blocks, on two threads if that is worth it; false when none can run.
    pub(super) fn split(&mut self, kernel: &Kernel) -> Result<bool, Box<Fault>> {
        let each = (self.shared.clock / self.ended).max(1);
        let most = if self.shared.race.is_some() { MOST_LISTED } else { MOST };
        let count = (self.blocks - self.next_block).min(most / each);
        if count < 2 || count.saturating_mul(each) < self.shared.device.worthwhile() {
            return self.next_turn(kernel);
        }
        let middle = self.next_block + count.div_ceil(2);
        let end = self.next_block + count;
        let Some(mut ahead) = self.ahead(middle, end) else {
            self.splits = false;
            return self.next_turn(kernel);
        };
        self.shared.pace = Some(Pace::InTurn(Granules::default()));
        self.stop = middle;
        let give_up = AtomicBool::new(false);
        let (in_turn, done) = std::thread::scope(|scope| {
            let run = || matches!(ahead.run_all(kernel, &give_up), End::Done);
            let other = std::thread::Builder::new().spawn_scoped(scope, run);
            let in_turn = self.run_all(kernel, &AtomicBool::new(false));
            if !matches!(in_turn, End::Done) {
                give_up.store(true, Ordering::Relaxed);
            }
            (in_turn, other.is_ok_and(|other| other.join().unwrap_or(false)))
        });
        self.stop = self.blocks;
        let Some(Pace::InTurn(written)) = self.shared.pace.take() else { return Ok(true) };
        match in_turn {
            End::Fault(fault) => return Err(fault),
            End::Undone => self.splits = false,
            // Where accesses are noted slowly, one thread is as fast.
            End::Done => {
                self.splits = done && self.join(ahead, end, &written) && written.slow < self.shared.clock / 64
            }
        }
        Ok(true)
    }

    /// Blocks from `first` to before `end`, to run ahead; `None` when none can.
    fn ahead(&self, first: u64, end: u64) -> Option<Grid> {
        Some(Grid {
            shared: self.shared.ahead()?,
            arch: self.arch,
            slots: Vec::new(),
            vacant: Vec::new(),
            idle: Vec::new(),
            ready: Default::default(),
            leaders: Default::default(),
            held: Vec::new(),
            clusters: Vec::new(),
            next_block: first,
            blocks: self.blocks,
            stop: end,
            ended: first,
            ran_ahead: 0,
            cluster_blocks: self.cluster_blocks,
            per_multiprocessor: self.per_multiprocessor,
            schedule: Schedule::RoundRobin,
            random: self.random,
            work: 0,
            at_once: false,
            in_order: true,
            splits: false,
            full: false,
            turns: Turns::default(),
            until_look: 0,
            jump: 1000,
            delayed: Vec::new(),
            livelock: Default::default(),
            fault: None,
        })
    }

    /// Runs the blocks up to [`Grid::stop`].
    fn run_all(&mut self, kernel: &Kernel, give_up: &AtomicBool) -> End {
        while self.ended < self.stop {
            let alone = self.in_order && !self.stays(TOO_LONG);
            if give_up.load(Ordering::Relaxed) || !alone || self.shared.has_failed() {
                return End::Undone;
            }
            match self.next_turn(kernel) {
                Ok(true) => {}
                // The next block would start now.
                Ok(false) if self.next_block == self.stop => return End::Undone,
                Ok(false) => match self.pause() {
                    Pause::Woken => {}
                    Pause::Parked => return End::Undone,
                },
                Err(fault) => return End::Fault(fault),
            }
        }
        if self.shared.has_failed() { End::Undone } else { End::Done }
    }

    /// Takes over what blocks did ahead, unless they have to run again; false when the next should not run ahead.
    fn join(&mut self, mut other: Grid, end: u64, written: &Granules) -> bool {
        let Some(Pace::Ahead(ahead)) = other.shared.pace.take() else { return false };
        if ahead.was_misled(written) || !self.shared.join(&other.shared) {
            return false;
        }
        ahead.release(|address, effect| {
            let Some(found) = self.shared.cached(address) else { return };
            let (region, offset) = (&found.region, (address - found.address) as usize);
            region.note_written(offset, effect.bytes());
            match effect {
                Effect::Fill(bytes) => _ = region.write(offset, bytes),
                Effect::Store(bytes, value) => {
                    let whole = match bytes {
                        8 => region.store(offset, value),
                        4 => region.store(offset, value as u32),
                        _ => region.store(offset, value as u8),
                    };
                    if !whole {
                        // Memory of the host may begin and end anywhere.
                        let low = value.to_le_bytes().into_iter().take(bytes as usize);
                        low.zip(offset..).for_each(|(byte, at)| _ = region.store(at, byte));
                    }
                }
                Effect::Change(operation, ty, operand) => {
                    let change = |old: u64| {
                        atomic::atomic(operation, ty, Space::Global, old, operand, 0).unwrap_or(old)
                    };
                    match ty.bytes() {
                        4 => region.update(offset, |old: u32| change(old.into()) as u32).map(u64::from),
                        _ => region.update(offset, change),
                    };
                }
            }
        });
        let quick = ahead.slow < other.shared.clock / 64;
        self.work += other.work;
        self.shared.clock += other.shared.clock;
        self.shared.unknown.extend(std::mem::take(&mut other.shared.unknown));
        self.ran_ahead += end - self.ended;
        (self.next_block, self.ended) = (end, end);
        quick
    }
}
