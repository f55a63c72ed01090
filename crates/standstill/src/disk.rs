//! Source texts from disk, read once and only when a report shows them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use standstill_report::{SourceText, Sources};

/// Larger files are not shown.
const LARGEST: u64 = 256 << 20;

/// Reads a source file when it is first asked for.
#[derive(Debug, Default)]
pub(crate) struct DiskSources {
    files: Mutex<HashMap<String, Option<Arc<SourceText>>>>,
}

impl DiskSources {
    /// Gives a text that is not on disk, or is known already.
    pub(crate) fn insert(&self, file: String, text: SourceText) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(file, Some(Arc::new(text)));
    }
}

impl Sources for DiskSources {
    fn text(&self, file: &str) -> Option<Arc<SourceText>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = files.get(file) {
            return known.clone();
        }
        let text = read(file);
        files.insert(file.to_owned(), text.clone());
        text
    }
}

fn read(file: &str) -> Option<Arc<SourceText>> {
    let metadata = std::fs::metadata(file).ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    let bytes = std::fs::read(file).ok()?;
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Some(Arc::new(text.into()))
}
