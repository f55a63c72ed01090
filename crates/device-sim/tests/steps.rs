//! Loops of integers that go by equal steps: whether they ever meet their end is decided by arithmetic.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]

mod common;

use common::{Case, finish};
use standstill_device_sim::Progress;
use standstill_findings::Rule;

/// Runs a loop whose exit test is on line 5 and that is behind `L`.
fn check(start: &str, turn: &str, never: bool) {
    let body = format!(
        "mov.u32 %r2, %tid.x; cvt.u64.u32 %d2, %r2; cvt.u16.u32 %h2, %r2; mov.u32 %r9, 0; {start}\nL: add.u32 %r9, %r9, 1; {turn}\n#5 @%p1 bra L;\nst.global.u32 [%d0], %r9; ret;"
    );
    let case = Case::new(&body);
    let mut grid = case.grid(case.request(1, 32));
    let end = finish(&mut grid);
    if !never {
        assert_eq!(end, Progress::Finished, "{turn}");
        return;
    }
    assert_eq!(end, Progress::Parked, "{turn}");
    let finding = grid.standstill(None).unwrap().finding;
    assert_eq!((finding.rule, finding.primary_span().unwrap().line), (Rule::NonTerminatingLoop, 5), "{turn}");
}

#[test]
fn a_step_that_misses_the_end_misses_it_for_ever() {
    let odd = "mad.lo.u32 %r1, %r2, 2, 1;";
    check(odd, "add.u32 %r1, %r1, 2; setp.ne.u32 %p1, %r1, 256;", true);
    check(odd, "sub.u32 %r1, %r1, 6; setp.ne.s32 %p1, 100, %r1;", true);
    // The end is a value that stays, the step is one too, and the copy that is tested is made after.
    check(
        odd,
        "add.u32 %r3, %r1, %r30; mov.u32 %r1, %r3; add.u32 %r4, %r1, 8; setp.ne.u32 %p1, %r4, %r31;",
        true,
    );
    // Two steps in a turn, one of them now and then.
    check(
        odd,
        "add.u32 %r1, %r1, 4; and.b32 %r5, %r9, 8; setp.eq.u32 %p2, %r5, 0; @%p2 bra M; add.u32 %r1, %r1, 2; M: setp.ne.u32 %p1, %r1, 64;",
        true,
    );
    check("mad.lo.u64 %d1, %d2, 16, 3;", "add.s64 %d1, %d1, 16; setp.ne.s64 %p1, %d1, 4096;", true);
    check("mad.lo.u16 %h1, %h2, 2, 1;", "add.s16 %h1, %h1, 2; setp.ne.s16 %p1, %h1, 10;", true);
    // Eight bits of it.
    check(odd, "add.u32 %r1, %r1, 2; and.b32 %r3, %r1, 255; setp.ne.u32 %p1, %r3, 4;", true);
    // Past the last value by an order: even numbers are never above the last but one.
    check("shl.b32 %r1, %r2, 1;", "add.u32 %r1, %r1, 2; setp.lt.u32 %p1, %r1, 0xffffffff;", true);
}

#[test]
fn a_step_that_meets_the_end_after_wrapping_around_ends() {
    // Thread 0 goes from 0x10000001 in sixteen steps once around.
    check("mov.u32 %r1, 1;", "add.u32 %r1, %r1, 0x10000000; setp.ne.u32 %p1, %r1, 1;", false);
    check("mov.u16 %h1, 7;", "add.s16 %h1, %h1, 2; setp.ne.s16 %p1, %h1, 5;", false);
    check(
        "mov.u32 %r1, 250;",
        "add.u32 %r1, %r1, 3; and.b32 %r3, %r1, 255; setp.ne.u32 %p1, %r3, 249;",
        false,
    );
    check("mov.u32 %r1, 1;", "add.u32 %r1, %r1, 0x10000; setp.lt.u32 %p1, %r1, 0xffff0001;", false);
    // Something else leaves it, long after arithmetic could have spoken.
    check(
        "mov.u32 %r1, 1;",
        "add.u32 %r1, %r1, 2; setp.eq.u32 %p2, %r9, 20000; @%p2 bra E; setp.ne.u32 %p1, %r1, 256;\n@%p1 bra L;\nE: setp.ne.u32 %p1, 0, 0;",
        false,
    );
}
