//! Copies and fills in all their forms.
//!
//! How far each call is synchronous follows the CUDA Runtime API, «API synchronization behavior».

use std::ffi::c_int;
use std::sync::Arc;

use standstill_cuda_driver::operation::{Copy, Fill, Memory, Place, StreamId, Work};
use standstill_cuda_driver::{Status, host};
use standstill_trace::Copied;

use crate::address_space::{Classified, Kind, classify};
use crate::call::{Result, export_both};
use crate::graphs;
use crate::layout::{ConstPointer, Extent, Memcpy3DParms, PitchedPtr, Pointer, StreamHandle};
use crate::memory::read;
use crate::runtime::runtime;
use crate::streams::{Default, default_stream, enqueue, enqueue_and_wait, resolve};

const HOST_TO_HOST: c_int = 0;
const HOST_TO_DEVICE: c_int = 1;
const DEVICE_TO_HOST: c_int = 2;
const DEVICE_TO_DEVICE: c_int = 3;
const BY_ADDRESS: c_int = 4;

/// Pageable sources up to this size are taken when the call is made.
const STAGED: u64 = 64 << 10;

/// One side of a copy as a program names it.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    pub address: u64,
    pub pitch: u64,
    pub slice: u64,
}

impl Side {
    fn flat(address: u64, bytes: u64) -> Side {
        Side { address, pitch: bytes, slice: bytes }
    }
}

/// A copy as a program asks for it: bytes, rows, slices.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    pub to: Side,
    pub from: Side,
    pub width: u64,
    pub height: u64,
    pub depth: u64,
    pub kind: c_int,
}

/// A copy with what is known of its sides.
pub struct Prepared {
    pub copy: Copy,
    to: Option<Kind>,
    from: Option<Kind>,
}

impl Prepared {
    fn is_host(kind: Option<Kind>) -> bool {
        kind.is_none_or(Kind::is_host)
    }
}

/// Bytes from the first to one past the last.
fn span(side: Side, request: &Request) -> u64 {
    let rows = side.pitch.saturating_mul(request.height.saturating_sub(1));
    let slices = side.slice.saturating_mul(request.depth.saturating_sub(1));
    request.width.saturating_add(rows).saturating_add(slices)
}

/// The kind of memory that decides how far a copy is when its call returns.
fn kind_of(kind: Option<Kind>) -> standstill_trace::Memory {
    use standstill_trace::Memory as Traced;
    match kind {
        None => Traced::Pageable,
        Some(Kind::Pinned(_) | Kind::Registered(_)) => Traced::Pinned,
        Some(Kind::Managed) => Traced::Managed,
        Some(Kind::Device | Kind::Pool(_) | Kind::Graph { .. }) => Traced::Device,
    }
}

/// Checks a copy that an asynchronous call asks for; `None` when there is nothing to copy.
///
/// # Errors
/// For a direction that is none, a pitch smaller than a row, and addresses that are not where the direction says.
pub fn prepare(request: &Request) -> Result<Option<Prepared>> {
    if !(HOST_TO_HOST..=BY_ADDRESS).contains(&request.kind) {
        return Err(Status::InvalidMemcpyDirection);
    }
    if request.width == 0 || request.height == 0 || request.depth == 0 {
        return Ok(None);
    }
    let narrow = |side: Side| request.height > 1 && side.pitch < request.width;
    if narrow(request.to) || narrow(request.from) {
        return Err(Status::InvalidPitchValue);
    }
    if request.to.address == 0 || request.from.address == 0 {
        return Err(Status::InvalidValue);
    }
    let to = classify(request.to.address, span(request.to, request))?;
    let from = classify(request.from.address, span(request.from, request))?;
    let on_device = |side: &Classified| side.kind.is_some();
    let fits = match request.kind {
        HOST_TO_DEVICE => on_device(&to) && matches!(from.memory, Memory::Host),
        DEVICE_TO_HOST => on_device(&from) && matches!(to.memory, Memory::Host),
        DEVICE_TO_DEVICE => on_device(&to) && on_device(&from),
        HOST_TO_HOST => matches!(to.memory, Memory::Host) && matches!(from.memory, Memory::Host),
        _ => true,
    };
    if !fits {
        return Err(Status::InvalidValue);
    }
    let place = |side: Side, memory: Memory| Place {
        memory,
        address: side.address,
        pitch: side.pitch,
        slice: side.slice,
    };
    let copy = Copy {
        to: place(request.to, to.memory),
        from: place(request.from, from.memory),
        width: request.width,
        height: request.height,
        depth: request.depth,
        copied: Copied { asynchronous: true, from: kind_of(from.kind), to: kind_of(to.kind) },
    };
    Ok(Some(Prepared { copy, to: to.kind, from: from.kind }))
}

