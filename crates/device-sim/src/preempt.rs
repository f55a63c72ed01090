//! Where turns end in the middle of the code, so that others come in between: behind accesses, at change points of
//! priorities, and by delays of threads that others race with.
//!
//! Priorities with change points are those of Burckhardt, Kothari, Musuvathi and Nagarakatte, «A Randomized
//! Scheduler with Probabilistic Guarantees of Finding Bugs» (ASPLOS 2010). Their number of steps is not known
//! beforehand here, so change points are drawn over all orders of magnitude.

use std::collections::BTreeSet;
use std::sync::Arc;

use standstill_kernel_ir::{Op, Space};

use crate::decode::code::Code;
use crate::exec::core::lanes;
use crate::launch::Schedule;

/// Where random choices come from (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Draws {
        Draws(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    /// A number below another one, or 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// A number from 1 to `1 << bits`; each order of magnitude is as likely as any other.
    fn magnitude(&mut self, bits: u64) -> u64 {
        let top = 1 << self.below(bits + 1);
        1 + self.below(top)
    }
}

/// What becomes of a group at an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// It goes on.
    None,
    /// Its turn ends before the access, and it has this priority from now on.
    Change(u32),
    /// Its turn ends behind the access.
    EndAfter,
    /// It waits up to a turn, before or behind the access: these lanes of it.
    Delay { until: u64, lanes: u32, before: bool },
}

/// Change points of a launch.
const CHANGES: usize = 3;
/// They come within so many accesses, as a power of two.
const CHANGE_BITS: u64 = 16;
/// Priorities below this are those after change points.
const FRESH: u32 = 1 << 16;
/// A group that has had so many whole turns while others could run gives way.
const STREAK: u32 = 32;
/// After so many turns of whomever the one that runs gives way: threads that keep each other going, from barrier to
/// barrier, would otherwise hold up those of lower priority for ever.
const TURNS: u32 = 4096;
/// Accesses of a turn at random.
const RANDOM_ACCESSES: u64 = 40;
/// Accesses from one delay to the next, and turns of a delay, as powers of two.
const DELAY_BITS: u64 = 10;
const LENGTH_BITS: u64 = 12;
/// Warps that are held up at one time.
const MOST_DELAYED: usize = 8;

/// How turns end within the code of a launch.
#[derive(Debug)]
pub(crate) struct Preempt {
    draws: Draws,
    kind: Kind,
    /// Turns so far.
    pub(crate) turns: u64,
    /// Warps that are held up.
    pub(crate) delayed: usize,
    /// Nobody else is held up.
    pub(crate) calm: bool,
}

#[derive(Debug)]
enum Kind {
    Random {
        left: u64,
    },
    Priorities {
        /// Accesses so far, and those at which the running group loses its priority.
        accesses: u64,
        changes: [u64; CHANGES],
        /// The next priority below all others.
        low: u32,
        /// Parts of a warp that go apart have priorities of their own.
        apart: bool,
        /// Who ran last, and how often in a row.
        last: (u32, u32),
        streak: u32,
        /// Turns since one gave way.
        turns: u32,
    },
    Delays {
        /// Functions and positions of accesses of which others take part; empty for all.
        places: Arc<BTreeSet<(u32, u32)>>,
        left: u64,
        /// How far delays are apart at most, as a power of two.
        bits: u64,
    },
}

impl Preempt {
    /// What a schedule does within turns.
    pub(crate) fn new(schedule: &Schedule, seed: u64) -> Option<Box<Preempt>> {
        let mut draws = Draws::new(seed ^ 0x5851_f42d_4c95_7f2d);
        let kind = match schedule {
            Schedule::RoundRobin | Schedule::Chosen(_) => return None,
            Schedule::Random => Kind::Random { left: 1 + draws.below(RANDOM_ACCESSES) },
            Schedule::Pct => Kind::Priorities {
                accesses: 0,
                changes: std::array::from_fn(|_| draws.magnitude(CHANGE_BITS)),
                low: FRESH - 1,
                apart: draws.below(2) == 0,
                last: (u32::MAX, 0),
                streak: 0,
                turns: 0,
            },
            Schedule::Adversarial(places) => {
                let bits = draws.below(DELAY_BITS + 1);
                Kind::Delays { places: Arc::clone(places), left: draws.magnitude(bits), bits }
            }
        };
        Some(Box::new(Preempt { draws, kind, turns: 0, delayed: 0, calm: false }))
    }

    /// The priority of a warp that starts; 0 where there are none.
    pub(crate) fn fresh(&mut self) -> u32 {
        match self.kind {
            Kind::Priorities { .. } => (self.draws.next() as u32).max(FRESH),
            _ => 0,
        }
    }

