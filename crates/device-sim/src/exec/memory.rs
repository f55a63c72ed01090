//! Loads and stores, for all lanes at once where the addresses allow it.

use standstill_kernel_ir::{Access, Space, Type};

use std::marker::PhantomData;

use super::core::{Body, Core, Step, fast, lanes};
use super::pattern::{Pattern, pattern};
use crate::address;
use crate::decode::code::{Handler, LANES, Micro, Place, Plane, Row64, Slot};
use crate::memory::region::{Region, Word};

/// An operation's `b` says what its address is.
pub(crate) const NARROW_ADDRESS: Slot = Slot(0);
/// The same, for 64 bits.
pub(crate) const WIDE_ADDRESS: Slot = Slot(1);

/// The spaces that handlers are made for.
const GLOBAL: u8 = 0;
const SHARED: u8 = 1;
const GENERIC: u8 = 2;

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

/// The region that all active lanes' elements lie in, and whether they are neighbours in the order of the
/// lanes; `None` where they lie in several, or where the careful way is asked for. The addresses become
/// offsets, for lanes that are not active that of the first active one.
#[inline(always)]
fn common<'c, const SPACE: u8>(
    core: &'c mut Core<'_>,
    at: &mut Row64,
    bytes: u64,
) -> Option<(&'c Region, bool)> {
    let active = core.active;
    if core.spy.recording {
        return None;
    }
    let first = at[active.trailing_zeros() as usize % LANES];
    let shared =
        SPACE == SHARED || (SPACE == GENERIC && (address::SHARED..address::SHARED_END).contains(&first));
    let (start, length, region): (u64, u64, &Region);
    if shared {
        (start, length, region) = (address::SHARED, core.block.shared.len() as u64, &core.block.shared);
    } else {
        if SPACE == GENERIC && (address::PARAMETERS..address::SHARED_END).contains(&first) {
            return None;
        }
        let allocation = core.grid.cached(first)?;
        (start, length, region) = (allocation.address, allocation.bytes, &allocation.region);
    }
    if length < bytes {
        return None;
    }
    // Of a shared address only the low 32 bits count.
    let bits = if SPACE == SHARED { 0xffff_ffff } else { u64::MAX };
    let first = first.wrapping_sub(start) & bits;
    let last = length - bytes;
    if active == u32::MAX {
        let mut distance = 0;
        for lane in 0..LANES {
            at[lane] = at[lane].wrapping_sub(start) & bits;
            distance |= at[lane] ^ first.wrapping_add(lane as u64 * bytes);
        }
        if distance == 0 {
            return (first <= last && last - first >= 31 * bytes).then_some((region, true));
        }
    } else {
        for lane in 0..LANES {
            let offset = at[lane].wrapping_sub(start) & bits;
            at[lane] = if u64::from(active) & BITS[lane] != 0 { offset } else { first };
        }
    }
    // Offsets beyond 63 bits are outside in any case, so that a signed comparison serves.
    let mut outside = 0;
    for lane in 0..LANES {
        outside |= (last as i64).wrapping_sub(at[lane] as i64) | at[lane] as i64;
    }
    (outside >= 0).then_some((region, false))
}

/// A type that a register takes an element of memory into.
trait Into32or64: Copy + Default {
    fn from_memory(value: u64) -> Self;
    fn destination<'c>(core: &'c mut Core<'_>, slot: Slot) -> &'c mut [Self; LANES];
    fn source<'c>(core: &'c Core<'_>, slot: Slot) -> &'c [Self; LANES];
    fn to_memory(self) -> u64;
}

impl Into32or64 for u32 {
    #[inline(always)]
    fn from_memory(value: u64) -> u32 {
        value as u32
    }
    #[inline(always)]
    fn destination<'c>(core: &'c mut Core<'_>, slot: Slot) -> &'c mut [u32; LANES] {
        core.narrow_mut(slot)
    }
    #[inline(always)]
    fn source<'c>(core: &'c Core<'_>, slot: Slot) -> &'c [u32; LANES] {
        core.narrow(slot)
    }
    #[inline(always)]
    fn to_memory(self) -> u64 {
        self.into()
    }
}

