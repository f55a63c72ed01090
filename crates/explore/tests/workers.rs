//! What is found does not depend on how many threads search.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

#[path = "../examples/progress/translate.rs"]
#[allow(dead_code, reason = "shared with an example")]
mod translate;

use standstill_explore::{Launch, Limits, Options, Reductions, explore};
use standstill_kernel_ir::Program as _;

/// Explores a program with so many workers and gives all that is found as text.
fn found(program: &str, workers: usize, reductions: Reductions, without_races: bool) -> String {
    let (ptx, threads, locations) = translate::translate(program).unwrap();
    let module = standstill_ptx::parse(&ptx);
    let lowering = standstill_ptx::Lowering::new(&module);
    let mut launch = Launch::new(&lowering, "program").unwrap();
    launch.grid = [threads, 1, 1];
    let function = lowering.function(launch.kernel).unwrap();
    launch.set_arguments(&function, &translate::arguments(locations)).unwrap();
    let limits = Limits { workers, ..Limits::default() };
    let options = Options { limits, reductions, without_races, ..Options::default() };
    let outcome = explore(&lowering, &launch, &options, &mut ()).unwrap();
    // Fewer would not be shared.
    assert!(outcome.states > 1000, "{} states", outcome.states);
    format!("{outcome:?}")
}

#[track_caller]
fn check(program: &str, reductions: Reductions, without_races: bool) {
    let alone = found(program, 1, reductions, without_races);
    for workers in [2, 7] {
        assert_eq!(found(program, workers, reductions, without_races), alone, "{workers} workers");
    }
}

#[test]
fn so_many_threads_find_the_same() {
    let spins =
        "atomic_exch_branch(0,1,1,0) ; atomic_store(1,1) ; atomic_chk_branch(2,1,0) ; atomic_store(0,0)";
    check(&[spins; 5].join(" | "), Reductions::NONE, true);
    let traps =
        "atomic_exch_branch(0,1,0,2) ; atomic_store(0,1) ; atomic_chk_branch(1,0,END) ; check_trap(2,1)";
    let other = "atomic_store(2,1) ; atomic_store(1,1) ; atomic_store(2,0) ; atomic_exch_branch(0,0,1,0)";
    check(&[traps, other, traps, other, other].join(" | "), Reductions::NONE, true);
    let plain = "plain_add(2) ; atomic_store(0,1) ; atomic_exch_branch(1,0,1,END) ; plain_store(3,1) ; atomic_store(1,0)";
    check(&[plain; 4].join(" | "), Reductions::default(), false);
}
