//! Races and faults of memory order: what is found, and where.

mod common;

use common::{Case, finish};
use standstill_device_sim::Schedule;

/// Runs under several schedules; `expected` are the rule and the lines of the two accesses, empty for none.
fn check(body: &str, blocks: u32, threads: u32, expected: &[(&str, u32)]) {
    for seed in 0..6 {
        let case = Case::new(body);
        let mut request = case.request(blocks, threads);
        request.races = true;
        request.seed = seed;
        if seed > 0 {
            request.schedule = Schedule::Random;
        }
        let mut grid = case.grid(request);
        let end = finish(&mut grid);
        let found: Vec<(&str, u32)> = grid
            .races()
            .iter()
            .map(|finding| (finding.rule.name(), finding.primary_span().map_or(0, |span| span.line)))
            .collect();
        assert_eq!(found, expected, "seed {seed}, {end:?}");
    }
}

/// `%r2` is the thread, `%r5` its word in `tile`, `%r6` that of the thread 32 further (of 64), `%r7` that of its
/// neighbour in the warp.
const START: &str = "
    mov.u32 %r2, %tid.x; mov.u32 %r3, tile; shl.b32 %r4, %r2, 2; add.u32 %r5, %r3, %r4;
    xor.b32 %r6, %r4, 128; add.u32 %r6, %r3, %r6; xor.b32 %r7, %r4, 4; add.u32 %r7, %r3, %r7;
    mov.u32 %r8, %ctaid.x; setp.eq.u32 %p1, %r8, 0; setp.eq.u32 %p2, %r2, 0;\n";

fn shared(body: &str, expected: &[(&str, u32)]) {
    check(&format!("{START}{body}\nret;"), 1, 64, expected);
}

#[test]
fn a_barrier_orders_the_threads_of_a_block() {
    shared("st.shared.u32 [%r5], %r2; bar.sync 0; ld.shared.u32 %r1, [%r6];", &[]);
    shared("#7 st.shared.u32 [%r5], %r2;\n#8 ld.shared.u32 %r1, [%r5];", &[]);
}

#[test]
fn a_barrier_of_lanes_orders_them_only() {
    shared("st.shared.u32 [%r5], %r2; bar.warp.sync -1; ld.shared.u32 %r1, [%r7];", &[]);
    shared("#7 st.shared.u32 [%r5], %r2;\n#8 ld.shared.u32 %r1, [%r7];", &[("shared-race", 8)]);
}

#[test]
fn both_accesses_are_told_with_their_values() {
    let told = |body: &str| {
        let case = Case::new(&format!("{START}{body}\nret;"));
        let mut request = case.request(1, 64);
        request.races = true;
        let mut grid = case.grid(request);
        finish(&mut grid);
        let findings = grid.races();
        assert_eq!(findings.len(), 1);
        let labels: Vec<String> = findings[0].spans.iter().map(|span| span.label.clone()).collect();
        labels.join("; ").replace(" of block (0,0,0)", "")
    };
    let first = "mov.u32 %r1, 9; @%p2 st.shared.u32 [tile], %r1; bar.sync 0; setp.eq.u32 %p3, %r2, 32;";
    assert_eq!(
        told(&format!("{first}\n#7 @%p2 ld.shared.u32 %r1, [tile];\n#8 @%p3 st.shared.u32 [tile], %r2;")),
        "thread (32,0,0) writes 32 here, where 9 stands; thread (0,0,0) reads 9 here"
    );
    assert_eq!(
        told(&format!(
            "{first}\n#7 @%p2 st.shared.f32 [tile], 0f3FC00000;\n#8 @%p3 ld.shared.f32 %f1, [tile];"
        )),
        "thread (32,0,0) reads 1.5 here; thread (0,0,0) writes 1.5 here"
    );
    // Of another size the other value is not told.
    assert_eq!(
        told(&format!("{first}\n#7 @%p2 st.shared.u8 [tile], %r2;\n#8 @%p3 red.shared.add.u32 [tile], 5;")),
        "thread (32,0,0) writes 5 here, where 0 stands; thread (0,0,0) writes here"
    );
}

