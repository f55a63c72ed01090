//! What PTX becomes in kernel IR.

mod common;

use common::show_function;
use standstill_kernel_ir::{FunctionId, FunctionKind, Program};
use standstill_ptx::{Lowering, parse};

const DECLARED: &str =
    ".reg .pred %p<9>; .reg .b16 %s<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>;";

/// The first function of a text.
#[track_caller]
fn check_module(text: &str, function: u32, expected: &str) {
    let module = parse(text);
    assert_eq!(module.errors.kept(), [], "in {text}");
    let lowering = Lowering::new(&module);
    let found = show_function(&module, &lowering, function);
    assert_eq!(found.trim_end(), expected.trim_end(), "in {text}");
    common::validate(text);
}

/// The blocks of a kernel with two parameters.
#[track_caller]
fn check_blocks(body: &str, expected: &str) {
    let text = format!(
        ".shared .align 8 .b8 sh[64]; .global .u32 g;\n.entry k(.param .u64 a, .param .u32 b) {{ {DECLARED}\n{body}\n}}"
    );
    check_module(&text, 0, expected);
}

/// One block's operations.
#[track_caller]
fn check(body: &str, operations: &[&str]) {
    let lines: String = operations.iter().map(|line| format!("  {line}\n")).collect();
    check_blocks(body, &format!("b0:\n{lines}  Return"));
}

#[test]
fn arithmetic() {
    check("add.s32 %r1, %r2, -3;", &["Add.S32 %r1 <- %r2, -3"]);
    check("mul.wide.u32 %d1, %r1, 4;", &["Mul.U32.0x4 %d1 <- %r1, 4"]);
    check("mul.lo.s32 %r1, %r2, %r3;", &["Mul.S32.0x1 %r1 <- %r2, %r3"]);
    check("setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;", &["Setp.S32.Lt.And %p1, %p2 <- %r1, %r2, !%p3"]);
    check("setp.hi.u32 %p1, %r1, %r2;", &["Setp.U32.Hi %p1 <- %r1, %r2"]);
    check("cvt.rn.f32.s64 %f1, %d1;", &["Cvt.F32<S64.0x40 %f1 <- %d1"]);
    check("mov.f32 %f1, 0f3F800000;", &["Mov.F32 %f1 <- 1065353216"]);
    check("mov.f32 %f1, 1.0;", &["Mov.F32 %f1 <- 1065353216"]);
    check(
        "mov.b64 {%r1, %r2}, %d1; mov.b64 %d1, {%r1, %r2};",
        &["Mov.B64 %r1, %r2 <- %d1", "Mov.B64 %d1 <- %r1, %r2"],
    );
    check(
        "mov.u32 %r1, %tid.y; mov.u32 %r2, %envreg2;",
        &["Mov.U32 %r1 <- Tid(1)", "Mov.U32 %r2 <- Environment(2)"],
    );
    check("mov.u32 %r1, sh; mov.u32 %r1, sh+4;", &["Mov.U32 %r1 <- &sh+0", "Mov.U32 %r1 <- &sh+4"]);
    check(
        "cvta.to.global.u64 %d1, %d2; cvta.shared.u64 %d1, %d2;",
        &["Cvta.U64 %d1 <- %d2", "Cvta.U64 %d1 <- %d2"],
    );
    check(
        "add.cc.u32 %r1, %r2, %r3; addc.u32 %r1, %r2, %r3; addc.cc.u32 %r1, %r2, 0;",
        &[
            "Add.U32.0x4000 %r1, t0 <- %r2, %r3",
            "AddCarry.U32 %r1 <- %r2, %r3, t0",
            "AddCarry.U32.0x4000 %r1, t0 <- %r2, 0, t0",
        ],
    );
    check("shf.l.wrap.b32 %r1, %r2, %r3, 5;", &["Shf.B32.0x8002 %r1 <- %r2, %r3, 5"]);
    check("isspacep.shared %p1, %d1;", &["Isspacep.None %p1 <- %d1, 2"]);
    check("slct.f32.s32 %f1, %f2, %f3, %r1;", &["Slct.F32<S32 %f1 <- %f2, %f3, %r1"]);
    // A modifier that is not known makes the value unknown.
    check("add.strange.s32 %r1, %r2, 1;", &["Add.S32.0x80000000 %r1 <- %r2, 1"]);
    check(
        "createpolicy.fractional.L2::evict_first.b64 %d1, 1.0;",
        &["Mov.None.0x80000000 %d1 <- 4607182418800017408"],
    );
}

