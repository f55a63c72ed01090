//! Races: two accesses of the same byte, at least one of them a write, that nothing orders.
//!
//! Belongs here: who knows of whose past (happens-before, PTX ISA «Memory Consistency Model»), the shadow of
//! memory, and the name of what is found. Does not belong here: executing anything; the engine tells what it does.
//!
//! Verdicts come from order, not from the values that a run happened to give.
#![allow(clippy::needless_range_loop, reason = "several rows are walked lane by lane, in step")]

mod ahead;
mod atomics;
mod blocks;
mod clock;
mod copies;
mod known;
mod life;
mod marks;
mod matrix;
mod meetings;
mod observe;
mod pairs;
mod phases;
mod plan;
mod quiet;
mod records;
mod report;
mod shadow;
mod shape;
mod stale;
mod strong;
mod sync;
mod threads;
mod touch;
mod values;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use standstill_findings::Rule;
use standstill_kernel_ir::{Op, Scope};

use blocks::Blocks;
use clock::{Clock, Thread};
pub(crate) use meetings::Meeting;
pub(crate) use observe::{after, before};
use shadow::{Mark, Shadow};
use sync::Variable;
use threads::WarpState;

/// A time that has not come: the access is still under way.
const UNDER_WAY: u32 = u32::MAX;
/// Different faults that are kept.
const MOST_FOUND: usize = 256;

/// Which memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Memory {
    Global,
    /// The shared memory of a block.
    Shared(u32),
}

/// A place in the code that accesses memory.
#[derive(Debug, Clone, Copy)]
struct Site {
    function: u32,
    position: u32,
    /// The scope of a strong access.
    strong: Option<Scope>,
    write: bool,
    /// Part of an asynchronous copy.
    copies: bool,
    /// Several threads meet here, or it orders what they do.
    contended: bool,
}

/// What a block's threads have done.
#[derive(Default)]
struct BlockState {
    shadow: Shadow,
    /// What is not in the shadow yet.
    quiet: quiet::QuietList,
    warps: Vec<WarpState>,
    /// What those know who have arrived at barriers and gone on, and who has arrived and waits: barrier, warp and
    /// lanes.
    barriers: FxHashMap<u32, Clock>,
    arrived: Vec<(u32, u32, u32)>,
    hints: Vec<sync::Hint>,
    acquired: Vec<sync::Acquired>,
    /// Copies that nobody may have waited for were begun.
    copies: bool,
    /// What fences and strong reads before a barrier have to give to those who pass it.
    carried: FxHashMap<u32, meetings::Carried>,
}

impl BlockState {
    /// Forgets all, and keeps its room; the warps begin anew with the next block.
    fn clear(&mut self) {
        self.shadow.clear();
        self.quiet.renew();
        self.barriers.clear();
        self.arrived.clear();
        self.hints.clear();
        self.acquired.clear();
        self.carried.clear();
        self.copies = false;
    }
}

/// A fault that was found.
#[derive(Debug, Clone)]
struct Found {
    rule: Rule,
    /// Where it points, and the other access.
    site: u32,
    other: u32,
    /// The synchronisation that is missing something, where it is neither.
    cause: Option<u32>,
    me: u32,
    them: u32,
    /// The thread of the block that has acquired what `me` needs.
    acquired_by: Option<u32>,
    memory: Memory,
    address: u64,
    values: Option<values::Values>,
    count: u64,
}

/// Everything that is known of a grid's accesses.
pub(crate) struct Race {
    /// Warps of a block.
    warps: u32,
    threads: u32,
    /// Blocks of a cluster.
    cluster: [u32; 3],
    grid: [u32; 3],
    now: u32,
    blocks: Blocks,
    /// States of blocks that have ended, for others.
    #[allow(clippy::vec_box, reason = "the states of blocks are in boxes, which are moved as they are")]
    spare: Vec<Box<BlockState>>,
    global: Shadow,
    sites: Vec<Site>,
    site_numbers: FxHashMap<(u32, u32), u32>,
    variables: FxHashMap<(Memory, u64), Variable>,
    phases: FxHashMap<(Memory, u64), phases::Phases>,
    clusters: FxHashMap<u32, meetings::ClusterState>,
    /// Where the last write left the value as it was: that write, and the last one that changed it.
    unchanged: FxHashMap<(Memory, u64), (Mark, Mark)>,
    life: FxHashMap<(Memory, u64), life::Life>,
    plans: plan::Plans,
    found: FxHashMap<(Rule, u32, u32), Found>,
    order: Vec<(Rule, u32, u32)>,
    /// What the running operation has shown first.
    fresh: Vec<(Rule, u32, u32)>,
    saved: observe::Saved,
    /// What is to be looked at when it has been executed.
    later: Option<Op>,
    /// The code has strong accesses whose scope takes in only a block or a cluster.
    narrow: bool,
    /// Where its choices come from, and where they begin for each block, where the blocks run one after the other.
    draws: u64,
    seed: Option<u64>,
    /// Values that loads may still see, when that is asked for.
    stale: Option<Box<stale::Stale>>,
    /// Accesses to global memory by blocks that run ahead.
    log: Option<Box<ahead::Log>>,
}

