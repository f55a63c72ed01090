//! Prints the PTX that a core dump carries, with its line directives put back: `ptx FILE`.

#![allow(clippy::print_stdout)]

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path)?;
        let mut dump = standstill_gpu_core::read(&bytes.as_slice())?;
        for state in standstill_gpu_core::positions(&bytes.as_slice(), &mut dump) {
            print!("{}", state.ptx.map(|ptx| ptx.with_lines()).unwrap_or_default());
        }
    }
    Ok(())
}