/// A call that returns when the copy is done. Only copies within the device return earlier.
fn synchronous(request: &Request, default: Default) -> Result {
    let stream = default_stream(default)?;
    graphs::refuse_capture(stream)?;
    let Some(mut prepared) = prepare(request)? else { return Ok(()) };
    prepared.copy.copied.asynchronous = false;
    let within_device = !Prepared::is_host(prepared.to) && !Prepared::is_host(prepared.from);
    if within_device {
        enqueue(stream, Work::Copy(prepared.copy)).map(|_| ())
    } else {
        enqueue_and_wait(stream, Work::Copy(prepared.copy))
    }
}

/// A call of the `Async` family.
fn asynchronous(request: &Request, stream: StreamId) -> Result {
    let Some(mut prepared) = prepare(request)? else { return Ok(()) };
    if graphs::is_capturing(stream) {
        return enqueue(stream, Work::Copy(prepared.copy)).map(|_| ());
    }
    let total = request.width.saturating_mul(request.height).saturating_mul(request.depth);
    let device_to = !Prepared::is_host(prepared.to);
    match (prepared.from, prepared.to) {
        // From pageable memory: the call returns when the source may be used again.
        (None, _) if device_to && total <= STAGED => {
            prepared.copy.from = staged(request);
            enqueue(stream, Work::Copy(prepared.copy)).map(|_| ())
        }
        // From pageable memory, or into it: the call returns when it is done.
        (None, _) | (_, None) => enqueue_and_wait(stream, Work::Copy(prepared.copy)),
        _ => enqueue(stream, Work::Copy(prepared.copy)).map(|_| ()),
    }
}

/// The source's bytes as they are now.
fn staged(request: &Request) -> Place {
    let row = request.width as usize;
    let mut bytes = vec![0u8; row * request.height as usize * request.depth as usize];
    let starts = (0..request.depth).flat_map(|slice| {
        (0..request.height)
            .map(move |line| request.from.address + slice * request.from.slice + line * request.from.pitch)
    });
    for (start, into) in starts.zip(bytes.chunks_mut(row.max(1))) {
        // SAFETY: the program asked for this copy, and so vouches for its source.
        unsafe { host::read(start, into) };
    }
    Place {
        memory: Memory::Staged(Arc::new(bytes)),
        address: 0,
        pitch: request.width,
        slice: request.width * request.height,
    }
}

pub fn flat(to: ConstPointer, from: ConstPointer, bytes: usize, kind: c_int) -> Request {
    let bytes = bytes as u64;
    Request {
        to: Side::flat(to.addr() as u64, bytes),
        from: Side::flat(from.addr() as u64, bytes),
        width: bytes,
        height: 1,
        depth: 1,
        kind,
    }
}

fn rows(
    to: ConstPointer,
    to_pitch: usize,
    from: ConstPointer,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
) -> Request {
    let side = |pointer: ConstPointer, pitch: usize| Side {
        address: pointer.addr() as u64,
        pitch: pitch as u64,
        slice: (pitch as u64).saturating_mul(height as u64),
    };
    Request {
        to: side(to, to_pitch),
        from: side(from, from_pitch),
        width: width as u64,
        height: height as u64,
        depth: 1,
        kind,
    }
}

/// A three-dimensional copy; CUDA arrays are not provided.
pub fn solid(parameters: &Memcpy3DParms) -> Result<Request> {
    if !parameters.src_array.is_null() || !parameters.dst_array.is_null() {
        runtime().tell("copies to and from CUDA arrays are not provided by the software GPU");
        return Err(Status::NotSupported);
    }
    let side = |pointer: PitchedPtr, at: crate::layout::Pos| {
        let slice = pointer.pitch.saturating_mul(pointer.ysize);
        let offset = at.z.saturating_mul(slice).saturating_add(at.y.saturating_mul(pointer.pitch));
        Side {
            address: (pointer.ptr.addr() as u64).wrapping_add((offset.saturating_add(at.x)) as u64),
            pitch: pointer.pitch as u64,
            slice: slice as u64,
        }
    };
    Ok(Request {
        to: side(parameters.dst_ptr, parameters.dst_pos),
        from: side(parameters.src_ptr, parameters.src_pos),
        width: parameters.extent.width as u64,
        height: parameters.extent.height as u64,
        depth: parameters.extent.depth as u64,
        kind: parameters.kind,
    })
}

