//! The fatbin container: a header, then images, each with a header of its own.
//!
//! The layout of the container header is public (`fatbinary_section.h` in the CUDA toolkit gives the wrapper
//! and the magic). All numbers are little-endian.
//!
//! | container | | image | |
//! |---|---|---|---|
//! | 0 | magic | 0 | kind (u16) |
//! | 4 | version (u16) | 4 | header size (u32) |
//! | 6 | header size (u16) | 8 | payload size (u64) |
//! | 8 | size of all images (u64) | 16 | compressed size (u32) |
//! | | | 20 | offset of the options' descriptor (u32) |
//! | | | 28 | architecture (u32) |
//! | | | 32 | offset of the source name (u32), 36 its length |
//! | | | 40 | flags (u64) |
//! | | | 56 | size after decompression (u64) |
//!
//! `nvcc -concat` writes images of kind 256: several images compressed as one. After the image header come
//! their number (u32), the size of this table (u32) and one image header for each, with its name and options,
//! where the field at 4 is the place in the decompressed bytes instead.

use std::borrow::Cow;

use crate::bytes::{slice_at, u16_at, u32_at, u64_at};
use crate::error::ProblemKind;
use crate::payload::{decompress, trim_padding};
use crate::{Arch, ArchVariant, Compression, Image, ImageData, Reader, cubin};

/// The first four bytes of a container, as a little-endian number.
pub(crate) const MAGIC: u32 = 0xBA55_ED50;

const CONTAINER_HEADER: usize = 16;
const IMAGE_HEADER: usize = 64;
/// Image headers hold names and options; anything longer is damage.
const MAX_IMAGE_HEADER: usize = 1 << 20;

const KIND_PTX: u16 = 1;
const KIND_ELF: u16 = 2;
const KIND_LTO_IR: u16 = 8;
const KIND_CONCATENATED: u16 = 256;

const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
const FLAG_ARCH_SPECIFIC: u64 = 0x10_0000;
const FLAG_FAMILY_SPECIFIC: u64 = 0x20_0000;

/// Whether the magic at `at` begins a container, and is not the same number in other data. Both headers are
/// looked at as far as they are there.
pub(crate) fn is_plausible(bytes: &[u8], at: usize) -> bool {
    let Some(rest) = bytes.get(at..) else { return false };
    let header = u16_at(rest, 6).map(usize::from);
    match (u16_at(rest, 4), header, u64_at(rest, 8)) {
        (Some(version), Some(header), Some(size)) => {
            version == 1
                && (CONTAINER_HEADER..=4096).contains(&header)
                && size < 1 << 40
                && (size == 0
                    || match (u16_at(rest, header), u32_at(rest, header + 4)) {
                        (Some(kind), Some(image_header)) => {
                            kind <= 1024
                                && (IMAGE_HEADER..=MAX_IMAGE_HEADER).contains(&(image_header as usize))
                        }
                        _ => true,
                    })
        }
        _ => rest.len() < CONTAINER_HEADER,
    }
}

/// The fields of one image header.
struct ImageHeader {
    kind: u16,
    /// The header's size; in a concatenated image's table, the place in the decompressed bytes.
    header_or_place: u32,
    payload: u64,
    compressed: u32,
    options_at: u32,
    arch: Arch,
    name_at: u32,
    name_length: u32,
    compression: Compression,
    uncompressed: u64,
}

impl ImageHeader {
    /// The header at `at`; `None` when not all of its 64 bytes are there.
    fn read(bytes: &[u8], at: usize) -> Option<ImageHeader> {
        let h = slice_at(bytes, at, IMAGE_HEADER as u64)?;
        let flags = u64_at(h, 40)?;
        let variant = if flags & FLAG_ARCH_SPECIFIC != 0 {
            ArchVariant::Specific
        } else if flags & FLAG_FAMILY_SPECIFIC != 0 {
            ArchVariant::Family
        } else {
            ArchVariant::Portable
        };
        let compression = if flags & FLAG_ZSTD != 0 {
            Compression::Zstd
        } else if flags & FLAG_LZ4 != 0 {
            Compression::Lz4
        } else {
            Compression::None
        };
        Some(ImageHeader {
            kind: u16_at(h, 0)?,
            header_or_place: u32_at(h, 4)?,
            payload: u64_at(h, 8)?,
            compressed: u32_at(h, 16)?,
            options_at: u32_at(h, 20)?,
            arch: Arch { number: u32_at(h, 28)?, variant },
            name_at: u32_at(h, 32)?,
            name_length: u32_at(h, 36)?,
            compression,
            uncompressed: u64_at(h, 56)?,
        })
    }

