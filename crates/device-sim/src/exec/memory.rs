//! Loads and stores, for all lanes at once where the addresses allow it.

use standstill_kernel_ir::{Access, Space, Type};

use std::marker::PhantomData;

use super::core::{Body, Core, Step, fast, lanes};
use super::pattern::{Halves, Pattern, halves};
use super::wide::Element;
use super::{ahead, special};
use crate::address;
use crate::decode::code::{Handler, LANES, Micro, Place, Plane, Row32, Row64, Slot};
use crate::memory::halves::{HALF, same_size};
use crate::memory::region::{Region, Word};

/// An operation's `b` says what its address is.
pub(crate) const NARROW_ADDRESS: Slot = Slot(0);
/// The same, for 64 bits.
pub(crate) const WIDE_ADDRESS: Slot = Slot(1);

/// The spaces that handlers are made for.
const GLOBAL: u8 = 0;
const SHARED: u8 = 1;
pub(super) const GENERIC: u8 = 2;

/// The addresses of all lanes: `a` by `b`, plus `x`.
#[inline(always)]
pub(crate) fn addresses(core: &Core<'_>, op: &Micro) -> Row64 {
    let offset = op.x as i32;
    let mut at = [0; LANES];
    if op.b == WIDE_ADDRESS {
        let base = core.wide(op.a);
        let offset = i64::from(offset) as u64;
        for lane in 0..LANES {
            at[lane] = base[lane].wrapping_add(offset);
        }
    } else {
        let base = core.narrow(op.a);
        for lane in 0..LANES {
            at[lane] = base[lane].wrapping_add(offset as u32).into();
        }
    }
    at
}

/// One bit for each lane.
const BITS: [u64; LANES] = {
    let mut bits = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// The region that an address lies in, and where it begins. Bounds are the region's to check; of other blocks' shared
/// memory and of private memory it knows nothing.
#[inline(always)]
fn region_of<'c, const SPACE: u8>(core: &'c mut Core<'_>, address: u64) -> Option<(&'c Region, u64)> {
    let shared = SPACE == GENERIC && (address::PARAMETERS..address::SHARED_END).contains(&address);
    if SPACE == SHARED || shared {
        return Some((&core.block.shared, address::SHARED));
    }
    let allocation = core.grid.cached(address)?;
    Some((&allocation.region, allocation.address))
}

/// An address from the start of its region; of a shared address only the low 32 bits count.
#[inline(always)]
fn offset_in<const SPACE: u8>(address: u64, start: u64) -> usize {
    let offset = address.wrapping_sub(start);
    (if SPACE == SHARED { offset & 0xffff_ffff } else { offset }) as usize
}

/// The active lanes' elements, by the patterns of the halves. `None` where that is not how they lie, or where one lies
/// outside.
#[inline(always)]
fn load_halves<const SPACE: u8, W: Word, const ALL: bool, const AVX: bool>(
    core: &mut Core<'_>,
    op: &Micro,
) -> Option<[[W; HALF]; 2]> {
    let halves = halves_of::<W, ALL>(core, op);
    // A vector is aligned when its first lane's is, where lanes lie a vector apart; that is for the gathering way.
    let vector = op.c.0 as usize > W::BYTES;
    let (_, address) = *halves.iter().find(|(pattern, _)| *pattern != Pattern::Nobody)?;
    let (region, start) = region_of::<SPACE>(core, address)?;
    let mut rows = [[W::default(); HALF]; 2];
    for (row, (pattern, address)) in rows.iter_mut().zip(halves) {
        let offset = offset_in::<SPACE>(address, start);
        match pattern {
            Pattern::Neighbours if !vector => *row = region.load_half::<W, AVX>(offset)?,
            Pattern::Same if !vector || offset.is_multiple_of(op.c.0.max(1) as usize) => {
                *row = [region.load::<W>(offset)?; HALF];
            }
            Pattern::Nobody => {}
            _ => return None,
        }
    }
    Some(rows)
}

