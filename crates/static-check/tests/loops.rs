//! Loops: small PTX kernels and the findings of the loop rules on them.

mod common;

use standstill_findings::{Known, Rule};
use standstill_kernel_ir::launch::LaunchShape;

/// Checks a kernel body and compares the findings about loops with `expected`: rule, `proved` or `possible`,
/// and the PTX line that each points at.
fn check(body: &str, expected: &[(&str, &str, &str)]) {
    let text = format!(
        ".version 8.7\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 data, .param .u64 flag, .param .u32 n, .param .f32 x)\n{{\n\
         .reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<9>;\n\
         .shared .align 4 .b8 near[8];\nld.param.u64 %rd1, [data];\nld.param.u64 %rd2, [flag];\n\
         ld.param.u32 %r9, [n];\nld.param.f32 %f9, [x];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\n\
         add.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n{body}\nEND: ret;\n}}\n"
    )
    .replace("%f<9>", "%f<10>");
    let shape = LaunchShape { block: Some([64, 1, 1]), ..LaunchShape::default() };
    let findings = common::findings(&text, &shape);
    let found: Vec<(&str, &str, &str)> = findings
        .iter()
        .filter(|finding| {
            matches!(finding.rule, Rule::NonTerminatingLoop | Rule::HoistableSpin | Rule::SpinLockLockstep)
        })
        .map(|finding| {
            let known = if finding.known == Known::Proved { "proved" } else { "possible" };
            (finding.rule.info().name, known, common::line_of(&text, finding))
        })
        .collect();
    assert_eq!(found, expected, "{body}");
}

const ENDLESS: &str = "non-terminating-loop";
const SPIN: &str = "hoistable-spin";
const LOCK: &str = "spin-lock-lockstep";

#[test]
fn no_way_out() {
    check("L: st.volatile.global.u32 [%rd4], 1;\nbra L;", &[(ENDLESS, "proved", "bra L;")]);
    // Nobody comes to it.
    check("setp.lt.u32 %p1, %r1, 64;\n@%p1 bra END;\nL: st.volatile.global.u32 [%rd4], 1;\nbra L;", &[]);
    // An abort is a way out.
    check(
        "mov.u32 %r2, 0;\nL: add.u32 %r2, %r2, 1;\nsetp.gt.u32 %p1, %r2, %r9;\n@%p1 bra A;\n\
         st.volatile.global.u32 [%rd4], %r2;\nbra L;\nA: trap;",
        &[],
    );
}

#[test]
fn a_condition_that_no_round_changes() {
    let body = |test: &str| format!("L: st.volatile.global.u32 [%rd4], 1;\n{test}\n@%p1 bra L;");
    check(&body("setp.gt.s32 %p1, %r9, 0;"), &[(ENDLESS, "proved", "@%p1 bra L;")]);
    // It fails in the first round for all threads of the block.
    check(&body("setp.gt.u32 %p1, %r1, 64;"), &[]);
    check(&body("setp.lt.u32 %p1, %r1, 3;"), &[(ENDLESS, "proved", "@%p1 bra L;")]);
    check(&body("mov.u32 %r3, %clock;\nsetp.lt.u32 %p1, %r3, 3;"), &[]);
    check(&body("ld.volatile.global.u32 %r3, [%rd2];\nsetp.lt.u32 %p1, %r3, 3;"), &[]);
}

#[test]
fn values_that_repeat() {
    let body = |start: &str, step: &str, test: &str| {
        format!("mov.u32 %r2, {start};\nL: st.volatile.global.u32 [%rd4], %r2;\n{step}\n{test}\n@%p1 bra L;")
    };
    let found: &[(&str, &str, &str)] = &[(ENDLESS, "proved", "@%p1 bra L;")];
    check(&body("0", "shl.b32 %r2, %r2, 1;", "setp.lt.s32 %p1, %r2, 100;"), found);
    check(&body("1", "shl.b32 %r2, %r2, 1;", "setp.lt.s32 %p1, %r2, 100;"), &[]);
    check(&body("%tid.x", "shl.b32 %r2, %r2, 1;", "setp.lt.s32 %p1, %r2, 100;"), found);
    check(&body("1", "add.u32 %r2, %r2, 2;\nand.b32 %r2, %r2, 7;", "setp.ne.s32 %p1, %r2, 4;"), found);
    check(&body("1", "add.u32 %r2, %r2, 1;\nand.b32 %r2, %r2, 7;", "setp.ne.s32 %p1, %r2, 4;"), &[]);
    // A stride that is zero for this block.
    let stride = "mov.u32 %r4, %ntid.x;\nshr.u32 %r5, %r4, 8;\nadd.u32 %r2, %r2, %r5;";
    check(&body("%tid.x", stride, "setp.lt.s32 %p1, %r2, %r9;"), found);
    check(&body("%tid.x", &stride.replace("8;", "6;"), "setp.lt.s32 %p1, %r2, %r9;"), &[]);
    // A second way out that is not understood.
    let other =
        "shl.b32 %r2, %r2, 1;\nld.volatile.global.u32 %r6, [%rd2];\nsetp.eq.s32 %p2, %r6, 0;\n@%p2 bra END;";
    check(&body("0", other, "setp.lt.s32 %p1, %r2, 100;"), &[]);
}

