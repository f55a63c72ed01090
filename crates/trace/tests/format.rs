//! What is written is read again; a cut leaves the whole records before it; no bytes make the reader panic.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use proptest::prelude::*;
use standstill_trace::{
    Access, Call, Caller, Copied, Damage, LaunchShape, Launched, Memory, Mode, ROOM, Reader, Record, Target,
    Work, Writer, put_call, put_copy, put_launch,
};

fn some() -> Vec<Record> {
    let call = [
        Call::NameObject { object: 1, path: "/bin/true".into() },
        Call::Synchronise(Target::Event(7)),
        Call::NameLaunch {
            launch: 1,
            shape: LaunchShape {
                kernel: 2,
                grid: [3, 2, 1],
                block: [32, 1, 1],
                cluster: [1; 3],
                dynamic_shared: 0,
                cooperative: true,
                arguments: (0..=255).collect(),
            },
        },
        Call::Submit {
            operation: 1,
            stream: 3,
            work: Work::Kernel {
                name: "scale".into(),
                accesses: Some(vec![Access::bytes(Mode::Write, 0x7f00_0000_0000, 4096)]),
            },
        },
    ];
    call.into_iter().zip(1..).map(|(call, site)| Record { thread: 0, site, call }).collect()
}

fn written(records: &[Record]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for record in records {
        writer.write(record).unwrap();
    }
    writer.into_inner()
}

#[test]
fn what_is_written_is_read_again() {
    let read: Vec<Record> =
        Reader::new(written(&some()).as_slice()).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(read, some());
}

#[test]
fn a_cut_leaves_the_whole_records_before_it() {
    let bytes = written(&some());
    for end in 12..bytes.len() {
        let mut reader = Reader::new(&bytes[..end]).unwrap();
        let whole: Vec<Record> = reader.by_ref().map_while(Result::ok).collect();
        assert_eq!(whole, some()[..whole.len()]);
        let again = Reader::new(&bytes[..end]).unwrap().last();
        let at_a_border = written(&some()[..whole.len()]).len() == end;
        assert_eq!(matches!(again, Some(Err(Damage::CutShort { .. }))), !at_a_border, "{end}");
    }
}

/// A source that gives few bytes at a time.
struct Slow<'a>(&'a [u8], usize);

impl std::io::Read for Slow<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = into.len().min(self.1).min(self.0.len());
        let (now, later) = self.0.split_at(count);
        into[..count].copy_from_slice(now);
        self.0 = later;
        Ok(count)
    }
}

#[test]
fn a_trace_is_read_in_pieces() {
    // Longer than what is held at a time, with a record that is, too.
    let long = Call::NameObject { object: 1, path: "x".repeat(600 << 10) };
    let long = Record { thread: 0, site: 0, call: long };
    let some = some();
    let records: Vec<Record> = (0..30_000).flat_map(|_| some.iter().take(3).cloned()).collect();
    let records = [records.clone(), vec![long], records].concat();
    let bytes = written(&records);
    let mut reader = Reader::new(Slow(&bytes, 5000)).unwrap();
    let mut again = Vec::new();
    for expected in &records {
        assert_eq!(reader.next().unwrap().unwrap(), *expected);
        again.extend_from_slice(reader.as_written());
    }
    assert!(reader.next().is_none());
    assert_eq!((reader.length(), again.as_slice()), (bytes.len(), &bytes[12..]));
    let mut reader = Reader::new(&bytes[..bytes.len() - 1]).unwrap();
    assert!(reader.by_ref().any(|record| record.is_err()));
    let (length, mut rest) = (reader.length(), Vec::new());
    reader.copy_rest(&mut rest).unwrap();
    assert_eq!(rest, bytes[length..bytes.len() - 1]);
}

#[test]
fn room_behind_the_records_is_no_record() {
    let bytes = written(&some());
    let length = bytes.len();
    let with_room = [bytes, vec![0; 100]].concat();
    let mut reader = Reader::new(with_room.as_slice()).unwrap();
    let read: Vec<Record> = reader.by_ref().collect::<Result<_, _>>().unwrap();
    assert_eq!((read, reader.length()), (some(), length));
}

#[test]
fn other_files_and_newer_traces_are_named() {
    assert_eq!(Reader::new(&b"\x7fELF and more bytes"[..]).unwrap_err(), Damage::NoTrace);
    assert_eq!(Reader::new(&b""[..]).unwrap_err(), Damage::NoTrace);
    let mut newer = written(&[]);
    newer[8] = 9;
    assert_eq!(Reader::new(newer.as_slice()).unwrap_err(), Damage::Newer { found: 9 });
}

