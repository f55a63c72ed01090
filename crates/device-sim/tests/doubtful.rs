//! Values that nobody gave: memory that nobody wrote, and results without a model. What they decide is told, where and
//! of what; what they only pass through is not.

#![allow(clippy::unwrap_used, reason = "tests may")]

mod common;

use std::sync::Arc;

use common::{Case, finish};
use standstill_device_sim::{Device, Progress};
use standstill_kernel_ir::launch::Device as Model;

/// Runs with the memory watched; gives the rule of each finding, with the lines of where the value comes from and of
/// what it decides.
fn found(body: &str, watched: bool) -> Vec<(&'static str, u32, u32)> {
    let mut case = Case::new(body);
    if watched {
        case.device = Device::watched(Model::find("h200").unwrap(), 1 << 30);
        case.module = case.device.load(Arc::clone(case.module.program()), &[]).unwrap();
        case.buffer = case.device.memory().allocate_marked(4 * common::WORDS as u64, 1).unwrap();
    }
    let mut request = case.request(1, 128);
    request.races = watched;
    let mut grid = case.grid(request);
    assert_eq!(finish(&mut grid), Progress::Finished);
    let mut findings: Vec<_> = grid.doubtful().into_iter().map(|(finding, _)| finding).collect();
    findings
        .extend(case.device.memory().doubtful(case.buffer, 4 * common::WORDS as u64).map(|found| found.0));
    let lines = |finding: &standstill_findings::Finding| {
        let primary = finding.primary_span().map_or(0, |span| span.line);
        let other = finding.spans.iter().find(|span| !span.primary).map_or(0, |span| span.line);
        (finding.rule.name(), primary, other)
    };
    findings.iter().map(lines).collect()
}

/// `%r2` is the thread, `%r5` its word in `tile`, `%d5` its word of the buffer.
const START: &str = "
    mov.u32 %r2, %tid.x; mov.u32 %r3, tile; shl.b32 %r4, %r2, 2; add.u32 %r5, %r3, %r4;
    mul.wide.u32 %d4, %r2, 4; add.s64 %d5, %d0, %d4; setp.lt.u32 %p1, %r2, 64;\n";

fn unwritten(body: &str, expected: &[(&str, u32, u32)]) {
    assert_eq!(found(&format!("{START}{body}\nret;"), true), expected, "{body}");
}

#[test]
fn what_nobody_wrote_is_told_where_it_decides() {
    let wrong = "uninitialised";
    unwritten(
        "#7 ld.shared.u32 %r1, [%r5];\n#8 setp.eq.u32 %p2, %r1, 7;\n#9 @%p2 bra E; st.global.u32 [%d5], %r2; E:",
        &[(wrong, 7, 9)],
    );
    unwritten(
        "#7 ld.global.u32 %r1, [%d5];\n#8 and.b32 %r1, %r1, 3; add.u32 %r1, %r1, %r3;\n#9 ld.shared.u8 %r6, [%r1];",
        &[(wrong, 7, 9)],
    );
    unwritten("#7 atom.global.add.u32 %r1, [%d0], 1;", &[(wrong, 7, 0)]);
    // Once where it is compared, once where the host gets what became of it.
    unwritten("#7 atom.global.cas.b32 %r1, [%d0], 0, 1;", &[(wrong, 7, 0), (wrong, 7, 0)]);
    // Half of the words were written, and not those that decide.
    unwritten(
        "@%p1 st.shared.u32 [%r5], %r2; bar.sync 0;\n#8 ld.shared.u32 %r1, [%r5+64];\n#9 setp.gt.u32 %p2, %r1, 5;\n#10 @%p2 bra E; mov.u32 %r1, 0; E:",
        &[(wrong, 8, 10)],
    );
}

