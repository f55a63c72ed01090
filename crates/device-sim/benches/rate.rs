//! Lane-instructions per second of converged code: `cargo bench -p standstill-device-sim`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench tells what it measured")]

#[path = "../tests/common/mod.rs"]
mod common;
mod processor;

use common::{Case, finish};
use processor::Processor;
use standstill_device_sim::Progress;

/// Loops of 1000 turns around a body.
fn looped(body: &str) -> String {
    format!(
        "mov.u32 %r9, 0; mov.f32 %f1, 0f3F800001; mov.f32 %f2, 0f3F000000; mov.f32 %f3, 0f00000000;
         mov.u32 %r2, %tid.x; mov.u32 %r3, tile; shl.b32 %r4, %r2, 2; and.b32 %r4, %r4, 4095;
         add.u32 %r5, %r3, %r4; mul.wide.u32 %d5, %r2, 4; add.s64 %d6, %d0, %d5;
         L: {body} add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 1000; @%p1 bra L;
         add.f32 %f9, %f3, %f4; st.shared.f32 [%r5], %f9; st.shared.u32 [%r5], %r8; ret;"
    )
}

fn measure(name: &str, body: &str) {
    rate(name, body, false);
}

fn rate(name: &str, body: &str, races: bool) {
    let case = Case::new(&looped(body));
    let mut best: f64 = 0.0;
    for _ in 0..3 {
        let mut request = case.request(64, 256);
        request.races = races;
        let mut grid = case.grid(request);
        let start = Processor::now();
        assert_eq!(finish(&mut grid), Progress::Finished);
        let seconds = start.seconds();
        best = best.max(grid.statistics().lane_instructions as f64 / seconds);
    }
    println!("{name:24} {:8.2} billion lane-instructions/s", best / 1e9);
}

fn main() {
    measure("fma.f32", &"fma.rn.f32 %f3, %f1, %f2, %f3;".repeat(16));
    measure("add.f32", &"add.rn.f32 %f3, %f1, %f3;".repeat(16));
    measure("mad.lo.s32", &"mad.lo.s32 %r8, %r8, %r2, %r4;".repeat(16));
    measure("integer mix", &"xor.b32 %r8, %r8, %r2; shl.b32 %r7, %r8, 3; add.u32 %r8, %r8, %r7;".repeat(6));
    measure("add.s64", &"add.s64 %d8, %d8, %d5;".repeat(16));
    measure("ld.shared", &"ld.shared.f32 %f4, [%r5];".repeat(16));
    measure("ld.global", &"ld.global.f32 %f4, [%d6];".repeat(16));
    measure("st.shared", &"st.shared.f32 [%r5], %f1;".repeat(16));
    measure("ld.shared + fma", &"ld.shared.f32 %f4, [%r5]; fma.rn.f32 %f3, %f4, %f2, %f3;".repeat(8));
    measure("setp, selp", &"setp.lt.s32 %p2, %r8, %r2; selp.b32 %r8, %r2, %r4, %p2;".repeat(8));
    measure("red.shared.add", &"red.shared.add.u32 [%r5], %r2;".repeat(8));
    measure("shfl", &"shfl.sync.bfly.b32 %r8, %r2, 3, 31, -1;".repeat(8));
    measure("bare loop", "");
    println!("looking for races:");
    let meet = "bar.sync 0;";
    rate("fma.f32", &"fma.rn.f32 %f3, %f1, %f2, %f3;".repeat(16), true);
    rate("ld.shared", &"ld.shared.f32 %f4, [%r5];".repeat(16), true);
    rate("ld.shared, one place", &format!("{meet}{}", "ld.shared.f32 %f4, [%r3];".repeat(16)), true);
    rate("ld.global", &"ld.global.f32 %f4, [%d6];".repeat(16), true);
    rate("st.shared", &format!("{}{meet}", "st.shared.f32 [%r5], %f1;".repeat(16)), true);
    rate("ld.shared + fma", &"ld.shared.f32 %f4, [%r5]; fma.rn.f32 %f3, %f4, %f2, %f3;".repeat(8), true);
    rate("red.shared.add", &"red.shared.add.u32 [%r5], %r2;".repeat(8), true);
    rate("bar.sync", &meet.repeat(8), true);
}
