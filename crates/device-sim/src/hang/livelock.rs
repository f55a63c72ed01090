//! Threads that keep moving and get nowhere: they take, fail and give back, or hand a value to and fro, and come to
//! the same joint state again.
//!
//! When nothing has started or ended for long, the state of all threads is looked at now and then, at fixed points of
//! the run. When it comes again, every access is written down from there on. A repetition counts when the state is
//! exactly what it was, memory too, and every thread that could run did. What it means is then found out by running
//! the threads in other orders: see [`explore`].

mod explore;
mod joint;
pub(crate) mod ledger;
mod report;

use standstill_findings::Finding;

use crate::exec::access::Target;
use crate::exec::core::Core;
use crate::exec::warp::{State, Warp};
use crate::fault::Fault;
use crate::grid::Grid;
use crate::hang::watch::Parked;
use crate::launch::Schedule;
use explore::Explored;
use ledger::{Ledger, Noted, Party, Way};
use report::Circle;

/// Ticks without a block that starts or ends after which the state is looked at.
const QUIET: u64 = 1 << 22;
/// Looks at the state in one go are at least and at most this many, with a pause of so many times their ticks after.
const LOOKS: u64 = 256;
const MOST_LOOKS: u64 = 1 << 16;
const PAUSE: u64 = 8;
/// Turns over which the length of a turn is measured, and ticks of each warp between two looks.
const MEASURED: u64 = 64;
const BETWEEN: u64 = 2048;
/// Ticks for which accesses are written down at least and at most, if the state has been looked at so often, with a
/// pause of so many times as many after.
const RECORDED: u64 = 1 << 17;
const MOST_RECORDED: u64 = 1 << 24;
const LEAST_LOOKS: u64 = 32;
const RECORDED_PAUSE: u64 = 256;
/// A repetition must be met again after so many ticks before anything is concluded.
const PERSISTS: u64 = 1 << 20;
/// Repetitions that another order ended, after which no more are looked for.
const MOST_BROKEN: usize = 8;

/// What is known of a grid's repetitions.
#[derive(Debug, Default)]
pub(crate) struct Livelock {
    /// The clock at which the detector is to be called.
    next: u64,
    /// Blocks that have ended and started when it last looked, and the clock then.
    progress: (u64, u64),
    since: u64,
    mode: Mode,
    looks: u64,
    recorded: u64,
    /// A repetition was met at this clock.
    met: Option<u64>,
    /// Repetitions that ended in another order.
    broken: Vec<Finding>,
    /// The repetition that the grid was parked in.
    pub(crate) stuck: Option<Box<Circle>>,
}

#[derive(Debug, Default)]
enum Mode {
    #[default]
    Quiet,
    /// Measures how long turns are.
    Measuring {
        left: u64,
        begun: u64,
    },
    Looking(Looking),
    Recording(Box<Recording>),
}

/// Brent's way to find a cycle: the state is compared with one before, which is replaced after 1, 2, 4, … looks.
#[derive(Debug)]
struct Looking {
    before: u64,
    taken: u64,
    power: u64,
    left: u64,
    begun: u64,
    /// Turns between two looks, and until the next.
    every: u64,
    turns: u64,
}

/// Accesses are written down.
#[derive(Debug)]
struct Recording {
    before: Vec<u64>,
    /// Ticks of each warp when it began, by slot and warp.
    ticks: Vec<Vec<u64>>,
    version: u64,
    begun: u64,
    looks: u64,
    taken: u64,
    power: u64,
    every: u64,
    turns: u64,
}

impl Core<'_> {
    /// Writes an access down of which nothing has happened yet.
    #[cold]
    pub(crate) fn note_access(
        &mut self,
        target: &Target,
        lane: usize,
        (address, bytes): (u64, u32),
        way: Way,
        value: u64,
    ) {
        let Target::Region(region, offset) = target else { return };
        let way = if self.code.reduces(self.spy.at.1) { Way::Reduce } else { way };
        let (block, warp) = (self.place.block, self.place.warp);
        let party = Party { block, warp, thread: self.place.first_thread + lane as u32 };
        let touch = ledger::Touch { party, at: self.spy.at, way, address, bytes };
        let epoch = self.spy.epoch;
        if let Some(ledger) = &mut self.grid.ledger {
            ledger.note(&Noted { region, offset: *offset, epoch, touch, value });
        }
    }
}

