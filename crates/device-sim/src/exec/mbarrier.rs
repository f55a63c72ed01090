//! Memory barriers.

use standstill_kernel_ir::evaluate::mbarrier::{Mbarrier, after, is_over};
use standstill_kernel_ir::{MbarrierOperation, Op, Space};

use super::core::{Core, Step, lanes};
use crate::decode::code::Micro;
use crate::fault::FaultKind;

impl Core<'_> {
    /// Changes an mbarrier and gives its old word.
    pub(crate) fn change_mbarrier(
        &mut self,
        space: Space,
        lane: usize,
        address: u64,
        change: impl Fn(Mbarrier) -> Mbarrier,
    ) -> Result<u64, FaultKind> {
        self.update_memory(space, lane, address, 8, |word| change(Mbarrier::from_word(word)).word())
    }
}

/// `mbarrier.*`, lanes one after the other.
pub(crate) fn operate(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = core.code;
    let Some(whole) = code.operations.get(op.x as usize) else { return Step::Next };
    let Op::Mbarrier { operation, space, .. } = whole.op else { return Step::Next };
    for lane in lanes(core.active) {
        let address = core.read(whole.source(0), lane);
        let argument = whole.source(1).is_some().then(|| core.read(whole.source(1), lane));
        let result = match operation {
            MbarrierOperation::Wait { parity, .. } => {
                let over = |word| u64::from(is_over(word, parity, argument.unwrap_or(0)));
                core.read_memory(space, lane, address, 8).map(over)
            }
            MbarrierOperation::PendingCount => Ok(Mbarrier::from_word(address).pending.into()),
            _ => core.update_memory(space, lane, address, 8, |word| after(operation, word, argument)),
        };
        match result {
            Ok(value) => core.write(whole.destination(0), lane, value),
            Err(kind) => return core.fail(kind, lane),
        }
    }
    Step::Next
}
