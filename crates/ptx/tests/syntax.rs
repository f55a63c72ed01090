//! What each construct of PTX parses to.

mod common;

use common::{show_body, show_variable};
use standstill_ptx::parse;

/// Registers: `%p` 0–3, `%r` 4–9, `%rd` 10–15, `%f` 16–19, `x` 20.
const DECLARED: &str = ".reg .pred %p<4>; .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<4>; .reg .b32 x;";

/// Statements of a body.
#[track_caller]
fn check(body: &str, expected: &[&str]) {
    let text = format!(".entry k() {{ {DECLARED}\n{body}\n}}");
    let module = parse(&text);
    let found = show_body(&module);
    assert_eq!(module.errors.kept(), [], "in {body}");
    assert_eq!(found.lines().collect::<Vec<_>>(), expected, "in {body}");
}

#[test]
fn instructions_and_operands() {
    check("add.s32 %r1, %r2, %r3;", &["add.s32 r5, r6, r7"]);
    check("mov.u32 x, %tid.x;", &["mov.u32 r20, '%tid.x'"]);
    check("ret;", &["ret"]);
    check("ret ;bar.sync\t0\n;", &["ret", "bar.sync 0"]);
    check("@%p1 bra L; @!%p2 bra.uni L; L:", &["@r1 bra 'L'", "@!r2 bra.uni 'L'", "L:"]);
    check("@!%p1\n bra L ; L :", &["@!r1 bra 'L'", "L:"]);
    check("setp.lt.s32 %p1|%p2, %r1, -5;", &["setp.lt.s32 Pair(r1, r2), r5, -5"]);
    check("shfl.sync.idx.b32 %r1 | %p1, %r2, 0, 31, -1;", &["shfl.sync.idx.b32 Pair(r5, r1), r6, 0, 31, -1"]);
    check("and.pred %p1, %p2, !%p3;", &["and.pred r1, r2, !r3"]);
    check(
        "ld.global.v4.u32 {%r1, %r2, _, %r3}, [%rd1+-16];",
        &["ld.global.v4.u32 {r5, r6, _, r7}, [r11-16]"],
    );
    check("mov.b64 {%r1,%r2}, %rd1;", &["mov.b64 {r5, r6}, r11"]);
    check(
        "ld.shared.b32 %r1, [sym]; ld.shared.b32 %r1, [sym+8];",
        &["ld.shared.b32 r5, ['sym']", "ld.shared.b32 r5, [Sum('sym', 8)]"],
    );
    check(
        "mov.u64 %rd1, sym+4; mov.u64 %rd1, generic(sym)+4;",
        &["mov.u64 r11, Sum('sym', 4)", "mov.u64 r11, Sum(Generic('sym'), 4)"],
    );
    check("ld.global.u8 %r1, [%rd1 + 4294967296];", &["ld.global.u8 r5, [Sum(r11, 4294967296)]"]);
    check("ld.global.u8 %r1, [1024];", &["ld.global.u8 r5, [1024]"]);
    check(
        "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];",
        &[
            "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [r5], [r11, {r6, r7}], [r8]",
        ],
    );
    check("mbarrier.arrive.shared.b64 _, [%r1];", &["mbarrier.arrive.shared.b64 _, [r5]"]);
    check("vadd.u32.u32.u32 %r1, %r2.b0, %r3.h1;", &["vadd.u32.u32.u32 r5, r6.Byte(0), r7.Half(1)"]);
    check(
        "mov.b32 %r1, %envreg2; mov.u32 %r1, WARP_SZ;",
        &["mov.b32 r5, '%envreg2'", "mov.u32 r5, 'WARP_SZ'"],
    );
    check("no.such.thing::with::parts %r1, 3;", &["no.such.thing::with::parts r5, 3"]);
}

