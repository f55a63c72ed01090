//! Copies in all their forms.

use std::ffi::{c_int, c_void};

use standstill_trace::{Access, Copied, Memory, Mode, Work};

use super::{wrap, wrap_both};
use crate::graphs::captured;
use crate::layout::{Handle, MEMORY_ARRAY, MEMORY_DEVICE, MEMORY_HOST, Memcpy2D, Memcpy3D, Side2D, Side3D};
use crate::memory::Ranges;
use crate::recorder::{State, with};
use crate::streams::Default;

/// Which side of the bus a call says that an address is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Host,
    Device,
    /// The address itself tells.
    Unified,
    /// Memory whose layout is the driver's own.
    Array,
}

/// One side of a copy.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    side: Side,
    address: u64,
    pitch: u64,
    slice: u64,
}

/// A copy: bytes, rows, slices.
#[derive(Debug, Clone, Copy)]
pub struct Copy {
    from: Place,
    to: Place,
    width: u64,
    height: u64,
    depth: u64,
}

impl Place {
    fn flat(side: Side, address: u64) -> Place {
        Place { side, address, pitch: 0, slice: 0 }
    }

    fn memory(&self, ranges: &mut Ranges) -> Memory {
        let known = ranges.find(self.address);
        match self.side {
            Side::Array => Memory::Device,
            Side::Device => known.unwrap_or(Memory::Device),
            Side::Host | Side::Unified => known.unwrap_or(Memory::Pageable),
        }
    }

    fn accesses(&self, copy: &Copy, mode: Mode) -> impl Iterator<Item = Access> {
        let place = *self;
        let (copy, known) = (*copy, if self.side == Side::Array { 0 } else { copy.depth });
        (0..known).map(move |number| place.slice(&copy, number, mode))
    }

    fn slice(&self, copy: &Copy, number: u64, mode: Mode) -> Access {
        let (width, rows, pitch) = (copy.width, copy.height, self.pitch.max(copy.width));
        let address = self.address.saturating_add(number.saturating_mul(self.slice));
        Access { address, width, rows, pitch, mode, exact: true }
    }
}

impl Copy {
    fn flat(to: (Side, u64), from: (Side, u64), bytes: usize) -> Copy {
        let (from, to) = (Place::flat(from.0, from.1), Place::flat(to.0, to.1));
        Copy { from, to, width: bytes as u64, height: 1, depth: 1 }
    }

    /// What a trace has of it.
    pub fn work(&self, ranges: &mut Ranges, asynchronous: bool) -> Work {
        let (from, to) = (self.from.memory(ranges), self.to.memory(ranges));
        let accesses = self.from.accesses(self, Mode::Read).chain(self.to.accesses(self, Mode::Write));
        Work::Copy { copied: Copied { asynchronous, from, to }, accesses: accesses.collect() }
    }

    /// The two places of a copy of one slice.
    fn places(&self) -> Option<[Access; 2]> {
        let plain = self.depth == 1 && [self.from.side, self.to.side].iter().all(|side| *side != Side::Array);
        plain.then(|| [self.from.slice(self, 0, Mode::Read), self.to.slice(self, 0, Mode::Write)])
    }
}

fn side(memory: c_int) -> Side {
    match memory {
        MEMORY_HOST => Side::Host,
        MEMORY_DEVICE => Side::Device,
        MEMORY_ARRAY => Side::Array,
        _ => Side::Unified,
    }
}

impl From<&Side2D> for Place {
    fn from(from: &Side2D) -> Place {
        let side = side(from.memory);
        let base = if side == Side::Host { from.host as u64 } else { from.device };
        let offset = (from.y as u64).saturating_mul(from.pitch as u64).saturating_add(from.x as u64);
        Place { side, address: base.saturating_add(offset), pitch: from.pitch as u64, slice: 0 }
    }
}

