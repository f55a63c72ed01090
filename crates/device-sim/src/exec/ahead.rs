//! Accesses to global memory while blocks run ahead of their turn.

use super::core::{Core, lanes};
use super::memory::{GENERIC, addresses, halves_of, offsets};
use super::pattern::Pattern;
use super::wide::Element;
use crate::address;
use crate::decode::code::{LANES, Micro, Row64};
use crate::memory::ahead::{Pace, WIDEST};
use crate::memory::halves::HALF;
use crate::memory::region::Word;

/// Where the active lanes access memory.
#[allow(clippy::large_enum_variant, reason = "it lives for a moment")]
enum Stretch {
    /// In what belongs to the block or its threads.
    Own,
    /// In global memory, in pieces: the first byte of each, and how far it reaches.
    Near([(u64, u64); 2]),
    /// In global memory, far from each other.
    Far(Row64),
    /// In both.
    Mixed,
}

/// Whether an address that may be of any kind belongs to a block or its threads.
fn is_own(address: u64) -> bool {
    (address::PARAMETERS..address::SHARED_END).contains(&address)
}

/// What each half of the warp accesses, where that is one piece for each.
fn pieces<W: Word>(core: &Core<'_>, op: &Micro) -> Option<[(u64, u64); 2]> {
    let mut pieces = [(0, 0); 2];
    let halves = halves_of::<W, false>(core, op);
    for (half, (piece, (pattern, address))) in pieces.iter_mut().zip(halves).enumerate() {
        let whole = core.active >> (half * HALF) & 0xffff == 0xffff;
        *piece = match pattern {
            Pattern::Nobody => (0, 0),
            Pattern::Same => (address, W::BYTES as u64),
            Pattern::Neighbours if whole => (address, (HALF * W::BYTES) as u64),
            _ => return None,
        };
    }
    let [(first, length), (second, more)] = pieces;
    if first.checked_add(length) == Some(second) {
        return Some([(first, length + more), (0, 0)]);
    }
    Some(pieces)
}

/// `generic` says that addresses of all kinds are meant.
fn stretch<W: Word>(core: &Core<'_>, op: &Micro, generic: bool) -> Stretch {
    if let Some(pieces) = pieces::<W>(core, op) {
        let there = || pieces.iter().filter(|(_, length)| *length > 0);
        if !generic || !there().any(|(first, length)| is_own(*first) || is_own(first.saturating_add(*length)))
        {
            return Stretch::Near(pieces);
        }
    }
    let at = addresses(core, op);
    let (mut first, mut last) = (u64::MAX, 0);
    for lane in 0..LANES {
        let on = core.active >> lane & 1 != 0;
        first = first.min(if on { at[lane] } else { u64::MAX });
        last = last.max(if on { at[lane] } else { 0 });
    }
    if generic && is_own(first) && is_own(last) {
        Stretch::Own
    } else if generic && lanes(core.active).any(|lane| is_own(at[lane])) {
        Stretch::Mixed
    } else if last.saturating_sub(first) <= WIDEST {
        Stretch::Near([(first, last.saturating_sub(first) + W::BYTES as u64), (0, 0)])
    } else {
        Stretch::Far(at)
    }
}

/// Notes a load; false where it has to go the careful way.
#[inline(never)]
pub(super) fn may_read<W: Word>(core: &mut Core<'_>, op: &Micro, generic: bool) -> bool {
    if let Some(Pace::InTurn(_)) = &core.grid.pace {
        return true;
    }
    let stretch = stretch::<W>(core, op, generic);
    let active = core.active;
    let Some(Pace::Ahead(ahead)) = &mut core.grid.pace else { return true };
    match stretch {
        Stretch::Own => true,
        Stretch::Near(pieces) => {
            pieces.into_iter().all(|(first, length)| length == 0 || ahead.reads(first, length))
        }
        Stretch::Far(at) => {
            ahead.slow += 1;
            lanes(active).all(|lane| ahead.reads(at[lane], W::BYTES as u64))
        }
        Stretch::Mixed => false,
    }
}

/// Notes a store; false where it has to be kept back, or go the careful way.
#[inline(never)]
pub(super) fn may_write<W: Word>(core: &mut Core<'_>, op: &Micro, generic: bool) -> bool {
    let stretch = stretch::<W>(core, op, generic);
    let active = core.active;
    let Some(Pace::InTurn(written)) = &mut core.grid.pace else { return matches!(stretch, Stretch::Own) };
    match stretch {
        Stretch::Own => {}
        Stretch::Near(pieces) => {
            for (first, length) in pieces.into_iter().filter(|(_, length)| *length > 0) {
                written.add(first, length);
            }
        }
        Stretch::Far(at) => {
            written.slow += 1;
            lanes(active).for_each(|lane| written.add(at[lane], W::BYTES as u64));
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
    if SPACE == GENERIC && lanes(core.active).any(|lane| is_own(addresses[lane])) {
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