impl Grid {
    /// Repetitions that ended when the order of turns was changed, of which each is possible.
    pub fn livelocks(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.livelock.broken)
    }

    /// Whether nothing has started or ended for so many ticks.
    pub(crate) fn stays(&mut self, ticks: u64) -> bool {
        let progress = (self.ended(), self.next_block);
        let livelock = &mut self.livelock;
        if livelock.progress != progress {
            (livelock.progress, livelock.since) = (progress, self.shared.clock);
        }
        self.shared.clock - livelock.since >= ticks
    }

    /// After a turn: whether the detector is to look.
    #[inline(always)]
    pub(crate) fn livelock_due(&self) -> bool {
        self.shared.clock >= self.livelock.next
    }

    /// Looks for a repetition; true when the grid was parked in one.
    #[cold]
    #[inline(never)]
    pub(crate) fn look_for_livelock(&mut self) -> Result<bool, Box<Fault>> {
        let parked = self.look_on();
        // What threads do is decided by their state and by memory alone while that is compared: loads see the newest
        // values, and nobody is held up. So any run may go on.
        let looks = !matches!(self.livelock.mode, Mode::Quiet) || self.livelock.met.is_some();
        if let Some(race) = &mut self.shared.race {
            race.see_newest(looks);
        }
        if let Some(preempt) = &mut self.shared.preempt {
            preempt.calm = looks;
        }
        parked
    }

    fn look_on(&mut self) -> Result<bool, Box<Fault>> {
        let clock = self.shared.clock;
        if self.livelock.stuck.take().is_some() {
            // Somebody outside has let them go.
            self.livelock.since = clock;
        }
        if !self.stays(QUIET) {
            self.end_recording();
            let since = self.livelock.since;
            self.livelock = Livelock {
                next: since + QUIET,
                progress: self.livelock.progress,
                since,
                broken: std::mem::take(&mut self.livelock.broken),
                ..Livelock::default()
            };
            return Ok(false);
        }
        match &mut self.livelock.mode {
            Mode::Quiet => {
                self.livelock.looks = self.livelock.looks.max(LOOKS);
                self.livelock.recorded = self.livelock.recorded.max(RECORDED);
                if self.may_repeat() {
                    self.livelock.mode = Mode::Measuring { left: MEASURED, begun: clock };
                    self.livelock.next = 0;
                } else {
                    self.livelock.next = clock + QUIET;
                }
            }
            Mode::Measuring { left, begun } => {
                *left -= 1;
                if *left == 0 {
                    let length = ((clock - *begun) / MEASURED).max(1);
                    let every = self.warps().saturating_mul(BETWEEN).div_ceil(length).max(1);
                    let looks = self.livelock.looks;
                    let before = joint::hash(self, None);
                    let Some(before) = before else {
                        self.rest();
                        return Ok(false);
                    };
                    self.livelock.mode = Mode::Looking(Looking {
                        before,
                        taken: 0,
                        power: 1,
                        left: looks,
                        begun: clock,
                        every,
                        turns: every,
                    });
                }
            }
            Mode::Looking(looking) => {
                looking.turns -= 1;
                if looking.turns == 0 {
                    self.look();
                }
            }
            Mode::Recording(recording) => {
                recording.turns -= 1;
                if recording.turns == 0 {
                    return self.compare();
                }
            }
        }
        Ok(false)
    }

    /// Whether a repetition of the state would mean anything now.
    fn may_repeat(&self) -> bool {
        let timed = |warp: &Warp| {
            warp.flow.groups.iter().any(|group| matches!(&group.state, State::Parked(parked) if parked.timed))
        };
        !matches!(self.schedule(), Schedule::Chosen(_))
            && self.shared.pace.is_none()
            && (self.next_block == self.blocks || self.is_full())
            && self.livelock.broken.len() < MOST_BROKEN
            && !self.slots.iter().flatten().flat_map(|block| &block.warps).any(timed)
    }

    /// Warps of resident blocks that have threads.
    fn warps(&self) -> u64 {
        let warps = self.slots.iter().flatten().flat_map(|block| &block.warps);
        warps.filter(|warp| warp.flow.live != 0).count() as u64
    }

    /// Compares the state with the one before by its hash.
    fn look(&mut self) {
        let now = joint::hash(self, None);
        let clock = self.shared.clock;
        let Mode::Looking(looking) = &mut self.livelock.mode else { return };
        let Some(now) = now else { return self.rest() };
        looking.turns = looking.every;
        if now == looking.before {
            return self.record();
        }
        looking.taken += 1;
        if looking.taken == looking.power {
            (looking.before, looking.taken, looking.power) = (now, 0, looking.power * 2);
        }
        looking.left -= 1;
        if looking.left == 0 {
            let pause = (clock - looking.begun).saturating_mul(PAUSE);
            self.livelock.looks = (self.livelock.looks * 2).min(MOST_LOOKS);
            self.livelock.mode = Mode::Quiet;
            self.livelock.next = clock + pause.max(QUIET);
        }
    }

    /// Looks again much later.
    fn rest(&mut self) {
        self.livelock.mode = Mode::Quiet;
        self.livelock.next = self.shared.clock + 16 * QUIET;
    }

    /// Writes down every access from now on.
    fn record(&mut self) {
        let every = self.warps().max(1);
        self.release(true);
        self.unpark();
        for block in self.slots.iter_mut().flatten() {
            block.watch.suspend(true);
            for warp in &mut block.warps {
                warp.flow.watch.suspend(true);
                warp.spy.start();
            }
        }
        self.queue_all();
        let recording = Recording {
            before: Vec::new(),
            ticks: Vec::new(),
            version: 0,
            begun: self.shared.clock,
            looks: 0,
            taken: 0,
            power: 1,
            every,
            turns: every,
        };
        self.livelock.mode = Mode::Recording(Box::new(recording));
        if self.begin_repetition().is_none() {
            self.end_recording();
            self.rest();
        }
    }

    /// The state is compared with the one of now from now on.
    fn begin_repetition(&mut self) -> Option<()> {
        let before = joint::snapshot(self)?;
        let of_block =
            |block: &crate::grid::block::Block| block.warps.iter().map(|warp| warp.flow.ticks).collect();
        let ticks = self.slots.iter().map(|block| block.as_ref().map_or(Vec::new(), |block| of_block(block)));
        let (ticks, version) = (ticks.collect(), self.shared.device.memory().version());
        self.shared.ledger = Some(Box::new(Ledger::default()));
        for warp in self.slots.iter_mut().flatten().flat_map(|block| &mut block.warps) {
            warp.spy.start();
        }
        if let Mode::Recording(recording) = &mut self.livelock.mode {
            (recording.before, recording.ticks, recording.version) = (before, ticks, version);
            recording.taken = 0;
        }
        Some(())
    }

    /// Lets everybody run who waits in a loop.
    fn unpark(&mut self) {
        for warp in self.slots.iter_mut().flatten().flat_map(|block| &mut block.warps) {
            for group in warp.flow.groups.iter_mut().filter(|group| matches!(group.state, State::Parked(_))) {
                group.state = State::Ready;
            }
        }
    }

    /// Nothing is written down any more, and waiting threads are looked for again.
    fn end_recording(&mut self) {
        if !matches!(self.livelock.mode, Mode::Recording(_)) {
            return;
        }
        self.livelock.mode = Mode::Quiet;
        self.shared.ledger = None;
        for block in self.slots.iter_mut().flatten() {
            block.watch.suspend(false);
            for warp in &mut block.warps {
                warp.spy.stop();
                warp.flow.watch.suspend(false);
            }
        }
        self.queue_all();
    }

    /// Whether every thread that can run has done so since the repetition began.
    fn is_fair(&self, ticks: &[Vec<u64>]) -> bool {
        let mut blocks =
            self.slots.iter().zip(ticks).filter_map(|(block, ticks)| Some((block.as_ref()?, ticks)));
        blocks.all(|(block, ticks)| {
            block.warps.iter().zip(ticks).all(|(warp, &then)| {
                let mut able = warp
                    .flow
                    .groups
                    .iter()
                    .filter(|group| !matches!(group.state, State::AtBarrier(_) | State::AtCollective(_)));
                able.all(|group| group.ran > then)
            })
        })
    }

    /// Compares the state, and memory, with what they were.
    fn compare(&mut self) -> Result<bool, Box<Fault>> {
        let clock = self.shared.clock;
        let Mode::Recording(recording) = &mut self.livelock.mode else { return Ok(false) };
        recording.turns = recording.every;
        let version = recording.version;
        let (ticks, before) = (std::mem::take(&mut recording.ticks), std::mem::take(&mut recording.before));
        let overflown = self.shared.ledger.as_ref().is_none_or(|ledger| ledger.overflown);
        let timed = self.slots.iter().flatten().flat_map(|block| &block.warps).any(|warp| warp.spy.timed);
        let usable = !overflown && !timed && self.shared.device.memory().version() == version;
        let repeated = usable
            && joint::is(self, &before)
            && self.shared.ledger.as_ref().is_some_and(|ledger| ledger.is_balanced())
            && self.is_fair(&ticks);
        if repeated {
            match self.livelock.met {
                Some(met) if clock - met >= PERSISTS => return self.judge(),
                met => {
                    self.livelock.met = met.or(Some(clock));
                    self.end_recording();
                    self.livelock.next = clock + PERSISTS;
                    return Ok(false);
                }
            }
        }
        let Mode::Recording(recording) = &mut self.livelock.mode else { return Ok(false) };
        (recording.ticks, recording.before) = (ticks, before);
        recording.taken += 1;
        recording.looks += 1;
        let ticks = clock - recording.begun;
        let over =
            ticks > MOST_RECORDED || (ticks > self.livelock.recorded && recording.looks >= LEAST_LOOKS);
        let renew = recording.taken == recording.power || overflown;
        if !usable && !overflown || over {
            let pause = ticks.saturating_mul(RECORDED_PAUSE);
            self.end_recording();
            self.livelock.recorded = (self.livelock.recorded * 2).min(MOST_RECORDED);
            self.livelock.next = clock + pause.max(QUIET);
        } else if renew {
            recording.power *= 2;
            if self.begin_repetition().is_none() {
                self.end_recording();
                self.rest();
            }
        }
        Ok(false)
    }

    /// The threads repeat themselves: finds out whether another order of their turns ends that.
    fn judge(&mut self) -> Result<bool, Box<Fault>> {
        let Some(mut circle) = self.circle() else {
            self.end_recording();
            self.rest();
            return Ok(false);
        };
        let explored = self.explore()?;
        let reads = self.shared.ledger.as_ref().map(|ledger| ledger.reads()).unwrap_or_default();
        self.end_recording();
        self.livelock.met = None;
        if explored == Explored::Leaves {
            let finding = self.broken(&circle);
            self.livelock.broken.push(finding);
            (self.livelock.since, self.livelock.next) = (self.shared.clock, self.shared.clock + QUIET);
            return Ok(false);
        }
        for warp in self.slots.iter_mut().flatten().flat_map(|block| &mut block.warps) {
            for index in 0..warp.flow.groups.len() {
                let head = warp.flow.groups.get(index).and_then(|group| joint::outermost(warp, group));
                let Some(group) = warp.flow.groups.get_mut(index) else { continue };
                if group.state.is_ready() {
                    let head = head.unwrap_or(group.pc);
                    let parked = Parked { reads: reads.clone(), timed: false, head, steps: false };
                    group.state = State::Parked(Box::new(parked));
                }
            }
        }
        self.forget_ready();
        circle.explored = explored;
        self.livelock.next = 0;
        self.livelock.stuck = Some(Box::new(circle));
        Ok(true)
    }
}
