//! Copies and fills.

#![allow(unsafe_code, reason = "one side of a copy is the program's own memory")]

use crate::backend::Backend;
use crate::host;
use crate::operation::{Copy, Fill, Memory, Place, Work};
use crate::status::Status;

/// Bytes that are moved at once when both sides are the device's.
const PIECE: usize = 1 << 20;

/// Carries out an operation that moves bytes or frees memory.
pub(crate) fn carry_out(backend: &dyn Backend, work: &Work) -> Result<(), Status> {
    match work {
        Work::Copy(copy) => carry_out_copy(backend, copy),
        Work::Fill(fill) => carry_out_fill(backend, fill),
        Work::Free { address, site, stays: false } => backend.free(*address, *site),
        _ => Ok(()),
    }
}

fn carry_out_copy(backend: &dyn Backend, copy: &Copy) -> Result<(), Status> {
    // Whole slices, or the whole of it, when nothing lies between the rows.
    let (mut width, mut height, mut depth) = (copy.width, copy.height, copy.depth);
    let both = |by: fn(&Place) -> u64, value: u64| by(&copy.to) == value && by(&copy.from) == value;
    if both(|place| place.pitch, width) || height == 1 {
        width = width.checked_mul(height).ok_or(Status::InvalidValue)?;
        height = 1;
        if both(|place| place.slice, width) || depth == 1 {
            width = width.checked_mul(depth).ok_or(Status::InvalidValue)?;
            depth = 1;
        }
    }
    if width == 0 {
        return Ok(());
    }
    for slice in 0..depth {
        for row in 0..height {
            let at = |place: &Place| {
                place
                    .address
                    .wrapping_add(slice.wrapping_mul(place.slice))
                    .wrapping_add(row.wrapping_mul(place.pitch))
            };
            copy_row(backend, &copy.to.memory, at(&copy.to), &copy.from.memory, at(&copy.from), width)?;
        }
    }
    Ok(())
}

fn copy_row(
    backend: &dyn Backend,
    to: &Memory,
    to_address: u64,
    from: &Memory,
    from_address: u64,
    bytes: u64,
) -> Result<(), Status> {
    let length = usize::try_from(bytes).map_err(|_| Status::InvalidValue)?;
    match (to, from) {
        (Memory::Staged(_), _) => Err(Status::InvalidValue),
        (to, Memory::Staged(staged)) => {
            let start = usize::try_from(from_address).map_err(|_| Status::InvalidValue)?;
            let end = start.checked_add(length).ok_or(Status::InvalidValue)?;
            let staged = staged.get(start..end).ok_or(Status::InvalidValue)?;
            put(backend, to, to_address, staged)
        }
        // Ranges that overlap give the bytes that were there before, so a copy within the device goes as one.
        (Memory::Device, Memory::Device) if length <= PIECE => {
            let mut buffer = vec![0; length];
            backend.read(from_address, &mut buffer)?;
            backend.write(to_address, &buffer)
        }
        (to, from) => {
            let mut buffer = vec![0; length.min(PIECE)];
            let mut at = 0;
            while at < length {
                let piece = buffer.get_mut(..PIECE.min(length - at)).ok_or(Status::Unknown)?;
                get(backend, from, from_address + at as u64, piece)?;
                put(backend, to, to_address + at as u64, piece)?;
                at += piece.len();
            }
            Ok(())
        }
    }
}

fn get(backend: &dyn Backend, memory: &Memory, address: u64, into: &mut [u8]) -> Result<(), Status> {
    match memory {
        Memory::Device => backend.read(address, into),
        Memory::Host => {
            // SAFETY: the program asked for this copy, and so vouches for its source.
            unsafe { host::read(address, into) };
            Ok(())
        }
        Memory::Staged(_) => Err(Status::InvalidValue),
    }
}

fn put(backend: &dyn Backend, memory: &Memory, address: u64, from: &[u8]) -> Result<(), Status> {
    match memory {
        Memory::Device => backend.write(address, from),
        Memory::Host => {
            // SAFETY: the program asked for this copy, and so vouches for its destination.
            unsafe { host::write(address, from) };
            Ok(())
        }
        Memory::Staged(_) => Err(Status::InvalidValue),
    }
}

fn carry_out_fill(backend: &dyn Backend, fill: &Fill) -> Result<(), Status> {
    let pattern = fill.pattern.get(..fill.element as usize).ok_or(Status::InvalidValue)?;
    for row in 0..fill.height {
        let address = fill.address.wrapping_add(row.wrapping_mul(fill.pitch));
        match &fill.memory {
            Memory::Device => backend.fill(address, pattern, fill.width)?,
            Memory::Host => {
                let length = usize::try_from(fill.width).map_err(|_| Status::InvalidValue)?;
                let piece: Vec<u8> = pattern.iter().copied().cycle().take(length).collect();
                // SAFETY: the program asked for this fill, and so vouches for its destination.
                unsafe { host::write(address, &piece) };
            }
            Memory::Staged(_) => return Err(Status::InvalidValue),
        }
    }
    Ok(())
}