#[test]
fn memory() {
    check("ld.global.v2.u32 {%r1, _}, [%d1+8];", &["Load.Global.U32x2 %r1, _ <- [%d1+8]"]);
    check("ld.global.nc.L1::evict_last.L2::128B.f32 %f1, [%d1];", &["Load.Global.F32.nc %f1 <- [%d1+0]"]);
    check(
        "ld.acquire.gpu.global.u32 %r1, [g]; ld.volatile.u32 %r1, [%d1]; ld.relaxed.sys.u32 %r1, [%d1];",
        &[
            "Load.Global.U32.Acquire.Gpu %r1 <- &g+0",
            "Load.Generic.U32.Volatile.Sys %r1 <- [%d1+0]",
            "Load.Generic.U32.Relaxed.Sys %r1 <- [%d1+0]",
        ],
    );
    // What the cache operators of loads ask for; those of stores change nothing.
    check(
        "ld.global.cv.u32 %r1, [g]; ld.global.cg.u32 %r1, [g]; ld.global.ca.u32 %r1, [g]; st.global.cg.u32 [g], 1;",
        &[
            "Load.Global.U32.Volatile.Sys %r1 <- &g+0",
            "Load.Global.U32.Relaxed.Gpu %r1 <- &g+0",
            "Load.Global.U32 %r1 <- &g+0",
            "Store.Global.U32 <- &g+0, 1",
        ],
    );
    check(
        "st.release.cta.shared::cta.b32 [sh+4], %r1; st.shared::cluster.b32 [%r1], 7;",
        &["Store.Shared.B32.Release.Cta <- &sh+4, %r1", "Store.SharedCluster.B32 <- [%r1+0], 7"],
    );
    check(
        "st.global.L2::cache_hint.v2.b32 [%d1], {%r1, %r2}, %d2;",
        &["Store.Global.B32x2 <- [%d1+0], %r1, %r2"],
    );
    check(
        "ld.param.u64 %d1, [a]; ld.param.u32 %r1, [a+4]; mov.b64 %d2, a;",
        &["Load.Param.U64 %d1 <- param0+0", "Load.Param.U32 %r1 <- param0+4", "Mov.B64 %d2 <- param0+0"],
    );
    check(
        "@%p1 st.global.u32 [%d1], 1; @!%p1 st.global.u32 [%d1], 2;",
        &["@%p1 Store.Global.U32 <- [%d1+0], 1", "@!%p1 Store.Global.U32 <- [%d1+0], 2"],
    );
    check(
        "atom.global.add.u32 %r1, [%d1], 1; atom.acq_rel.gpu.cas.b32 %r1, [%d1], 0, 1;",
        &[
            "Atomic.Add.Global.U32.Relaxed.Gpu %r1 <- [%d1+0], 1",
            "Atomic.CompareExchange.Generic.B32.AcquireRelease.Gpu %r1 <- [%d1+0], 0, 1",
        ],
    );
    // Triton's order of modifiers.
    check(
        "atom.global.acq_rel.gpu.cas.b32 %r1, [%d1+0], %r2, %r3;",
        &["Atomic.CompareExchange.Global.B32.AcquireRelease.Gpu %r1 <- [%d1+0], %r2, %r3"],
    );
    check(
        "red.relaxed.sys.global.add.f32 [%d1], 0f3F800000;",
        &["Atomic.Add.Global.F32.Relaxed.Sys _ <- [%d1+0], 1065353216"],
    );
    check("ld.global.unheard_of.u32 %r1, [%d1];", &["Opaque.ld.global.unheard_of.u32 %r1 <- [%d1+0]"]);
    check("st.unheard_of.u32 [%d1], %r1;", &["Opaque.st.unheard_of.u32 <- [%d1+0], %r1"]);
    check("prefetch.global.L2 [%d1];", &["Hint <- [%d1+0]"]);
}