#[inline(always)]
pub(super) fn halves_of<W: Word, const ALL: bool>(core: &Core<'_>, op: &Micro) -> Halves {
    match W::BYTES {
        1 => halves::<1, ALL>(core, op),
        2 => halves::<2, ALL>(core, op),
        4 => halves::<4, ALL>(core, op),
        _ => halves::<8, ALL>(core, op),
    }
}

/// The offsets of the active lanes' elements; for lanes that are not active that of the first active one.
#[inline(always)]
pub(super) fn offsets<'c, const SPACE: u8>(
    core: &'c mut Core<'_>,
    op: &Micro,
) -> Option<(&'c Region, Row64)> {
    let mut at = addresses(core, op);
    let active = core.active;
    let first = at[active.trailing_zeros() as usize % LANES];
    let (region, start) = region_of::<SPACE>(core, first)?;
    let bits = if SPACE == SHARED { 0xffff_ffff } else { u64::MAX };
    let first = first.wrapping_sub(start) & bits;
    for lane in 0..LANES {
        let offset = at[lane].wrapping_sub(start) & bits;
        at[lane] = if u64::from(active) & BITS[lane] != 0 { offset } else { first };
    }
    Some((region, at))
}

/// The same where addresses are narrow and shared.
#[inline(always)]
fn near_offsets<'c>(core: &'c mut Core<'_>, op: &Micro) -> (&'c Region, Row32) {
    let active = core.active;
    let base = core.narrow(op.a);
    let back = op.x.wrapping_sub(address::SHARED as u32);
    let first = base[active.trailing_zeros() as usize % LANES].wrapping_add(back);
    let mut at = [0; LANES];
    for lane in 0..LANES {
        let offset = base[lane].wrapping_add(back);
        at[lane] = if active & BITS[lane] as u32 != 0 { offset } else { first };
    }
    (&core.block.shared, at)
}

/// Widens by the sign of the element, when its type has one.
#[inline(always)]
fn widen<const SIGNED: bool>(value: u64, bytes: usize) -> u64 {
    if SIGNED {
        let unused = 64 - 8 * bytes as u32;
        ((value << unused) as i64 >> unused) as u64
    } else {
        value
    }
}

/// `d ← [a + x]`; `c` holds the bytes that the address must be a multiple of.
fn load<const SPACE: u8, W: Word, const SIGNED: bool, D: Element>(core: &mut Core<'_>, op: &Micro) -> Step {
    let done = fast::<FastLoad<SPACE, W, SIGNED, D>>(core, op);
    if done { Step::Next } else { slow_load::<SPACE, W, SIGNED, D>(core, op) }
}

struct FastLoad<const SPACE: u8, W, const SIGNED: bool, D>(PhantomData<(W, D)>);

impl<const SPACE: u8, W: Word, const SIGNED: bool, D: Element> Body for FastLoad<SPACE, W, SIGNED, D> {
    type Output = bool;
    #[inline(always)]
    fn body<const AVX: bool>(core: &mut Core<'_>, op: &Micro) -> bool {
        fast_load::<SPACE, W, SIGNED, D, AVX>(core, op)
    }
}

#[inline(always)]
fn fast_load<const SPACE: u8, W: Word, const SIGNED: bool, D: Element, const AVX: bool>(
    core: &mut Core<'_>,
    op: &Micro,
) -> bool {
    if core.spy.recording
        || (SPACE != SHARED && core.grid.pace.is_some() && !ahead::may_read::<W>(core, op, SPACE == GENERIC))
    {
        return false;
    }
    let active = core.active;
    if active == u32::MAX {
        let Some(rows) = load_halves::<SPACE, W, true, AVX>(core, op) else {
            return gathering_load::<SPACE, W, SIGNED, D>(core, op);
        };
        let into = D::destination(core, op.d);
        let (low, high) = into.split_at_mut(HALF);
        for (into, row) in [low, high].into_iter().zip(rows) {
            into.copy_from_slice(&widened::<W, SIGNED, D>(row));
        }
        return true;
    }
    let Some(rows) = load_halves::<SPACE, W, false, AVX>(core, op) else {
        return gathering_load::<SPACE, W, SIGNED, D>(core, op);
    };
    let into = D::destination(core, op.d);
    for (half, row) in rows.into_iter().enumerate() {
        let out = widened::<W, SIGNED, D>(row);
        for lane in 0..HALF {
            let at = half * HALF + lane;
            into[at] = if u64::from(active) & BITS[at] != 0 { out[lane] } else { into[at] };
        }
    }
    true
}