#[test]
fn sums_that_must_meet_a_number() {
    let body = |start: &str, step: &str, bound: &str| {
        format!(
            "mov.f32 %f1, {start};\nL: st.volatile.global.f32 [%rd4], %f1;\nadd.f32 %f1, %f1, {step};\n\
             setp.neu.f32 %p1, %f1, {bound};\n@%p1 bra L;"
        )
    };
    let (tenth, quarter, zero, two) = ("0f3DCCCCCD", "0f3E800000", "0f00000000", "0f40000000");
    check(&body(zero, tenth, two), &[(ENDLESS, "proved", "@%p1 bra L;")]);
    check(&body(zero, quarter, two), &[]);
    check(&body("%f9", quarter, two), &[]);
    check(&body("%f9", tenth, two), &[(ENDLESS, "possible", "@%p1 bra L;")]);
    check(&body(zero, "%f9", two), &[(ENDLESS, "possible", "@%p1 bra L;")]);
    // Until it stays the same.
    check(
        "mov.f32 %f1, %f9;\nL: mov.f32 %f2, %f1;\nadd.f32 %f1, %f1, 0f3DCCCCCD;\n\
         st.volatile.global.f32 [%rd4], %f1;\nsetp.neu.f32 %p1, %f1, %f2;\n@%p1 bra L;",
        &[],
    );
}

#[test]
fn spins_on_one_read() {
    let body = |load: &str, inside: &str| {
        format!("L: {load} %r3, [%rd2];\n{inside}\nsetp.eq.s32 %p1, %r3, 0;\n@%p1 bra L;")
    };
    check(&body("ld.global.u32", ""), &[(SPIN, "proved", "@%p1 bra L;")]);
    check(&body("ld.global.nc.u32", "add.u32 %r4, %r4, 1;"), &[(SPIN, "proved", "@%p1 bra L;")]);
    for load in ["ld.volatile.global.u32", "ld.relaxed.gpu.global.u32", "ld.acquire.gpu.global.u32"] {
        check(&body(load, ""), &[]);
    }
    for inside in ["membar.gl;", "bar.warp.sync -1;", "st.global.u32 [%rd4], 1;", "add.s64 %rd2, %rd2, 4;"] {
        check(&body("ld.global.u32", inside), &[]);
    }
    // What nvcc makes of it.
    check(
        "ld.global.u32 %r3, [%rd2];\nsetp.ne.s32 %p1, %r3, 0;\n@%p1 bra END;\nL: bra L;",
        &[(SPIN, "proved", "L: bra L;")],
    );
    check("setp.ne.s32 %p1, %r9, 0;\n@%p1 bra END;\nL: bra L;", &[(ENDLESS, "possible", "L: bra L;")]);
}

/// A lock at an address, its critical section and its release, behind something that chooses lanes.
fn lock(choose: &str, address: &str, inside: &str) -> String {
    format!(
        "{choose}\nL: atom.global.cas.b32 %r3, [{address}], 0, 1;\n{inside}\nsetp.ne.s32 %p1, %r3, 0;\n@%p1 bra L;\n\
         membar.gl;\nld.volatile.global.u32 %r4, [%rd1];\nadd.u32 %r4, %r4, 1;\n\
         st.volatile.global.u32 [%rd1], %r4;\nmembar.gl;\natom.global.exch.b32 %r5, [{address}], 0;"
    )
}

