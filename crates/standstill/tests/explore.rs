//! The labelled programs under `tests/cases/explore`: each fault must be found in some interleaving, on its marked line and by a
//! schedule of the length that the header names; right programs must raise nothing in any. And the command with
//! launches that cannot be explored.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

#[path = "common/cases.rs"]
mod cases;
mod common;

use std::path::Path;
use std::process::Command;

use cases::{Case, compare, compiler, find_cases, judge_all, patiently, place};
use common::Workplace;
use serde_json::Value;

#[test]
fn every_case_is_explored_as_its_header_says() {
    let Some((_, version)) = compiler() else { return };
    judge_all(&find_cases(|case| case.header("where") == "explore"), |case| judge(case, &version));
}

/// Lock-free programs among the other cases, each with a launch of two or three threads: name, entry, arguments.
const LOCK_FREE: [(&str, &str); 8] = [
    ("atomic_mul_rmw", "--grid 2 --param 0=u32[3,5] --param 1=u32[1,]"),
    ("atomic_mul_single_cas", "--grid 2 --param 0=u32[3,5] --param 1=u32[1,] --param 2=1"),
    ("cas_double_add", "--grid 3 --param 0=f64[0.0,]"),
    (
        "grid_barrier_reuse",
        "--grid 2 --param 0=i32[1,2] --param 1=i32[2] --param 2=i32[2] --param 3=i32[2] --param 5=2",
    ),
    ("hazard_after_read", HAZARD),
    ("hazard_no_recheck", HAZARD),
    (
        "treiber_aba",
        "--grid 2 --param 1=1 --param 0=u32[0,0,1,2,3,-1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]",
    ),
    ("ttas_lock", "--grid 3 --param 0=u32[0,] --param 1=u32[0,] --param 2=2 --expect p1==12"),
];
const HAZARD: &str = "--grid 2 --param 1=u32[32] --param 2=1 --param \
    0=u32[0,1,2,3,0,7,14,21,1,2,3,-1,0,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1]";

#[test]
fn lock_free_programs_are_judged_in_all_interleavings() {
    let Some((_, version)) = compiler() else { return };
    let launch = |case: &Case| {
        let name = case.name.strip_prefix("kernels/")?.split('.').next()?;
        LOCK_FREE.iter().find(|(known, _)| *known == name).map(|(_, launch)| *launch)
    };
    let cases = find_cases(|case| launch(case).is_some());
    judge_all(&cases, |case| {
        let (folder, stem) = place(case, &version)?;
        let launch = format!("--no-run --no-schedulers {}", launch(case).unwrap_or_default());
        explore(case, &folder, &stem, &launch, None).map_err(|what| format!("{}: {what}", case.name))
    });
}

fn judge(case: &Case, version: &str) -> Result<(), String> {
    let (folder, stem) = place(case, version).map_err(|what| format!("{}: {what}", case.name))?;
    let mut steps = case.header("steps").split_whitespace();
    let mut launches = case.text.lines().filter_map(|line| line.strip_prefix("// explore:"));
    launches.try_for_each(|launch| {
        let steps = steps.next().and_then(|steps| steps.parse().ok());
        explore(case, &folder, &stem, launch, steps)
            .map_err(|what| format!("{} with {}: {what}", case.name, launch.trim()))
    })
}

