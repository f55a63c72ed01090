//! What is written from kernel IR becomes the same kernel IR when it is read again.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use standstill_kernel_ir::{Function, FunctionId, Op, Program as _, Terminator, Type};
use standstill_ptx::{Lowering, parse, write::write};

/// What must not change: operations, guards, operands, where blocks lead, and the width of registers.
fn essence(function: &Function, registers: usize) -> Vec<String> {
    let mut lines: Vec<String> = function
        .registers
        .iter()
        .take(registers)
        .map(|register| match register.ty {
            Type::Pred => "predicate".to_owned(),
            ty => format!("{} bits", ty.bits()),
        })
        .collect();
    for block in &function.blocks {
        for instruction in &function.instructions[block.first as usize..block.end as usize] {
            let mut instruction_op = instruction.op;
            // A move is of bits, whatever their type.
            if let Op::Arithmetic(what) = &mut instruction_op
                && what.operation == standstill_kernel_ir::Operation::Mov
                && what.ty != Type::Pred
            {
                (what.ty, what.from) = (Type::None, Type::None);
            }
            let (into, from) =
                (function.destinations(instruction.operands), function.sources(instruction.operands));
            lines.push(format!("{:?} {instruction_op:?} {into:?} <- {from:?}", instruction.guard));
        }
        lines.push(match block.terminator {
            // The same branch by the opposite condition.
            Terminator::Branch { guard, taken, otherwise } => {
                let (yes, no) = if guard.negated() { (otherwise, taken) } else { (taken, otherwise) };
                format!("{:?} ? {yes:?} : {no:?}", guard.register())
            }
            other => format!("{other:?}"),
        });
    }
    lines
}

/// Writes a text's IR, and compares what comes of it.
fn check(text: &str) -> String {
    let module = parse(text);
    assert_eq!(module.errors.kept(), [], "in {text}");
    let lowering = Lowering::new(&module);
    let written = write(&lowering, "sm_90", &lowering.first_values()).unwrap();
    let again = parse(&written);
    assert_eq!(again.errors.kept(), [], "in {written}");
    let lowered = Lowering::new(&again);
    assert_eq!(lowered.first_values(), lowering.first_values());
    for (_, id) in lowering.module().functions.iter().zip(0..) {
        let (Some(before), Some(after)) =
            (lowering.function(FunctionId(id)), lowered.function(FunctionId(id)))
        else {
            continue;
        };
        // Calls take registers for their pieces, and so do carries.
        let carries = text.contains(".cc");
        if before.calls.is_empty() && before.parameter_pieces.is_empty() && !carries {
            let count = before.registers.len();
            assert_eq!(essence(&before, count), essence(&after, count), "in\n{text}\nand\n{written}");
        }
    }
    written
}

const DECLARED: &str =
    ".reg .pred %p<9>; .reg .b16 %s<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .f64 %e<9>;";

fn check_body(body: &str) -> String {
    check(&format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 8 .b8 sh[64]; .global .align 4 .b8 g[8] = {{1, 2, 3}};\n\
         .visible .entry k(.param .u64 a, .param .u32 b, .param .align 8 .b8 c[24]) .maxntid 256, 1, 1\n{{ {DECLARED}\n{body}\nret; }}"
    ))
}

