//! The rules of WGSL's uniformity analysis, origin by origin and statement by statement: where a condition comes from, how it leads
//! to a barrier, and which barrier it is.
//!
//! `cargo test -p standstill-shader-check --test uniformity -- --nocapture` lists where the verdict is more precise than the
//! specification's. `STANDSTILL_SHADERS=FOLDER` writes all shaders there, for other compilers.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on must stop")]

use std::fmt::Write as _;

use standstill_findings::{Rule, Severity};
use standstill_kernel_ir::launch::LaunchShape;
use standstill_shader::{Shader, wgsl, wgsl_by_specification};
use standstill_shader_check::Request;

/// Where a condition comes from.
struct Origin {
    name: &'static str,
    /// Statements before.
    before: &'static str,
    condition: &'static str,
    /// The specification calls it uniform.
    specified: bool,
    /// It is the same for all invocations of a workgroup, whatever the specification says.
    same: bool,
}

const fn origin(
    name: &'static str,
    before: &'static str,
    condition: &'static str,
    specified: bool,
    same: bool,
) -> Origin {
    Origin { name, before, condition, specified, same }
}

const ORIGINS: [Origin; 34] = [
    origin("literal", "", "true", true, true),
    origin("constant", "", "limit > 3u", true, true),
    origin("override", "", "mode == 2u", true, true),
    origin("uniform buffer", "", "settings.count > 3u", true, true),
    origin("read-only buffer", "", "fixed[2] > 3u", true, true),
    origin("read-only buffer, uniform index", "", "fixed[settings.count] > 3u", true, true),
    origin("workgroup_id", "", "group.x > 3u", true, true),
    origin("num_workgroups", "", "groups.y == 3u", true, true),
    origin("sum of uniform values", "", "group.x + settings.count > mode", true, true),
    origin(
        "vector of uniform values",
        "let v = vec2<u32>(group.x, 3u);",
        "all(v == vec2<u32>(1u, 3u))",
        true,
        true,
    ),
    origin("variable, uniform", "var n = settings.count; n += group.x;", "n > 3u", true, true),
    origin(
        "variable after uniform branch",
        "var n = 1u; if (group.x > 2u) { n = 2u; }",
        "n == 1u",
        true,
        true,
    ),
    origin(
        "variable after uniform loop",
        "var n = 0u; for (var k = 0u; k < settings.count; k++) { n += k; }",
        "n > 3u",
        true,
        true,
    ),
    origin("array, uniform", "var a = array<u32, 4>(); a[1] = group.x;", "a[2] > 3u", true, true),
    origin("result of a function, uniform", "", "doubled(group.x) > 3u", true, true),
    origin("workgroupUniformLoad", "let w = workgroupUniformLoad(&word);", "w > 3u", true, true),
    origin("member of a uniform structure", "let s = settings;", "s.scale > 3.0", true, true),
    origin("selected uniform", "", "select(1u, 2u, mode == 2u) == settings.count", true, true),
    origin("local_invocation_id", "", "local.x > 3u", false, false),
    origin("local_invocation_index", "", "index > 3u", false, false),
    origin("global_invocation_id", "", "id.x > 3u", false, false),
    origin("sum with an index", "", "group.x + index > 3u", false, false),
    origin("buffer, indexed by the invocation", "", "fixed[id.x] > 3u", false, false),
    origin("writable buffer, indexed by the invocation", "", "data[id.x] > 3u", false, false),
    origin("atomic addition", "let old = atomicAdd(&counter, 1u);", "old == 0u", false, false),
    origin("atomic load", "let now = atomicLoad(&counter);", "now == 0u", false, false),
    origin(
        "variable after divergent branch",
        "var n = 1u; if (index > 2u) { n = 2u; }",
        "n == 1u",
        false,
        false,
    ),
    origin(
        "variable after divergent loop",
        "var n = 0u; for (var k = 0u; k < index; k++) { n += 1u; }",
        "n > 3u",
        false,
        false,
    ),
    origin("result of a function, divergent", "", "doubled(index) > 3u", false, false),
    origin("variable through a pointer", "var n = 0u; put(&n, index);", "n > 3u", false, false),
    origin("selected by an index", "", "select(1u, 2u, index > 3u) == 1u", false, false),
    origin("private variable", "", "own > 3u", false, true),
    origin("writable buffer", "", "data[3] > 3u", false, true),
    origin("index that never differs", "", "local.y == 0u", false, true),
];

/// How a condition leads to a barrier.
struct Shape {
    name: &'static str,
    /// `C` stands for the condition, `B` for the barrier.
    text: &'static str,
    /// Whether the barrier is in control flow that depends on the condition.
    depends: bool,
}

const fn shape(name: &'static str, text: &'static str, depends: bool) -> Shape {
    Shape { name, text, depends }
}

