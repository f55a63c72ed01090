//! What is followed beside threads and memory: a number in each state, what each step does to it, and the faults that it shows.
//!
//! A search looks for one kind of fault at a time. What it must remember for that is part of its states, and no more than that,
//! so that states are still met again.

use standstill_kernel_ir::{OperationMark, Order, Scope};

use crate::history::Histories;
use crate::order::Orders;
use crate::room::in_one_piece;
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
    /// Operations of shared structures that no order explains.
    Histories,
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
    /// An operation of a shared structure begins or ends; its subject is the structure, or the result.
    Operation { mark: OperationMark, subject: u64, arguments: [u64; 2], site: Site },
    /// Bytes of a word are freed, or taken again.
    Life { word: u32, bytes: u8, freed: bool, site: Site },
}

in_one_piece!(Event, Shown);

/// What a running thread did that matters, as far as it is looked for.
#[derive(Debug)]
pub(crate) struct Events {
    list: Vec<Event>,
    /// Values matter.
    values: bool,
    /// Life marks matter.
    pub(crate) lives: bool,
    /// Only operation marks matter.
    pub(crate) operations: bool,
}

impl Events {
    pub(crate) fn new(looks: &Looks) -> Events {
        Events {
            list: Vec::new(),
            values: matches!(looks, Looks::Updates(_)),
            lives: matches!(looks, Looks::Lives),
            operations: matches!(looks, Looks::Histories),
        }
    }

    pub(crate) fn push(&mut self, mut event: Event) {
        if self.operations != matches!(event, Event::Operation { .. }) {
            return;
        }
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
    /// No order of the operations explains what one of them gave.
    NoOrder,
    /// The marks of operations do not fit together.
    Marks(Misfit),
}

/// What does not fit about a mark of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Misfit {
    /// An end of what its thread has not begun.
    EndsNothing,
    /// A beginning before the thread's last operation has ended.
    BeginsWithin,
    /// An operation of another kind of structure than those before it.
    OtherKind,
    /// The thread ends before the operation does.
    NeverEnds,
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

/// What is followed in a search.
pub(crate) enum Follower {
    /// Who is ordered after what.
    Orders(Orders),
    /// Operations that threads have begun and ended.
    Histories(Histories),
}

impl Follower {
    pub(crate) fn new(per_block: u32, looks: Looks) -> Follower {
        match looks {
            Looks::Histories => Follower::Histories(Histories::new()),
            other => Follower::Orders(Orders::new(per_block, other)),
        }
    }

    /// Forgets all states.
    pub(crate) fn restart(&mut self) {
        match self {
            Follower::Orders(orders) => orders.restart(),
            Follower::Histories(histories) => *histories = Histories::new(),
        }
    }

    /// A list that takes up what a running thread does.
    pub(crate) fn events(&self) -> Events {
        match self {
            Follower::Orders(orders) => Events::new(orders.looks()),
            Follower::Histories(_) => Events::new(&Looks::Histories),
        }
    }

    /// The number of what a step did.
    pub(crate) fn effect(&mut self, events: Vec<Event>) -> u32 {
        match self {
            Follower::Orders(orders) => orders.effect(events),
            Follower::Histories(histories) => histories.effect(events),
        }
    }

    /// What is followed after what a thread did, and the fault that it showed.
    pub(crate) fn after(&mut self, now: u32, thread: u8, effect: u32) -> (u32, u32) {
        match self {
            Follower::Orders(orders) => orders.after(now, thread, effect),
            Follower::Histories(histories) => histories.after(now, thread, effect),
        }
    }

    /// What is followed after these threads met.
    pub(crate) fn meet(&mut self, now: u32, team: &[usize]) -> u32 {
        match self {
            Follower::Orders(orders) => orders.meet(now, team),
            Follower::Histories(_) => now,
        }
    }

    /// What is followed without what does not matter any more when only these threads still run.
    pub(crate) fn forget(&mut self, now: u32, live: impl Iterator<Item = usize>) -> u32 {
        match self {
            Follower::Orders(orders) => orders.forget(now, live),
            Follower::Histories(_) => now,
        }
    }

    /// What [`Follower::after`] gives, where it was asked before.
    pub(crate) fn known_after(&self, now: u32, thread: u8, effect: u32) -> Option<(u32, u32)> {
        match self {
            Follower::Orders(orders) => orders.known_after(now, thread, effect),
            Follower::Histories(histories) => histories.known_after(now, thread, effect),
        }
    }

    /// What [`Follower::forget`] gives, where it was asked before.
    pub(crate) fn known_to_forget(&self, now: u32, live: impl Iterator<Item = usize>) -> Option<u32> {
        match self {
            Follower::Orders(orders) => orders.known_to_forget(now, live),
            Follower::Histories(_) => Some(now),
        }
    }

    /// How many different ones there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Follower::Orders(orders) => orders.len(),
            Follower::Histories(histories) => histories.len(),
        }
    }

    pub(crate) fn shown(&self, number: u32) -> Option<Shown> {
        match self {
            Follower::Orders(orders) => orders.shown(number),
            Follower::Histories(histories) => histories.shown(number),
        }
    }

    pub(crate) fn is_broken(&self) -> bool {
        matches!(self, Follower::Orders(orders) if orders.broken)
    }

    /// There is more to follow than fits.
    pub(crate) fn overflows(&self) -> bool {
        matches!(self, Follower::Orders(orders) if orders.overflow)
    }

    pub(crate) fn has_all(&self) -> bool {
        matches!(self, Follower::Orders(orders) if orders.has_all())
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Follower::Orders(orders) => orders.bytes(),
            Follower::Histories(histories) => histories.bytes(),
        }
    }
}
