//! States as rows of bytes: each number takes as many bytes as the largest of its column needs.

/// Bytes of one segment, about: a large store grows without being copied, and in small steps.
const SEGMENT: usize = 4 << 20;
/// The most rows of a segment, as a power of two.
const MOST_ROWS: u32 = 16;

/// Bytes behind the numbers of a row that hold the state that it was met from.
const PARENT: usize = 4;

/// Bytes that a number below `count` needs.
pub(crate) fn bytes_for(count: usize) -> u8 {
    match count {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        0x1_0001..=0x100_0000 => 3,
        _ => 4,
    }
}

/// How a state is written as a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Columns {
    /// Where each number begins, and the bits that it has.
    columns: Vec<(usize, u32)>,
    width: usize,
}

/// Bytes of a number.
const NUMBER: usize = 4;

impl Columns {
    /// Columns of so many bytes each.
    pub(crate) fn new(bytes: impl IntoIterator<Item = u8>) -> Columns {
        let mut end = 0;
        let column = |bytes: u8| {
            let start = end;
            end += usize::from(bytes);
            (start, u32::MAX >> (32 - 8 * u32::from(bytes.clamp(1, 4))))
        };
        let columns = bytes.into_iter().map(column).collect();
        // Whole words are compared faster.
        Columns { columns, width: end.next_multiple_of(NUMBER) }
    }

    /// Bytes of a row.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Adds the row of a state. Each number is written whole, and the next one over what it does not need.
    pub(crate) fn pack(&self, state: &[u32], rows: &mut Vec<u8>) {
        let start = rows.len();
        rows.resize(start + self.width + NUMBER, 0);
        let row = rows.get_mut(start..).unwrap_or(&mut []);
        for (&number, &(at, _)) in state.iter().zip(&self.columns) {
            if let Some(place) = row.get_mut(at..at + NUMBER) {
                place.copy_from_slice(&number.to_le_bytes());
            }
        }
        rows.truncate(start + self.width);
    }

    /// The state of a row, behind which there are bytes for one more number.
    fn unpack(&self, row: &[u8], state: &mut Vec<u32>) {
        state.clear();
        state.extend(self.columns.iter().map(|&(at, bits)| {
            let number = row.get(at..at + NUMBER).and_then(|bytes| bytes.first_chunk());
            number.map_or(0, |bytes| u32::from_le_bytes(*bytes)) & bits
        }));
    }

    /// The same rows in other columns.
    pub(crate) fn rewrite(&self, rows: &[u8], columns: &Columns) -> Vec<u8> {
        let (mut state, mut row, mut written) = (Vec::new(), Vec::new(), Vec::new());
        for old in rows.chunks_exact(self.width.max(1)) {
            row.clear();
            row.extend_from_slice(old);
            row.extend_from_slice(&[0; NUMBER]);
            self.unpack(&row, &mut state);
            columns.pack(&state, &mut written);
        }
        written
    }
}

/// Rows of one width, each with the number of its parent.
pub(crate) struct Rows {
    columns: Columns,
    segments: Vec<Vec<u8>>,
    /// Rows of a segment, as a power of two.
    rows: u32,
    len: usize,
}

impl Rows {
    pub(crate) fn new(columns: Columns) -> Rows {
        let rows = (SEGMENT / (columns.width + PARENT)).max(1).ilog2().min(MOST_ROWS);
        Rows { columns, segments: Vec::new(), rows, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    pub(crate) fn bytes(&self) -> usize {
        self.segments.iter().map(Vec::capacity).sum()
    }

    /// Bytes that so many rows take at most, in these columns.
    pub(crate) fn bytes_of(rows: usize, columns: &Columns) -> usize {
        let bytes = rows * (columns.width + PARENT);
        // One segment is begun, or the first one grows.
        bytes + (2 * bytes).min(SEGMENT)
    }

    fn whole(&self, id: u32) -> &[u8] {
        let width = self.columns.width + PARENT;
        let (segment, at) = (id as usize >> self.rows, (id as usize & ((1 << self.rows) - 1)) * width);
        self.segments.get(segment).and_then(|rows| rows.get(at..at + width)).unwrap_or(&[])
    }

    /// The row of a state.
    pub(crate) fn row(&self, id: u32) -> &[u8] {
        self.whole(id).get(..self.columns.width).unwrap_or(&[])
    }

    /// The numbers of a state.
    pub(crate) fn read(&self, id: u32, state: &mut Vec<u32>) {
        self.columns.unpack(self.whole(id), state);
    }

    /// The state that a state was met from.
    pub(crate) fn parent(&self, id: u32) -> Option<u32> {
        let bytes = self.whole(id).last_chunk::<PARENT>()?;
        Some(u32::from_le_bytes(*bytes))
    }

    pub(crate) fn push(&mut self, row: &[u8], parent: u32) {
        let width = self.columns.width + PARENT;
        if self.len & ((1 << self.rows) - 1) == 0 {
            // The first one grows as it must, since most searches are small.
            let room = if self.len == 0 { 0 } else { width << self.rows };
            self.segments.push(Vec::with_capacity(room));
        }
        if let Some(segment) = self.segments.last_mut() {
            segment.extend_from_slice(row);
            segment.extend_from_slice(&parent.to_le_bytes());
        }
        self.len += 1;
    }

    /// The same rows in other columns; each segment is given up as soon as it has been copied.
    pub(crate) fn with(mut self, columns: Columns) -> Rows {
        let mut rows = Rows::new(columns);
        let (mut state, mut row) = (Vec::new(), Vec::new());
        for id in 0..self.len as u32 {
            self.read(id, &mut state);
            row.clear();
            rows.columns.pack(&state, &mut row);
            rows.push(&row, self.parent(id).unwrap_or(u32::MAX));
            let next = id as usize + 1;
            if next & ((1 << self.rows) - 1) == 0
                && let Some(copied) = self.segments.get_mut(id as usize >> self.rows)
            {
                *copied = Vec::new();
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_comes_out() {
        let states: [[u32; 3]; 3] = [[0, 255, 65535], [255, 0, 1], [7, 8, 9]];
        let mut rows = Rows::new(Columns::new([1, 1, 2]));
        let (mut row, mut state) = (Vec::new(), Vec::new());
        for (given, parent) in states.iter().zip(10..) {
            row.clear();
            rows.columns().pack(given, &mut row);
            rows.push(&row, parent);
        }
        for columns in [Columns::new([1, 1, 2]), Columns::new([2, 3, 4])] {
            rows = rows.with(columns);
            assert_eq!(rows.len(), states.len());
            for (id, given) in states.iter().enumerate() {
                rows.read(id as u32, &mut state);
                assert_eq!(state, given);
                assert_eq!(rows.parent(id as u32), Some(10 + id as u32));
            }
        }
    }
}