/// Elements as a register holds them.
#[inline(always)]
fn widened<W: Word, const SIGNED: bool, D: Element>(row: [W; HALF]) -> [D; HALF] {
    match same_size::<W, D>(row) {
        Some(same) => same,
        None => row.map(|element| D::from_u64(widen::<SIGNED>(element.to_u64(), W::BYTES))),
    }
}

#[inline(always)]
fn gathering_load<const SPACE: u8, W: Word, const SIGNED: bool, D: Element>(
    core: &mut Core<'_>,
    op: &Micro,
) -> bool {
    let active = core.active;
    let vector = op.c.0 as usize > W::BYTES;
    // Allocations are aligned to more than any element, so offsets tell the alignment of addresses.
    let row = if SPACE == SHARED && op.b == NARROW_ADDRESS {
        let (region, at) = near_offsets(core, op);
        let bits = at.iter().fold(0, |bits, at| bits | at);
        if vector && bits % op.c.0.max(1) != 0 {
            return false;
        }
        region.gather_near::<W>(&at)
    } else {
        let Some((region, at)) = offsets::<SPACE>(core, op) else { return false };
        let bits = at.iter().fold(0, |bits, at| bits | at);
        if vector && bits % u64::from(op.c.0.max(1)) != 0 {
            return false;
        }
        region.gather::<W>(&at)
    };
    let Some(row) = row else { return false };
    let into = D::destination(core, op.d);
    for lane in 0..LANES {
        let value = D::from_u64(widen::<SIGNED>(row[lane].to_u64(), W::BYTES));
        into[lane] = if u64::from(active) & BITS[lane] != 0 { value } else { into[lane] };
    }
    true
}

fn space_of(space: u8) -> Space {
    match space {
        GLOBAL => Space::Global,
        SHARED => Space::Shared,
        _ => Space::Generic,
    }
}

#[cold]
fn slow_load<const SPACE: u8, W: Word, const SIGNED: bool, D: Element>(
    core: &mut Core<'_>,
    op: &Micro,
) -> Step {
    let at = addresses(core, op);
    for lane in lanes(core.active) {
        if let Err(kind) = core.resolve(space_of(SPACE), at[lane], W::BYTES as u32, op.c.0, false) {
            return core.fail(kind, lane);
        }
        match core.read_memory(space_of(SPACE), lane, at[lane], W::BYTES as u32) {
            Ok(value) => {
                D::destination(core, op.d)[lane] = D::from_u64(widen::<SIGNED>(value, W::BYTES));
            }
            Err(kind) => return core.fail(kind, lane),
        }
    }
    Step::Next
}

/// `[a + x] ← d`; `c` holds the bytes that the address must be a multiple of.
fn store<const SPACE: u8, W: Word, S: Element>(core: &mut Core<'_>, op: &Micro) -> Step {
    let done = fast::<FastStore<SPACE, W, S>>(core, op);
    if done { Step::Next } else { slow_store::<SPACE, W, S>(core, op) }
}

struct FastStore<const SPACE: u8, W, S>(PhantomData<(W, S)>);

impl<const SPACE: u8, W: Word, S: Element> Body for FastStore<SPACE, W, S> {
    type Output = bool;
    #[inline(always)]
    fn body<const AVX: bool>(core: &mut Core<'_>, op: &Micro) -> bool {
        fast_store::<SPACE, W, S, AVX>(core, op)
    }
}

