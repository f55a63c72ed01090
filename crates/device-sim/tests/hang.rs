//! Grids that stand, and grids that only look as if they did.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]

mod common;

use common::{Case, finish};
use standstill_device_sim::{LaunchRequest, Progress, Schedule};

/// Runs until the grid stands, under several schedules, and compares «rule line: sentence».
fn stands(case: &Case, make: impl Fn() -> LaunchRequest, expected: &str) {
    for seed in 0..4 {
        case.device.memory().fill(case.buffer, &[0], 4 * common::WORDS as u64).unwrap();
        let mut request = make();
        request.seed = seed;
        if seed > 0 {
            request.schedule = Schedule::Random;
        }
        let mut grid = case.grid(request);
        assert_eq!(finish(&mut grid), Progress::Parked, "seed {seed}");
        let finding = grid.standstill(None).unwrap().finding;
        let line = finding.primary_span().unwrap().line;
        let sentence = finding.waits.clone().unwrap().sentence;
        assert_eq!(format!("{:?} {line}: {sentence}", finding.rule), expected, "seed {seed}");
    }
}

fn check(body: &str, blocks: u32, threads: u32, expected: &str) {
    let case = Case::new(body);
    stands(&case, || case.request(blocks, threads), expected);
}

#[test]
fn half_of_a_block_waits_for_the_other() {
    check(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.x; setp.ge.u32 %p1, %r1, 128; @%p1 bra SPIN;
         #10 bar.sync 0;
         #11 setp.ne.u32 %p2, %r1, 0; @%p2 bra END;
         #12 st.volatile.global.u32 [%d0], 1;
         bra END;
         SPIN:
         #15 ld.volatile.global.u32 %r3, [%d0];
         #16 setp.eq.u32 %p3, %r3, 0; @%p3 bra SPIN;
         END: ret;",
        1,
        256,
        "WaitCycle 15: threads 0–127 of block 0 wait at the barrier on line 10 for threads 128–255, which spin on \
         `*p0` (line 15); only thread 0 of block 0 writes `*p0`, on line 12, after that barrier",
    );
}

#[test]
fn blocks_wait_for_each_other() {
    check(
        "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra END; mov.u32 %r2, %ctaid.x;
         mul.wide.u32 %d1, %r2, 4; add.s64 %d1, %d0, %d1; xor.b32 %r3, %r2, 1; mul.wide.u32 %d2, %r3, 4;
         add.s64 %d2, %d0, %d2;
         L:
         #18 ld.volatile.global.u32 %r4, [%d2];
         #18 setp.eq.u32 %p2, %r4, 0; @%p2 bra L;
         #26 atom.global.exch.b32 %r5, [%d1], 1;
         END: ret;",
        2,
        32,
        "WaitCycle 18: thread 0 of block 0 spins on `p0[1]` (line 18); only thread 0 of block 1 writes `p0[1]`, on \
         line 26, after its own wait: spins on `*p0` (line 18)",
    );
}

#[test]
fn nobody_writes() {
    check(
        "mov.u32 %r9, 0;
         L: add.u32 %r9, %r9, 1; nanosleep.u32 %r9;
         #7 ld.relaxed.gpu.global.u32 %r4, [%d0+4];
         setp.eq.u32 %p2, %r4, 0; @%p2 bra L;
         st.global.u32 [%d0], %r9;
         ret;",
        3,
        1,
        "WaitCycle 7: thread 0 of blocks 0–2 spin on `p0[1]` (line 7), which nobody writes any more",
    );
}

const GRID_BARRIER: &str = "
    mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; mov.u32 %r7, %nctaid.x; @%p1 bra M;
    #12 atom.global.add.u32 %r2, [%d0], 1;
    L:
    #14 ld.volatile.global.u32 %r4, [%d0];
    setp.lt.u32 %p2, %r4, %r7; @%p2 bra L;
    M: bar.sync 0; ret;";

#[test]
fn one_block_over_capacity() {
    for (gpu, capacity) in [("t4", 160), ("h200", 1056)] {
        let case = Case::on(gpu, GRID_BARRIER);
        assert_eq!(case.run(capacity, 256), Progress::Finished);
        let last = capacity - 1;
        let expected = format!(
            "GridResidency 14: blocks 0–{last} hold every slot of the {gpu} and spin on `*p0` (line 14) for block \
             {capacity}, which has no slot until one of them ends; block {capacity} would write it on line 12"
        );
        let mut grid = {
            case.device.memory().fill(case.buffer, &[0], 4).unwrap();
            case.grid(case.request(capacity + 1, 256))
        };
        let start = std::time::Instant::now();
        assert_eq!(finish(&mut grid), Progress::Parked);
        let finding = grid.standstill(None).unwrap().finding;
        println!("{gpu}: {:?}", start.elapsed());
        let line = finding.primary_span().unwrap().line;
        assert_eq!(format!("{:?} {line}: {}", finding.rule, finding.waits.unwrap().sentence), expected);
    }
}

