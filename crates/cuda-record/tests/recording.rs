//! Programs whose driver is a stand-in: every call arrives there, and the trace has what was asked.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod common;

use common::Place;
use standstill_trace::{Allocation, Call, Copied, Memory, Mode, Record, StreamKind, Target, Until, Work};

const SAID: &str = "first byte 7, future 4002, table 1\n";

/// Every call in a few words, without what names places.
fn told(records: &[Record]) -> Vec<String> {
    let memory = |records: &[Record]| {
        records.iter().find_map(|record| match record.call {
            Call::Allocate { address, kind: Allocation::Device, .. } => Some(address),
            _ => None,
        })
    };
    let buffer = memory(records).unwrap();
    let place = |address: u64| if address == buffer { "buffer" } else { "host" };
    let work = |work: &Work| match work {
        Work::Copy { copied: Copied { asynchronous: true, from, to }, accesses } => {
            let sides: Vec<String> = accesses
                .iter()
                .map(|access| format!("{:?} {} {}", access.mode, place(access.address), access.width))
                .collect();
            format!("copy {from:?} {to:?} {}", sides.join(", "))
        }
        Work::Fill { done: false, accesses } => {
            let access = accesses[0];
            assert_eq!(access.mode, Mode::Write);
            format!("fill {} {}", place(access.address), access.width)
        }
        Work::Launch { launch } => format!("launch {launch}"),
        other => format!("{other:?}"),
    };
    let mut lines = Vec::new();
    for record in records {
        lines.push(match &record.call {
            Call::NameSite { .. } | Call::NameObject { .. } | Call::HostNotSeen => continue,
            Call::CreateStream { stream, kind } => format!("stream {stream} {kind:?}"),
            Call::Submit { stream, work: what, .. } => format!("{stream}: {}", work(what)),
            Call::SubmitNode { stream, work: what, after, .. } => {
                format!("{stream}: node {} after {after:?}", work(what))
            }
            Call::NameLaunch { launch, shape } => {
                let (pointer, count) = shape.arguments.split_at(8);
                let pointer = u64::from_le_bytes(pointer.try_into().unwrap());
                format!("{launch} is {} {:?} {} {count:?}", shape.kernel, shape.block, place(pointer))
            }
            Call::NameKernel { kernel, name, parameters } => {
                format!("{kernel} is {name} {}", parameters.len())
            }
            Call::Allocate { bytes, kind, .. } => format!("allocate {bytes} {kind:?}"),
            Call::Free { address } => format!("free {}", place(*address)),
            Call::RecordEvent { stream, event, .. } => format!("{stream}: record {event}"),
            Call::WaitEvent { stream, event, .. } => format!("{stream}: wait {event}"),
            Call::Synchronise(Target::Event(event)) => format!("event {event} is done"),
            Call::Synchronise(Target::Stream(stream)) => format!("stream {stream} is done"),
            other => format!("{other:?}"),
        });
    }
    lines
}