/// The thread that acts.
#[derive(Debug, Clone)]
struct Actor {
    thread: Thread,
    number: u32,
    time: u32,
    clock: Arc<Clock>,
}

impl Actor {
    /// Whether what the mark stands for is behind this thread.
    #[inline]
    fn is_behind(&self, mark: Mark, warps: u32) -> bool {
        mark.thread == self.number || mark.time <= self.clock.of(thread_of(mark.thread, warps))
    }
}

/// The thread with a number.
#[inline]
fn thread_of(number: u32, warps: u32) -> Thread {
    let (warp, lane) = (number / 32, number % 32);
    Thread { block: warp / (warps + 1), warp: warp % (warps + 1), lane }
}

impl Race {
    /// For a grid of this shape: blocks, threads of a block, blocks of a cluster; `None` when it has too many threads to
    /// number. `in_order` says that its blocks run one after the other.
    pub(crate) fn new(
        (grid, threads, cluster): ([u32; 3], u32, [u32; 3]),
        seed: u64,
        stale: bool,
        in_order: bool,
    ) -> Option<Box<Race>> {
        let warps = threads.div_ceil(32);
        let blocks = grid.iter().fold(1u64, |all, &extent| all.saturating_mul(extent.into()));
        if blocks.saturating_mul(u64::from(warps) + 1) >= u64::from(u32::MAX / 32 - 1) {
            return None;
        }
        Some(Box::new(Race {
            warps,
            threads,
            cluster,
            grid,
            now: 1,
            blocks: Blocks::default(),
            spare: Vec::new(),
            global: Shadow::default(),
            sites: Vec::new(),
            site_numbers: FxHashMap::default(),
            variables: FxHashMap::default(),
            unchanged: FxHashMap::default(),
            phases: FxHashMap::default(),
            clusters: FxHashMap::default(),
            life: FxHashMap::default(),
            plans: plan::Plans::default(),
            found: FxHashMap::default(),
            order: Vec::new(),
            fresh: Vec::new(),
            saved: observe::Saved::default(),
            later: None,
            narrow: false,
            draws: seed,
            seed: in_order.then_some(seed),
            stale: stale.then(|| Box::new(stale::Stale::new(seed))),
            log: None,
        }))
    }

    /// The next time.
    fn tick(&mut self) -> u32 {
        self.now = self.now.saturating_add(1).min(UNDER_WAY - 1);
        self.now
    }

    /// The next time, after the block's beginning.
    fn next_time(&mut self, block: u32) -> u32 {
        self.block(block);
        self.tick()
    }

    fn number(&self, thread: Thread) -> u32 {
        (thread.block * (self.warps + 1) + thread.warp) * 32 + thread.lane
    }

    /// The state of a block, made when it is first seen.
    fn block(&mut self, index: u32) -> &mut BlockState {
        if !self.blocks.is_at(index) {
            let state = self.begin(index);
            self.blocks.insert(index, state);
        }
        self.blocks.current()
    }

    #[cold]
    fn begin(&mut self, index: u32) -> Box<BlockState> {
        self.now += 1;
        if let Some(seed) = self.seed {
            self.draws = seed ^ u64::from(index) << 32;
        }
        let clock = Arc::new(Clock::new(index, self.warps));
        if let Some(mut state) = self.spare.pop() {
            state.warps.iter_mut().for_each(|warp| warp.renew(&clock, self.now));
            return state;
        }
        let warp = |warp: u32| WarpState::new(&clock, (self.threads - warp * 32).min(32), self.now);
        Box::new(BlockState { warps: (0..self.warps).map(warp).collect(), ..BlockState::default() })
    }

    /// Forgets a block that has ended.
    pub(crate) fn forget(&mut self, index: u32) {
        if let Some(mut state) = self.blocks.remove(index) {
            if !state.is_simple() {
                self.fail();
            }
            state.clear();
            self.spare.push(state);
        }
    }

