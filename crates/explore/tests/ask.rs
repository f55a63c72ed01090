//! Asking about a launch from a Rust test.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use standstill_explore::{CheckError, Launch, Limits, check};
use standstill_ptx::{Lowering, parse};

/// Each of two blocks adds its own number to `sum`, once atomically and once not.
const TEXT: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 sum;\n\
    .visible .entry right()\n{\n.reg .b32 %r<4>;\nmov.u32 %r1, %ctaid.x; add.u32 %r1, %r1, 2;\n\
    red.relaxed.gpu.global.add.u32 [sum], %r1;\nret;\n}\n\
    .visible .entry wrong()\n{\n.reg .b32 %r<4>;\nmov.u32 %r1, %ctaid.x; add.u32 %r1, %r1, 2;\n\
    ld.volatile.global.u32 %r2, [sum]; add.u32 %r2, %r2, %r1; st.volatile.global.u32 [sum], %r2;\nret;\n}\n";

#[test]
fn a_launch_is_right_or_its_schedule_is_told() {
    let module = parse(TEXT);
    let program = Lowering::new(&module);
    let launch = |kernel: &str| {
        let mut launch = Launch::new(&program, kernel).unwrap();
        launch.grid = [2, 1, 1];
        launch
    };
    let right = launch("right");
    assert_eq!(check(&program, &right).expect("sum == 5").unwrap().results, 1);
    check(&program, &right).expect_that("the sum", |memory| memory.element("sum", 0) == Some(5)).unwrap();
    check(&program, &right).run().unwrap();

    let wrong = launch("wrong");
    let error = check(&program, &wrong).expect_that("the sum", |memory| memory.element("sum", 0) == Some(5));
    let told = error.unwrap_err().to_string();
    assert!(told.contains("the shortest schedule has 4 steps"), "{told}");
}

#[test]
fn what_cannot_be_asked_or_decided_is_told() {
    let module = parse(TEXT);
    let program = Lowering::new(&module);
    let mut launch = Launch::new(&program, "right").unwrap();
    assert!(matches!(check(&program, &launch).expect("sum = 5"), Err(CheckError::Condition(_))));
    launch.grid = [4000, 1, 1];
    assert!(matches!(check(&program, &launch).run(), Err(CheckError::Launch(_))));
    launch.grid = [5, 1, 1];
    let limits = Limits { states: 3, ..Limits::default() };
    assert!(matches!(check(&program, &launch).within(limits).run(), Err(CheckError::Undecided(_))));
}
