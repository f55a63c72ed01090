//! Happens-before as part of a state: for each access that could still race, who is ordered after it.
//!
//! A state with the same threads and the same memory can be reached with more or with less order. What counts for races
//! to come is, for each last access of a piece of memory, which threads know of it. Knowledge is handed on as PTX's memory
//! consistency model says («Causality Order»): by a release and an acquire of the same location, by a fence before a relaxed write and
//! a fence behind a relaxed read, by barriers; within a block where a scope reaches no farther. Beside threads, locations know:
//! what the last write to them published.

mod causality;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::follow::{Event, Looks, NOTHING, Shown, Site};
use crate::intern::Interner;
use crate::knowers::Knowers;
use crate::room::{self, in_one_piece};

/// What a thread knows now; what it knew at its last fence of the block, and of the whole card; what it has read of its own block and
/// of others without acquiring it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Now,
    FencedBlock,
    FencedCard,
    ReadOwnBlock,
    ReadOthers,
}

/// The most threads that order can be followed for.
pub(crate) const MOST_THREADS: usize = 32;

/// Bits of locations come behind those of threads.
const FIRST_LOCATION: usize = MOST_THREADS * 5;

/// Something that happened and that could still be part of a fault, and who is ordered after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Mark {
    pub(crate) word: u32,
    /// Its bytes of the word.
    pub(crate) bytes: u8,
    pub(crate) thread: u8,
    pub(crate) what: What,
    pub(crate) site: Site,
    pub(crate) known: Knowers,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum What {
    /// An access; a strong one is atomic, relaxed or stronger, and does not race with others of the kind.
    Access { writes: bool, strong: bool },
    /// The memory was freed, and perhaps taken again.
    Freed { taken: bool },
    /// A read that an update goes back to, with what was read; `changed` is the last change of another thread since,
    /// and who knows of the mark knows of that.
    Read { value: u64, moved: bool, changed: Option<(u8, Site)> },
}

in_one_piece!(Mark);

/// All orders that states were seen with, and what becomes of each.
#[derive(Default)]
pub(crate) struct Orders {
    marks: Interner<Vec<Mark>>,
    effects: Interner<Vec<Event>>,
    after: FxHashMap<(u32, u8, u32), (u32, u32)>,
    shown: Interner<Shown>,
    /// Where the faults that were shown showed.
    places: FxHashSet<Site>,
    /// Bits of what a location publishes: by word, first byte, block, and whether beyond the block.
    locations: FxHashMap<(u32, u32, bool), u32>,
    /// More locations than there are bits.
    pub(crate) overflow: bool,
    /// Words with plain accesses: only there an atomic access can race.
    plain: FxHashSet<u32>,
    strong: FxHashSet<u32>,
    /// A word that had only atomic accesses, which were not kept, has a plain one: the search must begin again.
    pub(crate) broken: bool,
    kept: FxHashMap<(u32, Knowers), u32>,
    per_block: u32,
    looks: Looks,
}

impl Orders {
    pub(crate) fn new(per_block: u32, looks: Looks) -> Orders {
        let mut orders = Orders { per_block: per_block.max(1), looks, ..Orders::default() };
        // Number 0 is nothing to be ordered, and no effect.
        orders.marks.number(Vec::new());
        orders.effects.number(Vec::new());
        orders
    }

    pub(crate) fn restart(&mut self) {
        let (plain, looks) = (std::mem::take(&mut self.plain), std::mem::take(&mut self.looks));
        *self = Orders { plain, ..Orders::new(self.per_block, looks) };
    }

    /// What is looked for.
    pub(crate) fn looks(&self) -> &Looks {
        &self.looks
    }

    pub(crate) fn effect(&mut self, events: Vec<Event>) -> u32 {
        self.effects.number(events).0
    }

    pub(crate) fn shown(&self, number: u32) -> Option<Shown> {
        self.shown.get(number).map(|shown| **shown)
    }

    /// Whether every place that can show a fault has shown one: each is told once, so nothing more can be found.
    pub(crate) fn has_all(&self) -> bool {
        matches!(&self.looks, Looks::Updates(roles) if self.places.len() == roles.len())
    }

    /// What [`Orders::after`] gives, where it was asked before.
    pub(crate) fn known_after(&self, order: u32, thread: u8, effect: u32) -> Option<(u32, u32)> {
        if effect == 0 { Some((order, NOTHING)) } else { self.after.get(&(order, thread, effect)).copied() }
    }