#[test]
fn numbers() {
    check("mov.f32 %f1, 0f3F800000; mov.f32 %f1, 0FBF000000;", &["mov.f32 r17, 1.0f", "mov.f32 r17, -0.5f"]);
    check(
        "mov.f64 %rd1, 0d4000000000000000; mov.f64 %rd1, 1.5; mov.f64 %rd1, -2.5e-1;",
        &["mov.f64 r11, 2.0d", "mov.f64 r11, 1.5d", "mov.f64 r11, -0.25d"],
    );
    check(
        "mov.b32 %r1, 0xffU; mov.b32 %r1, 017; mov.b32 %r1, 0b101; mov.b32 %r1, 7U; mov.b32 %r1, 0;",
        &["mov.b32 r5, 255", "mov.b32 r5, 15", "mov.b32 r5, 5", "mov.b32 r5, 7", "mov.b32 r5, 0"],
    );
    check(
        "mov.b64 %rd1, 18446744073709551615; mov.b64 %rd1, 0xFFFFFFFFFFFFFFFE; mov.b64 %rd1, 9223372036854775808;",
        &["mov.b64 r11, -1", "mov.b64 r11, -2", "mov.b64 r11, -9223372036854775808"],
    );
}

#[test]
fn registers_of_inner_blocks() {
    // A block's register hides an outer one until the block ends.
    check(
        "{ .reg .b32 x; mov.b32 x, 1; { .reg .b32 %r1; mov.b32 %r1, x; } mov.b32 %r1, x; } mov.b32 x, 2;",
        &["{", "mov.b32 r21, 1", "{", "mov.b32 r22, r21", "}", "mov.b32 r5, r21", "}", "mov.b32 r20, 2"],
    );
    // An inner range hides an outer name and the other way round.
    check(
        "{ .reg .b32 t1; .reg .b32 t<3>; mov.b32 t1, t2; { .reg .b32 t2; mov.b32 t1, t2; } }",
        &["{", "mov.b32 r23, r24", "{", "mov.b32 r23, r25", "}", "}"],
    );
    check("{ .reg .pred p; @p bra L; } L:", &["{", "@r21 bra 'L'", "}", "L:"]);
    check("@q bra L; L:", &["undeclared @q", "bra 'L'", "L:"]);
    // Beyond a range, and with a zero in front, nothing is declared.
    check("mov.b32 %r6, %r01;", &["mov.b32 '%r6', '%r01'"]);
    check("{}", &[]);
}

#[test]
fn calls() {
    check("call.uni (retval0), f, (param0, param1);", &["call.uni ('retval0'), 'f', ('param0', 'param1')"]);
    check("call f;", &["call 'f'"]);
    check("call (%r1), f, (%r2, 4);", &["call (r5), 'f', (r6, 4)"]);
    check("call %rd1, (param0), prototype_0;", &["call r11, ('param0'), 'prototype_0'"]);
    check(
        "prototype_0 : .callprototype (.param .b32 _) _ (.param .b64 _);",
        &["prototype_0:", "prototype (.param .b32 _) _ (.param .b64 _)"],
    );
    check(
        "ts: .branchtargets L0, L1; brx.idx %r1, ts; L0: L1:",
        &["ts:", "targets 'L0', 'L1'", "brx.idx r5, 'ts'", "L0:", "L1:"],
    );
    check("tt: .calltargets f, g;", &["tt:", "targets 'f', 'g'"]);
}

#[test]
fn places_comments_and_marks() {
    check(".loc 1 20 3\n.loc 2 4\nret;", &["loc 1 20 3", "loc 2 4 0", "ret"]);
    check(".loc 1 114 1 prologue_end // x.py:114:1\nmov.u32 x, 1;", &["loc 1 114 1", "mov.u32 r20, 1"]);
    check(".loc 1 2 3 is_stmt 0\nret;", &["loc 1 2 3", "ret"]);
    check(
        ".loc 2 153 3, function_name nowhere, inlined_at 1 20 3\nret;",
        &["loc 2 153 3 in  at 1 20 3", "ret"],
    );
    check("/* { ; */ ret; // } ;\n.pragma \"nounroll\";", &["ret", "pragma nounroll"]);
    check(
        "// standstill.freed %rd1, 16;\n//standstill.allocated %rd2, %r1;\n// standstill.other 1;",
        &["freed r11, 16", "allocated r12, r5"],
    );
    check(
        "{ .reg .b64 standstill_freed; add.u64 standstill_freed, %rd1, %rd2; }\n{ .reg .b64 standstill_allocated;\n\
         add.u64 standstill_allocated, %rd1, 8; }\nadd.u64 %rd1, %rd2, 8;",
        &["{", "freed r11, r12", "}", "{", "allocated r11, 8", "}", "add.u64 r11, r12, 8"],
    );
}

