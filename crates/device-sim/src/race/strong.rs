//! Strong writes in the shadow: others may meet them unordered, so it has to be told exactly what a new one stands
//! for.
//!
//! The list of a piece's writes is in their order, the newest first. An atomic has seen the write before it, and a
//! strong read that is written down as a [`WITNESS`] the next write behind it in the list.

use super::records::{Entry, Kept, OBSERVER, Party, Record, Records, WITNESS, strength};

/// Writes of a block that are kept beside those that stand for them, and of how many blocks.
const MOST_OF_BLOCK: usize = 3;
const MOST_BLOCKS: usize = 2;
/// A longer list is not worth it.
const MOST_BESIDE: usize = 16;
/// Witnesses between two writes that a long list keeps.
const MOST_WITNESSES: usize = 2;

impl Records {
    /// Whether a strong write stands for all that was written before: nothing else needs to be kept.
    #[inline(always)]
    pub(super) fn stands_alone(
        &self,
        party: &Party,
        writes: u32,
        observed: bool,
        behind: impl Fn(Entry) -> bool,
    ) -> bool {
        let first = self.of(writes);
        writes == 0
            || (first.rest == 0 && !party.narrow && {
                let seen = observed || sees(party, &first);
                is_over(party, (first, writes & 31), seen, &behind)
            })
    }

    /// The words of a piece's writes and reads after a strong write of lanes of a warp, counted from one of them: what
    /// it does not stand for is still to be looked at. `observed` says that a strong read of the last write is behind
    /// the lanes.
    pub(super) fn with_strong_write(
        &mut self,
        party: &Party,
        (writes, reads): (u32, u32),
        (lane, mut lanes): (u32, u32),
        observed: bool,
        behind: impl Fn(Entry) -> bool,
    ) -> (u32, u32) {
        if reads == 0 && self.stands_alone(party, writes, observed, &behind) {
            return (self.alone(party, lanes) << 5 | lane, 0);
        }
        let first = self.of(writes);
        let seen = observed || sees(party, &first);
        let mut older = writes;
        // Lanes of one store have no order among them, so that one record will do.
        if party.is_same_store(&first) {
            lanes |= moved((first, writes & 31), lane).lanes;
            older = self.rest(writes);
        }
        let own = |entry: Entry| party.is_of_lanes(&moved(entry, lane), lanes) || behind(entry);
        let of = (older, reads, lane);
        let mut mine = *party;
        let mut kept = self.older_writes(&mut mine, of, seen, Beside::new(party), &own);
        if kept.len() > MOST_BESIDE {
            thin_out(&mut kept);
        }
        if kept.len() > MOST_BESIDE && party.narrow {
            mine = *party;
            kept = self.older_writes(&mut mine, of, seen, Beside::nothing(party), &own);
        }
        let rest = self.chain(kept, party.warps);
        let write = if rest == 0 { self.alone(&mine, lanes) } else { self.before(&mine, lanes, rest) };
        let mut beside = Beside::new(party);
        let mut kept = Kept::new();
        for entry in self.entries(reads) {
            if !is_over(party, entry, false, &behind) || beside.takes(&entry.0) {
                let of = moved(entry, lane);
                kept.push(Record { site: of.site & !OBSERVER, ..of });
            }
        }
        let read = self.chain(kept, party.warps);
        (write << 5 | lane, if read == 0 { 0 } else { read | lane })
    }

