//! `explore` with programs that have a `main`: they run up to the launch that is explored, with the memory that it finds there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

#[path = "common/cases.rs"]
mod cases;
mod common;

use std::path::PathBuf;
use std::process::Command;

use cases::{Case, compare, compiler, find_cases, judge_all, patiently, place};
use common::{Ran, Workplace};
use serde_json::Value;

/// Lock-free programs, and how to make the launch that each makes small enough.
const CASES: &[(&str, &str)] = &[
    ("atomic_mul_rmw.bug", "--grid 2 --block 1 --expect p1==15"),
    ("atomic_mul_rmw.fix", "--grid 2 --block 1 --expect p1==15"),
    ("atomic_mul_single_cas.bug", "--grid 2 --block 1 --param 2=1 --expect p1[0]==15"),
    ("atomic_mul_single_cas.fix", "--grid 2 --block 1 --param 2=1 --expect p1[0]==15"),
    ("cas_double_add.ok", "--grid 2 --block 1"),
    ("hazard_after_read.bug", "--grid 2 --block 1 --param 2=2"),
    ("hazard_after_read.fix", "--grid 2 --block 1 --param 2=2"),
    ("hazard_no_recheck.bug", "--grid 2 --block 1 --param 2=2"),
    ("hazard_no_recheck.fix", "--grid 2 --block 1 --param 2=2"),
    ("list_insert_stale_cas.bug", "--grid 2 --block 1"),
    ("list_insert_stale_cas.fix", "--grid 2 --block 1"),
    ("treiber_aba.bug", "--grid 2 --block 1 --param 1=2 --expect p0[34]==0"),
    ("treiber_aba.fix", "--grid 2 --block 1 --param 1=2 --expect p0[34]==0"),
    ("ttas_lock.ok", "--grid 2 --block 1"),
    ("spin_lock_lane.fix", "--grid 1 --block 2"),
    ("mp_block_scope.bug", "--block 1"),
    ("mp_block_scope.fix", "--block 1"),
    ("mp_reader_no_acquire.bug", "--block 1"),
    ("mp_reader_no_acquire.fix", "--block 1"),
    ("mp_writer_no_fence.bug", "--block 1"),
    ("mp_writer_no_fence.fix", "--block 1"),
    ("same_value_write.bug", "--grid 2 --block 5"),
    ("same_value_write.fix", "--grid 2 --block 5"),
    ("two_blocks_same_element.bug", "--grid 2 --block 3 --param 2=2"),
    ("two_blocks_same_element.fix", "--grid 2 --block 3 --param 2=2"),
];

/// Rules that exploring knows under another name: a missing order as the race that it leaves.
const EQUIVALENT: &[(&str, &str)] = &[
    ("missing-release", "global-race"),
    ("missing-acquire", "global-race"),
    ("scope-too-narrow", "global-race"),
];

fn flags(case: &Case) -> Option<&'static str> {
    let stem = PathBuf::from(&case.name).file_stem()?.to_str()?.to_owned();
    CASES.iter().find(|(name, _)| *name == stem).map(|(_, flags)| *flags)
}

#[test]
fn lock_free_programs_are_explored_from_what_they_have_in_memory() {
    let Some((_, version)) = compiler() else { return };
    let cases = find_cases(|case| case.name.starts_with("kernels/") && flags(case).is_some());
    judge_all(&cases, |case| judge(case, &version));
}

/// `STANDSTILL_EXPLORE_FOLDER` names another folder with programs of these names.
#[test]
fn so_are_those_of_another_folder() {
    let Some(folder) = std::env::var_os("STANDSTILL_EXPLORE_FOLDER").map(PathBuf::from) else { return };
    let Some((_, version)) = compiler() else { return };
    let read = |(name, _): &(&str, &str)| {
        let text = std::fs::read_to_string(folder.join(format!("{name}.cu"))).ok()?;
        Some(Case { is_bug: name.ends_with(".bug"), name: format!("{name}.cu"), text })
    };
    let cases: Vec<Case> = CASES.iter().filter_map(read).collect();
    assert!(!cases.is_empty(), "none of the programs is in {}", folder.display());
    judge_all(&cases, |case| judge(case, &version));
}

fn judge(case: &Case, version: &str) -> Result<(), String> {
    let wrong = |what: String| format!("{}: {what}", case.name);
    let (folder, stem) = place(case, version).map_err(wrong)?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_standstill"));
    command.current_dir(&folder).args(["explore", "--format", "json"]);
    command.args(flags(case).unwrap_or_default().split_whitespace()).arg(format!("{stem}.cu"));
    let output = patiently(&mut command).map_err(wrong)?;
    let answer: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| wrong(format!("{error}: {}", String::from_utf8_lossy(&output.stderr))))?;
    if let Some(error) = answer["errors"].as_array().and_then(|errors| errors.first()) {
        return Err(wrong(error.to_string()));
    }
    let explored = &answer["explored"];
    if explored["complete"] != true
        || !explored["origin"].as_str().unwrap_or_default().starts_with("launch 1")
    {
        return Err(wrong(format!("not all interleavings of the program's launch were tried: {explored}")));
    }
    let exit = i64::from(case.is_bug);
    if answer["exit"] != exit {
        return Err(wrong(format!("exit code {} instead of {exit}", answer["exit"])));
    }
    let found =
        |rule: &str| answer["findings"].as_array().into_iter().flatten().any(|one| one["rule"] == rule);
    if EQUIVALENT.iter().any(|(rule, other)| *rule == case.header("rule") && found(other)) {
        return Ok(());
    }
    compare(case, &answer, &stem)
}