    /// The priority of lanes that go another way than the rest.
    pub(crate) fn fork(&mut self, priority: u32) -> u32 {
        match self.kind {
            Kind::Priorities { apart: true, .. } if self.draws.below(2) == 0 => self.fresh(),
            _ => priority,
        }
    }

    /// Tells that a warp has had a turn; gives its priority from now on when others are to come first.
    pub(crate) fn used(&mut self, warp: (u32, u32)) -> Option<u32> {
        let Kind::Priorities { low, last, streak, turns, .. } = &mut self.kind else { return None };
        *streak = if *last == warp { *streak + 1 } else { 0 };
        *last = warp;
        *turns += 1;
        if *streak < STREAK && *turns < TURNS {
            return None;
        }
        (*streak, *turns) = (0, 0);
        *low = low.saturating_sub(1).max(1);
        Some(*low)
    }

    /// What becomes of a group of lanes that comes to an access.
    pub(crate) fn at(&mut self, place: (u32, u32), mask: u32) -> Cut {
        match &mut self.kind {
            Kind::Random { left } => {
                *left -= 1;
                if *left > 0 {
                    return Cut::None;
                }
                *left = 1 + self.draws.below(RANDOM_ACCESSES);
                Cut::EndAfter
            }
            Kind::Priorities { accesses, changes, low, .. } => {
                *accesses += 1;
                if !changes.contains(accesses) {
                    return Cut::None;
                }
                *low = low.saturating_sub(1).max(1);
                Cut::Change(*low)
            }
            Kind::Delays { places, left, bits } => {
                let many = self.calm || self.delayed >= MOST_DELAYED;
                if many || (!places.is_empty() && !places.contains(&place)) {
                    return Cut::None;
                }
                *left -= 1;
                if *left > 0 {
                    return Cut::None;
                }
                *left = self.draws.magnitude(*bits);
                let until = self.turns + self.draws.magnitude(LENGTH_BITS);
                let one = self.draws.below(u64::from(mask.count_ones())) as usize;
                let alone = self.draws.below(2) == 0;
                let lanes = match lanes(mask).nth(one) {
                    Some(lane) if alone => 1 << lane,
                    _ => mask,
                };
                Cut::Delay { until, lanes, before: self.draws.below(2) == 0 }
            }
        }
    }
}

/// Whether others can notice when an operation happens: it accesses memory that others see, or orders what does.
pub(crate) fn is_access(code: &Code, position: usize) -> bool {
    use crate::decode::code::Origin;
    let Some(Origin::Instruction(id)) = code.origins.get(position) else { return false };
    let Some(instruction) = code.function.instructions.get(id.0 as usize) else { return false };
    let seen = |space| matches!(space, Space::Global | Space::Shared | Space::SharedCluster | Space::Generic);
    match instruction.op {
        Op::Load(access) | Op::Store(access) => seen(access.space),
        Op::Atomic { .. } | Op::Fence { .. } | Op::Mbarrier { .. } => true,
        _ => false,
    }
}

/// Whether the next operation belongs to the same instruction: another element of a vector.
pub(crate) fn goes_on(code: &Code, position: usize) -> bool {
    use crate::decode::code::Origin;
    let at = |position: usize| match code.origins.get(position) {
        Some(Origin::Instruction(id)) => Some(*id),
        _ => None,
    };
    at(position).is_some() && at(position) == at(position + 1)
}

/// Whether the operation before belongs to the same instruction.
pub(crate) fn goes_on_from(code: &Code, position: usize) -> bool {
    position > 0 && goes_on(code, position - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_come_at_the_places_that_are_named() {
        let places = Arc::new(BTreeSet::from([(0, 7)]));
        let mut delays = 0;
        for seed in 0..64 {
            let mut preempt = Preempt::new(&Schedule::Adversarial(Arc::clone(&places)), seed).unwrap();
            for _ in 0..2000 {
                assert_eq!(preempt.at((0, 6), 0xff), Cut::None);
                if let Cut::Delay { lanes, .. } = preempt.at((0, 7), 0xff) {
                    assert!(lanes == 0xff || lanes.is_power_of_two(), "{lanes:#x}");
                    delays += 1;
                }
            }
        }
        assert!(delays > 64, "{delays}");
    }

    #[test]
    fn priorities_fall_at_change_points_only() {
        for seed in 0..64 {
            let mut preempt = Preempt::new(&Schedule::Pct, seed).unwrap();
            assert!(preempt.fresh() >= FRESH);
            let cuts: Vec<Cut> = (0..1 << CHANGE_BITS)
                .map(|_| preempt.at((0, 0), 1))
                .filter(|cut| *cut != Cut::None)
                .collect();
            assert!((1..=CHANGES).contains(&cuts.len()));
            assert!(cuts.iter().all(|cut| matches!(cut, Cut::Change(low) if *low < FRESH)));
        }
    }
}
