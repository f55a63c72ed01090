//! Which rule an unordered pair breaks, and what stands in the program that looks like order and is none.

use standstill_findings::Rule;
use standstill_trace::{Operation, Site, StreamKind};

use crate::clock::Strand;
use crate::conflict::{Actor, Deed};
use crate::history::Clash;
use crate::log::{Log, Waited};

/// What is known of both sides of a clash.
pub(crate) struct Pair<'a> {
    pub(crate) clash: &'a Clash,
    pub(crate) earlier: &'a Actor,
    pub(crate) later: &'a Actor,
    /// The later one's number.
    pub(crate) operation: Operation,
    pub(crate) kinds: [Option<StreamKind>; 2],
    /// Whether one of them is a function of the host.
    pub(crate) host_function: bool,
}

/// The rule and its hints.
pub(crate) type Verdict = (Rule, Vec<(Site, String)>);

/// What holds where a wait turns out to have been meant for something else.
#[derive(Debug)]
pub(crate) struct Doubt {
    /// The event that was not recorded when it was waited for.
    pub(crate) event: u64,
    /// Where its record was missing.
    pub(crate) strand: Strand,
    pub(crate) otherwise: Verdict,
}

pub(crate) fn judge(pair: &Pair<'_>, log: &Log) -> (Verdict, Option<Doubt>) {
    let verdict = verdict(pair, log, true);
    let unrecorded = || pair.later.stream.and_then(|stream| unrecorded(stream, pair, log));
    let doubt = (verdict.0 == Rule::WaitUnrecorded).then(unrecorded).flatten().map(|wait| Doubt {
        event: wait.event,
        strand: pair.clash.earlier.strand,
        otherwise: self::verdict(pair, log, false),
    });
    (verdict, doubt)
}

/// The most recent wait for an event without a record.
fn unrecorded<'a>(stream: u64, pair: &Pair<'_>, log: &'a Log) -> Option<&'a Waited> {
    log.waits(stream, pair.operation).find(|wait| wait.record.is_none())
}

/// `first_use`: waits for events that have no record yet count.
fn verdict(pair: &Pair<'_>, log: &Log, first_use: bool) -> Verdict {
    let deeds = (pair.clash.earlier.deed, pair.clash.later.deed);
    match deeds {
        (Deed::Begin, _) => return (Rule::AllocOrder, vec![]),
        (_, Deed::End) => return (Rule::FreeInFlight, vec![]),
        (Deed::End, _) => return (Rule::AllocOrder, vec![]),
        _ => {}
    }
    if pair.earlier.graph.is_some() && pair.earlier.graph == pair.later.graph {
        return (Rule::GraphDependency, vec![]);
    }
    if pair.host_function {
        return (Rule::HostCallback, vec![]);
    }
    match (pair.earlier.stream, pair.later.stream) {
        (_, None) if deeds.1 == Deed::Read => return (Rule::HostReadBeforeSync, vec![]),
        (_, None) => return (Rule::HostWriteInFlight, vec![]),
        _ => {}
    }
    let reads = |deed| matches!(deed, Deed::Read | Deed::May | Deed::MayRead);
    let needs_data = !reads(deeds.0);
    if needs_data && let Some(verdict) = event(pair, log, first_use) {
        return verdict;
    }
    let default =
        |kind: &Option<StreamKind>| matches!(kind, Some(StreamKind::Legacy | StreamKind::PerThread));
    if pair.kinds.iter().any(default) {
        return (Rule::DefaultStream, vec![]);
    }
    if reads(deeds.0) && pair.clash.refilled {
        return (Rule::BufferReuse, covering_wait(pair, log));
    }
    (Rule::StreamRace, vec![])
}

/// A wait of the later stream that was meant to give the order.
fn event(pair: &Pair<'_>, log: &Log, first_use: bool) -> Option<Verdict> {
    let stream = pair.later.stream?;
    let earlier = pair.clash.earlier;
    for wait in log.waits(stream, pair.operation) {
        let Some(record) = wait.record else {
            if !first_use {
                continue;
            }
            let hint = "this event was never recorded: the wait passes at once".to_owned();
            return Some((Rule::WaitUnrecorded, vec![(wait.site, hint)]));
        };
        let records: Vec<_> = log.records(wait.event, pair.operation).collect();
        let meant = records.iter().find(|other| other.operation == record)?;
        let covers = |other: &crate::log::Recorded| other.covers.get(earlier.strand) >= earlier.index;
        // An older record that would have been enough.
        if let Some(old) = records.iter().find(|old| old.operation < record && covers(old)) {
            let hints = vec![
                (old.site, "this record would cover it".to_owned()),
                (meant.site, "the event was recorded again here".to_owned()),
                (wait.site, "so this wait means the later record".to_owned()),
            ];
            return Some((Rule::EventRerecorded, hints));
        }
        let early = meant.strand == earlier.strand && meant.index < earlier.index;
        // A later record of the same event would have been enough: then the wait came too soon.
        let again = records.iter().find(|later| later.operation > record && covers(later));
        if early && again.is_none() {
            let hints = vec![
                (meant.site, "recorded here, it covers only what was submitted before".to_owned()),
                (wait.site, "this wait ends with that record".to_owned()),
            ];
            return Some((Rule::EventRecordedEarly, hints));
        }
    }
    None
}

/// The wait that looks as if it protected the buffer.
fn covering_wait(pair: &Pair<'_>, log: &Log) -> Vec<(Site, String)> {
    let Some(stream) = pair.later.stream else { return vec![] };
    let wait = log.waits(stream, pair.operation).next();
    let hint =
        |wait: &Waited| (wait.site, "the event that is waited for here does not cover the reader".to_owned());
    wait.map(hint).into_iter().collect()
}
