//! How long it takes to decide that a grid stands, or that it only looks so:
//! `cargo bench -p standstill-device-sim --bench verdicts`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench tells what it measured")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::{Case, finish};
use standstill_device_sim::Progress;

fn measure(name: &str, case: &Case, blocks: u32, threads: u32, expected: &Progress) {
    let mut grid = case.grid(case.request(blocks, threads));
    let start = Instant::now();
    let progress = finish(&mut grid);
    let ended = start.elapsed();
    assert_eq!(&progress, expected, "{name}");
    let rule = grid.standstill(None).map(|standstill| standstill.finding.rule);
    let whole = start.elapsed();
    println!("{name:44} {ended:>12.3?}, with its report {whole:>12.3?} {rule:?}");
}

fn main() {
    let barrier = "
        mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; mov.u32 %r7, %nctaid.x; @%p1 bra M;
        atom.global.add.u32 %r2, [%d0], 1;
        L: ld.volatile.global.u32 %r4, [%d0]; setp.lt.u32 %p2, %r4, %r7; @%p2 bra L;
        M: bar.sync 0; ret;";
    measure(
        "1,056 blocks of 256 meet on an H200",
        &Case::on("h200", barrier),
        1056,
        256,
        &Progress::Finished,
    );
    measure("1,057 blocks do not", &Case::on("h200", barrier), 1057, 256, &Progress::Parked);
    let float = Case::new(
        "mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; add.s64 %d2, %d0, %d1;
         mov.f32 %f1, 0f00000000; mov.u32 %r9, 0;
         L: ld.global.f32 %f2, [%d2]; add.f32 %f1, %f1, %f2; add.u32 %r9, %r9, 1;
         setp.neu.f32 %p1, %f1, 0f3F800000; @%p1 bra L;
         st.global.u32 [%d2], %r9; ret;",
    );
    float.device.memory().fill(float.buffer, &0.1f32.to_le_bytes(), 1024).unwrap();
    measure("x != 1.0f in steps of 0.1f, 256 threads", &float, 1, 256, &Progress::Parked);
    let late = Case::new(
        "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 1; @%p1 bra SET;
         L: ld.volatile.global.u32 %r2, [%d0]; setp.eq.u32 %p2, %r2, 0; @%p2 bra L;
         st.global.u32 [%d0+4], %r2; ret;
         SET: mov.u32 %r3, 0;
         C: add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 100000000; @%p3 bra C;
         st.volatile.global.u32 [%d0], 5; ret;",
    );
    measure("a release after 100,000,000 turns", &late, 2, 32, &Progress::Finished);
}
