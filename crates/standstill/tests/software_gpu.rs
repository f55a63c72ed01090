//! Programs on the software GPU that do what they should not, and what each of them and its user is told.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on must stop"
)]

mod common;

use std::path::{Path, PathBuf};

use common::{Ran, Workplace};
use standstill_toolchain::{Environment, locate};

/// A folder with a source, and the command run on it; `None` without a compiler.
struct Program {
    place: Workplace,
}

impl Program {
    fn new(source: &str) -> Option<Program> {
        if let Err(error) = locate(None, &Environment::from_process()) {
            assert!(std::env::var("CI").is_err(), "this test needs a CUDA compiler: {error}");
            println!("SKIPPED for want of a CUDA compiler ({error})");
            return None;
        }
        let place = Workplace::new();
        place.file("program.cu", format!("{PROLOGUE}{source}"));
        Some(Program { place })
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let mut all = vec!["run", "--device", "sim"];
        if !arguments.contains(&"--timeout") {
            // Only against a test that would never end.
            all.extend(["--timeout", "600s"]);
        }
        all.extend(arguments);
        all.push("program.cu");
        self.place.run(&all)
    }
}

/// On one line, so that lines of the sources count from 2.
const PROLOGUE: &str = "#include <cstdio>\n#define SAY(x) do { cudaError_t e = (x); std::printf(\"%s\\n\", \
                        cudaGetErrorName(e)); std::fflush(stdout); } while (0)\n";

#[track_caller]
fn check(source: &str, exit: i32, prints: &[&str], says: &[&str]) {
    let Some(program) = Program::new(source) else { return };
    let mut ran = program.run(&[]).exits(exit);
    for part in prints {
        ran = ran.prints(part);
    }
    for part in says {
        ran = ran.says(part);
    }
}

#[test]
fn a_right_program_is_left_alone() {
    check(
        "__global__ void add(int *a) { a[threadIdx.x] += 1; }\n\
         int main() { int *a, b = 0; SAY(cudaMalloc(&a, 128)); SAY(cudaMemset(a, 0, 128)); add<<<1, 32>>>(a); \
         SAY(cudaMemcpy(&b, a + 31, 4, cudaMemcpyDeviceToHost)); std::printf(\"%d\\n\", b); return 7; }",
        7,
        &["cudaSuccess\ncudaSuccess\ncudaSuccess\n1\n"],
        &["no findings; checked 1 kernel and 3 operations\n"],
    );
}

#[test]
fn nothing_is_said_quietly_and_options_behind_the_file_are_the_programs() {
    let source = "__global__ void k() {}\nint main(int, char **with) { k<<<1, 1>>>(); cudaDeviceSynchronize(); \
                  std::puts(with[1]); return 0; }";
    let Some(program) = Program::new(source) else { return };
    let run = |arguments: &[&str]| {
        let mut all = vec!["run", "--device", "sim"];
        all.extend(arguments);
        program.place.run(&all).exits(0).prints("--seed=3\n")
    };
    let hint =
        "`--seed` stands behind program.cu and went to the program; options of standstill go before the file";
    let ran =
        run(&["program.cu", "--seed=3"]).says(hint).says("no findings; checked 1 kernel and 1 operation");
    drop(ran);
    for silent in [&["-q", "program.cu", "--seed=3"][..], &["-q", "--", "program.cu", "--seed=3"]] {
        assert_eq!(run(silent).err(), "", "{silent:?}");
    }
    assert!(!run(&["--", "program.cu", "--seed=3"]).err().contains("stands behind"));
}

#[test]
fn a_trap_is_told() {
    check(
        "__global__ void k() { __trap(); }\n\
         int main() { k<<<1, 32>>>(); SAY(cudaDeviceSynchronize()); SAY(cudaGetLastError()); void *p; \
         SAY(cudaMalloc(&p, 4)); return 3; }",
        1,
        &["cudaErrorLaunchFailure\ncudaErrorLaunchFailure\ncudaErrorLaunchFailure\n"],
        &["error[E0402]: trap by thread (0,0,0) of block (0,0,0)", "it stops here"],
    );
}

#[test]
fn a_failed_assertion_is_told_in_cudas_words() {
    check(
        "#include <cassert>\n__global__ void k(int n) { assert(n == 4); }\n\
         int main() { k<<<1, 1>>>(5); SAY(cudaDeviceSynchronize()); return 0; }",
        1,
        &["cudaErrorAssert"],
        &["block: [0,0,0], thread: [0,0,0] Assertion `n == 4` failed.", "error[E0402]"],
    );
}

