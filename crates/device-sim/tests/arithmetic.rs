//! The forms that execute all lanes at once agree with `kernel_ir::evaluate`, bit for bit.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]

mod common;

use std::sync::Arc;

use common::{Case, finish};
use standstill_device_sim::{LaunchRequest, Progress};
use standstill_kernel_ir::{FunctionId, Op, evaluate};

const NARROW: [u64; 16] = [
    0,
    1,
    2,
    31,
    32,
    33,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x3f80_0000,
    0xbf80_0001,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0001,
    0x0000_0001,
    0x4b7f_ffff,
];

const WIDE: [u64; 16] = [
    0,
    1,
    63,
    64,
    u64::MAX,
    1 << 63,
    i64::MAX as u64,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0001,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0001,
    0xfff8_0000_0000_0002,
    0x0000_0000_0000_0001,
    0x7fef_ffff_ffff_ffff,
    0x1234_5678_9abc_def0,
];

fn mix(mut value: u64) -> u64 {
    value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// A value for a source: every pair of special values, then any.
fn input(index: u64, source: u64, wide: bool) -> u64 {
    let of = if wide { &WIDE } else { &NARROW };
    if index < 512 {
        let which = match source {
            0 => index % 16,
            1 => index / 16 % 16,
            _ => mix(index) % 16,
        };
        return of[which as usize];
    }
    let value = mix(index * 4 + source);
    if wide { value } else { value & 0xffff_ffff }
}

/// Compares an instruction, written with `d` for its destination and `a`, `b`, `c` for its sources, each with
/// the letter of its kind: `r` narrow, `d` wide, `p` predicate.
fn check(mnemonic: &str, to: char, sources: &str) {
    const THREADS: u64 = 1024;
    let register = |kind: char, number: usize| format!("%{kind}{number}");
    let mut load = String::new();
    let mut operands = vec![register(to, 10)];
    for (kind, at) in sources.chars().zip(0..) {
        let offset = 8 * THREADS as usize * at;
        match kind {
            'r' => load += &format!("ld.global.u32 %r{at}, [%d21+{offset}];\n"),
            'd' => load += &format!("ld.global.u64 %d{at}, [%d21+{offset}];\n"),
            _ => load += &format!("ld.global.u32 %r19, [%d21+{offset}]; setp.ne.u32 %p{at}, %r19, 0;\n"),
        }
        operands.push(register(kind, at));
    }
    let instruction = format!("{mnemonic} {};", operands.join(", "));
    let store = match to {
        'r' => "st.global.u32 [%d21+24576], %r10; st.global.u32 [%d21+24580], 0;",
        'd' => "st.global.u64 [%d21+24576], %d10;",
        _ => "selp.b32 %r10, 1, 0, %p10; st.global.u32 [%d21+24576], %r10; st.global.u32 [%d21+24580], 0;",
    };
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p0)\n{{\n\
         .reg .pred %p<20>; .reg .b32 %r<40>; .reg .b64 %d<40>;\n\
         ld.param.u64 %d20, [p0]; mov.u32 %r20, %tid.x; mul.wide.u32 %d21, %r20, 8; add.s64 %d21, %d20, %d21;\n\
         {load}{instruction}\n{store} ret;\n}}\n"
    );
    let offset = text.find(&instruction).unwrap() as u32;
    let case = Case::new(&text);
    let function = case.module.program().function(FunctionId(0)).unwrap();
    let found = function.instructions.iter().find(|instruction| instruction.offset == offset).unwrap();
    let Op::Arithmetic(arithmetic) = found.op else { panic!("{instruction} is no arithmetic") };
    let buffer = case.device.memory().allocate(8 * THREADS * 4).unwrap();
    for round in 0..4 {
        let value = |index: u64, source: usize, kind: char| match kind {
            'p' => input(index + round * THREADS, source as u64, false) & 1,
            kind => input(index + round * THREADS, source as u64, kind == 'd'),
        };
        for (kind, source) in sources.chars().zip(0usize..) {
            let bytes: Vec<u8> =
                (0..THREADS).flat_map(|index| value(index, source, kind).to_le_bytes()).collect();
            case.device.memory().write(buffer + 8 * THREADS * source as u64, &bytes).unwrap();
        }
        let mut request = LaunchRequest::new(FunctionId(0), 1, THREADS as u32);
        request.parameters = buffer.to_le_bytes().to_vec();
        assert_eq!(finish(&mut case.grid(request)), Progress::Finished);
        let mut bytes = vec![0; 8 * THREADS as usize];
        case.device.memory().read(buffer + 24576, &mut bytes).unwrap();
        for index in 0..THREADS {
            let values: Vec<u64> =
                sources.chars().zip(0..).map(|(kind, source)| value(index, source, kind)).collect();
            let expected = evaluate::execute(&arithmetic, &values, 1).unwrap()[0];
            let expected = if to == 'd' { expected } else { expected & 0xffff_ffff };
            let at = 8 * index as usize;
            let got = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
            assert_eq!(got, expected, "{instruction} of {values:x?}: {got:#x} instead of {expected:#x}");
        }
    }
    let _ = Arc::strong_count(&case.device);
}

