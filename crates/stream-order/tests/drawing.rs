//! What is drawn of a trace: lanes, calls, arrows.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fmt::Write;

use standstill_stream_order::{Check, Drawing, Place, Places};
use standstill_trace::{Access, Allocation, Call, Mode, Record, Site, StreamKind, Target, Work};

struct Lines;

impl Places for Lines {
    fn place(&self, site: Site) -> Option<Place> {
        (site > 0).then(|| Place { file: "a.cu".to_owned(), line: site })
    }

    fn readable(&self, symbol: &str) -> String {
        symbol.to_owned()
    }
}

/// Draws the calls, and compares each step as `lane: label` and each arrow as `from -> to` or `from ?? to`.
#[track_caller]
fn check(calls: Vec<Call>, expected: &str) {
    let records: Vec<Record> =
        (1..).zip(calls).map(|(site, call)| Record { thread: 0, site, call }).collect();
    let mut check = Check::default();
    records.iter().for_each(|record| check.take(record));
    let (conflicts, _) = check.finish();
    let mut drawing = Drawing::new(&conflicts, &Lines);
    records.iter().for_each(|record| drawing.take(record));
    let timeline = drawing.finish("t");
    let mut out = String::new();
    for (number, step) in timeline.steps.iter().enumerate() {
        let lane = step.lane.map_or("", |lane| timeline.lanes[lane].name.as_str());
        writeln!(out, "{number} {lane}: {}", step.label).unwrap();
    }
    for arrow in &timeline.arrows {
        let sign = if arrow.missing.is_some() { "??" } else { "->" };
        writeln!(out, "{} {sign} {}", arrow.from, arrow.to).unwrap();
    }
    assert_eq!(out.trim(), expected.trim_start().replace("\n    ", "\n").trim());
}

fn stream(stream: u64, kind: StreamKind) -> Call {
    Call::CreateStream { stream, kind }
}

fn kernel(operation: u64, stream: u64, name: &str, mode: Mode) -> Call {
    let accesses = Some(vec![Access::bytes(mode, 0x1000, 64)]);
    Call::Submit { operation, stream, work: Work::Kernel { name: name.to_owned(), accesses } }
}

fn two_streams() -> Vec<Call> {
    vec![
        stream(1, StreamKind::NonBlocking),
        stream(2, StreamKind::NonBlocking),
        Call::Allocate { address: 0x1000, bytes: 64, kind: Allocation::Device },
    ]
}

#[test]
fn an_event_is_an_arrow_and_a_missing_one_a_question() {
    let ordered = [
        kernel(1, 1, "produce", Mode::Write),
        Call::RecordEvent { operation: 2, stream: 1, event: 1 },
        Call::WaitEvent { operation: 3, stream: 2, event: 1 },
        kernel(4, 2, "consume", Mode::Read),
        Call::Synchronise(Target::Device),
    ];
    let steps = "
    0 host thread 0: allocate
    1 stream 1: produce
    2 stream 1: record e1
    3 stream 2: wait e1
    4 stream 2: consume
    5 host thread 0: synchronise
    2 -> 3
    2 -> 5
    4 -> 5";
    check([two_streams(), ordered.to_vec()].concat(), steps);
    let unordered = [kernel(1, 1, "produce", Mode::Write), kernel(2, 2, "consume", Mode::Read)];
    let steps = "
    0 host thread 0: allocate
    1 stream 1: produce
    2 stream 2: consume
    1 ?? 2";
    check([two_streams(), unordered.to_vec()].concat(), steps);
}

#[test]
fn the_default_stream_is_joined_both_ways_by_blocking_streams_only() {
    let calls = vec![
        stream(1, StreamKind::Blocking),
        stream(2, StreamKind::NonBlocking),
        kernel(1, 1, "a", Mode::Read),
        kernel(2, 2, "b", Mode::Read),
        kernel(3, 0, "c", Mode::Read),
        kernel(4, 0, "d", Mode::Read),
        kernel(5, 1, "e", Mode::Read),
    ];
    let steps = "
    0 stream 1: a
    1 stream 2: b
    2 default stream: c
    3 default stream: d
    4 stream 1: e
    0 -> 2
    3 -> 4";
    check(calls, steps);
}

#[test]
fn what_is_far_from_the_fault_is_left_out() {
    let mut calls = two_streams();
    calls.push(kernel(1, 1, "produce", Mode::Write));
    calls.extend((2..100).map(|operation| Call::RecordEvent { operation, stream: 1, event: 9 }));
    calls.push(kernel(100, 2, "consume", Mode::Read));
    let records: Vec<Record> =
        (1..).zip(calls).map(|(site, call)| Record { thread: 0, site, call }).collect();
    let mut check = Check::default();
    records.iter().for_each(|record| check.take(record));
    let (conflicts, _) = check.finish();
    let mut drawing = Drawing::new(&conflicts, &Lines);
    records.iter().for_each(|record| drawing.take(record));
    let timeline = drawing.finish("t");
    let gap = timeline.steps.iter().find(|step| step.lane.is_none()).unwrap();
    assert_eq!(gap.detail, "51 calls are left out");
    let lost = timeline.arrows.iter().find(|arrow| arrow.missing.is_some()).unwrap();
    assert_eq!(timeline.steps[lost.from].label, "produce");
    assert_eq!(timeline.steps[lost.to].label, "consume");
}