    /// The shadow of a memory.
    fn shadow(&mut self, memory: Memory) -> &mut Shadow {
        self.wake(memory);
        match memory {
            Memory::Global => {
                self.fail();
                &mut self.global
            }
            Memory::Shared(block) => &mut self.block(block).shadow,
        }
    }

    /// A lane as the one that acts.
    fn actor(&mut self, block: u32, warp: u32, lane: usize) -> Option<Actor> {
        let thread = Thread { block, warp, lane: lane as u32 };
        let number = self.number(thread);
        let state = self.block(block).warps.get(warp as usize)?;
        Some(Actor { thread, number, time: state.time, clock: Arc::clone(state.clock(lane)) })
    }

    /// Two accesses that nothing orders, unless they are strong and mean each other.
    fn conflict(&mut self, memory: Memory, address: u64, actor: &Actor, mark: Mark, old: Mark) {
        let (Some(&mine), Some(&theirs)) =
            (self.sites.get(mark.site as usize), self.sites.get(old.site as usize))
        else {
            return;
        };
        self.contended(mark.site, old.site);
        let other = thread_of(old.thread, self.warps);
        if old.time != UNDER_WAY
            && let (Some(one), Some(two)) = (mine.strong, theirs.strong)
        {
            if !self.covers(actor.thread.block, other.block, one.min(two)) {
                self.found(Rule::ScopeTooNarrow, mark, old, None, memory, address);
            }
            return;
        }
        if old.time == UNDER_WAY || mine.copies {
            self.found(Rule::PipelineOrder, mark, old, None, memory, address);
            return;
        }
        if let Some((rule, primary, cause)) = self.name_by_phase(actor, mark, old, memory) {
            let mut mark = mark;
            mark.site = primary;
            self.found(rule, mark, old, cause, memory, address);
            return;
        }
        if let Some(missing) = self.missing(actor, old) {
            let at = Mark { site: missing.site, ..mark };
            self.found(missing.rule, at, old, Some(mark.site), memory, address);
            let found = self.found.get_mut(&(missing.rule, at.site, old.site));
            if let Some(found) = found.filter(|found| found.count == 1) {
                found.acquired_by = missing.acquired_by;
            }
            return;
        }
        let rule = match memory {
            Memory::Global => Rule::GlobalRace,
            Memory::Shared(_) => Rule::SharedRace,
        };
        self.found(rule, mark, old, None, memory, address);
    }

    /// Several threads meet at these places.
    fn contended(&mut self, one: u32, two: u32) {
        for site in [one, two] {
            if let Some(site) = self.sites.get_mut(site as usize) {
                site.contended = true;
            }
        }
    }

    /// Whether a scope of a thread of one block covers one of another.
    fn covers(&self, one: u32, two: u32, scope: Scope) -> bool {
        match scope {
            Scope::Gpu | Scope::Sys => true,
            Scope::Cluster => one == two || self.cluster_of(one) == self.cluster_of(two),
            Scope::Cta => one == two,
        }
    }

    fn found(&mut self, rule: Rule, mark: Mark, old: Mark, cause: Option<u32>, memory: Memory, address: u64) {
        self.fail();
        let key = (rule, mark.site, old.site);
        if let Some(known) = self.found.get_mut(&key) {
            known.count += 1;
        } else if self.found.len() < MOST_FOUND {
            let found = Found {
                rule,
                site: mark.site,
                other: old.site,
                cause,
                me: mark.thread,
                them: old.thread,
                acquired_by: None,
                memory,
                address,
                values: None,
                count: 1,
            };
            self.found.insert(key, found);
            self.fresh.push(key);
            self.order.push(key);
        }
    }

    /// The cluster of a block: the coordinates of its first block.
    fn cluster_of(&self, block: u32) -> [u32; 3] {
        let [x, y, _] = self.grid.map(|extent| extent.max(1));
        let at = [block % x, block / x % y, block / x / y];
        let mut first = at;
        for axis in 0..3 {
            first[axis] -= at[axis] % self.cluster[axis].max(1);
        }
        first
    }

    /// The block with a rank in the cluster of another one.
    fn block_of_rank(&self, block: u32, rank: u32) -> u32 {
        let first = self.cluster_of(block);
        let [cx, cy, _] = self.cluster.map(|extent| extent.max(1));
        let at = [first[0] + rank % cx, first[1] + rank / cx % cy, first[2] + rank / cx / cy];
        at[0] + self.grid[0] * (at[1] + self.grid[1] * at[2])
    }
}
