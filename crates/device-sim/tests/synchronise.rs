//! Every way of synchronising, with what it must give.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]

mod common;

use common::{Case, STORE, check, finish};
use standstill_device_sim::{Beside, FaultKind, Progress};

fn fault(body: &str, threads: u32) -> FaultKind {
    match Case::new(body).run(1, threads) {
        Progress::Fault(fault) => fault.kind,
        other => panic!("{other:?}"),
    }
}

#[test]
fn shuffles_and_votes() {
    check("mov.u32 %r2, %laneid; shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", 1, 64, |i| (i % 32) ^ 1);
    check(
        "mov.u32 %r2, %laneid; shfl.sync.up.b32 %r1|%p1, %r2, 4, 0, -1; @!%p1 mov.u32 %r1, 99;",
        1,
        32,
        |i| {
            if i < 4 { 99 } else { i - 4 }
        },
    );
    // Segments of eight lanes.
    check("mov.u32 %r2, %laneid; shfl.sync.idx.b32 %r1, %r2, 2, 6175, -1;", 1, 32, |i| i / 8 * 8 + 2);
    check("mov.u32 %r2, %laneid; setp.lt.u32 %p1, %r2, 5; vote.sync.ballot.b32 %r1, %p1, -1;", 1, 32, |_| 31);
    check("mov.u32 %r2, %laneid; and.b32 %r3, %r2, 3; match.any.sync.b32 %r1, %r3, -1;", 1, 32, |i| {
        0x1111_1111 << (i % 4)
    });
    check("mov.u32 %r2, %laneid; redux.sync.add.u32 %r1, %r2, -1;", 1, 32, |_| 496);
    check("elect.sync %r2|%p1, -1; selp.b32 %r1, 1, 0, %p1;", 1, 32, |i| u32::from(i == 0));
}

#[test]
fn parts_of_a_warp_shuffle_by_themselves() {
    // Both halves shuffle in their own arm, with their own mask.
    check(
        "mov.u32 %r2, %laneid; setp.lt.u32 %p1, %r2, 16; @%p1 bra A;
         shfl.sync.idx.b32 %r1, %r2, 31, 31, 0xffff0000; bra B;
         A: shfl.sync.idx.b32 %r1, %r2, 3, 31, 0x0000ffff; B:",
        1,
        32,
        |i| if i < 16 { 3 } else { 31 },
    );
    // Lanes that come at different times.
    check(
        "mov.u32 %r2, %laneid; mov.u32 %r3, 0;
         L: setp.ge.u32 %p1, %r3, %r2; add.u32 %r3, %r3, 1; @!%p1 bra L;
         shfl.sync.bfly.b32 %r1, %r2, 31, 31, -1;",
        1,
        32,
        |i| 31 - i % 32,
    );
}

#[test]
fn warp_barriers_meet_from_different_places() {
    check(
        "mov.u32 %r2, %laneid; mov.u32 %r3, tile; shl.b32 %r4, %r2, 2; add.u32 %r5, %r3, %r4;
         setp.lt.u32 %p1, %r2, 16; @%p1 bra A;
         st.shared.u32 [%r5], %r2; bar.warp.sync -1; bra B;
         A: st.shared.u32 [%r5], %r2; bar.warp.sync -1;
         B: xor.b32 %r6, %r4, 124; add.u32 %r6, %r3, %r6; ld.shared.u32 %r1, [%r6];",
        1,
        32,
        |i| 31 - i,
    );
}

#[test]
fn masks_that_leave_out_their_caller() {
    let kind = fault("mov.u32 %r2, %laneid; shfl.sync.idx.b32 %r1, %r2, 0, 31, 1; ret;", 32);
    assert!(matches!(kind, FaultKind::IllegalInstruction(_)), "{kind:?}");
    // A barrier of lanes lets such a caller pass.
    check("bar.warp.sync 0x0000ffff; mov.u32 %r1, 4;", 1, 64, |_| 4);
}

