//! What happened to bytes, in the order of submission, and which pairs that shows.

use std::rc::Rc;

use rustc_hash::FxHashSet;
use standstill_findings::Rule;
use standstill_trace::{Access, Mode};

use super::{Check, Event, HOST, SWEEP, What};
use crate::clock::Strand;
use crate::conflict::{Actor, Certainty, Conflict, Deed};
use crate::history::{Before, Clash, Touch};
use crate::rules::{self, Pair};
use crate::talk::Talker;

impl Check {
    /// Works off what is known, in the order of submission.
    pub(super) fn settle(&mut self) {
        while let Some(event) = self.waiting.front() {
            if matches!(event.what, What::Touch(None)) {
                return;
            }
            if let Some(event) = self.waiting.pop_front() {
                self.happen(event);
            }
        }
        if self.waiting.is_empty() {
            self.talk.retire(self.order.settled());
            self.unanswered.retire(self.order.settled());
        }
        if self.history.len().max(self.actors.len()).max(self.destroyed.len()) > self.sweep_at {
            self.sweep();
        }
    }

    fn happen(&mut self, event: Event) {
        let mut clashes = Vec::new();
        let placed = event.placed.map(|placed| (placed.strand, placed.index, placed.before));
        match (event.what, placed) {
            (What::Forget(range), _) => self.history.forget(range),
            (What::Touch(Some(accesses)), Some((strand, index, before))) => {
                let before = self.with_talk(event.actor, &accesses, (strand, index), before);
                let touches = accesses.iter().filter(|access| access.mode != Mode::Signal);
                for access in touches {
                    self.coverage.widened += u64::from(!access.exact);
                    let (deed, exact) = (access.mode.into(), access.exact);
                    let touch = Touch { actor: event.actor, strand, index, deed, exact };
                    self.history.touch(touch, access, &before, &mut clashes);
                }
            }
            (What::Deed(deed, range), Some((strand, index, before))) => {
                if deed == Deed::Begin {
                    // Whoever had these bytes before is the pool's business.
                    self.history.forget(range.clone());
                }
                let touch = Touch { actor: event.actor, strand, index, deed, exact: true };
                self.whole(touch, range, &before, &mut clashes);
            }
            _ => {}
        }
        for clash in clashes {
            self.conflict(&clash);
        }
    }

    /// What may come before something that touches bytes, be it by calls or by what host and device told each other.
    fn with_talk(
        &mut self,
        number: u64,
        accesses: &[Access],
        (strand, index): (Strand, u64),
        before: Before,
    ) -> Before {
        let Some(known) = self.actors.get_mut(&number) else { return before };
        if number >= HOST {
            let mut before = (*before).clone();
            before.join(&self.talk.told(known.actor.record, known.seen));
            return Rc::new(before);
        }
        let before = match self.talk.told_before_putting_in(known.actor.record) {
            Some(told) => {
                let mut before = (*before).clone();
                before.join(&told);
                Rc::new(before)
            }
            None => before,
        };
        let talks = known.host_function || accesses.iter().any(|access| access.mode == Mode::Signal);
        known.unanswered = self.unanswered.may_hold_up(&before);
        known.waits_behind = (talks || self.talk.may_hold_up(&before)).then(|| before.clone());
        if talks {
            let (submitted, ended) = (known.actor.record, known.ended);
            let began = if known.host_function { known.began } else { Some(submitted) };
            let signals = accesses.iter().filter(|access| access.mode == Mode::Signal).copied();
            let signals: Vec<Access> = signals.collect();
            let own = |access: &Access| self.memory.is_registered(access.address);
            // What is not known to have ended was not seen to run.
            let is_seen = !known.host_function && ended.is_some() && !signals.iter().any(own);
            let (before, by) = ((*before).clone(), is_seen.then_some(signals));
            self.talk.add(Talker { strand, index, before, submitted, began, ended, by });
        }
        before
    }

    fn whole(
        &mut self,
        touch: Touch,
        range: std::ops::Range<u64>,
        before: &Before,
        clashes: &mut Vec<Clash>,
    ) {
        let width = range.end - range.start;
        let access = Access::bytes(Mode::Write, range.start, width);
        self.history.touch(touch, &access, before, clashes);
    }

    fn conflict(&mut self, clash: &Clash) {
        // An operation may read and write the same bytes.
        if clash.earlier.actor == clash.later.actor {
            return;
        }
        let sides = [&clash.earlier, &clash.later].map(|touch| (touch.deed, touch.exact));
        let certainty = Certainty::of(sides);
        let unknown = sides.iter().all(|(deed, exact)| *deed == Deed::May && *exact);
        if certainty.is_none() && !unknown {
            return;
        }
        let (Some(earlier), Some(later)) =
            (self.actors.get(&clash.earlier.actor), self.actors.get(&clash.later.actor))
        else {
            return;
        };
        let host_accesses = later.actor.stream.is_none() && clash.later.deed != Deed::End;
        let place = (clash.earlier.strand, clash.earlier.index);
        let bytes = clash.address..clash.address.saturating_add(clash.bytes);
        let can_wait = |before| self.talk.can_wait(place, before, &bytes, later.actor.record);
        let waits = host_accesses && earlier.waits_behind.as_deref().is_some_and(can_wait);
        if waits || earlier.unanswered || later.unanswered {
            return;
        }
        let Some(certainty) = certainty else {
            let pair = (earlier.actor.site, later.actor.site);
            if self.undecided.insert(pair) {
                self.coverage.undecided += 1;
                self.coverage.undecided_at.get_or_insert(pair.1);
            }
            return;
        };
        let pair = Pair {
            clash,
            earlier: &earlier.actor,
            later: &later.actor,
            operation: clash.later.actor,
            kinds: [earlier.kind, later.kind],
            host_function: earlier.host_function || later.host_function,
        };
        let ((rule, hints), doubt) = rules::judge(&pair, &self.log);
        let staged = earlier.staged;
        let (earlier, later) = (earlier.actor.clone(), later.actor.clone());
        let conflict = Conflict {
            rule,
            earlier: (earlier, clash.earlier.deed),
            later: (later, clash.later.deed),
            address: clash.address,
            bytes: clash.bytes,
            certainty,
            hints,
            staged,
            times: 1,
        };
        self.found.add(conflict, doubt);
    }

    /// A call that breaks a rule by itself.
    pub(super) fn alone(&mut self, rule: Rule, earlier: (Actor, Deed), later: Actor) {
        let (later, hints) = ((later, Deed::Read), Vec::new());
        let conflict = Conflict {
            rule,
            earlier,
            later,
            address: 0,
            bytes: 0,
            certainty: Certainty::Known,
            hints,
            staged: false,
            times: 1,
        };
        self.found.add(conflict, None);
    }

    /// Forgets what comes before everything that can still come, and actors that nothing names any more.
    fn sweep(&mut self) {
        self.history.retire(self.order.settled());
        self.order.retire();
        let named: FxHashSet<u64> =
            self.history.actors().chain(self.waiting.iter().map(|event| event.actor)).collect();
        self.actors.retain(|number, _| named.contains(number));
        if self.waiting.is_empty() {
            self.destroyed.drain(..).for_each(|event| self.log.forget_event(event));
        }
        self.sweep_at = SWEEP.max(2 * self.history.len().max(self.actors.len()));
    }
}