fn expected() -> Vec<String> {
    let lines = format!(
        "allocate 4096 Device
         allocate 4096 Pinned
         stream 1 {:?}
         stream 2 {:?}
         1: copy {pinned:?} {device:?} Read host 4096, Write buffer 4096
         1 is fill_kernel 2
         1 is 1 [32, 1, 1] buffer [5, 0, 0, 0]
         1: launch 1
         1: launch 1
         1: record 1
         2: wait 1
         stream 3 PerThread
         3: copy {device:?} {pinned:?} Read buffer 100, Write host 100
         event 1 is done
         2 is 1 [32, 1, 1] buffer [6, 0, 0, 0]
         LaunchGraph {{ operation: 7, stream: 1, graph: 1 }}
         1: node fill buffer 64 after [7]
         1: node launch 2 after [8]
         EndGraph {{ operation: 10, stream: 1, launch: 7, last: [9] }}
         1: HostFunction {{ accesses: None }}
         Begin {{ operation: 11 }}
         CalledInHostFunction {{ function: \"cuEventQuery\" }}
         Reach {{ operation: 11, accesses: [] }}
         stream 1 is done
         DestroyStream {{ stream: 1 }}
         free buffer
         free host",
        StreamKind::NonBlocking,
        StreamKind::Blocking,
        pinned = Memory::Pinned,
        device = Memory::Device,
    );
    lines.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn calls_arrive_and_are_written_down_however_the_library_comes_in() {
    let place = Place::new();
    for variable in ["LD_LIBRARY_PATH", "LD_PRELOAD"] {
        let (status, text, traces) = place.run(variable, &[], true);
        assert!(status.success(), "{variable}: {status} {text}");
        assert_eq!(text, SAID);
        assert_eq!(traces.len(), 1);
        assert_eq!(told(&traces[0]), expected(), "{variable}");
    }
}

#[test]
fn without_a_wish_nothing_is_written() {
    let (status, text, traces) = Place::new().run("LD_LIBRARY_PATH", &[], false);
    assert!(status.success());
    assert_eq!((text.as_str(), traces.len()), (SAID, 0));
}

#[test]
fn a_killed_program_leaves_all_that_it_has_asked() {
    let (status, text, traces) = Place::new().run("LD_LIBRARY_PATH", &["killed"], true);
    assert!(!status.success());
    assert_eq!(text, SAID);
    assert_eq!(told(&traces[0]), expected());
}

#[test]
fn the_child_of_a_fork_has_a_trace_of_its_own() {
    let (status, _, traces) = Place::new().run("LD_LIBRARY_PATH", &["fork"], true);
    assert!(status.success());
    let mut lines: Vec<Vec<String>> = traces.iter().map(|trace| told(trace)).collect();
    lines.sort_by_key(Vec::len);
    assert_eq!(lines, [vec!["allocate 64 Device".to_owned()], expected()]);
}

#[test]
fn calls_have_the_places_that_they_stand_at() {
    let (_, _, traces) = Place::new().run("LD_LIBRARY_PATH", &[], true);
    let frames = |wanted: u32| {
        traces[0].iter().find_map(|record| match &record.call {
            Call::NameSite { site, frames } if *site == wanted => Some(frames.clone()),
            _ => None,
        })
    };
    let launches = traces[0]
        .iter()
        .filter(|record| matches!(record.call, Call::Submit { work: Work::Launch { .. }, .. }));
    let mut sites: Vec<u32> = launches.map(|record| record.site).collect();
    sites.dedup();
    // The loop launches from one place.
    assert_eq!(sites.len(), 1);
    if cfg!(target_arch = "x86_64") {
        let objects: Vec<String> = traces[0]
            .iter()
            .filter_map(|record| match &record.call {
                Call::NameObject { path, .. } => Some(path.clone()),
                _ => None,
            })
            .collect();
        let first = frames(sites[0]).unwrap()[0];
        assert!(objects[first.object as usize].ends_with("program"), "{objects:?}");
    }
}

/// What was asked, without what names places and kernels.
fn asked(records: &[Record]) -> Vec<Call> {
    let names =
        |call: &Call| matches!(call, Call::NameSite { .. } | Call::NameObject { .. } | Call::HostNotSeen);
    records.iter().map(|record| record.call.clone()).filter(|call| !names(call)).collect()
}

#[test]
fn contexts_have_streams_of_their_own() {
    let (status, _, traces) = Place::new().run("LD_LIBRARY_PATH", &["contexts"], true);
    assert!(status.success());
    let words = asked(&traces[0]).into_iter().map(|call| match call {
        Call::Allocate { .. } => "allocate".to_owned(),
        Call::MemoryInContext { context, .. } => format!("in {context}"),
        Call::CreateStream { stream, kind } => format!("stream {stream} {kind:?}"),
        Call::InContext { stream, context } => format!("{stream} in {context}"),
        Call::Submit { stream, .. } => format!("fill on {stream}"),
        other => format!("{other:?}"),
    });
    let expected = [
        "allocate",
        "fill on 0",
        "allocate",
        "in 1",
        "stream 1 Legacy",
        "1 in 1",
        "fill on 1",
        "stream 2 Blocking",
        "2 in 1",
        "Synchronise(Context(1))",
        "fill on 0",
        "Synchronise(Device)",
    ];
    assert_eq!(words.collect::<Vec<_>>(), expected);
}

#[test]
fn values_that_streams_write_and_wait_for_are_written_down() {
    let (status, _, traces) = Place::new().run("LD_LIBRARY_PATH", &["values"], true);
    assert!(status.success());
    let work = asked(&traces[0]).into_iter().filter_map(|call| match call {
        Call::Submit { work, .. } | Call::SubmitNode { work, .. } => Some(work),
        _ => None,
    });
    let write = |address, value, fenced| Work::WriteValue { address, value, fenced };
    let wait = |address, value, until, bytes| Work::WaitValue { address, value, until, bytes };
    let expected = [
        write(0x1000, 7, true),
        write(0x1000, 8, false),
        wait(0x1008, 9, Until::Equal, 8),
        wait(0x1000, 1, Until::AtLeast, 4),
        write(0x2000, 2, true),
        // By a graph.
        wait(0x1000, 1, Until::AtLeast, 4),
        write(0x2000, 2, true),
        wait(0x1000, 1, Until::AtLeast, 4),
        write(0x2000, 3, true),
    ];
    assert_eq!(work.collect::<Vec<_>>(), expected);
}
