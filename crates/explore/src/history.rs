//! Histories of operations: whether they have an order.
//!
//! A history is linearizable when its operations can be put into one order that keeps every operation that ended before another
//! one began before it, and in which each gives what it gave (Herlihy and Wing, 1990). Whether there is such an order is found as
//! Wing and Gong do, with the configurations that were seen kept as in Lowe's «Testing for linearizability» (2017), and while the
//! history is made: all that counts for what is to come is in which states the structure can be, and which of the operations
//! that have not ended have taken effect in each. That is what a state of the search keeps of the history, so that executions
//! meet again whose histories differ in nothing else.

use rustc_hash::{FxHashMap, FxHashSet};
use standstill_kernel_ir::{OperationMark, StructureOperation};

use crate::follow::{Event, Misfit, NOTHING as NO_FAULT, Shown, Site, Touch, What};
use crate::intern::Interner;
use crate::model::{Held, apply};
use crate::room::{self, Heap, in_one_piece};

/// What is known of every structure.
type History = Vec<Structure>;

/// What is known of one structure.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Structure {
    address: u64,
    kind: &'static str,
    /// The mark that it was first met at.
    met: Site,
    /// Operations that have begun and not ended, by thread.
    open: Vec<Open>,
    /// What may be so, in ascending order.
    may_be: Vec<Configuration>,
}

/// An operation that has begun and not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Open {
    thread: u8,
    operation: StructureOperation,
    arguments: [u64; 2],
    site: Site,
}

/// One way in which it may be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Configuration {
    held: Held,
    /// Open operations that have taken effect, with what they give; by thread.
    done: Vec<(u8, Option<u64>)>,
}

in_one_piece!(Open);

impl Heap for Configuration {
    fn heap(&self) -> usize {
        self.held.heap() + self.done.heap()
    }
}

impl Heap for Structure {
    fn heap(&self) -> usize {
        self.open.heap() + self.may_be.heap()
    }
}

impl Structure {
    fn new(address: u64, kind: &'static str, met: Site) -> Structure {
        Structure { address, kind, met, open: Vec::new(), may_be: vec![Configuration::default()] }
    }

    /// Forgets the open operation of a thread, which may have taken effect or not; where it began.
    fn give_up(&mut self, thread: u8) -> Option<Site> {
        let begun = self.open.iter().find(|open| open.thread == thread)?.site;
        self.open.retain(|open| open.thread != thread);
        for configuration in &mut self.may_be {
            configuration.done.retain(|(of, _)| *of != thread);
        }
        self.may_be.sort_unstable();
        self.may_be.dedup();
        Some(begun)
    }

    /// The configurations in which the operation of a thread has taken effect with this result, when the operations that are open
    /// may take effect in any order before it.
    fn with_effect(&self, thread: u8, result: u64) -> Vec<Configuration> {
        let mut seen: FxHashSet<Configuration> = self.may_be.iter().cloned().collect();
        let mut rest = self.may_be.clone();
        let mut right = Vec::new();
        while let Some(configuration) = rest.pop() {
            if let Some(at) = configuration.done.iter().position(|(of, _)| *of == thread) {
                let mut after = configuration;
                let (_, gives) = after.done.remove(at);
                if gives.is_none_or(|gives| gives == result) {
                    right.push(after);
                }
                continue;
            }
            for open in &self.open {
                if configuration.done.iter().any(|(of, _)| *of == open.thread) {
                    continue;
                }
                let mut after = configuration.clone();
                let gives = apply(open.operation, open.arguments, &mut after.held);
                after.done.push((open.thread, gives));
                after.done.sort_unstable();
                if seen.insert(after.clone()) {
                    rest.push(after);
                }
            }
        }
        right.sort_unstable();
        right.dedup();
        right
    }
}

/// Follows a mark of a thread; an operation that ends without any order is a fault, and so is a mark that does not fit.
fn follow(history: &mut History, thread: u8, event: Event) -> Option<Shown> {
    let Event::Operation { mark, subject, arguments, site } = event else { return None };
    let touch = |site| Touch { thread, writes: true, strong: true, site };
    let fault = |what, before| {
        Some(Shown { what, word: 0, bytes: 0, first: touch(before), between: None, second: touch(site) })
    };
    match mark {
        OperationMark::Held(operation) => {
            let (found, other) = find(history, subject, operation, site)?;
            for configuration in &mut found.may_be {
                apply(operation, arguments, &mut configuration.held);
            }
            other.and_then(|before| fault(What::Marks(Misfit::OtherKind), before))
        }
        OperationMark::Begins(operation) => {
            let within = history.iter_mut().filter_map(|known| known.give_up(thread)).last();
            let (found, other) = find(history, subject, operation, site)?;
            // Where something had no order, nothing behind it can be judged.
            if !found.may_be.is_empty() {
                found.open.push(Open { thread, operation, arguments, site });
                found.open.sort_unstable();
            }
            let within = within.and_then(|before| fault(What::Marks(Misfit::BeginsWithin), before));
            within.or_else(|| other.and_then(|before| fault(What::Marks(Misfit::OtherKind), before)))
        }
        OperationMark::Ends => {
            let begun_by = |known: &Structure| known.open.iter().find(|open| open.thread == thread).copied();
            let begun = history.iter_mut().find_map(|known| begun_by(known).map(|open| (known, open)));
            let Some((found, begun)) = begun else {
                let judged = history.iter().all(|known| !known.may_be.is_empty());
                return fault(What::Marks(Misfit::EndsNothing), site).filter(|_| judged);
            };
            found.may_be = found.with_effect(thread, subject);
            found.open.retain(|open| open.thread != thread);
            if !found.may_be.is_empty() {
                return None;
            }
            found.open.clear();
            fault(What::NoOrder, begun.site)
        }
        OperationMark::Unknown => None,
    }
}

