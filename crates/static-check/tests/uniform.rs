//! Conditions that look as if they differed between threads and do not, each with a near miss.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod common;

use common::findings;
use standstill_kernel_ir::launch::LaunchShape;

/// The names of the rules that a kernel body gives without a launch shape.
fn rules(body: &str) -> Vec<&'static str> {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q, .param \
         .u32 n) {{\n.reg .pred %p<9>; .reg .b32 %r<19>; .reg .b64 %rd<9>;\n.shared .align 4 .b8 \
         s[512];\nld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\nld.param.u32 %r1, [n];\nmov.u32 %r2, \
         %tid.x;\nmov.u32 %r3, %ctaid.x;\n{body}\nst.global.u32 [%rd2+64], %r2;\nret;\n}}\n"
    );
    findings(&text, &LaunchShape::default()).iter().map(|finding| finding.rule.name()).collect()
}

#[track_caller]
fn check(clean: &str, near_miss: &str, rule: &str) {
    assert_eq!(rules(clean), Vec::<&str>::new(), "clean:\n{clean}");
    assert_eq!(rules(near_miss), [rule], "near miss:\n{near_miss}");
}

#[test]
fn warps_lie_along_x_where_the_shape_is_not_known() {
    let guard = |index: &str| {
        format!(
            "{index}\nmad.lo.s32 %r5, %r3, 4, %r4;\nsetp.ge.s32 %p1, %r5, %r1;\n@%p1 bra L;\nshfl.sync.down.b32 \
             %r6, %r2, 1, 31, -1;\nst.global.u32 [%rd1], %r6;\nL:"
        )
    };
    check(&guard("shr.u32 %r4, %r2, 5;"), &guard("shr.u32 %r4, %r2, 4;"), "warp-mask");
    // Signed division by 32, of the index in the grid.
    let signed = |width: u32| {
        guard(&format!(
            "mov.u32 %r7, %ntid.x;\nmad.lo.s32 %r8, %r7, %r3, %r2;\nand.b32 %r4, %r8, -{width};\nshr.u32 %r4, \
             %r2, {};",
            width.trailing_zeros()
        ))
    };
    check(&signed(32), &signed(8), "warp-mask");
}

#[test]
fn a_branch_between_equal_ways_does_not_matter() {
    let body = |inner: &str| {
        format!(
            "setp.eq.s32 %p1, %r3, 0;\nld.global.nc.u32 %r4, [%rd1];\n@%p1 bra FIRST;\nld.global.nc.u32 %r4, \
             [%rd1+4];\nbra.uni JOIN;\nFIRST:\nsetp.ne.s32 %p2, %r2, 0;\n@%p2 bra JOIN;\n{inner}\nJOIN:\nsetp.gt.s32 \
             %p3, %r4, 9;\n@%p3 bra L;\nbar.sync 0;\nL:"
        )
    };
    check(&body("st.global.u32 [%rd2], %r4;"), &body("add.s32 %r4, %r4, 1;"), "divergent-barrier");
}

#[test]
fn other_words_of_an_array_may_be_counted() {
    let body = |before: &str, offset: u32| {
        format!(
            "and.b32 %r7, %r2, 31;\nshl.b32 %r4, %r7, 2;\nmov.u32 %r5, s;\nadd.s32 %r6, %r5, %r4;\n{before}\nld.shared.u32 \
             %r8, [s+{offset}];\natom.shared.add.u32 %r9, [%r6], 1;\nsetp.gt.u32 %p1, %r8, %r1;\n@%p1 bra \
             L;\nbar.sync 0;\nL:"
        )
    };
    let touch = "atom.shared.add.u32 %r10, [%r6], 1;";
    check(&body("bar.sync 0;", 256), &body(touch, 256), "divergent-barrier");
    // The word itself is counted between the reads of two threads.
    let same = |at: u32| {
        format!(
            "bar.sync 0;\nld.shared.u32 %r8, [s+{at}];\natom.shared.add.u32 %r9, [s+8], 1;\nsetp.gt.u32 %p1, %r8, \
             %r1;\n@%p1 bra L;\nbar.sync 0;\nL:"
        )
    };
    check(&same(4), &same(8), "divergent-barrier");
}

#[test]
fn a_lock_keeps_other_blocks_out() {
    let body = |take: &str| {
        format!(
            "setp.ne.s32 %p1, %r2, 0;\n@%p1 bra TAKEN;\nTAKE:\n{take}\nsetp.ne.s32 %p2, %r4, 0;\n@%p2 bra \
             TAKE;\nTAKEN:\nbar.sync 0;\nld.global.u32 %r5, [%rd2];\nsetp.ne.s32 %p3, %r5, 0;\n@%p3 bra \
             L;\nbar.sync 0;\n@%p1 bra L;\natom.global.exch.b32 %r6, [%rd2], 1;\nL:\nbar.sync 0;\n@%p1 bra \
             E;\natom.global.release.gpu.exch.b32 %r7, [%rd1], 0;\nE:"
        )
    };
    let lock = "atom.global.acquire.gpu.cas.b32 %r4, [%rd1], 0, 1;";
    check(&body(lock), &body("ld.global.acquire.gpu.u32 %r4, [%rd1];"), "divergent-barrier");
}

#[test]
fn barriers_without_aligned_meet_by_number() {
    let body = |other: &str| {
        format!(
            "shr.u32 %r4, %r2, 5;\nsetp.ne.s32 %p1, %r4, 0;\n@%p1 bra OTHER;\nbarrier.sync 1;\nbra.uni \
             L;\nOTHER:\nst.global.u32 [%rd1], %r4;\n{other}\nL:\nst.global.u32 [%rd2], %r4;"
        )
    };
    check(&body("barrier.sync 1;"), &body(""), "divergent-barrier");
}

#[test]
fn a_block_that_is_bounded_to_one_warp_agrees_where_the_warp_does() {
    let rules = |most: u32| -> Vec<&'static str> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n.maxntid {most}\n{{\n\
             .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, \
             %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r2, \
             [%rd3];\nshfl.sync.idx.b32 %r3, %r2, 0, 31, -1;\nmov.u32 %r4, 0;\nL:\nbar.sync 0;\nadd.s32 %r4, %r4, \
             1;\nsetp.lt.s32 %p1, %r4, %r3;\n@%p1 bra L;\nst.global.u32 [%rd3], %r4;\nret;\n}}\n"
        );
        findings(&text, &LaunchShape::default()).iter().map(|finding| finding.rule.name()).collect()
    };
    assert_eq!(rules(32), Vec::<&str>::new());
    assert_eq!(rules(64), ["divergent-barrier"]);
}

/// Threads that leave a loop in different rounds have different counts behind it.
#[test]
fn a_count_of_rounds_differs_behind_its_loop() {
    let body = |bound: &str| {
        format!(
            "mov.u32 %r4, 0;\nmov.u32 %r5, 0;\nL:\nsetp.ge.u32 %p1, %r5, {bound};\n@%p1 bra E;\nadd.u32 %r4, %r4, 1;\n\
             add.u32 %r5, %r5, 1;\nbra L;\nE:\nsetp.gt.u32 %p2, %r4, 3;\n@!%p2 bra X;\nbar.sync 0;\nX:\nst.global.u32 [%rd2], %r4;"
        )
    };
    check(&body("6"), &body("%r2"), "divergent-barrier");
}
