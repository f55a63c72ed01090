//! Pages of watched memory: what each lets through, and for which unfinished operations.

use std::ops::Range;

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// What a page refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refuses {
    /// Nothing.
    Nothing,
    /// Writes: unfinished operations read it.
    Writes,
    /// Reads and writes: unfinished operations may write it.
    Everything,
}

impl Refuses {
    fn refuses(self, write: bool) -> bool {
        self == Refuses::Everything || (write && self == Refuses::Writes)
    }

    /// What is left after such an access was let through.
    fn after(write: bool) -> Refuses {
        if write { Refuses::Nothing } else { Refuses::Writes }
    }
}

/// An operation: streams carry out theirs in the order of these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The stream.
    pub stream: u64,
    /// The operation's number.
    pub operation: u64,
}

/// Pages that an unfinished operation may touch.
#[derive(Debug)]
struct Guard {
    pages: Range<usize>,
    refuses: Refuses,
    /// The newest operation of a stream that touches exactly these.
    owner: Owner,
}

/// A run of pages of the program.
#[derive(Debug)]
pub(crate) struct Region {
    /// The first address as the program sees it, and as the device does.
    pub(crate) program: usize,
    pub(crate) device: usize,
    /// Whether kernels may reach it without being given its address.
    pub(crate) everywhere: bool,
    pages: Vec<Refuses>,
    guards: Vec<Guard>,
}

/// What became of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Another thread has opened the page in between.
    WasOpen,
    /// The page has been opened.
    Opened,
}

/// Changes what the system lets through: address, bytes, what is refused; false when that is not possible.
pub(crate) type Apply<'a> = &'a mut dyn FnMut(usize, usize, Refuses) -> bool;

impl Region {
    pub(crate) fn new(program: usize, device: usize, bytes: usize, everywhere: bool) -> Region {
        let pages = vec![Refuses::Nothing; bytes.div_ceil(PAGE)];
        Region { program, device, everywhere, pages, guards: Vec::new() }
    }

