//! Places in the text: byte spans, and lines and columns worked out on demand.

use std::sync::OnceLock;

/// A half-open range of byte offsets in the text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span from `start` to `end`; offsets past 4 GiB saturate.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: offset(start), end: offset(end) }
    }

    /// The text covered, or an empty string if the span does not fit `text`.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }

    /// Number of bytes covered.
    pub fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Whether nothing is covered.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

/// A byte offset as stored in spans; offsets past 4 GiB saturate.
pub(crate) fn offset(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// A line and a column, both counted from 1; the column counts bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
}

/// Maps byte offsets to lines and columns. The table of line starts is built at the first question, so a
/// file without findings never pays for it.
#[derive(Debug, Default)]
pub struct LineIndex {
    starts: OnceLock<Vec<u32>>,
}

impl LineIndex {
    /// The line and column of `byte` in `text`; `text` must be the same at every call.
    pub fn position(&self, text: &str, byte: u32) -> Position {
        let starts = self.starts(text);
        let line = starts.partition_point(|&start| start <= byte).max(1);
        let start = starts.get(line - 1).copied().unwrap_or(0);
        Position { line: offset(line), column: byte.saturating_sub(start).saturating_add(1) }
    }

    /// The span of a line (from 1) without its line break, or `None` past the end.
    pub fn line(&self, text: &str, line: u32) -> Option<Span> {
        let starts = self.starts(text);
        let index = (line as usize).checked_sub(1)?;
        let start = *starts.get(index)?;
        let end = starts.get(index + 1).map_or(offset(text.len()), |&next| next - 1);
        Some(Span { start, end })
    }

    fn starts(&self, text: &str) -> &[u32] {
        self.starts.get_or_init(|| {
            std::iter::once(0)
                .chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| offset(at + 1)))
                .collect()
        })
    }
}
