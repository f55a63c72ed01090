//! Who wrote and read each piece of memory last. Pieces are of four bytes until something smaller is accessed in
//! their page; then that page knows each byte.

use rustc_hash::FxHashMap;

/// Bytes of a page.
const PAGE: u64 = 1024;
/// Bytes of a piece.
const PIECE: u64 = 4;
/// «Nobody», and «a set of readers».
pub(crate) const NOBODY: u32 = u32::MAX;
const SET: u32 = u32::MAX - 1;
/// Most entries of a set of readers.
const MOST_READERS: usize = 36;

/// An access: the thread's number, its time, and the number of the place in the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) thread: u32,
    pub(crate) time: u32,
    pub(crate) site: u32,
}

impl Mark {
    const NONE: Mark = Mark { thread: NOBODY, time: 0, site: 0 };
}

/// Lanes of a warp that read at one time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Readers {
    /// Number of the warp in the grid.
    warp: u32,
    time: u32,
    mask: u32,
    site: u32,
}

impl Readers {
    pub(crate) fn marks(self) -> impl Iterator<Item = Mark> {
        crate::exec::core::lanes(self.mask).map(move |lane| Mark {
            thread: self.warp * 32 + lane as u32,
            time: self.time,
            site: self.site,
        })
    }
}

/// What is known of a piece or a byte. A set of readers stands in `read.time`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) write: Mark,
    read: Mark,
}

const EMPTY: Cell = Cell { write: Mark::NONE, read: Mark::NONE };

/// A page, by pieces or by bytes.
#[derive(Debug)]
struct Page {
    cells: Vec<Cell>,
    shift: u32,
}

impl Page {
    fn new() -> Page {
        Page { cells: vec![EMPTY; (PAGE / PIECE) as usize], shift: 2 }
    }

    fn by_bytes(&mut self, sets: &mut Vec<Vec<Readers>>) {
        if self.shift == 0 {
            return;
        }
        let mut cells = Vec::with_capacity(PAGE as usize);
        for cell in &self.cells {
            for byte in 0..PIECE {
                let mut copy = *cell;
                if byte > 0 && cell.read.thread == SET {
                    sets.push(sets.get(cell.read.time as usize).cloned().unwrap_or_default());
                    copy.read.time = sets.len() as u32 - 1;
                }
                cells.push(copy);
            }
        }
        *self = Page { cells, shift: 0 };
    }
}

/// The shadow of a memory.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    index: FxHashMap<u64, u32>,
    pages: Vec<Page>,
    sets: Vec<Vec<Readers>>,
    last: Option<(u64, u32)>,
}

/// The cells of an access: a page and a range in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    page: u32,
    start: u32,
    end: u32,
}

impl Range {
    pub(crate) fn cells(self) -> impl Iterator<Item = (u32, u32)> {
        (self.start..self.end).map(move |cell| (self.page, cell))
    }
}

impl Shadow {
    /// The cells of `bytes` bytes at an address; they must not cross the end of a page, which aligned elements
    /// never do.
    #[inline]
    pub(crate) fn range(&mut self, address: u64, bytes: u64) -> Range {
        let number = address / PAGE;
        let page = match self.last {
            Some((last, page)) if last == number => page,
            _ => {
                let fresh = self.pages.len() as u32;
                let page = *self.index.entry(number).or_insert(fresh);
                if page == fresh {
                    self.pages.push(Page::new());
                }
                self.last = Some((number, page));
                page
            }
        };
        let offset = address % PAGE;
        let mut shift = 2;
        if let Some(of) = self.pages.get_mut(page as usize) {
            if !(offset | bytes).is_multiple_of(PIECE) {
                of.by_bytes(&mut self.sets);
            }
            shift = of.shift;
        }
        let end = ((offset + bytes) >> shift).min(PAGE >> shift);
        Range { page, start: (offset >> shift) as u32, end: end as u32 }
    }