#[test]
fn inlined_names_come_from_the_debug_strings() {
    let text = ".entry k() { .loc 2 1 2, function_name $S, inlined_at 1 20 3\n.loc 2 1 2, function_name $S+4, inlined_at 1 20 3\n\
                .loc 2 1 2, function_name .debug_str+2, inlined_at 1 20 3\n ret; }\n\
                .section .debug_str\n{\n$S1:\n.b8 120,0\n$S:\n.b8 95,90,51\n.b8 102,111,111,118,0\n}\n";
    let module = parse(text);
    assert_eq!(module.errors.kept(), []);
    assert_eq!(
        show_body(&module),
        "loc 2 1 2 in _Z3foov at 1 20 3\nloc 2 1 2 in oov at 1 20 3\nloc 2 1 2 in _Z3foov at 1 20 3\nret\n"
    );
}

#[test]
fn notes_keep_their_place() {
    let text =
        "// standstill: launch(block = 256)\n.entry k() { ret; // standstill: allow(divergent-barrier)\n}";
    let module = parse(text);
    let notes: Vec<_> = module.comments.iter().map(|&note| module.str(note)).collect();
    assert_eq!(notes, [" launch(block = 256)", " allow(divergent-barrier)"]);
    assert_eq!(module.position(module.comments[1].start).line, 2);
}

#[test]
fn variables() {
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let module = parse(text);
        assert_eq!(module.errors.kept(), [], "in {text}");
        let found: Vec<_> = module.globals.iter().map(|&index| show_variable(&module, index)).collect();
        assert_eq!(found, expected, "in {text}");
    }
    check(".extern .shared .align 16 .b8 smem[];", &["Shared smem: b8[] align 16 Extern"]);
    check(
        ".visible .global .align 4 .u32 a, b[4];",
        &["Global a: u32 align 4 Visible", "Global b: u32[4] align 4 Visible"],
    );
    check(
        ".const .align 8 .b8 t[2][3] = {{1,2,3},{4,5,6}};",
        &["Const t: b8[6] align 8 = {{1,2,3},{4,5,6}}"],
    );
    check(".global .attribute(.managed) .align 4 .u32 m = 7;", &["Global m: u32 align 4 managed = 7"]);
    check(".weak .global .v4 .f32 v;", &["Global v: f32 v4 Weak"]);
    check(".common .global .b32 c; .tex .u64 t;", &["Global c: b32 Common", "Texture t: u64"]);
    check(
        ".global .texref tex; .global .samplerref s = { filter_mode = nearest };",
        &["Global tex: texref", "Global s: samplerref = { filter_mode = nearest }"],
    );
    check(
        ".global .u64 p[2] = {generic(a)+4, b}, q;",
        &["Global p: u64[2] = {generic(a)+4, b}", "Global q: u64"],
    );
}

