//! What kind of file some bytes are.

use crate::bytes::{u16_at, u32_at};
use crate::container;

/// The ELF machine number of CUDA device code.
const EM_CUDA: u16 = 190;

/// What kind of file some bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// PTX text.
    Ptx,
    /// A host executable, shared object or object file.
    Elf,
    /// A host executable, library or object of Windows.
    Pe,
    /// A fatbin on its own, as `nvcc -fatbin` writes it.
    Fatbin,
    /// Device machine code, as `nvcc -cubin` writes it.
    Cubin,
    /// A static archive, `.a`.
    Archive,
    /// Something else.
    Unknown,
}

/// Tells the kind of file from its first bytes; `bytes` should be the whole file or its beginning.
#[must_use]
pub fn sniff(bytes: &[u8]) -> FileKind {
    if bytes.starts_with(b"\x7fELF") {
        return if u16_at(bytes, 18) == Some(EM_CUDA) { FileKind::Cubin } else { FileKind::Elf };
    }
    if u32_at(bytes, 0) == Some(container::MAGIC) {
        return FileKind::Fatbin;
    }
    if bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n") {
        return FileKind::Archive;
    }
    if bytes.starts_with(b"MZ") {
        return FileKind::Pe;
    }
    if skip_comments(bytes).starts_with(b".version") { FileKind::Ptx } else { FileKind::Unknown }
}

/// What follows the byte order mark, white space and comments at the start of `text`. The first directive
/// of a PTX module must be `.version` (PTX ISA, "PTX Module Directives").
fn skip_comments(text: &[u8]) -> &[u8] {
    let mut rest = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    loop {
        rest = rest.trim_ascii_start();
        if let Some(comment) = rest.strip_prefix(b"//") {
            match memchr::memchr(b'\n', comment) {
                Some(end) => rest = comment.get(end..).unwrap_or_default(),
                None => return &[],
            }
        } else if let Some(comment) = rest.strip_prefix(b"/*") {
            match memchr::memmem::find(comment, b"*/") {
                Some(end) => rest = comment.get(end + 2..).unwrap_or_default(),
                None => return &[],
            }
        } else {
            return rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FileKind, sniff};

    #[track_caller]
    fn check(bytes: &[u8], expected: FileKind) {
        assert_eq!(sniff(bytes), expected);
    }

    #[test]
    fn kinds_by_first_bytes() {
        check(b"", FileKind::Unknown);
        check(b"hello", FileKind::Unknown);
        check(b"\n\n// a\n/* b\n*/\n.version 9.0\n", FileKind::Ptx);
        check(b"\xef\xbb\xbf.version 9.0", FileKind::Ptx);
        check(b"// .version 9.0", FileKind::Unknown);
        check(b"/* .version 9.0", FileKind::Unknown);
        check(b"/*/ .version 9.0", FileKind::Unknown);
        check(b"\x7fELF", FileKind::Elf);
        check(b"\x7fELF\x02\x01\x01\x33\x07\0\0\0\0\0\0\0\x02\0\xbe\0", FileKind::Cubin);
        check(b"\x50\xed\x55\xba", FileKind::Fatbin);
        check(b"!<arch>\n", FileKind::Archive);
        check(b"MZ", FileKind::Pe);
    }
}
