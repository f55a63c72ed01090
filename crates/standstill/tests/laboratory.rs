//! Three hangs as `check` tells them: inside a block, across blocks, inside one thread.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on must stop, and says what it skips"
)]

mod common;

use std::process::Command;

use common::Workplace;
use serde_json::Value;
use standstill_toolchain::{Environment, locate};

/// Whether there is a compiler; without one a test says that it was skipped, and fails in CI.
fn has_compiler() -> bool {
    match locate(None, &Environment::from_process()) {
        Ok(_) => true,
        Err(error) => {
            assert!(std::env::var("CI").is_err(), "this test needs a CUDA compiler: {error}");
            println!("SKIPPED for want of a CUDA compiler");
            false
        }
    }
}

/// The findings on a source.
fn findings(source: &str, flags: &[&str]) -> Vec<Value> {
    let place = Workplace::new();
    place.file("x.cu", source);
    let command = [&["check", "x.cu", "--format=json", "--fail-on=never"], flags].concat();
    place.run(&command).exits(0).json()["findings"].as_array().unwrap().clone()
}

fn codes(findings: &[Value]) -> Vec<&str> {
    findings.iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

/// Lines 6 to 8 are the writer's branch.
fn hand_over(writer: &str) -> String {
    format!(
        "__global__ void hand_over(const int *in, int *out, int *flag) {{\n  __shared__ int tile[128];\n  \
         int t = threadIdx.x;\n  if (t < 128) {{\n    tile[t] = in[t];\n{writer}\n  }} else {{\n    \
         while (atomicAdd(flag, 0) == 0) {{}}\n    out[t - 128] = tile[t - 128];\n  }}\n}}\n"
    )
}

#[test]
fn a_barrier_keeps_back_the_write_that_the_others_wait_for() {
    if !has_compiler() {
        return;
    }
    let source = hand_over("    __syncthreads();\n    if (t == 0) atomicExch(flag, 1);");
    let found = findings(&source, &["--block=256", "--grid=1"]);
    assert_eq!(codes(&found), ["E0105"]);
    assert_eq!(
        found[0]["waits"]["sentence"],
        "threads 0–127 of block 0 wait at the barrier on line 6 for threads 128–255, which spin on `flag` (line 9); \
         only thread 0 writes `flag`, on line 7, after that barrier"
    );
    assert_eq!(found[0]["platforms"]["nvidia"], "hangs");
}

#[test]
fn a_flag_above_the_barrier_is_no_hang_but_unordered() {
    if !has_compiler() {
        return;
    }
    let source = hand_over("    if (t == 0) atomicExch(flag, 1);\n    __syncthreads();");
    let found = findings(&source, &["--block=256", "--grid=1"]);
    assert!(codes(&found).contains(&"E0203"), "{found:#?}");
    assert!(!codes(&found).contains(&"E0105"), "{found:#?}");
    assert!(found.iter().all(|finding| finding["platforms"]["nvidia"] != "hangs"), "{found:#?}");
}

const MEET: &str = "\
__device__ unsigned arrived;
__global__ void meet(const float *in, float *out) {
  float kept[64], sum = 0;
  for (int k = 0; k < WORDS; ++k) kept[k] = in[k * blockDim.x + threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&arrived, 1u);
    while (atomicAdd(&arrived, 0u) < gridDim.x) {}
  }
  __syncthreads();
  for (int k = 0; k < WORDS; ++k) sum += kept[k] * out[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
";

#[test]
fn a_grid_beyond_the_capacity_names_it() {
    if !has_compiler() {
        return;
    }
    let source = MEET.replace("WORDS", "0");
    let found = findings(&source, &["--block=256", "--grid=161", "--gpu=t4", "--regs=32"]);
    assert_eq!(codes(&found), ["E0104"]);
    assert_eq!(found[0]["severity"], "error");
    let sentence = found[0]["waits"]["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("blocks 0–159 hold all 160 places and spin on line 8 for all 161 blocks"),
        "{sentence}"
    );
    let found = findings(&source, &["--block=256", "--grid=160", "--gpu=t4", "--regs=32"]);
    assert!(found.iter().all(|finding| finding["severity"] == "note"), "{found:#?}");
}

/// Registers of compiled code beside the PTX count, whatever the flag says.
#[test]
fn registers_of_compiled_code_limit_the_capacity() {
    if !has_compiler() {
        return;
    }
    let compiler = locate(None, &Environment::from_process()).unwrap();
    if !compiler.path.ends_with("nvcc") {
        println!("SKIPPED: only nvcc writes a fatbin with both");
        return;
    }
    let place = Workplace::new();
    place.file("x.cu", MEET.replace("WORDS", "64"));
    let flags = ["-fatbin", "-gencode", "arch=compute_75,code=[compute_75,sm_75]", "-o", "x.fatbin", "x.cu"];
    let made = Command::new(&compiler.path).current_dir(place.folder.path()).args(flags).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let check =
        ["check", "x.fatbin", "--block=256", "--gpu=t4", "--regs=16", "--format=json", "--fail-on=never"];
    let of_grid = |grid: &str| {
        let json = place.run(&[&check[..], &["--grid", grid]].concat()).exits(0).json();
        json["findings"].as_array().unwrap().iter().find(|f| f["code"] == "E0104").cloned().unwrap()
    };
    // More than 64 registers for each of 256 threads: at most three blocks on each of 40 multiprocessors.
    let beyond = of_grid("160");
    assert_eq!(beyond["severity"], "error", "{beyond:#}");
    let assumed = beyond["assumes"][0].as_str().unwrap();
    let registers: u32 = assumed.split(' ').next().unwrap().parse().unwrap();
    assert!((65..=128).contains(&registers), "{assumed}");
    assert_eq!(of_grid("40")["severity"], "note");
}

#[test]
fn a_sum_that_must_hit_one_exactly() {
    if !has_compiler() {
        return;
    }
    let source = |test: &str| {
        format!(
            "__global__ void steps(const float *in, float *total, int *count) {{\n  float x = 0.0f;\n  \
             int n = 0, i = threadIdx.x;\n  while (x {test} 1.0f) {{\n    x += in[i];\n    ++n;\n  }}\n  \
             total[i] = x;\n  count[i] = n;\n}}\n"
        )
    };
    let found = findings(&source("!="), &["--block=32", "--grid=1"]);
    assert_eq!(codes(&found), ["E0107"]);
    let message = found[0]["message"].as_str().unwrap();
    assert!(message.contains("only when `x` equals `1.0f` exactly"), "{message}");
    assert_eq!(found[0]["spans"][0]["line"], 4);
    assert_eq!(codes(&findings(&source("<"), &["--block=32", "--grid=1"])), Vec::<&str>::new());
}