/// A structure, a fresh one where none is known, and where another kind of structure was first met at its address.
fn find(
    history: &mut History,
    address: u64,
    operation: StructureOperation,
    site: Site,
) -> Option<(&mut Structure, Option<Site>)> {
    let (kind, _) = operation.names();
    let other = history.iter().find(|known| known.address == address && known.kind != kind);
    let other = other.map(|known| known.met);
    let place = history.binary_search_by_key(&(address, kind), |known| (known.address, known.kind));
    let at = place.unwrap_or_else(|at| {
        history.insert(at, Structure::new(address, kind, site));
        at
    });
    history.get_mut(at).map(|known| (known, other))
}

/// All histories that states were seen with, and what becomes of each.
pub(crate) struct Histories {
    histories: Interner<History>,
    effects: Interner<Vec<Event>>,
    after: FxHashMap<(u32, u8, u32), (u32, u32)>,
    shown: Interner<Shown>,
}

impl Histories {
    pub(crate) fn new() -> Histories {
        let mut new = Histories {
            histories: Interner::default(),
            effects: Interner::default(),
            after: FxHashMap::default(),
            shown: Interner::default(),
        };
        // Number 0 is no history, and no effect.
        new.histories.number(Vec::new());
        new.effects.number(Vec::new());
        new
    }

    pub(crate) fn effect(&mut self, events: Vec<Event>) -> u32 {
        self.effects.number(events).0
    }

    pub(crate) fn events(&self, effect: u32) -> &[Event] {
        self.effects.get(effect).map_or(&[], |events| &events[..])
    }

    pub(crate) fn shown(&self, number: u32) -> Option<Shown> {
        self.shown.get(number).map(|shown| **shown)
    }

    /// What [`Histories::after`] gives, where it was asked before.
    pub(crate) fn known_after(&self, history: u32, thread: u8, effect: u32) -> Option<(u32, u32)> {
        if effect == 0 {
            Some((history, NO_FAULT))
        } else {
            self.after.get(&(history, thread, effect)).copied()
        }
    }

    /// The operations that are open in a history, each with its thread and where it began.
    pub(crate) fn open(&self, history: u32) -> impl Iterator<Item = (u8, Site)> {
        let structures = self.histories.get(history).map_or(&[][..], |history| &history[..]);
        structures.iter().flat_map(|known| &known.open).map(|open| (open.thread, open.site))
    }

    /// Histories that were met.
    pub(crate) fn len(&self) -> usize {
        self.histories.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        let after = &self.after;
        self.histories.bytes()
            + self.effects.bytes()
            + room::table(after.len(), after.capacity(), size_of::<((u32, u8, u32), (u32, u32))>())
    }

