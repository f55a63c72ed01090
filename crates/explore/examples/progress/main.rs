//! Compares the verdicts under ten schedulers with those of files like `2t2i.tsv` of «Specifying and Testing GPU Workgroup
//! Progress Models» (OOPSLA 2021): one program of atomic instructions a line, then a column for each scheduler with `P`
//! where every execution ends and `F` where one does not.
//!
//! usage: progress FILE...
//!
//! Each program is written as a PTX kernel, a block of one thread for each of its threads. Prints what disagrees and
//! `agreed/total`; exit code 1 on any disagreement, 2 when a file is not of this form.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own")]

mod translate;
mod verdicts;

use std::process::ExitCode;

fn main() -> ExitCode {
    let begun = std::time::Instant::now();
    let (mut agreed, mut total, mut programs) = (0, 0, 0);
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
        let judged = match text.and_then(|text| verdicts::judge(&text)) {
            Ok(judged) => judged,
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::from(2);
            }
        };
        judged.disagreements.iter().for_each(|line| println!("{path}: {line}"));
        agreed += judged.agreed;
        total += judged.total;
        programs += judged.programs;
    }
    println!("{agreed}/{total}");
    eprintln!("{programs} programs in {:.2} s", begun.elapsed().as_secs_f64());
    if agreed == total && total > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
