//! Updates: a thread reads, computes, and writes back. The write is lost where another thread changed the memory in between;
//! a compare-and-swap is fooled where the value came back, and what was read by way of it is not what it was.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use standstill_kernel_ir::{Order, Update};

use crate::code::Code;
use crate::follow::{Event, Shown, Site, Touch, What as Fault};
use crate::order::{Mark, What, knows, own};

/// The updates of a kernel that can go wrong.
#[derive(Debug, Clone, Default)]
pub(crate) struct Roles(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    updates: FxHashMap<Site, Update>,
    /// Reads that one of them goes back to.
    reads: FxHashSet<Site>,
}

impl Roles {
    /// The updates of all functions; a compare-and-swap loop that tries again is none of them unless it follows a reference.
    pub(crate) fn of(codes: &[Option<Code>]) -> Roles {
        let mut known = Known::default();
        for (code, function) in codes.iter().zip(0u32..) {
            let Some(code) = code else { continue };
            for (&at, update) in &code.updates.updates {
                if !update.expected.is_empty() && !update.ignored && update.chased.is_empty() {
                    continue;
                }
                let reads = update.from.iter().chain(&update.expected).chain(&update.chased);
                known.reads.extend(reads.map(|&read| (function, read)));
                known.updates.insert((function, at), update.clone());
            }
        }
        Roles(Arc::new(known))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.updates.len()
    }

    /// Follows an access of a thread.
    pub(crate) fn access(&self, marks: &mut Vec<Mark>, thread: u8, event: Event) -> Option<Shown> {
        let Event::Access { word, bytes, reads, writes, order, site, before, after, swapped, .. } = event
        else {
            return None;
        };
        let writes = writes && swapped != Some(false);
        let second = Touch { thread, writes, strong: order != Order::Weak, site };
        let update = self.0.updates.get(&site);
        let shown = update.and_then(|update| judge(marks, update, (word, bytes, swapped), second));
        if update.is_some() && swapped != Some(false) {
            // What was read for it has been used.
            let mine = |mark: &Mark| mark.thread == thread && mark.site.0 == site.0;
            let used = |mark: &Mark| update.is_some_and(|update| uses(update, mark.site.1));
            marks.retain(|mark| !(mine(mark) && used(mark)));
        }
        if writes && before != after {
            for mark in marks.iter_mut().filter(|mark| mark.word == word && mark.bytes & bytes != 0) {
                let What::Read { value, .. } = mark.what else { continue };
                let moved = masked(after, mark.bytes) != value || mark.bytes & !bytes != 0;
                // A change of the thread's own is no change of another's.
                let (changed, known) = if mark.thread == thread {
                    (None, crate::knowers::Knowers::NONE)
                } else {
                    (Some((thread, site)), own(thread))
                };
                mark.what = What::Read { value, moved, changed };
                mark.known = known;
            }
        }
        if reads && swapped != Some(true) && self.0.reads.contains(&site) {
            marks.retain(|mark| (mark.thread, mark.site) != (thread, site));
            let what = What::Read { value: before, moved: false, changed: None };
            marks.push(Mark { word, bytes, thread, what, site, known: crate::knowers::Knowers::NONE });
        }
        shown
    }
}

/// Whether an update goes back to a read.
fn uses(update: &Update, read: u32) -> bool {
    update.from.contains(&read) || update.expected.contains(&read)
}

/// The bytes of a word that a mark has, as they lie in the word.
fn masked(value: u64, bytes: u8) -> u64 {
    (0..8).filter(|byte| bytes >> byte & 1 != 0).fold(0, |mask, byte| mask | 0xff << (8 * byte)) & value
}

