//! Orders of threads, and values that loads may still see: what must show, and what must never.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod common;

use std::collections::BTreeSet;
use std::sync::Arc;

use common::{Case, finish};
use standstill_device_sim::{LaunchRequest, Progress, Schedule};

const SEEDS: u64 = 60;

fn schedules() -> [Schedule; 4] {
    [Schedule::RoundRobin, Schedule::Random, Schedule::Pct, Schedule::Adversarial(Arc::default())]
}

/// The buffer's first words after runs of two blocks of one warp, by the schedule and its seed.
fn outcomes(body: &str, words: usize, change: impl Fn(&mut LaunchRequest)) -> Vec<BTreeSet<Vec<u32>>> {
    let case = Case::new(body);
    let run = |schedule: Schedule, seed: u64| {
        case.device.memory().fill(case.buffer, &[0], 4096).unwrap();
        let mut request = case.request(2, 32);
        (request.schedule, request.seed) = (schedule, seed);
        change(&mut request);
        assert_eq!(finish(&mut case.grid(request)), Progress::Finished);
        case.words(words)
    };
    let mut all = vec![BTreeSet::new(); schedules().len()];
    for seed in 0..SEEDS {
        for (schedule, seen) in schedules().into_iter().zip(&mut all) {
            seen.insert(run(schedule, seed));
        }
    }
    all
}

fn stale(request: &mut LaunchRequest) {
    (request.races, request.stale) = (true, true);
}

/// `%p1` in block 0, `%p2` in the first thread of each block, `%d1` to `%d4` words that lie apart.
const START: &str = "
    mov.u32 %r8, %ctaid.x; setp.eq.u32 %p1, %r8, 0; mov.u32 %r2, %tid.x; setp.ne.u32 %p2, %r2, 0;
    @%p2 bra END; add.u64 %d1, %d0, 64; add.u64 %d2, %d0, 128; mul.wide.u32 %d3, %r8, 4; add.u64 %d3, %d0, %d3;\n";

/// Block 0 writes a payload and a flag; block 1 waits for the flag and stores the payload in word 1.
fn message(release: &str, acquire: &str) -> String {
    format!(
        "{START}@%p1 bra WRITE;
        WAIT: ld.relaxed.gpu.u32 %r1, [%d2]; setp.eq.u32 %p3, %r1, 0; @%p3 bra WAIT;
        {acquire} ld.global.u32 %r3, [%d1]; st.global.u32 [%d3], %r3; bra END;
        WRITE: st.global.u32 [%d1], 7; {release} st.relaxed.gpu.u32 [%d2], 1;
        END: ret;"
    )
}

#[test]
fn a_missing_fence_shows_in_the_values() {
    for (release, acquire) in [("fence.acq_rel.gpu;", ""), ("", "fence.acq_rel.gpu;"), ("", "")] {
        for seen in outcomes(&message(release, acquire), 2, stale) {
            assert_eq!(seen, BTreeSet::from([vec![0, 0], vec![0, 7]]), "{release} {acquire}");
        }
    }
}

#[test]
fn what_happens_before_is_never_hidden() {
    let right = message("fence.acq_rel.gpu;", "fence.acq_rel.gpu;");
    for seen in outcomes(&right, 2, stale) {
        assert_eq!(seen, BTreeSet::from([vec![0, 7]]));
    }
    // Without the request every load sees the newest value.
    for seen in outcomes(&message("", ""), 2, |request| request.races = true) {
        assert_eq!(seen, BTreeSet::from([vec![0, 7]]));
    }
}

#[test]
fn a_thread_never_sees_a_location_go_back() {
    let body = format!(
        "{START}@%p1 bra WRITE;
        mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r6, 0;
        LOOK: ld.relaxed.gpu.u32 %r1, [%d1]; setp.lt.u32 %p3, %r1, %r4; @%p3 mov.u32 %r5, 1; mov.u32 %r4, %r1;
        add.u32 %r6, %r6, 1; setp.lt.u32 %p4, %r6, 40; @%p4 bra LOOK;
        st.global.u32 [%d3], %r5; bra END;
        WRITE: mov.u32 %r6, 0;
        NEXT: add.u32 %r6, %r6, 1; st.relaxed.gpu.u32 [%d1], %r6; setp.lt.u32 %p4, %r6, 40; @%p4 bra NEXT;
        END: ret;"
    );
    for seen in outcomes(&body, 2, stale) {
        assert_eq!(seen, BTreeSet::from([vec![0, 0]]));
    }
}

