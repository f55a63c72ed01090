//! Threads that go round without end although memory changes, and threads that only look as if they did.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]

mod common;

use common::{Case, finish};
use standstill_device_sim::{Progress, Schedule};

/// Runs until the grid stands, and compares «rule line known: sentence».
fn circles(body: &str, blocks: u32, threads: u32, expected: &str) {
    let case = Case::new(body);
    let mut grid = case.grid(case.request(blocks, threads));
    assert_eq!(finish(&mut grid), Progress::Parked);
    assert_eq!(finish(&mut grid), Progress::Parked, "asked again");
    let finding = grid.standstill(None).unwrap().finding;
    let line = finding.primary_span().unwrap().line;
    let sentence = finding.waits.clone().unwrap().sentence;
    assert_eq!(format!("{:?} {line} {}: {sentence}", finding.rule, finding.known.word()), expected);
}

#[test]
fn one_thread_comes_back_to_what_memory_was() {
    circles(
        "mov.u32 %r1, 0;
         L:
         #10 ld.global.u32 %r2, [%d0];
         xor.b32 %r2, %r2, 1;
         #11 st.global.u32 [%d0], %r2;
         add.u32 %r1, %r1, 1;
         #12 setp.ne.u32 %p1, %r2, 7; @%p1 bra L;
         st.global.u32 [%d0], %r1; ret;",
        1,
        1,
        "NonTerminatingLoop 12 observed: thread 0 of block 0 goes round the loop on line 12 without end: registers \
         and `*p0` come back to what they were",
    );
}

const TO_AND_FRO: &str = "
    mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; setp.ne.u32 %p1, %r2, 0; @%p1 bra E;
    setp.ge.u32 %p2, %r1, 32; @%p2 bra B;
    A:
    mov.u32 %r4, 1;
    #10 atom.global.cas.b32 %r3, [%d0], 0, %r4;
    #10 setp.ne.u32 %p3, %r3, 3; @%p3 bra A;
    bra E;
    B:
    mov.u32 %r4, 0;
    #20 atom.global.cas.b32 %r3, [%d0], 1, %r4;
    #20 setp.ne.u32 %p3, %r3, 3; @%p3 bra B;
    E: ret;";

#[test]
fn two_warps_hand_a_value_to_and_fro() {
    circles(
        TO_AND_FRO,
        1,
        64,
        "WaitCycle 10 observed: thread 0 of block 0 and thread 32 of block 0 go round without end: registers and \
         `*p0` come back to what they were, after each of them has run; no order of their turns leads out of the 2 \
         states that they come to",
    );
}

#[test]
fn a_write_from_outside_ends_it() {
    let case = Case::new(TO_AND_FRO);
    let mut grid = case.grid(case.request(1, 64));
    assert_eq!(finish(&mut grid), Progress::Parked);
    assert!(grid.standstill(Some("somebody may write")).unwrap().finding.known.word() == "possible");
    case.device.memory().write(case.buffer, &3u32.to_le_bytes()).unwrap();
    assert_eq!(finish(&mut grid), Progress::Finished);
    assert!(grid.livelocks().is_empty());
}

#[test]
fn threads_that_are_held_up_hide_no_ring() {
    // A ring of three records, which one thread follows and another one writes anew.
    let ring = "
        mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; mov.u32 %r2, 0; mov.u32 %r6, 0; @%p1 bra W;
        L:
        #10 ld.relaxed.gpu.global.u32 %r3, [%d0]; add.u32 %r4, %r2, 1; setp.eq.u32 %p2, %r4, 3; selp.b32 %r2, 0, %r4, %p2;
        #10 setp.ne.u32 %p3, %r3, 9; @%p3 bra L;
        bra E;
        W:
        xor.b32 %r6, %r6, 1;
        #20 st.relaxed.gpu.global.u32 [%d0], %r6;
        #20 ld.relaxed.gpu.global.u32 %r7, [%d0]; setp.ne.u32 %p4, %r7, 9; @%p4 bra W;
        E: ret;";
    is_found(ring, 1, 2, false);
}

#[test]
fn values_that_are_overwritten_hide_no_hand_over() {
    is_found(TO_AND_FRO, 1, 64, true);
}

/// Where loads see older values, or threads are held up.
fn is_found(body: &str, blocks: u32, threads: u32, stale: bool) {
    let case = Case::new(body);
    case.device.memory().fill(case.buffer, &[0], 64).unwrap();
    let mut request = case.request(blocks, threads);
    (request.races, request.stale) = (stale, stale);
    if !stale {
        request.schedule = Schedule::Adversarial(Default::default());
    }
    let mut grid = case.grid(request);
    assert_eq!(finish(&mut grid), Progress::Parked);
    let finding = grid.standstill(None).unwrap().finding;
    assert!(matches!(finding.rule.name(), "wait-cycle" | "non-terminating-loop"), "{finding:?}");
    assert_eq!(finding.known.word(), "observed");
}