#[inline(always)]
fn fast_store<const SPACE: u8, W: Word, S: Element, const AVX: bool>(
    core: &mut Core<'_>,
    op: &Micro,
) -> bool {
    if core.spy.recording {
        return false;
    }
    if SPACE != SHARED && core.grid.pace.is_some() && !ahead::may_write::<W>(core, op, SPACE == GENERIC) {
        return ahead::store::<SPACE, W, S>(core, op);
    }
    let active = core.active;
    let values = *S::source(core, op.d);
    if active == u32::MAX && op.c.0 as usize <= W::BYTES {
        let [(low, first), (high, second)] = halves_of::<W, true>(core, op);
        if low == Pattern::Neighbours && high == Pattern::Neighbours {
            let Some((region, start)) = region_of::<SPACE>(core, first) else { return false };
            let offsets = [first, second].map(|address| offset_in::<SPACE>(address, start));
            // Nothing may be written when one of them cannot be.
            if !offsets.iter().all(|&offset| region.holds_half::<W>(offset)) {
                return false;
            }
            for (half, offset) in offsets.into_iter().enumerate() {
                let mut row = [S::default(); HALF];
                row.copy_from_slice(&values[half * HALF..(half + 1) * HALF]);
                let row = match same_size::<S, W>(row) {
                    Some(same) => same,
                    None => row.map(|value| W::from_u64(value.to_u64())),
                };
                region.store_half::<W, AVX>(offset, &row);
            }
            return true;
        }
    }
    let align = u64::from(op.c.0.max(W::BYTES as u32));
    let Some((region, at)) = offsets::<SPACE>(core, op) else { return false };
    let (mut last, mut bits) = (0, 0);
    for lane in 0..LANES {
        last = last.max(at[lane]);
        bits |= at[lane];
    }
    let inside = last.checked_add(W::BYTES as u64).is_some_and(|end| end <= region.len() as u64);
    if !inside || bits & (align - 1) != 0 {
        return false;
    }
    let mut good = true;
    for lane in lanes(active) {
        good &= region.store(at[lane] as usize, W::from_u64(values[lane].to_u64()));
    }
    good
}

#[cold]
fn slow_store<const SPACE: u8, W: Word, S: Element>(core: &mut Core<'_>, op: &Micro) -> Step {
    let at = addresses(core, op);
    let values = *S::source(core, op.d);
    let space = space_of(SPACE);
    for lane in lanes(core.active) {
        if let Err(kind) = core.resolve(space, at[lane], W::BYTES as u32, op.c.0, true) {
            return core.fail(kind, lane);
        }
    }
    for lane in lanes(core.active) {
        let written = core.write_memory(space, lane, at[lane], W::BYTES as u32, values[lane].to_u64());
        if let Err(kind) = written {
            return core.fail(kind, lane);
        }
    }
    Step::Next
}

/// Local memory, parameters and predicates: the careful way. `x` is the offset, `d` a place by plane.
fn careful_load<const SPACE: u8, W: Word, const SIGNED: bool, D: Element>(
    core: &mut Core<'_>,
    op: &Micro,
) -> Step {
    let at = addresses(core, op);
    let space = if SPACE == 0 { Space::Local } else { Space::Param };
    for lane in lanes(core.active) {
        match core.read_memory(space, lane, at[lane], W::BYTES as u32) {
            Ok(value) => {
                D::destination(core, op.d)[lane] = D::from_u64(widen::<SIGNED>(value, W::BYTES));
            }
            Err(kind) => return core.fail(kind, lane),
        }
    }
    Step::Next
}

fn careful_store<W: Word, S: Element>(core: &mut Core<'_>, op: &Micro) -> Step {
    let at = addresses(core, op);
    let values = *S::source(core, op.d);
    for lane in lanes(core.active) {
        let value = values[lane].to_u64();
        if let Err(kind) = core.write_memory(Space::Local, lane, at[lane], W::BYTES as u32, value) {
            return core.fail(kind, lane);
        }
    }
    Step::Next
}

