//! Reads any bytes as a container: no panic, no more memory than the limits allow, places inside the input.

#![no_main]

use libfuzzer_sys::fuzz_target;
use standstill_fatbin::{Limits, read_with};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { image_bytes: 16 << 20, total_bytes: 64 << 20, ..Limits::default() };
    let Ok(contents) = read_with(bytes, &limits) else { return };
    let size = bytes.len() as u64;
    assert!(contents.images.iter().all(|image| image.offset <= size));
    assert!(contents.problems.iter().all(|problem| problem.offset <= size));
    assert!(contents.ptx().map(|(_, text)| text.len() as u64).sum::<u64>() <= limits.total_bytes + size);
});
