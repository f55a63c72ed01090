//! What was found so far: each conflict once.

use rustc_hash::FxHashMap;
use standstill_findings::Rule;
use standstill_trace::Site;

use crate::conflict::{Certainty, Conflict};
use crate::log::Log;
use crate::rules::Doubt;

/// Conflicts that rest on guesses are told of up to this many.
const GUESSES: usize = 20;

/// Conflicts in the order in which they were met.
#[derive(Debug, Default)]
pub(crate) struct Found {
    conflicts: Vec<Conflict>,
    /// Conflicts of which only later records will tell what they break.
    doubts: Vec<(usize, Doubt)>,
    /// By rule and the places of both sides: where the conflict stands in the list.
    seen: FxHashMap<(Rule, Site, Site), usize>,
    /// Conflicts in the list that rest on guesses.
    guesses: usize,
}

impl Found {
    /// Adds a conflict, with what it is otherwise if later records say so.
    pub(crate) fn add(&mut self, conflict: Conflict, doubt: Option<Doubt>) {
        let (earlier, later) = conflict.sites();
        let key = (conflict.rule, earlier, later);
        if let Some(known) = self.seen.get(&key).and_then(|at| self.conflicts.get_mut(*at)) {
            known.times += 1;
            return;
        }
        if conflict.certainty == Certainty::Wide {
            if self.guesses == GUESSES {
                return;
            }
            self.guesses += 1;
        }
        let at = self.conflicts.len();
        self.seen.insert(key, at);
        self.conflicts.push(conflict);
        self.doubts.extend(doubt.map(|doubt| (at, doubt)));
    }

    /// All of them, when no record will come any more.
    pub(crate) fn finish(mut self, log: &Log) -> Vec<Conflict> {
        for (at, Doubt { event, strand, otherwise: (rule, hints) }) in self.doubts {
            if let Some(conflict) = self.conflicts.get_mut(at).filter(|_| !log.may_mean(event, strand)) {
                (conflict.rule, conflict.hints) = (rule, hints);
            }
        }
        self.conflicts
    }
}
