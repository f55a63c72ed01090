//! What shaders compute, on the software GPU.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::sync::Arc;

use standstill_device_sim::{Device, LaunchRequest, Progress};
use standstill_kernel_ir::launch::Device as Model;
use standstill_shader::wgsl;

const WORDS: usize = 64;

/// Runs an entry point `main` with one buffer of 64 words in two workgroups of 4 invocations, and compares the first words.
#[track_caller]
fn check(text: &str, input: &[u32], expected: &[u32]) {
    let text = format!("@group(0) @binding(0) var<storage, read_write> data: array<u32, 64>;\n{text}");
    let shader = wgsl(&text, "a.wgsl").map_err(|e| format!("{e} at {}:{}", e.line, e.column)).unwrap();
    let device = Device::new(Model::find("h200").unwrap(), 1 << 24);
    let module = device.load(Arc::new(shader), &[]).unwrap();
    let buffer = device.memory().allocate(4 * WORDS as u64).unwrap();
    let mut words = input.to_vec();
    words.resize(WORDS, 0);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    device.memory().write(buffer, &bytes).unwrap();
    let mut request = LaunchRequest::new(module.kernel("main").unwrap(), 2, 4);
    request.parameters = buffer.to_le_bytes().to_vec();
    request.races = true;
    let mut grid = device.launch(&module, request).unwrap();
    let end = loop {
        match grid.run(1_000_000) {
            Progress::Running => {}
            other => break other,
        }
    };
    assert_eq!(end, Progress::Finished);
    assert!(grid.races().is_empty(), "{:#?}", grid.races());
    let mut bytes = vec![0; 4 * WORDS];
    device.memory().read(buffer, &mut bytes).unwrap();
    let found: Vec<u32> =
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    assert_eq!(&found[..expected.len()], expected, "{text}");
}

/// The expression for each global index.
#[track_caller]
fn check_each(expression: &str, expected: [u32; 8]) {
    check(
        &format!(
            "@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n\
             let i = id.x; let s = i32(i) - 4; let f = f32(i) * 0.5;\ndata[i] = {expression};\n}}"
        ),
        &[],
        &expected,
    );
}

#[test]
fn operators() {
    check_each("i * 3u + 1u", [1, 4, 7, 10, 13, 16, 19, 22]);
    check_each("u32(s / 2 + 10)", [8, 9, 9, 10, 10, 10, 11, 11]);
    check_each("u32(s % 3 + 10)", [9, 10, 8, 9, 10, 11, 12, 10]);
    // A division by zero gives the dividend.
    check_each("7u / (i % 2u)", [7; 8]);
    check_each("u32(s >> 1u) & 15u", [14, 14, 15, 15, 0, 0, 1, 1]);
    check_each("(1u << (i + 30u)) ^ 1u", [0x4000_0001, 0x8000_0001, 0, 3, 5, 9, 17, 33]);
    check_each("select(5u, 6u, (i > 2u) != (i > 4u))", [5, 5, 5, 6, 6, 5, 5, 5]);
    check_each("u32(f + 0.75)", [0, 1, 1, 2, 2, 3, 3, 4]);
    check_each(
        "bitcast<u32>(f32(s))",
        [0xc080_0000, 0xc040_0000, 0xc000_0000, 0xbf80_0000, 0, 0x3f80_0000, 0x4000_0000, 0x4040_0000],
    );
    check_each(
        "u32(any(vec2<bool>(i == 1u, i == 3u))) + 2u * u32(all(vec2<bool>(i > 1u, i < 5u)))",
        [0, 1, 2, 3, 2, 0, 0, 0],
    );
}

