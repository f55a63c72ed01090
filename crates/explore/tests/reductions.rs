//! Each cell of the table of reductions and properties: on random programs the answer is the same with the reduction and without
//! any, wherever the table says so. And the published verdicts under ten schedulers.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on must stop"
)]

#[path = "../examples/progress/translate.rs"]
mod translate;

use std::collections::BTreeSet;

use standstill_explore::{
    FailureKind, Fairness, Launch, Limits, NAMED, Options, Outcome, Policy, ProgressGraph, Property, Races,
    Reduction, Reductions, Scheduler, explore,
};
use standstill_kernel_ir::Program as _;
use standstill_ptx::Lowering;

/// Programs that each cell is tried on.
const PROGRAMS: u64 = 300;

/// Explores a program with these reductions; also says whether it ends under strong fairness.
fn outcome(program: &str, reductions: Reductions) -> (Outcome, bool) {
    let (ptx, threads, locations) = translate::translate(program).unwrap();
    let module = standstill_ptx::parse(&ptx);
    let lowering = Lowering::new(&module);
    let launch = launch(&lowering, threads, locations);
    let options = Options { reductions, without_races: true, ..Options::default() };
    let outcome = explore(&lowering, &launch, &options, &mut ()).unwrap();
    let graph = ProgressGraph::build(&lowering, &launch, Limits::default(), &mut ()).unwrap();
    (outcome, graph.ends(Scheduler::between_blocks(Policy::Fair, Fairness::Strong)))
}

fn launch(lowering: &Lowering<'_, '_>, threads: u32, locations: u32) -> Launch {
    let mut launch = Launch::new(lowering, "program").unwrap();
    launch.grid = [threads, 1, 1];
    let function = lowering.function(launch.kernel).unwrap();
    launch.set_arguments(&function, &translate::arguments(locations)).unwrap();
    launch
}

/// A small generator of numbers (Marsaglia, «Xorshift RNGs», 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// A random program of two or three threads, some of them alike, that may trap and that may never end.
fn program(seed: u64, plain: bool) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let thread = |random: &mut Random| {
        let length = 1 + random.below(4);
        let instruction = |random: &mut Random| {
            let (location, value) = (random.below(3), random.below(2));
            let target = match random.below(length + 2) {
                at if at < length => at.to_string(),
                _ => "END".to_owned(),
            };
            match random.below(if plain { 8 } else { 5 }) {
                7 => "plain_add(2)".to_owned(),
                5 | 6 => format!("plain_store(2,{value})"),
                4 => format!("check_trap({location},{value})"),
                0 => format!("atomic_store({location},{value})"),
                1 => format!("atomic_exch_branch({location},{value},{},{target})", 1 - value),
                _ => format!("atomic_chk_branch({location},{value},{target})"),
            }
        };
        (0..length).map(|_| instruction(random)).collect::<Vec<_>>().join(" ; ")
    };
    let first = thread(&mut random);
    let second = if random.below(2) == 0 { first.clone() } else { thread(&mut random) };
    match random.below(2) {
        0 => format!("{first} | {second}"),
        _ => format!("{first} | {second} | {first}"),
    }
}

/// What a search says about a property.
fn answer(property: Property, outcome: &Outcome) -> String {
    let hangs = outcome.failures.iter().any(|failure| failure.kind == FailureKind::Hang);
    match property {
        Property::Errors => {
            let errors = outcome.failures.iter().filter(|failure| failure.kind != FailureKind::Hang);
            format!("{:?}", errors.map(|failure| format!("{:?}", failure.kind)).collect::<BTreeSet<_>>())
        }
        Property::Results => outcome.results.to_string(),
        // Under strong fairness an execution ends when it can.
        Property::Hopelessness | Property::Fairness => hangs.to_string(),
        Property::Schedulers => String::new(),
    }
}

#[test]
fn every_reduction_keeps_what_the_table_says() {
    for property in [Property::Errors, Property::Results, Property::Hopelessness] {
        for reduction in Reduction::ALL {
            assert!(reduction.keeps(property), "{reduction:?} {property:?}");
            if reduction == Reduction::MergePlainAccesses {
                continue;
            }
            let reductions = Reductions {
                merge_plain_accesses: false,
                merge_own_accesses: reduction == Reduction::MergeOwnAccesses,
                merge_ends: reduction == Reduction::MergeEnds,
                symmetry: reduction == Reduction::Symmetry,
            };
            let mut fewer = 0;
            for seed in 0..PROGRAMS {
                let program = program(seed, false);
                let (plain, ends) = outcome(&program, Reductions::NONE);
                let (reduced, _) = outcome(&program, reductions);
                assert_eq!(answer(property, &plain), answer(property, &reduced), "{reduction:?}: {program}");
                assert_eq!(answer(Property::Hopelessness, &plain), (!ends).to_string(), "{program}");
                assert!(reduced.states <= plain.states, "{reduction:?}: {program}");
                fewer += u64::from(reduced.states < plain.states);
            }
            assert!(fewer > PROGRAMS / 20, "{reduction:?} reduces nothing");
        }
    }
}

#[test]
fn plain_accesses_may_be_merged_where_there_is_no_race() {
    let (mut free, mut racing, mut fewer) = (0, 0, 0);
    for seed in 0..PROGRAMS * 4 {
        let program = program(seed, true);
        if !program.contains("plain") {
            continue;
        }
        let (ptx, threads, locations) = translate::translate(&program).unwrap();
        let module = standstill_ptx::parse(&ptx);
        let lowering = Lowering::new(&module);
        let launch = launch(&lowering, threads, locations);
        // A counter may grow for ever.
        let limits = Limits { states: 200, ..Limits::default() };
        let options = Options { limits, ..Options::default() };
        let merged = explore(&lowering, &launch, &options, &mut ()).unwrap();
        if merged.limit.is_some() {
            continue;
        }
        if merged.races != Races::None {
            racing += 1;
            continue;
        }
        let options = Options { reductions: Reductions::NONE, without_races: true, ..Options::default() };
        let whole = explore(&lowering, &launch, &options, &mut ()).unwrap();
        assert_eq!(whole.limit, None, "{program}");
        for property in [Property::Errors, Property::Results, Property::Hopelessness] {
            assert_eq!(answer(property, &whole), answer(property, &merged), "{property:?}: {program}");
        }
        free += 1;
        fewer += u64::from(merged.states < whole.states);
    }
    assert!(free > 50 && racing > 50 && fewer > 50, "{free} without races, {racing} with, {fewer} reduced");
}

#[test]
fn schedulers_are_asked_on_all_states() {
    assert_eq!(Reductions::for_properties(&[Property::Schedulers]), Reductions::NONE);
    // Whoever has ended needs no fairness: merged with the step before it, that would come too early.
    let waits = "atomic_store(0,1) | atomic_chk_branch(0,0,0)";
    let (ptx, threads, locations) = translate::translate(waits).unwrap();
    let module = standstill_ptx::parse(&ptx);
    let lowering = Lowering::new(&module);
    let launch = launch(&lowering, threads, locations);
    let graph = ProgressGraph::build(&lowering, &launch, Limits::default(), &mut ()).unwrap();
    let ends: Vec<(&str, bool)> =
        NAMED.iter().map(|&(name, scheduler)| (name, graph.ends(scheduler))).collect();
    let not: Vec<&str> = ends.iter().filter(|(_, ends)| !ends).map(|&(name, _)| name).collect();
    assert_eq!(not, ["OBE", "OBE_STRONG"]);
}
