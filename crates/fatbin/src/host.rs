//! Containers inside host files: object formats and static archives.

use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};

use crate::Reader;
use crate::container;
use crate::error::{ProblemKind, ReadError};
use crate::sniff::{FileKind, sniff};

/// Sections that hold containers: linked device code, and relocatable device code (`-rdc=true`); each also as
/// Windows' object format cuts the names.
const SECTIONS: [&str; 4] = [".nv_fatbin", "__nv_relfatbin", ".nv_fatb", "__nv_rel"];

/// Reads all containers of an executable, shared object or object file. Containers outside the usual
/// sections (stripped files, files with a cut section table, fatbins in a constant) are found by their magic.
pub(crate) fn read_object<'data>(reader: &mut Reader<'data>, bytes: &'data [u8], base: u64) {
    let mut expected = Vec::new();
    if let Ok(file) = object::File::parse(bytes) {
        for section in file.sections() {
            if section.name().is_ok_and(|name| SECTIONS.contains(&name))
                && let Some((start, size)) = section.file_range()
                && let (Ok(start), Ok(end)) =
                    (usize::try_from(start), usize::try_from(start.saturating_add(size)))
            {
                expected.push(start..end);
            }
        }
    }
    scan(reader, bytes, base, &expected);
}

/// Reads every container whose magic stands in `bytes`. In the `expected` ranges a magic that begins nothing
/// readable is a problem; elsewhere it is taken for other data.
pub(crate) fn scan<'data>(
    reader: &mut Reader<'data>,
    bytes: &'data [u8],
    base: u64,
    expected: &[Range<usize>],
) {
    let magic = container::MAGIC.to_le_bytes();
    let finder = memmem::Finder::new(&magic);
    let mut position = 0;
    while let Some(found) = bytes.get(position..).and_then(|rest| finder.find(rest)) {
        if reader.is_full() {
            return;
        }
        let start = position + found;
        let section = expected.iter().find(|range| range.contains(&start));
        position = if container::is_plausible(bytes, start) {
            container::read(reader, bytes, start, section.map_or(bytes.len(), |range| range.end), base)
        } else {
            if section.is_some() {
                reader.problem(base + start as u64, ProblemKind::NotAContainer);
            }
            start + magic.len()
        };
    }
}

/// Reads every member of a static archive.
pub(crate) fn read_archive<'data>(reader: &mut Reader<'data>, bytes: &'data [u8]) -> Result<(), ReadError> {
    let archive = ArchiveFile::parse(bytes).map_err(|e| ReadError::Archive(e.to_string()))?;
    // Where the last good member ended, to name a place for damage in the next member's header.
    let mut last_end = 8u64;
    for member in archive.members() {
        if reader.is_full() {
            break;
        }
        let member = match member {
            Ok(member) => member,
            Err(error) => {
                reader.problem(last_end, ProblemKind::ArchiveMember(error.to_string()));
                break;
            }
        };
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let (start, size) = member.file_range();
        if archive.is_thin() {
            reader.problem(last_end, ProblemKind::ThinMember(name));
            continue;
        }
        last_end = start.saturating_add(size);
        reader.member = Some(Arc::from(name));
        match member.data(bytes) {
            Ok(data) => match sniff(data) {
                FileKind::Cubin => reader.read_cubin_file(data, start),
                _ => read_object(reader, data, start),
            },
            Err(error) => reader.problem(start, ProblemKind::ArchiveMember(error.to_string())),
        }
        reader.member = None;
    }
    Ok(())
}