/// One launch of a case, as its header says; `steps` of the shortest schedule.
fn explore(case: &Case, folder: &Path, stem: &str, launch: &str, steps: Option<usize>) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_standstill"));
    command.current_dir(folder).args(["explore", "--format", "json"]);
    command.args(launch.split_whitespace()).arg(format!("{stem}.cu"));
    let output = patiently(&mut command)?;
    let answer: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    compare(case, &answer, stem)?;
    let explored = &answer["explored"];
    if explored["complete"] != true {
        return Err(format!("not all interleavings were tried: {explored}"));
    }
    let exit = i64::from(case.is_bug);
    if answer["exit"] != exit {
        return Err(format!("exit code {} instead of {exit}: {}", answer["exit"], answer["errors"]));
    }
    let progress = case.header("progress");
    if !explored["progress"].as_str().unwrap_or_default().starts_with(progress) {
        return Err(format!("forward progress: {} instead of {progress}", explored["progress"]));
    }
    let ends = case.header("ends");
    let schedulers = explored["schedulers"].as_object().into_iter().flatten();
    let weak = schedulers
        .filter(|(name, ends)| !name.starts_with("STRONG") && !name.ends_with("_STRONG") && **ends == true);
    let weak: Vec<&str> = weak.map(|(name, _)| name.as_str()).collect();
    let wanted: Vec<&str> = ends.split_whitespace().collect();
    if !ends.is_empty() && (weak.len() != wanted.len() || !wanted.iter().all(|name| weak.contains(name))) {
        return Err(format!("ends under {weak:?} instead of {wanted:?}"));
    }
    match steps {
        Some(steps) if !shows_steps(&answer, steps) => Err(format!("not by {steps} steps: {answer}")),
        _ => Ok(()),
    }
}

/// Whether the finding's schedule has so many steps.
fn shows_steps(answer: &Value, steps: usize) -> bool {
    let notes = answer["findings"][0]["notes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let head = match steps {
        1 => "the shortest schedule has 1 step:".to_owned(),
        steps => format!("the shortest schedule has {steps} steps:"),
    };
    let tables: Vec<&str> = notes.filter(|note| note.starts_with("the shortest schedule")).collect();
    if steps == 0 { tables.is_empty() } else { tables.iter().any(|note| note.starts_with(&head)) }
}

/// A kernel that adds to a counter, without a compiler.
const COUNT: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 total;\n\
    .visible .entry count(.param .u64 p)\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<2>;\n\
    atom.global.add.u32 %r1, [total], 1;\nret;\n}\n\
    .visible .entry circle()\n{\nL: bra L;\n}\n\
    .visible .entry grow(.param .u64 p)\n{\n.reg .b32 %r<3>;\n.reg .pred %p<2>;\n\
    L: ld.volatile.global.u32 %r1, [total];\nadd.u32 %r2, %r2, 1;\nst.volatile.global.u32 [total], %r2;\n\
    setp.ne.u32 %p1, %r1, 4294967295;\n@%p1 bra L;\nret;\n}\n\
    .visible .entry fails(.param .u64 p)\n{\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\n\
    mov.u32 %r3, %ctaid.x;\nsetp.eq.u32 %p1, %r3, 1;\n@%p1 bra T;\n\
    L: ld.volatile.global.u32 %r1, [total];\nadd.u32 %r2, %r2, 1;\nst.volatile.global.u32 [total], %r2;\nbra L;\n\
    T: ld.volatile.global.u32 %r1, [total];\ntrap;\n}\n\
    .visible .entry clock()\n{\n.reg .b32 %r<3>;\nmov.u32 %r1, %clock;\nret;\n}\n";

#[test]
fn a_launch_in_which_nothing_is_wrong_says_how_much_was_tried() {
    let place = Workplace::new();
    place.file("count.ptx", COUNT);
    let explored =
        place.run(&["explore", "count.ptx", "--entry", "count", "--grid", "4", "--expect", "total == 4"]);
    explored.exits(0).prints("all interleavings were tried: 5 states").prints("guaranteed");
}

#[test]
fn a_scheduler_has_a_policy_for_each_level() {
    let place = Workplace::new();
    place.file("wait.ptx", WAIT);
    let explore = |scheduler: &str| {
        place.run(&["explore", "wait.ptx", "--block", "2", "--scheduler", scheduler]).exits(0)
    };
    explore("warp=FAIR").prints("guaranteed").prints("STRONG_FAIR, warp=FAIR");
    explore("grid=OBE,warp=HSA").prints("can hang under grid=OBE,warp=HSA");
    let wrong = place.run(&["explore", "wait.ptx", "--scheduler", "lane=FAIR"]).exits(2);
    assert!(
        wrong.err().contains("`lane` is no level; there are grid, cluster, block and warp"),
        "{}",
        wrong.err()
    );
}