impl Into32or64 for u64 {
    #[inline(always)]
    fn from_memory(value: u64) -> u64 {
        value
    }
    #[inline(always)]
    fn destination<'c>(core: &'c mut Core<'_>, slot: Slot) -> &'c mut [u64; LANES] {
        core.wide_mut(slot)
    }
    #[inline(always)]
    fn source<'c>(core: &'c Core<'_>, slot: Slot) -> &'c [u64; LANES] {
        core.wide(slot)
    }
    #[inline(always)]
    fn to_memory(self) -> u64 {
        self
    }
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
fn load<const SPACE: u8, W: Word, const SIGNED: bool, D: Into32or64>(
    core: &mut Core<'_>,
    op: &Micro,
) -> Step {
    let done = fast::<FastLoad<SPACE, W, SIGNED, D>>(core, op);
    if done { Step::Next } else { slow_load::<SPACE, W, SIGNED, D>(core, op) }
}

struct FastLoad<const SPACE: u8, W, const SIGNED: bool, D>(PhantomData<(W, D)>);

impl<const SPACE: u8, W: Word, const SIGNED: bool, D: Into32or64> Body for FastLoad<SPACE, W, SIGNED, D> {
    type Output = bool;
    #[inline(always)]
    fn body(core: &mut Core<'_>, op: &Micro) -> bool {
        fast_load::<SPACE, W, SIGNED, D>(core, op)
    }
}

/// The region of an address, and the offset there. Bounds are the region's to check.
#[inline(always)]
fn region_of<'c, const SPACE: u8>(core: &'c mut Core<'_>, address: u64) -> Option<(&'c Region, u64)> {
    if SPACE == SHARED {
        return Some((&core.block.shared, (address as u32).wrapping_sub(address::SHARED as u32).into()));
    }
    if SPACE == GENERIC && (address::PARAMETERS..address::SHARED_END).contains(&address) {
        return Some((&core.block.shared, address.wrapping_sub(address::SHARED)));
    }
    let allocation = core.grid.cached(address)?;
    Some((&allocation.region, address - allocation.address))
}

/// A load of a whole warp from neighbouring elements, or of one element; false where it is neither.
#[inline(always)]
fn even_load<const SPACE: u8, W: Word, const SIGNED: bool, D: Into32or64>(
    core: &mut Core<'_>,
    op: &Micro,
) -> bool {
    let (pattern, first) = match W::BYTES {
        1 => pattern::<1>(core, op),
        2 => pattern::<2>(core, op),
        4 => pattern::<4>(core, op),
        _ => pattern::<8>(core, op),
    };
    // A vector is aligned when its first lane's is, where lanes lie a vector apart; that is for the others.
    if pattern == Pattern::Other || (op.c.0 as usize > W::BYTES && pattern != Pattern::Same) {
        return false;
    }
    let Some((region, offset)) = region_of::<SPACE>(core, first) else { return false };
    if offset % u64::from(op.c.0.max(1)) != 0 {
        return false;
    }
    let mut out = [D::default(); LANES];
    if pattern == Pattern::Neighbours {
        let Some(row) = region.load_row::<W>(offset as usize) else { return false };
        for lane in 0..LANES {
            out[lane] = D::from_memory(widen::<SIGNED>(row[lane].to_u64(), W::BYTES));
        }
    } else {
        let Some(value) = region.load::<W>(offset as usize) else { return false };
        out = [D::from_memory(widen::<SIGNED>(value.to_u64(), W::BYTES)); LANES];
    }
    *D::destination(core, op.d) = out;
    true
}

#[inline(always)]
fn fast_load<const SPACE: u8, W: Word, const SIGNED: bool, D: Into32or64>(
    core: &mut Core<'_>,
    op: &Micro,
) -> bool {
    if core.active == u32::MAX && !core.spy.recording && even_load::<SPACE, W, SIGNED, D>(core, op) {
        return true;
    }
    let mut at = addresses(core, op);
    let active = core.active;
    let mut out = [D::default(); LANES];
    let Some((region, neighbours)) = common::<SPACE>(core, &mut at, W::BYTES as u64) else { return false };
    let vector = op.c.0 as usize > W::BYTES;
    if neighbours {
        let Some(row) = region.load_row::<W>(at[0] as usize) else { return false };
        for lane in 0..LANES {
            out[lane] = D::from_memory(widen::<SIGNED>(row[lane].to_u64(), W::BYTES));
        }
    } else {
        let Some(row) = region.gather::<W>(&at) else { return false };
        for lane in 0..LANES {
            out[lane] = D::from_memory(widen::<SIGNED>(row[lane].to_u64(), W::BYTES));
        }
    }
    // Allocations are aligned to more than any element, so offsets tell the alignment of addresses.
    if vector && at.iter().any(|at| at % u64::from(op.c.0.max(1)) != 0) {
        return false;
    }
    let into = D::destination(core, op.d);
    if active == u32::MAX {
        *into = out;
    } else {
        for lane in 0..LANES {
            into[lane] = if u64::from(active) & BITS[lane] != 0 { out[lane] } else { into[lane] };
        }
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
fn slow_load<const SPACE: u8, W: Word, const SIGNED: bool, D: Into32or64>(
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
                D::destination(core, op.d)[lane] = D::from_memory(widen::<SIGNED>(value, W::BYTES));
            }
            Err(kind) => return core.fail(kind, lane),
        }
    }
    Step::Next
}