#[test]
fn bytes_beside_each_other_do_not_meet() {
    let address = "mov.u32 %r9, tile; add.u32 %r9, %r9, %r2;";
    shared(&format!("{address} st.shared.u8 [%r9], %r2; ld.shared.u8 %r1, [%r9];"), &[]);
}

#[test]
fn blocks_meet_in_global_memory() {
    check(&format!("{START}\n#9 st.global.u32 [%d0], %r8;\nret;"), 4, 1, &[("global-race", 9)]);
    check(&format!("{START} red.global.add.u32 [%d0], 1; ret;"), 4, 64, &[]);
    let narrow = "\n#9 red.relaxed.cta.global.add.u32 [%d0], 1;\nret;";
    check(&format!("{START}{narrow}"), 4, 64, &[("scope-too-narrow", 9)]);
}

/// Block 0 writes a word and sets a flag; block 1 waits for the flag and reads the word.
fn hand_over(set: &str, wait: &str, behind: &str, expected: &[(&str, u32)]) {
    let body = format!(
        "{START} @!%p2 ret; @%p1 bra W;\n#20 S: {wait}\n setp.eq.u32 %p3, %r9, 0; @%p3 bra S; {behind}\n\
         #21 ld.global.u32 %r1, [%d0];\nret;\n#22 W: st.global.u32 [%d0], 7;\n#23 {set}\nret;"
    );
    check(&body, 2, 32, expected);
}

#[test]
fn a_flag_needs_release_and_acquire() {
    let (release, acquire) =
        ("st.release.gpu.global.u32 [%d0+64], 1;", "ld.acquire.gpu.global.u32 %r9, [%d0+64];");
    let (store, load) =
        ("st.relaxed.gpu.global.u32 [%d0+64], 1;", "ld.relaxed.gpu.global.u32 %r9, [%d0+64];");
    hand_over(release, acquire, "", &[]);
    hand_over(&format!("membar.gl; {store}"), load, "fence.acq_rel.gpu;", &[]);
    hand_over(store, acquire, "", &[("missing-release", 23)]);
    hand_over(release, load, "", &[("missing-acquire", 20)]);
    hand_over(
        "st.volatile.global.u32 [%d0+64], 1;",
        "ld.volatile.global.u32 %r9, [%d0+64];",
        "membar.gl;",
        &[("missing-release", 23)],
    );
}

/// Thread 0 of the second block waits for the flag; the others read the payload behind `behind`. Who of them comes
/// before that thread has seen the flag just races.
#[test]
fn what_one_thread_acquires_reaches_others_by_a_barrier_only() {
    for wait in ["ld.acquire.gpu.global.u32 %r9, [%d0+512];", "ld.volatile.global.u32 %r9, [%d0+512];"] {
        let body = |behind: &str| {
            format!(
                "{START} mul.wide.u32 %d2, %r2, 4; add.s64 %d2, %d0, %d2; @%p1 bra W; @!%p2 bra R;
                #20 S: {wait}\n setp.eq.u32 %p3, %r9, 0; @%p3 bra S; fence.acq_rel.gpu;
                R: {behind}\n#21 ld.global.u32 %r1, [%d2];\nret;
                #22 W: st.global.u32 [%d2], 7;\n bar.sync 0; @!%p2 ret; st.release.gpu.global.u32 [%d0+512], 1; ret;"
            )
        };
        check(&body("bar.sync 0;"), 2, 64, &[]);
        let case = Case::new(&body(""));
        let mut request = case.request(2, 64);
        request.races = true;
        let mut grid = case.grid(request);
        finish(&mut grid);
        let named =
            grid.races().into_iter().find(|finding| finding.rule.name() == "missing-acquire").unwrap();
        assert_eq!(named.primary_span().map(|span| span.line), Some(20));
        assert!(named.help.contains("__syncthreads()"), "{}", named.help);
    }
}