#[test]
fn synchronisation() {
    let barrier = |kind, aligned, reduction| {
        format!("Barrier {{ kind: {kind}, aligned: {aligned}, reduction: {reduction} }}")
    };
    check(
        "bar.sync 0; bar.sync %r1, 64; barrier.sync 1, 96; bar.arrive 2, 128; barrier.cta.sync.aligned 3;",
        &[
            &(barrier("Sync", true, "None") + " <- 0, _"),
            &(barrier("Sync", true, "None") + " <- %r1, 64"),
            &(barrier("Sync", false, "None") + " <- 1, 96"),
            &(barrier("Arrive", true, "None") + " <- 2, 128"),
            &(barrier("Sync", true, "None") + " <- 3, _"),
        ],
    );
    check(
        "bar.red.or.pred %p1, 0, !%p2; bar.red.popc.u32 %r1, 1, 64, %p2;",
        &[
            &(barrier("Sync", true, "Some(Or)") + " %p1 <- 0, _, !%p2"),
            &(barrier("Sync", true, "Some(Count)") + " %r1 <- 1, 64, %p2"),
        ],
    );
    check(
        "bar.warp.sync 255; activemask.b32 %r1; elect.sync %r1|%p1, -1;",
        &["WarpSync <- 255", "ActiveMask %r1 <-", "Elect %r1, %p1 <- -1"],
    );
    check(
        "shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1; shfl.idx.b32 %r1, %r2, 0, 31;",
        &["Shuffle(Down) %r1, %p1 <- %r2, 16, 31, -1", "Shuffle(Idx) %r1 <- %r2, 0, 31, _"],
    );
    check(
        "vote.sync.ballot.b32 %r1, %p1, -1; vote.ballot.sync.b32 %r1, !%p1, %r2; vote.all.pred %p1, %p2;",
        &["Vote(Ballot) %r1 <- %p1, -1", "Vote(Ballot) %r1 <- !%p1, %r2", "Vote(All) %p1 <- %p2, _"],
    );
    check(
        "match.all.sync.b32 %r1|%p1, %r2, -1; redux.sync.add.s32 %r1, %r2, -1;",
        &["Match { all: true } %r1, %p1 <- %r2, -1", "WarpReduce { operation: Add, ty: S32 } %r1 <- %r2, -1"],
    );
    let fence = |kind, order, scope| format!("Fence {{ kind: {kind}, order: {order}, scope: {scope} }} <-");
    check(
        "membar.gl; membar.cta; fence.acq_rel.cluster; fence.sc.sys; fence.proxy.async.shared::cta; fence.mbarrier_init.release.cluster; fence.proxy.alias;",
        &[
            &fence("Thread", "SequentiallyConsistent", "Gpu"),
            &fence("Thread", "SequentiallyConsistent", "Cta"),
            &fence("Thread", "AcquireRelease", "Cluster"),
            &fence("Thread", "SequentiallyConsistent", "Sys"),
            &fence("AsyncProxy", "AcquireRelease", "Cta"),
            &fence("MbarrierInit", "Release", "Cluster"),
            &fence("OtherProxy", "AcquireRelease", "Cta"),
        ],
    );
    check(
        "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire;",
        &[
            "ClusterBarrier { arrive: true, aligned: true, order: Relaxed } <-",
            "ClusterBarrier { arrive: false, aligned: false, order: Acquire } <-",
        ],
    );
    check(
        "griddepcontrol.wait; nanosleep.u32 100; setmaxnreg.dec.sync.aligned.u32 40;",
        &["GridDependency { wait: true } <-", "Nanosleep <- 100", "SetMaximumRegisters <- 40"],
    );
    check("// standstill.freed %d1, 16;", &["LifeMark { freed: true } <- %d1, 16"]);
    check(
        "{ .reg .b64 standstill_begins_stack_push; mad.lo.u64 standstill_begins_stack_push, %d1, 5, 0; }\n\
         { .reg .b64 standstill_ends; mov.b64 standstill_ends, %d2; }",
        &["OperationMark(Begins(StackPush)) <- %d1, 5, 0", "OperationMark(Ends) <- %d2"],
    );
}

