//! Watching a warp's loops: does a turn come back to where it was?
//!
//! At a growing distance the values that decide a loop's course are compared at its head, turn by turn for a
//! while. When they repeat, one more turn is executed with every access written down. If it comes back to the
//! same values, has changed no memory and synchronised with nobody, the next turn can only be the same again,
//! for as long as what it read stays the same: the lanes wait for that.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::slice::Slice;
use super::spy::{Read, mix};
use crate::decode::code::{LANES, Place, Plane};
use crate::exec::core::{Core, lanes};
use crate::exec::flow::{Flow, Running};

/// Turns between two looks are at least and at most this many.
const LEAST: u64 = 8;
const MOST: u64 = 1024;
/// Turns that one look lasts; every 64th and every 4096th look lasts longer, for longer cycles.
const SHORT: u64 = 6;
const LONG: u64 = 600;
const LONGEST: u64 = 70_000;
/// Turns of one loop after which its exits are worked out: of one that only calculates, and of one whose accesses may
/// end it.
const COUNTED: u64 = 4_096;
const COUNTED_ACCESSES: u64 = 1 << 20;
/// Turns of one loop after which the states of lanes are remembered, and after which other warps that come to the same
/// loop are held back: they would only do the same again.
const KEYED: u64 = 4_096;
const HELD: u64 = 16_384;

/// What a parked group waits for.
#[derive(Debug, Clone)]
pub(crate) struct Parked {
    /// What its turn read. Nothing else can make it go on.
    pub(crate) reads: Vec<Read>,
    /// It read a clock: time makes it go on.
    pub(crate) timed: bool,
    /// The head of its loop.
    pub(crate) head: u32,
    /// Arithmetic says that its steps never meet the end.
    pub(crate) steps: bool,
}

/// The watch of a warp.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Jumps backward so far.
    pub(crate) turns: u64,
    /// When to look again.
    pub(crate) next: u64,
    /// A group was woken: look whether its next turn is the same again.
    pub(crate) recheck: bool,
    distance: u64,
    looks: u64,
    target: Option<Target>,
    streak: Option<Streak>,
    /// The loop that was looked at last (function, head, frame), and since when.
    round: Option<((u32, u32, u32), u64)>,
}

/// Turns of one loop that nobody else can notice.
#[derive(Debug)]
struct Streak {
    function: u32,
    head: u32,
    frame: u32,
    since: u64,
    /// States of lanes that were met on the way.
    met: FxHashSet<u64>,
    /// What lanes read each time.
    reads: Option<Box<[u64; LANES]>>,
}

/// A loop that is watched.
#[derive(Debug)]
struct Target {
    head: u32,
    frame: u32,
    mask: u32,
    slice: Arc<Slice>,
    /// The values that matter, for the lanes of the mask.
    values: Vec<u64>,
    until: u64,
    recording: bool,
    /// For each lane the values that decide its course, as one number.
    keys: Option<Box<[u64; LANES]>>,
}

/// The values that matter, one lane after the other.
fn snapshot(core: &Core<'_>, slice: &Slice, values: &mut Vec<u64>) {
    values.clear();
    for &place in &slice.rows {
        match place.plane {
            Plane::Predicate => values.push(u64::from(core.predicate(place.slot) & core.mask)),
            Plane::Narrow => {
                let row = core.narrow(place.slot);
                values.extend(lanes(core.mask).map(|lane| u64::from(row[lane % LANES])));
            }
            Plane::Wide => {
                let row = core.wide(place.slot);
                values.extend(lanes(core.mask).map(|lane| row[lane % LANES]));
            }
        }
    }
}

/// Whether the values that matter are as they were.
fn same(core: &Core<'_>, slice: &Slice, values: &[u64]) -> bool {
    let mut rest = values.iter();
    slice.rows.iter().all(|&place| match place.plane {
        Plane::Predicate => rest.next() == Some(&u64::from(core.predicate(place.slot) & core.mask)),
        Plane::Narrow => {
            let row = core.narrow(place.slot);
            lanes(core.mask).all(|lane| rest.next() == Some(&u64::from(row[lane % LANES])))
        }
        Plane::Wide => {
            let row = core.wide(place.slot);
            lanes(core.mask).all(|lane| rest.next() == Some(&row[lane % LANES]))
        }
    })
}