impl From<&Side3D> for Place {
    fn from(from: &Side3D) -> Place {
        let side = side(from.memory);
        let base = if side == Side::Host { from.host as u64 } else { from.device };
        let pitch = from.pitch as u64;
        let slice = pitch.saturating_mul(from.height as u64);
        let offset =
            (from.z as u64).saturating_mul(slice).saturating_add((from.y as u64).saturating_mul(pitch));
        let address = base.saturating_add(offset).saturating_add(from.x as u64);
        Place { side, address, pitch, slice }
    }
}

impl From<&Memcpy2D> for Copy {
    fn from(copy: &Memcpy2D) -> Copy {
        Copy {
            from: (&copy.from).into(),
            to: (&copy.to).into(),
            width: copy.width as u64,
            height: copy.height as u64,
            depth: 1,
        }
    }
}

impl From<&Memcpy3D> for Copy {
    fn from(copy: &Memcpy3D) -> Copy {
        Copy {
            from: (&copy.from).into(),
            to: (&copy.to).into(),
            width: copy.width as u64,
            height: copy.height as u64,
            depth: copy.depth as u64,
        }
    }
}

/// A copy was asked for.
unsafe fn copied(status: c_int, copy: Copy, asynchronous: bool, stream: Handle, default: Default) -> c_int {
    let nothing = copy.width == 0 || copy.height == 0 || copy.depth == 0;
    // SAFETY: the stream that the driver has just taken.
    if status == 0 && !nothing && !unsafe { captured(stream, default) } {
        with(|state| {
            let State { memory, .. } = state;
            match copy.places() {
                Some(places) => {
                    let (from, to) = (copy.from.memory(memory), copy.to.memory(memory));
                    state.copy(stream, default, Copied { asynchronous, from, to }, &places);
                }
                None => {
                    let work = copy.work(memory, asynchronous);
                    state.submit(stream, default, work);
                }
            }
        });
    }
    status
}

/// A call without a stream, which means the default one.
unsafe fn done(status: c_int, copy: Copy, default: Default) -> c_int {
    // SAFETY: no stream of the program's.
    unsafe { copied(status, copy, false, std::ptr::null_mut(), default) }
}

fn address(pointer: *const c_void) -> u64 {
    pointer.addr() as u64
}

wrap! {
    fn cuMemcpy2DUnaligned_v2(copy: *const Memcpy2D) |call| {
        // SAFETY: the driver has read it too.
        unsafe { done(call(), (&*copy).into(), Default::Legacy) }
    }

    fn cuMemcpy2DUnaligned_v2_ptds(copy: *const Memcpy2D) |call| {
        // SAFETY: as above.
        unsafe { done(call(), (&*copy).into(), Default::PerThread) }
    }
}