#[test]
fn two_blocks_pass_the_turn_without_end() {
    circles(
        "mov.u32 %r1, %ctaid.x; mov.u32 %r6, 1; sub.u32 %r2, %r6, %r1;
         L:
         #10 atom.global.add.u32 %r3, [%d0+4], 0;
         #10 setp.ne.u32 %p1, %r3, 0; @%p1 bra E;
         W:
         #11 atom.global.add.u32 %r4, [%d0], 0;
         #11 setp.ne.u32 %p2, %r4, %r1; @%p2 bra W;
         #12 atom.global.exch.b32 %r5, [%d0], %r2;
         bra L;
         E: ret;",
        2,
        1,
        "WaitCycle 11 observed: thread 0 of block 0 and thread 0 of block 1 go round without end: registers and \
         `*p0` come back to what they were, after each of them has run; no order of their turns leads out of the 12 \
         states that they come to",
    );
}

#[test]
fn lanes_in_step_take_and_give_back() {
    // Each lane takes the lock at its own place, fails at that of the other, and gives back.
    circles(
        "mov.u32 %r1, %tid.x; xor.b32 %r2, %r1, 1;
         mul.wide.u32 %d1, %r1, 4; add.s64 %d1, %d0, %d1; mul.wide.u32 %d2, %r2, 4; add.s64 %d2, %d0, %d2;
         L:
         #10 atom.global.cas.b32 %r3, [%d1], 0, 1;
         setp.ne.u32 %p1, %r3, 0; @%p1 bra L;
         #12 atom.global.cas.b32 %r4, [%d2], 0, 1;
         setp.eq.u32 %p2, %r4, 0; @%p2 bra E;
         #14 atom.global.exch.b32 %r5, [%d1], 0;
         bra L;
         E: ret;",
        1,
        2,
        "WaitCycle 12 observed: threads 0–1 of block 0 go round without end: registers and `*p0`, `p0[1]` come back \
         to what they were, after each of them has run; the lanes of a warp go in step",
    );
}

#[test]
fn neighbours_swap_between_barriers() {
    circles(
        "mov.u32 %r1, %tid.x; xor.b32 %r2, %r1, 1; mul.wide.u32 %d1, %r1, 4; add.s64 %d1, %d0, %d1;
         mul.wide.u32 %d2, %r2, 4; add.s64 %d2, %d0, %d2; st.global.u32 [%d1], %r1;
         L:
         bar.sync 0;
         #11 ld.global.u32 %r3, [%d2]; ld.global.u32 %r4, [%d1];
         bar.sync 0;
         #13 st.global.u32 [%d1], %r3;
         #14 setp.ne.u32 %p1, %r3, %r4; @%p1 bra L;
         ret;",
        1,
        128,
        "NonTerminatingLoop 14 observed: threads 0–127 of block 0 go round the loop on line 14 without end: registers \
         and `*p0`, `p0[1]`, `p0[2]`, `p0[3]` and other memory come back to what they were, after each of them has \
         run; nothing that they do depends on the order of their turns",
    );
}

/// Two warps that enter when the other does not want to, and step back when it does.
const AFTER_YOU: &str = "
    mov.u32 %r1, %tid.x; shr.u32 %r1, %r1, 5; xor.b32 %r2, %r1, 1;
    mul.wide.u32 %d1, %r1, 4; add.s64 %d1, %d0, %d1; mul.wide.u32 %d2, %r2, 4; add.s64 %d2, %d0, %d2;
    L:
    #10 atom.global.exch.b32 %r3, [%d1], 1;
    nanosleep.u32 100;
    #12 atom.global.add.u32 %r4, [%d2], 0;
    setp.eq.u32 %p1, %r4, 0; @%p1 bra E;
    nanosleep.u32 100;
    #15 atom.global.exch.b32 %r3, [%d1], 0;
    nanosleep.u32 100;
    bra L;
    E:
    #18 atom.global.exch.b32 %r3, [%d1], 0;
    ret;";

#[test]
fn equal_turns_alone_keep_threads_from_going_on() {
    let case = Case::new(AFTER_YOU);
    let mut grid = case.grid(case.request(1, 64));
    assert_eq!(finish(&mut grid), Progress::Finished, "another order ends it");
    let found = grid.livelocks();
    let [finding] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(
        (finding.primary_span().unwrap().line, finding.known.word(), finding.message.as_str()),
        (12, "possible", "threads that take equal turns keep each other from going on")
    );
}

#[test]
fn nothing_is_said_when_chance_decides_the_turns() {
    let case = Case::new(AFTER_YOU);
    let mut request = case.request(1, 64);
    request.schedule = Schedule::Random;
    let mut grid = case.grid(request);
    assert_eq!(finish(&mut grid), Progress::Finished);
    assert!(grid.livelocks().is_empty());
}

#[test]
fn a_count_that_somebody_reads_is_no_repetition() {
    // The first warp tries and gives back until the second one, which counts to half a million, lets it in.
    let case = Case::new(
        "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 32; @%p1 bra COUNT;
         L:
         atom.global.exch.b32 %r3, [%d0], 1;
         atom.global.exch.b32 %r3, [%d0], 0;
         ld.volatile.global.u32 %r4, [%d0+4];
         setp.eq.u32 %p2, %r4, 0; @%p2 bra L;
         ret;
         COUNT:
         mov.u32 %r5, 0;
         C:
         add.u32 %r5, %r5, 1;
         ld.volatile.global.u32 %r6, [%d0];
         setp.lt.u32 %p3, %r5, 500000; @%p3 bra C;
         st.volatile.global.u32 [%d0+4], 1;
         ret;",
    );
    let mut grid = case.grid(case.request(1, 64));
    assert_eq!(finish(&mut grid), Progress::Finished);
    assert!(grid.livelocks().is_empty());
}
