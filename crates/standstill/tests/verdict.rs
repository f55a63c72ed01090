//! How a finding becomes a verdict: launch shapes, platforms, suppression, severities and exit codes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use common::Workplace;

/// Threads from 128 on leave out a barrier and end.
const HALF: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z4halfPi(.param .u64 p)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    mov.u32 %r1, %tid.x;
    setp.gt.u32 %p1, %r1, 127;
    @%p1 bra $end;
    bar.sync 0;
$end:
    ret;
}
";

fn place() -> Workplace {
    let place = Workplace::new();
    place.file("half.ptx", HALF);
    place
}

#[test]
fn severity_follows_the_platform_and_the_exit_code_the_severity() {
    let place = place();
    let check = ["check", "half.ptx", "--block", "256"];
    let with = |more: &[&str], code| place.run(&[&check, more].concat()).exits(code);
    with(&[], 0).prints("warning[E0009]").prints("1 warning; checked 1 kernel");
    with(&["--fail-on", "warning"], 1);
    with(&["--platform", "all"], 1).prints("error[E0009]").prints("1 error; checked 1 kernel");
    with(&["--platform", "others"], 1).prints("error[E0009]");
    with(&["--platform", "all", "--fail-on", "never"], 0).prints("error[E0009]");
}

#[test]
fn a_known_launch_decides() {
    let place = place();
    place
        .run(&["check", "half.ptx", "--block", "128", "--fail-on", "warning"])
        .exits(0)
        .prints("no findings");
    place.file("half.ptx", format!("// standstill: launch(block = 64)\n{HALF}"));
    place.run(&["check", "half.ptx", "--fail-on", "warning"]).exits(0).prints("no findings");
    // The flag wins over the comment.
    place.run(&["check", "half.ptx", "--block", "256", "--fail-on", "warning"]).exits(1);
}

#[test]
fn flags_and_comments_silence_and_are_counted() {
    let place = place();
    let silenced = "no findings; 1 silenced; checked 1 kernel";
    let check = |more: &[&str]| {
        place.run(&[&["check", "half.ptx", "--block=256", "--fail-on=warning"], more].concat())
    };
    check(&["--allow", "E0009"]).exits(0).prints(silenced);
    check(&["--allow", "divergent-barrier,early-exit-barrier"]).exits(0).prints(silenced);
    check(&["--allow", "wait-cycle"]).exits(1);
    place.file("half.ptx", HALF.replace("bar.sync 0;", "bar.sync 0; // standstill: allow(E0009)"));
    check(&[]).exits(0).prints(silenced);
    place.file("half.ptx", HALF.replace("ret;", "ret; // standstill: allow(E0009)"));
    check(&[]).exits(1);
}

#[test]
fn findings_stand_in_the_order_of_the_call_and_win_over_bad_input() {
    let place = place();
    place.file("other.ptx", HALF);
    let arguments = ["check", "other.ptx", "missing.ptx", "half.ptx", "--fail-on=warning", "--format=json"];
    let first = place.run(&arguments).exits(1);
    let json = first.json();
    let inputs: Vec<&str> =
        json["findings"].as_array().unwrap().iter().map(|f| f["input"].as_str().unwrap()).collect();
    assert_eq!(inputs, ["other.ptx", "half.ptx"]);
    assert_eq!(json["exit"], 1);
    assert_eq!(json["errors"][0]["file"], "missing.ptx");
    for _ in 0..3 {
        assert_eq!(place.run(&arguments).exits(1).out(), first.out(), "the same call gives the same bytes");
    }
}

#[test]
fn a_finding_without_a_line_table_points_into_the_ptx() {
    let place = place();
    let json = place.run(&["check", "half.ptx", "--block=256", "--format=json"]).exits(0).json();
    let finding = &json["findings"][0];
    assert_eq!(finding["code"], "E0009");
    assert_eq!(finding["kernel"], "half");
    assert_eq!(finding["symbol"], "_Z4halfPi");
    let primary: Vec<_> =
        finding["spans"].as_array().unwrap().iter().filter(|span| span["primary"] == true).collect();
    assert_eq!(primary.len(), 1);
    assert_eq!((&primary[0]["file"], &primary[0]["line"]), (&"half.ptx".into(), &11.into()));
    place.run(&["check", "half.ptx", "--block=256"]).exits(0).prints("bar.sync 0;").prints("half.ptx:11:");
    let junit = ["check", "half.ptx", "--block=256", "--fail-on=warning", "--format=junit"];
    place.run(&junit).exits(1).prints("<failure message=");
}
