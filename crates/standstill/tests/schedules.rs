//! Schedules that exploring saves: the software GPU takes the same steps and shows the same fault; files that do not fit are
//! told of.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

#[path = "common/cases.rs"]
mod cases;
mod common;

use std::process::Command;

use cases::{Case, compiler, find_cases, judge_all, patiently, place};
use common::Workplace;
use serde_json::Value;

#[test]
fn every_fault_that_exploring_finds_shows_again() {
    let Some((_, version)) = compiler() else { return };
    judge_all(
        &find_cases(|case| {
            // Millions of turns of a loop are not followed one by one.
            let long = case.name.ends_with("float_steps.bug.cu");
            case.header("where") == "explore" && case.is_bug && !long
        }),
        |case| judge(case, &version),
    );
}

fn judge(case: &Case, version: &str) -> Result<(), String> {
    let wrong = |what: String| format!("{}: {what}", case.name);
    let (folder, stem) = place(case, version).map_err(wrong)?;
    let kept = tempfile::tempdir().map_err(|error| wrong(error.to_string()))?;
    let standstill = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_standstill"));
        command.current_dir(&folder);
        command
    };
    let mut explore = standstill();
    explore.args(["explore", "--format", "json", "--evidence"]).arg(kept.path());
    explore.args(case.header("explore").split_whitespace()).arg(format!("{stem}.cu"));
    let found = patiently(&mut explore).map_err(wrong)?;
    let found: Value = serde_json::from_slice(&found.stdout).map_err(|error| wrong(error.to_string()))?;
    let findings = found["findings"].as_array().map_or(0, Vec::len);
    for number in 1..=findings {
        let name = if number == 1 { "schedule.json".to_owned() } else { format!("schedule.{number}.json") };
        let mut replay = standstill();
        replay.args(["run", "--format", "json", "--replay"]).arg(kept.path().join(&name));
        let output = patiently(&mut replay).map_err(wrong)?;
        let said = String::from_utf8_lossy(&output.stderr);
        let report = said.find('{').and_then(|at| said.get(at..)).unwrap_or_default();
        let report: Value =
            serde_json::from_str(report).map_err(|error| wrong(format!("{name}: {error}: {said}")))?;
        let shown = &report["findings"][0];
        let rule = |one: &Value| one["rule"] == shown["rule"] && one["spans"] == shown["spans"];
        if output.status.code() != Some(1)
            || shown["known"] != "observed"
            || !found["findings"].as_array().into_iter().flatten().any(rule)
        {
            return Err(wrong(format!("{name}: {report}")));
        }
    }
    if findings == 0 { Err(wrong(format!("nothing was found: {found}"))) } else { Ok(()) }
}

/// Two threads that each add one, not at once.
const ADD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 total;\n\
    .visible .entry add()\n{\n.reg .b32 %r<3>;\n\
    ld.volatile.global.u32 %r1, [total];\nadd.u32 %r2, %r1, 1;\nst.volatile.global.u32 [total], %r2;\nret;\n}\n";

const EXPLORE: [&str; 9] = [
    "explore",
    "add.ptx",
    "--grid",
    "2",
    "--expect",
    "total == 2",
    "--save",
    "saved.json",
    "--no-schedulers",
];

fn saved() -> Workplace {
    let place = Workplace::new();
    place.file("add.ptx", ADD);
    place.run(&EXPLORE).exits(1).prints("replay with standstill run --replay saved.json");
    place
}

#[test]
fn a_saved_schedule_shows_the_fault_again() {
    let place = saved();
    let replay = place.run(&["run", "--replay", "saved.json"]).exits(1);
    let replay = replay.says("replayed 4 accesses of add on the software GPU");
    replay
        .says("E0205")
        .says("on the software GPU: at the end `total == 2` does not hold")
        .says("add.ptx:10");
    let saved: Value = serde_json::from_slice(&std::fs::read(place.path("saved.json")).unwrap()).unwrap();
    let does: Vec<&str> =
        saved["steps"].as_array().unwrap().iter().map(|step| step["does"].as_str().unwrap()).collect();
    assert_eq!(does, ["reads total = 0", "reads total = 0", "writes total = 1", "writes total = 1"]);
    assert_eq!((&saved["format"], &saved["version"]), (&"standstill-schedule".into(), &1.into()));
    let report =
        place.run(&[&EXPLORE[..], &["--format", "json", "--html", "page.html"]].concat()).exits(1).json();
    let steps = report["findings"][0]["schedule"].as_array().unwrap().clone();
    let lines: Vec<(&str, u64, &str)> = steps
        .iter()
        .map(|step| {
            let text = |key: &str| step[key].as_str().unwrap();
            assert_eq!(text("file"), "add.ptx");
            (text("thread"), step["line"].as_u64().unwrap(), text("does"))
        })
        .collect();
    let expected = [
        ("thread 0 of block 0", 8, "reads total = 0"),
        ("thread 0 of block 1", 8, "reads total = 0"),
        ("thread 0 of block 0", 10, "writes total = 1"),
        ("thread 0 of block 1", 10, "writes total = 1"),
    ];
    assert_eq!(lines, expected);
    assert_eq!(steps[3]["fault"], true);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("<div class=\"step fault\">✗ writes total = 1</div>"), "{page}");
    // The input is found beside the schedule, or where the call says.
    let elsewhere = Workplace::new();
    let copy = |name: &str| std::fs::copy(place.path(name), elsewhere.path(name)).unwrap();
    copy("saved.json");
    elsewhere.run(&["run", "--replay", "saved.json"]).exits(125).says("there is no such file");
    let named = place.path("add.ptx").display().to_string();
    elsewhere.run(&["run", "--replay", "saved.json", &named]).exits(1);
    copy("add.ptx");
    elsewhere.run(&["run", "--replay", "saved.json"]).exits(1);
}

