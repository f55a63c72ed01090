//! Who wrote and read each piece of memory last. Pieces are of four bytes until something smaller is accessed in
//! their page; then that page knows each byte.

mod changes;

use rustc_hash::FxHashMap;

use super::UNDER_WAY;
pub(crate) use super::records::NOBODY;
use super::records::{CROWD, Entry, Memo, OBSERVER, Party, Records, STRONG, WITNESS, marks};

/// Bytes of a page.
const PAGE: u64 = 1024;
/// Bytes of a piece.
pub(super) const PIECE: u64 = 4;
/// Pages at addresses below this are found without a search: those of shared memory.
const NEAR: usize = 512;

/// An access: the thread's number, its time, and the number of the place in the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) thread: u32,
    pub(crate) time: u32,
    pub(crate) site: u32,
}

impl Mark {
    pub(super) const NONE: Mark = Mark { thread: NOBODY, time: 0, site: 0 };
}

/// A page, by pieces or by bytes: a word for each write, then one for each read.
#[derive(Debug)]
struct Page {
    words: Vec<u32>,
    shift: u32,
    /// When the words were last known to be of now; see [`Shadow::clear`].
    era: u32,
}

impl Page {
    fn new(era: u32) -> Page {
        Page { words: vec![0; 2 * (PAGE / PIECE) as usize], shift: 2, era }
    }

    #[cold]
    fn empty(&mut self, era: u32) {
        self.words.fill(0);
        self.era = era;
    }

    fn by_bytes(&mut self) {
        if self.shift != 0 {
            self.words = self.words.iter().flat_map(|&word| [word; PIECE as usize]).collect();
            self.shift = 0;
        }
    }

    /// The words of writes and of reads in a range.
    #[inline(always)]
    fn cells(&mut self, start: usize, end: usize) -> Option<(&mut [u32], &mut [u32])> {
        let (writes, reads) = self.words.split_at_mut_checked((PAGE as usize) >> self.shift)?;
        Some((writes.get_mut(start..end)?, reads.get_mut(start..end)?))
    }
}

/// The cells of an access: a page and a range in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    page: u32,
    start: u32,
    end: u32,
}

/// Two accesses that nothing orders, as the shadow sees it: the lane of the later one, and what was there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clash {
    pub(super) lane: u32,
    pub(super) old: Mark,
    /// Of the first of the pieces that were accessed together.
    pub(super) address: u64,
}

/// What lanes do to neighbouring pieces.
pub(super) struct Access<'a> {
    pub(super) party: &'a Party,
    pub(super) write: bool,
    /// What the same thread did before is in order, as it is but for copies.
    pub(super) own: bool,
    /// The lane of each piece, and the lanes that access it, counted from that one.
    pub(super) leaders: &'a [u32],
    pub(super) lanes: u32,
}

/// Asks for a mark that stands for a block whether the reader may know of it.
pub(super) const ANYBODY: u32 = u32::MAX;

/// The shadow of a memory.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    near: Vec<u32>,
    far: FxHashMap<u64, u32>,
    pages: Vec<Page>,
    records: Records,
    last: Option<(u64, u32)>,
    era: u32,
    /// What was in the pages before they were changed, since [`Shadow::note_changes`].
    changes: Option<Vec<changes::Change>>,
}

impl Shadow {
    /// Forgets all, and keeps its room. Pages are emptied when somebody comes to them again.
    pub(super) fn clear(&mut self) {
        self.era = self.era.wrapping_add(1);
        self.records.clear();
    }

    #[inline]
    fn page(&mut self, number: u64) -> u32 {
        if let Some((last, page)) = self.last
            && last == number
        {
            return page;
        }
        let fresh = self.pages.len() as u32;
        let place = if number < NEAR as u64 {
            if self.near.len() <= number as usize {
                self.near.resize(number as usize + 1, u32::MAX);
            }
            self.near.get_mut(number as usize)
        } else {
            Some(self.far.entry(number).or_insert(u32::MAX))
        };
        let page = match place {
            Some(page) if *page != u32::MAX => *page,
            Some(page) => {
                *page = fresh;
                self.pages.push(Page::new(self.era));
                fresh
            }
            None => 0,
        };
        self.last = Some((number, page));
        page
    }