proptest! {
    #[test]
    fn any_bytes_are_survived(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), whole in any::<bool>()) {
        if whole {
            bytes.splice(0..0, written(&some()));
        }
        if let Ok(reader) = Reader::new(bytes.as_slice()) {
            prop_assert!(reader.count() <= bytes.len());
        }
    }
}

#[test]
fn launches_are_written_as_all_records_are() {
    for (small, large) in [(0, 0), (1, 300), (127, 128), (u32::MAX, u64::MAX)] {
        let (from, launched) = (
            Caller { thread: small, site: small },
            Launched { operation: large, stream: large, launch: small },
        );
        let mut record = [0; ROOM];
        let end = put_launch(&mut record, from, launched);
        record[..4].copy_from_slice(&(end as u32 - 4).to_le_bytes());
        let mut plain = Writer::behind(Vec::new());
        let work = Work::Launch { launch: small };
        let call = Call::Submit { operation: large, stream: large, work };
        plain.write(&Record { thread: small, site: small, call }).unwrap();
        assert_eq!(record[..end], plain.into_inner());
    }
}

#[test]
fn what_is_written_quickly_is_written_as_all_records_are() {
    let copy = |accesses: usize| Work::Copy {
        copied: Copied { asynchronous: true, from: Memory::Pinned, to: Memory::Managed },
        accesses: vec![
            Access {
                rows: 3,
                pitch: 300,
                exact: false,
                ..Access::bytes(Mode::MayRead, u64::MAX, 5)
            };
            accesses
        ],
    };
    let (operation, stream, event) = (300, 2, 1);
    let submit = |work| Call::Submit { operation, stream, work };
    let fill = Work::Fill { done: true, accesses: vec![Access::bytes(Mode::Write, 7, 8)] };
    let quick = [
        Call::RecordEvent { operation, stream, event },
        Call::WaitEvent { operation, stream, event },
        Call::DestroyEvent { event },
        Call::Synchronise(Target::Stream(stream)),
        Call::Synchronise(Target::Event(event)),
        submit(copy(2)),
        submit(fill),
    ];
    let from = Caller { thread: 3, site: 1 << 20 };
    let mut record = [0; ROOM];
    for call in quick {
        let end = put_call(&mut record, from, &call).unwrap();
        record[..4].copy_from_slice(&(end as u32 - 4).to_le_bytes());
        let mut plain = Writer::behind(Vec::new());
        plain.write(&Record { thread: 3, site: 1 << 20, call }).unwrap();
        assert_eq!(record[..end], plain.into_inner());
    }
    let Work::Copy { copied, accesses } = copy(2) else { return };
    let end = put_copy(&mut record, from, (operation, stream), copied, &[accesses[0], accesses[1]]).unwrap();
    let call = submit(copy(2));
    let mut same = [0; ROOM];
    assert_eq!(put_call(&mut same, from, &call), Some(end));
    assert_eq!(record[4..end], same[4..end]);
    let others = [submit(copy(9)), Call::Synchronise(Target::Device), submit(Work::Order)];
    assert!(others.iter().all(|call| put_call(&mut record, from, call).is_none()));
}

#[test]
fn a_launch_is_another_with_other_words() {
    let shape = |arguments: &[u64], grid: u32| LaunchShape {
        kernel: 1,
        grid: [grid, 1, 1],
        block: [1; 3],
        cluster: [1; 3],
        dynamic_shared: 0,
        cooperative: false,
        arguments: arguments.iter().flat_map(|word| word.to_le_bytes()).collect(),
    };
    let (one, other) = (shape(&[1, 2, 3, 4], 1), shape(&[1, 7, 3, u64::MAX], 1));
    let words = other.differing_words(&one).unwrap();
    assert_eq!(words, [(1, 7), (3, u64::MAX)]);
    assert_eq!(one.with_words(&words), other);
    assert_eq!(shape(&[1, 2, 3, 4], 2).differing_words(&one), None);
    assert_eq!(shape(&[1, 2, 3], 1).differing_words(&one), None);
    // Words that are not there.
    assert_eq!(one.with_words(&[(4, 1), (u32::MAX, 1)]), one);
}
