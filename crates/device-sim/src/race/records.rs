//! What the shadow's words stand for: which lanes of which warp accessed memory, when, and where in the code.
//!
//! A word is the number of a record and a lane. The record's lanes are counted from that lane, so that one record
//! serves all pieces that the lanes of a warp access in the same manner, each its own.

use rustc_hash::FxHashMap;

use super::UNDER_WAY;
use super::shadow::Mark;

/// «Nobody».
pub(crate) const NOBODY: u32 = u32::MAX;
/// Set in a record's site where the access is strong, and where its scope takes in other blocks.
pub(super) const STRONG: u32 = 1 << 31;
pub(super) const WIDE: u32 = 1 << 30;
/// Set where it has seen the value that the last write left: a strong read, or an atomic.
pub(super) const OBSERVER: u32 = 1 << 29;
/// Set where it stands for some threads of the warp's block, which of them is not known any more.
pub(super) const CROWD: u32 = 1 << 28;
/// Set among writes where it is a strong read, which has seen the older writes behind it in the list.
pub(super) const WITNESS: u32 = 1 << 27;
const FLAGS: u32 = STRONG | WIDE | OBSERVER | CROWD | WITNESS;
/// Most sets of lanes of one piece's readers.
const MOST_READERS: usize = 36;
/// When more sets of lanes of several blocks have read a piece, only the blocks are remembered, and so many of them.
const MOST_APART: u32 = 3;
const MOST_BLOCKS: u32 = 64;
/// Of these, so many of the newest are looked at to see whether the reader's block is among them.
const MOST_LOOKED_AT: usize = 8;
/// Records that are made before the first ones are looked through: so many, or so many for each page, which together
/// with the words of the page are less than six bytes for each of its bytes.
const FIRST_LIMIT: usize = 1 << 12;
const OF_A_PAGE: usize = 96;

/// Lanes of a warp that accessed memory at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Record {
    /// Number of the warp in the grid.
    pub(super) warp: u32,
    pub(super) time: u32,
    /// Counted from the word's lane.
    pub(super) lanes: u32,
    /// Place in the code, and [`STRONG`], [`WIDE`] and [`OBSERVER`].
    pub(super) site: u32,
    /// The word of others who read as well, its lane counted from this one's.
    pub(super) rest: u32,
    /// Of it and the rest: which warps there are (of a crowd, which blocks), by some bits of their numbers, the oldest
    /// time, how many.
    pub(super) those: u32,
    pub(super) oldest: u32,
    pub(super) count: u32,
    /// They are of several blocks.
    pub(super) apart: bool,
}

impl Record {
    /// Whether whoever has seen what it left has seen all of it. Of a store of several lanes one value was left.
    pub(super) fn is_seen_whole(&self) -> bool {
        self.site & OBSERVER != 0 || self.lanes.is_power_of_two()
    }

    /// Counts itself alone.
    fn counted(self) -> Record {
        Record { rest: 0, those: 1 << (self.warp & 31), oldest: self.time, count: 1, apart: false, ..self }
    }

    /// Puts a rest behind it, whose first record this is.
    fn in_front_of(self, first: &Record, rest: u32, warps: u32) -> Record {
        if rest == 0 {
            return self;
        }
        Record {
            rest,
            those: self.those | first.those,
            oldest: self.oldest.min(first.oldest),
            count: self.count + first.count,
            apart: first.apart || self.warp / (warps + 1) != first.warp / (warps + 1),
            ..self
        }
    }
}

/// A record and the lane that its lanes are counted from.
pub(super) type Entry = (Record, u32);

/// How strong an access is: whoever may meet it unordered may meet a stronger one.
#[inline(always)]
pub(super) fn strength(site: u32) -> u32 {
    site >> 30
}

/// The marks of an entry's lanes.
pub(super) fn marks((record, lane): Entry) -> impl Iterator<Item = Mark> {
    crate::exec::core::lanes(record.lanes.rotate_left(lane)).map(move |lane| Mark {
        thread: record.warp * 32 + lane as u32,
        time: record.time,
        site: record.site & !FLAGS,
    })
}

