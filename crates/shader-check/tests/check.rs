//! What the static check says of shaders: each fault on its marked line, and nothing of right ones.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use standstill_kernel_ir::launch::LaunchShape;
use standstill_shader_check::Request;

/// Checks the body of an entry point of 64 invocations; lines that end in `//~ rule` are those that findings point at.
#[track_caller]
fn check(body: &str) {
    let text = format!(
        "@group(0) @binding(0) var<storage, read_write> data: array<u32>;\n\
         @group(0) @binding(1) var<uniform> size: u32;\n\
         var<workgroup> tile: array<u32, 64>;\nvar<workgroup> flag: u32;\nvar<workgroup> counter: atomic<u32>;\n\
         var<private> own: u32;\noverride twice: bool = true;\n{body}"
    );
    let shader = standstill_shader::wgsl(&text, "a.wgsl")
        .map_err(|e| format!("{e} at {}:{}\n{text}", e.line, e.column))
        .unwrap();
    let launch = |_: &str| LaunchShape::default();
    let request = Request { file: "a.wgsl", launch: &launch, wanted: &|_| true, platform: None };
    let (findings, coverage) = standstill_shader_check::check(&shader, &request);
    let mut found: Vec<(u32, String)> = findings
        .iter()
        .filter(|finding| finding.severity > standstill_findings::Severity::Note)
        .map(|finding| (finding.primary_span().unwrap().line, finding.rule.info().name.to_owned()))
        .collect();
    found.sort();
    found.dedup();
    let expected: Vec<(u32, String)> = text
        .lines()
        .zip(1..)
        .filter_map(|(line, number)| Some((number, line.split_once("//~ ")?.1.trim().to_owned())))
        .collect();
    assert_eq!(found, expected, "{:#?}\n{text}", findings);
    assert!(coverage.kernels > 0);
}

const HEAD: &str = "@compute @workgroup_size(64) fn main(@builtin(local_invocation_id) local: vec3<u32>, @builtin(global_invocation_id) \
                    id: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {\n";

#[track_caller]
fn check_main(body: &str) {
    check(&format!("{HEAD}{body}\n}}"));
}

#[test]
fn a_barrier_that_all_reach_raises_nothing() {
    check_main("tile[local.x] = data[id.x];\nworkgroupBarrier();\ndata[id.x] = tile[63u - local.x];");
    check_main("if (size > 5u) { workgroupBarrier(); }");
    check_main("if (group.x == 0u) { workgroupBarrier(); }");
    check_main("if (twice) { workgroupBarrier(); }");
    check_main("for (var i = 0u; i < size; i++) { tile[local.x] += i; workgroupBarrier(); }");
    check_main(
        "var stride = 32u;\nwhile (stride > 0u) {\nif (local.x < stride) { tile[local.x] += tile[local.x + stride]; }\nworkgroupBarrier();\nstride = stride / 2u;\n}",
    );
    check_main("let n = workgroupUniformLoad(&flag);\nif (n > 2u) { workgroupBarrier(); }");
    check_main("let n = workgroupUniformLoad(&counter);\nif (n > 2u) { workgroupBarrier(); }");
    check_main("var n = 0u;\nif (id.x < size) { n = data[id.x]; }\nworkgroupBarrier();\ndata[id.x] = n;");
}

#[test]
fn a_barrier_under_a_condition_that_differs() {
    check_main("if (local.x < 32u) {\nworkgroupBarrier(); //~ divergent-barrier\n}");
    check_main("if (id.x % 2u == 0u) {\nstorageBarrier(); //~ divergent-barrier\n}");
    check_main("for (var i = 0u; i < index; i++) {\nworkgroupBarrier(); //~ divergent-barrier\n}");
    check_main(
        "switch (local.x) {\ncase 1u: {\nworkgroupBarrier(); //~ divergent-barrier\n}\ndefault: {}\n}",
    );
    check_main("if (data[id.x] > 5u) {\nworkgroupBarrier(); //~ divergent-barrier\n}");
    check_main(
        "let old = atomicAdd(&counter, 1u);\nif (old == 0u) {\nworkgroupBarrier(); //~ divergent-barrier\n}",
    );
    check_main(
        "var stop = false;\nif (local.x > 5u) { stop = true; }\nif (!stop) {\nworkgroupBarrier(); //~ divergent-barrier\n}",
    );
    check_main(
        "if (local.x < 7u && size > 3u) {\nlet n = workgroupUniformLoad(&flag); //~ divergent-barrier\n}",
    );
}

#[test]
fn a_return_before_a_barrier() {
    check_main("if (id.x >= size) {\nreturn;\n}\nworkgroupBarrier(); //~ early-exit-barrier");
}

#[test]
fn a_barrier_in_a_function() {
    check(&format!(
        "fn sync(on: bool) {{\nif (on) {{\nworkgroupBarrier(); //~ divergent-barrier\n}}\n}}\n{HEAD}sync(local.x == 0u);\n}}"
    ));
    check(&format!(
        "fn sync(on: bool) {{\nif (on) {{\nworkgroupBarrier();\n}}\n}}\n{HEAD}sync(size == 0u);\n}}"
    ));
    check(&format!(
        "fn count(n: ptr<function, u32>) {{ *n = *n + 1u; }}\n{HEAD}var n = 0u;\ncount(&n);\nif (n == 1u) {{ workgroupBarrier(); }}\n}}"
    ));
}
