//! Whether a kernel's blocks have nothing to do with each other.

use standstill_kernel_ir::{Access, Function, MatrixKind, Op, Operand, Order, Space, Special, Terminator};

use crate::memory::ahead::commutes;

/// Whether no block can wait for another, and all that one can notice of another is what it finds in memory. Then
/// they may run one after the other, in their order.
pub(crate) fn is_independent(function: &Function) -> bool {
    let specials = function.operands.iter().all(|operand| match operand {
        Operand::Special(register) => !matches!(
            register,
            Special::SmId
                | Special::Clock
                | Special::Clock64
                | Special::GlobalTimer
                | Special::CurrentGraphExec
                | Special::Environment(_)
                | Special::Other
        ),
        _ => true,
    });
    // Changes of places of different sizes might overlap.
    let mut width = None;
    specials
        && function.instructions.iter().all(|instruction| match instruction.op {
            Op::Load(access) | Op::Store(access) => is_plain(&access),
            Op::Atomic { access, .. } if access.space == Space::Shared => true,
            Op::Atomic { access, operation } => {
                let unread = results_unread(function, instruction);
                let same = *width.get_or_insert(access.ty.bytes()) == access.ty.bytes();
                let order = matches!(access.order, Order::Weak | Order::Relaxed);
                unread && same && order && access.elements <= 1 && commutes(operation, access.ty)
            }
            Op::Arithmetic(_)
            | Op::Barrier { .. }
            | Op::WarpSync
            | Op::Shuffle(_)
            | Op::Vote(_)
            | Op::Match { .. }
            | Op::WarpReduce { .. }
            | Op::ActiveMask
            | Op::Elect
            | Op::Matrix(MatrixKind::Mma(_))
            | Op::Fence { .. }
            | Op::Hint => true,
            _ => false,
        })
}

fn is_plain(access: &Access) -> bool {
    let own = !matches!(access.space, Space::SharedCluster | Space::Tensor);
    own && access.order == Order::Weak
}

/// Whether nothing reads what an instruction gives.
pub(crate) fn results_unread(function: &Function, instruction: &standstill_kernel_ir::Instruction) -> bool {
    function.destinations(instruction.operands).iter().filter_map(|operand| operand.register()).all(
        |result| {
            let by_instructions = function.instructions.iter().any(|other| {
                other.guard.is_some_and(|guard| guard.register() == result)
                    || function
                        .sources(other.operands)
                        .iter()
                        .any(|operand| operand.register() == Some(result))
            });
            let by_terminators = function.blocks.iter().any(|block| match block.terminator {
                Terminator::Branch { guard, .. } => guard.register() == result,
                Terminator::Switch { index, .. } => index.register() == Some(result),
                _ => false,
            });
            let passed_on = function.result_pieces.iter().any(|piece| piece.register == result);
            !(by_instructions || by_terminators || passed_on)
        },
    )
}
