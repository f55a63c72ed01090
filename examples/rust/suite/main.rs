//! The same kernels on two devices, bit for bit: `cargo run -p standstill-kernel --example suite -- cuda`.
//!
//! Without a word the software GPU is held against plain Rust alone. `-- ptx FOLDER` writes the kernels as PTX for `sm_90`.

#![allow(clippy::print_stdout, reason = "an example prints")]

#[path = "mod.rs"]
mod suite;

use standstill_kernel::Device;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [word, folder] = words.as_slice()
        && word == "ptx"
    {
        for case in suite::cases() {
            std::fs::write(
                std::path::Path::new(folder).join(case.name).with_extension("ptx"),
                (case.ptx)("sm_90")?,
            )?;
        }
        return Ok(());
    }
    let other = words.first().map(|word| Device::named(word)).transpose()?;
    let software = Device::software();
    let name = other.as_ref().map_or("nothing else", Device::name);
    println!("plain Rust, {}, {name}", software.name());
    let (mut kernels, mut values, mut wrong) = (0, 0, 0);
    for case in suite::cases() {
        let (expected, seen) = ((case.expected)(), (case.run)(&software)?);
        let mut differ = expected.len().abs_diff(seen.len());
        differ += expected.iter().zip(&seen).filter(|(a, b)| !a.is(**b)).count();
        if let Some(other) = &other {
            let there = (case.run)(other)?;
            differ += seen.len().abs_diff(there.len());
            for (at, (ours, theirs)) in
                seen.iter().zip(&there).enumerate().filter(|(_, (a, b))| a.bits != b.bits)
            {
                println!("  {} {at}: {:#x} here, {:#x} there", case.name, ours.bits, theirs.bits);
                differ += 1;
            }
        }
        println!("{:20} {:6} values, {differ} differ", case.name, seen.len());
        (kernels, values, wrong) = (kernels + 1, values + seen.len(), wrong + differ);
    }
    println!("{kernels} kernels, {values} values, {wrong} differ");
    if wrong == 0 { Ok(()) } else { Err("devices differ".into()) }
}