#[test]
fn asynchronous_operations() {
    let mbarrier = |operation: &str, order: &str| {
        format!("Mbarrier {{ operation: {operation}, space: Shared, order: {order}, scope: Cta }}")
    };
    let arrive = |expect: bool| format!("Arrive {{ drop: false, expect: {expect}, no_complete: false }}");
    check(
        "mbarrier.init.shared::cta.b64 [%r1], 32; mbarrier.arrive.shared.b64 %d1, [%r1]; mbarrier.arrive.shared.b64 _, [%r1]; mbarrier.arrive.shared.b64 [%r1];",
        &[
            &(mbarrier("Init", "Weak") + " <- [%r1+0], 32"),
            &(mbarrier(&arrive(false), "Release") + " %d1 <- [%r1+0]"),
            &(mbarrier(&arrive(false), "Release") + " _ <- [%r1+0]"),
            &(mbarrier(&arrive(false), "Release") + " <- [%r1+0]"),
        ],
    );
    check(
        "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r1+8], 256;",
        &[&(mbarrier(&arrive(true), "Release") + " _ <- [%r1+8], 256")],
    );
    check(
        "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2; mbarrier.test_wait.shared.b64 %p1, [%r1], %d1;",
        &[
            &(mbarrier("Wait { suspends: true, parity: true }", "Acquire") + " %p1 <- [%r1+0], %r2"),
            &(mbarrier("Wait { suspends: false, parity: false }", "Acquire") + " %p1 <- [%r1+0], %d1"),
        ],
    );
    check(
        "cp.async.cg.shared.global [%r1], [%d1], 16; cp.async.ca.shared.global.L2::cache_hint [%r1], [%d1], 4, %r2, %d2; cp.async.commit_group; cp.async.wait_group 1; cp.async.wait_all;",
        &[
            "AsyncCopy { bytes: 16 } <- [%r1+0], [%d1+0], 16",
            "AsyncCopy { bytes: 4 } <- [%r1+0], [%d1+0], 4, %r2",
            "AsyncCommit <-",
            "AsyncWait <- 1",
            "AsyncWait <- _",
        ],
    );
    check(
        "cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];",
        &["AsyncMbarrierArrive { no_increment: true } <- [%r1+0]"],
    );
    check(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1, {%r2, %r3}], [%r4];",
        &[
            "BulkCopy { direction: GlobalToShared, tensor: true, completion: Mbarrier, reduction: None, multicast: false } <- [%r1+0], [%d1+0], %r2, %r3, [%r4+0]",
        ],
    );
    check(
        "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], 64; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;",
        &[
            "BulkCopy { direction: SharedToGlobal, tensor: false, completion: Group, reduction: None, multicast: false } <- [%d1+0], [%r1+0], 64",
            "BulkCommit <-",
            "BulkWait { read: true } <- 0",
        ],
    );
    check(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %d1, %d2, 1, 1, 1; wgmma.wait_group.sync.aligned 0;",
        &["Matrix(WarpgroupMma) %f1, %f2, %f3, %f4 <- %d1, %d2, 1, 1, 1", "Matrix(WarpgroupWait) <- 0"],
    );
    check(
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3]; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 64; tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3];",
        &[
            "Matrix(Load(MatrixFragment { fragment: Rows, space: Shared, ty: B16, m: 8, n: 8, k: 2, column: false })) %r1, %r2 <- [%r3+0]",
            "Matrix(TensorAllocation) <- %r1, 64",
            "Matrix(TensorMove) %r1, %r2 <- [%r3+0]",
        ],
    );
    check(
        "tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d2, %r2, %p1; @%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%d1];",
        &["Matrix(TensorMma) <- [%r1+0], %d1, %d2, %r2, %p1", "@%p2 Matrix(TensorCommit) <- [%d1+0]"],
    );
}

#[test]
fn modes_and_mixed_precision() {
    // Flags: mode in bits 22 to 24, SPECIAL in the two highest, see `ArithmeticFlags`.
    check("prmt.b32.ecl %r1, %r2, %r3, %r4;", &["Prmt.B32.0x1000000 %r1 <- %r2, %r3, %r4"]);
    check("testp.subnormal.f32 %p1, %f1;", &["Testp.F32.0x1800000 %p1 <- %f1"]);
    check("add.rn.f32.f16 %f1, %s1, %f2;", &["Add.F32<F16.0xc0000040 %f1 <- %s1, %f2"]);
    check("mul24.lo.u32 %r1, %r2, %r3;", &["Mul.U32.0xc8000001 %r1 <- %r2, %r3"]);
    check("min.xorsign.abs.f32 %f1, %f2, %f3;", &["Min.F32.0xc2000000 %f1 <- %f2, %f3"]);
    check("fma.rn.oob.f16 %s1, %s2, %s3, %s4;", &["Fma.F16.0x80000040 %s1 <- %s2, %s3, %s4"]);
    check(
        "lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x80, %p2;",
        &["Lop3.B32.Or %r1, %p1 <- %r2, %r3, %r4, 128, %p2"],
    );
    check("cvt.rn.satfinite.e4m3x2.f32 %s1, %f1, %f2;", &["Cvt.E4m3x2<F32.0x4000040 %s1 <- %f1, %f2"]);
}

