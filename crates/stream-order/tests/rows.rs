//! Copies of many rows: which bytes count as touched.

use standstill_stream_order::{Certainty, Check};
use standstill_trace::{Access, Call, Mode, Record, StreamKind, Work};

/// Two fills on two streams without order: how many bytes clash, and whether that is exact.
#[track_caller]
fn check(first: (u64, u64, u64, u64), second: (u64, u64, u64, u64), expected: Option<(u64, bool)>) {
    let mut check = Check::default();
    let mut take = |call| check.take(&Record { thread: 0, site: 0, call });
    for (stream, (address, width, rows, pitch)) in [(1, first), (2, second)] {
        take(Call::CreateStream { stream, kind: StreamKind::NonBlocking });
        let access = Access { address, width, rows, pitch, mode: Mode::Write, exact: true };
        let work = Work::Fill { done: false, accesses: vec![access] };
        take(Call::Submit { operation: stream, stream, work });
    }
    let (conflicts, _) = check.finish();
    assert_eq!(
        conflicts.first().map(|conflict| (conflict.bytes, conflict.certainty == Certainty::Known)),
        expected
    );
}

#[test]
fn rows_touch_their_bytes_and_not_what_lies_between() {
    check((0x1000, 16, 4, 64), (0x1010, 16, 4, 64), None);
    check((0x1000, 16, 4, 64), (0x1000, 16, 4, 64), Some((64, true)));
    check((0x1000, 16, 4, 64), (0x100f, 16, 4, 64), Some((4, true)));
}

#[test]
fn rows_without_gaps_are_one() {
    check((0x1000, 64, 1 << 40, 64), (0x1000, 8, 1, 8), Some((8, true)));
    check((0x1000, 64, 1 << 40, 64), (0x800, 8, 1, 8), None);
}

#[test]
fn very_many_rows_count_with_what_lies_between() {
    check((0x1000, 16, u64::MAX, 64), (0x1010, 8, 1, 8), Some((8, false)));
    check((0x1000, 16, 1 << 20, u64::MAX), (0x1010, 8, 1, 8), Some((8, false)));
}
