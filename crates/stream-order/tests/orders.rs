//! Random programs of operations on up to four streams, against a judge that tries every order that CUDA's
//! documentation allows.
//!
//! `PROPTEST_CASES=100000 cargo test --release -p standstill-stream-order --test orders` runs the long form.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use standstill_stream_order::Check;
use standstill_trace::{Access, Call, Mode, Record, StreamKind, Target, Work};

/// The legacy default stream, a blocking one and two that are not.
const KINDS: [StreamKind; 4] =
    [StreamKind::Legacy, StreamKind::Blocking, StreamKind::NonBlocking, StreamKind::NonBlocking];

#[derive(Debug, Clone, Copy)]
enum Step {
    /// A kernel in a stream touches some of eight bytes.
    Kernel {
        stream: u64,
        from: u64,
        width: u64,
        mode: Mode,
    },
    Record {
        stream: u64,
        event: u64,
    },
    Wait {
        stream: u64,
        event: u64,
    },
    SynchroniseStream(u64),
    SynchroniseEvent(u64),
    SynchroniseDevice,
    Host {
        from: u64,
        width: u64,
        mode: Mode,
    },
    /// A graph of a fork and a join, launched in a stream: two branches that each touch one byte, and an end.
    Graph {
        stream: u64,
        graph: u64,
        left: u64,
        right: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let mode = || prop_oneof![3 => Just(Mode::Read), 3 => Just(Mode::Write), 1 => Just(Mode::Update)];
    let host = || prop_oneof![Just(Mode::Read), Just(Mode::Write)];
    let stream = || 0..4u64;
    let event = || 0..2u64;
    prop_oneof![
        8 => (stream(), 0..8u64, 1..5u64, mode())
            .prop_map(|(stream, from, width, mode)| Step::Kernel { stream, from, width, mode }),
        3 => (stream(), event()).prop_map(|(stream, event)| Step::Record { stream, event }),
        3 => (stream(), event()).prop_map(|(stream, event)| Step::Wait { stream, event }),
        1 => stream().prop_map(Step::SynchroniseStream),
        1 => event().prop_map(Step::SynchroniseEvent),
        1 => Just(Step::SynchroniseDevice),
        2 => (0..8u64, 1..5u64, host()).prop_map(|(from, width, mode)| Step::Host { from, width, mode }),
        1 => (stream(), 0..2u64, 0..8u64, 0..8u64)
            .prop_map(|(stream, graph, left, right)| Step::Graph { stream, graph, left, right }),
    ]
}

/// What the judge knows of something that happens: what it touches, and what must be over before it begins.
#[derive(Debug, Clone, Default)]
struct Happening {
    access: Option<(std::ops::Range<u64>, Mode)>,
    after: BTreeSet<usize>,
}

/// Writes down happenings with the order that each sentence of the documentation gives, and nothing else.
#[derive(Default)]
struct Judge {
    all: Vec<Happening>,
    /// All happenings of each stream.
    streams: BTreeMap<u64, Vec<usize>>,
    /// What the host has waited for, and its own accesses.
    host: BTreeSet<usize>,
    /// What an event's most recent record stands behind.
    events: BTreeMap<u64, BTreeSet<usize>>,
    /// Where launches of an executable graph end.
    graphs: BTreeMap<u64, usize>,
}

impl Judge {
    /// All that the stream's next operation must wait for.
    fn before(&self, stream: u64) -> BTreeSet<usize> {
        let kind = KINDS[stream as usize];
        let mut before: BTreeSet<usize> = self.host.clone();
        for (other, work) in &self.streams {
            let pair = (kind, KINDS[*other as usize]);
            let ordered = *other == stream
                || matches!(
                    pair,
                    (StreamKind::Legacy, StreamKind::Blocking) | (StreamKind::Blocking, StreamKind::Legacy)
                );
            if ordered {
                before.extend(work);
            }
        }
        before
    }

    fn add(
        &mut self,
        stream: u64,
        access: Option<(std::ops::Range<u64>, Mode)>,
        more: &BTreeSet<usize>,
    ) -> usize {
        let after = self.before(stream).union(more).copied().collect();
        self.all.push(Happening { access, after });
        let number = self.all.len() - 1;
        self.streams.entry(stream).or_default().push(number);
        number
    }

    fn step(&mut self, step: Step) {
        let none = BTreeSet::new();
        match step {
            Step::Kernel { stream, from, width, mode } => {
                self.add(stream, Some((from..from + width, mode)), &none);
            }
            Step::Record { stream, event } => {
                let record = self.add(stream, None, &none);
                self.events.insert(event, BTreeSet::from([record]));
            }
            Step::Wait { stream, event } => {
                let record = self.events.get(&event).cloned().unwrap_or_default();
                self.add(stream, None, &record);
            }
            Step::SynchroniseStream(stream) => self.host.extend(self.before(stream)),
            Step::SynchroniseEvent(event) => {
                self.host.extend(self.events.get(&event).into_iter().flatten());
            }
            Step::SynchroniseDevice => self.host.extend(0..self.all.len()),
            Step::Host { from, width, mode } => {
                self.all
                    .push(Happening { access: Some((from..from + width, mode)), after: self.host.clone() });
                self.host.insert(self.all.len() - 1);
            }
            Step::Graph { stream, graph, left, right } => {
                let earlier = self.graphs.get(&graph).copied().into_iter().collect();
                let start = self.add(stream, None, &earlier);
                let mut branches = BTreeSet::new();
                for byte in [left, right] {
                    let access = Some((byte..byte + 1, Mode::Write));
                    self.all.push(Happening { access, after: BTreeSet::from([start]) });
                    branches.insert(self.all.len() - 1);
                }
                let end = self.add(stream, None, &branches);
                self.graphs.insert(graph, end);
            }
        }
    }