#[test]
fn counted_barriers_wait_for_the_exited() {
    check(
        "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 96; @%p1 bra E;
         #20 barrier.sync 1, 256;
         E: ret;",
        1,
        256,
        "BarrierCount 20: threads 0–95 of block 0 wait at barrier 1 on line 20 for 256 arrivals, of which 96 came; \
         no other thread can arrive there any more; threads 96–255 of block 0 have ended, and a counted barrier \
         waits for them all the same",
    );
}

#[test]
fn barriers_of_all_threads_do_not() {
    let case = Case::new("mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 100; @%p1 bra E; bar.sync 0; E: ret;");
    assert_eq!(case.run(2, 256), Progress::Finished);
}

#[test]
fn lanes_that_do_not_come() {
    check(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.x; setp.ge.u32 %p1, %r1, 16; @%p1 bra E;
         #17 shfl.sync.down.b32 %r2, %r2, 8, 31, -1;
         E:
         #21 bar.sync 0;
         ret;",
        1,
        32,
        "WarpMask 17: threads 0–15 of block 0 wait at the warp operation on line 17 for threads 16–31, which wait \
         at the barrier on line 21",
    );
}

#[test]
fn a_float_that_stops_growing() {
    // From 2^24 on, adding one changes nothing; a counter runs beside it.
    check(
        "mov.f32 %f1, 0f4B7FFF00; mov.u32 %r9, 0; st.global.f32 [%d0], 0f3F800000;
         L:
         #17 ld.global.f32 %f2, [%d0]; add.f32 %f1, %f1, %f2; add.u32 %r9, %r9, 1;
         #18 setp.neu.f32 %p1, %f1, 0f4C000000; @%p1 bra L;
         st.global.u32 [%d0], %r9; ret;",
        1,
        64,
        "NonTerminatingLoop 18: threads 0–63 of block 0 go in the loop on line 18 without end: a turn comes back to \
         the same values and reads `*p0`, which nobody changes any more",
    );
}

#[test]
fn loops_without_exit() {
    check(
        "#3 mov.u32 %r1, 0;
         L:
         #4 add.u32 %r1, %r1, 1; bra L;",
        1,
        32,
        "NonTerminatingLoop 4: threads 0–31 of block 0 go in the loop on line 4 without end: a turn comes back to \
         the same values and reads nothing that others could change",
    );
}

#[test]
fn mbarriers_that_miss_arrivals() {
    check(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, tile; setp.ne.u32 %p1, %r1, 0; @%p1 bra A;
         mbarrier.init.shared.b64 [%r2], 256;
         A: bar.sync 0; setp.ge.u32 %p2, %r1, 128; @%p2 bra W;
         #25 mbarrier.arrive.shared.b64 %d3, [%r2];
         W:
         #27 mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0;
         @!%p3 bra W; ret;",
        1,
        256,
        "BarrierCount 27: threads 0–255 of block 0 wait on line 27 for the mbarrier `tile[0]`, which still misses \
         128 of 256 arrivals",
    );
}

#[test]
fn locks_between_lanes_complete() {
    // Every lane takes the lock in a loop and releases it behind the loop: right from sm_70 on.
    let case = Case::new(
        "L: atom.global.cas.b32 %r1, [%d0], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;
         ld.volatile.global.u32 %r2, [%d0+4]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%d0+4], %r2;
         membar.gl; atom.global.exch.b32 %r3, [%d0], 0; ret;",
    );
    case.gives(2, 48, &[0, 96]);
}

#[test]
fn a_late_release_is_no_hang() {
    // Thread 0 of block 1 counts for long before it sets the flag.
    let case = Case::new(
        "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 1; @%p1 bra SET;
         L: ld.volatile.global.u32 %r2, [%d0]; setp.eq.u32 %p2, %r2, 0; @%p2 bra L;
         st.global.u32 [%d0+4], %r2; ret;
         SET: mov.u32 %r3, 0;
         C: add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 300000; @%p3 bra C;
         st.volatile.global.u32 [%d0], 5; ret;",
    );
    case.gives(2, 1, &[5, 5]);
}