    /// The size of the header with its name and options, for headers in a concatenated image's table: each
    /// text ends with a zero byte, and the whole is a multiple of 8.
    fn own_size(&self, header: &[u8]) -> usize {
        let end = |at: u32, length: u32| {
            let end = at as usize + length as usize;
            if at as usize >= IMAGE_HEADER { (end + 8) / 8 * 8 } else { IMAGE_HEADER }
        };
        let options = self.options_at as usize;
        let options_end = match (u32_at(header, options), u32_at(header, options.saturating_add(4))) {
            (Some(at), Some(length)) if options >= IMAGE_HEADER => end(at, length),
            _ => IMAGE_HEADER,
        };
        let name_end = if self.name_length == 0 { IMAGE_HEADER } else { end(self.name_at, self.name_length) };
        options_end.max(name_end)
    }

    /// The source file's name, kept in the bytes of the header.
    fn source_name(&self, header: &[u8]) -> Option<String> {
        text(header, self.name_at, self.name_length)
    }

    /// The recorded options: the descriptor holds their place and length, counted from the header's start.
    /// For PTX it is text; for a cubin it is a table of what the code needs from the card, which nothing here
    /// uses.
    fn options(&self, header: &[u8]) -> Option<String> {
        if self.kind != KIND_PTX && self.kind != KIND_LTO_IR {
            return None;
        }
        let at = usize::try_from(self.options_at).ok()?;
        if at < IMAGE_HEADER {
            return None;
        }
        text(header, u32_at(header, at)?, u32_at(header, at.checked_add(4)?)?)
    }
}

fn text(header: &[u8], at: u32, length: u32) -> Option<String> {
    let at = usize::try_from(at).ok()?;
    if at < IMAGE_HEADER || length == 0 {
        return None;
    }
    let text = String::from_utf8_lossy(slice_at(header, at, u64::from(length))?);
    let text = text.trim_end_matches('\0').trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Reads the container at `start`. It may reach up to `end`, the end of its section or of the file; `base` is
/// where `bytes` stand in the whole input. Returns where reading stopped: always behind `start`.
pub(crate) fn read<'data>(
    reader: &mut Reader<'data>,
    bytes: &'data [u8],
    start: usize,
    end: usize,
    base: u64,
) -> usize {
    let at = |position: usize| base + position as u64;
    let end = end.min(bytes.len());
    let (Some(header), Some(size)) = (u16_at(bytes, start + 6), u64_at(bytes, start + 8)) else {
        reader.problem(at(start), ProblemKind::HeaderCutShort);
        return bytes.len();
    };
    let first = start + usize::from(header);
    let available = end.saturating_sub(first) as u64;
    if size > available {
        let kind = ProblemKind::ContainerCutShort { declared: size, missing: size - available };
        reader.problem(at(end), kind);
    }
    // No more than `available`, which is a difference of places in the slice.
    let images_end = first.saturating_add(size.min(available) as usize).min(bytes.len());
    let images = bytes.get(..images_end).unwrap_or_default();
    let mut position = first;
    while position < images_end && !reader.is_full() {
        if images.get(position..).is_some_and(|rest| rest.len() < 8 && rest.iter().all(|byte| *byte == 0)) {
            break;
        }
        match read_image(reader, images, position, base) {
            Some(next) => position = next,
            None => return position.max(start + 4),
        }
    }
    images_end.max(start + 4)
}

/// Reads the image whose header is at `position` and returns where the next one begins; `None` when that
/// cannot be known.
fn read_image<'data>(
    reader: &mut Reader<'data>,
    images: &'data [u8],
    position: usize,
    base: u64,
) -> Option<usize> {
    let offset = base + position as u64;
    let Some(header) = ImageHeader::read(images, position) else {
        reader.problem(offset, ProblemKind::HeaderCutShort);
        return None;
    };
    let header_size = usize::try_from(header.header_or_place).unwrap_or(usize::MAX);
    if !(IMAGE_HEADER..=MAX_IMAGE_HEADER).contains(&header_size) {
        reader.problem(offset, ProblemKind::BadHeader("its size makes no sense"));
        return None;
    }
    let payload_at = position + header_size;
    let (Some(header_bytes), Some(payload)) =
        (images.get(position..payload_at), slice_at(images, payload_at, header.payload))
    else {
        let available = images.len().saturating_sub(payload_at) as u64;
        reader.problem(offset, ProblemKind::ImageCutShort { declared: header.payload, available });
        return None;
    };
    if let Err(kind) = add_image(reader, &header, header_bytes, payload, offset) {
        reader.problem(offset, kind);
    }
    Some(payload_at + payload.len())
}

