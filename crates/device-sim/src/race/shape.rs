//! How the addresses of a warp lie to each other: worked out once for each place in the code, as it mostly stays
//! the same there.

use std::sync::Arc;

use rustc_hash::FxHashMap;

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
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) rows: Vec<Row>,
    leaders: Vec<u32>,
    /// The lowest and the highest distance.
    pub(super) ends: [u64; 2],
    /// All distances are multiples of the element's size.
    pub(super) even: bool,
    /// No two lanes have the same address.
    pub(super) distinct: bool,
}

/// Layouts that are kept.
const MOST_LAYOUTS: usize = 2048;
/// After so many new ones in a row a place's layouts are looked for only now and then.
const MOST_MISSES: u32 = 32;
/// The number of a layout that is not kept.
pub(super) const UNKEPT: u32 = u32::MAX;

/// What a layout follows from: the active lanes, the element's bytes and the distances.
type Key = (u32, u64, [u64; LANES]);

/// Layouts that have been worked out, each with a number.
#[derive(Debug, Default, Clone)]
pub(super) struct Layouts {
    numbers: FxHashMap<Key, u32>,
    all: Vec<Arc<Layout>>,
}

impl Layouts {
    pub(super) fn get(&self, number: u32) -> Option<&Arc<Layout>> {
        self.all.get(number as usize)
    }

    /// The layout of a key, worked out if there is room for it.
    fn find(&mut self, key: &Key) -> Option<(Arc<Layout>, u32)> {
        if let Some(&number) = self.numbers.get(key) {
            return self.get(number).map(|layout| (Arc::clone(layout), number));
        }
        if self.all.len() >= MOST_LAYOUTS {
            return None;
        }
        let (layout, number) = (Arc::new(Layout::new(key)), self.all.len() as u32);
        self.all.push(Arc::clone(&layout));
        self.numbers.insert(*key, number);
        Some((layout, number))
    }
}

/// How the addresses of an operation lay last time.
#[derive(Debug, Default, Clone)]
pub(super) struct Shape {
    active: u32,
    distances: [u64; LANES],
    /// With its number; worked out when it is known or was seen twice in a row.
    layout: Option<(Arc<Layout>, u32)>,
    /// Addresses in a row that lay as none before.
    misses: u32,
}

impl Shape {
    /// The layout of the addresses, when it is known.
    #[inline(always)]
    pub(super) fn layout(
        &mut self,
        at: &[u64; LANES],
        active: u32,
        bytes: u64,
        layouts: &mut Layouts,
    ) -> Option<(&Arc<Layout>, u32)> {
        let first = at[active.trailing_zeros() as usize % LANES];
        let mut differ = u64::from(active ^ self.active);
        if active == u32::MAX {
            for lane in 0..LANES {
                differ |= at[lane].wrapping_sub(first) ^ self.distances[lane];
            }
        } else {
            for lane in lanes(active) {
                differ |= at[lane].wrapping_sub(first) ^ self.distances[lane];
            }
        }
        if differ != 0 || self.layout.is_none() {
            self.change(at, first, active, bytes, differ == 0, layouts);
        }
        self.layout.as_ref().map(|(layout, number)| (layout, *number))
    }

    #[cold]
    fn change(
        &mut self,
        at: &[u64; LANES],
        first: u64,
        active: u32,
        bytes: u64,
        again: bool,
        layouts: &mut Layouts,
    ) {
        self.active = active;
        self.distances = [0; LANES];
        for lane in lanes(active) {
            self.distances[lane] = at[lane].wrapping_sub(first);
        }
        let key = (active, bytes, self.distances);
        // Where addresses follow from data, there is nothing to be found again.
        self.layout = match self.misses < MOST_MISSES || self.misses.is_multiple_of(MOST_MISSES) {
            true => layouts.find(&key),
            false => None,
        };
        let known = layouts.all.len();
        let fresh = self.layout.as_ref().is_none_or(|(_, number)| *number as usize + 1 == known);
        self.misses = if fresh { self.misses.wrapping_add(1) } else { 0 };
        if self.layout.is_none() && again {
            self.layout = Some((Arc::new(Layout::new(&key)), UNKEPT));
        }
    }
}

impl Layout {
    /// The lanes of a row's pieces.
    #[inline(always)]
    pub(super) fn leaders(&self, row: &Row) -> &[u32] {
        self.leaders.get(row.start as usize..row.end as usize).unwrap_or(&[])
    }

    fn new((active, bytes, distances): &Key) -> Layout {
        let bytes = *bytes;
        let mut order: smallvec::SmallVec<[(i64, u32); LANES]> =
            lanes(*active).map(|lane| (distances[lane] as i64, lane as u32)).collect();
        order.sort_unstable();
        let end = |at: Option<&(i64, u32)>| at.map_or(0, |(distance, _)| *distance as u64);
        let even = order.iter().all(|(distance, _)| distance.rem_euclid(bytes as i64) == 0);
        let ends = [end(order.first()), end(order.last())];
        let mut layout = Layout { rows: Vec::new(), leaders: Vec::new(), ends, even, distinct: true };
        let unit = unit(bytes);
        for group in order.chunk_by(|one, two| one.0 == two.0) {
            let Some(&(distance, leader)) = group.first() else { continue };
            let counted =
                group.iter().fold(0, |mask, (_, lane)| mask | 1 << (lane.wrapping_sub(leader) & 31));
            layout.distinct &= group.len() == 1;
            let continues = layout.rows.last().is_some_and(|row| {
                let pieces = u64::from(row.end - row.start);
                row.lanes == counted && row.distance.wrapping_add(pieces * unit) == distance as u64
            });
            if !continues {
                let start = layout.leaders.len() as u32;
                layout.rows.push(Row { distance: distance as u64, start, end: start, lanes: counted });
            }
            // What overlaps the next one is not of one piece; elements of one size never do where they are even.
            layout.leaders.extend((0..bytes / unit).map(|_| leader));
            if let Some(row) = layout.rows.last_mut() {
                row.end = layout.leaders.len() as u32;
            }
        }
        layout
    }
}

/// Bytes of the pieces that an element is looked at in.
pub(super) fn unit(bytes: u64) -> u64 {
    bytes.clamp(1, 4)
}
