//! The race detector against happens-before by brute force, on random small kernels.
//!
//! A plain test run looks at a few of them. The long run is of 100,000, and takes a minute or two:
//! `STANDSTILL_PROGRAMS=100000 cargo test --release -p standstill-device-sim --test oracle`. `STANDSTILL_FIRST` says
//! with which seed to begin, and `STANDSTILL_SEED` shows the program of one.

mod common;
#[path = "oracle/draw.rs"]
mod draw;
#[path = "oracle/order.rs"]
mod order;
#[path = "oracle/program.rs"]
mod program;
#[path = "oracle/text.rs"]
mod text;

use std::collections::BTreeSet;

use common::{Case, finish};
use order::Trace;
use program::Program;
use standstill_device_sim::{Progress, Schedule};
use standstill_findings::Rule;

/// Programs of a plain test run.
const PROGRAMS: u64 = 400;
/// Seeds of programs that long runs once found to disagree.
const ONCE_WRONG: [u64; 4] = [149_893, 150_640, 269_478, 294_136];

/// Runs a program and compares; gives what is wrong, and whether it races.
fn check(seed: u64, detail: bool) -> Result<bool, String> {
    let program = Program::draw(seed);
    let text = program.text();
    let case = Case::new(&text);
    let mut request = case.request(program.blocks, program.threads);
    request.races = true;
    request.seed = seed;
    // Lanes of a warp must come to a counted barrier together.
    if !seed.is_multiple_of(3) && !text.contains("bar.arrive") {
        request.schedule = Schedule::Random;
    }
    let mut grid = case.grid(request);
    let end = finish(&mut grid);
    if end != Progress::Finished {
        return Err(format!("seed {seed}: {end:?}\n{}", if detail { &text } else { "" }));
    }
    let words = case.words(common::WORDS);
    let trace = Trace::new(&program.events(), |word| words[word as usize]);
    let (certain, possible) = trace.races();
    let mut found = BTreeSet::new();
    for finding in grid.races() {
        if matches!(finding.rule, Rule::LostUpdate | Rule::Aba) {
            continue;
        }
        // Faults of order are named by what should have ordered the two.
        let lines: Vec<u32> = match finding.rule {
            Rule::SharedRace | Rule::GlobalRace => finding.spans.iter().map(|span| span.line).collect(),
            _ => Vec::new(),
        };
        let pair = lines.iter().min().zip(lines.iter().max());
        found.insert(pair.map_or((0, 0), |(&one, &two)| (one, two)));
    }
    let unfounded: Vec<_> = found.iter().filter(|pair| pair.0 != 0 && !possible.contains(pair)).collect();
    let agree = match found.is_empty() {
        true => certain.is_empty(),
        false => !possible.is_empty() && unfounded.is_empty(),
    };
    if agree {
        return Ok(!found.is_empty());
    }
    let mut message = format!("seed {seed}: found {found:?}, expected {certain:?} of {possible:?}");
    if detail {
        message = format!("{message}\n{program:#?}\n{text}\n{:#?}", grid.races());
    }
    Err(message)
}

#[test]
fn the_detector_agrees_with_brute_force() {
    let number = |name: &str| std::env::var(name).ok().and_then(|count| count.parse::<u64>().ok());
    if let Some(seed) = number("STANDSTILL_SEED") {
        check(seed, true).unwrap();
        return;
    }
    let count = number("STANDSTILL_PROGRAMS").unwrap_or(PROGRAMS);
    let first = number("STANDSTILL_FIRST").unwrap_or(0);
    let (mut racy, mut wrong) = (0, Vec::new());
    for seed in (first..first + count).chain(ONCE_WRONG) {
        match check(seed, false) {
            Ok(races) => racy += u64::from(races),
            Err(message) => wrong.push(message),
        }
    }
    let count = count + ONCE_WRONG.len() as u64;
    let shown = wrong.iter().take(20).map(|message| format!("{message}\n")).collect::<String>();
    assert!(wrong.is_empty(), "{} of {count} disagree:\n{shown}", wrong.len());
    // A test in which everything races, or nothing, tells little.
    assert!(racy * 5 > count && racy * 5 < count * 4, "{racy} of {count} race");
}