    /// The cells of `bytes` bytes at an address, up to the end of the page.
    #[inline(always)]
    pub(crate) fn range(&mut self, address: u64, bytes: u64) -> Range {
        let page = self.page(address / PAGE);
        let offset = address % PAGE;
        let mut shift = 2;
        if let Some(of) = self.pages.get_mut(page as usize) {
            if of.era != self.era {
                of.empty(self.era);
            }
            if !(offset | bytes).is_multiple_of(PIECE) {
                if let Some(changes) = &mut self.changes {
                    changes.extend(changes::Change::of_page(page, of));
                }
                of.by_bytes();
            }
            shift = of.shift;
        }
        let end = ((offset + bytes) >> shift).min(PAGE >> shift);
        Range { page, start: (offset >> shift) as u32, end: end as u32 }
    }

    /// How many elements from an address on, each of so many bytes, lie in one page and take one cell each.
    #[inline(always)]
    pub(super) fn row(&mut self, address: u64, bytes: u64, count: usize) -> (Range, usize) {
        let fit = ((PAGE - address % PAGE) / bytes).max(1).min(count as u64);
        let range = self.range(address, fit * bytes);
        match range.end - range.start {
            cells if u64::from(cells) == fit => (range, fit as usize),
            _ => (self.range(address, bytes), 1),
        }
    }

    fn words(&self, range: Range) -> impl Iterator<Item = (u32, u32)> {
        let page = self.pages.get(range.page as usize);
        let half = page.map_or(0, |page| page.words.len() / 2);
        (range.start..range.end).filter_map(move |cell| {
            let words = &page?.words;
            Some((*words.get(cell as usize)?, *words.get(half + cell as usize)?))
        })
    }

    /// The write whose value was left: of a store of several lanes that of the last one.
    fn newest(&self, word: u32) -> Option<Mark> {
        self.records.entries(word).next().and_then(|entry| marks(entry).last())
    }

    /// The last write of the first cell.
    pub(super) fn last_write(&self, range: Range) -> Mark {
        let first = self.words(range).next().map_or(0, |(write, _)| write);
        self.newest(first).unwrap_or(Mark::NONE)
    }

    /// The last write, when it was a strong one.
    #[inline]
    pub(super) fn last_strong_write(&self, range: Range) -> Option<Mark> {
        let first = self.words(range).next().map_or(0, |(write, _)| write);
        let strong = self.records.of(first).site & STRONG != 0;
        if strong { self.newest(first) } else { None }
    }

    /// The readers since the last write.
    pub(super) fn readers(&self, range: Range) -> impl Iterator<Item = Entry> {
        self.words(range).flat_map(|(_, read)| self.records.entries(read))
    }

    /// Changes the time of the last write of cells if it is still this one.
    pub(crate) fn settle(&mut self, range: Range, old: Mark, time: u32) {
        let Some(page) = self.pages.get_mut(range.page as usize) else { return };
        let Some((writes, _)) = page.cells(range.start as usize, range.end as usize) else { return };
        for word in writes {
            let found = self.records.entries(*word).next();
            if let Some((record, lane)) = found
                && marks((record, lane)).next() == Some(old)
            {
                *word = self.records.with_time(record, time) << 5 | lane;
            }
        }
    }

    /// Makes room for what an access leaves.
    #[inline]
    pub(super) fn tidy(&mut self) {
        if self.records.are_many(self.pages.len()) && self.changes.is_none() {
            let now = self.era;
            self.records.keep(self.pages.iter().filter(|page| page.era == now).flat_map(|page| &page.words));
        }
    }

    /// Checks an access against what was there before, and remembers it. `behind` says whether what a mark stands
    /// for is behind a lane.
    #[inline(always)]
    pub(super) fn touch(
        &mut self,
        range: Range,
        access: &Access<'_>,
        memo: &mut Memo,
        behind: &impl Fn(Mark, u32) -> bool,
        met: &mut Vec<Clash>,
    ) {
        if self.changes.is_some() {
            self.note_change(range);
        }
        let Some(page) = self.pages.get_mut(range.page as usize) else { return };
        let Some((writes, reads)) = page.cells(range.start as usize, range.end as usize) else { return };
        let count = writes.len().min(access.leaders.len());
        let (Some(writes), Some(reads), Some(leaders)) =
            (writes.get_mut(..count), reads.get_mut(..count), access.leaders.get(..count))
        else {
            return;
        };
        let touch = Touch { records: &mut self.records, access, memo, behind };
        if count > 1 && are_alike(writes, leaders) && are_alike(reads, leaders) {
            touch.all(writes, reads, leaders, met);
        } else {
            touch.each(writes, reads, leaders, met);
        }
    }
}

