//! Several contexts, and values that streams wait for.

use standstill_findings::Rule;
use standstill_stream_order::Check;
use standstill_trace::{
    Access, Allocation, Call, Copied, Memory, Mode, Record, Site, StreamKind, Target, Until, Work,
};

const BUFFER: u64 = 0x1000;
const FLAG: u64 = 0x2000;

fn kernel(operation: u64, stream: u64, mode: Mode) -> Call {
    let accesses = Some(vec![Access::bytes(mode, BUFFER, 64)]);
    Call::Submit { operation, stream, work: Work::Kernel { name: "k".to_owned(), accesses } }
}

fn stream(stream: u64, kind: StreamKind) -> Call {
    Call::CreateStream { stream, kind }
}

#[track_caller]
fn check(calls: Vec<Call>, expected: &[Rule]) {
    let mut check = Check::default();
    for (call, site) in calls.into_iter().zip(1..) {
        check.take(&Record { thread: 0, site: site as Site, call });
    }
    let rules: Vec<Rule> = check.finish().0.iter().map(|conflict| conflict.rule).collect();
    assert_eq!(rules, expected);
}

/// Work of the first context's default stream, and of a stream of another context that blocks with its own.
fn in_contexts(between: Vec<Call>, kind: StreamKind, context: u32) -> Vec<Call> {
    let mut calls = vec![stream(1, kind)];
    if context > 0 {
        calls.push(Call::InContext { stream: 1, context });
    }
    calls.push(kernel(1, 0, Mode::Write));
    calls.extend(between);
    calls.push(kernel(2, 1, Mode::Read));
    calls
}

#[test]
fn the_default_stream_of_one_context_is_not_that_of_another() {
    check(in_contexts(vec![], StreamKind::Blocking, 0), &[]);
    check(in_contexts(vec![], StreamKind::Blocking, 1), &[Rule::DefaultStream]);
    check(in_contexts(vec![], StreamKind::Legacy, 1), &[Rule::DefaultStream]);
}

#[test]
fn waiting_for_a_context_is_for_its_own_work() {
    let synchronise = |target| vec![Call::Synchronise(target)];
    let of = |target| in_contexts(synchronise(target), StreamKind::Blocking, 1);
    check(of(Target::Device), &[]);
    check(of(Target::Context(1)), &[Rule::DefaultStream]);
    check(of(Target::Context(2)), &[Rule::DefaultStream]);
}

#[test]
fn giving_memory_back_waits_for_the_context_that_it_is_of() {
    let free = |context: Option<u32>| {
        let address = 0x8000;
        let mut calls = vec![Call::Allocate { address, bytes: 64, kind: Allocation::Device }];
        calls.extend(context.map(|context| Call::MemoryInContext { address, context }));
        calls.push(Call::Free { address });
        in_contexts(calls, StreamKind::Blocking, 1)
    };
    check(free(None), &[]);
    check(free(Some(1)), &[Rule::DefaultStream]);
}

/// A producer and a consumer, and what stands behind the one and before the other.
fn by_value(behind: Option<Work>, before: Option<Work>) -> Vec<Call> {
    let mut calls = vec![stream(1, StreamKind::NonBlocking), stream(2, StreamKind::NonBlocking)];
    calls.push(kernel(1, 1, Mode::Write));
    calls.extend(behind.map(|work| Call::Submit { operation: 2, stream: 1, work }));
    calls.extend(before.map(|work| Call::Submit { operation: 3, stream: 2, work }));
    calls.push(kernel(4, 2, Mode::Read));
    calls
}

fn write(value: u64, fenced: bool) -> Option<Work> {
    Some(Work::WriteValue { address: FLAG, value, fenced })
}

fn wait(address: u64, until: Until, value: u64) -> Option<Work> {
    Some(Work::WaitValue { address, value, until, bytes: 4 })
}

#[test]
fn a_value_that_is_written_and_waited_for_is_order() {
    check(by_value(None, None), &[Rule::StreamRace]);
    check(by_value(write(1, true), None), &[Rule::StreamRace]);
    check(by_value(write(1, true), wait(FLAG, Until::AtLeast, 1)), &[]);
    check(by_value(write(1, true), wait(FLAG, Until::Equal, 1)), &[]);
    check(by_value(write(0x1_0000_0001, true), wait(FLAG, Until::Equal, 1)), &[]);
    // The first value that is enough does not cover what comes behind it.
    let mut calls = by_value(None, wait(FLAG, Until::AtLeast, 1));
    for (number, value) in [(5, 1), (6, 2)] {
        let work = Work::WriteValue { address: FLAG, value, fenced: true };
        let at = if value == 1 { 2 } else { 4 };
        calls.insert(at, Call::Submit { operation: number, stream: 1, work });
    }
    check(calls, &[Rule::StreamRace]);
}