wrap_both! {
    fn cuMemcpy / cuMemcpy_ptds(to: u64, from: u64, bytes: usize) [default] |call| {
        let copy = Copy::flat((Side::Unified, to), (Side::Unified, from), bytes);
        // SAFETY: the stream is the default one.
        unsafe { done(call(), copy, default) }
    }

    fn cuMemcpyAsync / cuMemcpyAsync_ptsz(to: u64, from: u64, bytes: usize, stream: Handle) [default] |call| {
        let copy = Copy::flat((Side::Unified, to), (Side::Unified, from), bytes);
        // SAFETY: the stream that the driver has taken.
        unsafe { copied(call(), copy, true, stream, default) }
    }

    fn cuMemcpyHtoD_v2 / cuMemcpyHtoD_v2_ptds(to: u64, from: *const c_void, bytes: usize) [default] |call| {
        let copy = Copy::flat((Side::Device, to), (Side::Host, address(from)), bytes);
        // SAFETY: as above.
        unsafe { done(call(), copy, default) }
    }

    fn cuMemcpyHtoDAsync_v2 / cuMemcpyHtoDAsync_v2_ptsz(
        to: u64, from: *const c_void, bytes: usize, stream: Handle,
    ) [default] |call| {
        let copy = Copy::flat((Side::Device, to), (Side::Host, address(from)), bytes);
        // SAFETY: as above.
        unsafe { copied(call(), copy, true, stream, default) }
    }

    fn cuMemcpyDtoH_v2 / cuMemcpyDtoH_v2_ptds(to: *mut c_void, from: u64, bytes: usize) [default] |call| {
        let copy = Copy::flat((Side::Host, address(to)), (Side::Device, from), bytes);
        // SAFETY: as above.
        unsafe { done(call(), copy, default) }
    }

    fn cuMemcpyDtoHAsync_v2 / cuMemcpyDtoHAsync_v2_ptsz(
        to: *mut c_void, from: u64, bytes: usize, stream: Handle,
    ) [default] |call| {
        let copy = Copy::flat((Side::Host, address(to)), (Side::Device, from), bytes);
        // SAFETY: as above.
        unsafe { copied(call(), copy, true, stream, default) }
    }

    fn cuMemcpyDtoD_v2 / cuMemcpyDtoD_v2_ptds(to: u64, from: u64, bytes: usize) [default] |call| {
        let copy = Copy::flat((Side::Device, to), (Side::Device, from), bytes);
        // SAFETY: as above.
        unsafe { done(call(), copy, default) }
    }

    fn cuMemcpyDtoDAsync_v2 / cuMemcpyDtoDAsync_v2_ptsz(
        to: u64, from: u64, bytes: usize, stream: Handle,
    ) [default] |call| {
        let copy = Copy::flat((Side::Device, to), (Side::Device, from), bytes);
        // SAFETY: as above.
        unsafe { copied(call(), copy, true, stream, default) }
    }

    fn cuMemcpyPeer / cuMemcpyPeer_ptds(
        to: u64, _to_context: Handle, from: u64, _from_context: Handle, bytes: usize,
    ) [default] |call| {
        let copy = Copy::flat((Side::Device, to), (Side::Device, from), bytes);
        // SAFETY: as above.
        unsafe { done(call(), copy, default) }
    }

    fn cuMemcpyPeerAsync / cuMemcpyPeerAsync_ptsz(
        to: u64, _to_context: Handle, from: u64, _from_context: Handle, bytes: usize, stream: Handle,
    ) [default] |call| {
        let copy = Copy::flat((Side::Device, to), (Side::Device, from), bytes);
        // SAFETY: as above.
        unsafe { copied(call(), copy, true, stream, default) }
    }

    fn cuMemcpy2D_v2 / cuMemcpy2D_v2_ptds(copy: *const Memcpy2D) [default] |call| {
        // SAFETY: the driver has read it too.
        unsafe { done(call(), (&*copy).into(), default) }
    }

    fn cuMemcpy2DAsync_v2 / cuMemcpy2DAsync_v2_ptsz(
        copy: *const Memcpy2D, stream: Handle,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { copied(call(), (&*copy).into(), true, stream, default) }
    }

    fn cuMemcpy3D_v2 / cuMemcpy3D_v2_ptds(copy: *const Memcpy3D) [default] |call| {
        // SAFETY: as above.
        unsafe { done(call(), (&*copy).into(), default) }
    }

    fn cuMemcpy3DAsync_v2 / cuMemcpy3DAsync_v2_ptsz(
        copy: *const Memcpy3D, stream: Handle,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { copied(call(), (&*copy).into(), true, stream, default) }
    }

    fn cuMemcpy3DPeer / cuMemcpy3DPeer_ptds(copy: *const Memcpy3D) [default] |call| {
        // SAFETY: as above.
        unsafe { done(call(), (&*copy).into(), default) }
    }

    fn cuMemcpy3DPeerAsync / cuMemcpy3DPeerAsync_ptsz(
        copy: *const Memcpy3D, stream: Handle,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { copied(call(), (&*copy).into(), true, stream, default) }
    }
}