/// Lanes that are counted from one of them.
fn lanes_of(counted: u32, leader: u32) -> impl Iterator<Item = u32> {
    crate::exec::core::lanes(counted.rotate_left(leader)).map(|lane| lane as u32)
}

/// Whether words are of one record, and each stands to its lane as the first does.
#[inline(always)]
fn are_alike(words: &[u32], leaders: &[u32]) -> bool {
    let (Some(&first), Some(&leader)) = (words.first(), leaders.first()) else { return false };
    let low = if first == 0 { 0 } else { 31 };
    let mut differ = 0;
    for (&word, &lane) in words.iter().zip(leaders) {
        differ |= (word ^ first) & !31;
        differ |= (word.wrapping_sub(lane) ^ first.wrapping_sub(leader)) & low;
    }
    differ == 0
}

/// An access on its way.
struct Touch<'a, 'b, F> {
    records: &'a mut Records,
    access: &'a Access<'b>,
    memo: &'a mut Memo,
    behind: &'a F,
}

impl<F: Fn(Mark, u32) -> bool> Touch<'_, '_, F> {
    /// Words that stand alike.
    #[inline(always)]
    fn all(mut self, writes: &mut [u32], reads: &mut [u32], leaders: &[u32], met: &mut Vec<Clash>) {
        let (Some(&write), Some(&read), Some(&leader)) = (writes.first(), reads.first(), leaders.first())
        else {
            return;
        };
        let fine = self.are_fine(write, leader) && (!self.access.write || self.are_fine(read, leader));
        let behind = |entry: Entry| marks(entry).all(|mark| (self.behind)(mark, leader));
        let stands = !self.is_strong_write()
            || (read == 0 && self.records.stands_alone(self.access.party, write, false, behind));
        if !fine || !stands {
            return self.each(writes, reads, leaders, met);
        }
        if self.access.write {
            let record = self.records.alone(self.access.party, self.access.lanes) << 5;
            for (word, &lane) in writes.iter_mut().zip(leaders) {
                *word = record | lane;
            }
            if read != 0 {
                reads.fill(0);
            }
        } else {
            let word = self.read(read, leader);
            if word != read {
                let distance = word.wrapping_sub(leader);
                for (read, &lane) in reads.iter_mut().zip(leaders) {
                    *read = (word & !31) | (lane.wrapping_add(distance) & 31);
                }
            }
        }
    }

    /// Words that stand each for itself.
    #[inline(never)]
    fn each(mut self, writes: &mut [u32], reads: &mut [u32], leaders: &[u32], met: &mut Vec<Clash>) {
        for ((write, read), &leader) in writes.iter_mut().zip(reads).zip(leaders) {
            if !self.are_fine(*write, leader) {
                self.look(*write, leader, Some(*read), met);
            }
            if !self.access.write {
                *read = self.read(*read, leader);
                continue;
            }
            if !self.are_fine(*read, leader) {
                self.look(*read, leader, None, met);
            }
            if self.is_strong_write() {
                let (party, behind) = (self.access.party, self.behind);
                let all_behind = |entry: Entry| marks(entry).all(|mark| behind(mark, leader));
                let lanes = self.access.lanes;
                let observed = *read != 0 && lanes_of(lanes, leader).all(|lane| self.observes(*read, lane));
                let old = (*write, *read);
                (*write, *read) =
                    self.records.with_strong_write(party, old, (leader, lanes), observed, all_behind);
            } else {
                *write = self.records.alone(self.access.party, self.access.lanes) << 5 | leader;
                *read = 0;
            }
        }
    }

    #[inline(always)]
    fn is_strong_write(&self) -> bool {
        self.access.write && self.access.party.site & STRONG != 0
    }

    /// Whether a strong read of the last write is behind the lane (ISA, «Causality Order»: who has seen a write has
    /// it behind it, though not what was before that).
    #[cold]
    fn observes(&self, reads: u32, leader: u32) -> bool {
        self.records.entries(reads).any(|entry| self.is_observer_behind(entry, leader))
    }

