//! Where the text of a source file comes from, and its lines.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Gives the text of source files to a reporter.
pub trait Sources {
    /// The text of `file`, by the path that a span carries; `None` when it cannot be read.
    fn text(&self, file: &str) -> Option<Arc<SourceText>>;
}

/// The text of a file. Where its lines begin is found once, when a line is first asked for: a PTX text
/// has many megabytes, and a report may point into it a thousand times.
#[derive(Debug, Default)]
pub struct SourceText {
    text: String,
    starts: OnceLock<Vec<usize>>,
}

impl SourceText {
    /// Byte offset of a line (from 1); `None` where the text has no such line.
    pub fn line_start(&self, line: u32) -> Option<usize> {
        let starts = self.starts.get_or_init(|| starts(&self.text));
        starts.get((line as usize).checked_sub(1)?).copied()
    }

    /// A line (from 1) without its end; `None` where the text has no such line.
    pub fn line(&self, line: u32) -> Option<&str> {
        self.text.get(self.line_start(line)?..)?.lines().next()
    }
}

impl std::ops::Deref for SourceText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl<T: Into<String>> From<T> for SourceText {
    fn from(text: T) -> SourceText {
        SourceText { text: text.into(), starts: OnceLock::new() }
    }
}

/// Where each line begins. There is no line behind a last line end.
fn starts(text: &str) -> Vec<usize> {
    // A line of PTX has some thirty bytes.
    let mut starts = Vec::with_capacity(text.len() / 32 + 1);
    starts.push(0);
    starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1));
    starts.pop_if(|start| *start == text.len());
    starts
}

/// Texts that are in memory already.
#[derive(Debug, Clone, Default)]
pub struct MemorySources {
    files: HashMap<String, Arc<SourceText>>,
}

impl MemorySources {
    /// Adds a file, or replaces it.
    pub fn insert(&mut self, file: impl Into<String>, text: impl Into<SourceText>) {
        self.files.insert(file.into(), Arc::new(text.into()));
    }
}

impl Sources for MemorySources {
    fn text(&self, file: &str) -> Option<Arc<SourceText>> {
        self.files.get(file).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_from_one() {
        let check = |text: &str, expected: &[&str]| {
            let source = SourceText::from(text);
            let lines: Vec<&str> = (1..).map_while(|line| source.line(line)).collect();
            assert_eq!(lines, expected, "{text:?}");
            assert_eq!(source.line(0), None);
            assert_eq!(source.line(u32::MAX), None);
        };
        check("", &[]);
        check("\n", &[""]);
        check("a", &["a"]);
        check("a\nü\r\n\nb", &["a", "ü", "", "b"]);
        check("a\n\n", &["a", ""]);
        assert_eq!(SourceText::from("ü\nb").line_start(2), Some(3));
    }
}