#[test]
fn every_form_comes_back() {
    for body in [
        "add.s32 %r1, %r2, -3; sub.u64 %d1, %d2, 9; mul.wide.u32 %d1, %r1, 4; mul.lo.s32 %r1, %r2, %r3; mul.hi.u64 %d1, %d2, %d3;",
        "mad.lo.s32 %r1, %r2, %r3, %r4; mad.wide.s32 %d1, %r2, 5, %d3; mul24.lo.u32 %r1, %r2, %r3; sad.u32 %r1, %r2, %r3, %r4;",
        "add.rn.f32 %f1, %f2, 0f3F800000; add.rz.ftz.sat.f32 %f1, %f2, %f3; fma.rn.f64 %e1, %e2, %e3, 0d3FF0000000000000;",
        "div.s32 %r1, %r2, %r3; rem.u64 %d1, %d2, %d3; div.rn.f32 %f1, %f2, %f3; div.full.ftz.f32 %f1, %f2, %f3;",
        "sqrt.rn.f64 %e1, %e2; rcp.approx.ftz.f32 %f1, %f2; rsqrt.approx.f32 %f1, %f2; sin.approx.f32 %f1, %f2;",
        "ex2.approx.f32 %f1, %f2; lg2.approx.f32 %f1, %f2; tanh.approx.f32 %f1, %f2; copysign.f32 %f1, %f2, %f3;",
        "setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3; setp.equ.f32 %p1, %f1, 0f00000000; set.gt.u32.f32 %r1, %f1, %f2;",
        "selp.b32 %r1, %r2, %r3, %p1; slct.f32.s32 %f1, %f2, %f3, %r1; testp.finite.f32 %p1, %f1;",
        "and.b32 %r1, %r2, 255; or.pred %p1, %p2, %p3; xor.b64 %d1, %d2, -1; not.b32 %r1, %r2; not.pred %p1, %p2; cnot.b32 %r1, %r2;",
        "shl.b32 %r1, %r2, 3; shr.s64 %d1, %d2, %r1; shf.l.wrap.b32 %r1, %r2, %r3, 5; shf.r.clamp.b32 %r1, %r2, %r3, %r4;",
        "lop3.b32 %r1, %r2, %r3, %r4, 0x80; prmt.b32 %r1, %r2, %r3, 0x5410; prmt.b32.rc8 %r1, %r2, %r3, %r4; bfe.s32 %r1, %r2, 4, 8;",
        "bfi.b64 %d1, %d2, %d3, 4, 8; popc.b64 %r1, %d2; clz.b32 %r1, %r2; brev.b32 %r1, %r2; bfind.shiftamt.u32 %r1, %r2;",
        "bmsk.clamp.b32 %r1, %r2, %r3; szext.wrap.s32 %r1, %r2, %r3; dp4a.s32.u32 %r1, %r2, %r3, %r4; abs.s32 %r1, %r2; neg.f32 %f1, %f2;",
        "min.s32 %r1, %r2, %r3; max.NaN.f32 %f1, %f2, %f3; min.ftz.f32 %f1, %f2, %f3;",
        "cvt.rn.f32.s64 %f1, %d1; cvt.rzi.s32.f32 %r1, %f1; cvt.u16.u32 %s1, %r1; cvt.s64.s8 %d1, %r1; cvt.rn.ftz.f32.f64 %f1, %e1; cvt.sat.u8.s32 %r1, %r2;",
        "mov.b64 {%r1, %r2}, %d1; mov.b64 %d1, {%r1, %r2}; mov.u32 %r1, %tid.x; mov.u32 %r2, %nctaid.z; mov.u64 %d1, %clock64; mov.pred %p1, %p2;",
        "mov.u32 %r1, WARP_SZ; mov.u32 %r2, %lanemask_lt; mov.f32 %f1, 0f3F800000; mov.u64 %d1, g; mov.u64 %d1, sh+8;",
        "ld.param.u64 %d1, [a]; ld.param.u32 %r1, [b]; ld.param.v2.f32 {%f1, %f2}, [c+8]; ld.global.nc.f32 %f1, [%d1+4]; ld.const.b8 %r1, [%d1];",
        "ld.global.v4.u32 {%r1, %r2, %r3, _}, [%d1+16]; st.global.v2.f64 [%d1], {%e1, %e2}; st.shared.u8 [sh+3], %r1; ld.local.s16 %r1, [%d1];",
        "ld.volatile.global.u32 %r1, [%d1]; ld.acquire.gpu.global.u32 %r1, [%d1]; st.release.sys.u32 [%d1], 7; st.relaxed.cta.shared.u32 [sh], %r1;",
        "atom.global.add.u32 %r1, [%d1], 1; atom.acq_rel.gpu.global.cas.b32 %r1, [%d1+4], %r2, %r3; atom.shared.exch.b64 %d1, [sh], %d2; red.release.gpu.global.max.s32 [%d1], %r1;",
        "atom.global.add.f32 %f1, [%d1], 0f3F800000; red.global.add.f64 [%d1], %e1; atom.global.inc.u32 %r1, [%d1], 15; atom.relaxed.sys.and.b32 %r1, [%d1], 3;",
        "bar.sync 0; bar.sync 1, 128; barrier.sync 2, %r1; bar.arrive 1, 128; bar.red.popc.u32 %r1, 0, %p1; bar.red.and.pred %p1, 1, 64, !%p2; bar.warp.sync -1;",
        "shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1; shfl.sync.idx.b32 %r1, %r2, %r3, 31, %r4; vote.sync.ballot.b32 %r1, %p1, -1; vote.sync.any.pred %p1, !%p2, -1;",
        "match.any.sync.b32 %r1, %r2, -1; match.all.sync.b64 %r1|%p1, %d2, -1; redux.sync.add.s32 %r1, %r2, -1; activemask.b32 %r1; elect.sync %r1|%p1, -1;",
        "fence.acq_rel.gpu; fence.sc.sys; membar.cta; nanosleep.u32 100; nanosleep.u32 %r1;",
        "@%p1 st.global.u32 [%d1], 1; @!%p1 add.s32 %r1, %r2, 1; @%p2 bra OUT; add.s32 %r1, %r1, 1; OUT:",
        "LOOP: add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 10; @%p1 bra LOOP; @%p2 ret; @!%p3 exit; @%p4 trap;",
        "L: .branchtargets A, B, C; brx.idx %r1, L; A: add.s32 %r1, %r1, 1; B: add.s32 %r1, %r1, 2; C: add.s32 %r1, %r1, 3;",
        ".local .align 8 .b8 stack[16]; .shared .align 4 .b32 tile[32]; mov.u64 %d1, stack; st.local.u32 [stack+4], 1; ld.shared.u32 %r1, [tile+12];",
        "cvta.to.global.u64 %d1, %d2; cvta.shared.u64 %d1, %d2; isspacep.shared %p1, %d1; isspacep.shared::cluster %p1, %d1;",
        "// standstill.freed %d1, 16;\n// standstill.allocated %d1, 16;\nadd.s32 %r1, %r1, 1;",
    ] {
        check_body(body);
    }
}