#[test]
fn locks_between_lanes() {
    let at = "atom.global.cas.b32 %r3, [%rd2], 0, 1;";
    let found = [(LOCK, "possible", "L: atom.global.cas.b32 %r3, [%rd2], 0, 1;")];
    assert!(found[0].2.ends_with(at));
    check(&lock("", "%rd2", ""), &found);
    check(&lock("", "%rd2", "nanosleep.u32 20;"), &found);
    // Each thread has its own.
    check(&lock("", "%rd5", ""), &[]);
    // One lane of a warp.
    check(&lock("setp.ne.s32 %p2, %r1, 0;\n@%p2 bra END;", "%rd2", ""), &[]);
    check(&lock("and.b32 %r6, %r1, 31;\nsetp.ne.s32 %p2, %r6, %r9;\n@%p2 bra END;", "%rd2", ""), &[]);
    check(&lock("elect.sync %r6|%p2, -1;\n@!%p2 bra END;", "%rd2", ""), &[]);
    check(
        &lock(
            "activemask.b32 %r6;\nbfind.u32 %r7, %r6;\nmov.u32 %r8, %laneid;\nsetp.ne.s32 %p2, %r7, %r8;\n@%p2 bra END;",
            "%rd2",
            "",
        ),
        &[],
    );
    // Two lanes.
    check(&lock("setp.gt.u32 %p2, %r1, 1;\n@%p2 bra END;", "%rd2", ""), &found);
    // Given back inside.
    check(
        "L: atom.global.cas.b32 %r3, [%rd2], 0, 1;\nsetp.ne.s32 %p1, %r3, 0;\n@%p1 bra N;\n\
         membar.gl;\natom.global.exch.b32 %r5, [%rd2], 0;\nN: @%p1 bra L;",
        &[],
    );
    // A bounded number of tries.
    check(
        "mov.u32 %r7, 0;\nL: atom.global.cas.b32 %r3, [%rd2], 0, 1;\nsetp.eq.s32 %p1, %r3, 0;\n@%p1 bra G;\n\
         add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, 100;\n@%p2 bra L;\nbra END;\nG: membar.gl;\n\
         atom.global.exch.b32 %r5, [%rd2], 0;",
        &[],
    );
    // An update by compare-and-swap.
    check(
        "ld.volatile.global.u32 %r3, [%rd2];\nL: mov.u32 %r4, %r3;\nmul.lo.u32 %r5, %r4, 3;\n\
         atom.global.cas.b32 %r3, [%rd2], %r4, %r5;\nsetp.ne.s32 %p1, %r3, %r4;\n@%p1 bra L;\n\
         st.volatile.global.u32 [%rd2], 0;",
        &[],
    );
}

#[test]
fn counters_that_step_over_the_value_that_ends_them() {
    let count = |start: &str, step: &str, end: &str| {
        format!(
            "{start}\nL: st.volatile.global.u32 [%rd4], %r2;\nadd.s32 %r2, %r2, {step};\nsetp.ne.s32 %p1, %r2, {end};\n\
             @%p1 bra L;"
        )
    };
    let never = [(ENDLESS, "proved", "@%p1 bra L;")];
    check(&count("mov.u32 %r2, %r1;", "2", "256"), &never);
    check(&count("shl.b32 %r2, %r1, 1;", "2", "256"), &[]);
    check(&count("shl.b32 %r2, %r1, 1;", "-4", "-4096"), &never);
    // A step without a factor of two comes to every number in the end.
    check(&count("mov.u32 %r2, %r1;", "3", "256"), &[]);
    check(&count("mov.u32 %r2, %r1;", "2", "%r9"), &[]);
}

#[test]
fn sums_that_stop_before_their_bound() {
    let sum = |ty: &str, start: &str, step: &str, stays: &str| {
        format!(
            "mov.{ty} %f1, {start};\nL: st.volatile.global.{ty} [%rd4], %f1;\nadd.{ty} %f1, %f1, {step};\n\
             setp.{stays};\n@%p1 bra L;"
        )
    };
    let never = [(ENDLESS, "proved", "@%p1 bra L;")];
    // Ones stop at 2^24; the bound is 2^25, and 2^24.
    check(&sum("f32", "0f00000000", "0f3F800000", "lt.f32 %p1, %f1, 0f4C000000"), &never);
    check(&sum("f32", "0f00000000", "0f3F800000", "gt.f32 %p1, 0f4C000000, %f1"), &never);
    check(&sum("f32", "0f00000000", "0f3F800000", "lt.f32 %p1, %f1, 0f4B800000"), &[]);
    // From 2^25 down by ones.
    check(&sum("f32", "0f4C000000", "0fBF800000", "gt.f32 %p1, %f1, 0f00000000"), &never);
    check(&sum("f32", "0f4C000000", "%f9", "gt.f32 %p1, %f1, 0f00000000"), &[]);
}

#[test]
fn tickets_of_lanes() {
    let ticket = |choose: &str, inside: &str, behind: &str| {
        format!(
            "{choose}\natom.global.add.u32 %r2, [%rd1], 1;\nL: ld.volatile.global.u32 %r3, [%rd2];\n{inside}\n\
             setp.ne.s32 %p1, %r3, %r2;\n@%p1 bra L;\nadd.s32 %r4, %r2, 1;\n{behind}"
        )
    };
    let pass_on = "st.volatile.global.u32 [%rd2], %r4;";
    let waits = "L: ld.volatile.global.u32 %r3, [%rd2];";
    // Without a source a compiler may have moved the release.
    check(&ticket("", "", pass_on), &[(LOCK, "possible", waits)]);
    check(&ticket("setp.ne.u32 %p2, %r1, 0;\n@%p2 bra END;", "", pass_on), &[]);
    check(&ticket("", pass_on, ""), &[]);
    check(&ticket("", "", "st.volatile.global.u32 [%rd1], %r4;"), &[]);
}