/// Each block writes its word and reads the other's: both may read the old value unless a fence is in between that is
/// sequentially consistent.
fn both_write_then_read(fence: &str) -> String {
    format!(
        "{START}@%p1 bra OTHER;
        st.relaxed.gpu.u32 [%d1], 1; {fence} ld.relaxed.gpu.u32 %r3, [%d2]; bra STORE;
        OTHER: st.relaxed.gpu.u32 [%d2], 1; {fence} ld.relaxed.gpu.u32 %r3, [%d1];
        STORE: add.u32 %r3, %r3, 1; st.global.u32 [%d3], %r3;
        END: ret;"
    )
}

#[test]
fn sequentially_consistent_fences_have_one_order() {
    let none = vec![1, 1];
    for seen in outcomes(&both_write_then_read("fence.sc.gpu;"), 2, stale) {
        assert!(!seen.contains(&none), "{seen:?}");
    }
    for weaker in ["", "fence.acq_rel.gpu;"] {
        let seen = outcomes(&both_write_then_read(weaker), 2, stale);
        assert!(seen.iter().any(|seen| seen.contains(&none)), "{weaker} {seen:?}");
    }
}

#[test]
fn an_update_is_lost_where_others_come_between() {
    // Each block adds one to the same word, by a load and a store.
    let body = format!(
        "{START}ld.relaxed.gpu.u32 %r3, [%d1]; add.u32 %r3, %r3, 1; st.relaxed.gpu.u32 [%d1], %r3;
        ld.relaxed.gpu.u32 %r4, [%d1]; st.global.u32 [%d3], %r4; END: ret;"
    );
    for (seen, schedule) in outcomes(&body, 2, |_| {}).into_iter().zip(["", "random", "pct", "adversarial"]) {
        let lost = seen.iter().any(|words| !words.contains(&2));
        assert_eq!(lost, !schedule.is_empty(), "{schedule} {seen:?}");
    }
}

#[test]
fn a_seed_decides_everything() {
    let case = Case::new(&message("", ""));
    for seed in 0..SEEDS {
        for index in 0..schedules().len() {
            let run = || {
                case.device.memory().fill(case.buffer, &[0], 4096).unwrap();
                let mut request = case.request(2, 32);
                request.schedule = schedules().into_iter().nth(index).unwrap();
                request.seed = seed;
                stale(&mut request);
                let mut grid = case.grid(request);
                finish(&mut grid);
                (case.words(2), format!("{:?}", grid.races()), grid.statistics())
            };
            assert_eq!(run(), run());
        }
    }
}

#[test]
fn a_rehearsal_names_the_places_where_threads_meet() {
    let case = Case::new(&message("fence.acq_rel.gpu;", "fence.acq_rel.gpu;"));
    let mut request = case.request(2, 32);
    request.races = true;
    let mut grid = case.grid(request);
    assert_eq!(finish(&mut grid), Progress::Finished);
    // The flag's load and store, and both fences; the payload is ordered.
    assert_eq!(grid.contended().len(), 4);
}

/// One warp makes values and the other takes them, four times, by two named barriers that count 64 threads. However
/// the lanes of a warp are held up at their accesses, they come to such a barrier together and count once.
#[test]
fn a_warp_comes_to_a_counted_barrier_together() {
    let body = "
        mov.u32 %r2, %tid.x; mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d0, %d1; mov.u32 %r4, 0; mov.u32 %r5, 0;
        setp.lt.u32 %p1, %r2, 32; @%p1 bra MAKE;
        TAKE: bar.arrive 2, 64; bar.sync 1, 64; ld.volatile.global.u32 %r3, [%d1+-128]; add.u32 %r5, %r5, %r3;
        add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 4; @%p2 bra TAKE; st.global.u32 [%d1], %r5; bra END;
        MAKE: bar.sync 2, 64; add.u32 %r4, %r4, 1; st.volatile.global.u32 [%d1], %r4; bar.arrive 1, 64;
        setp.lt.u32 %p2, %r4, 4; @%p2 bra MAKE;
        END: ret;";
    let expected = [vec![4; 32], vec![10; 32]].concat();
    for seen in outcomes(body, 64, |request| (request.grid, request.block) = ([1, 1, 1], [64, 1, 1])) {
        assert_eq!(seen, BTreeSet::from([expected.clone()]));
    }
}

