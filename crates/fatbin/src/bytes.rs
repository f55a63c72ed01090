//! Little-endian numbers at checked places.

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// The part of `bytes` from `at` that is `len` long, when it is all there.
pub(crate) fn slice_at(bytes: &[u8], at: usize, len: u64) -> Option<&[u8]> {
    bytes.get(at..at.checked_add(usize::try_from(len).ok()?)?)
}
