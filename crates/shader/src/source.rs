//! Lines and columns of a text.

/// Where lines begin.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    starts: Vec<u32>,
}

impl Lines {
    pub(crate) fn new(text: &str) -> Lines {
        let ends = text.bytes().zip(1u32..).filter(|(byte, _)| *byte == b'\n').map(|(_, next)| next);
        Lines { starts: std::iter::once(0).chain(ends).collect() }
    }

    /// Line and column of a byte, from 1; columns count bytes.
    pub(crate) fn place(&self, offset: u32) -> (u32, u32) {
        let line = self.starts.partition_point(|&start| start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        (u32::try_from(line).unwrap_or(u32::MAX), offset - start + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn places_count_from_one() {
        let lines = Lines::new("ab\n\ncd");
        let places: Vec<_> = (0..6).map(|offset| lines.place(offset)).collect();
        assert_eq!(places, [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1), (3, 2)]);
    }
}