/// For each lane the values of these rows, as one number.
fn lane_keys(core: &Core<'_>, rows: &[Place]) -> [u64; LANES] {
    let mut keys = [0; LANES];
    for lane in lanes(core.mask) {
        keys[lane] = rows.iter().fold(0, |key, &place| mix(key, core.read(place, lane)));
    }
    keys
}

/// A turn of a long loop was written down: when another warp has been where each lane is now, and never left the
/// loop from there, neither will this one. Otherwise remembers where its lanes were.
fn compare_with_known(
    target: &mut Target,
    streak: &mut Option<Streak>,
    core: &mut Core<'_>,
    head: u32,
) -> Option<Parked> {
    let keys = target.keys.take()?;
    let reads = core.spy.lanes.take()?;
    let clean = !(core.spy.effect || core.spy.met || core.spy.timed);
    let seen = std::mem::take(&mut core.spy.reads);
    core.spy.stop();
    if !clean || target.head != head || target.mask != core.mask {
        return None;
    }
    let states: SmallVec<[u64; LANES]> = lanes(core.mask).map(|lane| mix(keys[lane], reads[lane])).collect();
    let known = core.grid.endless.get(&(core.code.function.id.0, head));
    if known.is_some_and(|known| states.iter().all(|state| known.contains(state))) {
        return Some(Parked { reads: seen, timed: false, head, steps: false });
    }
    if let Some(streak) = streak {
        // The way on from a state is known only as long as memory stays as it was.
        if streak.reads.as_ref() != Some(&reads) {
            streak.met.clear();
            streak.reads = Some(reads);
        }
        streak.met.extend(states);
    }
    None
}

impl Watch {
    /// The loop that the warp has been in for long, unnoticed by others: function and head.
    pub(crate) fn long_streak(&self) -> Option<(u32, u32)> {
        let streak = self.streak.as_ref()?;
        (self.turns - streak.since > HELD).then_some((streak.function, streak.head))
    }

    /// Looks at nothing for a while, or again.
    pub(crate) fn suspend(&mut self, suspended: bool) {
        (self.target, self.streak, self.recheck) = (None, None, false);
        self.next = if suspended { u64::MAX } else { self.turns + LEAST };
    }

    /// Leaves the watch to the block, or takes it back.
    pub(crate) fn left_to_block(&mut self, left: bool) {
        self.target = None;
        self.next = if left { u64::MAX } else { self.turns + LEAST };
    }
}

impl Flow {
    /// Looks at a group that has jumped back to `head`; what it waits for, if it waits from now on.
    #[cold]
    #[inline(never)]
    pub(crate) fn look(&mut self, core: &mut Core<'_>, group: &Running, head: u32) -> Option<Box<Parked>> {
        let turns = self.watch.turns;
        let Some(target) = &mut self.watch.target else {
            if self.never_leaves(core, group, head) {
                let parked = Parked { reads: Vec::new(), timed: false, head, steps: true };
                return Some(Box::new(parked));
            }
            self.begin(core, group, head);
            return None;
        };
        if let Some(parked) = compare_with_known(target, &mut self.watch.streak, core, head) {
            self.end(core);
            return Some(Box::new(parked));
        }
        let here = target.head == head && target.frame == group.frame && target.mask == group.mask;
        if !here {
            let left =
                target.frame == group.frame && !target.slice.inner.contains(&head) && target.head != head;
            if left {
                // The watched loop was left: perhaps the one around it is it.
                let until = target.until;
                core.spy.stop();
                self.begin(core, group, head);
                if let Some(target) = &mut self.watch.target {
                    target.until = until.max(turns + SHORT);
                }
            } else if turns > target.until {
                self.end(core);
            }
            return None;
        }
        if !same(core, &target.slice, &target.values) {
            if turns > target.until {
                self.end(core);
            }
            return None;
        }
        if !target.recording {
            target.recording = true;
            target.until = turns.saturating_add(LONGEST);
            core.spy.start();
            return None;
        }
        if core.spy.effect || core.spy.met {
            self.end(core);
            return None;
        }
        let parked =
            Parked { reads: std::mem::take(&mut core.spy.reads), timed: core.spy.timed, head, steps: false };
        if let Some(streak) = self.watch.streak.take()
            && !parked.timed
            && (streak.head, streak.function) == (head, core.code.function.id.0)
        {
            core.grid.endless.entry((streak.function, head)).or_default().extend(streak.met);
        }
        self.end(core);
        self.watch.distance = LEAST;
        self.watch.next = turns + LEAST;
        Some(Box::new(parked))
    }

