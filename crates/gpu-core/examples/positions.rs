//! Prints where the threads of a core dump stood: `positions FILE…`, for comparing with a debugger.

#![allow(clippy::print_stdout)]

use standstill_findings::ThreadRanges;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path)?;
        let start = std::time::Instant::now();
        let mut dump = standstill_gpu_core::read(&bytes.as_slice())?;
        let states = standstill_gpu_core::positions(&bytes.as_slice(), &mut dump);
        println!("== {path} ({:.2} s)", start.elapsed().as_secs_f64());
        for problem in dump.problems.kept().iter().take(5) {
            println!("   {problem}");
        }
        for state in states {
            let (finished, not_begun) = (state.finished(), state.not_begun());
            println!(
                "kernel {} grid {:?} block {:?}: {} blocks there, {finished} finished, {not_begun} not begun",
                state.kernel,
                state.grid.grid_dim,
                state.grid.block_dim,
                state.blocks.len()
            );
            for group in &state.groups {
                let place = group.place.as_ref().map(|place| {
                    let chain = place.inlined_at.iter().map(|call| format!(" ← {}", call.line));
                    let file = place.line.file.rsplit('/').next().unwrap_or_default().to_owned();
                    format!("{file}:{}{}", place.line.line, chain.collect::<String>())
                });
                let blocks: Vec<u32> = group.threads.keys().map(|block| *block as u32).collect();
                let threads = group.threads.values().next().cloned().unwrap_or_default();
                println!(
                    "  {:?} at {:#x} {} ptx {:?}: {}, {}",
                    group.doing,
                    group.at,
                    place.unwrap_or_default(),
                    group.ptx_line,
                    ThreadRanges::from_members(blocks).with_noun("block"),
                    ThreadRanges::from_members(threads).with_noun("thread")
                );
            }
        }
    }
    Ok(())
}
