//! The fixtures, unpacked.

use std::io::Read;
use std::path::PathBuf;

/// The folder of the fixtures.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// A file of the fixtures, unpacked; `None` when there is none.
pub(crate) fn unpack(file: &str) -> Option<Vec<u8>> {
    let packed = std::fs::File::open(folder().join(file)).ok()?;
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

/// The dump with this name.
pub(crate) fn dump(name: &str) -> Vec<u8> {
    unpack(&format!("{name}.core.gz")).unwrap_or_else(|| panic!("no fixture {name}"))
}