#[test]
fn parts_of_registers() {
    check(
        "vadd.s32.u32.s32.sat %r1, %r2.b1, %r3.h0;",
        &[
            "Bfe.U32 t0 <- %r2, 8, 8",
            "Bfe.S32 t1 <- %r3, 0, 16",
            "Video(Add).S32<U32.0x10000008 %r1 <- t0, t1",
        ],
    );
    check("vadd4.u32.u32.u32.add %r1, %r2, %r3, %r4;", &["Video(Add).U32.0x1c00000 %r1 <- %r2, %r3, %r4"]);
    // A destination's byte is not modelled.
    check("vadd.u32.u32.u32 %r1.b0, %r2, %r3, %r4;", &["Video(Add).U32.0x80000000 %r1 <- %r2, %r3, %r4"]);
    check(
        ".reg .v2 .b32 v; ld.global.v2.b32 v, [%d1]; mov.b32 %r1, v.y; mov.b32 %r2, v.x;",
        &["Load.Global.B32x2 v, t0 <- [%d1+0]", "Mov.B32 %r1 <- t0", "Mov.B32 %r2 <- v"],
    );
}

#[test]
fn products_and_asynchronous_stores() {
    check(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f2};",
        &[
            "Matrix(Mma(MatrixMultiply { m: 16, n: 8, k: 16, d: F32, a: F16, b: F16, c: F32, operation: MultiplyAdd, saturates: false, wmma: false })) %f1 <- %r1, %r2, %f2",
        ],
    );
    check(
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f2}, %r3, 0;",
        &[
            "Matrix(Mma(MatrixMultiply { m: 16, n: 8, k: 32, d: F32, a: F16, b: F16, c: F32, operation: Unknown, saturates: false, wmma: false })) %f1 <- %r1, %r2, %f2, %r3, 0",
        ],
    );
    check(
        "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%r1}, [%d1], 32;",
        &[
            "Matrix(Load(MatrixFragment { fragment: B, space: Global, ty: F16, m: 16, n: 16, k: 16, column: true })) %r1 <- [%d1+0], 32",
        ],
    );
    check(
        "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r1], %d1; tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d1], [%r1], 128;",
        &[
            "Hint <- [%r1+0], %d1",
            "Fence { kind: OtherProxy, order: Release, scope: Gpu } <- [%d1+0], [%r1+0], 128",
        ],
    );
    check(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r1], {%r2, %r3}, [%r4];",
        &[
            "AsyncStore { access: Access { space: SharedCluster, ty: U32, elements: 2, order: Relaxed, scope: Cluster, non_coherent: false }, reduction: None } <- [%r1+0], %r2, %r3, [%r4+0]",
        ],
    );
    check(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r1], %d1, [%r4];",
        &[
            "AsyncStore { access: Access { space: SharedCluster, ty: U64, elements: 1, order: Relaxed, scope: Cluster, non_coherent: false }, reduction: Some(Add) } <- [%r1+0], %d1, [%r4+0]",
        ],
    );
}