#[test]
fn functions_of_numbers() {
    check_each("u32(clamp(s, -1, 2) + 1)", [0, 0, 0, 0, 1, 2, 3, 3]);
    check_each("u32(abs(s)) + 10u * u32(sign(s) + 1)", [4, 3, 2, 1, 10, 21, 22, 23]);
    check_each("u32(floor(f) + ceil(f))", [0, 1, 2, 3, 4, 5, 6, 7]);
    check_each("countOneBits(i) + countLeadingZeros(i) * 10u", [320, 311, 301, 302, 291, 292, 292, 293]);
    check_each("firstTrailingBit(i + 8u)", [3, 0, 1, 0, 2, 0, 1, 0]);
    check_each("extractBits(i * 5u, 1u, 2u)", [0, 2, 1, 3, 2, 0, 3, 1]);
    check_each("u32(dot(vec3<f32>(f, 1.0, 2.0), vec3<f32>(2.0, 3.0, 1.0)))", [5, 6, 7, 8, 9, 10, 11, 12]);
    check_each(
        "u32(cross(vec3<f32>(1.0, 0.0, 0.0), vec3<f32>(0.0, f, 0.0)).z * 2.0)",
        [0, 1, 2, 3, 4, 5, 6, 7],
    );
    check_each("u32(length(vec2<f32>(f * 6.0, f * 8.0)))", [0, 5, 10, 15, 20, 25, 30, 35]);
    check_each("u32(mix(0.0, 8.0, f / 4.0))", [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn vectors_matrices_and_structures() {
    check_each("vec4<u32>(i, 7u, 8u, 9u).wzyx.w + (vec2<u32>(i, 2u) * 3u).x", [0, 4, 8, 12, 16, 20, 24, 28]);
    // Column by column.
    check_each(
        "u32((mat2x2<f32>(1.0, 2.0, 3.0, 4.0) * vec2<f32>(f, 1.0)).y * 2.0)",
        [8, 10, 12, 14, 16, 18, 20, 22],
    );
    check_each(
        "u32(transpose(mat2x3<f32>(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))[i % 3u].y)",
        [4, 5, 6, 4, 5, 6, 4, 5],
    );
    check_each("array<u32, 3>(5u, 6u, 7u)[i % 3u]", [5, 6, 7, 5, 6, 7, 5, 6]);
    check(
        "struct Pair { a: u32, b: vec3<u32>, c: array<u32, 2> }\n\
         @compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n\
         var p = Pair(1u, vec3<u32>(2u, 3u, 4u), array<u32, 2>(5u, 6u));\np.b.y = id.x;\np.c[id.x % 2u] = 9u;\nlet q = p;\n\
         p.a = 100u;\ndata[id.x] = q.a + q.b.y * 10u + q.c[0] * 100u + q.c[1] * 1000u;\n}",
        &[],
        &[6901, 9511, 6921, 9531, 6941, 9551, 6961, 9571],
    );
}

#[test]
fn control_flow() {
    let main = |body: &str| {
        format!(
            "@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\nlet i = id.x;\n{body}\n}}"
        )
    };
    check(
        &main(
            "var n = 0u;\nfor (var k = 0u; k <= i; k++) { if (k == 2u) { continue; } n += k; }\ndata[i] = n;",
        ),
        &[],
        &[0, 1, 1, 4, 8, 13, 19, 26],
    );
    check(
        &main(
            "var n = i;\nloop { n += 3u; if (n > 9u) { break; } continuing { n += 1u; break if n == 8u; } }\ndata[i] = n;",
        ),
        &[],
        &[8, 12, 13, 10, 8, 12, 13, 10],
    );
    check(
        &main(
            "switch (i) { case 0u, 3u: { data[i] = 7u; } case 5u: { if (i == 5u) { break; } data[i] = 1u; } default: { data[i] = i; } }",
        ),
        &[],
        &[7, 1, 2, 7, 4, 0, 6, 7],
    );
    check(&main("if (i == 2u) { return; }\ndata[i] = i + 1u;"), &[], &[1, 2, 0, 4, 5, 6, 7, 8]);
    check(&main("data[i] = u32(i > 1u && 6u / (i - 1u) > 2u);"), &[], &[0, 0, 1, 1, 0, 0, 0, 0]);
}

#[test]
fn functions_are_copied_in() {
    check(
        "fn add(n: ptr<function, u32>, by: u32) -> u32 { if (by == 3u) { return 50u; } *n += by; return *n; }\n\
         fn twice(x: u32) -> u32 { return x + x; }\nvar<private> own: u32 = 4u;\nconst table = array<u32, 2>(10u, 20u);\n\
         @compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n\
         var n = 1u;\nlet r = add(&n, id.x);\nown += n;\ndata[id.x] = r + twice(own) * 100u + table[id.x % 2u] * 10000u;\n}",
        &[],
        &[101_001, 201_202, 101_403, 201_050, 101_805, 202_006, 102_207, 202_408],
    );
}

#[test]
fn workgroups_share_memory() {
    check(
        "var<workgroup> tile: array<u32, 4>;\nvar<workgroup> count: atomic<u32>;\nvar<workgroup> any_odd: bool;\n\
         @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) l: u32, @builtin(workgroup_id) g: vec3<u32>,\n\
         @builtin(num_workgroups) all: vec3<u32>) {\n\
         let i = g.x * 4u + l;\nif (l == 0u) { atomicStore(&count, 0u); any_odd = false; }\nworkgroupBarrier();\n\
         tile[l] = data[i];\nif (l == 1u) { any_odd = true; }\natomicAdd(&count, data[i]);\nworkgroupBarrier();\n\
         data[i] = tile[3u - l] + 10u * atomicLoad(&count) + 1000u * all.x + 10000u * u32(any_odd);\n}",
        &[1, 2, 3, 4, 5, 6, 7, 8],
        &[12_104, 12_103, 12_102, 12_101, 12_268, 12_267, 12_266, 12_265],
    );
    check(
        "var<workgroup> slots: array<atomic<u32>, 8>;\n\
         @compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n\
         let old = atomicMax(&slots[id.x], 5u);\nlet r = atomicCompareExchangeWeak(&slots[id.x], 5u, 9u);\n\
         data[id.x] = old + r.old_value * 10u + u32(r.exchanged) * 100u;\n}",
        &[],
        &[150, 150, 150, 150, 150, 150, 150, 150],
    );
}

#[test]
fn what_is_no_wgsl_is_told_with_its_place() {
    let error = wgsl("@compute @workgroup_size(0) fn main() {}", "a.wgsl").unwrap_err();
    assert!(error.message.contains("no invocations"), "{error}");
    let error = wgsl("@compute fn main() {\n  let x = ;\n}", "a.wgsl").unwrap_err();
    assert_eq!((error.line, error.column), (2, 11), "{error}");
    let error = wgsl("fn f() -> u32 { return g(); }", "a.wgsl").unwrap_err();
    assert_eq!((error.line, error.column), (1, 24), "{error}");
}
