//! What is no kernel source is told on its own piece of source, with what to write instead.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use standstill_kernel_syntax::{Unit, lower};

/// Lowers a kernel with this body, whose problems must be these: line and column in the body, and a part of the
/// message.
fn check(body: &str, expected: &[(u32, u32, &str)]) {
    let header =
        "#[kernel] fn k(space: Space, a: &[f32], b: &mut [u32], c: &[Atomic<u32>], n: u32, x: f32) {\n";
    let source = format!("{header}{body}\n}}");
    let file = syn::parse_file(&source).unwrap();
    let problems = match lower(&Unit::all(&file)[0], "k.rs", 1) {
        Ok(_) => Vec::new(),
        Err(problems) => problems,
    };
    let found: Vec<(u32, u32, String)> = problems
        .into_iter()
        .map(|p| (p.extent.place().line - 1, p.extent.place().column, p.message))
        .collect();
    assert_eq!(found.len(), expected.len(), "{body}\n{found:#?}");
    for ((line, column, message), (wanted_line, wanted_column, part)) in found.iter().zip(expected) {
        assert_eq!((line, column), (wanted_line, wanted_column), "{body}: {message}");
        assert!(message.contains(part), "{body}: {message}");
    }
}

#[test]
fn types_are_checked() {
    check("b[0] = n + x;", &[(1, 12, "expected `u32`, found `f32`; convert it with `as u32`")]);
    check("let y: f32 = 1;", &[(1, 14, "write the number with a point, as in `1.0`")]);
    check("if n { }", &[(1, 4, "expected `bool`, found `u32`; compare it, as in `x != 0`")]);
    check(
        "let i = -1i32; b[i] = 0;",
        &[(1, 18, "an index is an unsigned integer, this is `i32`; write `as usize`")],
    );
    check("b[0] = 4294967296;", &[(1, 8, "4294967296 is out of range for `u32`")]);
    check("let y = -n;", &[(1, 9, "`u32` has no negatives")]);
    check("let y = x & x;", &[(1, 9, "`f32` has no bit operations")]);
    check("let y = if n > 1 { 1.0 } else { n };", &[(1, 33, "expected `float`, found `u32`")]);
    check("let y = n as bool;", &[(1, 9, "a number is no truth value")]);
    check("b[0] = 300 as u8 as u32;", &[(1, 8, "300 is out of range for `u8`")]);
}

#[test]
fn places_are_checked() {
    check("a[0] = 1.0;", &[(1, 1, "`a` is a shared slice; take it as `&mut [f32]` to write to it")]);
    check("let y = 1; y = 2;", &[(1, 12, "`y` is not mutable; declare it with `mut y`")]);
    check("c[0] = 1;", &[(1, 1, "an atomic is written with `store")]);
    check("let y = c[0];", &[(1, 9, "an atomic is read with `load")]);
    check(
        "let y = b.load(Relaxed);",
        &[(1, 9, "`&mut [u32]` is not atomic; declare its elements as `Atomic<…>`")],
    );
    check("c[0].fetch_add(1);", &[(1, 1, "`fetch_add` needs a memory order")]);
    check("let y = [0u32; 4]; b[0] = y[4];", &[(1, 29, "the array has 4 elements; the last is 3")]);
    check("b[0] = unknown;", &[(1, 8, "the kernel does not know `unknown`")]);
    check("let y; y = 1;", &[(1, 5, "give the variable a value here")]);
}

#[test]
fn what_is_not_part_of_kernels_says_what_is() {
    check("for y in a { }", &[(1, 10, "write `for i in 0..slice.len()`")]);
    check("let f = |y: u32| y;", &[(1, 9, "kernels have no closures; write a `#[device]` function")]);
    check("unsafe { }", &[(1, 1, "kernels have no `unsafe`")]);
    check("println!(\"{}\", n);", &[(1, 1, "a kernel does not print")]);
    check("helper(n);", &[(1, 1, "write it as a `#[device]` function")]);
    check("space.synch();", &[(1, 7, "`space` has no `synch`")]);
    check("let y = space.w;", &[(1, 15, "`space` has `x`, `cell_x`")]);
    check("let y = (1, 2);", &[(1, 9, "kernels have no tuples")]);
    check("match n { 0 => {} }", &[(1, 1, "add a last arm `_ => …`")]);
    check("break;", &[(1, 1, "there is no such loop")]);
    check("let y = a.iter();", &[(1, 9, "kernels have no iterators")]);
    check("return n;", &[(1, 8, "expected `()`, found `u32`")]);
    check("space.mark_begins(heap_push, &c[0]);", &[(1, 1, "there are registers, counters, stacks")]);
    check("let y = n.cbrt();", &[(1, 9, "kernels do not know `cbrt`")]);
}

#[test]
fn large_numbers_have_an_end() {
    let most = "170141183460469231731687303715884105727";
    check(&format!("const N: u8 = -({most} + 1);"), &[(1, 17, "no constant value")]);
    check(&format!("const N: u8 = -(-{most} - 1);"), &[(1, 15, "out of range for `u8`")]);
    check("let y = [[[0u64; 1073741824]; 1073741824]; 1073741824];", &[]);
    check("match n { ..0 => {}, _ => {} }", &[]);
}

#[test]
fn one_mistake_is_told_once() {
    check("let y = unknown; let z = y + 1; b[0] = z; if z > 1 { b[1] = y; }", &[(1, 9, "`unknown`")]);
}

#[test]
fn headers_are_checked() {
    let problems = |source: &str| {
        let file = syn::parse_file(source).unwrap();
        let problems = lower(&Unit::all(&file)[0], "k.rs", 1).unwrap_err();
        problems.into_iter().map(|p| p.message).collect::<Vec<_>>().join("\n")
    };
    for (source, part) in [
        ("#[kernel] fn k() {}", "write `space: Space`"),
        ("#[kernel] fn k(space: Space) -> u32 { 1 }", "a kernel gives nothing back"),
        ("#[kernel] fn k(space: Space, v: Vec<u32>) {}", "`Vec` is no type of kernels"),
        ("#[kernel] fn k<T>(space: Space) {}", "not generic"),
        ("#[kernel] fn k(space: Space, n: &u32) {}", "a kernel cannot take `&u32`"),
        ("#[kernels] mod m { fn f() {} }", "mark it `#[kernel]` or `#[device]`"),
        (
            "#[kernels] mod m { #[device] fn f(n: u32) -> u32 { f(n) } #[kernel] fn k(space: Space) { f(1); } }",
            "cannot call themselves",
        ),
        (
            "#[kernels] mod m { #[device] fn f(g: fn(u32) -> u32) -> u32 { g(1) } #[device] fn h(a: f32) -> f32 { a }
             #[kernel] fn k(space: Space) { f(h); } }",
            "expected `fn(u32) -> u32`, found `fn(f32) -> f32`",
        ),
        ("#[kernel] fn k(space: Space, f: fn(u32) -> u32) {}", "a kernel cannot take `fn(u32) -> u32`"),
        ("#[kernels] mod m { #[device] fn f(g: fn(&[u32]) -> u32) {} }", "takes numbers and gives one"),
    ] {
        assert!(problems(source).contains(part), "{source}: {}", problems(source));
    }
}