/// The flag of a carry is a register of the IR, and none of the text.
#[test]
fn carries_stay_implicit() {
    let written =
        check_body("add.cc.u32 %r1, %r2, %r3; addc.cc.u32 %r4, %r5, 0; madc.hi.u32 %r6, %r7, %r1, %r2;");
    let body: Vec<&str> =
        written.lines().map(str::trim).filter(|line| line.contains("cc") || line.contains("madc")).collect();
    assert_eq!(
        body,
        ["add.cc.u32 %v19, %v20, %v21;", "addc.cc.u32 %v22, %v23, 0;", "madc.hi.u32 %v24, %v25, %v19, %v20;"]
    );
}

#[test]
fn functions_are_called_by_their_pieces() {
    let written = check(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .func (.param .b64 r) twice(.param .b64 x) { .reg .b64 %d<3>; ld.param.b64 %d1, [x]; add.s64 %d2, %d1, %d1; st.param.b64 [r], %d2; ret; }\n\
         .visible .entry k(.param .u64 a) { .reg .b64 %d<3>; ld.param.u64 %d1, [a]; { .param .b64 p; st.param.b64 [p], %d1; .param .b64 q;\n\
         call.uni (q), twice, (p); ld.param.b64 %d2, [q]; } st.global.u64 [%d1], %d2; ret; }",
    );
    assert!(written.contains("call.uni (R0), twice, (A0_0);"), "{written}");
}

#[test]
fn what_only_a_move_may_read_goes_through_one() {
    use standstill_kernel_ir::build::{FunctionBuilder, integer};
    use standstill_kernel_ir::{
        FunctionHeader, FunctionKind, LaunchBounds, Module, Operand, Operation, Special, Terminator,
    };
    struct One(Module, Function);
    impl standstill_kernel_ir::Program for One {
        fn module(&self) -> &Module {
            &self.0
        }
        fn function(&self, id: FunctionId) -> Option<Function> {
            (id.0 == 0).then(|| self.1.clone())
        }
    }
    let mut builder = FunctionBuilder::new();
    let sum = builder.register(Type::U32);
    let entry = builder.block();
    let sources = [Operand::Special(Special::Tid(0)), Operand::Special(Special::Ntid(0))];
    builder.push(entry, integer(Operation::Add), &[sum], &sources);
    builder.terminate(entry, Terminator::Return);
    let header = FunctionHeader {
        name: "outer::k".to_owned(),
        kind: FunctionKind::Kernel,
        defined: true,
        bounds: LaunchBounds::default(),
        offset: 0,
        no_return: false,
    };
    let module =
        Module { functions: vec![header], target: "sm_90".to_owned(), address_bits: 64, ..Module::default() };
    let text = write(&One(module, builder.finish()), "sm_90", &[]).unwrap();
    assert!(text.contains(".visible .entry outer__k()"), "{text}");
    assert!(
        text.contains("mov.u32 %h0, %tid.x;\n\tmov.u32 %h1, %ntid.x;\n\tadd.u32 %v0, %h0, %h1;"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_written_is_named() {
    for (instruction, name) in [
        ("wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned"),
        ("frobnicate.u32 %r1, %r2;", "frobnicate.u32"),
        ("vadd4.u32.u32.u32 %r1, %r2, %r3, %r4;", "vadd4.u32.u32.u32"),
    ] {
        let text = format!(".version 8.0\n.target sm_90\n.entry k() {{ {DECLARED} {instruction} ret; }}");
        let module = parse(&text);
        let error = write(&Lowering::new(&module), "sm_90", &[]).unwrap_err();
        assert!(error.what.contains(name) && error.function == "k", "{error}");
        assert_eq!(error.offset as usize, text.find(instruction).unwrap());
    }
}
