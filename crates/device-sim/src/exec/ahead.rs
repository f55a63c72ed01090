//! Accesses to global memory while blocks run ahead of their turn.

use super::core::{Core, lanes};
use super::memory::{GENERIC, addresses, offsets};
use super::wide::Element;
use crate::address;
use crate::decode::code::{LANES, Micro, Row64};
use crate::memory::ahead::{Pace, WIDEST};
use crate::memory::region::Word;

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

/// Keeps a store back; false where it has to go the careful way.
pub(super) fn store<const SPACE: u8, W: Word, S: Element>(core: &mut Core<'_>, op: &Micro) -> bool {
    if !matches!(core.grid.pace, Some(Pace::Ahead(_))) {
        return false;
    }
    let align = op.c.0.max(W::BYTES as u32);
    let addresses = addresses(core, op);
    let own = |address| (address::PARAMETERS..address::SHARED_END).contains(&address);
    if SPACE == GENERIC && lanes(core.active).any(|lane| own(addresses[lane])) {
        return false;
    }
    let Some((region, at)) = offsets::<SPACE>(core, op) else { return false };
    let last = at.iter().fold(0, |last, &at| at.max(last));
    let bits = at.iter().fold(0, |bits, at| bits | at);
    let inside = last.checked_add(W::BYTES as u64).is_some_and(|end| end <= region.len() as u64);
    if !inside || bits & u64::from(align - 1) != 0 {
        return false;
    }
    let values = *S::source(core, op.d);
    let active = core.active;
    let Some(Pace::Ahead(ahead)) = &mut core.grid.pace else { return false };
    let neighbours =
        (0..LANES).all(|lane| addresses[lane] == addresses[0].wrapping_add((lane * W::BYTES) as u64));
    if active == u32::MAX && neighbours {
        let mut bytes = [0; 8 * LANES];
        for lane in 0..LANES {
            let value = values[lane].to_u64().to_le_bytes();
            bytes[lane * W::BYTES..(lane + 1) * W::BYTES].copy_from_slice(&value[..W::BYTES]);
        }
        ahead.write_run(addresses[0], &bytes[..LANES * W::BYTES]);
        return true;
    }
    for lane in lanes(active) {
        ahead.write(addresses[lane], W::BYTES as u32, values[lane].to_u64());
    }
    true
}