#[test]
fn integers() {
    for ty in ["u32", "s32"] {
        for operation in ["add", "sub", "min", "max", "mul.lo", "mul.hi"] {
            check(&format!("{operation}.{ty}"), 'r', "rr");
        }
        check(&format!("mad.lo.{ty}"), 'r', "rrr");
        check(&format!("mul.wide.{ty}"), 'd', "rr");
        check(&format!("mad.wide.{ty}"), 'd', "rrd");
        check(&format!("shr.{ty}"), 'r', "rr");
        for to in ["s64", "u64"] {
            check(&format!("cvt.{to}.{ty}"), 'd', "r");
        }
    }
    for ty in ["u64", "s64"] {
        for operation in ["add", "sub", "mul.lo", "min", "max"] {
            check(&format!("{operation}.{ty}"), 'd', "dd");
        }
        check(&format!("mad.lo.{ty}"), 'd', "ddd");
        check(&format!("shr.{ty}"), 'd', "dr");
        check(&format!("cvt.u32.{ty}"), 'r', "d");
        check(&format!("cvt.s32.{ty}"), 'r', "d");
    }
    for operation in ["and", "or", "xor"] {
        check(&format!("{operation}.b32"), 'r', "rr");
        check(&format!("{operation}.b64"), 'd', "dd");
        check(&format!("{operation}.pred"), 'p', "pp");
    }
    for operation in ["not.b32", "neg.s32", "abs.s32", "mov.b32", "popc.b32", "clz.b32", "brev.b32"] {
        check(operation, 'r', "r");
    }
    for operation in ["not.b64", "neg.s64", "mov.b64"] {
        check(operation, 'd', "d");
    }
    check("shl.b32", 'r', "rr");
    check("shl.b64", 'd', "dr");
    check("not.pred", 'p', "p");
    check("mov.pred", 'p', "p");
    check("selp.b32", 'r', "rrp");
    check("selp.b64", 'd', "ddp");
}

#[test]
fn comparisons() {
    for comparison in ["eq", "ne", "lt", "le", "gt", "ge"] {
        for ty in ["s32", "u32", "f32"] {
            check(&format!("setp.{comparison}.{ty}"), 'p', "rr");
        }
        for ty in ["s64", "u64", "f64"] {
            check(&format!("setp.{comparison}.{ty}"), 'p', "dd");
        }
    }
    for comparison in ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"] {
        check(&format!("setp.{comparison}.f32"), 'p', "rr");
        check(&format!("setp.{comparison}.f64"), 'p', "dd");
    }
    for comparison in ["lo", "ls", "hi", "hs"] {
        check(&format!("setp.{comparison}.u32"), 'p', "rr");
        check(&format!("setp.{comparison}.u64"), 'p', "dd");
    }
    check("setp.eq.and.s32", 'p', "rrp");
}

#[test]
fn floats() {
    for operation in
        ["add", "sub", "mul", "div.rn", "add.rn", "mul.rn", "sub.rn", "min", "max", "add.ftz", "add.rz"]
    {
        check(&format!("{operation}.f32"), 'r', "rr");
    }
    for operation in ["add", "sub", "mul", "div.rn", "add.rn", "mul.rn", "min", "max"] {
        check(&format!("{operation}.f64"), 'd', "dd");
    }
    check("fma.rn.f32", 'r', "rrr");
    check("fma.rn.ftz.f32", 'r', "rrr");
    check("fma.rn.f64", 'd', "ddd");
    for operation in ["neg", "abs", "sqrt.rn", "rcp.rn"] {
        check(&format!("{operation}.f32"), 'r', "r");
        check(&format!("{operation}.f64"), 'd', "d");
    }
    for operation in
        ["cvt.rn.f32.s32", "cvt.rn.f32.u32", "cvt.rzi.s32.f32", "cvt.rzi.u32.f32", "cvt.rni.s32.f32"]
    {
        check(operation, 'r', "r");
    }
    check("cvt.rn.f64.s32", 'd', "r");
    check("cvt.f64.f32", 'd', "r");
    check("cvt.rn.f32.f64", 'r', "d");
}
