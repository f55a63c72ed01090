//! Prints one line for each finding of core dumps: `explain FILE…`.

#![allow(clippy::print_stdout)]

use standstill_gpu_core::{Options, explain, positions, read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path)?;
        let mut dump = read(&bytes.as_slice())?;
        let states = positions(&bytes.as_slice(), &mut dump);
        for state in &states {
            for finding in explain(&dump, state, &Options { input: &path, platform: None }) {
                let line = finding.primary_span().map_or(0, |span| span.line);
                println!("{path}\t{:?}\t{line}\t{}\t{}", finding.rule, finding.known.word(), finding.message);
            }
        }
    }
    Ok(())
}