    /// Whether arithmetic says that the lanes stay in a loop which they have gone round for long.
    fn never_leaves(&mut self, core: &Core<'_>, group: &Running, head: u32) -> bool {
        let turns = self.watch.turns;
        let here = (core.code.function.id.0, head, group.frame);
        let since = match self.watch.round {
            Some((place, since)) if place == here => since,
            _ => {
                self.watch.round = Some((here, turns));
                return false;
            }
        };
        if turns - since < COUNTED {
            return false;
        }
        let exits = core.code.slices.exits(core.code, head);
        exits.is_some_and(|exits| {
            (!exits.accesses || turns - since >= COUNTED_ACCESSES)
                && lanes(core.mask).all(|lane| exits.never(core, lane))
        })
    }

    /// Starts to watch a loop.
    fn begin(&mut self, core: &mut Core<'_>, group: &Running, head: u32) {
        let slice = core.code.slices.at(core.code, head);
        let watch = &mut self.watch;
        watch.looks += 1;
        let length = match watch.looks {
            looks if looks % 4096 == 0 => LONGEST,
            looks if looks % 64 == 0 => LONG,
            _ => SHORT,
        };
        let mut values = Vec::new();
        snapshot(core, &slice, &mut values);
        let function = core.code.function.id.0;
        let goes_on = watch.streak.as_ref().is_some_and(|streak| {
            (streak.function, streak.head, streak.frame) == (function, head, group.frame)
        });
        if !goes_on || !slice.pure {
            let fresh = Streak {
                function,
                head,
                frame: group.frame,
                since: watch.turns,
                met: FxHashSet::default(),
                reads: None,
            };
            watch.streak = slice.pure.then_some(fresh);
        }
        let long = watch.streak.as_ref().is_some_and(|streak| watch.turns - streak.since > KEYED);
        let keys = match &slice.of_a_lane {
            Some(rows) if long => {
                core.spy.start();
                core.spy.lanes = Some(Box::new([0; LANES]));
                Some(Box::new(lane_keys(core, rows)))
            }
            _ => None,
        };
        watch.target = Some(Target {
            head,
            frame: group.frame,
            mask: group.mask,
            slice,
            values,
            until: watch.turns + length,
            recording: false,
            keys,
        });
        watch.next = 0;
    }

    /// Stops watching for a while.
    fn end(&mut self, core: &mut Core<'_>) {
        core.spy.stop();
        let watch = &mut self.watch;
        watch.target = None;
        watch.distance = (watch.distance * 2).clamp(LEAST, MOST);
        watch.next = watch.turns + watch.distance;
    }

    /// A group that was woken is at the head of its loop: its next turn is written down at once.
    pub(crate) fn recheck(&mut self, core: &mut Core<'_>, group: &Running, at: u32) {
        self.watch.recheck = false;
        if !core.code.starts.contains(&at) {
            return;
        }
        self.begin(core, group, at);
        if let Some(target) = &mut self.watch.target {
            target.recording = true;
            target.until = self.watch.turns + LONG;
        }
        core.spy.start();
    }
}