/// What is wrong with the completion of an update.
fn judge(
    marks: &[Mark],
    update: &Update,
    (word, bytes, swapped): (u32, u8, Option<bool>),
    second: Touch,
) -> Option<Shown> {
    let thread = second.thread;
    let mine = |mark: &&Mark| mark.thread == thread && mark.site.0 == second.site.0;
    let here = |mark: &&Mark| mine(mark) && (mark.word, mark.bytes) == (word, bytes);
    let fault = |what, read: &Mark, changed: Option<(u8, Site)>| Shown {
        what,
        word,
        bytes,
        first: Touch { thread, writes: false, strong: true, site: read.site },
        between: changed.map(|(thread, site)| Touch { thread, writes: true, strong: true, site }),
        second,
    };
    let changed = |mark: &Mark| match mark.what {
        What::Read { changed, .. } => changed.filter(|_| !knows(mark, thread)),
        _ => None,
    };
    match swapped {
        // A store. Of several reads one without a change is the newest.
        None => {
            let mut reads = marks.iter().filter(here).filter(|mark| update.from.contains(&mark.site.1));
            let read = reads.next()?;
            let others = reads.all(|mark| changed(mark).is_some());
            changed(read).filter(|_| others).map(|by| fault(Fault::LostUpdate, read, Some(by)))
        }
        Some(false) if update.ignored => {
            let read = marks.iter().filter(here).find(|mark| update.from.contains(&mark.site.1))?;
            changed(read).map(|by| fault(Fault::LostUpdate, read, Some(by)))
        }
        Some(false) => None,
        Some(true) => {
            let mut expected =
                marks.iter().filter(here).filter(|mark| update.expected.contains(&mark.site.1));
            let came_back = |mark: &&Mark| matches!(mark.what, What::Read { changed: Some(_), .. });
            let read = expected.next().filter(came_back)?;
            if !expected.all(|mark| came_back(&mark)) {
                return None;
            }
            let stale = marks.iter().filter(mine).any(|mark| {
                update.chased.contains(&mark.site.1) && matches!(mark.what, What::Read { moved: true, .. })
            });
            let What::Read { changed, .. } = read.what else { return None };
            stale.then(|| fault(Fault::Aba, read, changed))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::follow::{Looks, NOTHING};
    use crate::order::Orders;
    use standstill_kernel_ir::Scope;

    const X: u32 = 0;
    const NEXT: u32 = 1;
    const READ: Site = (0, 1);
    const FOLLOW: Site = (0, 2);
    const WRITE: Site = (0, 3);
    const OTHER: Site = (0, 9);

    fn access(word: u32, site: Site, before: u64, after: Option<u64>, swapped: Option<bool>) -> Event {
        let (writes, after) = (after.is_some(), after.unwrap_or(before));
        Event::Access {
            word,
            bytes: 15,
            reads: !writes || swapped.is_some(),
            writes,
            order: Order::Relaxed,
            scope: Scope::Gpu,
            site,
            before,
            after,
            swapped,
        }
    }

    /// Follows events of threads where `WRITE` writes back what `READ` read; as a compare-and-swap it installs what `FOLLOW`
    /// read by way of it.
    #[track_caller]
    fn check(update: Update, events: &[(u8, Event)], expected: Option<Fault>) {
        let mut known = Known { reads: [READ, FOLLOW].into_iter().collect(), ..Known::default() };
        known.updates.insert(WRITE, update);
        let mut orders = Orders::new(1, Looks::Updates(Roles(Arc::new(known))));
        let (mut order, mut found) = (0, None);
        for &(thread, event) in events {
            let effect = orders.effect(vec![event]);
            let (next, shown) = orders.after(order, thread, effect);
            order = next;
            if shown != NOTHING {
                found = orders.shown(shown).map(|shown| shown.what);
            }
        }
        assert_eq!(found, expected, "{events:?}");
    }

    fn sites(list: &[u32]) -> FxHashSet<u32> {
        list.iter().copied().collect()
    }

    #[test]
    fn a_write_loses_what_another_thread_changed_since_its_read() {
        let update = Update { from: sites(&[1]), ..Update::default() };
        let read = (0, access(X, READ, 1, None, None));
        let other = |after| (1, access(X, OTHER, 1, Some(after), None));
        let write = (0, access(X, WRITE, 1, Some(2), None));
        check(update.clone(), &[read, write], None);
        check(update.clone(), &[read, other(5), write], Some(Fault::LostUpdate));
        // What changes nothing loses nothing, and what was read again is new.
        check(update.clone(), &[read, other(1), write], None);
        check(update.clone(), &[read, other(5), (0, access(X, READ, 5, None, None)), write], None);
        // Neither does another place.
        check(update, &[(0, access(NEXT, READ, 1, None, None)), other(5), write], None);
    }

    #[test]
    fn a_failure_that_nobody_looks_at_loses_the_update() {
        let ignored = Update { from: sites(&[1]), expected: sites(&[1]), ignored: true, ..Update::default() };
        let looked = Update { ignored: false, ..ignored.clone() };
        let events = [
            (0, access(X, READ, 1, None, None)),
            (1, access(X, OTHER, 1, Some(5), None)),
            (0, access(X, WRITE, 5, Some(5), Some(false))),
        ];
        check(ignored, &events, Some(Fault::LostUpdate));
        check(looked, &events, None);
    }

    #[test]
    fn a_value_that_came_back_fools_only_where_what_hung_from_it_has_changed() {
        let chased = sites(&[2]);
        let update = Update { from: chased.clone(), expected: sites(&[1]), ignored: false, chased };
        let check = |between: &[(u8, Event)], expected| {
            let mut events =
                vec![(0, access(X, READ, 1, None, None)), (0, access(NEXT, FOLLOW, 7, None, None))];
            events.extend(between);
            events.push((0, access(X, WRITE, 1, Some(7), Some(true))));
            check(update.clone(), &events, expected);
        };
        let away = (1, access(X, OTHER, 1, Some(2), None));
        let back = (1, access(X, OTHER, 2, Some(1), None));
        let next = |before, after| (1, access(NEXT, OTHER, before, Some(after), None));
        check(&[], None);
        check(&[away, back], None);
        check(&[next(7, 8)], None);
        check(&[away, next(7, 8), back], Some(Fault::Aba));
        check(&[away, next(7, 8), next(8, 7), back], None);
    }
}