    /// The history after what a thread did, and the fault that it showed.
    pub(crate) fn after(&mut self, history: u32, thread: u8, effect: u32) -> (u32, u32) {
        if effect == 0 {
            return (history, NO_FAULT);
        }
        let key = (history, thread, effect);
        if let Some(&known) = self.after.get(&key) {
            return known;
        }
        let mut now = self.histories.get(history).map_or(Vec::new(), |history| (**history).clone());
        let mut fault = NO_FAULT;
        for event in self.effects.get(effect).cloned().iter().flat_map(|events| &**events) {
            if let Some(shown) = follow(&mut now, thread, *event).filter(|_| fault == NO_FAULT) {
                fault = self.shown.number(shown).0;
            }
        }
        let known = (self.histories.number(now).0, fault);
        self.after.insert(key, known);
        known
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One operation of a history: who, what, what it gave, and when it began and ended.
    #[derive(Debug, Clone, Copy)]
    struct Done {
        thread: u8,
        operation: StructureOperation,
        argument: u64,
        result: u64,
        begins: usize,
        ends: usize,
    }

    /// By the checker.
    fn has_order(history: &[Done]) -> bool {
        let mut events: Vec<(usize, u8, Event)> = Vec::new();
        for done in history {
            let event = |mark, subject, argument| Event::Operation {
                mark,
                subject,
                arguments: [argument, 0],
                site: (0, 0),
            };
            let begins = event(OperationMark::Begins(done.operation), 1, done.argument);
            events.push((done.begins, done.thread, begins));
            events.push((done.ends, done.thread, event(OperationMark::Ends, done.result, 0)));
        }
        events.sort_unstable_by_key(|(when, ..)| *when);
        let (mut histories, mut history) = (Histories::new(), 0);
        events.into_iter().all(|(_, thread, event)| {
            let effect = histories.effect(vec![event]);
            let (after, fault) = histories.after(history, thread, effect);
            history = after;
            fault == NO_FAULT
        })
    }

    /// By trying every order of what is left.
    fn has_order_by_force(left: &[Done], held: &Held) -> bool {
        left.is_empty()
            || (0..left.len()).any(|at| {
                let mut rest = left.to_vec();
                let next = rest.remove(at);
                let mut held = held.clone();
                rest.iter().all(|other| other.ends > next.begins)
                    && apply(next.operation, [next.argument, 0], &mut held)
                        .is_none_or(|gives| gives == next.result)
                    && has_order_by_force(&rest, &held)
            })
    }

    fn done(
        thread: u8,
        operation: StructureOperation,
        argument: u64,
        result: u64,
        span: (usize, usize),
    ) -> Done {
        Done { thread, operation, argument, result, begins: span.0, ends: span.1 }
    }

    #[test]
    fn what_ended_before_comes_before() {
        use StructureOperation::{QueuePop, QueuePush, RegisterRead, RegisterWrite};
        let check = |history: &[Done], expected| {
            assert_eq!(has_order(history), expected, "{history:?}");
            assert_eq!(has_order_by_force(history, &Held::new()), expected, "{history:?}");
        };
        let write = done(0, RegisterWrite, 1, 0, (0, 3));
        check(&[write, done(1, RegisterRead, 0, 0, (1, 2))], true);
        check(&[write, done(1, RegisterRead, 0, 1, (1, 2))], true);
        check(&[write, done(1, RegisterRead, 0, 0, (4, 5))], false);
        // Once seen, it stays.
        check(&[write, done(1, RegisterRead, 0, 1, (1, 2)), done(2, RegisterRead, 0, 0, (4, 5))], false);
        let pushes = [done(0, QueuePush, 1, 0, (0, 1)), done(1, QueuePush, 2, 0, (2, 3))];
        check(&[pushes[0], pushes[1], done(2, QueuePop, 0, 1, (4, 5))], true);
        check(&[pushes[0], pushes[1], done(2, QueuePop, 0, 2, (4, 5))], false);
    }

    #[test]
    fn what_a_structure_held_counts() {
        let mut histories = Histories::new();
        let event = |mark, subject, argument| Event::Operation {
            mark,
            subject,
            arguments: [argument, 0],
            site: (0, 0),
        };
        let held = event(OperationMark::Held(StructureOperation::StackPush), 1, 7);
        let begins = event(OperationMark::Begins(StructureOperation::StackPop), 1, 0);
        for (result, right) in [(7, true), (8, false)] {
            let effect = histories.effect(vec![held, begins, event(OperationMark::Ends, result, 0)]);
            assert_eq!(histories.after(0, 0, effect).1 == NO_FAULT, right);
        }
    }

    /// Histories of one structure: each thread's operations one after the other, with results that may be right.
    fn histories() -> impl Strategy<Value = Vec<Done>> {
        let all = StructureOperation::ALL.map(|(structure, _, _)| structure);
        let operation = (0..3u8, 0..8usize, 0..3u64, 0..4u64, 0..12usize, 1..8usize);
        (0..all.len(), prop::collection::vec(operation, 1..6)).prop_map(move |(of, drawn)| {
            let kind = all[of];
            let of_kind = StructureOperation::ALL.into_iter().filter(|(structure, ..)| *structure == kind);
            let of_kind: Vec<_> = of_kind.map(|(.., operation)| operation).collect();
            let mut free = [0; 3];
            let mut history = Vec::new();
            for (number, (thread, which, argument, result, wait, lasts)) in drawn.into_iter().enumerate() {
                let begins = free[usize::from(thread)] + wait;
                let ends = begins + lasts;
                free[usize::from(thread)] = ends + 1;
                let result = if result == 3 { crate::model::NOTHING } else { result };
                // No two at the same time.
                let at = |when: usize, end: usize| when * 64 + number * 2 + end;
                let operation = of_kind[which % of_kind.len()];
                history.push(done(thread, operation, argument, result, (at(begins, 0), at(ends, 1))));
            }
            history
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn the_checker_says_what_all_orders_say(history in histories()) {
            prop_assert_eq!(has_order(&history), has_order_by_force(&history, &Held::new()));
        }
    }
}
