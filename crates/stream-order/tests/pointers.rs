//! Pointers that were handed to kernels of which nobody has the code: what they say against other operations.

use standstill_findings::Severity;
use standstill_stream_order::{Check, Place, Places, findings};
use standstill_trace::{Access, Call, Mode, Record, Site, StreamKind, Work};

struct Nowhere;

impl Places for Nowhere {
    fn place(&self, _: Site) -> Option<Place> {
        None
    }

    fn readable(&self, symbol: &str) -> String {
        symbol.to_owned()
    }
}

const AT: u64 = 0x1000;

fn bytes(mode: Mode, exact: bool, address: u64, width: u64) -> Access {
    Access { exact, ..Access::bytes(mode, address, width) }
}

/// Two kernels on two streams that nothing orders: how bad that is, whichever comes first.
#[track_caller]
fn check(one: Access, other: Access, expected: Option<Severity>) {
    for pair in [[one, other], [other, one]] {
        let mut check = Check::default();
        for (stream, access) in (1..).zip(pair) {
            let create = Call::CreateStream { stream, kind: StreamKind::NonBlocking };
            let work = Work::Kernel { name: format!("k{stream}"), accesses: Some(vec![access]) };
            for call in [create, Call::Submit { operation: stream, stream, work }] {
                check.take(&Record { thread: 0, site: stream as Site, call });
            }
        }
        let found = findings(&check.finish().0, &Nowhere);
        assert_eq!(found.first().map(|finding| finding.severity), expected, "{pair:?}");
    }
}

#[test]
fn a_pointer_to_what_another_writes_is_a_warning() {
    let writes = bytes(Mode::Write, true, AT, 64);
    for mode in [Mode::May, Mode::MayRead, Mode::MayWrite] {
        check(bytes(mode, true, AT, 1), writes, Some(Severity::Warning));
        check(bytes(mode, true, AT + 63, 1), writes, Some(Severity::Warning));
        check(bytes(mode, true, AT + 64, 1), writes, None);
        // What lies around the place that it points at.
        check(bytes(mode, false, AT + 1, 100), writes, Some(Severity::Note));
    }
    check(bytes(Mode::Read, true, AT, 4), writes, Some(Severity::Error));
}

#[test]
fn pointers_to_what_others_read_say_nothing() {
    let reads = bytes(Mode::Read, true, AT, 64);
    let at = |mode| bytes(mode, true, AT, 1);
    check(at(Mode::May), reads, None);
    check(at(Mode::MayRead), reads, None);
    check(at(Mode::MayWrite), reads, Some(Severity::Note));
    check(bytes(Mode::MayWrite, false, AT, 8), reads, None);
}

#[test]
fn two_pointers_say_something_only_where_one_is_for_results() {
    let at = |mode| bytes(mode, true, AT, 1);
    check(at(Mode::May), at(Mode::May), None);
    check(at(Mode::MayRead), at(Mode::MayRead), None);
    check(at(Mode::May), at(Mode::MayWrite), None);
    check(at(Mode::MayRead), at(Mode::MayWrite), Some(Severity::Note));
    check(at(Mode::MayWrite), at(Mode::MayWrite), Some(Severity::Note));
}
