//! What holds for every text, and for real files cut anywhere.

mod common;

use std::time::{Duration, Instant};

use proptest::prelude::*;
use standstill_ptx::parse;

use common::validate;

const FILES: [&str; 6] = [
    include_str!("data/nvcc_mbarrier_ring.ptx"),
    include_str!("data/nvcc_call.ptx"),
    include_str!("data/clang_call.ptx"),
    include_str!("data/numba_block_sum.ptx"),
    include_str!("data/triton_matmul_sm_90.ptx"),
    include_str!("data/triton_matmul_sm_100.ptx"),
];

#[test]
fn real_files_parse_without_errors() {
    for text in FILES {
        let module = parse(text);
        assert_eq!(module.errors.kept(), []);
        assert!(module.functions.iter().any(|function| function.defined));
        validate(text);
    }
}

#[test]
fn real_files_cut_at_every_hundredth() {
    for text in FILES {
        for part in 0..100 {
            let mut end = text.len() * part / 100;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            validate(&text[..end]);
        }
    }
}

#[test]
fn deep_nesting_takes_bounded_time_and_memory() {
    let started = Instant::now();
    let count = 4 << 20;
    for text in [
        "{".repeat(count),
        ".entry k() ".to_owned() + &"{".repeat(count),
        ".entry k() {".to_owned() + &"{}".repeat(count / 2),
        ".entry k() { mov.b32 %r1, ".to_owned() + &"{".repeat(count),
        ".entry k() { mov.b32 %r1, ".to_owned() + &"!".repeat(count),
        ".entry k() { mov.b32 %r1, ".to_owned() + &"-".repeat(count),
        ".entry k".to_owned() + &"(".repeat(count),
        ".entry k() { .reg .b32 %r<4000000000>; mov.b32 %r3999999999, %r7;".to_owned()
            + &".reg .b32 %r<4000000000>;".repeat(count / 100),
        ".global .b8 x = ".to_owned() + &"{".repeat(count),
        ".section .debug_str ".to_owned() + &"{".repeat(count),
    ] {
        let module = parse(&text);
        assert!(module.errors.kept().len() <= standstill_ptx::error::ERRORS_KEPT);
        assert!(module.memory() < text.len() * 8 + 100_000, "{} bytes for {}", module.memory(), text.len());
        validate(&text);
    }
    assert!(started.elapsed() < Duration::from_secs(60));
}

/// Pieces of PTX, to be put together at random.
const TOKENS: &[&str] = &[
    ".visible",
    ".entry",
    ".func",
    "k",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    ":",
    "|",
    "!",
    "@",
    "%p1",
    "%r1",
    "%rd1",
    "%tid.x",
    ".reg .pred %p<4>;",
    ".reg .b32 %r<4>;",
    ".reg .b64 %rd<4>;",
    ".reg .b32 %r1;",
    "bra",
    "L:",
    "L",
    "brx.idx",
    ".branchtargets",
    "ts:",
    "ts",
    "call",
    "call.uni",
    "ret",
    "exit",
    "trap",
    "bar.sync",
    "bar.red.or.pred",
    "ld.param.u32",
    "st.param.b32",
    ".param .b32 param0;",
    "param0",
    "mov.b64",
    "add.cc.u32",
    "addc.u32",
    "setp.lt.s32",
    "cp.async.ca.shared.global",
    "mbarrier.arrive.b64",
    "_",
    "0",
    "0x",
    "0f3F800000",
    "-1",
    "+",
    ".loc 1 2 3",
    ", function_name L, inlined_at 1 1 1",
    "\n",
    "// standstill.freed %r1, 4;\n",
    "// standstill: x\n",
    "/*",
    "*/",
    "\"",
    ".file 1 \"a\"",
    ".section .debug_str {",
    ".global .b32 g;",
    ".shared .b8 s[4];",
    ".pragma",
    ".version 9.0",
    ".callprototype",
    ".align",
    ".maxntid 1, 2",
    "é",
    "\0",
    ".alias a, b;",
    "generic(",
    "shfl.sync.idx.b32",
    "é.é",
    ".func f(.reg .b32 a)",
    ".noreturn",
    "WARP_SZ",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text(text in any::<String>()) {
        validate(&text);
    }

    #[test]
    fn any_ascii(bytes in prop::collection::vec(0u8..128, 0..400)) {
        validate(std::str::from_utf8(&bytes).unwrap());
    }

    #[test]
    fn any_tokens(tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..120)) {
        validate(&tokens.join(" "));
    }

    #[test]
    fn any_tokens_in_a_body(tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..120)) {
        let declared = ".reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;";
        validate(&format!(".func (.param .b32 r) f(.param .b64 p) {{ {declared} {} }}", tokens.join(" ")));
    }

    #[test]
    fn real_files_with_a_byte_changed(at in 0usize..20_000, byte in 0u8..128) {
        for text in FILES {
            let mut bytes = text.as_bytes().to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(text) = std::str::from_utf8(&bytes) {
                validate(text);
            }
        }
    }
}
