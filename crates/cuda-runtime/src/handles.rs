//! Handles that programs hold: numbers that are no addresses, with their kind in them.

use std::ffi::c_void;

use standstill_cuda_driver::Status;

use crate::call::Result;

/// Where handles begin: in no program's memory.
const BASE: u64 = 0x5373_0000_0000_0000;
const KIND_BITS: u32 = 4;

/// What a handle stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Kind {
    Stream = 1,
    Event = 2,
    Graph = 3,
    Node = 4,
    Exec = 5,
    Pool = 6,
}

/// The handle of a thing with this number.
pub fn encode(kind: Kind, number: u64) -> *mut c_void {
    std::ptr::without_provenance_mut((BASE | (number << KIND_BITS) | kind as u64) as usize)
}

/// The number behind a handle.
///
/// # Errors
/// When it is no handle of this kind.
pub fn decode(kind: Kind, handle: *mut c_void) -> Result<u64> {
    let value = handle.addr() as u64;
    let number = (value ^ BASE) >> KIND_BITS;
    let same = value >> 48 == BASE >> 48 && value & ((1 << KIND_BITS) - 1) == kind as u64;
    if same { Ok(number) } else { Err(Status::InvalidResourceHandle) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_good_for_its_own_kind() {
        let handle = encode(Kind::Event, 77);
        assert_eq!(decode(Kind::Event, handle), Ok(77));
        assert_eq!(decode(Kind::Stream, handle), Err(Status::InvalidResourceHandle));
        assert!(decode(Kind::Event, std::ptr::null_mut()).is_err());
    }
}