    /// Bytes of its pages.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.len() * PAGE
    }

    pub(crate) fn end(&self) -> usize {
        self.program + self.bytes()
    }

    pub(crate) fn holds(&self, address: usize) -> bool {
        (self.program..self.end()).contains(&address)
    }

    /// The pages of a range of addresses, as far as they are in the region.
    fn pages_of(&self, range: &Range<usize>) -> Range<usize> {
        let page = |address: usize| address.saturating_sub(self.program) / PAGE;
        let end = range.end.min(self.end());
        if end <= range.start.max(self.program) {
            return 0..0;
        }
        page(range.start)..page(end - 1) + 1
    }

    /// From now on an operation may touch these bytes.
    pub(crate) fn guard(
        &mut self,
        range: &Range<usize>,
        refuses: Refuses,
        owner: Owner,
        pins: &[Range<usize>],
        apply: Apply<'_>,
    ) {
        let pages = self.pages_of(range);
        if pages.is_empty() {
            return;
        }
        let known = self.guards.iter_mut().find(|guard| {
            guard.pages == pages && guard.refuses == refuses && guard.owner.stream == owner.stream
        });
        match known {
            Some(guard) => guard.owner = owner,
            None => self.guards.push(Guard { pages: pages.clone(), refuses, owner }),
        }
        self.raise(pages, refuses, pins, apply);
    }

    /// Whether operations are unfinished that may touch a byte of the range in a way that such an access is of interest.
    pub(crate) fn is_guarded(&self, range: &Range<usize>, write: bool) -> bool {
        let pages = self.pages_of(range);
        let meets = |guard: &Guard| guard.pages.start < pages.end && pages.start < guard.pages.end;
        self.guards.iter().any(|guard| meets(guard) && guard.refuses.refuses(write))
    }

    /// Protects again what accesses have opened.
    pub(crate) fn rearm(&mut self, pins: &[Range<usize>], apply: Apply<'_>) {
        let guards: Vec<(Range<usize>, Refuses)> =
            self.guards.iter().map(|guard| (guard.pages.clone(), guard.refuses)).collect();
        for (pages, refuses) in guards {
            self.raise(pages, refuses, pins, apply);
        }
    }

    /// Forgets operations that are finished, and opens what no other one touches.
    pub(crate) fn release(&mut self, finished: &dyn Fn(Owner) -> bool, apply: Apply<'_>) {
        let mut open: Vec<Range<usize>> = Vec::new();
        self.guards.retain(|guard| {
            let done = finished(guard.owner);
            if done {
                open.push(guard.pages.clone());
            }
            !done
        });
        for pages in open {
            let needed: Vec<Refuses> = pages.clone().map(|page| self.needed(page)).collect();
            let first = pages.start;
            self.change(
                pages,
                |page, now| now.min(needed.get(page - first).copied().unwrap_or(Refuses::Nothing)),
                apply,
            );
        }
    }

    fn needed(&self, page: usize) -> Refuses {
        let guards = self.guards.iter().filter(|guard| guard.pages.contains(&page));
        guards.map(|guard| guard.refuses).max().unwrap_or(Refuses::Nothing)
    }

    fn raise(&mut self, pages: Range<usize>, refuses: Refuses, pins: &[Range<usize>], apply: Apply<'_>) {
        let pinned: Vec<Range<usize>> = pins.iter().map(|pin| self.pages_of(pin)).collect();
        let is_pinned = |page: usize| pinned.iter().any(|pages| pages.contains(&page));
        self.change(pages, |page, now| if is_pinned(page) { now } else { now.max(refuses) }, apply);
    }

    /// An access that was refused: lets it through.
    pub(crate) fn fault(&mut self, address: usize, write: bool, apply: Apply<'_>) -> Outcome {
        let page = (address - self.program) / PAGE;
        let now = self.pages.get(page).copied().unwrap_or(Refuses::Nothing);
        if !now.refuses(write) {
            return Outcome::WasOpen;
        }
        self.change(page..page + 1, |_, _| Refuses::after(write), apply);
        Outcome::Opened
    }

    /// Lets a system call through; tells whether a page was closed to it.
    pub(crate) fn open(&mut self, range: &Range<usize>, write: bool, apply: Apply<'_>) {
        let pages = self.pages_of(range);
        self.change(pages, |_, now| now.min(Refuses::after(write)), apply);
    }

    /// Changes pages in runs that are alike.
    fn change(&mut self, pages: Range<usize>, to: impl Fn(usize, Refuses) -> Refuses, apply: Apply<'_>) {
        let mut run: Option<(usize, Refuses)> = None;
        let mut works = true;
        for page in pages.start..=pages.end {
            let now = self.pages.get_mut(page).filter(|_| page < pages.end);
            let wanted =
                now.as_ref().map(|now| to(page, **now)).filter(|wanted| now.as_deref() != Some(wanted));
            if run.map(|(_, refuses)| refuses) != wanted {
                if let Some((first, refuses)) = run {
                    works &= apply(self.program + first * PAGE, (page - first) * PAGE, refuses);
                }
                run = wanted.map(|wanted| (page, wanted));
            }
            if let (Some(now), Some(wanted)) = (now, wanted) {
                *now = wanted;
            }
        }
        if !works {
            // The system has a limit on how many pieces there may be: one piece is always possible.
            self.pages.fill(Refuses::Nothing);
            apply(self.program, self.bytes(), Refuses::Nothing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: usize = 0x10000;

    /// What the system was told last, for each page.
    struct Told(Vec<Refuses>);

    impl Told {
        fn apply(&mut self, address: usize, bytes: usize, refuses: Refuses) -> bool {
            let first = (address - BASE) / PAGE;
            self.0[first..first + bytes / PAGE].fill(refuses);
            true
        }

        fn text(&self) -> String {
            let letter = |refuses: &Refuses| match refuses {
                Refuses::Nothing => '-',
                Refuses::Writes => 'w',
                Refuses::Everything => 'a',
            };
            self.0.iter().map(letter).collect()
        }
    }

    fn page(first: usize, count: usize) -> Range<usize> {
        BASE + first * PAGE..BASE + (first + count) * PAGE
    }

    fn by(stream: u64, operation: u64) -> Owner {
        Owner { stream, operation }
    }

    #[test]
    fn pages_are_closed_as_long_as_an_operation_needs_it() {
        let mut told = Told(vec![Refuses::Nothing; 6]);
        let mut region = Region::new(BASE, 0, 6 * PAGE, false);
        let mut check = |act: &mut dyn FnMut(&mut Region, Apply<'_>), expected: &str| {
            act(&mut region, &mut |address, bytes, refuses| told.apply(address, bytes, refuses));
            assert_eq!(told.text(), expected);
        };
        check(
            &mut |r, a| r.guard(&(BASE + 10..BASE + PAGE + 1), Refuses::Everything, by(1, 1), &[], a),
            "aa----",
        );
        check(&mut |r, a| r.guard(&page(1, 3), Refuses::Writes, by(2, 2), &[], a), "aaww--");
        // A read leaves a page closed to writes.
        check(&mut |r, a| assert_eq!(r.fault(BASE + 5, false, a), Outcome::Opened), "waww--");
        check(&mut |r, a| assert_eq!(r.fault(BASE + 5, false, a), Outcome::WasOpen), "waww--");
        check(&mut |r, a| assert_eq!(r.fault(BASE + 2 * PAGE, true, a), Outcome::Opened), "wa-w--");
        // The next operation closes them again, but for those that a system call uses.
        check(&mut |r, a| r.guard(&page(1, 3), Refuses::Writes, by(2, 3), &[], a), "waww--");
        check(&mut |r, a| r.rearm(&[page(0, 1)], a), "waww--");
        check(&mut |r, a| r.rearm(&[], a), "aaww--");
        check(&mut |r, a| r.release(&|owner| owner == by(1, 1), a), "-www--");
        check(&mut |r, a| r.release(&|owner| owner == by(2, 2), a), "-www--");
        check(&mut |r, a| r.open(&page(1, 1), true, a), "--ww--");
        check(&mut |r, a| r.release(&|_| true, a), "------");
    }

    #[test]
    fn a_region_that_has_too_many_pieces_is_opened_as_a_whole() {
        let mut region = Region::new(BASE, 0, 4 * PAGE, false);
        let mut told = Vec::new();
        let mut apply = |address, bytes, refuses| {
            told.push((address, bytes, refuses));
            told.len() != 2
        };
        region.guard(&page(0, 4), Refuses::Everything, by(1, 1), &[], &mut apply);
        region.fault(BASE + PAGE, true, &mut apply);
        assert_eq!(told.last(), Some(&(BASE, 4 * PAGE, Refuses::Nothing)));
        assert!(region.is_guarded(&page(0, 1), false));
        assert!(region.pages.iter().all(|page| *page == Refuses::Nothing));
    }
}
