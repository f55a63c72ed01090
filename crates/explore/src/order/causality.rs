//! How knowledge is handed on, and which accesses it leaves without order: PTX's memory consistency model, «Causality Order».

use standstill_kernel_ir::{Order, Scope};

use super::{FIRST_LOCATION, Mark, Orders, Part, What, knows, part};
use crate::follow::{Event, Looks, Shown, Touch, What as Fault};
use crate::knowers::Knowers;

impl Orders {
    /// The bit of what a location publishes for a block, or beyond it.
    fn location(&mut self, place: u32, block: u32, wide: bool) -> Knowers {
        let next = self.locations.len() as u32;
        let number = *self.locations.entry((place, block, wide)).or_insert(next) as usize;
        let bit = FIRST_LOCATION + number;
        self.overflow |= bit >= Knowers::MOST;
        Knowers::one(bit)
    }

    /// All bits of a location: those of the thread's own block, those of others beyond their blocks, and all.
    fn published(&self, place: u32, block: u32) -> (Knowers, Knowers, Knowers) {
        let (mut own, mut others, mut all) = (Knowers::NONE, Knowers::NONE, Knowers::NONE);
        for (&(there, of, wide), &number) in &self.locations {
            if there != place {
                continue;
            }
            let bit = Knowers::one(FIRST_LOCATION + number as usize);
            all |= bit;
            if of == block {
                own |= bit;
            } else if wide {
                others |= bit;
            }
        }
        (own, others, all)
    }

    pub(super) fn apply(&mut self, marks: &mut Vec<Mark>, thread: u8, event: Event) -> Option<Shown> {
        let me = usize::from(thread);
        let block = u32::from(thread) / self.per_block;
        match event {
            Event::Fence { wide, acquires, releases } => {
                let pending = part(Part::ReadOwnBlock, me)
                    | if wide { part(Part::ReadOthers, me) } else { Knowers::NONE };
                for mark in marks {
                    if acquires && mark.known.meets(pending) {
                        mark.known |= part(Part::Now, me);
                    }
                    if releases && mark.known.meets(part(Part::Now, me)) {
                        mark.known |= part(Part::FencedBlock, me)
                            | if wide { part(Part::FencedCard, me) } else { Knowers::NONE };
                    }
                }
                None
            }
            Event::Access { word, bytes, reads, writes, order, scope, site, .. } => {
                let strong = order != Order::Weak;
                let race = match self.looks {
                    Looks::Races => meets(marks, thread, word, bytes, writes, strong),
                    _ => None,
                };
                if strong && !marks.is_empty() {
                    // Pieces of one word are locations of their own.
                    let place = word * 8 + bytes.trailing_zeros().min(7);
                    let wide = scope >= Scope::Gpu || order == Order::Volatile || order == Order::Mmio;
                    if reads {
                        self.acquire(marks, me, block, place, order, wide);
                    }
                    if writes {
                        self.release(marks, me, block, place, order, wide, reads);
                    }
                }
                match &self.looks {
                    Looks::Races => {
                        self.note(
                            marks,
                            Mark {
                                word,
                                bytes,
                                thread,
                                what: What::Access { writes, strong },
                                site,
                                known: part(Part::Now, me),
                            },
                        );
                        race.map(|mark| {
                            let second = Touch { thread, writes, strong, site };
                            shown(Fault::Race, &mark, bytes, second)
                        })
                    }
                    Looks::Lives => {
                        let now = part(Part::Now, me);
                        let fault = marks.iter().find(|mark| {
                            let What::Freed { taken } = mark.what else { return false };
                            let here = mark.word == word && mark.bytes & bytes != 0;
                            here && (!taken && mark.thread != thread || !mark.known.meets(now))
                        });
                        let second = Touch { thread, writes, strong, site };
                        fault.map(|mark| shown(Fault::Reuse, mark, bytes, second))
                    }
                    Looks::Updates(roles) => roles.access(marks, thread, event),
                    Looks::Histories => None,
                }
            }
            Event::Operation { .. } => None,
            Event::Life { word, bytes, freed, site } => {
                match freed {
                    true => {
                        let what = What::Freed { taken: false };
                        let known = part(Part::Now, me);
                        marks
                            .iter_mut()
                            .filter(|mark| mark.word == word)
                            .for_each(|mark| mark.bytes &= !bytes);
                        marks.retain(|mark| mark.bytes != 0);
                        marks.push(Mark { word, bytes, thread, what, site, known });
                    }
                    false => {
                        let here =
                            marks.iter_mut().filter(|mark| mark.word == word && mark.bytes & bytes != 0);
                        here.for_each(|mark| mark.what = What::Freed { taken: true });
                    }
                }
                None
            }
        }
    }

