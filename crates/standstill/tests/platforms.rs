//! Barrier shapes and what becomes of them where: platforms disagree, so the severity follows the platform
//! that was asked for.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use common::Workplace;

/// The body of a kernel for 256 threads; `%p1` holds in the upper half.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 flag, .param .u64 out)\n{{\n.reg .pred %p<5>;\n.reg .b32 %r<9>;\n\
         .reg .b64 %rd<5>;\nld.param.u64 %rd1, [flag];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\n\
         setp.gt.u32 %p1, %r1, 127;\n{body}\nEND: ret;\n}}\n"
    )
}

/// The rule and severities by default and with `--platform all`, and the row: NVIDIA, NVIDIA before sm_70, AMD,
/// others, the specification.
type Expected<'a> = (&'a str, &'a str, &'a str, [&'a str; 5]);

#[track_caller]
fn check(body: &str, expected: Option<Expected<'_>>) {
    let place = Workplace::new();
    place.file("k.ptx", kernel(body));
    let found = |platform: &str| {
        let command = [
            "check",
            "k.ptx",
            "--block=256",
            "--grid=1",
            "--format=json",
            "--fail-on=never",
            "--platform",
            platform,
        ];
        let json = place.run(&command).exits(0).json();
        json["findings"].as_array().unwrap().first().cloned()
    };
    let (default, all) = (found("nvidia"), found("all"));
    let Some((rule, severity, worst, row)) = expected else {
        assert_eq!(default, None);
        return;
    };
    let (default, all) = (default.unwrap(), all.unwrap());
    let names = ["nvidia", "nvidia-before-7.0", "amd", "others", "spec"];
    let outcomes = names.map(|name| default["platforms"][name].as_str().unwrap_or("–").to_owned());
    let text = |finding: &serde_json::Value, key: &str| finding[key].as_str().unwrap().to_owned();
    assert_eq!(
        (text(&default, "rule"), text(&default, "severity"), text(&all, "severity"), outcomes),
        (rule.to_owned(), severity.to_owned(), worst.to_owned(), row.map(str::to_owned)),
        "{body}"
    );
}

const HANGS: &str = "hangs";
const MAY: &str = "may hang";
const UNORDERED: &str = "completes, unordered";
const UNDEFINED: &str = "undefined";

#[test]
fn the_others_wait_for_what_the_barrier_keeps_back() {
    check(
        "@%p1 bra READ;\nbar.sync 0;\nst.volatile.global.u32 [%rd1], 1;\nbra END;\n\
         READ: ld.volatile.global.u32 %r2, [%rd1];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra READ;",
        Some(("wait-cycle", "error", "error", [HANGS, HANGS, HANGS, HANGS, UNDEFINED])),
    );
}

#[test]
fn the_others_run_past_and_end() {
    check(
        "@%p1 bra PAST;\nbar.sync 0;\nPAST: st.global.u32 [%rd2], %r1;",
        Some(("divergent-barrier", "warning", "error", [UNORDERED, MAY, MAY, MAY, UNDEFINED])),
    );
}

#[test]
fn the_others_return_early() {
    check(
        "@%p1 bra END;\nbar.sync 0;\nst.global.u32 [%rd2], %r1;",
        Some(("early-exit-barrier", "warning", "error", [UNORDERED, UNORDERED, MAY, MAY, UNDEFINED])),
    );
}

#[test]
fn a_counted_barrier_waits_for_those_who_ended() {
    let row = [HANGS, HANGS, "–", "–", UNDEFINED];
    let body = "@%p1 bra END;\nbar.sync 1, 256;\nst.global.u32 [%rd2], %r1;";
    check(body, Some(("barrier-count", "error", "error", row)));
    check(&body.replace("256", "128"), None);
}

#[test]
fn a_barrier_in_each_arm() {
    check(
        "@%p1 bra OTHER;\nst.global.u32 [%rd2], %r1;\nbar.sync 0;\nbra END;\n\
         OTHER: st.global.u32 [%rd1], %r1;\nbar.sync 0;",
        Some(("divergent-barrier", "warning", "error", [UNORDERED, MAY, MAY, MAY, UNDEFINED])),
    );
}

#[test]
fn a_mask_that_names_lanes_that_wait_elsewhere() {
    check(
        "and.b32 %r3, %r1, 31;\nsetp.gt.u32 %p2, %r3, 15;\n@%p2 bra MEET;\nbar.warp.sync 0xffffffff;\n\
         MEET: bar.sync 0;\nst.global.u32 [%rd2], %r1;",
        Some(("warp-mask", "error", "error", [HANGS, UNDEFINED, "–", "–", UNDEFINED])),
    );
}

#[test]
fn divergence_without_a_barrier_under_it() {
    check("@%p1 bra PAST;\nst.global.u32 [%rd2], %r1;\nPAST: bar.sync 0;\nst.global.u32 [%rd1], %r1;", None);
}