#[test]
fn the_blocks_of_a_cluster_go_on_together() {
    let place = Workplace::new();
    place.file("wait.ptx", WAIT.replace("%tid.x", "%ctaid.x"));
    let explore =
        |more: &[&str]| place.run(&[&["explore", "wait.ptx", "--grid", "2"], more].concat()).exits(0);
    explore(&[]).prints("works only because of how today's cards schedule");
    explore(&["--cluster", "2"]).prints("forward progress: guaranteed");
    let asked = explore(&["--cluster", "2", "--scheduler", "cluster=HSA"]);
    asked.prints("can hang under cluster=HSA");
}

/// Thread 0 waits for thread 1.
const WAIT: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 flag;\n\
    .visible .entry wait()\n{\n.reg .b32 %r<3>;\n.reg .pred %p<3>;\nmov.u32 %r1, %tid.x;\n\
    setp.ne.u32 %p1, %r1, 0;\n@%p1 bra SET;\n\
    L: ld.volatile.global.u32 %r2, [flag];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra L;\nret;\n\
    SET: st.volatile.global.u32 [flag], 1;\nret;\n}\n";

#[test]
fn a_loop_that_never_ends_is_found() {
    let place = Workplace::new();
    place.file("count.ptx", COUNT);
    let explored = place.run(&["explore", "count.ptx", "--entry", "circle"]);
    explored
        .exits(1)
        .prints("E0107")
        .prints("no execution of this launch ends")
        .prints("can hang under every");
}

#[test]
fn a_space_of_states_over_the_limit_keeps_what_was_found() {
    let place = Workplace::new();
    place.file("count.ptx", COUNT);
    let arguments = ["explore", "count.ptx", "--entry", "grow", "--grid", "2", "--max-states", "5000"];
    place
        .run(&arguments)
        .exits(3)
        .prints("not all interleavings were tried: there are more than 5000 states");
    let arguments = ["explore", "count.ptx", "--entry", "fails", "--grid", "2", "--max-states", "5000"];
    place.run(&arguments).exits(1).prints("a trap").prints("there are more than 5000 states");
    let arguments = ["explore", "count.ptx", "--entry", "grow", "--grid", "2", "--memory", "4M"];
    place.run(&arguments).exits(3).prints("not all interleavings were tried: the states take more than 4 MB");
}

/// Every thread writes a place of its own: with 1,024 threads each state is followed by as many.
const SPREAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 total;\n.global .u32 many[1024];\n\
    .visible .entry spread()\n{\n.reg .b32 %r<6>;\n.reg .b64 %rd<6>;\nmov.u32 %r1, %tid.x;\n\
    mul.wide.u32 %rd1, %r1, 4;\nmov.u64 %rd2, many;\nadd.u64 %rd3, %rd1, %rd2;\n\
    atom.global.add.u32 %r2, [total], %r1;\nst.volatile.global.u32 [%rd3], %r2;\n\
    atom.global.add.u32 %r3, [total], %r1;\nret;\n}\n";

#[test]
fn the_limit_on_memory_is_kept() {
    let place = Workplace::new();
    place.file("spread.ptx", SPREAD);
    let mut command = Command::new("sh");
    let call = "ulimit -v 500000; exec \"$0\" explore spread.ptx --block 1024 --memory 50M";
    command.env("MALLOC_ARENA_MAX", "1").current_dir(place.folder.path()).args(["-c", call]);
    let ran = command.arg(env!("CARGO_BIN_EXE_standstill")).output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.code(), Some(3), "{out}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(out.contains("not all interleavings were tried: the states take more than 50 MB"), "{out}");
}

