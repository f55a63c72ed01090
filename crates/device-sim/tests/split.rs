//! Blocks on two threads do what they do on one.

#![allow(clippy::unwrap_used, reason = "a helper of tests")]

mod common;

use common::{Case, finish};
use standstill_device_sim::Progress;

/// Bytes of the buffer.
const BYTES: usize = 1 << 20;

/// What a kernel leaves, how it ends, and what was executed, with so many threads.
fn run(body: &str, blocks: u32, workers: usize) -> (Vec<u8>, Progress, u64) {
    let case = Case::new(body);
    case.device.set_workers(workers);
    let buffer = case.device.memory().allocate(BYTES as u64).unwrap();
    let mut request = case.request(blocks, 64);
    request.parameters = buffer.to_le_bytes().to_vec();
    let mut grid = case.grid(request);
    let end = finish(&mut grid);
    let mut bytes = vec![0; BYTES];
    case.device.memory().read(buffer, &mut bytes).unwrap();
    (bytes, end, grid.statistics().lane_instructions)
}

/// Work that makes a second thread worth its while, then `body`, with the thread's index in the grid in `%r4`, in the
/// block in `%r2`, and the block's in `%r1`.
fn check(body: &str, ends_well: bool) {
    let text = format!(
        "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r4, %r1, 64, %r2; mov.u32 %r9, 0;
         L: add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 1000; @%p1 bra L;
         mul.wide.u32 %d1, %r4, 4; add.s64 %d2, %d0, %d1; {body} ret;"
    );
    for blocks in [40, 41, 60] {
        let one = run(&text, blocks, 1);
        let two = run(&text, blocks, 2);
        assert!(one.0 == two.0, "{blocks} blocks leave something else");
        assert_eq!((&one.1, one.2), (&two.1, two.2), "{blocks} blocks");
        assert_eq!(one.1 == Progress::Finished, ends_well, "{:?}", one.1);
    }
}

#[test]
fn stores_and_reductions() {
    check("st.global.u32 [%d2], %r4;", true);
    check("st.global.u8 [%d2+3], %r4; st.global.v2.u16 [%d2], {%h1, %h2};", true);
    check("red.global.add.u32 [%d0], %r4; red.global.max.u32 [%d0+4], %r4;", true);
    check("mul.wide.u32 %d3, %r2, 4; add.s64 %d4, %d0, %d3; red.global.xor.b32 [%d4], %r4;", true);
    check("st.u32 [%d2], %r4; ld.u32 %r5, [%d2]; add.u32 %r5, %r5, 1; st.u32 [%d2], %r5;", true);
    // Far from each other, then read again.
    let far = "mul.lo.u32 %r5, %r4, 4093; and.b32 %r5, %r5, 262143; mul.wide.u32 %d3, %r5, 4;
        add.s64 %d4, %d0, %d3;";
    check(&format!("{far} st.global.u32 [%d4], %r4;"), true);
    let again =
        "ld.u32 %r6, [%d4]; add.u32 %r6, %r6, %r4; st.u32 [%d4], %r6; ld.u32 %r7, [%d4]; st.u32 [%d2], %r7;";
    check(&format!("{far} {again}"), true);
}

#[test]
fn blocks_that_find_what_others_left() {
    // Each block adds to what the one before it has stored.
    check("ld.global.u32 %r5, [%d0]; add.u32 %r5, %r5, 1; st.global.u32 [%d0], %r5;", true);
    check(
        "sub.s64 %d3, %d2, 256; setp.eq.u32 %p2, %r1, 0; @%p2 bra F; ld.global.u32 %r5, [%d3]; F: add.u32 %r5, %r5, %r4; st.global.u32 [%d2], %r5;",
        true,
    );
    check("ld.global.u32 %r5, [%d0]; red.global.add.u32 [%d0], 1; st.global.u32 [%d2+512], %r5;", true);
    check("st.global.u32 [%d0], %r4;", true);
}

#[test]
fn faults_are_those_of_the_first_block() {
    check(
        "st.global.u32 [%d2], %r4; setp.lt.u32 %p2, %r1, 30; @%p2 ret; ld.global.u32 %r5, [%d2+2000000];",
        false,
    );
    check("st.global.u32 [%d2], %r4; setp.ne.u32 %p2, %r1, 17; @%p2 ret; trap;", false);
}

#[test]
fn blocks_that_wait() {
    // The last block lets all others go, as long as all are resident.
    check(
        "st.global.u32 [%d2+256], %r4; setp.ne.u32 %p2, %r1, 39; @%p2 bra W; st.global.u32 [%d0], 1;
         W: ld.global.u32 %r5, [%d0]; setp.eq.u32 %p3, %r5, 0; @%p3 bra W;",
        true,
    );
}
