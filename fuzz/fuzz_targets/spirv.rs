//! Reads any bytes as SPIR-V and lists them: no panic, no endless work, and no reference in the kernel IR to something that is not
//! there.

#![no_main]

use libfuzzer_sys::fuzz_target;
use standstill_kernel_ir::{FunctionId, Program};

fuzz_target!(|bytes: &[u8]| {
    standstill_shader::spirv_listing(bytes);
    let Ok(shader) = standstill_shader::spirv(bytes, "a.spv") else { return };
    for id in 0..shader.module().functions.len() {
        let Some(function) = shader.function(FunctionId(id as u32)) else { continue };
        assert_eq!(function.flaw(), None);
    }
});
