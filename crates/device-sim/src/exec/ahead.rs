//! Accesses to global memory while blocks run ahead of their turn.

use super::core::{Core, lanes};
use super::memory::addresses;
use crate::address;
use crate::decode::code::Micro;
use crate::memory::ahead::{Pace, WIDEST};

/// Where the active lanes access memory.
enum Stretch {
    /// In what belongs to the block or its threads.
    Own,
    /// In global memory: the first byte, and how far they reach.
    Near(u64, u64),
    /// In both, or in many places.
    Far,
}

/// `generic` says that addresses of all kinds are meant.
fn stretch(core: &Core<'_>, op: &Micro, bytes: usize, generic: bool) -> Stretch {
    let at = addresses(core, op);
    let (first, last) = lanes(core.active)
        .fold((u64::MAX, 0), |(first, last), lane| (first.min(at[lane]), last.max(at[lane])));
    let own = |address| generic && (address::PARAMETERS..address::SHARED_END).contains(&address);
    match (own(first), own(last)) {
        (true, true) => Stretch::Own,
        (false, false) if last.saturating_sub(first) <= WIDEST => {
            Stretch::Near(first, last.saturating_sub(first) + bytes as u64)
        }
        _ => Stretch::Far,
    }
}

/// Notes a load; false where it has to go the careful way.
#[inline(never)]
pub(super) fn may_read(core: &mut Core<'_>, op: &Micro, bytes: usize, generic: bool) -> bool {
    if let Some(Pace::InTurn(_)) = &core.grid.pace {
        return true;
    }
    let stretch = stretch(core, op, bytes, generic);
    match (&mut core.grid.pace, stretch) {
        (None, _) | (_, Stretch::Own) => true,
        (Some(Pace::Ahead(ahead)), Stretch::Near(first, length)) => ahead.reads(first, length),
        _ => false,
    }
}

/// Notes a store; false where it has to be kept back, or go the careful way.
#[inline(never)]
pub(super) fn may_write(core: &mut Core<'_>, op: &Micro, bytes: usize, generic: bool) -> bool {
    match (stretch(core, op, bytes, generic), &mut core.grid.pace) {
        (Stretch::Own, _) | (_, None) => true,
        (Stretch::Near(first, length), Some(Pace::InTurn(written))) => {
            written.add(first, length);
            true
        }
        _ => false,
    }
}