/// Whoever accesses memory, for the records: lanes that know the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Party {
    pub(super) warp: u32,
    pub(super) time: u32,
    pub(super) site: u32,
    /// The warps of the block.
    pub(super) first_warp: u32,
    pub(super) warps: u32,
    /// Up to when everything of the block's threads, and of the warp's, is behind.
    pub(super) floor: u32,
    pub(super) warp_floor: u32,
    /// Nothing is known but what all of the block did up to the floor.
    pub(super) plain: bool,
    /// What all threads of the block have behind them concerns nobody any more: the memory is theirs alone.
    pub(super) settled: bool,
    /// The code has strong accesses whose scope takes in only a block or a cluster.
    pub(super) narrow: bool,
}

impl Party {
    /// Whether the accesses of a record are behind, as far as a glance tells.
    #[inline(always)]
    pub(super) fn covers(&self, record: &Record) -> bool {
        (record.time <= self.floor && record.warp.wrapping_sub(self.first_warp) < self.warps)
            || (record.warp == self.warp && record.time <= self.warp_floor)
    }

    /// Whether all that may still come is behind the accesses of a record.
    #[inline(always)]
    pub(super) fn is_settled(&self, record: &Record) -> bool {
        self.settled && record.time <= self.floor && record.warp.wrapping_sub(self.first_warp) < self.warps
    }

    /// Whether a record is of the store that this is a part of: the time goes on behind each strong store.
    pub(super) fn is_same_store(&self, record: &Record) -> bool {
        self.site & (STRONG | OBSERVER) == STRONG
            && (self.warp, self.time, self.site) == (record.warp, record.time, record.site)
    }

    /// Whether a record is of these lanes: each has what it did before behind it.
    pub(super) fn is_of_lanes(&self, record: &Record, lanes: u32) -> bool {
        record.warp == self.warp
            && record.warp.wrapping_sub(self.first_warp) < self.warps
            && record.lanes & !lanes == 0
            && record.time != UNDER_WAY
    }

    /// Whether this access stands for one of a record that is behind it: who would meet that one unordered meets
    /// this one so as well.
    #[inline(always)]
    fn stands_for(&self, record: &Record) -> bool {
        strength(record.site) >= strength(self.site)
            && (record.site & OBSERVER == 0 || self.site & STRONG != 0)
    }

    /// Whether both accesses are strong and their scopes take in each other.
    #[inline(always)]
    pub(super) fn means(&self, record: &Record) -> bool {
        let both = self.site & record.site;
        both & WIDE != 0 || (both & STRONG != 0 && record.warp.wrapping_sub(self.first_warp) < self.warps)
    }
}

/// What became of a word when somebody else read as well; the same for words that stand alike.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memo {
    old: u32,
    lanes: u32,
    new: u32,
}

/// Whether readers of one piece are all plain, and of several blocks.
fn are_apart(kept: &Kept, warps: u32) -> bool {
    let block = |record: &Record| record.warp / (warps + 1);
    let first = kept.first().map(block);
    kept.iter().all(|record| record.site & FLAGS == 0)
        && kept.iter().any(|record| Some(block(record)) != first)
}

/// A bit for a block; blocks of a row or of a column of the grid mostly have different ones.
fn bit_of_block(block: u32) -> u32 {
    1 << ((block ^ block >> 5) & 31)
}

/// Records that stay.
pub(super) type Kept = smallvec::SmallVec<[Record; 8]>;

/// The records of a shadow.
#[derive(Debug)]
pub(super) struct Records {
    all: Vec<Record>,
    free: Vec<u32>,
    limit: usize,
    last: u32,
    /// Crowds by the rest, and the block, time and place of the newest reader.
    crowds: FxHashMap<(u32, u32, u32, u32), u32>,
}

impl Default for Records {
    fn default() -> Records {
        Records {
            all: vec![Record::default()],
            free: Vec::new(),
            limit: FIRST_LIMIT,
            last: 0,
            crowds: FxHashMap::default(),
        }
    }
}

/// A word with its lane counted from another lane.
#[inline(always)]
fn counted_from(word: u32, lane: u32) -> u32 {
    (word & !31) | (word.wrapping_sub(lane) & 31)
}

