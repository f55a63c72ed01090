//! What findings call things: parameters by their names in the source, verbs that agree with their subjects.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use common::Workplace;

/// Warp 0 waits at a barrier and would set the flag behind it; the other warp's first thread polls it.
const HANDOFF: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z7handoffPiS_(.param .u64 FIRST, .param .u64 SECOND)
{
    .reg .pred %p<5>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [SECOND];
    mov.u32 %r1, %tid.x;
    setp.gt.u32 %p1, %r1, 31;
    @%p1 bra $reader;
    bar.sync 0;
    st.volatile.global.u32 [%rd1+OFFSET], 1;
    ret;
$reader:
    setp.ne.u32 %p2, %r1, 32;
    @%p2 bra $meet;
$spin:
    ld.volatile.global.u32 %r2, [%rd1+OFFSET];
    setp.eq.u32 %p3, %r2, 0;
    @%p3 bra $spin;
$meet:
    bar.sync 0;
    ret;
}
.file 1 \"handoff.cu\"
";

/// The sentence of the only wait cycle of [`HANDOFF`].
fn sentence(parameters: [&str; 2], offset: &str, source: Option<&str>) -> String {
    let place = Workplace::new();
    let text = HANDOFF.replace("FIRST", parameters[0]).replace("SECOND", parameters[1]);
    place.file("handoff.ptx", text.replace("OFFSET", offset));
    if let Some(source) = source {
        place.file("handoff.cu", source);
    }
    let json =
        place.run(&["check", "handoff.ptx", "--block=64", "--grid=1", "--format=json"]).exits(1).json();
    let findings = json["findings"].as_array().unwrap();
    let cycles: Vec<_> = findings.iter().filter(|f| f["code"] == "E0105").collect();
    assert_eq!(cycles.len(), 1, "{json:#}");
    cycles[0]["waits"]["sentence"].as_str().unwrap().to_owned()
}

const GENERATED: [&str; 2] = ["_Z7handoffPiS__param_0", "_Z7handoffPiS__param_1"];

#[test]
fn parameters_have_the_names_of_the_source() {
    let check = |parameters, source, name: &str| {
        let found = sentence(parameters, "0", source);
        assert!(found.contains(&format!("which spins on {name} (line 20)")), "{found}");
        assert!(found.contains(&format!("write {name}, on line 14")), "{found}");
    };
    check(GENERATED, None, "the memory behind parameter 1");
    check(GENERATED, Some("__global__ void handoff(int *data, int *ready) {}"), "`ready`");
    // The PTX's own names, where a person gave them; the source's names come first.
    check(["data", "flag"], None, "`flag`");
    check(["data", "flag"], Some("__global__ void handoff(int *data, int *ready);"), "`ready`");
    // Another kernel, another number of parameters, headers that disagree, no name.
    for source in [
        "__global__ void other(int *data, int *ready) {}",
        "__global__ void handoff(int *ready) {}",
        "__global__ void handoff(int *data, int *ready); __global__ void handoff(float *x, float *y) {}",
        "__global__ void handoff(int *, int *);",
    ] {
        check(GENERATED, Some(source), "the memory behind parameter 1");
    }
}

#[test]
fn an_offset_is_said() {
    let found = sentence(["data", "flags"], "8", None);
    assert!(found.contains("`flags` + 8 bytes"), "{found}");
}

/// A lock as clang compiles it: what comes from its headers names the header alone, without the line that it
/// was inlined at.
const LOCK: &str = "\
.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 lock, .param .u64 sum)
{
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [lock];
    ld.param.u64 %rd2, [sum];
    .loc 1 3 7
$try:
    .loc 2 359 10
    atom.global.cas.b32 %r1, [%rd1], 0, 1;
    .loc 1 2 3
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra $try;
    .loc 1 3 8
    ld.volatile.global.u32 %r2, [%rd2];
    add.s32 %r3, %r2, 1;
    st.volatile.global.u32 [%rd2], %r3;
    .loc 2 368 10
    atom.global.exch.b32 %r4, [%rd1], 0;
    .loc 1 6 1
    ret;
}
.file 1 \"k.cu\"
.file 2 \"/usr/lib/llvm-19/lib/clang/19/include/__clang_cuda_device_functions.h\"
";

const LOCK_SOURCE: &str = "\
__global__ void k(int *lock, volatile int *sum) {
  while (atomicCAS(lock, 0, 1)) {}
  *sum += 1;

  atomicExch(lock, 0); // gives it back
}
";

#[test]
fn what_clang_inlined_is_placed_between_its_neighbours() {
    let lines = |source: Option<&str>| {
        let place = Workplace::new();
        place.file("k.ptx", LOCK);
        if let Some(source) = source {
            place.file("k.cu", source);
        }
        let json = place
            .run(&["check", "k.ptx", "--block=64", "--grid=1", "--format=json", "--fail-on=never"])
            .exits(0)
            .json();
        let findings = json["findings"].as_array().unwrap();
        let lock = findings.iter().find(|f| f["code"] == "E0106").unwrap_or_else(|| panic!("{json:#}"));
        let spans = lock["spans"].as_array().unwrap();
        spans.iter().map(|s| format!("{}:{}", s["file"].as_str().unwrap(), s["line"])).collect::<Vec<_>>()
    };
    assert_eq!(lines(Some(LOCK_SOURCE)), ["k.cu:2", "k.cu:5"]);
    // Without the source the nearest line behind is the best guess.
    assert_eq!(lines(None), ["k.cu:2", "k.cu:6"]);
}