/// A kernel of one thread with these marks, each followed by an access.
fn marked(marks: &[&str]) -> String {
    let line = |(mark, number): (&&str, usize)| {
        let operation = match mark.split_once(' ') {
            None => format!("mov.b64 standstill_{mark}, 0"),
            Some((mark, structure)) => format!("mad.lo.u64 standstill_{mark}, {structure}, 0, 0"),
        };
        let name = mark.split(' ').next().unwrap_or_default();
        format!(
            ".loc 1 {} 1\n{{ .reg .b64 standstill_{name}; {operation}; }}\nld.volatile.global.u32 %r1, [total];\n",
            number + 11
        )
    };
    let lines: String = marks.iter().zip(0..).map(line).collect();
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 total;\n.global .u32 other;\n\
         .file 1 \"marks.cu\"\n.visible .entry k()\n{{\n.reg .b32 %r<3>;\n.reg .b64 %rd<3>;\n\
         mov.u64 %rd1, total;\nmov.u64 %rd2, other;\n{lines}ret;\n}}\n"
    )
}

#[test]
fn marks_of_operations_that_do_not_fit_are_told() {
    let place = Workplace::new();
    let check = |marks: &[&str], line: u32, words: &str| {
        place.file("marks.ptx", marked(marks));
        let answer = place.run(&["explore", "marks.ptx", "--format", "json"]).json();
        let findings = answer["findings"].as_array().unwrap();
        let told: Vec<String> = findings
            .iter()
            .map(|finding| format!("{} {}", finding["spans"][0]["line"], finding["message"]))
            .collect();
        if words.is_empty() {
            assert!(told.is_empty() && answer["exit"] == 0, "{marks:?}: {told:?}");
        } else {
            let right =
                told.len() == 1 && told[0].starts_with(&format!("{line} ")) && told[0].contains(words);
            assert!(right && answer["exit"] == 3, "{marks:?}: {told:?}, exit code {}", answer["exit"]);
        }
    };
    check(&["begins_stack_push %rd1", "ends", "begins_counter_get %rd2", "ends"], 0, "");
    check(&["begins_stack_shove %rd1"], 11, "no structure has the operation that this mark names");
    check(&["held_stack %rd1"], 11, "no structure has the operation");
    check(&["ends"], 11, "an operation ends here that its thread has not begun");
    check(&["begins_stack_push %rd1", "ends", "ends"], 13, "that its thread has not begun");
    check(&["begins_stack_push %rd1"], 11, "the operation that begins here never ends");
    check(
        &["begins_stack_push %rd1", "begins_stack_push %rd1", "ends"],
        12,
        "begins here before the one that its thread began last has ended",
    );
    check(&["begins_stack_push %rd1", "begins_queue_push %rd2", "ends"], 12, "began last has ended");
    check(
        &["begins_stack_push %rd1", "ends", "begins_counter_get %rd1", "ends"],
        13,
        "this is an operation of a counter, and the structure at its address is a stack",
    );
}

#[test]
fn what_is_not_explored_is_no_success() {
    let place = Workplace::new();
    place.file("count.ptx", COUNT);
    place
        .run(&["explore", "count.ptx", "--entry", "clock"])
        .exits(3)
        .prints("a read of the clock is not explored")
        .prints("not all interleavings were tried: a read of the clock is not explored");
}

#[test]
fn wrong_calls_are_told_what_is_wrong() {
    let place = Workplace::new();
    place.file("count.ptx", COUNT);
    let check = |arguments: &[&str], part: &str| {
        let arguments: Vec<&str> = ["explore", "count.ptx"].iter().chain(arguments).copied().collect();
        let ran = place.run(&arguments).exits(2);
        assert!(ran.err().contains(part), "{arguments:?}: {} instead of {part}", ran.err());
    };
    check(&[], "name one of its kernels with --entry: count, circle, grow, fails, clock");
    check(&["--entry", "other"], "no kernel is named other; there are count");
    check(&["--entry", "count", "--grid", "100", "--block", "100"], "10000 threads cannot be explored");
    check(&["--entry", "count", "--expect", "total = 4"], "`=` compares nothing; write `==` (at character 7");
    check(&["--entry", "count", "--expect", "totl == 4"], "no memory is called `totl`; known are total, p0");
    check(&["--entry", "count", "--param", "3=1"], "--param 3: the kernel has 1 parameters");
}
