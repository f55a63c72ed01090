//! Decompressing one image within bounds.

use std::borrow::Cow;
use std::io::Read;

use ruzstd::decoding::StreamingDecoder;

use crate::error::ProblemKind;
use crate::{Compression, Limits};

/// The most that one byte of an LZ4 block can give: a length byte of 255 adds 255 bytes to a match.
const LZ4_MAX_RATIO: u64 = 255;

/// The most that one byte of a Zstandard frame can give: a run-length block takes 4 bytes and gives at most
/// 128 KiB (RFC 8878, 3.1.1.2).
const ZSTD_MAX_RATIO: u64 = 32 << 10;

/// Windows above this are refused, whatever a frame asks for; NVIDIA's tools stay far below.
const ZSTD_MAX_WINDOW: u64 = 128 << 20;

/// The bytes of an image that is stored as `stored` and declares `declared` bytes after decompression.
/// Takes the size from `budget`.
pub(crate) fn decompress<'data>(
    stored: &'data [u8],
    compression: Compression,
    declared: u64,
    limits: &Limits,
    budget: &mut u64,
) -> Result<Cow<'data, [u8]>, ProblemKind> {
    let max_ratio = match compression {
        Compression::None => return Ok(Cow::Borrowed(stored)),
        Compression::Lz4 => LZ4_MAX_RATIO,
        Compression::Zstd => ZSTD_MAX_RATIO,
    };
    let possible = (stored.len() as u64).saturating_mul(max_ratio);
    let limit = limits.image_bytes.min(*budget).min(possible);
    if declared > limit {
        return Err(ProblemKind::TooLarge { declared, limit });
    }
    *budget -= declared;
    // `declared` is at most the limit, so this only fails on hosts whose addresses are too short for it.
    let Ok(size) = usize::try_from(declared) else {
        return Err(ProblemKind::TooLarge { declared, limit: usize::MAX as u64 });
    };
    match compression {
        Compression::None => Ok(Cow::Borrowed(stored)),
        Compression::Lz4 => lz4_block(stored, size).map(Cow::Owned),
        Compression::Zstd => zstd_frame(stored, size).map(Cow::Owned),
    }
}

fn lz4_block(stored: &[u8], size: usize) -> Result<Vec<u8>, ProblemKind> {
    let bytes =
        lz4_flex::block::decompress(stored, size).map_err(|e| ProblemKind::Decompress(e.to_string()))?;
    exact(bytes, size)
}

fn zstd_frame(stored: &[u8], size: usize) -> Result<Vec<u8>, ProblemKind> {
    // A window larger than the content is never needed, but may be named; every decoder should take 8 MiB
    // (RFC 8878, 3.1.1.1.2).
    let max_window = (size as u64).saturating_mul(2).clamp(8 << 20, ZSTD_MAX_WINDOW);
    let decoder = StreamingDecoder::new_with_max_window_size(stored, max_window)
        .map_err(|e| ProblemKind::Decompress(e.to_string()))?;
    let mut bytes = Vec::new();
    decoder
        .take(size as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| ProblemKind::Decompress(e.to_string()))?;
    exact(bytes, size)
}

fn exact(bytes: Vec<u8>, size: usize) -> Result<Vec<u8>, ProblemKind> {
    if bytes.len() == size {
        Ok(bytes)
    } else {
        Err(ProblemKind::LengthMismatch { declared: size as u64, found: bytes.len() as u64 })
    }
}

/// PTX text without the zero bytes that compilers put behind it.
pub(crate) fn trim_padding(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., 0] = text {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::decompress;
    use crate::error::ProblemKind;
    use crate::{Compression, Limits};

    #[track_caller]
    fn check(
        stored: &[u8],
        compression: Compression,
        declared: u64,
        limits: Limits,
        expected: Result<&[u8], &ProblemKind>,
    ) {
        let mut budget = limits.total_bytes;
        let found = decompress(stored, compression, declared, &limits, &mut budget);
        match (&found, expected) {
            (Ok(bytes), Ok(expected)) => assert_eq!(&bytes[..], expected),
            (Err(error), Err(expected)) => assert_eq!(error, expected),
            _ => panic!("found {found:?}, expected {expected:?}"),
        }
    }

    /// A Zstandard frame of one run-length block: `length` times the byte `b'x'`.
    fn zstd_run(length: u32) -> Vec<u8> {
        let mut frame = b"\x28\xb5\x2f\xfd\x00\x58".to_vec();
        let block = (length << 3) | 0b011;
        frame.extend_from_slice(&block.to_le_bytes()[..3]);
        frame.push(b'x');
        frame
    }

    /// An LZ4 block: `b'x'` and a match of it, then a last literal; 1 + `length` + 1 bytes.
    fn lz4_run(length: usize) -> Vec<u8> {
        let mut block = vec![0x1f, b'x', 1, 0];
        let mut rest = length - 19;
        while rest >= 255 {
            block.push(255);
            rest -= 255;
        }
        block.push(rest as u8);
        block.extend([0x10, b'y']);
        block
    }

    #[test]
    fn exact_sizes() {
        let limits = Limits::default();
        check(b"abc", Compression::None, 0, limits, Ok(b"abc"));
        check(&zstd_run(1000), Compression::Zstd, 1000, limits, Ok(&[b'x'; 1000]));
        let mut expected = vec![b'x'; 1001];
        expected.push(b'y');
        check(&lz4_run(1000), Compression::Lz4, 1002, limits, Ok(&expected));
    }

    #[test]
    fn other_sizes_than_declared() {
        let limits = Limits::default();
        let mismatch = |declared, found| ProblemKind::LengthMismatch { declared, found };
        check(&zstd_run(1000), Compression::Zstd, 999, limits, Err(&mismatch(999, 1000)));
        check(&zstd_run(1000), Compression::Zstd, 10, limits, Err(&mismatch(10, 11)));
        check(&zstd_run(1000), Compression::Zstd, 1001, limits, Err(&mismatch(1001, 1000)));
        check(&lz4_run(1000), Compression::Lz4, 1003, limits, Err(&mismatch(1003, 1002)));
    }

    #[test]
    fn refused_before_anything_is_reserved() {
        let limits = Limits { image_bytes: 5000, total_bytes: 2000, problems: 10 };
        let frame = zstd_run(1000);
        let refused = |declared, limit| ProblemKind::TooLarge { declared, limit };
        check(&frame, Compression::Zstd, 6000, limits, Err(&refused(6000, 2000)));
        check(&frame, Compression::Zstd, 3000, limits, Err(&refused(3000, 2000)));
        let block = lz4_run(100);
        let possible = block.len() as u64 * 255;
        check(&block, Compression::Lz4, u64::MAX, Limits::default(), Err(&refused(u64::MAX, possible)));
    }
}
