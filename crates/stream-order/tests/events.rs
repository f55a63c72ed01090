//! Which rule is named when a stream has waited for an event without a record.

use standstill_findings::Rule;
use standstill_stream_order::Check;
use standstill_trace::{Access, Call, Mode, Record, Site, StreamKind, Work};

const PRODUCER: u64 = 1;
const CONSUMER: u64 = 2;

fn kernel(operation: u64, stream: u64, mode: Mode) -> Call {
    let accesses = Some(vec![Access::bytes(mode, 0x1000, 64)]);
    Call::Submit { operation, stream, work: Work::Kernel { name: "k".to_owned(), accesses } }
}

fn record(operation: u64, stream: u64, event: u64) -> Call {
    Call::RecordEvent { operation, stream, event }
}

fn wait(operation: u64, stream: u64, event: u64) -> Call {
    Call::WaitEvent { operation, stream, event }
}

#[track_caller]
fn check(calls: Vec<Call>, expected: &[Rule]) {
    let mut check = Check::default();
    let streams =
        [PRODUCER, CONSUMER].map(|stream| Call::CreateStream { stream, kind: StreamKind::NonBlocking });
    for (call, site) in streams.into_iter().chain(calls).zip(1..) {
        check.take(&Record { thread: 0, site: site as Site, call });
    }
    let rules: Vec<Rule> = check.finish().0.iter().map(|conflict| conflict.rule).collect();
    assert_eq!(rules, expected);
}

#[test]
fn a_wait_for_an_event_without_a_record_is_named_only_where_it_was_meant() {
    let (writes, reads) = (kernel(1, PRODUCER, Mode::Write), kernel(3, CONSUMER, Mode::Read));
    let pair = |before: Vec<Call>, after: Vec<Call>| {
        let mut calls = vec![writes.clone()];
        calls.extend(before);
        calls.push(reads.clone());
        calls.extend(after);
        calls
    };
    let waits = || vec![wait(2, CONSUMER, 7)];
    // Never recorded, or behind the producer and too late.
    check(pair(waits(), vec![]), &[Rule::WaitUnrecorded]);
    check(pair(waits(), vec![record(4, PRODUCER, 7)]), &[Rule::WaitUnrecorded]);
    // The event says that a slot is free again: it is recorded behind the consumer, and the first wait passes at once.
    check(pair(waits(), vec![record(4, CONSUMER, 7)]), &[Rule::StreamRace]);
    check(pair(vec![], vec![]), &[Rule::StreamRace]);
}