#[test]
fn functions() {
    let text = ".version 9.5 // x\n.target sm_90a, texmode_independent\n.address_size 64\n\
        .extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
        .visible .entry k(.param .u64 .ptr .global .align 8 p, .param .align 16 .b8 s[24])\n\
        .reqntid 256, 2\n.minnctapersm 2 .maxnreg 64 .explicitcluster .reqnctapercluster 2 .maxclusterrank 8\n\
        .maxntid 512 .blocksareclusters .pragma \"x\"; { ret; }\n\
        .func g .noreturn .abi_preserve 8 { trap; }\n\
        .weak .func (.reg .b32 %o) h(.reg .b32 %a) .attribute(.unified(1, 2)) { mov.b32 %o, %a; ret; }\n\
        .alias g2, g;\n.file 1 \"a b.cu\", 12, 34\n.pragma \"nounroll\";\n@@DWARF x\n";
    let module = parse(text);
    assert_eq!(module.errors.kept(), []);
    assert_eq!(module.str(module.version), "9.5");
    assert_eq!(module.str(module.target), "sm_90a, texmode_independent");
    assert_eq!(module.address_size, Some(64));
    assert_eq!(
        module.files.iter().map(|file| (file.index, module.str(file.path))).collect::<Vec<_>>(),
        [(1, "a b.cu")]
    );
    let [declared, kernel, noreturn, registers] = &module.functions[..] else { panic!() };
    assert_eq!(module.str(declared.name), "vprintf");
    assert!(!declared.defined && !declared.entry);
    assert_eq!(module.results(declared).len(), 1);
    assert!(kernel.entry && kernel.defined);
    let shown: Vec<_> = kernel.parameters.clone().map(|index| show_variable(&module, index)).collect();
    assert_eq!(shown, ["Param p: u64 points into Global", "Param s: b8[24] align 16"]);
    let limits = kernel.limits;
    assert_eq!(limits.required_threads, Some([256, 2, 1]));
    assert_eq!(limits.max_threads, Some([512, 1, 1]));
    assert_eq!((limits.min_blocks, limits.max_registers, limits.max_cluster), (Some(2), Some(64), Some(8)));
    assert_eq!(limits.required_cluster, Some([2, 1, 1]));
    assert!(limits.explicit_cluster && limits.blocks_are_clusters);
    assert!(noreturn.limits.no_return);
    assert_eq!(registers.register_count, 2);
    assert_eq!(module.aliases.len(), 1);
}

#[test]
fn errors_name_their_place_and_reading_goes_on() {
    #[track_caller]
    fn check(text: &str, errors: &[(u32, u32, &str)], body: &str) {
        let module = parse(text);
        let found: Vec<_> = module
            .errors
            .kept()
            .iter()
            .map(|error| {
                let place = module.position(error.span.start);
                (place.line, place.column, error.kind.to_string())
            })
            .collect();
        let found: Vec<_> =
            found.iter().map(|(line, column, text)| (*line, *column, text.as_str())).collect();
        assert_eq!(found, errors, "in {text}");
        assert_eq!(show_body(&module), body, "in {text}");
    }
    check(
        ".entry k() {\n add.s32 a b;\n ret;\n}",
        &[(2, 12, "expected a comma or the end of the operands")],
        "add.s32 'a'\nret\n",
    );
    check(
        ".entry k() {\n mov.b32 a, 0x;\n ret; }",
        &[(2, 13, "this is not a number that fits 64 bits")],
        "mov.b32 'a', ?0x\nret\n",
    );
    check(
        ".entry k() {\n mov.b32 a, 99999999999999999999;\n}",
        &[(2, 13, "this is not a number that fits 64 bits")],
        "mov.b32 'a', ?99999999999999999999\n",
    );
    check(".entry k() { ? ;\n ret; }", &[(1, 14, "nothing can begin with this character here")], "ret\n");
    check(".entry k() { ret;", &[(1, 12, "this body is never closed")], "ret\n");
    check(".entry k() { ret;\n.entry j() { }", &[(1, 12, "this body is never closed")], "ret\n");
    check(".entry k() { bra }", &[(1, 18, "expected an operand")], "bra\n");
    check("/* x", &[(1, 1, "this comment is never closed")], "");
    check("hello; .entry k() { ret; }", &[(1, 1, "nothing can begin with this character here")], "ret\n");
    check(
        ".file 1 \"x\n.entry k() { ret; }",
        &[(1, 9, "this string is never closed"), (1, 11, "expected a path in quotes")],
        "ret\n",
    );
    let many = "?;".repeat(1000);
    assert_eq!(parse(&many).errors.count(), 1000);
}

#[test]
fn byte_order_marks_line_ends_and_final_zeros() {
    let module =
        parse("\u{feff}.version 8.0\r\n.target sm_90\r\n.entry k() {\r\n.loc 1 2 3\r\nret;\r\n}\r\n\0\0");
    assert_eq!(module.errors.kept(), []);
    assert_eq!((module.str(module.version), module.str(module.target)), ("8.0", "sm_90"));
    assert_eq!(show_body(&module), "loc 1 2 3\nret\n");
    assert!(parse("").errors.is_empty());
}