/// The part of a variable that a copy is about.
pub fn symbol(symbol: ConstPointer, offset: usize, bytes: usize) -> Result<ConstPointer> {
    let (address, size) = runtime().registrations.lock().variable(symbol)?;
    let end = offset.checked_add(bytes).ok_or(Status::InvalidValue)?;
    if end as u64 > size {
        return Err(Status::InvalidValue);
    }
    Ok(std::ptr::with_exposed_provenance((address + offset as u64) as usize))
}

fn to_symbol(
    to: ConstPointer,
    from: ConstPointer,
    bytes: usize,
    offset: usize,
    kind: c_int,
) -> Result<Request> {
    if !matches!(kind, HOST_TO_DEVICE | DEVICE_TO_DEVICE | BY_ADDRESS) {
        return Err(Status::InvalidMemcpyDirection);
    }
    Ok(flat(symbol(to, offset, bytes)?, from, bytes, kind))
}

fn from_symbol(
    to: ConstPointer,
    from: ConstPointer,
    bytes: usize,
    offset: usize,
    kind: c_int,
) -> Result<Request> {
    if !matches!(kind, DEVICE_TO_HOST | DEVICE_TO_DEVICE | BY_ADDRESS) {
        return Err(Status::InvalidMemcpyDirection);
    }
    Ok(flat(to, symbol(from, offset, bytes)?, bytes, kind))
}

/// A fill; `element` bytes of `value` are repeated.
pub fn fill(
    pointer: ConstPointer,
    pitch: usize,
    value: u32,
    element: u64,
    width: u64,
    height: u64,
) -> Result<Option<(Fill, bool)>> {
    if width == 0 || height == 0 {
        return Ok(None);
    }
    let address = pointer.addr() as u64;
    let bytes = (pitch as u64).saturating_mul(height.saturating_sub(1)).saturating_add(width);
    if height > 1 && (pitch as u64) < width {
        return Err(Status::InvalidPitchValue);
    }
    let found = classify(address, bytes)?;
    let kind = found.kind.ok_or(Status::InvalidValue)?;
    let pattern = value.to_le_bytes();
    let memory = found.memory;
    let pitch = pitch as u64;
    let fill = Fill { memory, address, pattern, element, width, height, pitch, waits: false };
    Ok(Some((fill, kind.is_host())))
}

fn set(
    pointer: ConstPointer,
    pitch: usize,
    value: c_int,
    width: u64,
    height: u64,
    stream: StreamId,
    waits: bool,
) -> Result {
    let Some((mut made, host)) = fill(pointer, pitch, value as u32 & 0xff, 1, width, height)? else {
        return Ok(());
    };
    if waits && host {
        made.waits = true;
        return enqueue_and_wait(stream, Work::Fill(made));
    }
    if waits {
        graphs::refuse_capture(stream)?;
    }
    enqueue(stream, Work::Fill(made)).map(|_| ())
}

fn set_solid(to: PitchedPtr, value: c_int, extent: Extent, stream: StreamId, waits: bool) -> Result {
    let slice = to.pitch.saturating_mul(to.ysize.max(extent.height));
    for at in 0..extent.depth {
        let start = to.ptr.cast::<u8>().wrapping_add(at * slice);
        set(start.cast(), to.pitch, value, extent.width as u64, extent.height as u64, stream, waits)?;
    }
    Ok(())
}