    /// What [`Orders::forget`] gives, where it was asked before.
    pub(crate) fn known_to_forget(&self, order: u32, live: impl Iterator<Item = usize>) -> Option<u32> {
        if order == 0 {
            return Some(0);
        }
        let now = live.fold(Knowers::NONE, |bits, thread| bits | part(Part::Now, thread));
        self.kept.get(&(order, now)).copied()
    }

    /// Orders that were met.
    pub(crate) fn len(&self) -> usize {
        self.marks.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        let (after, kept) = (&self.after, &self.kept);
        self.marks.bytes()
            + self.effects.bytes()
            + room::table(after.len(), after.capacity(), size_of::<((u32, u8, u32), (u32, u32))>())
            + room::table(kept.len(), kept.capacity(), size_of::<((u32, Knowers), u32)>())
    }

    /// The order after what a thread did, and the fault that it showed.
    pub(crate) fn after(&mut self, order: u32, thread: u8, effect: u32) -> (u32, u32) {
        if effect == 0 {
            return (order, NOTHING);
        }
        let key = (order, thread, effect);
        if let Some(&known) = self.after.get(&key) {
            return known;
        }
        let mut marks = self.marks.get(order).map_or(Vec::new(), |marks| (**marks).clone());
        let events = self.effects.get(effect).cloned();
        let mut shown = NOTHING;
        for event in events.iter().flat_map(|events| &**events) {
            if let Some(found) = self.apply(&mut marks, thread, *event)
                && shown == NOTHING
            {
                self.places.insert(found.second.site);
                shown = self.shown.number(found).0;
            }
        }
        let known = (self.number(marks), shown);
        self.after.insert(key, known);
        known
    }

    /// The order after these threads met, when of all threads only the live ones can race any more.
    pub(crate) fn meet(&mut self, order: u32, team: &[usize]) -> u32 {
        let mut marks = self.marks.get(order).map_or(Vec::new(), |marks| (**marks).clone());
        let now = team.iter().fold(Knowers::NONE, |bits, &thread| bits | part(Part::Now, thread));
        let read = team.iter().fold(Knowers::NONE, |bits, &thread| bits | part(Part::ReadOwnBlock, thread));
        for mark in &mut marks {
            if mark.known.meets(now | read) {
                mark.known |= now;
            }
        }
        self.number(marks)
    }

    /// The order without what nobody who still runs can race with.
    pub(crate) fn forget(&mut self, order: u32, live: impl Iterator<Item = usize>) -> u32 {
        if order == 0 {
            return 0;
        }
        let now = live.fold(Knowers::NONE, |bits, thread| bits | part(Part::Now, thread));
        if let Some(&known) = self.kept.get(&(order, now)) {
            return known;
        }
        let mut marks = self.marks.get(order).map_or(Vec::new(), |marks| (**marks).clone());
        marks.retain(|mark| match mark.what {
            What::Access { .. } | What::Freed { taken: true } => !mark.known.holds(now),
            What::Freed { taken: false } => true,
            What::Read { .. } => now.meets(part(Part::Now, mark.thread.into())),
        });
        let known = self.number(marks);
        self.kept.insert((order, now), known);
        known
    }

    fn number(&mut self, mut marks: Vec<Mark>) -> u32 {
        marks.sort_unstable_by_key(|mark| (mark.word, mark.bytes, mark.thread, mark.what, mark.site));
        self.marks.number(marks).0
    }
}

fn part(part: Part, thread: usize) -> Knowers {
    Knowers::one(part as usize * MOST_THREADS + thread.min(MOST_THREADS - 1))
}

/// Whether a thread is ordered after what a mark stands for.
pub(crate) fn knows(mark: &Mark, thread: u8) -> bool {
    mark.known.meets(part(Part::Now, usize::from(thread)))
}

/// What a thread knows of what it does itself.
pub(crate) fn own(thread: u8) -> Knowers {
    part(Part::Now, usize::from(thread))
}

#[cfg(test)]
mod tests {
    use standstill_kernel_ir::{Order, Scope};

    use super::*;

    const X: u32 = 0;
    const FLAG: u32 = 1;

    fn access(word: u32, writes: bool, order: Order, scope: Scope) -> Event {
        Event::Access {
            word,
            bytes: 15,
            reads: !writes,
            writes,
            order,
            scope,
            site: (0, word),
            before: 0,
            after: 0,
            swapped: None,
        }
    }

    fn fence(wide: bool) -> Event {
        Event::Fence { wide, acquires: true, releases: true }
    }