    /// Pairs that touch the same bytes and that some allowed order runs one way and another the other way.
    fn races(&self) -> BTreeSet<(usize, usize)> {
        // Every set of happenings that can be over at once, found by running every order.
        let count = self.all.len();
        let after: Vec<u64> =
            self.all.iter().map(|happening| happening.after.iter().fold(0, |set, n| set | 1 << n)).collect();
        let mut follows = vec![0u64; count];
        let mut seen = BTreeSet::from([0u64]);
        let mut open = vec![0u64];
        while let Some(done) = open.pop() {
            for next in (0..count).filter(|next| done & 1 << next == 0 && after[*next] & !done == 0) {
                follows[next] |= done;
                if seen.insert(done | 1 << next) {
                    open.push(done | 1 << next);
                }
            }
        }
        let mut races = BTreeSet::new();
        for b in 0..count {
            for a in 0..b {
                let (Some((left, one)), Some((right, other))) = (&self.all[a].access, &self.all[b].access)
                else {
                    continue;
                };
                let overlap = left.start < right.end && right.start < left.end;
                let agree = one == other && *one != Mode::Write;
                let both_ways = follows[b] & 1 << a != 0 && follows[a] & 1 << b != 0;
                if overlap && !agree && both_ways {
                    races.insert((a, b));
                }
            }
        }
        races
    }
}

/// The records of a program; sites and operations count as the judge's happenings do, from 1.
fn records(steps: &[Step]) -> Vec<Call> {
    let mut calls: Vec<Call> =
        (0..).zip(KINDS).map(|(stream, kind)| Call::CreateStream { stream, kind }).collect();
    let mut next = 0u64;
    let mut number = || {
        next += 1;
        next
    };
    for step in steps {
        match *step {
            Step::Kernel { stream, from, width, mode } => {
                let accesses = Some(vec![Access::bytes(mode, from, width)]);
                let work = Work::Kernel { name: "k".into(), accesses };
                calls.push(Call::Submit { operation: number(), stream, work });
            }
            Step::Record { stream, event } => {
                calls.push(Call::RecordEvent { operation: number(), stream, event });
            }
            Step::Wait { stream, event } => {
                calls.push(Call::WaitEvent { operation: number(), stream, event })
            }
            Step::SynchroniseStream(stream) => calls.push(Call::Synchronise(Target::Stream(stream))),
            Step::SynchroniseEvent(event) => calls.push(Call::Synchronise(Target::Event(event))),
            Step::SynchroniseDevice => calls.push(Call::Synchronise(Target::Device)),
            Step::Host { from, width, mode } => {
                number();
                calls.push(Call::HostAccess(Access::bytes(mode, from, width)));
            }
            Step::Graph { stream, graph, left, right } => {
                let launch = number();
                calls.push(Call::LaunchGraph { operation: launch, stream, graph });
                let mut last = Vec::new();
                for byte in [left, right] {
                    let accesses = Some(vec![Access::bytes(Mode::Write, byte, 1)]);
                    let work = Work::Kernel { name: "n".into(), accesses };
                    let operation = number();
                    calls.push(Call::SubmitNode { operation, stream, work, launch, after: vec![launch] });
                    last.push(operation);
                }
                calls.push(Call::EndGraph { operation: number(), stream, launch, last });
            }
        }
    }
    calls
}

/// The site of each call: the number of the happening that it makes, from 1.
fn with_sites(calls: Vec<Call>) -> Vec<Record> {
    let mut site = 0;
    calls
        .into_iter()
        .map(|call| {
            let makes = matches!(
                call,
                Call::Submit { .. }
                    | Call::RecordEvent { .. }
                    | Call::WaitEvent { .. }
                    | Call::HostAccess(_)
                    | Call::LaunchGraph { .. }
                    | Call::SubmitNode { .. }
                    | Call::EndGraph { .. }
            );
            site += u32::from(makes);
            Record { thread: 0, site, call }
        })
        .collect()
}

proptest! {
    #[test]
    fn the_checker_agrees_with_trying_every_order(steps in proptest::collection::vec(step(), 1..14)) {
        let mut judge = Judge::default();
        for step in &steps {
            judge.step(*step);
        }
        prop_assume!(judge.all.len() <= 24);
        let races = judge.races();
        let mut check = Check::default();
        for record in with_sites(records(&steps)) {
            check.take(&record);
        }
        let (conflicts, _) = check.finish();
        let found: BTreeSet<(usize, usize)> = conflicts
            .iter()
            .map(|conflict| (conflict.earlier.0.site as usize - 1, conflict.later.0.site as usize - 1))
            .collect();
        prop_assert!(found.is_subset(&races), "false: {:?} of {races:?}", found.difference(&races));
        // Of each byte only the last write is kept: the first of a byte's races is found, and so is every
        // operation that first races.
        let first = |pairs: &BTreeSet<(usize, usize)>| pairs.iter().map(|pair| pair.1).min();
        prop_assert_eq!(first(&found), first(&races), "{:?} of {:?}", found, races);
    }
}