export_both! {
    fn cudaMemcpy / cudaMemcpy_ptds(to: Pointer, from: ConstPointer, bytes: usize, kind: c_int) [default] {
        synchronous(&flat(to, from, bytes, kind), default)
    }

    fn cudaMemcpyAsync / cudaMemcpyAsync_ptsz(
        to: Pointer, from: ConstPointer, bytes: usize, kind: c_int, stream: StreamHandle,
    ) [default] {
        asynchronous(&flat(to, from, bytes, kind), resolve(stream, default)?)
    }

    fn cudaMemcpyPeer / cudaMemcpyPeer_ptds(
        to: Pointer, _to_device: c_int, from: ConstPointer, _from_device: c_int, bytes: usize,
    ) [default] {
        synchronous(&flat(to, from, bytes, DEVICE_TO_DEVICE), default)
    }

    fn cudaMemcpyPeerAsync / cudaMemcpyPeerAsync_ptsz(
        to: Pointer, _to_device: c_int, from: ConstPointer, _from_device: c_int, bytes: usize,
        stream: StreamHandle,
    ) [default] {
        asynchronous(&flat(to, from, bytes, DEVICE_TO_DEVICE), resolve(stream, default)?)
    }

    fn cudaMemcpy2D / cudaMemcpy2D_ptds(
        to: Pointer, to_pitch: usize, from: ConstPointer, from_pitch: usize, width: usize, height: usize,
        kind: c_int,
    ) [default] {
        synchronous(&rows(to, to_pitch, from, from_pitch, width, height, kind), default)
    }

    fn cudaMemcpy2DAsync / cudaMemcpy2DAsync_ptsz(
        to: Pointer, to_pitch: usize, from: ConstPointer, from_pitch: usize, width: usize, height: usize,
        kind: c_int, stream: StreamHandle,
    ) [default] {
        let stream = resolve(stream, default)?;
        asynchronous(&rows(to, to_pitch, from, from_pitch, width, height, kind), stream)
    }

    fn cudaMemcpy3D / cudaMemcpy3D_ptds(parameters: *const Memcpy3DParms) [default] {
        synchronous(&solid(&read(parameters)?)?, default)
    }

    fn cudaMemcpy3DAsync / cudaMemcpy3DAsync_ptsz(
        parameters: *const Memcpy3DParms, stream: StreamHandle,
    ) [default] {
        asynchronous(&solid(&read(parameters)?)?, resolve(stream, default)?)
    }

    fn cudaMemcpyToSymbol / cudaMemcpyToSymbol_ptds(
        symbol: ConstPointer, from: ConstPointer, bytes: usize, offset: usize, kind: c_int,
    ) [default] {
        synchronous(&to_symbol(symbol, from, bytes, offset, kind)?, default)
    }

    fn cudaMemcpyFromSymbol / cudaMemcpyFromSymbol_ptds(
        to: Pointer, symbol: ConstPointer, bytes: usize, offset: usize, kind: c_int,
    ) [default] {
        synchronous(&from_symbol(to, symbol, bytes, offset, kind)?, default)
    }

    fn cudaMemcpyToSymbolAsync / cudaMemcpyToSymbolAsync_ptsz(
        symbol: ConstPointer, from: ConstPointer, bytes: usize, offset: usize, kind: c_int,
        stream: StreamHandle,
    ) [default] {
        asynchronous(&to_symbol(symbol, from, bytes, offset, kind)?, resolve(stream, default)?)
    }

    fn cudaMemcpyFromSymbolAsync / cudaMemcpyFromSymbolAsync_ptsz(
        to: Pointer, symbol: ConstPointer, bytes: usize, offset: usize, kind: c_int, stream: StreamHandle,
    ) [default] {
        asynchronous(&from_symbol(to, symbol, bytes, offset, kind)?, resolve(stream, default)?)
    }

    fn cudaMemset / cudaMemset_ptds(to: Pointer, value: c_int, bytes: usize) [default] {
        set(to, bytes, value, bytes as u64, 1, default_stream(default)?, true)
    }

    fn cudaMemsetAsync / cudaMemsetAsync_ptsz(
        to: Pointer, value: c_int, bytes: usize, stream: StreamHandle,
    ) [default] {
        set(to, bytes, value, bytes as u64, 1, resolve(stream, default)?, false)
    }

    fn cudaMemset2D / cudaMemset2D_ptds(
        to: Pointer, pitch: usize, value: c_int, width: usize, height: usize,
    ) [default] {
        set(to, pitch, value, width as u64, height as u64, default_stream(default)?, true)
    }

    fn cudaMemset2DAsync / cudaMemset2DAsync_ptsz(
        to: Pointer, pitch: usize, value: c_int, width: usize, height: usize, stream: StreamHandle,
    ) [default] {
        set(to, pitch, value, width as u64, height as u64, resolve(stream, default)?, false)
    }

    fn cudaMemset3D / cudaMemset3D_ptds(to: PitchedPtr, value: c_int, extent: Extent) [default] {
        set_solid(to, value, extent, default_stream(default)?, true)
    }

    fn cudaMemset3DAsync / cudaMemset3DAsync_ptsz(
        to: PitchedPtr, value: c_int, extent: Extent, stream: StreamHandle,
    ) [default] {
        set_solid(to, value, extent, resolve(stream, default)?, false)
    }

    fn cudaMemPrefetchAsync / cudaMemPrefetchAsync_ptsz(
        _pointer: ConstPointer, _bytes: usize, _place: u64, fourth: StreamHandle, fifth: StreamHandle,
    ) [default] {
        // The stream was the fourth parameter before CUDA 13.
        let stream = if crate::runtime::version() < 13_000 { fourth } else { fifth };
        enqueue(resolve(stream, default)?, Work::Order).map(|_| ())
    }

    fn cudaMemPrefetchAsync_v2 / cudaMemPrefetchAsync_v2_ptsz(
        _pointer: ConstPointer, _bytes: usize, _place: u64, _flags: u32, stream: StreamHandle,
    ) [default] {
        enqueue(resolve(stream, default)?, Work::Order).map(|_| ())
    }
}
