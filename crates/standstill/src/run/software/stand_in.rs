//! A shared library that holds nothing but a name, a symbol version and the need for another library.
//!
//! Programs that were linked with NVIDIA's shared runtime ask for its symbols under the version `libcudart.so.13`
//! (or 12) of the library of that name. The loader looks for the version in that library, and for the symbols
//! everywhere (System V ABI, «Dynamic Linking»; «ELF Symbol Versioning», Solaris and GNU). So one runtime serves
//! all versions.

/// Sizes and numbers of the ELF format.
const HEADER: u64 = 64;
const SEGMENT: u64 = 56;
const SYMBOL: u64 = 24;
const SEGMENTS: u64 = 2;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;

const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
const DT_SYMENT: u64 = 11;
const DT_SONAME: u64 = 14;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_VERDEF: u64 = 0x6fff_fffc;
const DT_VERDEFNUM: u64 = 0x6fff_fffd;

const MACHINE: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };

/// The library's bytes: it is called `name`, defines the version `name`, and needs `needed`.
pub(super) fn stand_in(name: &str, needed: &str) -> Vec<u8> {
    let mut strings = vec![0u8];
    let mut text = |text: &str| {
        let at = strings.len() as u64;
        strings.extend(text.as_bytes());
        strings.push(0);
        at
    };
    let (name_at, needed_at) = (text(name), text(needed));
    strings.resize(strings.len().next_multiple_of(8), 0);

    let string_table = HEADER + SEGMENT * SEGMENTS;
    let symbols = string_table + strings.len() as u64;
    // Only the null symbol, so one chain and one bucket that are empty.
    let hash = symbols + SYMBOL;
    let version_of_symbols = hash + 16;
    let versions = version_of_symbols + 8;
    let definition = version_definition(name, name_at);
    let dynamic = (versions + definition.len() as u64).next_multiple_of(8);
    let entries = [
        (DT_NEEDED, needed_at),
        (DT_SONAME, name_at),
        (DT_STRTAB, string_table),
        (DT_STRSZ, strings.len() as u64),
        (DT_SYMTAB, symbols),
        (DT_SYMENT, SYMBOL),
        (DT_HASH, hash),
        (DT_VERSYM, version_of_symbols),
        (DT_VERDEF, versions),
        (DT_VERDEFNUM, 1),
        (DT_NULL, 0),
    ];
    let dynamic_bytes = entries.len() as u64 * 16;
    let end = dynamic + dynamic_bytes;

    let mut file = Bytes::default();
    file.raw(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    file.half(3).half(MACHINE).word(1).long(0).long(HEADER).long(0).word(0);
    file.half(HEADER as u16).half(SEGMENT as u16).half(SEGMENTS as u16).half(64).half(0).half(0);
    // The loader writes into the dynamic section, so the whole is writable.
    file.segment(PT_LOAD, 0, end).segment(PT_DYNAMIC, dynamic, dynamic_bytes);
    file.raw(&strings);
    file.raw(&[0; SYMBOL as usize]);
    file.word(1).word(1).word(0).word(0);
    file.long(0);
    file.raw(&definition);
    file.0.resize(dynamic as usize, 0);
    for (tag, value) in entries {
        file.long(tag).long(value);
    }
    file.0
}

/// One version, which is also the base version of the library.
fn version_definition(name: &str, name_at: u64) -> Vec<u8> {
    let mut bytes = Bytes::default();
    // Version 1 of the format, no flags, index 2, one name, its hash, where the name is, and no further version.
    bytes.half(1).half(0).half(2).half(1).word(hash_of(name)).word(20).word(0);
    bytes.word(name_at as u32).word(0);
    bytes.0
}

/// The hash of the System V ABI.
fn hash_of(name: &str) -> u32 {
    name.bytes().fold(0u32, |hash, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(byte));
        let high = hash & 0xf000_0000;
        (hash ^ (high >> 24)) & !high
    })
}

#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn raw(&mut self, bytes: &[u8]) -> &mut Bytes {
        self.0.extend_from_slice(bytes);
        self
    }

    fn half(&mut self, value: u16) -> &mut Bytes {
        self.raw(&value.to_le_bytes())
    }

    fn word(&mut self, value: u32) -> &mut Bytes {
        self.raw(&value.to_le_bytes())
    }

    fn long(&mut self, value: u64) -> &mut Bytes {
        self.raw(&value.to_le_bytes())
    }

    /// A readable and writable segment whose place in the file is its address.
    fn segment(&mut self, kind: u32, at: u64, bytes: u64) -> &mut Bytes {
        self.word(kind).word(6).long(at).long(at).long(at).long(bytes).long(bytes);
        self.long(if kind == PT_LOAD { 0x1_0000 } else { 8 })
    }
}

#[cfg(test)]
mod tests {
    use object::Object;
    use object::read::elf::{ElfFile64, FileHeader};

    use super::*;

    #[test]
    fn the_library_has_its_name_its_version_and_its_need() {
        let bytes = stand_in("libcudart.so.13", "libother.so");
        let file: ElfFile64<'_, object::Endianness> = ElfFile64::parse(&*bytes).unwrap();
        assert!(file.is_little_endian());
        // The example of the generic ABI's text.
        assert_eq!(hash_of("printf"), 0x077905a6);
        let header = file.elf_header();
        let segments = header.program_headers(object::Endianness::Little, &*bytes).unwrap();
        assert_eq!(segments.len(), 2);
    }
}
