//! Memory order: small PTX kernels and the findings of the memory-order rules on them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use standstill_findings::Rule;
use standstill_kernel_ir::launch::LaunchShape;
use standstill_static_check::{Options, check as check_program};

/// Checks a kernel body and compares the memory-order findings with `expected`: each the rule's name and
/// the text of the PTX line that it points at.
fn check(body: &str, grid: Option<[u32; 3]>, expected: &[(&str, &str)]) {
    let text = format!(
        ".version 8.7\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 data, .param .u64 flag, .param .u64 out)\n{{\n\
         .reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.shared .align 4 .b8 near[8];\n\
         ld.param.u64 %rd1, [data];\nld.param.u64 %rd2, [flag];\nld.param.u64 %rd3, [out];\n\
         mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd9, %r1, 4;\nadd.s64 %rd4, %rd1, %rd9;\n\
         add.s64 %rd5, %rd3, %rd9;\nmul.wide.u32 %rd10, %r2, 4;\nadd.s64 %rd6, %rd1, %rd10;\n\
         add.s64 %rd7, %rd2, %rd10;\nsetp.eq.s32 %p1, %r2, 0;\nsetp.ne.s32 %p2, %r1, 0;\n{body}\nEND: ret;\n}}\n"
    );
    let module = standstill_ptx::parse(&text);
    assert!(module.errors.is_empty(), "{:?}", module.errors);
    let lowering = standstill_ptx::Lowering::new(&module);
    let position = |offset: u32| {
        let before = text.get(..offset as usize).unwrap_or("");
        (before.matches('\n').count() as u32 + 1, 1)
    };
    let options = Options {
        input: "k.ptx",
        main_source: None,
        launch: &|_| LaunchShape { block: Some([64, 1, 1]), grid, ..LaunchShape::default() },
        position: &position,
        source_line: &|_, _| None,
        platform: None,
        wanted: &|_| true,
        parameter_name: &|_, _| None,
    };
    let outcome = check_program(&lowering, &options);
    let found: Vec<(&str, &str)> = outcome
        .findings
        .iter()
        .filter(|finding| {
            matches!(finding.rule, Rule::MissingRelease | Rule::MissingAcquire | Rule::ScopeTooNarrow)
        })
        .map(|finding| {
            let line = finding.primary_span().unwrap().line;
            (finding.rule.info().name, text.lines().nth(line as usize - 1).unwrap().trim())
        })
        .collect();
    assert_eq!(found, expected, "{body}");
}

/// Block 0 stores `data[t]`, meets, and thread 0 writes the flag; other blocks wait for it and read.
fn hand_over(before_flag: &str, write: &str, read: &str, behind_flag: &str) -> String {
    format!(
        "@!%p1 bra READ;\nst.global.u32 [%rd4], 5;\nbar.sync 0;\n@%p2 bra END;\n{before_flag}\n{write}\nbra END;\n\
         READ:\n@%p2 bra MEET;\nSPIN:\n{read}\nsetp.eq.s32 %p3, %r3, 0;\n@%p3 bra SPIN;\n{behind_flag}\nMEET:\n\
         bar.sync 0;\nld.global.u32 %r4, [%rd4];\nst.global.u32 [%rd5], %r4;"
    )
}

const STORE: &str = "st.volatile.global.u32 [%rd2], 1;";
const RELEASE: &str = "st.release.gpu.global.u32 [%rd2], 1;";
const POLL: &str = "ld.volatile.global.u32 %r3, [%rd2];";
const ACQUIRE: &str = "ld.acquire.gpu.global.u32 %r3, [%rd2];";

#[test]
fn both_sides_in_order_raise_nothing() {
    check(&hand_over("membar.gl;", STORE, POLL, "membar.gl;"), None, &[]);
    check(&hand_over("fence.acq_rel.gpu;", STORE, ACQUIRE, ""), None, &[]);
    check(&hand_over("", RELEASE, ACQUIRE, ""), None, &[]);
    check(&hand_over("", RELEASE, POLL, "fence.sc.sys;"), None, &[]);
}