#[test]
fn copies_are_under_way_until_they_are_waited_for() {
    let copy = "mul.wide.u32 %d1, %r2, 4; add.s64 %d1, %d0, %d1;\n#8 cp.async.ca.shared.global [%r5], [%d1], 4;\n\
                cp.async.commit_group;";
    shared(&format!("{copy} cp.async.wait_group 0; bar.sync 0; ld.shared.u32 %r1, [%r6];"), &[]);
    shared(&format!("{copy} bar.sync 0;\n#9 ld.shared.u32 %r1, [%r6];"), &[("pipeline-order", 9)]);
}

#[test]
fn a_value_that_is_written_back_may_undo_another_write() {
    let body = "\n#8 ld.volatile.global.u32 %r1, [%d0];\n add.u32 %r1, %r1, 1;\n#9 st.volatile.global.u32 [%d0], %r1;\nret;";
    check(&format!("{START}{body}"), 2, 64, &[("lost-update", 9)]);
    // By an exchange whose result nobody looks at; whoever does can see what came in between.
    let exchange =
        "\n#8 atom.global.add.u32 %r1, [%d0], 0;\n mad.lo.u32 %r1, %r1, 3, 1;\n#9 atom.global.exch.b32";
    check(&format!("{START}{exchange} %r9, [%d0], %r1;\nret;"), 2, 64, &[("lost-update", 9)]);
    check(&format!("{START}{exchange} %r9, [%d0], %r1; st.global.u32 [%d0+8], %r9;\nret;"), 1, 1, &[]);
    let own = "mul.wide.u32 %d1, %r2, 4; add.s64 %d1, %d0, %d1; mul.wide.u32 %d2, %r8, 1024; add.s64 %d1, %d1, %d2;";
    check(&format!("{START}{own} {} %r9, [%d1], %r1;\nret;", exchange.replace("%d0", "%d1")), 2, 64, &[]);
}

#[test]
fn a_record_is_left_before_it_is_freed() {
    let body = "@!%p2 ret; @%p1 bra W;\n#8 ld.volatile.global.u32 %r1, [%d0];\n ret;\n\
                W:\n// standstill.freed %d0, 4;\n// standstill.allocated %d0, 4;\nret;";
    check(&format!("{START}{body}"), 2, 32, &[("reuse-after-free", 8)]);
}

#[test]
fn lanes_that_write_a_half_word_each_meet() {
    shared("\n#8 st.shared.u16 [%r3], %h1;", &[("shared-race", 8)]);
    shared("\n#8 st.shared.u32 [%r3], %r2;", &[("shared-race", 8)]);
    shared("\n#8 ld.shared.u32 %r9, [%r5];\n#9 @%p2 st.shared.u16 [%r3+4], %h1;", &[("shared-race", 9)]);
}

#[test]
fn a_barrier_may_be_the_first_that_a_block_does() {
    shared("bar.warp.sync -1;\n#8 st.shared.u32 [%r3], %r2;", &[("shared-race", 8)]);
    shared("bar.sync 0;\n#8 st.shared.u32 [%r3], %r2;", &[("shared-race", 8)]);
}

#[test]
fn matrices_are_loaded_and_stored_by_all_lanes() {
    let address = "xor.b32 %r9, %r2, 1; shl.b32 %r9, %r9, 4; add.u32 %r9, %r3, %r9;";
    let load = "#9 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r9];";
    shared(&format!("{address} st.shared.u32 [%r5], %r2; bar.sync 0;\n{load}"), &[]);
    shared(&format!("{address}\n#8 st.shared.u32 [%r5], %r2;\n{load}"), &[("shared-race", 9)]);
}

#[test]
fn a_fence_before_a_barrier_of_lanes_serves_who_sets_the_flag_behind_it() {
    let body = "mul.wide.u32 %d2, %r2, 4; add.s64 %d2, %d0, %d2; @!%p1 bra R;
        st.global.u32 [%d2], %r2; fence.sc.gpu; bar.warp.sync -1; @!%p2 bra E;
        st.relaxed.gpu.global.u32 [%d0+512], 1; bra E;
        R: ld.relaxed.gpu.global.u32 %r1, [%d0+512]; setp.eq.u32 %p3, %r1, 0; @%p3 bra R; fence.sc.gpu;
        ld.global.u32 %r1, [%d2]; E: ret;";
    check(&format!("{START}{body}"), 2, 32, &[]);
}
