//! The launch `small` of kernels.cu, a reduction in 64 blocks of 256 threads, for the `riri` crate: prints seconds.

use std::time::Instant;

use riri::{GlobalBuf, LaunchConfig, launch};

const BLOCK: u32 = 256;
const BLOCKS: u32 = 64;

fn main() {
    let count = BLOCK * BLOCKS;
    let input = GlobalBuf::new("input", (1..=count).collect());
    let partial = GlobalBuf::new("partial", vec![0u32; BLOCKS as usize]);
    let start = Instant::now();
    let report = launch(&LaunchConfig::new(BLOCKS, BLOCK).resident_blocks(8).seed(1), |t| {
        let tile = t.shared::<u32>("tile", BLOCK as usize);
        let i = t.thread_linear();
        tile.write(t, i, input.read(t, t.global_linear()));
        t.sync_threads();
        let mut half = BLOCK as usize / 2;
        while half > 0 {
            if i < half {
                let sum = tile.read(t, i) + tile.read(t, i + half);
                tile.write(t, i, sum);
            }
            t.sync_threads();
            half /= 2;
        }
        if i == 0 {
            partial.write(t, t.block_linear(), tile.read(t, 0));
        }
    });
    println!("small {:.6}", start.elapsed().as_secs_f64());
    assert_eq!(partial.to_vec().iter().sum::<u32>(), count * (count + 1) / 2);
    assert!(!report.has_race(), "{report}");
}