/// Launches `first` once and `second` three times, with a list in memory.
const PROGRAM: &str = "#include <cstdio>\n#include <cstdlib>\n\
    struct Node { int value; Node *next; };\n\
    __device__ int total = 5;\n\
    __global__ void first(int *out) { *out = 1; }\n\
    __global__ void second(const Node *list, int *out) {\n\
      int sum = 0;\n\
      for (; list; list = list->next) sum += list->value;\n\
      atomicAdd(out, sum + total);\n\
    }\n\
    __global__ void third() { }\n\
    int main(int count, char **arguments) {\n\
      int *out, value = 0; Node *nodes;\n\
      if (count > 1) { fprintf(stderr, \"%s is too much\\n\", arguments[1]); return 7; }\n\
      cudaMalloc(&out, 4); cudaMalloc(&nodes, 2 * sizeof(Node));\n\
      Node list[2] = {{10, nodes + 1}, {20, nullptr}};\n\
      cudaMemcpy(nodes, list, sizeof list, cudaMemcpyHostToDevice);\n\
      first<<<1, 1>>>(out);\n\
      for (int i = 0; i < 3; i++) second<<<2000, 64>>>(nodes, out);\n\
      puts(\"printed\");\n\
      return cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost) != cudaSuccess;\n\
    }\n";

fn explore(place: &Workplace, arguments: &[&str]) -> Ran {
    let arguments: Vec<&str> = ["explore", "lists.cu"].iter().chain(arguments).copied().collect();
    place.run(&arguments)
}

#[test]
fn a_launch_finds_what_the_program_has_put_there() {
    if compiler().is_none() {
        return;
    }
    let place = Workplace::new();
    place.file("lists.cu", PROGRAM);
    // Pointers in memory lead where they led, and what earlier launches wrote is there.
    explore(&place, &["--entry", "second", "--grid", "2", "--block", "1", "--expect", "p1 == 71"])
        .exits(0)
        .prints(
            "explored: launch 1 of second as lists.cu makes it, <<<2000, 64>>>, changed by what was given",
        );
    let third = ["--entry", "second", "--launch", "3", "--grid", "1", "--block", "1"];
    explore(&place, &[&third[..], &["--expect", "p1 == 1 + 2 * 128000 * 35 + 35"]].concat()).exits(0);
    explore(&place, &["--launch", "1", "--expect", "p0 == 1 && total == 5"]).exits(0);
    let other = ["--param", "1=i32[7]", "--param", "0=0"];
    let small = ["--entry", "second", "--grid", "1", "--block", "1", "--expect", "p1[0] == 5"];
    explore(&place, &[&small[..], &other].concat()).exits(0);
}

#[test]
fn launches_that_do_not_come_are_told_of() {
    if compiler().is_none() {
        return;
    }
    let place = Workplace::new();
    place.file("lists.cu", PROGRAM);
    let check = |arguments: &[&str], parts: &[&str]| {
        let ran = explore(&place, arguments).exits(2);
        for part in parts {
            assert!(ran.err().contains(part), "{arguments:?}: {} instead of {part}", ran.err());
        }
    };
    check(
        &["--entry", "second"],
        &[
            "128000 threads cannot be explored",
            "the program launches 2000 blocks of 64 threads: explore a smaller launch with --grid and --block",
        ],
    );
    check(
        &["--entry", "second", "--launch", "4"],
        &[
            "the program ended with exit code 0 before launch 4 of second (--launch); it made 4 launches, of first, second.",
        ],
    );
    check(&["--entry", "third"], &["before a launch of third; it made 4 launches, of first, second."]);
    check(&["--entry", "fourth"], &["no kernel is named fourth; there are first"]);
    check(&["--", "this"], &["this is too much", "ended with exit code 7 and made no CUDA call"]);
    check(&["--no-run", "--launch", "2", "--entry", "first"], &["--launch counts the launches of a program"]);
    check(&["--no-run"], &["name one of its kernels with --entry: "]);
    check(&["--no-run", "--entry", "first", "--", "this"], &["it is not run, so that it has no arguments"]);
    let nothing = place.run(&["explore", "--", "/bin/true"]).exits(2);
    assert!(nothing.err().contains("made no CUDA call"), "{}", nothing.err());
    let missing = place.run(&["explore", "--", "./missing"]).exits(2);
    assert!(missing.err().contains("missing"), "{}", missing.err());
}