#[test]
fn control_flow() {
    check_blocks(
        "@%p1 bra L; add.s32 %r1, %r1, 1; L: @!%p2 bra L; ret;",
        "b0:\n  @%p1 b2 else b1\nb1:\n  Add.S32 %r1 <- %r1, 1\n  jump b2\nb2:\n  @!%p2 b2 else b3\nb3:\n  Return",
    );
    // Guards on barriers, exits and operations of a warp become branches.
    let barrier = "Barrier { kind: Sync, aligned: true, reduction: None } <- 0, _";
    check_blocks(
        "@%p1 bar.sync 0; @!%p2 exit; @%p3 bar.warp.sync -1; ret;",
        &format!(
            "b0:\n  @%p1 b1 else b2\nb1:\n  {barrier}\n  jump b2\nb2:\n  @!%p2 b3 else b4\nb3:\n  Exit\nb4:\n  \
             @%p3 b5 else b6\nb5:\n  WarpSync <- -1\n  jump b6\nb6:\n  Return"
        ),
    );
    // A loop from the first instruction on leaves the entry without predecessors; labels that no branch
    // names begin no block; what follows a jump is a block of its own.
    check_blocks(
        "L: T: bar.sync 0; U: bra.uni L; trap;",
        &format!("b0:\n  jump b1\nb1:\n  {barrier}\n  jump b1\nb2:\n  Trap"),
    );
    check_blocks(
        "ts: .branchtargets A, B, A; brx.idx %r1, ts; A: exit; B: trap;",
        "b0:\n  switch %r1 b1 b2 b1\nb1:\n  Exit\nb2:\n  Trap",
    );
    // Labels of inline assembly belong to their block.
    check_blocks(
        "{ W: @%p1 bra W; } { .reg .pred q; W: @q bra W; bra X; } X: ret;",
        "b0:\n  jump b1\nb1:\n  @%p1 b1 else b2\nb2:\n  @q b2 else b3\nb3:\n  jump b4\nb4:\n  Return",
    );
    check_blocks("bra nowhere;", "b0:\n  jump b1\nb1:\n  Opaque.bra <-\n  Trap");
    check_blocks("", "b0:\n  Return");
}

#[test]
fn calls_pass_registers() {
    let text = ".func (.param .b32 r) f(.param .b64 p, .param .align 8 .b8 s[16]) { .reg .b32 %r<3>; .reg .b64 %d<3>;
        ld.param.u64 %d1, [p]; ld.param.v2.b32 {%r1, %r2}, [s+8]; st.param.b32 [r+0], %r1; ret; }
      .entry k() { .reg .b32 %r<3>; .reg .b64 %d<3>; .reg .pred %p<2>;
        { .param .b64 param0; st.param.b64 [param0+0], %d1; .param .align 8 .b8 param1[16];
          st.param.b32 [param1+8], 5; st.param.b32 [param1+12], %r1; .param .b32 retval0;
          call.uni (retval0), f, (param0, param1); ld.param.b32 %r2, [retval0+0]; }
        @%p1 call h, (%r1, 3); call %d1, (%r1), tt; tt: .calltargets f, k; ret; }
      .extern .func h(.param .b32 a, .param .b32 b) .noreturn;";
    check_module(
        text,
        0,
        "b0:\n  Mov.U64 %d1 <- t0\n  Mov.B32 %r1 <- t1\n  Mov.B32 %r2 <- t2\n  Mov.B32 t3 <- %r1\n  Return",
    );
    check_module(
        text,
        1,
        "b0:\n  Mov.B64 t0 <- %d1\n  Mov.B32 t1 <- 5\n  Mov.B32 t2 <- %r1\n  Call.f t3 <- t0, t1, t2\n  \
         Mov.B32 %r2 <- t3\n  @%p1 b1 else b2\nb1:\n  Mov.B64 t4 <- 3\n  Call.h <- %r1, t4\n  Trap\nb2:\n  \
         Call.[FunctionId(0), FunctionId(1)] <- %r1, %d1\n  Return",
    );
    let module = parse(text);
    let lowering = Lowering::new(&module);
    let callee = lowering.function(FunctionId(0)).unwrap();
    let places = |pieces: &[standstill_kernel_ir::Piece]| -> Vec<_> {
        pieces.iter().map(|piece| (piece.index, piece.offset)).collect()
    };
    assert_eq!(places(&callee.parameter_pieces), [(0, 0), (1, 8), (1, 12)]);
    assert_eq!(places(&callee.result_pieces), [(0, 0)]);
    let caller = lowering.function(FunctionId(1)).unwrap();
    assert_eq!(places(&caller.calls[0].arguments), [(0, 0), (1, 8), (1, 12)]);
    assert_eq!(places(&caller.calls[0].results), [(0, 0)]);
    assert_eq!(places(&caller.calls[1].arguments), [(0, 0), (1, 0)]);
}

#[test]
fn narrow_pieces_are_widened() {
    check_module(
        ".func f(.param .b8 a) { .reg .b16 %s<2>; .reg .b32 %r<2>; ld.param.s8 %s1, [a]; ld.param.u8 %r1, [a]; ret; }",
        0,
        "b0:\n  Cvt.B16<S8 %s1 <- t0\n  Cvt.B32<U8 %r1 <- t0\n  Return",
    );
}

