//! Parses any text as PTX: no panic, and no endless work.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = standstill_ptx::parse(text);
});