    /// Keeps an access that could race.
    fn note(&mut self, marks: &mut Vec<Mark>, mark: Mark) {
        let What::Access { strong, .. } = mark.what else { return };
        if strong {
            self.strong.insert(mark.word);
        } else if self.plain.insert(mark.word) && self.strong.contains(&mark.word) {
            self.broken = true;
        }
        if self.plain.contains(&mark.word) {
            record(marks, mark);
        }
    }

    fn acquire(&mut self, marks: &mut [Mark], me: usize, block: u32, place: u32, order: Order, wide: bool) {
        let (own, others, _) = self.published(place, block);
        let acquires =
            matches!(order, Order::Acquire | Order::AcquireRelease | Order::SequentiallyConsistent);
        for mark in marks {
            if mark.known.meets(own) {
                mark.known |= part(if acquires { Part::Now } else { Part::ReadOwnBlock }, me);
            }
            if wide && mark.known.meets(others) {
                mark.known |= part(if acquires { Part::Now } else { Part::ReadOthers }, me);
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "they are what PTX says of a write")]
    fn release(
        &mut self,
        marks: &mut [Mark],
        me: usize,
        block: u32,
        place: u32,
        order: Order,
        wide: bool,
        adds: bool,
    ) {
        let releases =
            matches!(order, Order::Release | Order::AcquireRelease | Order::SequentiallyConsistent);
        let (to_block, to_card) = (self.location(place, block, false), self.location(place, block, true));
        let (_, _, all) = self.published(place, block);
        let (in_block, in_card) = if releases {
            (part(Part::Now, me), part(Part::Now, me))
        } else {
            (part(Part::FencedBlock, me) | part(Part::FencedCard, me), part(Part::FencedCard, me))
        };
        for mark in marks {
            // A read-modify-write goes on with what the write before it published.
            if !adds {
                mark.known.remove(all);
            }
            if mark.known.meets(in_block) {
                mark.known |= to_block;
            }
            if wide && mark.known.meets(in_card) {
                mark.known |= to_card;
            }
        }
    }
}

/// A fault of an access and of what a mark stands for.
fn shown(what: Fault, mark: &Mark, bytes: u8, second: Touch) -> Shown {
    let (writes, strong) = match mark.what {
        What::Access { writes, strong } => (writes, strong),
        What::Freed { .. } | What::Read { .. } => (true, true),
    };
    let first = Touch { thread: mark.thread, writes, strong, site: mark.site };
    Shown { what, word: mark.word, bytes: mark.bytes & bytes, first, between: None, second }
}

/// The first mark that an access races with.
fn meets(marks: &[Mark], thread: u8, word: u32, bytes: u8, writes: bool, strong: bool) -> Option<Mark> {
    let races = |mark: &&Mark| {
        let What::Access { writes: wrote, strong: was_strong } = mark.what else { return false };
        mark.word == word
            && mark.bytes & bytes != 0
            && mark.thread != thread
            && (wrote || writes)
            && !(was_strong && strong)
            && !knows(mark, thread)
    };
    marks.iter().find(races).copied()
}

/// Puts an access among the marks: a plain write stands for all accesses of its bytes before it.
fn record(marks: &mut Vec<Mark>, mark: Mark) {
    let hides = matches!(mark.what, What::Access { writes: true, strong: false });
    for old in marks.iter_mut().filter(|old| old.word == mark.word && old.bytes & mark.bytes != 0) {
        if hides || (old.thread, old.what) == (mark.thread, mark.what) {
            old.bytes &= !mark.bytes;
        }
    }
    marks.retain(|old| old.bytes != 0);
    marks.push(mark);
}
