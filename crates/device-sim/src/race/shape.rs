//! How the addresses of a warp lie to each other: worked out once for each place in the code, as it mostly stays
//! the same there.

use crate::decode::code::LANES;
use crate::exec::core::lanes;

/// Neighbouring pieces, each accessed by as many lanes in the same manner.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// Bytes from the address of the first active lane.
    pub(super) distance: u64,
    /// The pieces' lanes in [`Shape::leaders`].
    start: u32,
    end: u32,
    /// Lanes that access a piece, counted from its own.
    pub(super) lanes: u32,
}

/// How addresses lie.
#[derive(Debug, Default)]
pub(super) struct Shape {
    active: u32,
    distances: [u64; LANES],
    /// Seen twice in a row, so that the rest was worked out.
    known: bool,
    pub(super) rows: Vec<Row>,
    leaders: Vec<u32>,
    /// The lowest and the highest distance.
    pub(super) ends: [u64; 2],
    /// All distances are multiples of the element's size.
    pub(super) even: bool,
    /// No two lanes have the same address.
    pub(super) distinct: bool,
}

impl Shape {
    /// Whether the addresses lie as they did the last times.
    #[inline(always)]
    pub(super) fn is(&mut self, at: &[u64; LANES], active: u32, bytes: u64) -> bool {
        let first = at[active.trailing_zeros() as usize % LANES];
        if active != self.active {
            self.begin(at, first, active);
            return false;
        }
        let mut differ = 0;
        if active == u32::MAX {
            for lane in 0..LANES {
                differ |= at[lane].wrapping_sub(first) ^ self.distances[lane];
            }
        } else {
            for lane in lanes(active) {
                differ |= at[lane].wrapping_sub(first) ^ self.distances[lane];
            }
        }
        if differ != 0 {
            self.begin(at, first, active);
            return false;
        }
        if !self.known {
            self.work_out(bytes);
        }
        true
    }

    fn begin(&mut self, at: &[u64; LANES], first: u64, active: u32) {
        (self.active, self.known) = (active, false);
        for lane in 0..LANES {
            self.distances[lane] = at[lane].wrapping_sub(first);
        }
    }

    /// The lanes of a row's pieces.
    #[inline(always)]
    pub(super) fn leaders(&self, row: &Row) -> &[u32] {
        self.leaders.get(row.start as usize..row.end as usize).unwrap_or(&[])
    }

    fn work_out(&mut self, bytes: u64) {
        self.known = true;
        self.rows.clear();
        self.leaders.clear();
        let mut order: smallvec::SmallVec<[(i64, u32); LANES]> =
            lanes(self.active).map(|lane| (self.distances[lane] as i64, lane as u32)).collect();
        order.sort_unstable();
        let end = |at: Option<&(i64, u32)>| at.map_or(0, |(distance, _)| *distance as u64);
        self.ends = [end(order.first()), end(order.last())];
        self.even = order.iter().all(|(distance, _)| distance.rem_euclid(bytes as i64) == 0);
        let unit = unit(bytes);
        let groups = order.chunk_by(|one, two| one.0 == two.0);
        self.distinct = true;
        for group in groups {
            let Some(&(distance, leader)) = group.first() else { continue };
            let counted =
                group.iter().fold(0, |mask, (_, lane)| mask | 1 << (lane.wrapping_sub(leader) & 31));
            self.distinct &= group.len() == 1;
            let continues = self.rows.last().is_some_and(|row| {
                let pieces = u64::from(row.end - row.start);
                row.lanes == counted && row.distance.wrapping_add(pieces * unit) == distance as u64
            });
            if !continues {
                let start = self.leaders.len() as u32;
                self.rows.push(Row { distance: distance as u64, start, end: start, lanes: counted });
            }
            // What overlaps the next one is not of one piece; elements of one size never do where they are even.
            self.leaders.extend((0..bytes / unit).map(|_| leader));
            if let Some(row) = self.rows.last_mut() {
                row.end = self.leaders.len() as u32;
            }
        }
    }
}

/// Bytes of the pieces that an element is looked at in.
pub(super) fn unit(bytes: u64) -> u64 {
    bytes.clamp(1, 4)
}
