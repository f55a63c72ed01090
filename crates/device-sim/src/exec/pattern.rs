//! How the addresses of a warp lie: each half of it by itself, since tiles are often 16 wide.

use super::core::Core;
use super::memory::WIDE_ADDRESS;
use crate::decode::code::{LANES, Micro};
use crate::memory::halves::HALF;

/// How the addresses of half a warp lie.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// One element after the other.
    Neighbours,
    /// All the same.
    Same,
    /// No lane of it is active.
    Nobody,
    Other,
}

/// The patterns of both halves. For each the address: of all its lanes, or what that of its first lane would be.
pub(super) type Halves = [(Pattern, u64); 2];

/// How the addresses of the active lanes lie.
#[inline(always)]
pub(super) fn halves<const BYTES: usize, const ALL: bool>(core: &Core<'_>, op: &Micro) -> Halves {
    let offset = i64::from(op.x as i32) as u64;
    if op.b == WIDE_ADDRESS {
        let base = core.wide(op.a);
        half_each(core, |active, first| {
            let lead = leader::<ALL>(active);
            let start = base[first + lead].wrapping_sub((lead * BYTES) as u64);
            let (mut next, mut same) = (0, 0);
            for lane in 0..HALF {
                let counts = if ALL || active & 1 << lane != 0 { u64::MAX } else { 0 };
                let distance = base[first + lane].wrapping_sub(start);
                next |= (distance ^ (lane * BYTES) as u64) & counts;
                same |= (distance ^ (lead * BYTES) as u64) & counts;
            }
            named(next == 0, same == 0, start.wrapping_add(offset), base[first + lead].wrapping_add(offset))
        })
    } else {
        let base = core.narrow(op.a);
        half_each(core, |active, first| {
            let lead = leader::<ALL>(active);
            let start = base[first + lead].wrapping_sub((lead * BYTES) as u32);
            let (mut next, mut same) = (0, 0);
            for lane in 0..HALF {
                let counts = if ALL || active & 1 << lane != 0 { u32::MAX } else { 0 };
                let distance = base[first + lane].wrapping_sub(start);
                next |= (distance ^ (lane * BYTES) as u32) & counts;
                same |= (distance ^ (lead * BYTES) as u32) & counts;
            }
            let (start, led) = (start.wrapping_add(op.x), base[first + lead].wrapping_add(op.x));
            named(next == 0, same == 0, start.into(), led.into())
        })
    }
}

/// The first active lane of a half.
#[inline(always)]
fn leader<const ALL: bool>(active: u32) -> usize {
    if ALL { 0 } else { active.trailing_zeros() as usize % HALF }
}

#[inline(always)]
fn half_each(core: &Core<'_>, look: impl Fn(u32, usize) -> (Pattern, u64)) -> Halves {
    let of = |first: usize| {
        let active = core.active >> first & 0xffff;
        if active == 0 { (Pattern::Nobody, 0) } else { look(active, first) }
    };
    [of(0), of(LANES - HALF)]
}

#[inline(always)]
fn named(next: bool, same: bool, start: u64, led: u64) -> (Pattern, u64) {
    match (next, same) {
        (_, true) => (Pattern::Same, led),
        (true, _) => (Pattern::Neighbours, start),
        _ => (Pattern::Other, led),
    }
}