#[test]
fn modules() {
    let text = ".version 9.0\n.target sm_90a, debug\n.address_size 64\n.file 3 \"x.cu\"\n\
        .file 4 \"m\\303\\274\\\\n.cu\"\n\
        .extern .shared .align 16 .b8 dyn[]; .const .f32 c[3]; .func f(); .func f() { ret; }\n\
        .visible .entry k(.param .u64 .ptr .global .align 4 p, .param .f32 q) .reqntid 8, 4 { .shared .b32 s[5]; .reg .b32 %r<2>;\n\
        .loc 3 10 5\n mov.u32 %r1, s;\n.loc 3 10 5\n.loc 3 4 1, function_name $L, inlined_at 3 10 5\n mov.u32 %r1, 1; ret; }";
    let module = parse(text);
    assert_eq!(module.errors.kept(), []);
    let lowering = Lowering::new(&module);
    let ir = lowering.module();
    assert_eq!((ir.target.as_str(), ir.address_bits), ("sm_90a", 64));
    assert_eq!(ir.files.get(3).map(String::as_str), Some("x.cu"));
    assert_eq!(ir.files.get(4).map(String::as_str), Some("mü\\n.cu"));
    assert_eq!(
        ir.variables.iter().map(|v| (v.name.as_str(), v.bytes)).collect::<Vec<_>>(),
        [("dyn", 0), ("c", 12)]
    );
    // A declaration and its definition are one function.
    let names: Vec<_> = ir.functions.iter().map(|f| (f.name.as_str(), f.kind, f.defined)).collect();
    assert_eq!(names, [("f", FunctionKind::Device, true), ("k", FunctionKind::Kernel, true)]);
    assert_eq!(ir.functions[1].bounds.required_block, Some([8, 4, 1]));
    let kernel = lowering.function(FunctionId(1)).unwrap();
    assert_eq!(
        kernel.parameters.iter().map(|p| (p.bytes, p.pointer)).collect::<Vec<_>>(),
        [(8, true), (4, false)]
    );
    assert_eq!((kernel.variables[0].name.as_str(), kernel.variables[0].bytes), ("s", 20));
    let inner = kernel.location(kernel.instructions[1].location);
    assert_eq!((inner.file.0, inner.line, inner.column), (3, 4, 1));
    let outer = kernel.location(inner.inlined_at);
    assert_eq!((outer.line, outer.column, outer.inlined_at.0), (10, 5, 0));
    assert_eq!(inner.inlined_at, kernel.instructions[0].location);
}

#[test]
fn what_is_not_understood_is_counted() {
    let module = parse(".entry k() { frob.a 1; frob.a 2; frob.b x; add.s32 a, b, c; }");
    assert_eq!(Lowering::new(&module).opaque_counts(), [("frob.a", 2), ("frob.b", 1)]);
}

#[test]
fn registers_as_parameters() {
    check_module(
        ".func (.reg .b32 %o) f(.param .b32 x, .reg .b32 %a) { .reg .b32 %r<2>; ld.param.b32 %r1, [x]; add.s32 %o, %a, %r1; ret; }",
        0,
        "b0:\n  Mov.B32 %r1 <- t0\n  Add.S32 %o <- %a, %r1\n  Return",
    );
}

/// Branches to labels that the function does not declare, each by its text from there on.
#[test]
fn undefined_labels() {
    let check = |body: &str, expected: &[&str]| {
        let text = format!(".version 8.0\n.target sm_90\n.visible .entry k()\n{{\n{body}\n}}\n");
        let module = parse(&text);
        assert!(module.errors.is_empty(), "{:?}", module.errors);
        let lowering = Lowering::new(&module);
        let found: Vec<&str> = lowering.undefined_labels().iter().map(|error| error.span.of(&text)).collect();
        assert_eq!(found, expected, "{body}");
    };
    check("L: bra L;", &[]);
    check("bra L; L: ret;", &[]);
    check("{ L: bra M; } M: ret;", &[]);
    check("bra NOWHERE;", &["NOWHERE"]);
    check(".reg .pred %p; @%p bra A; bra.uni B; A: ret;", &["B"]);
    check(".reg .b32 %r; ts: .branchtargets A, C; brx.idx %r, ts; A: ret;", &["C"]);
    check(".reg .b32 %r; brx.idx %r, ts; A: ret;", &["ts"]);
}
