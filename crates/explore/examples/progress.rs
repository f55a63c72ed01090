//! Compares the verdicts under ten schedulers with those of files like `2t2i.tsv` of «Specifying and Testing GPU Workgroup
//! Progress Models» (OOPSLA 2021): one program of atomic instructions a line, then a column for each scheduler with `P`
//! where every execution ends and `F` where one does not.
//!
//! usage: progress FILE...
//!
//! Each program is written as a PTX kernel, a block of one thread for each of its threads. Prints what disagrees and
//! `agreed/total`; exit code 1 on any disagreement, 2 when a file is not of this form.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own")]

use std::fmt::Write as _;
use std::process::ExitCode;

use standstill_explore::{Argument, Launch, Limits, NAMED, ProgressGraph};
use standstill_kernel_ir::Program as _;

fn main() -> ExitCode {
    let begun = std::time::Instant::now();
    let (mut agreed, mut total, mut programs) = (0, 0, 0);
    for path in std::env::args().skip(1) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::from(2);
            }
        };
        let mut lines = text.lines();
        let columns: Vec<&str> = lines.next().unwrap_or("").split('\t').collect();
        for (line, number) in lines.zip(2..) {
            let fields: Vec<&str> = line.split('\t').collect();
            let verdicts = fields.get(1).map(|program| verdicts(program, columns.get(2..).unwrap_or(&[])));
            let verdicts = match verdicts.unwrap_or(Err("no program".to_owned())) {
                Ok(verdicts) => verdicts,
                Err(error) => {
                    eprintln!("{path}:{number}: {error}");
                    return ExitCode::from(2);
                }
            };
            programs += 1;
            for ((ends, expected), name) in verdicts.iter().zip(&fields[2..]).zip(&columns[2..]) {
                total += 1;
                let found = if *ends { "P" } else { "F" };
                if found == *expected {
                    agreed += 1;
                } else {
                    println!("{path}:{number}: {name}: {found} instead of {expected}: {}", fields[1]);
                }
            }
        }
    }
    println!("{agreed}/{total}");
    eprintln!("{programs} programs in {:.2} s", begun.elapsed().as_secs_f64());
    if agreed == total && total > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether every execution of a program ends, for each scheduler.
fn verdicts(program: &str, schedulers: &[&str]) -> Result<Vec<bool>, String> {
    let (ptx, threads, locations) = translate(program)?;
    let syntax = standstill_ptx::parse(&ptx);
    let lowering = standstill_ptx::Lowering::new(&syntax);
    let mut launch = Launch::new(&lowering, "program").map_err(|error| error.to_string())?;
    launch.grid = [threads, 1, 1];
    let function = lowering.function(launch.kernel).ok_or("no kernel")?;
    let memory = Argument::Buffer { bytes: vec![0; 4 * locations as usize], element: 4 };
    launch.set_arguments(&function, &[memory]).map_err(|error| error.to_string())?;
    let graph = ProgressGraph::build(&lowering, &launch, Limits::default(), &mut ())
        .map_err(|error| error.to_string())?;
    let verdict = |name: &&str| {
        let known = NAMED.iter().find(|(known, _)| known == name);
        known.map(|&(_, scheduler)| graph.ends(scheduler)).ok_or(format!("no scheduler is called {name}"))
    };
    schedulers.iter().map(verdict).collect()
}

/// A program as PTX, with its numbers of threads and locations.
fn translate(program: &str) -> Result<(String, u32, u32), String> {
    let mut body = String::new();
    let (mut threads, mut locations) = (0, 1);
    for (thread, code) in (0..).zip(program.split(" | ")) {
        threads = thread + 1;
        let _ = writeln!(body, "T{thread}:");
        let instructions: Vec<&str> = code.split(" ; ").map(str::trim).collect();
        for (at, instruction) in instructions.iter().enumerate() {
            let _ = writeln!(body, "T{thread}_{at}:");
            let (name, rest) = instruction.split_once('(').ok_or(format!("not an instruction: {instruction}"))?;
            let operands: Vec<&str> = rest.trim_end_matches(')').split(',').map(str::trim).collect();
            let number = |index: usize| -> Result<u32, String> {
                let text = operands.get(index).ok_or(format!("an operand is missing: {instruction}"))?;
                text.parse().map_err(|_| format!("not a number: {text}"))
            };
            let location = number(0)?;
            locations = locations.max(location + 1);
            let place = format!("[%rd0+{}]", location * 4);
            let target = || match operands.last() {
                Some(&"END") => format!("T{thread}_{}", instructions.len()),
                Some(target) => format!("T{thread}_{target}"),
                None => String::new(),
            };
            let branch = |value: u32| format!("setp.eq.u32 %p0, %r1, {value};\n@%p0 bra {};\n", target());
            match name {
                "atomic_store" => {
                    let _ = writeln!(body, "st.relaxed.gpu.global.u32 {place}, {};", number(1)?);
                }
                "atomic_chk_branch" => {
                    let _ = writeln!(body, "ld.relaxed.gpu.global.u32 %r1, {place};\n{}", branch(number(1)?));
                }
                "atomic_exch_branch" => {
                    let _ = writeln!(
                        body,
                        "atom.relaxed.gpu.global.exch.b32 %r1, {place}, {};\n{}",
                        number(2)?,
                        branch(number(1)?)
                    );
                }
                _ => return Err(format!("not an instruction: {name}")),
            }
        }
        let _ = writeln!(body, "T{thread}_{}:\nret;", instructions.len());
    }
    let mut dispatch = String::new();
    for thread in 0..threads {
        let _ = writeln!(dispatch, "setp.eq.u32 %p0, %r0, {thread};\n@%p0 bra T{thread};");
    }
    let ptx = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry program(.param .u64 memory)\n{{\n\
         .reg .pred %p<2>;\n.reg .b32 %r<2>;\n.reg .b64 %rd<1>;\n\
         ld.param.u64 %rd0, [memory];\nmov.u32 %r0, %ctaid.x;\n{dispatch}ret;\n{body}}}\n"
    );
    Ok((ptx, threads, locations))
}
