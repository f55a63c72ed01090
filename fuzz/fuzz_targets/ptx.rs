//! Parses any text as PTX and lowers every function: no panic, no endless work, and no reference in the
//! kernel IR to something that is not there.

#![no_main]

use libfuzzer_sys::fuzz_target;
use standstill_kernel_ir::{FunctionId, Program};
use standstill_ptx::Lowering;

fuzz_target!(|text: &str| {
    let module = standstill_ptx::parse(text);
    for error in module.errors.kept() {
        assert!(text.get(error.span.start as usize..error.span.end as usize).is_some());
        module.position(error.span.start);
    }
    let lowering = Lowering::new(&module);
    for id in 0..lowering.module().functions.len() {
        let Some(function) = lowering.function(FunctionId(id as u32)) else { continue };
        assert_eq!(function.flaw(), None);
    }
});
