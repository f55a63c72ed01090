//! Where the text of a source file comes from.

use std::collections::HashMap;
use std::sync::Arc;

/// Gives the text of source files to a reporter.
pub trait Sources {
    /// The text of `file`, by the path that a span carries; `None` when it cannot be read.
    fn text(&self, file: &str) -> Option<Arc<str>>;
}

/// Texts that are in memory already.
#[derive(Debug, Clone, Default)]
pub struct MemorySources {
    files: HashMap<String, Arc<str>>,
}

impl MemorySources {
    /// Adds a file, or replaces it.
    pub fn insert(&mut self, file: impl Into<String>, text: impl Into<Arc<str>>) {
        self.files.insert(file.into(), text.into());
    }
}

impl Sources for MemorySources {
    fn text(&self, file: &str) -> Option<Arc<str>> {
        self.files.get(file).cloned()
    }
}