impl Records {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.all.truncate(1);
        self.free.clear();
        self.crowds.clear();
        (self.limit, self.last) = (FIRST_LIMIT, 0);
    }

    #[inline(always)]
    pub(super) fn of(&self, word: u32) -> Record {
        self.all.get((word >> 5) as usize).copied().unwrap_or_default()
    }

    /// Bytes that they take.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.all.len() * size_of::<Record>() + self.crowds.len() * size_of::<(u32, u32, u32, u32, u32)>()
    }

    /// A record like one, of another time.
    pub(super) fn with_time(&mut self, record: Record, time: u32) -> u32 {
        self.changed(Record { time, oldest: record.oldest.min(time), ..record })
    }

    fn push(&mut self, record: Record) -> u32 {
        if let Some(index) = self.free.pop() {
            if let Some(place) = self.all.get_mut(index as usize) {
                *place = record;
            }
            return index;
        }
        self.all.push(record);
        self.all.len() as u32 - 1
    }

    /// The record of lanes alone.
    #[inline]
    pub(super) fn alone(&mut self, party: &Party, lanes: u32) -> u32 {
        let Party { warp, time, site, .. } = *party;
        self.changed(Record { warp, time, lanes, site, ..Record::default() }.counted())
    }

    /// A record like this; the newest is used again.
    #[inline]
    fn changed(&mut self, record: Record) -> u32 {
        if self.last != 0 && self.all.get(self.last as usize) == Some(&record) {
            return self.last;
        }
        self.last = self.push(record);
        self.last
    }

    /// The entries that a word stands for.
    pub(super) fn entries(&self, word: u32) -> impl Iterator<Item = Entry> {
        let mut rest = word;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let entry = (self.of(rest), rest & 31);
            rest = self.rest(rest);
            Some(entry)
        })
    }

    /// The word of what stands behind the first entry.
    #[inline(always)]
    pub(super) fn rest(&self, word: u32) -> u32 {
        match self.of(word).rest {
            0 => 0,
            rest => counted_from(rest, (word & 31).wrapping_neg()),
        }
    }

    /// The word of a piece after `lanes`, counted from `lane`, have read it as well. `behind` says whether all of
    /// an entry is behind the reader.
    #[inline]
    pub(super) fn with_reader(
        &mut self,
        memo: &mut Memo,
        party: &Party,
        (old, lane, lanes): (u32, u32, u32),
        behind: impl Fn(Entry) -> bool,
    ) -> u32 {
        if old == 0 {
            return self.alone(party, lanes) << 5 | lane;
        }
        let key = counted_from(old, lane);
        if memo.old != key || memo.lanes != lanes {
            *memo = Memo { old: key, lanes, new: self.read(party, (old, lane, lanes), behind) };
        }
        counted_from(memo.new, lane.wrapping_neg())
    }

    /// The new word, its lane counted from the reader's.
    fn read(
        &mut self,
        party: &Party,
        (old, lane, lanes): (u32, u32, u32),
        behind: impl Fn(Entry) -> bool,
    ) -> u32 {
        let first = self.of(old);
        if first.site & CROWD != 0 {
            return self.join_crowd(party, counted_from(old, lane));
        }
        let others_only = first.those >> (party.warp & 31) & 1 == 0;
        let few = first.count < if first.apart { MOST_APART } else { MOST_READERS as u32 };
        if others_only && party.plain && first.oldest > party.floor && few {
            return self.before(party, lanes, counted_from(old, lane)) << 5;
        }
        let mut kept = Kept::new();
        let mut mine = lanes;
        let mut changed = false;
        for (record, at) in self.entries(old) {
            let others = record.lanes.rotate_left(at.wrapping_sub(lane) & 31);
            let mut record = Record { lanes: others, ..record };
            if record.warp == party.warp {
                let alike = (record.site ^ party.site) & FLAGS == 0;
                if record.time == party.time && alike && others & lanes == lanes {
                    return counted_from(old, lane);
                }
                if record.time == party.time && record.site == party.site {
                    mine |= others;
                    changed = true;
                    continue;
                }
                if party.stands_for(&record) {
                    record.lanes &= !lanes;
                    changed |= record.lanes != others;
                }
            }
            let over = (party.covers(&record) || behind((record, lane))) && party.stands_for(&record);
            if record.lanes == 0 || over {
                changed = true;
            } else {
                kept.push(record);
            }
        }
        let many = kept.len() >= MOST_APART as usize;
        if many && party.site & FLAGS == 0 && are_apart(&kept, party.warps) {
            return self.crowd(party, &kept);
        }
        let rest = if changed || kept.len() >= MOST_READERS {
            self.chain(kept, party.warps)
        } else {
            counted_from(old, lane)
        };
        if rest == 0 {
            return self.alone(party, mine) << 5;
        }
        self.before(party, mine, rest) << 5
    }

    /// Remembers only the blocks of readers.
    fn crowd(&mut self, party: &Party, kept: &Kept) -> u32 {
        let mut word = 0;
        for record in kept.iter().rev() {
            word = self.with_block(word, (record.warp, record.time, record.site), party.warps);
        }
        self.with_block(word, (party.warp, party.time, party.site), party.warps)
    }

    /// A crowd with another reader.
    fn join_crowd(&mut self, party: &Party, old: u32) -> u32 {
        let first = self.of(old);
        let known = |(record, _): Entry| {
            record.warp.wrapping_sub(party.first_warp) < party.warps && record.time == party.time
        };
        if party.site & FLAGS != 0 || first.count >= MOST_BLOCKS {
            return old;
        }
        let may_be_known = first.those & bit_of_block(party.warp / (party.warps + 1)) != 0;
        if may_be_known && self.entries(old).take(MOST_LOOKED_AT).any(known) {
            return old;
        }
        self.with_block(old, (party.warp, party.time, party.site), party.warps)
    }

    /// A crowd's word with one more block; the same for the same blocks in the same order.
    fn with_block(&mut self, rest: u32, (warp, time, site): (u32, u32, u32), warps: u32) -> u32 {
        let rest = rest & !31;
        let key = (rest, warp / (warps + 1), time, site);
        if let Some(&known) = self.crowds.get(&key) {
            return known << 5;
        }
        let record = Record { warp, time, lanes: 1, site: site | CROWD, ..Record::default() };
        let counted = Record { those: bit_of_block(warp / (warps + 1)), ..record.counted() };
        let fresh = self.push(counted.in_front_of(&self.of(rest), rest, warps));
        self.crowds.insert(key, fresh);
        fresh << 5
    }

    /// The record of lanes with a rest.
    pub(super) fn before(&mut self, party: &Party, lanes: u32, rest: u32) -> u32 {
        let Party { warp, time, site, .. } = *party;
        let record = Record { warp, time, lanes, site, ..Record::default() };
        let record = record.counted().in_front_of(&self.of(rest), rest, party.warps);
        self.push(record)
    }

    /// A word of these records, whose lanes are counted from that of the word.
    pub(super) fn chain(&mut self, mut kept: Kept, warps: u32) -> u32 {
        kept.truncate(MOST_READERS - 1);
        kept.iter().rev().fold(0, |rest, record| {
            let record = record.counted().in_front_of(&self.of(rest), rest, warps);
            self.push(record) << 5
        })
    }

    /// Whether it is time to look for records that nothing stands for any more, with so many pages.
    #[inline(always)]
    pub(super) fn are_many(&self, pages: usize) -> bool {
        self.free.is_empty() && self.all.len() >= self.limit.max(pages.saturating_mul(OF_A_PAGE))
    }

    /// Frees all records but those of these words.
    pub(super) fn keep<'w>(&mut self, words: impl Iterator<Item = &'w u32>) {
        let mut used = vec![false; self.all.len()];
        let mut live = 0;
        for &word in words {
            let mut at = word >> 5;
            while let Some(seen) = used.get_mut(at as usize)
                && !std::mem::replace(seen, true)
            {
                live += 1;
                at = self.all.get(at as usize).map_or(0, |record| record.rest >> 5);
            }
        }
        if let Some(nobody) = used.first_mut() {
            *nobody = true;
        }
        self.free = used.iter().zip(0..).filter(|(used, _)| !**used).map(|(_, index)| index).collect();
        self.crowds.retain(|_, index| used.get(*index as usize).copied().unwrap_or(false));
        self.last = 0;
        self.limit = (2 * live).max(FIRST_LIMIT);
    }
}