#[test]
fn what_is_only_moved_or_not_taken_is_left_alone() {
    unwritten("ld.global.u32 %r1, [%d5+4096]; st.global.u32 [%d5], %r1;", &[]);
    unwritten("ld.shared.u32 %r1, [%r5]; add.u32 %r1, %r1, 1;", &[]);
    unwritten(
        "ld.shared.u32 %r1, [%r5]; selp.b32 %r1, %r2, %r1, %p1; @!%p1 mov.u32 %r1, 0; setp.eq.u32 %p2, %r1, 0; @%p2 bra E; E:",
        &[],
    );
    unwritten(
        "ld.shared.u32 %r1, [%r5]; setp.gt.u32 %p2, %r1, 5; and.pred %p2, %p2, %p1; @%p1 mov.pred %p2, 0; @%p2 bra E; E:",
        &[],
    );
    unwritten("ld.shared.u32 %r1, [%r5]; and.b32 %r1, %r1, 0; setp.eq.u32 %p2, %r1, 0; @%p2 bra E; E:", &[]);
    unwritten(
        "ld.shared.u32 %r1, [%r5]; lop3.b32 %r1, %r1, %r2, 0, 0xc0; mov.u32 %r1, 5; setp.eq.u32 %p2, %r1, 0; @%p2 bra E; E:",
        &[],
    );
    // One byte of the word was written: the rest is padding.
    unwritten(
        "st.shared.u8 [%r5], %r2; ld.shared.u32 %r1, [%r5]; and.b32 %r1, %r1, 255; setp.eq.u32 %p2, %r1, 0; @%p2 bra E; E:",
        &[],
    );
    unwritten(
        "st.shared.u32 [%r5], %r2; bar.sync 0; ld.shared.u32 %r1, [%r5]; setp.eq.u32 %p2, %r1, 0; @%p2 bra E; E:",
        &[],
    );
    unwritten(
        "cp.async.ca.shared.global [%r5], [%d5], 4; cp.async.wait_all; bar.sync 0; ld.shared.u32 %r1, [%r5]; setp.eq.u32 %p2, %r1, 0; @%p2 bra E; E:",
        &[],
    );
}

const MULTIPLY: &str =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %d1, %d2, 1, 1, 1;";

fn unknown(body: &str, expected: &[(&str, u32, u32)]) {
    for watched in [false, true] {
        let body = format!("{START} mov.u64 %d1, 0; mov.u64 %d2, 0;\n#6 {MULTIPLY}\n{body}\nret;");
        assert_eq!(found(&body, watched), expected, "{body} {watched}");
    }
}

#[test]
fn what_has_no_model_is_told_where_it_decides() {
    let note = "undecided";
    unknown("#8 setp.gt.f32 %p2, %f1, 0f00000000;\n#9 @%p2 bra E; mov.u32 %r1, 0; E:", &[(note, 9, 6)]);
    unknown("#8 setp.gt.f32 %p2, %f1, 0f00000000;\n#9 @%p2 st.shared.u32 [%r5], %r2;", &[(note, 9, 6)]);
    unknown(
        "#7 st.shared.f32 [%r5], %f2; bar.sync 0;\n#8 ld.shared.u32 %r1, [%r5]; cvt.u64.u32 %d6, %r1; and.b64 %d6, %d6, 0xffc; add.u64 %d6, %d0, %d6;\n#9 ld.global.u32 %r6, [%d6];",
        &[(note, 9, 6)],
    );
    unknown(
        "shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;\n#7 mov.b32 %r1, %f1; shfl.sync.bfly.b32 %r6, %r1, 1, 31, -1;\n#8 setp.eq.u32 %p2, %r6, 0;\n#9 @%p2 bra E; E:",
        &[(note, 9, 6)],
    );
    // The host gets it.
    unknown("#8 st.global.f32 [%d5], %f1;", &[(note, 6, 0)]);
    unknown(
        "#8 st.shared.f32 [%r5], %f1; mov.f32 %f1, 0f00000000;\n#9 setp.gt.f32 %p2, %f1, 0f00000000; @%p2 bra E; E: st.shared.f32 [%r5], %f1;",
        &[],
    );
}

#[test]
fn verdicts_behind_a_guess_are_no_more_than_possible() {
    let case = Case::new(&format!(
        "{START} mov.u64 %d1, 0; mov.u64 %d2, 0;\n{MULTIPLY}\nsetp.gt.f32 %p2, %f1, 0f00000000;\n@%p2 bra E; mov.u32 %r1, 0; E: ret;"
    ));
    let mut grid = case.grid(case.request(1, 128));
    assert_eq!(grid.guessed(), None);
    assert_eq!(finish(&mut grid), Progress::Finished);
    assert!(grid.guessed().is_some());
}
