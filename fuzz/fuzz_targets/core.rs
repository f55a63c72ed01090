//! Reads any bytes as a core dump, says where its threads stood and explains it: no panic, no endless work, one
//! primary place for each finding, and the same after pruning without loss.

#![no_main]

use libfuzzer_sys::fuzz_target;
use standstill_gpu_core::{Options, explain, positions, prune, read};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut dump) = read(&bytes) else { return };
    let states = positions(&bytes, &mut dump);
    let options = Options { input: "dump", platform: None };
    for state in &states {
        let threads: u64 = state.groups.iter().map(|group| group.len()).sum();
        assert!(threads <= 4 << 20);
        for finding in explain(&dump, state, &options) {
            assert_eq!(finding.spans.iter().filter(|span| span.primary).count(), 1);
        }
        if let Some(ptx) = &state.ptx {
            assert!(ptx.with_lines().lines().count() >= ptx.text.lines().count());
        }
    }
    let _ = prune(&bytes, usize::MAX);
});