/// A kernel's parameter at a fixed offset `x`: the same for all lanes. `c` holds its bytes, with the top bit
/// set when its sign is to be extended.
pub(crate) fn parameter(core: &mut Core<'_>, op: &Micro) -> Step {
    const SIGNED: u32 = 1 << 31;
    let bytes = (op.c.0 & !SIGNED) as usize;
    let start = op.x as usize;
    let found = core.grid.parameters.get(start..start.saturating_add(bytes)).unwrap_or(&[]);
    let mut value = match (<[u8; 8]>::try_from(found), <[u8; 4]>::try_from(found)) {
        (Ok(long), _) => u64::from_le_bytes(long),
        (_, Ok(word)) => u32::from_le_bytes(word).into(),
        _ => found.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)),
    };
    if op.c.0 & SIGNED != 0 {
        let unused = 64 - 8 * bytes.clamp(1, 8) as u32;
        value = ((value << unused) as i64 >> unused) as u64;
    }
    special::fill(core, op, value)
}

macro_rules! by_width {
    ($bytes:expr, $function:ident, [$($space:tt)?], [$($signed:tt)?], $plane:ty) => {
        match $bytes {
            1 => $function::<$($space,)? u8, $($signed,)? $plane> as Handler,
            2 => $function::<$($space,)? u16, $($signed,)? $plane>,
            4 => $function::<$($space,)? u32, $($signed,)? $plane>,
            8 => $function::<$($space,)? u64, $($signed,)? $plane>,
            _ => return None,
        }
    };
}

macro_rules! by_plane {
    ($plane:expr, $signed:expr, $bytes:expr, $function:ident, $space:tt) => {
        match ($plane, $signed) {
            (Plane::Narrow, false) => by_width!($bytes, $function, [$space], [false], u32),
            (Plane::Narrow, true) => by_width!($bytes, $function, [$space], [true], u32),
            (Plane::Wide, false) => by_width!($bytes, $function, [$space], [false], u64),
            (Plane::Wide, true) => by_width!($bytes, $function, [$space], [true], u64),
            (Plane::Predicate, _) => return None,
        }
    };
}

/// The handler that loads one element.
pub(crate) fn loader(access: &Access, to: Place) -> Option<Handler> {
    let bytes = element_bytes(access.ty)?;
    let signed = access.ty.is_signed();
    Some(match access.space {
        Space::Global | Space::Const => by_plane!(to.plane, signed, bytes, load, GLOBAL),
        Space::Shared | Space::SharedCluster => by_plane!(to.plane, signed, bytes, load, SHARED),
        Space::Generic => by_plane!(to.plane, signed, bytes, load, GENERIC),
        Space::Local => by_plane!(to.plane, signed, bytes, careful_load, 0),
        Space::Param => by_plane!(to.plane, signed, bytes, careful_load, 1),
        Space::Tensor => return None,
    })
}

/// The handler that stores one element.
pub(crate) fn storer(access: &Access, from: Place) -> Option<Handler> {
    let bytes = element_bytes(access.ty)?;
    Some(match (access.space, from.plane) {
        (_, Plane::Predicate) | (Space::Tensor | Space::Param, _) => return None,
        (Space::Global | Space::Const, Plane::Narrow) => by_width!(bytes, store, [GLOBAL], [], u32),
        (Space::Global | Space::Const, Plane::Wide) => by_width!(bytes, store, [GLOBAL], [], u64),
        (Space::Shared | Space::SharedCluster, Plane::Narrow) => by_width!(bytes, store, [SHARED], [], u32),
        (Space::Shared | Space::SharedCluster, Plane::Wide) => by_width!(bytes, store, [SHARED], [], u64),
        (Space::Generic, Plane::Narrow) => by_width!(bytes, store, [GENERIC], [], u32),
        (Space::Generic, Plane::Wide) => by_width!(bytes, store, [GENERIC], [], u64),
        (Space::Local, Plane::Narrow) => by_width!(bytes, careful_store, [], [], u32),
        (Space::Local, Plane::Wide) => by_width!(bytes, careful_store, [], [], u64),
    })
}

/// Bytes of an element that a register can hold.
pub(crate) fn element_bytes(ty: Type) -> Option<u32> {
    match ty.bits() {
        bits @ (8 | 16 | 32 | 64) => Some(bits / 8),
        _ => None,
    }
}