#[test]
fn a_missing_half_is_named_where_it_is_missing() {
    check(&hand_over("", STORE, ACQUIRE, ""), None, &[("missing-release", STORE)]);
    check(&hand_over("", RELEASE, POLL, ""), None, &[("missing-acquire", POLL)]);
    let add = "atom.global.add.u32 %r3, [%rd2], 0;";
    check(&hand_over("membar.gl;", STORE, add, ""), None, &[("missing-acquire", add)]);
}

#[test]
fn block_scope_reaches_no_other_block() {
    let fence = "membar.cta;";
    check(&hand_over(fence, STORE, ACQUIRE, ""), None, &[("scope-too-narrow", fence)]);
    check(&hand_over("", RELEASE, POLL, fence), None, &[("scope-too-narrow", fence)]);
    let narrow = "st.release.cta.global.u32 [%rd2], 1;";
    check(&hand_over("", narrow, ACQUIRE, ""), None, &[("scope-too-narrow", narrow)]);
    // With one block there is nobody else.
    check(&hand_over("", narrow, ACQUIRE, ""), Some([1, 1, 1]), &[]);
}

#[test]
fn a_write_that_ends_no_wait_publishes_nothing() {
    check(&hand_over("", "st.volatile.global.u32 [%rd2], 0;", ACQUIRE, ""), None, &[]);
}

#[test]
fn a_flag_before_its_payload() {
    let first = "@!%p1 bra SPIN;\n@%p2 bra END;\nst.volatile.global.u32 [%rd2], 1;\nmembar.gl;\n\
                 st.global.u32 [%rd1], 5;\nbra END;\nSPIN:\nld.acquire.gpu.global.u32 %r3, [%rd2];\n\
                 setp.eq.s32 %p3, %r3, 0;\n@%p3 bra SPIN;\nld.global.u32 %r4, [%rd1];\n\
                 st.global.u32 [%rd5], %r4;";
    check(first, None, &[("missing-release", STORE)]);
}

#[test]
fn a_lock_without_fences() {
    let lock = |taken: &str, given: &str| {
        format!(
            "@%p2 bra END;\nTRY:\natom.global.cas.b32 %r3, [%rd2], 0, 1;\nsetp.ne.s32 %p3, %r3, 0;\n@%p3 bra TRY;\n\
             {taken}\nld.global.u32 %r4, [%rd1];\nadd.s32 %r4, %r4, 1;\nst.global.u32 [%rd1], %r4;\n{given}\n\
             atom.global.exch.b32 %r5, [%rd2], 0;"
        )
    };
    check(&lock("membar.gl;", "membar.gl;"), None, &[]);
    let (take, give) = ("atom.global.cas.b32 %r3, [%rd2], 0, 1;", "atom.global.exch.b32 %r5, [%rd2], 0;");
    check(&lock("membar.gl;", ""), None, &[("missing-release", give)]);
    check(&lock("", ""), None, &[("missing-release", give), ("missing-acquire", take)]);
}

#[test]
fn the_last_block_reads_what_the_others_stored() {
    let count = "atom.global.add.u32 %r3, [%rd2], 1;";
    let last = |fence: &str, behind: &str| {
        format!(
            "@%p2 bra END;\nst.global.u32 [%rd6], 5;\n{fence}\n{count}\n{behind}\nmov.u32 %r5, %nctaid.x;\n\
             add.s32 %r6, %r5, -1;\nsetp.ne.s32 %p3, %r3, %r6;\n@%p3 bra END;\nld.global.u32 %r4, [%rd1];\n\
             st.global.u32 [%rd3], %r4;"
        )
    };
    let fence = "membar.gl;";
    check(&last(fence, fence), None, &[]);
    check(&last("", fence), None, &[("missing-release", count)]);
    check(&last("membar.cta;", fence), None, &[("scope-too-narrow", "membar.cta;")]);
    check(&last(fence, ""), None, &[("missing-acquire", count)]);
    check(&last(fence, "fence.acq_rel.cta;"), None, &[("scope-too-narrow", "fence.acq_rel.cta;")]);
    check(&last("", ""), None, &[("missing-release", count), ("missing-acquire", count)]);
    // What is read volatile is taken for meant so.
    check(&last(fence, "").replace("ld.global", "ld.volatile.global"), None, &[]);
}

