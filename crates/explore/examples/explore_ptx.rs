//! Explores a kernel of a PTX file: `explore_ptx FILE KERNEL BLOCKS THREADS EXPECTATION ARGUMENT...`; an argument is a number, or
//! `@` and numbers for a buffer of integers. With NO_REDUCTIONS and NO_RACES in the environment it does without; with SCHEDULERS it asks
//! about them.
#![allow(clippy::print_stdout, reason = "a program of its own")]

use standstill_explore::{Argument, Expectation, Launch, Limits, Options, Reductions, explore};
use standstill_kernel_ir::Program as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, kernel, blocks, threads, expected, rest @ ..] = &arguments[..] else {
        return Err("usage".into());
    };
    let text = std::fs::read_to_string(file)?;
    let syntax = standstill_ptx::parse(&text);
    let lowering = standstill_ptx::Lowering::new(&syntax);
    let mut launch = Launch::new(&lowering, kernel)?;
    launch.grid = [blocks.parse()?, 1, 1];
    launch.block = [threads.parse()?, 1, 1];
    let function = lowering.function(launch.kernel).ok_or("no kernel")?;
    let argument = |text: &String| -> Result<Argument, std::num::ParseIntError> {
        match text.strip_prefix('@') {
            None => Ok(Argument::Value(text.parse()?)),
            Some(list) => {
                let numbers: Result<Vec<i32>, _> = list.split(',').map(str::parse).collect();
                let bytes = numbers?.iter().flat_map(|number| number.to_le_bytes()).collect();
                Ok(Argument::Buffer { bytes, element: 4 })
            }
        }
    };
    let list: Result<Vec<Argument>, _> = rest.iter().map(argument).collect();
    launch.set_arguments(&function, &list?)?;
    let expect = (expected != "-").then(|| Expectation::parse(expected, &launch)).transpose()?;
    let schedulers = std::env::var_os("SCHEDULERS").map(|_| Limits {
        states: 2_000_000,
        bytes: 1 << 30,
        ..Limits::default()
    });
    let reductions =
        if std::env::var_os("NO_REDUCTIONS").is_some() { Reductions::NONE } else { Reductions::default() };
    let begun = std::time::Instant::now();
    let without_races = std::env::var_os("NO_RACES").is_some();
    let options = Options { expect, schedulers, reductions, without_races, ..Options::default() };
    let outcome = explore(&lowering, &launch, &options, &mut ())?;
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{} states, {} steps, {} results, {:.6} s, {:.2} M states/s, {} bytes a state",
        outcome.states,
        outcome.steps,
        outcome.results,
        seconds,
        outcome.states as f64 / seconds / 1e6,
        outcome.bytes / outcome.states.max(1)
    );
    for missing in &outcome.not_explored {
        println!("not explored: {} at line {}", missing.what, missing.place.line);
    }
    for failure in &outcome.failures {
        println!("{:?} {:?}", failure.kind, failure.memory);
        for step in &failure.schedule {
            println!(
                "  block {} thread {} line {}: {}",
                step.block,
                step.thread,
                step.place.line,
                step.words()
            );
        }
        for stuck in &failure.stuck {
            println!(
                "  stuck: block {} thread {} line {}: {:?}",
                stuck.block, stuck.thread, stuck.place.line, stuck.stand
            );
        }
    }
    println!("{:?}", outcome.verdicts);
    Ok(())
}