/// One warp sets a flag for which the other one waits, and then both come to a barrier that counts 64 threads. Lanes
/// that were held up in the loop still come to it with those that have left the loop before them.
#[test]
fn lanes_that_wait_for_a_flag_come_to_a_counted_barrier_together() {
    let body = "
        mov.u32 %r2, %tid.x; mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d0, %d1;
        setp.lt.u32 %p1, %r2, 32; @%p1 bra SET;
        WAIT: atom.global.add.u32 %r3, [%d0+512], 0; setp.eq.u32 %p2, %r3, 0; @%p2 bra WAIT;
        bar.sync 1, 64; ld.global.u32 %r3, [%d1+-128]; st.global.u32 [%d1], %r3; bra END;
        SET: st.global.u32 [%d1], %r2; setp.ne.u32 %p3, %r2, 0; @%p3 bra MEET;
        atom.global.exch.b32 %r3, [%d0+512], 1;
        MEET: bar.sync 1, 64;
        END: ret;";
    let expected: Vec<u32> = (0..32).chain(0..32).collect();
    for seen in outcomes(body, 64, |request| (request.grid, request.block) = ([1, 1, 1], [64, 1, 1])) {
        assert_eq!(seen, BTreeSet::from([expected.clone()]));
    }
}

/// Two warps of the first block go from barrier to barrier, swapping values, until the second block sets a flag: it gets
/// its turn under every schedule, whatever its priority.
#[test]
fn threads_that_keep_each_other_going_hold_up_nobody_for_ever() {
    let body = "
        mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r5, tile; shl.b32 %r6, %r2, 2; add.u32 %r5, %r5, %r6;
        xor.b32 %r7, %r6, 128; mov.u32 %r8, tile; add.u32 %r7, %r8, %r7; mov.u32 %r4, %r2;
        setp.eq.u32 %p1, %r3, 1; @%p1 bra SET;
        LOOP: st.shared.u32 [%r5], %r4; bar.sync 0; ld.shared.u32 %r4, [%r7]; ld.volatile.global.u32 %r9, [%d0+512];
        setp.ne.u32 %p2, %r9, 0; bar.red.or.pred %p3, 0, %p2; @!%p3 bra LOOP;
        st.global.u32 [%d0], 1; bra END;
        SET: st.volatile.global.u32 [%d0+512], 1;
        END: ret;";
    for seen in outcomes(body, 1, |request| (request.grid, request.block) = ([2, 1, 1], [64, 1, 1])) {
        assert_eq!(seen, BTreeSet::from([vec![1]]));
    }
}

/// Cards move an aligned vector whole, and code relies on it: a value beside its flag, both stored at once.
#[test]
fn elements_of_a_strong_vector_stay_together() {
    let body = format!(
        "{START}mov.u32 %r4, 0; mov.u32 %r9, 0;\n@%p1 bra WRITE;\n\
         READ: ld.relaxed.gpu.global.v2.u32 {{%r5, %r6}}, [%d1]; sub.u32 %r7, %r5, %r6; or.b32 %r9, %r9, %r7;\n\
         add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 20; @%p3 bra READ; st.global.u32 [%d0], %r9; bra END;\n\
         WRITE: add.u32 %r4, %r4, 1; st.relaxed.gpu.global.v2.u32 [%d1], {{%r4, %r4}}; setp.lt.u32 %p3, %r4, 20;\n\
         @%p3 bra WRITE;\nEND: ret;"
    );
    let races = |request: &mut LaunchRequest| request.races = true;
    for seen in outcomes(&body, 1, races).into_iter().chain(outcomes(&body, 1, stale)) {
        assert_eq!(seen, BTreeSet::from([vec![0]]));
    }
}