#[test]
fn the_folder_of_evidence_holds_all_of_it() {
    let place = Workplace::new();
    place.file("add.ptx", ADD);
    let kept = ["explore", "add.ptx", "--grid", "2", "--expect", "total == 2", "--evidence", "kept/here"];
    place.run(&kept).exits(1).prints("replay with standstill run --replay kept/here/schedule.json");
    assert_eq!(std::fs::read_to_string(place.path("kept/here/kernel.ptx")).unwrap(), ADD);
    let report = std::fs::read(place.path("kept/here/report.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(report["findings"][0]["replay"], "standstill run --replay kept/here/schedule.json");
    place.run(&["run", "--replay", "kept/here/schedule.json"]).exits(1);
}

#[test]
fn schedules_that_do_not_fit_are_told_of() {
    let place = saved();
    let text = std::fs::read_to_string(place.path("saved.json")).unwrap();
    let check = |text: &str, part: &str| {
        place.file("other.json", text);
        let ran = place.run(&["run", "--replay", "other.json"]).exits(125);
        assert!(ran.err().contains(part), "{} instead of {part}", ran.err());
    };
    for length in [0, 1, 100, text.len() / 2, text.len() - 3] {
        check(&text[..length], "other.json: this is no schedule, or a part of one");
    }
    check("[1]", "this is no schedule: `explore --save FILE` writes them");
    check(&text.replace("\"version\": 1", "\"version\": 2"), "it is of version 2, and version 1 is read");
    check(&text.replace("\"steps\"", "\"stops\""), "the schedule is damaged: missing field `steps`");
    check(
        &text.replace("\"kernel\": \"add\"", "\"kernel\": \"other\""),
        "there is no kernel `other`; there are add",
    );
    check(&text.replace("\"bytes\": 4,", "\"bytes\": 99999999999,"), "are more than");
    // Each field of a step, and where threads stand, must be what the program does.
    let first = "does not fit the program at step 1, thread 0 of block 0";
    let edit = |field: &str, from: &str, to: &str| {
        let (from, to) = (format!("\"{field}\": {from}"), format!("\"{field}\": {to}"));
        assert!(text.contains(&from), "{from}");
        text.replacen(&from, &to, 1)
    };
    check(&edit("does", "\"reads total = 0\"", "\"reads total = 1\""), "reads total = 1 at byte");
    check(&edit("before", "0", "5"), "touches other bytes, or finds or leaves other values");
    check(&edit("after", "0", "5"), first);
    check(&edit("bytes", "4", "2"), first);
    check(&edit("shared", "false", "true"), first);
    check(
        &edit("line", "0", "3"),
        "thread 0 of block 0 reads total = 0 on line 3: the thread reads total = 0 at byte",
    );
    let mut other: Value = serde_json::from_str(&text).unwrap();
    let with = |changed: &Value| serde_json::to_string(changed).unwrap();
    other["steps"][0]["touches"] = Value::Null;
    check(&with(&other), first);
    let mut other: Value = serde_json::from_str(&text).unwrap();
    other["steps"][0]["thread"] = 7.into();
    check(
        &with(&other),
        "step 1, thread 7 of block 0 reads total = 0 at byte 105 of the PTX: the thread makes no access there",
    );
    let mut other: Value = serde_json::from_str(&text).unwrap();
    other["steps"].as_array_mut().unwrap().remove(1);
    check(&with(&other), "does not fit the program at step 3, thread 0 of block 1 writes total = 1");
    let mut other: Value = serde_json::from_str(&text).unwrap();
    other["steps"].as_array_mut().unwrap().pop();
    check(&with(&other), "threads stand elsewhere behind the last step");
    place.file("add.ptx", ADD.replace("%r1, 1", "%r1, 2"));
    check(&text, "add.ptx: this is not the file that other.json was found in: its content has changed since");
    std::fs::remove_file(place.path("add.ptx")).unwrap();
    check(
        &text,
        "the schedule was found in this file: name it behind --replay other.json where it is elsewhere",
    );
    place.run(&["run", "--replay", "missing.json"]).exits(125).says("missing.json: there is no such file");
}