#[test]
fn an_atomic_of_block_scope_on_a_place_of_all_blocks() {
    let narrow = "red.relaxed.cta.global.add.u32 [%rd1], 1;";
    check(narrow, None, &[("scope-too-narrow", narrow)]);
    check(narrow, Some([1, 1, 1]), &[]);
    // Each block has its own.
    check("red.relaxed.cta.global.add.u32 [%rd6], 1;", None, &[]);
}

#[test]
fn a_flag_in_shared_memory_needs_a_fence_or_a_meeting() {
    let near = |between: &str, behind: &str| {
        format!(
            "@!%p2 bra WRITE;\nSPIN:\nld.volatile.shared.u32 %r3, [near];\nsetp.eq.s32 %p3, %r3, 0;\n@%p3 bra SPIN;\n\
             {behind}\nld.shared.u32 %r4, [near+4];\nst.global.u32 [%rd5], %r4;\nbra END;\nWRITE:\n\
             st.shared.u32 [near+4], 5;\n{between}\nst.volatile.shared.u32 [near], 1;"
        )
    };
    check(&near("membar.cta;", "membar.cta;"), None, &[]);
    let write = "st.volatile.shared.u32 [near], 1;";
    check(&near("", "membar.cta;"), None, &[("missing-release", write)]);
    check(&near("membar.cta;", "bar.sync 0;"), None, &[]);
}

#[test]
fn a_second_look_at_a_flag_needs_no_second_acquire() {
    let twice = |first: &str| {
        format!(
            "@!%p2 bra WRITE;\nFIRST:\nld.{first}.gpu.global.u32 %r3, [%rd1];\nsetp.eq.s32 %p3, %r3, 0;\n@%p3 bra FIRST;\n\
             SPIN:\nld.relaxed.gpu.global.u32 %r3, [%rd1];\nsetp.eq.s32 %p3, %r3, 0;\n@%p3 bra SPIN;\n\
             ld.global.u32 %r4, [%rd1+4];\nst.global.u32 [%rd5], %r4;\nbra END;\nWRITE:\nst.global.u32 [%rd1+4], 5;\n\
             st.release.gpu.global.u32 [%rd1], 1;"
        )
    };
    check(&twice("acquire"), None, &[]);
    check(&twice("relaxed"), None, &[("missing-acquire", "ld.relaxed.gpu.global.u32 %r3, [%rd1];")]);
}

#[test]
fn branches_that_ask_the_same_go_the_same_way() {
    let asks = |second: &str| {
        format!(
            "setp.ne.u32 %p4, %r2, 1;\n@!%p4 bra NEXT;\nFIRST:\nld.acquire.gpu.global.u32 %r3, [%rd1];\nsetp.eq.s32 %p3, %r3, 0;\n\
             @%p3 bra FIRST;\nNEXT:\nsetp.ne.u32 %p5, %r2, {second};\n@!%p5 bra WRITE;\n\
             SPIN:\nld.relaxed.gpu.global.u32 %r3, [%rd1];\nsetp.eq.s32 %p3, %r3, 0;\n@%p3 bra SPIN;\n\
             ld.global.u32 %r4, [%rd1+4];\nst.global.u32 [%rd5], %r4;\nbra END;\nWRITE:\nst.global.u32 [%rd1+4], 5;\n\
             st.release.gpu.global.u32 [%rd1], 1;"
        )
    };
    check(&asks("1"), None, &[]);
    check(&asks("2"), None, &[("missing-acquire", "ld.relaxed.gpu.global.u32 %r3, [%rd1];")]);
}