#[test]
fn named_barriers() {
    // Producers arrive, consumers wait.
    check(
        "mov.u32 %r2, %tid.x; mov.u32 %r3, tile; mov.u32 %r1, 0; setp.ge.u32 %p1, %r2, 64; @%p1 bra C;
         shl.b32 %r4, %r2, 2; add.u32 %r5, %r3, %r4; st.shared.u32 [%r5], %r2; bar.arrive 3, 128; bra E;
         C: bar.sync 3, 128; sub.u32 %r6, %r2, 64; shl.b32 %r4, %r6, 2; add.u32 %r5, %r3, %r4;
         ld.shared.u32 %r1, [%r5];
         E:",
        2,
        128,
        |i| (i % 128).saturating_sub(64),
    );
    check("mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 70; bar.red.popc.u32 %r1, 0, %p1;", 1, 96, |_| 70);
    check(
        "mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 95; bar.red.and.pred %p2, 0, %p1;
         bar.red.or.pred %p3, 0, !%p1; selp.b32 %r1, 1, 0, %p2; selp.b32 %r3, 2, 0, %p3; add.u32 %r1, %r1, %r3;",
        1,
        96,
        |_| 2,
    );
}

#[test]
fn mbarrier_phases() {
    // 64 producers fill a slot twice, one consumer warp reads it in both phases.
    check(
        "mov.u32 %r2, %tid.x; mov.u32 %r3, tile; setp.ne.u32 %p1, %r2, 0; @%p1 bra A;
         mbarrier.init.shared.b64 [%r3], 64; mbarrier.init.shared.b64 [%r3+8], 32;
         A: bar.sync 0; setp.ge.u32 %p2, %r2, 64; @%p2 bra C;
         shl.b32 %r4, %r2, 2; add.u32 %r5, %r3, %r4; mov.u32 %r6, 0;
         P: mad.lo.s32 %r7, %r6, 100, %r2; st.shared.u32 [%r5+64], %r7;
         mbarrier.arrive.shared.b64 _, [%r3];
         W: mbarrier.try_wait.parity.shared.b64 %p3, [%r3+8], %r6; @!%p3 bra W;
         add.u32 %r6, %r6, 1; setp.lt.u32 %p4, %r6, 2; @%p4 bra P; mov.u32 %r1, 0; bra E;
         C: sub.u32 %r8, %r2, 64; shl.b32 %r4, %r8, 2; add.u32 %r5, %r3, %r4; mov.u32 %r6, 0; mov.u32 %r1, 0;
         D: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], %r6; @!%p3 bra D;
         ld.shared.u32 %r9, [%r5+64]; add.u32 %r1, %r1, %r9;
         mbarrier.arrive.shared.b64 _, [%r3+8];
         add.u32 %r6, %r6, 1; setp.lt.u32 %p4, %r6, 2; @%p4 bra D; E:",
        2,
        96,
        |i| if i % 96 < 64 { 0 } else { 2 * (i % 96 - 64) + 100 },
    );
}

#[test]
fn copies_that_nobody_waits_at_a_register_for() {
    check(
        "mov.u32 %r2, %tid.x; mov.u32 %r3, tile; shl.b32 %r4, %r2, 2; add.u32 %r5, %r3, %r4;
         mul.wide.u32 %d1, %r2, 4; add.s64 %d2, %d0, %d1; add.u32 %r6, %r2, 7; st.global.u32 [%d2+4096], %r6;
         cp.async.ca.shared.global [%r5], [%d2+4096], 4; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;
         xor.b32 %r7, %r4, 252; add.u32 %r7, %r3, %r7; ld.shared.u32 %r1, [%r7];",
        1,
        64,
        |i| 63 - i + 7,
    );
    // A bulk copy that completes an mbarrier by its bytes.
    check(
        "mov.u32 %r2, %tid.x; mov.u32 %r3, tile; mul.wide.u32 %d1, %r2, 4; add.s64 %d2, %d0, %d1;
         add.u32 %r6, %r2, 7; st.global.u32 [%d2+4096], %r6; setp.ne.u32 %p1, %r2, 0; @%p1 bra A;
         mbarrier.init.shared.b64 [%r3], 1; A: bar.sync 0; @%p1 bra W;
         mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 256;
         add.s64 %d3, %d0, 4096; add.u32 %r8, %r3, 128;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%d3], 256, [%r3];
         W: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0; @!%p3 bra W;
         shl.b32 %r4, %r2, 2; add.u32 %r5, %r3, %r4; ld.shared.u32 %r1, [%r5+128];",
        1,
        64,
        |i| i + 7,
    );
}