#[test]
fn waiting_for_time_ends() {
    let case = Case::new(
        "mov.u64 %d1, %clock64;
         L: ld.volatile.global.u32 %r2, [%d0]; mov.u64 %d2, %clock64; sub.s64 %d3, %d2, %d1;
         setp.gt.u64 %p1, %d3, 2000000000; @%p1 bra E; setp.eq.u32 %p2, %r2, 0; @%p2 bra L;
         E: st.global.u32 [%d0+4], 9; ret;",
    );
    case.gives(2, 32, &[0, 9]);
}

#[test]
fn outside_may_still_write() {
    let case = Case::new(
        "L: ld.volatile.global.u32 %r2, [%d0]; setp.eq.u32 %p2, %r2, 0; @%p2 bra L;
         st.global.u32 [%d0+4], %r2; ret;",
    );
    let mut grid = case.grid(case.request(1, 32));
    assert_eq!(finish(&mut grid), Progress::Parked);
    assert_eq!(finish(&mut grid), Progress::Parked);
    case.device.memory().write(case.buffer, &7u32.to_le_bytes()).unwrap();
    assert_eq!(finish(&mut grid), Progress::Finished);
    assert_eq!(case.words(2), [7, 7]);
}

#[test]
fn a_block_that_polls_together() {
    // Thread 0 reads the flag, all threads hear of it at the barrier.
    check(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r9, 0;
         L: add.u32 %r9, %r9, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra M;
         #9 ld.relaxed.gpu.global.u32 %r4, [%d0]; st.shared.u32 [%r2], %r4;
         M:
         #11 bar.sync 0;
         ld.shared.u32 %r5, [%r2]; bar.sync 0;
         #12 setp.eq.u32 %p2, %r5, 0; @%p2 bra L; st.global.u32 [%d0+4], %r9; ret;",
        2,
        64,
        "WaitCycle 9: threads 0–63 of blocks 0–1 spin on `*p0` (line 9), which nobody writes any more",
    );
    // With somebody who releases it, it ends.
    let case = Case::new(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r9, %ctaid.x; setp.eq.u32 %p4, %r9, 1; @%p4 bra SET;
         L: setp.ne.u32 %p1, %r1, 0; @%p1 bra M;
         ld.relaxed.gpu.global.u32 %r4, [%d0]; st.shared.u32 [%r2], %r4;
         M: bar.sync 0; ld.shared.u32 %r5, [%r2]; bar.sync 0; setp.eq.u32 %p2, %r5, 0; @%p2 bra L;
         st.global.u32 [%d0+4], %r5; ret;
         SET: mov.u32 %r3, 0; C: add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 100000; @%p3 bra C;
         st.relaxed.gpu.global.u32 [%d0], 6; ret;",
    );
    case.gives(2, 64, &[6, 6]);
}

#[test]
fn warps_in_one_long_loop_are_decided_once() {
    // Eight warps add the same tenth; from 2097152 on it is lost.
    let case = Case::new(
        "mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; add.s64 %d2, %d0, %d1; mov.f32 %f1, 0f49F00000;
         L: ld.global.f32 %f2, [%d2];
         #5 add.f32 %f1, %f1, %f2;
         #6 setp.neu.f32 %p1, %f1, 0f3F800000; @%p1 bra L; ret;",
    );
    case.device.memory().fill(case.buffer, &0.1f32.to_le_bytes(), 1024).unwrap();
    let mut grid = case.grid(case.request(1, 256));
    assert_eq!(finish(&mut grid), Progress::Parked);
    let lanes = grid.statistics().lane_instructions;
    // One warp goes all the way, the others a small part of it.
    assert!(lanes < 2 * 32 * 4 * 1_500_000, "{lanes}");
    let standstill = grid.standstill(None).unwrap();
    assert_eq!(standstill.threads, 256);
    assert_eq!(standstill.finding.rule, standstill_findings::Rule::NonTerminatingLoop);
}

#[test]
fn a_clock_that_does_not_help_is_possible_at_most() {
    // The time is only kept in mind, and compared with a limit that it never reaches.
    let case = Case::new(
        "mov.u64 %d1, %clock64;
         L:
         #4 mov.u64 %d2, %clock64; sub.s64 %d3, %d2, %d1; setp.lt.u64 %p1, %d3, -1;
         ld.volatile.global.u32 %r1, [%d0]; setp.eq.u32 %p2, %r1, 0; and.pred %p3, %p1, %p2; @%p3 bra L; ret;",
    );
    let mut grid = case.grid(case.request(1, 32));
    assert_eq!(finish(&mut grid), Progress::Parked);
    let finding = grid.standstill(None).unwrap().finding;
    assert!(matches!(finding.known, standstill_findings::Known::Possible { .. }));
}