/// `[a + x] ← d`; `c` holds the bytes that the address must be a multiple of.
fn store<const SPACE: u8, W: Word, S: Into32or64>(core: &mut Core<'_>, op: &Micro) -> Step {
    let done = fast::<FastStore<SPACE, W, S>>(core, op);
    if done { Step::Next } else { slow_store::<SPACE, W, S>(core, op) }
}

struct FastStore<const SPACE: u8, W, S>(PhantomData<(W, S)>);

impl<const SPACE: u8, W: Word, S: Into32or64> Body for FastStore<SPACE, W, S> {
    type Output = bool;
    #[inline(always)]
    fn body(core: &mut Core<'_>, op: &Micro) -> bool {
        fast_store::<SPACE, W, S>(core, op)
    }
}

#[inline(always)]
fn fast_store<const SPACE: u8, W: Word, S: Into32or64>(core: &mut Core<'_>, op: &Micro) -> bool {
    if core.active == u32::MAX && !core.spy.recording && op.c.0 as usize <= W::BYTES {
        let (pattern, first) = match W::BYTES {
            1 => pattern::<1>(core, op),
            2 => pattern::<2>(core, op),
            4 => pattern::<4>(core, op),
            _ => pattern::<8>(core, op),
        };
        if pattern == Pattern::Neighbours {
            let row = S::source(core, op.d).map(|value| W::from_u64(value.to_memory()));
            if let Some((region, offset)) = region_of::<SPACE>(core, first)
                && region.store_row(offset as usize, &row)
            {
                return true;
            }
        }
    }
    let mut at = addresses(core, op);
    let active = core.active;
    let values = *S::source(core, op.d);
    let align = u64::from(op.c.0.max(W::BYTES as u32));
    let Some((region, neighbours)) = common::<SPACE>(core, &mut at, W::BYTES as u64) else { return false };
    // Nothing may be written when one of them cannot be.
    let mut misaligned = 0;
    for lane in 0..LANES {
        misaligned |= at[lane];
    }
    if misaligned & (align - 1) != 0 {
        return false;
    }
    if neighbours {
        let row = values.map(|value| W::from_u64(value.to_memory()));
        return region.store_row(at[0] as usize, &row);
    }
    let mut good = true;
    for lane in lanes(active) {
        good &= region.store(at[lane] as usize, W::from_u64(values[lane].to_memory()));
    }
    good
}

#[cold]
fn slow_store<const SPACE: u8, W: Word, S: Into32or64>(core: &mut Core<'_>, op: &Micro) -> Step {
    let at = addresses(core, op);
    let values = *S::source(core, op.d);
    let space = space_of(SPACE);
    for lane in lanes(core.active) {
        if let Err(kind) = core.resolve(space, at[lane], W::BYTES as u32, op.c.0, true) {
            return core.fail(kind, lane);
        }
    }
    for lane in lanes(core.active) {
        let written = core.write_memory(space, lane, at[lane], W::BYTES as u32, values[lane].to_memory());
        if let Err(kind) = written {
            return core.fail(kind, lane);
        }
    }
    Step::Next
}

/// Local memory, parameters and predicates: the careful way. `x` is the offset, `d` a place by plane.
fn careful_load<const SPACE: u8, W: Word, const SIGNED: bool, D: Into32or64>(
    core: &mut Core<'_>,
    op: &Micro,
) -> Step {
    let at = addresses(core, op);
    let space = if SPACE == 0 { Space::Local } else { Space::Param };
    for lane in lanes(core.active) {
        match core.read_memory(space, lane, at[lane], W::BYTES as u32) {
            Ok(value) => {
                D::destination(core, op.d)[lane] = D::from_memory(widen::<SIGNED>(value, W::BYTES));
            }
            Err(kind) => return core.fail(kind, lane),
        }
    }
    Step::Next
}

fn careful_store<W: Word, S: Into32or64>(core: &mut Core<'_>, op: &Micro) -> Step {
    let at = addresses(core, op);
    let values = *S::source(core, op.d);
    for lane in lanes(core.active) {
        let value = values[lane].to_memory();
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
    let mut value = found.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    if op.c.0 & SIGNED != 0 {
        let unused = 64 - 8 * bytes.clamp(1, 8) as u32;
        value = ((value << unused) as i64 >> unused) as u64;
    }
    let active = core.active;
    if op.b == WIDE_ADDRESS {
        let row = core.wide_mut(op.d);
        for lane in 0..LANES {
            row[lane] = if active >> lane & 1 != 0 { value } else { row[lane] };
        }
    } else {
        let row = core.narrow_mut(op.d);
        for lane in 0..LANES {
            row[lane] = if active >> lane & 1 != 0 { value as u32 } else { row[lane] };
        }
    }
    Step::Next
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