#[test]
fn clusters_share_memory() {
    let case = Case::new(&format!(
        "mov.u32 %r2, %tid.x; mov.u32 %r3, tile; mov.u32 %r4, %cluster_ctarank; mad.lo.s32 %r5, %r4, 100, %r2;
         shl.b32 %r6, %r2, 2; add.u32 %r7, %r3, %r6; st.shared.u32 [%r7], %r5;
         barrier.cluster.arrive; barrier.cluster.wait;
         xor.b32 %r8, %r4, 1; mapa.shared::cluster.u32 %r9, %r7, %r8; ld.shared::cluster.u32 %r1, [%r9];
         barrier.cluster.arrive; barrier.cluster.wait; {STORE}"
    ));
    let mut request = case.request(4, 32);
    request.cluster = Some([2, 1, 1]);
    assert_eq!(finish(&mut case.grid(request)), Progress::Finished);
    let expected: Vec<u32> = (0..128).map(|i| ((i / 32 % 2) ^ 1) * 100 + i % 32).collect();
    assert_eq!(case.words(128), expected);
}

#[test]
fn atomics() {
    Case::new(
        "mov.u32 %r2, %tid.x; red.global.add.u32 [%d0], 1; red.global.max.u32 [%d0+4], %r2;
         atom.global.inc.u32 %r3, [%d0+8], 9; red.global.add.f32 [%d0+12], 0f3F000000;
         red.global.or.b32 [%d0+16], %r2; ret;",
    )
    .gives(4, 100, &[400, 99, 0, 200f32.to_bits(), 127]);
    // A product by a CAS loop.
    Case::new(
        "mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; mov.u32 %r3, 3; @%p1 mov.u32 %r3, 2;
         setp.eq.u32 %p1, %r2, 2; @%p1 mov.u32 %r3, 5; setp.eq.u32 %p1, %r2, 3; @%p1 mov.u32 %r3, 7;
         atom.global.cas.b32 %r9, [%d0], 0, 1;
         ld.volatile.global.u32 %r4, [%d0];
         L: mul.lo.u32 %r5, %r4, %r3; mov.u32 %r6, %r4; atom.global.cas.b32 %r4, [%d0], %r6, %r5;
         setp.ne.u32 %p2, %r4, %r6; @%p2 bra L; ret;",
    )
    .gives(1, 4, &[210]);
}

#[test]
fn faults_have_a_place() {
    let case = Case::new(
        "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 37; @%p1 bra E;
         #8 st.global.u32 [%d0+16384], %r1; E: ret;",
    );
    let Progress::Fault(fault) = case.run(3, 64) else { panic!() };
    assert_eq!(fault.place.line, 8);
    assert_eq!((fault.block, fault.thread), ([0, 0, 0], [37, 0, 0]));
    let expected = FaultKind::OutOfBounds {
        address: case.buffer + 16384,
        bytes: 4,
        write: true,
        space: "global",
        nearest: Some(Beside { address: case.buffer, bytes: 16384, mark: 0, name: "p0".into() }),
    };
    assert_eq!(fault.kind, expected);
    assert!(matches!(fault_of("ld.global.u32 %r1, [%d0+2]; ret;"), FaultKind::Misaligned { bytes: 4, .. }));
    assert!(matches!(
        fault_of("mov.u64 %d1, 0; ld.u32 %r1, [%d1]; ret;"),
        FaultKind::OutOfBounds { address: 0, .. }
    ));
    assert!(matches!(
        fault_of("mov.u32 %r2, tile; ld.shared.u32 %r1, [%r2+4096]; ret;"),
        FaultKind::OutOfBounds { space: "shared", .. }
    ));
    assert_eq!(fault_of("trap;"), FaultKind::Trap);
}

fn fault_of(body: &str) -> FaultKind {
    fault(body, 32)
}