#[test]
fn nodes_of_graphs_write_and_wait_for_values() {
    let node = |operation, stream, launch, after, work: Option<Work>| Call::SubmitNode {
        operation,
        stream,
        work: work.unwrap_or(Work::Order),
        launch,
        after: vec![after],
    };
    let graphs = |written: Option<Work>, waited: Option<Work>| {
        let mut calls = vec![stream(1, StreamKind::NonBlocking), stream(2, StreamKind::NonBlocking)];
        calls.extend([
            kernel(1, 1, Mode::Write),
            Call::LaunchGraph { operation: 2, stream: 1, graph: 1 },
            node(3, 1, 2, 2, written),
            Call::EndGraph { operation: 4, stream: 1, launch: 2, last: vec![3] },
            Call::LaunchGraph { operation: 5, stream: 2, graph: 2 },
            node(6, 2, 5, 5, waited),
            Call::EndGraph { operation: 7, stream: 2, launch: 5, last: vec![6] },
            kernel(8, 2, Mode::Read),
        ]);
        calls
    };
    check(graphs(None, None), &[Rule::StreamRace]);
    check(graphs(write(1, true), None), &[Rule::StreamRace]);
    check(graphs(write(1, true), wait(FLAG, Until::AtLeast, 1)), &[]);
    // Something unseen may end it.
    check(graphs(None, wait(FLAG, Until::AtLeast, 1)), &[]);
}

#[test]
fn nothing_is_said_behind_a_wait_that_something_unseen_ends() {
    // The host, a kernel, or a write that comes later.
    check(by_value(None, wait(FLAG, Until::AtLeast, 1)), &[]);
    check(by_value(write(1, true), wait(FLAG, Until::AtLeast, 2)), &[]);
    check(by_value(write(1, true), wait(FLAG + 4, Until::AtLeast, 1)), &[]);
    // A write without a fence says nothing of what comes before it.
    check(by_value(write(1, false), wait(FLAG, Until::AtLeast, 1)), &[]);
    // Until the host has waited for the stream.
    let mut calls = by_value(None, wait(FLAG, Until::AtLeast, 1));
    calls.insert(4, Call::Synchronise(Target::Stream(2)));
    calls.insert(5, kernel(5, 1, Mode::Write));
    check(calls, &[Rule::StreamRace]);
}

#[test]
fn values_are_compared_as_the_driver_does() {
    let check = |until: Until, there: u64, value: u64, bytes: u8, expected: bool| {
        assert_eq!(until.is_met(there, value, bytes), expected, "{until:?} {there} {value}");
    };
    check(Until::AtLeast, 0, u64::from(u32::MAX), 4, true);
    check(Until::AtLeast, 0, u64::from(u32::MAX), 8, false);
    check(Until::AtLeast, 3, 4, 8, false);
    check(Until::Equal, 1 << 32, 0, 4, true);
    check(Until::And, 6, 2, 4, true);
    check(Until::And, 4, 2, 4, false);
    check(Until::Nor, u64::from(u32::MAX), 0, 4, false);
    check(Until::Nor, 0, 1, 4, true);
}

#[test]
fn copies_beside_a_host_that_is_not_seen_are_counted() {
    let count = |told: Option<Call>, asynchronous, to| {
        let accesses = vec![Access::bytes(Mode::Read, 0x1000, 8), Access::bytes(Mode::Write, 0x2000, 8)];
        let work = Work::Copy { copied: Copied { asynchronous, from: Memory::Device, to }, accesses };
        let mut check = Check::default();
        for call in told.into_iter().chain([Call::Submit { operation: 1, stream: 0, work }]) {
            check.take(&Record { thread: 0, site: 3, call });
        }
        let coverage = check.finish().1;
        (coverage.beside_unseen, coverage.beside_unseen_at)
    };
    assert_eq!(count(None, true, Memory::Pinned), (0, None));
    assert_eq!(count(Some(Call::HostNotSeen), true, Memory::Pinned), (1, Some(3)));
    assert_eq!(count(Some(Call::HostNotSeen), false, Memory::Pinned), (0, None));
    assert_eq!(count(Some(Call::HostNotSeen), true, Memory::Device), (0, None));
}
