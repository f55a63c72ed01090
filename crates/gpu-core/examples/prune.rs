//! Makes a small core dump out of a large one, for test data: `prune IN OUT [BLOCKS]`.
//!
//! The structure stays: every block, warp and thread with its program counter. Registers, shared memory and the
//! like stay for the first BLOCKS blocks (all of them unless given). Compress the result with gzip.

#![allow(clippy::print_stdout)]

use std::io;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, from, to, rest @ ..] = arguments.as_slice() else {
        return Err(io::Error::other("prune IN OUT [BLOCKS]").into());
    };
    let blocks = rest.first().map_or(Ok(usize::MAX), |blocks| blocks.parse())?;
    let bytes = std::fs::read(from)?;
    let pruned = standstill_gpu_core::prune(&bytes.as_slice(), blocks)?;
    println!("{} bytes of {}", pruned.len(), bytes.len());
    std::fs::write(to, pruned)?;
    Ok(())
}
