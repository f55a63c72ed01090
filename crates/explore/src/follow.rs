//! What is followed beside threads and memory: a number in each state, what each step does to it, and the faults that it shows.
//!
//! A search looks for one kind of fault at a time. What it must remember for that is part of its states, and no more than that,
//! so that states are still met again.

use standstill_kernel_ir::{Order, Scope};

use crate::updates::Roles;

/// Where an instruction stands: function and instruction.
pub(crate) type Site = (u32, u32);

/// No fault.
pub(crate) const NOTHING: u32 = u32::MAX;

/// What a search looks for.
#[derive(Debug, Clone, Default)]
pub(crate) enum Looks {
    /// Races.
    #[default]
    Races,
    /// Uses of memory that was freed.
    Lives,
    /// Updates that are lost, and compare-and-swaps that are fooled.
    Updates(Roles),
}

/// What a step does that matters for what is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    /// An access of memory that others can see; of no bytes for one that only hands order on. Where updates are followed, it
    /// says what the bytes of the word held before and after, and of a compare-and-swap whether it succeeded.
    Access {
        word: u32,
        bytes: u8,
        reads: bool,
        writes: bool,
        order: Order,
        scope: Scope,
        site: Site,
        before: u64,
        after: u64,
        swapped: Option<bool>,
    },
    /// A fence.
    Fence { wide: bool, acquires: bool, releases: bool },
    /// Bytes of a word are freed, or taken again.
    Life { word: u32, bytes: u8, freed: bool, site: Site },
}

/// What a running thread did that matters, as far as it is looked for.
#[derive(Debug)]
pub(crate) struct Events {
    list: Vec<Event>,
    /// Values matter.
    values: bool,
    /// Life marks matter.
    pub(crate) lives: bool,
}

impl Events {
    pub(crate) fn new(looks: &Looks) -> Events {
        let values = matches!(looks, Looks::Updates(_));
        Events { list: Vec::new(), values, lives: matches!(looks, Looks::Lives) }
    }

    pub(crate) fn push(&mut self, mut event: Event) {
        if let Event::Access { before, after, swapped, .. } = &mut event
            && !self.values
        {
            (*before, *after, *swapped) = (0, 0, None);
        }
        self.list.push(event);
    }

    pub(crate) fn into_list(self) -> Vec<Event> {
        self.list
    }
}

/// What a fault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// Two accesses without order.
    Race,
    /// A use of memory that was freed before.
    Reuse,
    /// A write that does not know of a change since its thread read.
    LostUpdate,
    /// A compare-and-swap that succeeds although what stood behind the value has changed.
    Aba,
}

/// A fault that a step shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Shown {
    pub(crate) what: What,
    pub(crate) word: u32,
    /// The bytes of the word that it is about.
    pub(crate) bytes: u8,
    pub(crate) first: Touch,
    /// What another thread did between the two.
    pub(crate) between: Option<Touch>,
    /// The step that shows it.
    pub(crate) second: Touch,
}

/// One access of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Touch {
    pub(crate) thread: u8,
    pub(crate) writes: bool,
    pub(crate) strong: bool,
    pub(crate) site: Site,
}
