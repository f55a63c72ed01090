//! What a launch needs of its program: the functions that it can come to, and where shared variables lie.

use standstill_kernel_ir::{FunctionId, Program, Space, Symbol};

use crate::code::Code;
use crate::interpret::Shared;
use crate::launch::Launch;

/// The kernel and every function that it can come to by direct calls.
pub(crate) fn load(program: &dyn Program, kernel: FunctionId) -> Vec<Option<Code>> {
    let mut codes: Vec<Option<Code>> = Vec::new();
    codes.resize_with(program.module().functions.len(), || None);
    let mut wanted = vec![kernel.0];
    while let Some(id) = wanted.pop() {
        if let Some(slot) = codes.get_mut(id as usize)
            && slot.is_none()
            && let Some(function) = program.function(FunctionId(id))
        {
            let code = Code::new(function);
            wanted.extend(&code.calls);
            *slot = Some(code);
        }
    }
    codes
}

/// Gives each shared variable that the code can use an offset.
pub(crate) fn lay_out_shared(program: &dyn Program, codes: &[Option<Code>], launch: &Launch) -> Shared {
    let mut shared = Shared::default();
    let module = program.module();
    let mut dynamic = Vec::new();
    let place = |key, bytes: u64, align: u32, shared: &mut Shared| {
        let start = shared.bytes.next_multiple_of(u64::from(align.max(8)));
        shared.offsets.insert(key, start);
        shared.bytes = start + bytes;
    };
    for (variable, index) in module.variables.iter().zip(0u32..) {
        if variable.space == Space::Shared {
            let key = (None, Symbol::Module(index));
            if variable.bytes == 0 {
                dynamic.push((key, variable.align));
            } else {
                place(key, variable.bytes, variable.align, &mut shared);
            }
        }
    }
    for (code, function) in codes.iter().zip(0u32..) {
        for (variable, index) in code.iter().flat_map(|code| &code.function.variables).zip(0u32..) {
            if variable.space == Space::Shared {
                let key = (Some(function), Symbol::Local(index));
                place(key, variable.bytes, variable.align, &mut shared);
            }
        }
    }
    // All unsized arrays begin at the same place, behind the others.
    let end = shared.bytes;
    for (key, align) in dynamic {
        shared.bytes = end;
        place(key, launch.dynamic_shared.into(), align.max(16), &mut shared);
    }
    shared
}
