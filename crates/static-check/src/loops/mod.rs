//! Loops: those that cannot end (non-terminating-loop), spins on a value that is read once (hoistable-spin),
//! and locks that the lanes of one warp take from each other (spin-lock-lockstep).
//!
//! A loop is judged only when every way out of it is understood.

mod cycle;
mod endless;
mod float_exit;
mod lanes;
mod line;
mod lock;
mod parity;
mod rounds;
mod source;
mod spin;
mod ticket;

use standstill_findings::Finding;

use crate::kernel::Kernel;
use cycle::Cycle;
pub(crate) use cycle::comparison;

/// Most loops of one kernel that are looked at.
const MAXIMUM_LOOPS: usize = 4096;

/// Reports the faults of a kernel's loops.
pub(crate) fn check(kernel: &Kernel<'_>, found: &mut Vec<Finding>) {
    let mut budget = rounds::Budget::default();
    for (id, own) in kernel.body.loops.iter().take(MAXIMUM_LOOPS) {
        if own.irreducible {
            continue;
        }
        let cycle = Cycle::new(kernel, id, own.header);
        if cycle.may_end_by_call() {
            continue;
        }
        let finding = if cycle.exits.is_empty() {
            spin::hoisted(&cycle).or_else(|| endless::without_exit(&cycle))
        } else {
            lock::check(&cycle)
                .or_else(|| cycle.shorter_rounds().iter().find_map(lock::check))
                .or_else(|| ticket::check(&cycle))
                .or_else(|| spin::hoistable(&cycle))
                .or_else(|| float_exit::check(&cycle))
                .or_else(|| float_exit::stops_growing(&cycle))
                .or_else(|| parity::check(&cycle))
                .or_else(|| endless::never_left(&cycle, &mut budget))
        };
        found.extend(finding);
    }
}