    fn is_observer_behind(&self, entry: Entry, leader: u32) -> bool {
        entry.0.site & OBSERVER != 0 && marks(entry).any(|mark| (self.behind)(mark, leader))
    }

    /// Whether the entry is one that a glance shows to be in order.
    #[inline(always)]
    fn is_in_order(&self, (record, lane): Entry, leader: u32) -> bool {
        let party = self.access.party;
        party.covers(&record)
            || party.means(&record)
            || (record.warp == party.warp
                && self.access.own
                && lane == leader
                && self.access.lanes == 1
                && record.lanes == 1
                && record.site & CROWD == 0
                && record.time != UNDER_WAY)
            || record.site & WITNESS != 0
    }

    #[inline(always)]
    fn are_fine(&self, word: u32, leader: u32) -> bool {
        word == 0 || self.records.entries(word).all(|entry| self.is_in_order(entry, leader))
    }

    /// Looks at each thread by itself. For writes there are the reads of the last one: whoever has a strong one behind
    /// it has seen that.
    #[cold]
    fn look(&self, word: u32, leader: u32, reads: Option<u32>, met: &mut Vec<Clash>) {
        for me in lanes_of(self.access.lanes, leader) {
            let mut seen = reads.is_some_and(|reads| self.observes(reads, me));
            for entry in self.records.entries(word) {
                let site = entry.0.site;
                let observes = reads.is_some() && self.is_observer_behind(entry, me);
                if site & WITNESS != 0 {
                    seen |= observes;
                    continue;
                }
                let of_strong = seen && site & STRONG != 0;
                let fine = (of_strong && entry.0.is_seen_whole()) || self.access.party.means(&entry.0);
                if !fine {
                    let lane = if site & CROWD == 0 { me } else { ANYBODY };
                    // Of a store of several lanes the last one's value was seen.
                    let unseen = entry.0.lanes.count_ones() as usize - usize::from(of_strong);
                    let unordered = |mark: &Mark| mark.time == UNDER_WAY || !(self.behind)(*mark, lane);
                    let old = marks(entry).take(unseen).find(unordered);
                    met.extend(old.map(|old| Clash { lane: me, old, address: 0 }));
                }
                // An atomic has seen the write before it.
                seen = site & OBSERVER != 0 && (seen || observes);
            }
        }
    }

    #[inline(always)]
    fn read(&mut self, old: u32, leader: u32) -> u32 {
        let (access, behind) = (self.access, self.behind);
        let all_behind = |entry: Entry| marks(entry).all(|mark| behind(mark, leader));
        self.records.with_reader(self.memo, access.party, (old, leader, access.lanes), all_behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that the shadow takes after warps of blocks have read or written the first words of a memory, row by row.
    fn size(words: u64, blocks: u32, write: bool) -> usize {
        let mut shadow = Shadow::default();
        let leaders: Vec<u32> = (0..32).collect();
        for row in 0..words / 32 {
            for block in 0..blocks {
                let warp = block * 9 + row as u32 % 8;
                let party = Party {
                    warp,
                    time: 2 + block,
                    site: 1,
                    first_warp: block * 9,
                    warps: 8,
                    floor: 0,
                    warp_floor: 0,
                    plain: true,
                    settled: false,
                    narrow: false,
                };
                let access = Access { party: &party, own: true, write, leaders: &leaders, lanes: 1 };
                shadow.tidy();
                let (range, count) = shadow.row(row * 128, 4, 32);
                assert_eq!(count, 32);
                let mut met = Vec::new();
                shadow.touch(range, &access, &mut Memo::default(), &|_, _| false, &mut met);
                assert!(met.is_empty() || write);
            }
        }
        shadow.pages.iter().map(|page| page.words.len() * 4).sum::<usize>() + shadow.records.bytes()
    }

    #[test]
    fn six_bytes_do_for_a_byte() {
        let words = 1 << 16;
        for (blocks, write) in [(1, false), (1, true), (3, false), (32, false), (1000, false)] {
            let each = size(words, blocks, write) as f64 / (words * 4) as f64;
            assert!(each <= 6.0, "{each} bytes for a byte, {blocks} blocks, write {write}");
        }
    }
}
