//! Compares the verdicts under ten schedulers with those of files like `2t2i.tsv` of «Specifying and Testing GPU Workgroup
//! Progress Models» (OOPSLA 2021): one program of atomic instructions a line, then a column for each scheduler with `P`
//! where every execution ends and `F` where one does not.
//!
//! usage: progress FILE...
//!        progress --ptx FILE...
//!
//! Each program is written as a PTX kernel, a block of one thread for each of its threads. Prints what disagrees and
//! `agreed/total`; exit code 1 on any disagreement, 2 when a file is not of this form. With `--ptx` it prints one module with all
//! of these kernels, `p2t2i_0` for program 0 of `2t2i.tsv`, to run them on a card.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own")]

mod translate;
mod verdicts;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut files: Vec<String> = std::env::args().skip(1).collect();
    let as_ptx = files.first().is_some_and(|first| first == "--ptx");
    if as_ptx {
        files.remove(0);
    }
    let done = if as_ptx { kernels(&files).map(|()| true) } else { compare(&files) };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

/// Whether all verdicts agree.
fn compare(files: &[String]) -> Result<bool, String> {
    let begun = std::time::Instant::now();
    let (mut agreed, mut total, mut programs) = (0, 0, 0);
    for path in files {
        let judged = verdicts::judge(&read(path)?).map_err(|error| format!("{path}: {error}"))?;
        judged.disagreements.iter().for_each(|line| println!("{path}: {line}"));
        agreed += judged.agreed;
        total += judged.total;
        programs += judged.programs;
    }
    println!("{agreed}/{total}");
    eprintln!("{programs} programs in {:.2} s", begun.elapsed().as_secs_f64());
    Ok(agreed == total && total > 0)
}

/// Prints the programs of files as one module.
fn kernels(files: &[String]) -> Result<(), String> {
    print!("{}", translate::HEADER);
    for path in files {
        let stem = Path::new(path).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
        let stem = stem.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
        for (line, number) in read(path)?.lines().zip(1..).skip(1) {
            let mut fields = line.split('\t');
            let (Some(id), Some(program)) = (fields.next(), fields.next()) else {
                return Err(format!("{path}: line {number}: no program"));
            };
            let (kernel, ..) = translate::entry(&format!("p{stem}_{id}"), program)
                .map_err(|error| format!("{path}: line {number}: {error}"))?;
            print!("{kernel}");
        }
    }
    Ok(())
}
