//! Programs with streams on the software GPU, and the traces that they leave.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on must stop"
)]

mod common;

use std::path::Path;

use common::Workplace;
use standstill_toolchain::{Environment, locate};

/// A folder with a program of the examples; `None` without a compiler.
fn example(name: &str) -> Option<Workplace> {
    if let Err(error) = locate(None, &Environment::from_process()) {
        assert!(std::env::var("CI").is_err(), "this test needs a CUDA compiler: {error}");
        println!("SKIPPED for want of a CUDA compiler ({error})");
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/streams").join(name);
    let place = Workplace::new();
    place.file(name, std::fs::read_to_string(source).unwrap());
    Some(place)
}

/// Line numbers of the example, by something that stands there.
fn line(place: &Workplace, file: &str, part: &str) -> String {
    let text = std::fs::read_to_string(place.path(file)).unwrap();
    let at = text.lines().position(|line| line.contains(part)).unwrap();
    format!("{file}:{}:", at + 1)
}

#[test]
fn the_contract_is_kept_for_every_size() {
    let Some(place) = example("contract.cu") else { return };
    for size in ["1", "257", "4096", "4097"] {
        let said = format!("elements={size} mismatches=0");
        place.run(&["run", "--device", "sim", "contract.cu", size]).exits(0).prints(&said);
    }
    // The check itself: numbers that differ are told.
    let ran = place.run(&["run", "--device", "sim", "contract.cu", "4096", "2"]);
    ran.exits(2).prints("elements=4096 mismatches=4096");
}

#[test]
fn each_mistake_is_found_on_its_line_whatever_it_printed() {
    let Some(place) = example("contract.cu") else { return };
    let consumer = line(&place, "contract.cu", "plus_one<<<");
    let faults = [
        ("1", "E0301", consumer.clone()),
        ("2", "E0301", consumer.clone()),
        ("3", "E0302", consumer.clone()),
        ("4", "E0302", consumer.clone()),
        ("5", "E0303", consumer),
        ("6", "E0301", line(&place, "contract.cu", "cudaMemsetAsync(in")),
        ("7", "E0305", line(&place, "contract.cu", "out[i] != float")),
        ("9", "E0306", line(&place, "contract.cu", "in[0] = -1.0f")),
        ("8", "E0308", line(&place, "contract.cu", "cudaFreeAsync(buffer, producer)")),
    ];
    for (fault, code, at) in faults {
        for schedule in ["round-robin", "random"] {
            let define = format!("--cflags=-DFAULT={fault}");
            let ran = place.run(&["run", "--device", "sim", "--schedule", schedule, &define, "contract.cu"]);
            ran.exits(1).says(&format!("error[{code}]")).says(&at);
        }
    }
}

#[test]
fn the_adversarial_order_makes_a_missing_edge_show_in_the_numbers() {
    let Some(place) = example("contract.cu") else { return };
    let run = |fault: u32| {
        let define = format!("--cflags=-DFAULT={fault}");
        place.run(&["run", "--device", "sim", "--order", "adversarial", &define, "contract.cu"])
    };
    run(0).exits(0).prints("mismatches=0");
    for fault in 1..=6 {
        let out = run(fault).exits(1).out();
        assert!(!out.contains("mismatches=0"), "fault {fault}: {out}");
    }
}

#[test]
fn a_pipeline_is_clean_for_any_number_of_slots_and_found_without_its_event() {
    let Some(place) = example("pipeline.cu") else { return };
    for slots in ["1", "2", "4"] {
        place.run(&["run", "--device", "sim", "pipeline.cu", slots]).exits(0).prints("mismatches=0");
        let ran = place.run(&["run", "--device", "sim", "--cflags=-DFAULT=1", "pipeline.cu", slots]);
        ran.exits(1).says("error[E0307]").says(&line(&place, "pipeline.cu", "cudaMemcpyAsync(slot.in"));
    }
}

#[test]
fn a_trace_is_judged_again_without_the_program() {
    let Some(place) = example("contract.cu") else { return };
    let arguments = ["run", "--device", "sim", "--trace", "t", "--cflags=-DFAULT=1", "contract.cu"];
    place.run(&arguments).exits(1).says("error[E0301]");
    let at = line(&place, "contract.cu", "plus_one<<<");
    place.run(&["streams", "t"]).exits(1).prints("error[E0301]").prints(&at);
    place.run(&["streams", "--allow", "stream-race", "t"]).exits(0);
    place
        .run(&["streams", "--dump", "t"])
        .exits(0)
        .prints("stream 2")
        .prints("has touched")
        .prints(at.trim_end_matches(':'));

    let dumped = place.run(&["streams", "--dump", "--format", "json", "t"]).exits(0).out();
    let dumped: serde_json::Value = serde_json::from_str(&dumped).unwrap();
    let records = dumped["records"].as_array().unwrap();
    let kernel = records.iter().find(|record| !record["call"]["Submit"]["work"]["Kernel"].is_null()).unwrap();
    assert!(kernel["place"]["line"].as_u64() > Some(0) && dumped["damage"].is_null(), "{kernel}");

    place.run(&["streams", "--html", "t.html", "t"]).exits(1);
    let page = std::fs::read_to_string(place.path("t.html")).unwrap();
    assert!(page.contains("<a href=\"#f1\">E0301</a>") && page.contains(">no order</text>"), "{page}");

    place
        .run(&["streams", "--allow", "stream-race", "t"])
        .exits(0)
        .prints("no findings; 1 silenced; checked 6 operations\n");
    let unwritable = ["run", "--device", "sim", "--html", "/none/x.html", "contract.cu"];
    place.run(&unwritable).exits(125).says("/none/x.html");

    // Cut short, as when the program is killed: what is there is judged, and the cut is told.
    let bytes = std::fs::read(place.path("t")).unwrap();
    place.file("cut", &bytes[..bytes.len() - 3]);
    place.run(&["streams", "cut"]).exits(1).prints("error[E0301]").says("is cut short");
    place.file("other", "no trace at all");
    place
        .run(&["streams", "other", "t"])
        .exits(1)
        .says("it is no trace of Standstill")
        .prints("error[E0301]");
    place.run(&["streams", "missing"]).exits(2);
}

/// A kernel that faults, and a host that reads the result after the error was answered.
const FAULTING: &str = r#"
#include <cuda_runtime.h>
#include <cstdio>
__global__ void beyond(int *p) { p[threadIdx.x + 100000000] = 1; }
int main() {
    int *p, *host;
    cudaStream_t stream;
    cudaMalloc(&p, 4096); cudaMallocHost(&host, 4096); host[0] = 0;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    beyond<<<1, 32, 0, stream>>>(p);
    cudaMemcpyAsync(host, p, 4096, cudaMemcpyDeviceToHost, stream);
    cudaError_t error = cudaStreamSynchronize(stream);
    printf("%s %d\n", cudaGetErrorString(error), host[0]);
    cudaFreeHost(host);
}
"#;

#[test]
fn nothing_runs_any_more_when_the_device_is_broken() {
    let Some(place) = example("contract.cu") else { return };
    place.file("faulting.cu", FAULTING);
    let ran = place.run(&["run", "--device", "sim", "--format", "json", "--output", "report", "faulting.cu"]);
    ran.exits(1).prints("illegal memory access");
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(place.path("report")).unwrap()).unwrap();
    let raised = report["findings"].as_array().unwrap().iter().filter(|it| it["severity"] != "note");
    let codes: Vec<&str> = raised.filter_map(|finding| finding["code"].as_str()).collect();
    assert_eq!(codes, ["E0210"]);
}