    /// Runs events of threads, one thread in each block unless `per_block` says otherwise; gives the number of races.
    #[track_caller]
    fn check(per_block: u32, events: &[(u8, Event)], races: usize) {
        let mut orders = Orders::new(per_block, Looks::Races);
        let (mut order, mut found) = (0, 0);
        for &(thread, event) in events {
            let effect = orders.effect(vec![event]);
            let (next, race) = orders.after(order, thread, effect);
            order = next;
            found += usize::from(race != NOTHING);
        }
        assert_eq!(found, races, "{events:?}");
    }

    #[test]
    fn order_is_handed_on_by_releases_and_acquires() {
        use Order::{Acquire, Relaxed, Release, Weak};
        let write = access(X, true, Weak, Scope::Gpu);
        let read = access(X, false, Weak, Scope::Gpu);
        let set = |order, scope| access(FLAG, true, order, scope);
        let get = |order, scope| access(FLAG, false, order, scope);
        let gpu = Scope::Gpu;
        check(1, &[(0, write), (1, read)], 1);
        check(1, &[(0, write), (0, set(Release, gpu)), (1, get(Acquire, gpu)), (1, read)], 0);
        check(1, &[(0, write), (0, set(Relaxed, gpu)), (1, get(Acquire, gpu)), (1, read)], 1);
        check(1, &[(0, write), (0, set(Release, gpu)), (1, get(Relaxed, gpu)), (1, read)], 1);
        let fenced = [
            (0, write),
            (0, fence(true)),
            (0, set(Relaxed, gpu)),
            (1, get(Relaxed, gpu)),
            (1, fence(true)),
            (1, read),
        ];
        check(1, &fenced, 0);
        // What was read before the write need not be known to a later reader, but to a later writer.
        check(1, &[(0, read), (1, write)], 1);
        check(1, &[(0, read), (0, set(Release, gpu)), (1, get(Acquire, gpu)), (1, write)], 0);
        // A release sequence: a read-modify-write in between hands on.
        let bump = Event::Access {
            word: FLAG,
            bytes: 15,
            reads: true,
            writes: true,
            order: Relaxed,
            scope: gpu,
            site: (0, 9),
            before: 0,
            after: 0,
            swapped: None,
        };
        check(1, &[(0, write), (0, set(Release, gpu)), (2, bump), (1, get(Acquire, gpu)), (1, read)], 0);
        // A plain relaxed write in between does not.
        check(
            1,
            &[(0, write), (0, set(Release, gpu)), (2, set(Relaxed, gpu)), (1, get(Acquire, gpu)), (1, read)],
            1,
        );
    }

    #[test]
    fn scopes_reach_as_far_as_they_say() {
        use Order::{Acquire, Release, Weak};
        let write = access(X, true, Weak, Scope::Gpu);
        let read = access(X, false, Weak, Scope::Gpu);
        let narrow = [
            (0, write),
            (0, access(FLAG, true, Release, Scope::Cta)),
            (1, access(FLAG, false, Acquire, Scope::Cta)),
            (1, read),
        ];
        check(1, &narrow, 1);
        check(2, &narrow, 0);
        let one_narrow = [
            (0, write),
            (0, access(FLAG, true, Release, Scope::Gpu)),
            (1, access(FLAG, false, Acquire, Scope::Cta)),
            (1, read),
        ];
        check(1, &one_narrow, 1);
        let fences = |wide| {
            [
                (0, write),
                (0, fence(wide)),
                (0, access(FLAG, true, Order::Relaxed, Scope::Gpu)),
                (1, access(FLAG, false, Order::Relaxed, Scope::Gpu)),
                (1, fence(wide)),
                (1, read),
            ]
        };
        check(1, &fences(false), 1);
        check(1, &fences(true), 0);
        check(2, &fences(false), 0);
    }

    #[test]
    fn threads_that_meet_know_of_each_other() {
        let mut orders = Orders::new(2, Looks::Races);
        let write = orders.effect(vec![access(X, true, Order::Weak, Scope::Cta)]);
        let (order, _) = orders.after(0, 0, write);
        let met = orders.meet(order, &[0, 1]);
        assert_eq!(orders.after(met, 1, write).1, NOTHING);
        assert_ne!(orders.after(order, 1, write).1, NOTHING);
        assert_eq!(orders.forget(met, [0, 1].into_iter()), 0);
        assert_ne!(orders.forget(order, [0, 1].into_iter()), 0);
    }
}