const SHAPES: [Shape; 18] = [
    shape("if", "if (C) { B }", true),
    shape("else", "if (C) { out = 1u; } else { B }", true),
    shape("both arms", "if (C) { B } else { B }", true),
    shape("behind an if", "if (C) { out = 1u; }\nB", false),
    shape("if in a uniform if", "if (mode == 1u) { if (C) { B } }", true),
    shape("return before", "if (C) { return; }\nB", true),
    shape("return in else", "if (C) { out = 1u; } else { return; }\nB", true),
    shape("switch", "switch (u32(C)) { case 1u: { B } default: {} }", true),
    shape("switch default", "switch (u32(C)) { case 1u: {} default: { B } }", true),
    shape("behind a switch", "switch (u32(C)) { case 1u: { out = 1u; } default: {} }\nB", false),
    shape("return in a switch", "switch (u32(C)) { case 1u: { return; } default: {} }\nB", true),
    shape("while", "while (C) { B\nif (mode > 1u) { break; } }", true),
    shape("break if", "loop { B\ncontinuing { break if C; } }", true),
    shape("break before", "loop { if (C) { break; }\nB\nif (mode > 1u) { break; } }", true),
    shape("continue before", "for (var k = 0u; k < 3u; k++) { if (C) { continue; }\nB }", true),
    shape("behind a loop", "loop { if (C) { break; } out += 1u; if (out > 9u) { break; } }\nB", false),
    shape("call", "if (C) { nested(); }\nfn", true),
    shape("call with the condition", "guarded(C);\nfn", true),
];

const BARRIERS: [(&str, &str); 4] = [
    ("workgroupBarrier", "workgroupBarrier();"),
    ("storageBarrier", "storageBarrier();"),
    ("workgroupUniformLoad", "out += workgroupUniformLoad(&word);"),
    ("textureBarrier", "textureBarrier();"),
];

fn shader(origin: &Origin, shape: &Shape, barrier: &str) -> String {
    let inner = barrier.replace("out += ", "_ = ");
    let body = shape.text.trim_end_matches("\nfn").replace('B', barrier).replace('C', origin.condition);
    format!(
        "struct Settings {{ count: u32, scale: f32 }}\n\
         @group(0) @binding(0) var<uniform> settings: Settings;\n\
         @group(0) @binding(1) var<storage, read> fixed: array<u32>;\n\
         @group(0) @binding(2) var<storage, read_write> data: array<u32>;\n\
         @group(0) @binding(3) var<storage, read_write> results: array<u32>;\n\
         var<workgroup> word: u32;\nvar<workgroup> counter: atomic<u32>;\nvar<private> own: u32 = 5u;\n\
         override mode: u32;\nconst limit = 4u;\n\
         fn doubled(x: u32) -> u32 {{ return x * 2u; }}\n\
         fn put(to: ptr<function, u32>, value: u32) {{ *to = value; }}\n\
         fn nested() {{ {inner} }}\nfn guarded(on: bool) {{ if (on) {{ {inner} }} }}\n\
         @compute @workgroup_size(64)\nfn main(@builtin(local_invocation_id) local: vec3<u32>, @builtin(local_invocation_index) index: u32,\n\
         @builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>,\n\
         @builtin(num_workgroups) groups: vec3<u32>) {{\nvar out = 0u;\n{}\n{body}\nresults[id.x] = out;\n}}\n",
        origin.before
    )
}

/// Whether a barrier is said to be in non-uniform control flow.
fn finds(shader: &Shader) -> bool {
    let launch = |_: &str| LaunchShape::default();
    let request = Request { file: "a.wgsl", launch: &launch, wanted: &|_| true, platform: None };
    let (findings, coverage) = standstill_shader_check::check(shader, &request);
    assert_eq!(coverage.kernels, 1);
    findings.iter().any(|finding| {
        finding.severity > Severity::Note
            && matches!(finding.rule, Rule::DivergentBarrier | Rule::EarlyExitBarrier)
    })
}

#[test]
fn every_condition_and_statement_is_judged() {
    let folder = std::env::var_os("STANDSTILL_SHADERS").map(std::path::PathBuf::from);
    let (mut count, mut wrong, mut finer) = (0, String::new(), Vec::new());
    for origin in &ORIGINS {
        for shape in &SHAPES {
            for (barrier, call) in BARRIERS {
                let text = shader(origin, shape, call);
                let name = format!("{} / {} / {barrier}", origin.name, shape.name);
                let read = wgsl(&text, "a.wgsl")
                    .map_err(|e| format!("{name}: {e} at {}:{}\n{text}", e.line, e.column));
                let found = finds(&read.unwrap());
                let specified = shape.depends && !origin.specified;
                let really = shape.depends && !origin.same;
                count += 1;
                // Which barrier it is makes no difference to the condition.
                if barrier == "workgroupBarrier"
                    && finds(&wgsl_by_specification(&text, "a.wgsl").unwrap()) != specified
                {
                    let _ = writeln!(wrong, "{name}: by the specification {specified}, said {}", !specified);
                }
                if found && !specified || really && !found {
                    let _ = writeln!(wrong, "{name}: {really}, said {found}");
                }
                if specified && !found {
                    finer.push(name.clone());
                }
                if let Some(folder) = &folder {
                    let verdict = if specified { "bad" } else { "good" };
                    std::fs::write(
                        folder.join(format!("{count:04}.{verdict}.wgsl")),
                        format!("// {name}\n{text}"),
                    )
                    .unwrap();
                }
            }
        }
    }
    println!(
        "{count} shaders; more precise than the specification in {}:\n{}",
        finer.len(),
        finer.join("\n")
    );
    assert!(count > 1300);
    assert!(wrong.is_empty(), "{} wrong:\n{wrong}", wrong.lines().count());
}