#[test]
fn wrong_addresses_are_findings_with_their_lines() {
    let cases = [
        ("int *p = nullptr;", "out-of-bounds", "the pointer is null"),
        ("int *p; cudaMalloc(&p, 16);", "out-of-bounds", "384 bytes behind the end of `p` (16 bytes"),
        ("int *p; cudaMalloc(&p, 4096); cudaFree(p);", "use-after-free", "global memory that was freed"),
        ("static int h[4096]; int *p = h;", "out-of-bounds", "ordinary memory of the host"),
        ("char *q; cudaMalloc(&q, 4096); int *p = (int *)(q + 2);", "misaligned", "misaligned write"),
    ];
    for (setup, rule, words) in cases {
        let source = format!(
            "__global__ void k(int *p) {{\n  p[threadIdx.x + 100] = 1;\n}}\n\
             int main() {{ {setup} k<<<1, 32>>>(p); SAY(cudaDeviceSynchronize()); return 0; }}"
        );
        let Some(program) = Program::new(&source) else { return };
        let answer = program.run(&["--format", "json", "--output", "answer.json"]).exits(1);
        let text = std::fs::read_to_string(program.place.path("answer.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let finding = &json["findings"][0];
        assert_eq!(finding["rule"], rule, "{setup}: {text}");
        assert_eq!(finding["known"], "observed");
        assert_eq!(finding["spans"][0]["line"], 4, "{setup}: {text}");
        assert!(text.contains(words), "{setup}: {text}");
        let expected =
            if rule == "misaligned" { "cudaErrorMisalignedAddress" } else { "cudaErrorIllegalAddress" };
        assert!(answer.out().contains(expected), "{setup}: {}", answer.out());
    }
}

#[test]
fn wrong_calls_have_cudas_codes() {
    check(
        "__global__ void k(int) {}\n\
         int main() { int *p; cudaMalloc(&p, 16); SAY(cudaFree(p)); SAY(cudaFree(p)); SAY(cudaFree((void *)8)); \
         SAY(cudaMalloc(&p, (size_t)-1)); SAY(cudaMalloc(&p, (size_t)1 << 45)); \
         k<<<1, 2048>>>(1); SAY(cudaGetLastError()); k<<<0, 32>>>(1); SAY(cudaGetLastError()); \
         k<<<1, 32, 1 << 20>>>(1); SAY(cudaGetLastError()); SAY(cudaGetLastError()); \
         SAY(cudaSetDevice(3)); SAY(cudaMemcpy(p, p, 4, (cudaMemcpyKind)9)); \
         cudaStream_t s = (cudaStream_t)77; SAY(cudaStreamSynchronize(s)); return 0; }",
        1,
        &["cudaSuccess\ncudaErrorInvalidValue\ncudaErrorInvalidValue\ncudaErrorMemoryAllocation\n\
           cudaErrorMemoryAllocation\ncudaErrorInvalidConfiguration\ncudaErrorInvalidConfiguration\n\
           cudaErrorInvalidValue\ncudaSuccess\ncudaErrorInvalidDevice\ncudaErrorInvalidMemcpyDirection\n\
           cudaErrorInvalidResourceHandle\n"],
        &[
            "memory is freed twice (16 bytes)",
            "cudaFree of 0x8, which CUDA did not allocate",
            "18446744073709551615 bytes, which is a negative size, is refused",
            "the launch of k is refused: its blocks have 2048 threads; at most 1024 are possible",
            "its grid has no blocks",
            "it asks for 1048576 bytes of dynamic shared memory",
        ],
    );
}

#[test]
fn calls_of_the_host_are_shown_with_their_lines() {
    let check = |body: &str, rule: &str, lines: &[u64]| {
        let source = format!("static int h[64];\nint main() {{\n  int *a;\n{body}  return 0;\n}}");
        let Some(program) = Program::new(&source) else { return };
        let exit = if rule == "leak" { 0 } else { 1 };
        program.run(&["--format", "json", "--output", "answer.json"]).exits(exit);
        let text = std::fs::read_to_string(program.place.path("answer.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let findings = json["findings"].as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["rule"] == rule);
        let finding = finding.unwrap_or_else(|| panic!("no {rule} in {body}: {text}"));
        let spans = finding["spans"].as_array().unwrap();
        let found: Vec<u64> = spans.iter().map(|span| span["line"].as_u64().unwrap() - 2).collect();
        assert_eq!(found, lines, "{body}: {text}");
        assert_eq!(spans[0]["primary"], true, "{text}");
    };
    check("  cudaMalloc(&a, 256);\n", "leak", &[4]);
    check("  cudaMalloc(&a, 256);\n  cudaFree(a);\n  cudaFree(a);\n", "use-after-free", &[6, 5, 4]);
    check(
        "  cudaMallocAsync(&a, 256, 0);\n  cudaFreeAsync(a, 0);\n  cudaMemcpy(h, a, 256, cudaMemcpyDeviceToHost);\n",
        "alloc-order",
        &[6, 5],
    );
    check(
        "  cudaMalloc(&a, 252);\n  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);\n  cudaFree(a);\n",
        "out-of-bounds",
        &[5, 4],
    );
    check("  cudaMalloc(&a, 252);\n  cudaMemset(a + 1, 0, 252);\n  cudaFree(a);\n", "out-of-bounds", &[5, 4]);
}

#[test]
fn work_that_nobody_waited_for_is_done_and_judged() {
    check(
        "__global__ void k(volatile int *p) {\n  while (p[0] == 0) {}\n}\n\
         int main() { int *p; cudaMalloc(&p, 4); cudaMemset(p, 0, 4); k<<<1, 32>>>(p); std::puts(\"gone\"); return 0; }",
        1,
        &["gone"],
        &["error[E0105]", "program.cu:4"],
    );
}

#[test]
fn a_program_that_dies_is_no_hang_of_ours() {
    check(
        "__global__ void k() {}\nint main() { k<<<1, 1>>>(); cudaDeviceSynchronize(); *(volatile int *)8 = 1; }",
        139,
        &[],
        &["the program was killed by signal 11 (SIGSEGV)\n"],
    );
    check(
        "__global__ void slow(int *p) { for (int i = 0; i < 1000000000; ++i) p[0] += i; }\n\
         int main() { int *p; cudaMalloc(&p, 4);\n slow<<<1, 32>>>(p);\n std::abort(); }",
        134,
        &[],
        &[
            "the program was killed by signal 6 (SIGABRT); the kernel `slow`, launched at ",
            "program.cu:5, had not ended",
        ],
    );
    check(
        "#include <unistd.h>\n__global__ void k() {}\nstatic void leave(void *) { _exit(5); }\n\
         int main() { k<<<1, 1>>>(); cudaLaunchHostFunc(0, leave, nullptr); cudaDeviceSynchronize(); return 0; }",
        5,
        &[],
        &[],
    );
}

#[test]
fn what_is_not_provided_says_its_name_once() {
    let Some(program) = Program::new(
        "int main() { SAY(cudaDestroyTextureObject(1)); SAY(cudaDestroyTextureObject(1)); return 0; }",
    ) else {
        return;
    };
    let ran = program.run(&[]).exits(0).prints("cudaErrorNotSupported\ncudaErrorNotSupported\n");
    assert_eq!(ran.err().matches("cudaDestroyTextureObject").count(), 1, "{}", ran.err());
}

#[test]
fn textures_and_surfaces_stop_the_launch_with_their_line() {
    for (argument, body, opcode) in [
        ("cudaTextureObject_t", "*out = tex2D<float>(object, 1.0f, 0.5f);", "tex.2d"),
        ("cudaSurfaceObject_t", "surf1Dread(out, object, 4);", "suld.b.1d"),
        ("cudaSurfaceObject_t", "surf2Dwrite(1.0f, object, 4, 0);", "sust.b.2d"),
    ] {
        check(
            &format!(
                "__global__ void k({argument} object, float *out) {{\n  {body}\n}}\n\
                 int main() {{ k<<<1, 1>>>(0, nullptr); SAY(cudaDeviceSynchronize()); return 0; }}"
            ),
            0,
            &["cudaErrorNotSupported"],
            &[&format!("k: {opcode}"), "on line 4 of"],
        );
    }
}

#[test]
fn a_program_that_only_asks_whether_the_gpu_is_done_can_be_stopped_with_a_report() {
    let Some(program) = Program::new(
        "__global__ void k(volatile int *p) {\n  while (p[0] == 0) {}\n}\n\
         int main() { int *p; cudaMalloc(&p, 4); cudaMemset(p, 0, 4); k<<<1, 32>>>(p); \
         while (cudaStreamQuery(0) == cudaErrorNotReady) {} return 0; }",
    ) else {
        return;
    };
    program.run(&["--timeout", "4s"]).exits(124).says("stopped by --timeout").says("program.cu:4");
}

#[test]
fn memory_that_host_and_device_share_is_one() {
    check(
        "__managed__ int m = 5;\n__device__ int d = 7; __constant__ int c = 9;\n\
         __global__ void k(int *mapped, int *managed) { m += d + c; *mapped += 1; *managed += 2; }\n\
         int main() { int *a, *b, h = 0; cudaHostAlloc(&a, 4, cudaHostAllocMapped); cudaMallocManaged(&b, 4); *a = 10; *b = 20; \
         k<<<1, 1>>>(a, b); SAY(cudaDeviceSynchronize()); std::printf(\"%d %d %d\\n\", m, *a, *b); h = 1; \
         cudaMemcpyToSymbol(d, &h, 4); cudaMemcpyToSymbol(c, &h, 4); k<<<1, 1>>>(a, b); cudaDeviceSynchronize(); \
         std::printf(\"%d\\n\", m); return 0; }",
        0,
        &["cudaSuccess\n21 11 22\n23\n"],
        &[],
    );
}

#[test]
fn graphs_captured_and_built_give_what_streams_give() {
    check(
        "__global__ void twice(int *p) { p[threadIdx.x] *= 2; }\n\
         int main() { int *p, h[32], n = 0; cudaStream_t s, t; cudaEvent_t e, f; cudaGraph_t g; cudaGraphExec_t x; \
         cudaMalloc(&p, 128); cudaStreamCreate(&s); cudaStreamCreate(&t); cudaEventCreate(&e); cudaEventCreate(&f); \
         for (int &v : h) v = 3; \
         SAY(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal)); \
         cudaMemcpyAsync(p, h, 128, cudaMemcpyHostToDevice, s); cudaEventRecord(e, s); cudaStreamWaitEvent(t, e, 0); \
         twice<<<1, 32, 0, t>>>(p); cudaEventRecord(f, t); cudaStreamWaitEvent(s, f, 0); twice<<<1, 32, 0, s>>>(p); \
         SAY(cudaStreamEndCapture(s, &g)); size_t count = 0; cudaGraphGetNodes(g, nullptr, &count); \
         SAY(cudaGraphInstantiate(&x, g, 0)); for (int i = 0; i < 3; ++i) SAY(cudaGraphLaunch(x, s)); \
         cudaStreamSynchronize(s); cudaMemcpy(h, p, 128, cudaMemcpyDeviceToHost); for (int v : h) n += v == 12; \
         std::printf(\"%d nodes, %d right\\n\", (int)count, n); return 0; }",
        0,
        &["3 nodes, 32 right"],
        &[],
    );
}

#[test]
fn a_program_with_the_runtime_inside_is_told_how_to_link() {
    let Some(program) = Program::new("__global__ void k() {}\nint main() { k<<<1, 1>>>(); return 0; }")
    else {
        return;
    };
    let compiler = locate(None, &Environment::from_process()).unwrap();
    let built = build(&compiler.path, program.place.folder.path(), &["-cudart", "static"]);
    let ran = program.place.run(&["run", "--device", "sim", "--", built.to_str().unwrap()]);
    ran.exits(125).says("nvcc -cudart shared");
}

#[test]
fn machine_code_alone_is_told_how_to_compile() {
    let Some(program) = Program::new(
        "__global__ void k() {}\nint main() { k<<<1, 1>>>(); SAY(cudaGetLastError()); return 0; }",
    ) else {
        return;
    };
    program
        .run(&["--cflags", "-gencode arch=compute_90,code=sm_90"])
        .exits(0)
        .prints("cudaErrorNoKernelImageForDevice")
        .says("machine code for sm_90 but no PTX");
}

#[test]
fn a_program_may_end_while_its_threads_sleep() {
    check(
        "#include <thread>\n__global__ void k(volatile int *p) { while (p[0] == 0) {} }\n\
         int main() { int *p; cudaMalloc(&p, 4); cudaMemset(p, 0, 4); k<<<1, 32>>>(p); \
         std::thread([] { std::this_thread::sleep_for(std::chrono::hours(1)); }).detach(); return 4; }",
        4,
        &[],
        &["warning[E0105]", "the program was ending"],
    );
}

#[test]
fn several_threads_of_the_host_work_at_once() {
    check(
        "#include <thread>\n#include <vector>\n__global__ void k(int *p) { atomicAdd(p, 1); }\n\
         int main() { int *p, h = 0; cudaMalloc(&p, 4); cudaMemset(p, 0, 4); std::vector<std::thread> all; \
         for (int i = 0; i < 4; ++i) all.emplace_back([=] { cudaStream_t s; cudaStreamCreate(&s); \
         for (int j = 0; j < 50; ++j) k<<<1, 32, 0, s>>>(p); cudaStreamSynchronize(s); cudaStreamDestroy(s); }); \
         for (auto &t : all) t.join(); cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); std::printf(\"%d\\n\", h); return 0; }",
        0,
        &["6400"],
        &[],
    );
}

#[test]
fn relocatable_code_is_linked() {
    let Some(program) = Program::new(
        "extern __device__ int twice(int);\n__device__ int base = 100;\n\
         __global__ void k(int *o) { o[threadIdx.x] = twice(threadIdx.x) + base; }\n\
         __device__ __noinline__ int twice(int x) { return 2 * x; }\n\
         int main() { int *o, h[4]; cudaMalloc(&o, 16); k<<<1, 4>>>(o); \
         cudaMemcpy(h, o, 16, cudaMemcpyDeviceToHost); std::printf(\"%d %d\\n\", h[0], h[3]); return 0; }",
    ) else {
        return;
    };
    program.run(&["--cflags", "-rdc=true"]).exits(0).prints("100 106");
}

fn build(compiler: &Path, folder: &Path, flags: &[&str]) -> PathBuf {
    let out = folder.join("built");
    let status = std::process::Command::new(compiler)
        .current_dir(folder)
        .args(["-arch=sm_90", "program.cu", "-o"])
        .arg(&out)
        .args(flags)
        .status()
        .unwrap();
    assert!(status.success());
    out
}

/// Memory that a graph allocates is at the same address in each of its launches, and is the graph's.
#[test]
fn a_graph_has_memory_of_its_own() {
    let source = "#include <cuda_runtime.h>\n\
        __global__ void scale(const int *in, int *scratch) { scratch[threadIdx.x] += 2 * in[threadIdx.x]; }\n\
        __global__ void gather(const int *scratch, int *out) { out[threadIdx.x] += scratch[threadIdx.x]; }\n\
        int main() {\n\
        int h[32], *in, *out, *scratch, bad = 0; for (int i = 0; i < 32; ++i) h[i] = i;\n\
        cudaMalloc(&in, 128); cudaMalloc(&out, 128); cudaMemset(out, 0, 128);\n\
        cudaMemcpy(in, h, 128, cudaMemcpyHostToDevice); cudaDeviceSynchronize();\n\
        cudaStream_t s; cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); cudaGraph_t g; cudaGraphExec_t made;\n\
        cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);\n\
        cudaMallocAsync(&scratch, 128, s); cudaMemsetAsync(scratch, 0, 128, s);\n\
        scale<<<1, 32, 0, s>>>(in, scratch); gather<<<1, 32, 0, s>>>(scratch, out); cudaFreeAsync(scratch, s);\n\
        SAY(cudaStreamEndCapture(s, &g)); SAY(cudaGraphInstantiate(&made, g, 0));\n\
        for (int turn = 0; turn < 3; ++turn) SAY(cudaGraphLaunch(made, s));\n\
        SAY(cudaStreamSynchronize(s)); cudaMemcpy(h, out, 128, cudaMemcpyDeviceToHost);\n\
        for (int i = 0; i < 32; ++i) bad += h[i] != 6 * i;\n\
        cudaGraphExecDestroy(made); cudaGraphDestroy(g); cudaStreamDestroy(s); cudaFree(in); cudaFree(out);\n\
        std::printf(\"bad %d\\n\", bad); return bad; }";
    check(
        source,
        0,
        &["cudaSuccess\ncudaSuccess\ncudaSuccess\n", "bad 0"],
        &["no findings; checked 2 kernels"],
    );
}
