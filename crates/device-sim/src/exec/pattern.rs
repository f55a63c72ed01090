//! How the addresses of a warp lie.

use super::core::Core;
use super::memory::WIDE_ADDRESS;
use crate::decode::code::{LANES, Micro};

/// How the addresses of a whole warp lie.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// One element after the other.
    Neighbours,
    /// All the same.
    Same,
    Other,
}

/// How the addresses of all lanes lie, and the first of them.
#[inline(always)]
pub(super) fn pattern<const BYTES: usize>(core: &Core<'_>, op: &Micro) -> (Pattern, u64) {
    let (mut next, mut same) = (0, 0);
    let first;
    if op.b == WIDE_ADDRESS {
        let base = core.wide(op.a);
        for lane in 0..LANES {
            let distance = base[lane].wrapping_sub(base[0]);
            next |= distance ^ (lane * BYTES) as u64;
            same |= distance;
        }
        first = base[0].wrapping_add(i64::from(op.x as i32) as u64);
    } else {
        let base = core.narrow(op.a);
        let (mut next32, mut same32) = (0, 0);
        for lane in 0..LANES {
            let distance = base[lane].wrapping_sub(base[0]);
            next32 |= distance ^ (lane * BYTES) as u32;
            same32 |= distance;
        }
        (next, same) = (u64::from(next32), u64::from(same32));
        first = base[0].wrapping_add(op.x).into();
    }
    let pattern = match (next, same) {
        (0, _) => Pattern::Neighbours,
        (_, 0) => Pattern::Same,
        _ => Pattern::Other,
    };
    (pattern, first)
}
