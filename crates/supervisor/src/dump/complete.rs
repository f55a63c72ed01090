//! Whether a dump is whole.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Whether `path` is an ELF file whose section table, and every section that it names, lie inside the file.
pub(super) fn is_complete(path: &Path) -> bool {
    fn checked(path: &Path) -> Option<bool> {
        let file = File::open(path).ok()?;
        let length = file.metadata().ok()?.len();
        let mut header = [0u8; 64];
        file.read_exact_at(&mut header, 0).ok()?;
        if header.get(..5)? != b"\x7fELF\x02" {
            return Some(false);
        }
        let table = u64::from_le_bytes(header.get(40..48)?.try_into().ok()?);
        let size = u64::from(u16::from_le_bytes(header.get(58..60)?.try_into().ok()?));
        let mut count = u64::from(u16::from_le_bytes(header.get(60..62)?.try_into().ok()?));
        if table == 0 || size < 64 {
            return Some(false);
        }
        let mut section = [0u8; 64];
        if count == 0 {
            // The number did not fit; it stands in the first section.
            file.read_exact_at(&mut section, table).ok()?;
            count = u64::from_le_bytes(section.get(32..40)?.try_into().ok()?);
        }
        if table.checked_add(size.checked_mul(count)?)? > length {
            return Some(false);
        }
        const NO_BITS: u32 = 8;
        for index in 0..count {
            file.read_exact_at(&mut section, table + index * size).ok()?;
            let kind = u32::from_le_bytes(section.get(4..8)?.try_into().ok()?);
            let offset = u64::from_le_bytes(section.get(24..32)?.try_into().ok()?);
            let bytes = u64::from_le_bytes(section.get(32..40)?.try_into().ok()?);
            if index > 0 && kind != NO_BITS && offset.checked_add(bytes)? > length {
                return Some(false);
            }
        }
        Some(true)
    }
    checked(path).unwrap_or(false)
}
