//! Taking changes of the shadow back. Records stay as they are, and none is freed meanwhile.

use smallvec::SmallVec;

use super::{Page, Range, Shadow};

/// Words of a page before a change: where, how many, and of which size.
#[derive(Debug)]
pub(super) struct Change {
    page: u32,
    shift: u32,
    start: u32,
    words: SmallVec<[u32; 64]>,
}

impl Change {
    /// Before all bytes of a page are told apart.
    pub(super) fn of_page(number: u32, page: &Page) -> Option<Change> {
        let Page { shift, .. } = *page;
        (shift != 0).then(|| Change {
            page: number,
            shift,
            start: 0,
            words: SmallVec::from_slice(&page.words),
        })
    }
}

impl Shadow {
    /// Changes can be taken back from now on.
    pub(in crate::race) fn note_changes(&mut self) {
        self.changes = Some(Vec::new());
    }

    /// They are kept.
    pub(in crate::race) fn keep_changes(&mut self) {
        self.changes = None;
    }

    /// They are taken back.
    pub(in crate::race) fn undo_changes(&mut self) {
        for change in self.changes.take().unwrap_or_default().into_iter().rev() {
            let Some(page) = self.pages.get_mut(change.page as usize) else { continue };
            if page.shift != change.shift {
                (page.words, page.shift) = (change.words.into_vec(), change.shift);
                continue;
            }
            let (start, half) = (change.start as usize, change.words.len() / 2);
            let Some((writes, reads)) = page.cells(start, start + half) else { continue };
            let (old_writes, old_reads) = change.words.split_at(half);
            writes.copy_from_slice(old_writes);
            reads.copy_from_slice(old_reads);
        }
    }

    #[inline(never)]
    pub(super) fn note_change(&mut self, range: Range) {
        let (Some(changes), Some(page)) = (&mut self.changes, self.pages.get_mut(range.page as usize)) else {
            return;
        };
        let shift = page.shift;
        let Some((writes, reads)) = page.cells(range.start as usize, range.end as usize) else { return };
        let words = writes.iter().chain(reads.iter()).copied().collect();
        changes.push(Change { page: range.page, shift, start: range.start, words });
    }
}
