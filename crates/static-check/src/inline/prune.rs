//! Taking away ways that no thread comes back from.

use standstill_kernel_ir::{BlockId, Function, Terminator};

/// Takes away the ways into code that must abort the launch (a failed assertion, a trap): no thread
/// comes back from there, so nobody waits for it.
pub(crate) fn without_aborts(function: &mut Function) {
    let count = function.blocks.len();
    let mut aborting = vec![false; count];
    loop {
        let mut changed = false;
        for index in (0..count).rev() {
            if aborting.get(index).copied().unwrap_or(true) {
                continue;
            }
            let Some(block) = function.blocks.get(index) else { continue };
            let aborts = match block.terminator {
                Terminator::Trap => true,
                Terminator::Return | Terminator::Exit => false,
                _ => {
                    let mut all = true;
                    function.successors(BlockId(index as u32), |to| {
                        all &= aborting.get(to.0 as usize).copied().unwrap_or(false);
                    });
                    all
                }
            };
            if aborts {
                if let Some(flag) = aborting.get_mut(index) {
                    *flag = true;
                }
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    without(function, &aborting);
}

/// Takes away the ways into marked blocks where there is another way; nothing if the entry itself is marked.
pub(crate) fn without(function: &mut Function, marked: &[bool]) {
    if marked.first().copied().unwrap_or(true) {
        return;
    }
    let is_marked = |id: BlockId| marked.get(id.0 as usize).copied().unwrap_or(false);
    for block in &mut function.blocks {
        if let Terminator::Branch { taken, otherwise, .. } = block.terminator {
            if is_marked(taken) && !is_marked(otherwise) {
                block.terminator = Terminator::Jump(otherwise);
            } else if is_marked(otherwise) && !is_marked(taken) {
                block.terminator = Terminator::Jump(taken);
            }
        }
    }
}
