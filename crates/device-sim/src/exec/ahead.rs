//! Accesses to global memory while blocks run ahead of their turn.

use super::core::{Core, lanes};
use super::memory::addresses;
use crate::address;
use crate::decode::code::{LANES, Micro, Row64};
use crate::memory::ahead::{Pace, WIDEST};

/// Where the active lanes access memory.
#[allow(clippy::large_enum_variant, reason = "it lives for a moment")]
enum Stretch {
    /// In what belongs to the block or its threads.
    Own,
    /// In global memory: the first byte, and how far they reach.
    Near(u64, u64),
    /// In global memory, far from each other.
    Far(Row64),
    /// In both.
    Mixed,
}

/// `generic` says that addresses of all kinds are meant.
fn stretch(core: &Core<'_>, op: &Micro, bytes: usize, generic: bool) -> Stretch {
    let at = addresses(core, op);
    let (mut first, mut last) = (u64::MAX, 0);
    for lane in 0..LANES {
        let on = core.active >> lane & 1 != 0;
        first = first.min(if on { at[lane] } else { u64::MAX });
        last = last.max(if on { at[lane] } else { 0 });
    }
    let own = |address| generic && (address::PARAMETERS..address::SHARED_END).contains(&address);
    if own(first) && own(last) {
        Stretch::Own
    } else if generic && lanes(core.active).any(|lane| own(at[lane])) {
        Stretch::Mixed
    } else if last.saturating_sub(first) <= WIDEST {
        Stretch::Near(first, last.saturating_sub(first) + bytes as u64)
    } else {
        Stretch::Far(at)
    }
}

/// Notes a load; false where it has to go the careful way.
#[inline(never)]
pub(super) fn may_read(core: &mut Core<'_>, op: &Micro, bytes: usize, generic: bool) -> bool {
    if let Some(Pace::InTurn(_)) = &core.grid.pace {
        return true;
    }
    let stretch = stretch(core, op, bytes, generic);
    let active = core.active;
    let Some(Pace::Ahead(ahead)) = &mut core.grid.pace else { return true };
    match stretch {
        Stretch::Own => true,
        Stretch::Near(first, length) => ahead.reads(first, length),
        Stretch::Far(at) => {
            ahead.slow += 1;
            lanes(active).all(|lane| ahead.reads(at[lane], bytes as u64))
        }
        Stretch::Mixed => false,
    }
}

/// Notes a store; false where it has to be kept back, or go the careful way.
#[inline(never)]
pub(super) fn may_write(core: &mut Core<'_>, op: &Micro, bytes: usize, generic: bool) -> bool {
    let stretch = stretch(core, op, bytes, generic);
    let active = core.active;
    let Some(Pace::InTurn(written)) = &mut core.grid.pace else { return matches!(stretch, Stretch::Own) };
    match stretch {
        Stretch::Own => {}
        Stretch::Near(first, length) => written.add(first, length),
        Stretch::Far(at) => {
            written.slow += 1;
            lanes(active).for_each(|lane| written.add(at[lane], bytes as u64));
        }
        Stretch::Mixed => return false,
    }
    true
}
