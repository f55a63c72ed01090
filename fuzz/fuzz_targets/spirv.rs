//! Reads any bytes as SPIR-V and lists them: no panic, no endless work, and no reference in the kernel IR to something that is not
//! there.

#![no_main]

use libfuzzer_sys::fuzz_target;
use standstill_kernel_ir::{BlockId, FunctionId, Program};

fuzz_target!(|bytes: &[u8]| {
    standstill_shader::spirv_listing(bytes);
    let Ok(shader) = standstill_shader::spirv(bytes, "a.spv") else { return };
    for id in 0..shader.module().functions.len() {
        let Some(function) = shader.function(FunctionId(id as u32)) else { continue };
        assert!(!function.blocks.is_empty());
        for (number, block) in function.blocks.iter().enumerate() {
            assert!(block.first <= block.end && block.end as usize <= function.instructions.len());
            function.successors(BlockId(number as u32), |target| {
                assert!(target.0 > 0 && (target.0 as usize) < function.blocks.len());
            });
        }
        for instruction in &function.instructions {
            let range = instruction.operands;
            let end = range.start as usize + usize::from(range.destinations) + usize::from(range.sources);
            assert!(end <= function.operands.len());
            assert!((instruction.location.0 as usize) < function.locations.len());
        }
        for register in function.operands.iter().filter_map(|operand| operand.register()) {
            assert!((register.0 as usize) < function.registers.len());
        }
    }
});