fn add_image<'data>(
    reader: &mut Reader<'data>,
    header: &ImageHeader,
    header_bytes: &'data [u8],
    payload: &'data [u8],
    offset: u64,
) -> Result<(), ProblemKind> {
    if !matches!(header.kind, KIND_PTX | KIND_ELF | KIND_CONCATENATED) {
        let data = if header.kind == KIND_LTO_IR { ImageData::LtoIr } else { ImageData::Other(header.kind) };
        reader.images.push(image(reader, header, header_bytes, offset, header.compression, data));
        return Ok(());
    }
    let stored = match header.compression {
        Compression::None => payload,
        _ => slice_at(payload, 0, u64::from(header.compressed))
            .ok_or(ProblemKind::BadHeader("the compressed size is larger than the image"))?,
    };
    let limits = reader.limits;
    let bytes = decompress(stored, header.compression, header.uncompressed, &limits, &mut reader.budget)?;
    if header.kind == KIND_CONCATENATED {
        return add_concatenated(reader, header, header_bytes, &bytes, offset);
    }
    let data = match (header.kind, bytes) {
        (KIND_PTX, Cow::Borrowed(text)) => ImageData::Ptx(Cow::Borrowed(trim_padding(text))),
        (KIND_PTX, Cow::Owned(text)) => ImageData::Ptx(Cow::Owned(owned_text(text))),
        (_, bytes) => ImageData::Cubin(cubin::read(&bytes)?),
    };
    reader.images.push(image(reader, header, header_bytes, offset, header.compression, data));
    Ok(())
}

fn owned_text(mut text: Vec<u8>) -> Vec<u8> {
    text.truncate(trim_padding(&text).len());
    text
}

/// Adds the images that were compressed as one.
fn add_concatenated(
    reader: &mut Reader<'_>,
    outer: &ImageHeader,
    header_bytes: &[u8],
    bytes: &[u8],
    offset: u64,
) -> Result<(), ProblemKind> {
    let count = u32_at(header_bytes, IMAGE_HEADER)
        .ok_or(ProblemKind::BadHeader("the table of a concatenated image is missing"))?;
    let mut seen = 0u64;
    let mut position = IMAGE_HEADER + 8;
    // The table lies in the header, whose size is bounded, so a wrong count ends here soon.
    for _ in 0..count {
        let at = position;
        let inner = ImageHeader::read(header_bytes, at)
            .ok_or(ProblemKind::BadHeader("the table of a concatenated image is cut short"))?;
        let inner_bytes = header_bytes.get(at..).unwrap_or_default();
        position = at.saturating_add(inner.own_size(inner_bytes));
        let place = usize::try_from(inner.header_or_place).unwrap_or(usize::MAX);
        let Some(part) = slice_at(bytes, place, inner.payload) else {
            let available = bytes.len().saturating_sub(place) as u64;
            let kind = ProblemKind::ImageCutShort { declared: inner.payload, available };
            reader.problem(offset + at as u64, kind);
            continue;
        };
        // Parts that overlap would multiply the decompressed bytes.
        seen = seen.saturating_add(inner.payload);
        if seen > bytes.len() as u64 {
            return Err(ProblemKind::BadHeader("the parts of a concatenated image overlap"));
        }
        let data = match inner.kind {
            KIND_PTX => ImageData::Ptx(Cow::Owned(trim_padding(part).to_vec())),
            KIND_ELF => match cubin::read(part) {
                Ok(cubin) => ImageData::Cubin(cubin),
                Err(kind) => {
                    reader.problem(offset + at as u64, kind);
                    continue;
                }
            },
            KIND_LTO_IR => ImageData::LtoIr,
            other => ImageData::Other(other),
        };
        let at = offset + at as u64;
        reader.images.push(image(reader, &inner, inner_bytes, at, outer.compression, data));
    }
    Ok(())
}

fn image<'data>(
    reader: &Reader<'data>,
    header: &ImageHeader,
    header_bytes: &[u8],
    offset: u64,
    compression: Compression,
    data: ImageData<'data>,
) -> Image<'data> {
    Image {
        data,
        arch: Some(header.arch),
        compression,
        offset,
        member: reader.member.clone(),
        source_name: header.source_name(header_bytes),
        options: header.options(header_bytes),
    }
}
