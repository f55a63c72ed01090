//! What kernels compute.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may")]

mod common;

use common::{Case, STORE, check, finish};
use standstill_device_sim::{Choice, DeviceSink, Interleaving, Progress, Schedule};

#[test]
fn indices() {
    check("mov.u32 %r1, %tid.x;", 3, 40, |i| i % 40);
    check("mov.u32 %r1, %laneid;", 2, 70, |i| i % 70 % 32);
    check("mov.u32 %r1, %nctaid.x;", 3, 5, |_| 3);
}

#[test]
fn branches_come_together_again() {
    // In turns, that is; at random they need not.
    let case = Case::new(&format!(
        "mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 10; @%p1 bra A; mov.u32 %r1, 7; bra B;
         A: mov.u32 %r1, 5; B: activemask.b32 %r3; add.u32 %r1, %r1, %r3; {STORE}"
    ));
    assert_eq!(case.run(1, 64), Progress::Finished);
    let expected: Vec<u32> = (0..64).map(|i| if i < 10 { 4 } else { 6 }).collect();
    assert_eq!(case.words(64), expected);
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
fn code_that_runs_off_its_end_ends() {
    for body in ["", "bra END; END:", "mov.u32 %r1, 1; setp.eq.u32 %p1, %r1, 1; @%p1 bra END; ret; END:"] {
        assert_eq!(Case::new(body).run(1, 32), Progress::Finished, "{body}");
    }
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

#[test]
fn textures_are_refused_by_name() {
    let case = Case::new("#21 tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d0, {%r1}]; ret;");
    let error = case.device.launch(&case.module, case.request(1, 32)).unwrap_err();
    let expected = "tex.1d.v4.f32.s32 on line 21 of k.cu cannot be executed on the software GPU";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn chosen_interleavings() {
    // Thread 1 reads before thread 0 writes back: one update is lost.
    struct Delayed;
    impl Interleaving for Delayed {
        fn next(&mut self, threads: &[Choice]) -> Option<(usize, u64)> {
            // Everybody runs up to the store first.
            let early = threads.iter().position(|choice| choice.line < 9);
            early.map(|index| (index, 1))
        }
    }
    let case = Case::new(
        "#7 ld.global.u32 %r1, [%d0];
         #8 add.u32 %r1, %r1, 1;
         #9 st.global.u32 [%d0], %r1; ret;",
    );
    let mut request = case.request(1, 4);
    request.schedule = Schedule::Chosen(Box::new(Delayed));
    assert_eq!(finish(&mut case.grid(request)), Progress::Finished);
    assert_eq!(case.words(1), [1]);
}

#[test]
fn printf_formats_as_c_does() {
    #[derive(Clone, Default)]
    struct Printed(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
    impl DeviceSink for Printed {
        fn print(&mut self, text: &[u8]) {
            self.0.lock().unwrap().extend_from_slice(text);
        }
    }
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n\
        .extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n\
        .visible .entry k(.param .u64 p0)\n{\n.local .align 8 .b8 args[32]; .reg .b64 %d<9>; .reg .b32 %r<9>;\n\
        ld.param.u64 %d0, [p0]; mov.u64 %d1, args; cvta.local.u64 %d2, %d1;\n\
        mov.u32 %r1, -5; st.local.u32 [%d1], %r1; mov.f64 %d3, 0d3FF8000000000000; st.local.f64 [%d1+8], %d3;\n\
        mov.u32 %r2, 48879; st.local.u32 [%d1+16], %r2;\n\
        { .param .b64 a; st.param.b64 [a], %d0; .param .b64 b; st.param.b64 [b], %d2; .param .b32 r;\n\
        call.uni (r), vprintf, (a, b); ld.param.b32 %r3, [r]; }\n\
        st.global.u32 [%d0+256], %r3; ret;\n}\n";
    let case = Case::new(text);
    case.device.memory().write(case.buffer, b"[%4d] [%-8.3f] [%#06x] %%\n\0").unwrap();
    let printed = Printed::default();
    let mut request = case.request(1, 1);
    request.sink = Some(Box::new(printed.clone()));
    assert_eq!(finish(&mut case.grid(request)), Progress::Finished);
    assert_eq!(String::from_utf8_lossy(&printed.0.lock().unwrap()), "[  -5] [1.500   ] [0xbeef] %\n");
    assert_eq!(case.words(65)[64], 3);
}

#[test]
fn calls_and_recursion() {
    // Fibonacci by recursion, each lane its own depth.
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n\
        .func (.reg .b32 out) fib (.reg .b32 n)\n{\n.reg .b32 %r<9>; .reg .pred %p<3>;\n\
        setp.lt.u32 %p1, n, 2; @%p1 bra BASE; sub.u32 %r1, n, 1; call (%r2), fib, (%r1);\n\
        sub.u32 %r3, n, 2; call (%r4), fib, (%r3); add.u32 out, %r2, %r4; ret;\n\
        BASE: mov.u32 out, n; ret;\n}\n\
        .visible .entry k(.param .u64 p0)\n{\n.reg .b64 %d<9>; .reg .b32 %r<9>;\n\
        ld.param.u64 %d0, [p0]; mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, 11; call (%r3), fib, (%r2);\n\
        mul.wide.u32 %d1, %r1, 4; add.s64 %d1, %d0, %d1; st.global.u32 [%d1], %r3; ret;\n}\n";
    let fib = |n: u32| (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0;
    let expected: Vec<u32> = (0..40).map(|i| fib(i % 11)).collect();
    Case::new(text).gives(1, 40, &expected);
}

#[test]
fn a_seed_decides_everything() {
    // A race: the last of several unordered stores, and what each thread saw before its own.
    let case = Case::new(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 64, %r1; mul.wide.u32 %d1, %r3, 4;
         add.s64 %d2, %d0, %d1; mov.u32 %r9, 0;
         L: ld.global.u32 %r4, [%d0]; add.u32 %r4, %r4, 1; st.global.u32 [%d0], %r4; st.global.u32 [%d2+64], %r4;
         add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, %r1; @%p1 bra L; ret;",
    );
    let run = |seed| {
        case.device.memory().fill(case.buffer, &[0], 4 * common::WORDS as u64).unwrap();
        let mut request = case.request(4, 64);
        (request.seed, request.schedule) = (seed, Schedule::Random);
        let mut grid = case.grid(request);
        assert_eq!(finish(&mut grid), Progress::Finished);
        (case.words(400), grid.statistics())
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7).0, run(8).0);
}

#[test]
fn grids_run_beside_each_other() {
    // The first waits for what the second writes.
    let waits = Case::new(
        "L: ld.volatile.global.u32 %r1, [%d0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L; st.global.u32 [%d0+4], %r1; ret;",
    );
    let mut first = waits.grid(waits.request(2, 32));
    assert_eq!(finish(&mut first), Progress::Parked);
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p0)\n{\n\
        .reg .b64 %d<3>; ld.param.u64 %d0, [p0]; st.global.u32 [%d0], 3; ret;\n}\n";
    let syntax = Box::leak(Box::new(standstill_ptx::parse(text)));
    let program = std::sync::Arc::new(standstill_ptx::Lowering::new(syntax));
    let module = waits.device.load(program, &[]).unwrap();
    let mut request = waits.request(1, 1);
    request.kernel = module.kernel("k").unwrap();
    let mut second = waits.device.launch(&module, request).unwrap();
    assert_eq!(finish(&mut second), Progress::Finished);
    assert_eq!(finish(&mut first), Progress::Finished);
    assert_eq!(waits.words(2), [3, 3]);
}

#[test]
fn launches_beyond_the_card_are_refused() {
    let case = Case::new("ret;");
    let refused = |change: &dyn Fn(&mut standstill_device_sim::LaunchRequest)| {
        let mut request = case.request(1, 32);
        change(&mut request);
        case.device.launch(&case.module, request).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&|request| request.block = [1025, 1, 1]),
        "invalid block [1025, 1, 1]: an extent is beyond the card's limit"
    );
    assert_eq!(refused(&|request| request.grid = [0, 1, 1]), "invalid grid [0, 1, 1]: an extent is zero");
    assert_eq!(
        refused(&|request| request.dynamic_shared = 240 << 10),
        "one block needs 32 threads of 32 registers and 245760 bytes of shared memory: more than a multiprocessor \
         of the h200 has"
    );
    assert_eq!(
        refused(&|request| (request.cooperative, request.grid) = (true, [5000, 1, 1])),
        "a cooperative launch of 5000 blocks: only 4224 are resident at once on the h200"
    );
    assert_eq!(
        refused(&|request| request.parameters.truncate(4)),
        "4 bytes of parameters given, the kernel takes 8"
    );
}