    #[inline]
    pub(crate) fn cell(&self, (page, cell): (u32, u32)) -> Cell {
        self.pages.get(page as usize).and_then(|page| page.cells.get(cell as usize)).copied().unwrap_or(EMPTY)
    }

    fn cell_mut(&mut self, (page, cell): (u32, u32)) -> Option<&mut Cell> {
        self.pages.get_mut(page as usize)?.cells.get_mut(cell as usize)
    }

    /// The readers since the last write.
    pub(crate) fn readers(&self, cell: Cell) -> (Option<Mark>, &[Readers]) {
        match cell.read.thread {
            NOBODY => (None, &[]),
            SET => (None, self.sets.get(cell.read.time as usize).map_or(&[], Vec::as_slice)),
            _ => (Some(cell.read), &[]),
        }
    }

    /// Notes a write, which the reads before it are behind.
    pub(crate) fn write(&mut self, at: (u32, u32), mark: Mark) {
        let Some(cell) = self.cell_mut(at) else { return };
        let read = cell.read;
        *cell = Cell { write: mark, read: Mark::NONE };
        if read.thread == SET
            && let Some(set) = self.sets.get_mut(read.time as usize)
        {
            set.clear();
            // The set stays the cell's.
            if let Some(cell) = self.cell_mut(at) {
                cell.read = read;
            }
        }
    }

    /// Changes the time of the last write if it is still this one.
    pub(crate) fn settle(&mut self, at: (u32, u32), old: Mark, time: u32) {
        if let Some(cell) = self.cell_mut(at)
            && cell.write == old
        {
            cell.write.time = time;
        }
    }

    /// Notes a read. `ordered` says whether an earlier access is behind the reader.
    #[inline]
    pub(crate) fn read(&mut self, at: (u32, u32), mark: Mark, ordered: impl Fn(Mark) -> bool) {
        let Some(cell) = self.cell_mut(at) else { return };
        let read = cell.read;
        if read.thread == NOBODY || read.thread == mark.thread {
            cell.read = mark;
            return;
        }
        if read.thread != SET {
            if ordered(read) {
                cell.read = mark;
                return;
            }
            let set = self.sets.len() as u32;
            if let Some(cell) = self.cell_mut(at) {
                cell.read = Mark { thread: SET, time: set, site: 0 };
            }
            let one = |mark: Mark| Readers {
                warp: mark.thread / 32,
                time: mark.time,
                mask: 1 << (mark.thread % 32),
                site: mark.site,
            };
            self.sets.push(vec![one(read)]);
            self.add(set, mark, ordered);
            return;
        }
        self.add(read.time, mark, ordered);
    }

    fn add(&mut self, set: u32, mark: Mark, ordered: impl Fn(Mark) -> bool) {
        let Some(set) = self.sets.get_mut(set as usize) else { return };
        let (warp, bit) = (mark.thread / 32, 1 << (mark.thread % 32));
        if let Some(last) = set.last_mut()
            && last.warp == warp
            && last.time == mark.time
        {
            (last.mask, last.site) = (last.mask | bit, mark.site);
            return;
        }
        let mut index = 0;
        while let Some(entry) = set.get_mut(index) {
            if entry.warp == warp {
                entry.mask &= !bit;
            }
            let lane = entry.mask.trailing_zeros();
            let first = Mark { thread: entry.warp * 32 + lane % 32, time: entry.time, site: entry.site };
            if entry.mask == 0 || (entry.warp != warp && entry.mask.count_ones() == 1 && ordered(first)) {
                set.swap_remove(index);
            } else {
                index += 1;
            }
        }
        if set.len() >= MOST_READERS {
            // Which one goes does not matter much; the oldest is the likeliest to be behind a later write.
            let oldest = (0..set.len()).min_by_key(|&at| set.get(at).map_or(0, |entry| entry.time));
            if let Some(oldest) = oldest {
                set.swap_remove(oldest);
            }
        }
        set.push(Readers { warp, time: mark.time, mask: bit, site: mark.site });
    }
}