    /// What is kept of the writes before a new one, and whether that one still tells that it has seen the newest.
    fn older_writes(
        &self,
        mine: &mut Party,
        (writes, reads, lane): (u32, u32, u32),
        mut seen: bool,
        mut beside: Beside<'_>,
        behind: &impl Fn(Entry) -> bool,
    ) -> Kept {
        let party = beside.party;
        let mut kept = Kept::new();
        let mut is_last = true;
        for entry in self.entries(writes) {
            let record = &entry.0;
            let sees = record.site & OBSERVER != 0;
            let sees_behind = sees && (party.covers(record) || behind(entry));
            if record.site & WITNESS != 0 {
                seen |= sees_behind;
                kept.push(moved(entry, lane));
                continue;
            }
            let stays = !is_over(party, entry, seen, behind) || beside.takes(record);
            if std::mem::take(&mut is_last) {
                let observers = self.entries(reads).filter(|(record, _)| record.site & OBSERVER != 0);
                kept.extend(observers.map(|entry| as_witness(moved(entry, lane))));
            }
            if stays {
                if strength(record.site) == 0 {
                    // Having seen a weak write orders nothing.
                    without_witnesses(&mut kept);
                }
                kept.push(moved(entry, lane));
            } else if sees {
                kept.push(as_witness(moved(entry, lane)));
            } else {
                // Who has seen this one has not seen what was before.
                without_witnesses(&mut kept);
                match kept.last_mut() {
                    Some(newer) => newer.site &= !OBSERVER,
                    None => mine.site &= !OBSERVER,
                }
            }
            seen = sees && (seen || sees_behind);
        }
        without_witnesses(&mut kept);
        kept
    }
}

/// Whether whoever writes has seen the last write: an atomic that the other one means.
fn sees(party: &Party, last: &Record) -> bool {
    party.site & OBSERVER != 0 && party.means(last)
}

/// Whether who meets the new write or has it behind need not look at an older access any more.
fn is_over(party: &Party, entry: Entry, seen: bool, behind: &impl Fn(Entry) -> bool) -> bool {
    let record = &entry.0;
    let stands = strength(record.site) >= strength(party.site);
    let seen = seen && record.is_seen_whole();
    party.is_settled(record) || (stands && (seen || party.covers(record) || behind(entry)))
}

/// An entry's record, its lanes counted from a lane.
fn moved((record, at): Entry, lane: u32) -> Record {
    Record { lanes: record.lanes.rotate_left(at.wrapping_sub(lane) & 31), ..record }
}

fn as_witness(record: Record) -> Record {
    Record { site: record.site | WITNESS, ..record }
}

/// Leaves only the newest of many witnesses of one write: whoever has only others behind keeps more than it must.
fn thin_out(kept: &mut Kept) {
    let mut run = 0;
    kept.retain(|record| {
        run = if record.site & WITNESS != 0 { run + 1 } else { 0 };
        run <= MOST_WITNESSES
    });
}

/// Takes away the witnesses at the end, which have seen nothing that is kept.
fn without_witnesses(kept: &mut Kept) {
    while kept.last().is_some_and(|record| record.site & WITNESS != 0) {
        kept.pop();
    }
}

/// An access of block scope and a strong write of its own block mean each other, in whatever order they come; those of
/// other blocks that the write stands for otherwise it still races with. The newest of these stay.
struct Beside<'a> {
    party: &'a Party,
    blocks: smallvec::SmallVec<[(u32, usize); MOST_BLOCKS]>,
    is_full: bool,
}

impl Beside<'_> {
    fn new(party: &Party) -> Beside<'_> {
        let own = party.first_warp / (party.warps + 1);
        Beside { party, blocks: smallvec::SmallVec::from_iter([(own, 1)]), is_full: !party.narrow }
    }

    fn nothing(party: &Party) -> Beside<'_> {
        Beside { is_full: true, ..Beside::new(party) }
    }

    fn takes(&mut self, record: &Record) -> bool {
        if self.is_full {
            return false;
        }
        let block = record.warp / (self.party.warps + 1);
        if let Some((_, count)) = self.blocks.iter_mut().find(|(known, _)| *known == block) {
            *count += 1;
            return *count <= MOST_OF_BLOCK;
        }
        let has_room = self.blocks.len() < MOST_BLOCKS;
        if has_room {
            self.blocks.push((block, 1));
        }
        has_room
    }
}
