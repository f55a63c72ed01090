//! Who touched which bytes: for each byte the last write, and what read or updated it since.

use std::collections::BTreeMap;
use std::rc::Rc;

use standstill_trace::Access;

use crate::clock::{Clock, Strand};
use crate::conflict::Deed;

/// Rows of a copy that are kept apart; one with more counts as touching what lies between them too.
const MOST_ROWS: u64 = 1 << 16;

/// One touch of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Touch {
    /// Number of the actor in the checker's table.
    pub(crate) actor: u64,
    pub(crate) strand: Strand,
    pub(crate) index: u64,
    pub(crate) deed: Deed,
    pub(crate) exact: bool,
}

impl Touch {
    fn is_before(&self, clock: &Clock) -> bool {
        clock.get(self.strand) >= self.index
    }
}

/// What is known of some neighbouring bytes that were touched alike.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Bytes {
    end: u64,
    /// The last write, or the birth or end of their memory.
    writer: Option<Touch>,
    /// Reads and atomic updates since, of which none comes before another.
    others: Vec<Touch>,
}

/// Two touches of the same bytes that nothing orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clash {
    pub(crate) earlier: Touch,
    pub(crate) later: Touch,
    /// The first byte.
    pub(crate) address: u64,
    /// Bytes from there on; more may follow elsewhere.
    pub(crate) bytes: u64,
    /// Whether the bytes were written by something that came before the earlier touch: then it read data that
    /// somebody put there for it.
    pub(crate) refilled: bool,
}

/// The history of all bytes that unfinished business may still concern.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// By first byte; none overlaps another.
    all: BTreeMap<u64, Bytes>,
}

impl History {
    /// Notes a touch, and gives what it clashes with: each pair once.
    pub(crate) fn touch(&mut self, touch: Touch, access: &Access, before: &Clock, clashes: &mut Vec<Clash>) {
        let first = clashes.len();
        if access.rows > 1 && (access.pitch <= access.width || access.rows > MOST_ROWS) {
            let before_last = (access.rows - 1).saturating_mul(access.pitch);
            let end = access.address.saturating_add(before_last).saturating_add(access.width);
            let touch = Touch { exact: touch.exact && access.pitch <= access.width, ..touch };
            return self.row(touch, access.address..end, before, clashes, first);
        }
        for row in 0..access.rows {
            let start = access.address.saturating_add(row.saturating_mul(access.pitch));
            self.row(touch, start..start.saturating_add(access.width), before, clashes, first);
        }
    }

    fn row(
        &mut self,
        touch: Touch,
        range: std::ops::Range<u64>,
        before: &Clock,
        clashes: &mut Vec<Clash>,
        first: usize,
    ) {
        if range.is_empty() {
            return;
        }
        self.split(range.start);
        self.split(range.end);
        let mut at = range.start;
        while at < range.end {
            let next = self.all.range(at..range.end).next().map_or(range.end, |(start, _)| *start);
            if next > at {
                // Nobody touched these.
                self.all.insert(at, Bytes { end: next, ..Bytes::default() });
            }
            let Some(bytes) = self.all.get_mut(&at) else { return };
            let clash = |earlier: &Touch, refilled| Clash {
                earlier: *earlier,
                later: touch,
                address: at,
                bytes: bytes.end - at,
                refilled,
            };
            let dead = |earlier: &Touch| earlier.deed == Deed::End;
            let writer = bytes.writer.filter(|writer| dead(writer) || !writer.is_before(before));
            let filled = |reader: &Touch| {
                bytes.writer.is_some_and(|writer| writer.deed == Deed::Write && writer != *reader)
            };
            let others = bytes.others.iter().filter(|other| !other.is_before(before));
            let others = others.filter(|other| !other.deed.agrees_with(touch.deed));
            let found = writer.iter().map(|writer| clash(writer, false));
            for clash in found.chain(others.map(|other| clash(other, filled(other)))) {
                let known =
                    clashes.iter_mut().skip(first).find(|known| known.earlier.actor == clash.earlier.actor);
                match known {
                    Some(known) => known.bytes = known.bytes.saturating_add(clash.bytes),
                    None => clashes.push(clash),
                }
            }
            // What may not have been written is not gone.
            if touch.deed.replaces() && touch.exact {
                bytes.writer = Some(touch);
                bytes.others.clear();
            } else {
                // What comes before this touch comes before all that must come behind this touch.
                bytes.others.retain(|other| !(other.is_before(before) && other.deed == touch.deed));
                bytes.others.push(touch);
            }
            at = bytes.end;
        }
        self.merge(range);
    }

    /// Forgets what happened to these bytes.
    pub(crate) fn forget(&mut self, range: std::ops::Range<u64>) {
        self.split(range.start);
        self.split(range.end);
        let gone: Vec<u64> = self.all.range(range).map(|(start, _)| *start).collect();
        for start in gone {
            self.all.remove(&start);
        }
    }

    /// Forgets all touches that come before everything that can still come.
    pub(crate) fn retire(&mut self, settled: &Clock) {
        self.all.retain(|_, bytes| {
            bytes.writer =
                bytes.writer.filter(|writer| writer.deed == Deed::End || !writer.is_before(settled));
            bytes.others.retain(|other| !other.is_before(settled));
            bytes.writer.is_some() || !bytes.others.is_empty()
        });
    }

    /// Numbers of all actors that are still of interest.
    pub(crate) fn actors(&self) -> impl Iterator<Item = u64> + '_ {
        self.all.values().flat_map(|bytes| bytes.writer.iter().chain(&bytes.others)).map(|touch| touch.actor)
    }

    /// How many pieces it has.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Makes a piece begin here, if one stands across.
    fn split(&mut self, at: u64) {
        let Some((_, before)) = self.all.range_mut(..at).next_back() else { return };
        if before.end > at {
            let rest = before.clone();
            before.end = at;
            self.all.insert(at, rest);
        }
    }

    /// Joins neighbours that were touched alike.
    fn merge(&mut self, range: std::ops::Range<u64>) {
        let mut at = self.all.range(..range.start).next_back().map_or(range.start, |(start, _)| *start);
        while at < range.end {
            let Some(bytes) = self.all.get(&at) else { return };
            let end = bytes.end;
            let same =
                self.all.get(&end).filter(|next| next.writer == bytes.writer && next.others == bytes.others);
            match same.map(|next| next.end) {
                Some(end_of_both) => {
                    self.all.remove(&end);
                    if let Some(bytes) = self.all.get_mut(&at) {
                        bytes.end = end_of_both;
                    }
                }
                None => match self.all.range(end..).next() {
                    Some((start, _)) => at = *start,
                    None => return,
                },
            }
        }
    }
}

/// A touch that waits until it is known which bytes it concerns.
pub(crate) type Before = Rc<Clock>;
