//! What kernels compute.

mod common;

use common::Case;

/// Stores `value` of each thread at its global index.
const STORE: &str = "
    mov.u32 %r30, %ctaid.x; mov.u32 %r31, %ntid.x; mov.u32 %r32, %tid.x;
    mad.lo.s32 %r33, %r30, %r31, %r32;
    mul.wide.u32 %d30, %r33, 4; add.s64 %d31, %d0, %d30;
    st.global.u32 [%d31], %r1; ret;";

fn check(body: &str, blocks: u32, threads: u32, expected: impl Fn(u32) -> u32) {
    let expected: Vec<u32> = (0..blocks * threads).map(expected).collect();
    Case::new(&format!("{body}{STORE}")).gives(blocks, threads, &expected);
}

#[test]
fn indices() {
    check("mov.u32 %r1, %tid.x;", 3, 40, |i| i % 40);
    check("mov.u32 %r1, %laneid;", 2, 70, |i| i % 70 % 32);
    check("mov.u32 %r1, %nctaid.x;", 3, 5, |_| 3);
}

#[test]
fn branches_come_together_again() {
    check(
        "mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 10; @%p1 bra A; mov.u32 %r1, 7; bra B;
         A: mov.u32 %r1, 5; B: activemask.b32 %r3; add.u32 %r1, %r1, %r3;",
        1,
        64,
        |i| if i < 10 { 4 } else { if i < 32 { 6 } else { 6 } },
    );
}

#[test]
fn loops_of_different_length() {
    // The sum of the numbers below the thread's index.
    check(
        "mov.u32 %r2, %tid.x; mov.u32 %r1, 0; mov.u32 %r3, 0;
         L: setp.ge.u32 %p1, %r3, %r2; @%p1 bra E; add.u32 %r1, %r1, %r3; add.u32 %r3, %r3, 1; bra L; E:",
        2,
        48,
        |i| (0..i % 48).sum(),
    );
}

#[test]
fn shared_memory_and_barriers() {
    check(
        "mov.u32 %r2, %tid.x; mov.u32 %r3, tile; shl.b32 %r4, %r2, 2; add.u32 %r5, %r3, %r4;
         st.shared.u32 [%r5], %r2; bar.sync 0; xor.b32 %r6, %r4, 508; add.u32 %r6, %r3, %r6;
         ld.shared.u32 %r1, [%r6];",
        2,
        128,
        |i| 127 - i % 128,
    );
}
