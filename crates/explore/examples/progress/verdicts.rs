//! Judging the programs of a file, and comparing with its verdicts.

use standstill_explore::{Launch, Limits, NAMED, ProgressGraph};
use standstill_kernel_ir::Program as _;

use crate::translate::{arguments, translate};

/// How many verdicts of a file are ours too.
pub(crate) struct Judged {
    pub(crate) programs: usize,
    pub(crate) agreed: usize,
    pub(crate) total: usize,
    /// A line for each that is not.
    pub(crate) disagreements: Vec<String>,
}

/// Judges the text of a file: a line of column names, then a program a line.
pub(crate) fn judge(text: &str) -> Result<Judged, String> {
    let mut judged = Judged { programs: 0, agreed: 0, total: 0, disagreements: Vec::new() };
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap_or("").split('\t').collect();
    let [_, _, schedulers @ ..] = &columns[..] else { return Err("line 1: no names of columns".to_owned()) };
    for (line, number) in lines.zip(2..) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [_, program, expected @ ..] = &fields[..] else {
            return Err(format!("line {number}: no program"));
        };
        let found = verdicts(program, schedulers).map_err(|error| format!("line {number}: {error}"))?;
        judged.programs += 1;
        for ((ends, expected), name) in found.iter().zip(expected).zip(schedulers) {
            judged.total += 1;
            let found = if *ends { "P" } else { "F" };
            if found == *expected {
                judged.agreed += 1;
            } else {
                judged
                    .disagreements
                    .push(format!("line {number}: {name}: {found} instead of {expected}: {program}"));
            }
        }
    }
    Ok(judged)
}

/// Whether every execution of a program ends, for each scheduler.
fn verdicts(program: &str, schedulers: &[&str]) -> Result<Vec<bool>, String> {
    let (ptx, threads, locations) = translate(program)?;
    let syntax = standstill_ptx::parse(&ptx);
    let lowering = standstill_ptx::Lowering::new(&syntax);
    let mut launch = Launch::new(&lowering, "program").map_err(|error| error.to_string())?;
    launch.grid = [threads, 1, 1];
    let function = lowering.function(launch.kernel).ok_or("no kernel")?;
    launch.set_arguments(&function, &arguments(locations)).map_err(|error| error.to_string())?;
    let graph = ProgressGraph::build(&lowering, &launch, Limits::default(), &mut ())
        .map_err(|error| error.to_string())?;
    let verdict = |name: &&str| {
        let known = NAMED.iter().find(|(known, _)| known == name);
        known.map(|&(_, scheduler)| graph.ends(scheduler)).ok_or(format!("no scheduler is called {name}"))
    };
    schedulers.iter().map(verdict).collect()
}
