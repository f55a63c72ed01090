//! What the checker says: two actors, the same bytes, no order.

use std::fmt;
use std::rc::Rc;

use standstill_findings::Rule;
use standstill_trace::{Mode, Site};

/// What was done to bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Deed {
    /// They were read.
    Read,
    /// They were written.
    Write,
    /// They were changed by atomic operations of the whole device only.
    Update,
    /// They may have been read or written: nothing more is known.
    May,
    /// They may have been read.
    MayRead,
    /// They may have been written.
    MayWrite,
    /// Their memory became usable.
    Begin,
    /// Their memory was given back.
    End,
}

impl Deed {
    /// Whether two of them need no order.
    pub(crate) fn agrees_with(self, other: Deed) -> bool {
        match (self, other) {
            (Deed::Read | Deed::MayRead, Deed::Read | Deed::MayRead) => true,
            _ => self == other && self == Deed::Update,
        }
    }

    /// Whether it rests on a pointer that was handed over, and not on what is done with it.
    pub(crate) fn is_guess(self) -> bool {
        matches!(self, Deed::May | Deed::MayRead | Deed::MayWrite)
    }

    /// Whether what was there before is gone.
    pub(crate) fn replaces(self) -> bool {
        matches!(self, Deed::Write | Deed::Begin | Deed::End)
    }
}

impl From<Mode> for Deed {
    fn from(mode: Mode) -> Deed {
        match mode {
            // A signal says something of accesses that are told besides.
            Mode::Read | Mode::Signal => Deed::Read,
            Mode::Write => Deed::Write,
            Mode::Update => Deed::Update,
            Mode::May => Deed::May,
            Mode::MayRead => Deed::MayRead,
            Mode::MayWrite => Deed::MayWrite,
        }
    }
}

/// What kind of thing touched bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// A kernel, by its name as the compiler wrote it.
    Kernel(Rc<str>),
    /// Anything else, in a noun.
    Other(&'static str),
    /// A function of CUDA, or an error, by its name.
    Api(Rc<str>),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Kernel(name) => write!(f, "kernel `{name}`"),
            Name::Other(noun) => f.write_str(noun),
            Name::Api(name) => write!(f, "`{name}`"),
        }
    }
}

/// Who touched bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The stream; `None` for the host itself.
    pub stream: Option<u64>,
    /// The host thread that called.
    pub thread: u32,
    /// Where that call stands.
    pub site: Site,
    /// The number of the record in the trace, from 0.
    pub record: u64,
    /// What it is.
    pub name: Name,
    /// The launch of the graph that it is a node of, and where that call stands.
    pub graph: Option<(u64, Site)>,
}

/// How sure it is that two actors touch the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// One of them may touch no more than other bytes of the same memory.
    Wide,
    /// One of them was handed a pointer to exactly these bytes, which the other is known to change.
    Pointer,
    /// Both are known to touch them.
    Known,
}

impl Certainty {
    /// How sure it is that two touches, of which it is said whether their bytes are exact, concern the same bytes and
    /// one of them changes these; `None` where what is known of them says nothing against either.
    pub(crate) fn of(touches: [(Deed, bool); 2]) -> Option<Certainty> {
        let both_exact = touches.iter().all(|(_, exact)| *exact);
        let [one, other] = touches;
        let ((guess, exact), (other, _)) = match [one.0.is_guess(), other.0.is_guess()] {
            [false, false] => return Some(if both_exact { Certainty::Known } else { Certainty::Wide }),
            [true, _] => (one, other),
            [false, true] => (other, one),
        };
        match (guess, other) {
            // Of two pointers to the same byte one must be meant for results.
            (Deed::MayWrite, Deed::MayRead | Deed::MayWrite) | (Deed::MayRead, Deed::MayWrite) => {
                both_exact.then_some(Certainty::Wide)
            }
            (_, Deed::May | Deed::MayRead | Deed::MayWrite) => None,
            (Deed::MayWrite, Deed::Read) => exact.then_some(Certainty::Wide),
            // Kernels are handed pointers to what they read far more often than to what they write.
            (_, Deed::Read) => None,
            _ if both_exact => Some(Certainty::Pointer),
            _ => Some(Certainty::Wide),
        }
    }
}

/// Two actors that touch the same bytes without order, or a call that breaks a rule by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The rule that is broken.
    pub rule: Rule,
    /// The one that was submitted first, and what it does.
    pub earlier: (Actor, Deed),
    /// The other.
    pub later: (Actor, Deed),
    /// The first byte that both touch.
    pub address: u64,
    /// How many bytes both touch, as far as they were counted.
    pub bytes: u64,
    /// How sure it is that both touch them.
    pub certainty: Certainty,
    /// What stands between the two that looks like order and is none: a place and what is to be seen there.
    pub hints: Vec<(Site, String)>,
    /// Whether the earlier one is a copy from pageable memory to the default stream's device memory, which goes on when
    /// the call has returned.
    pub staged: bool,
    /// How often it was met.
    pub times: u64,
}

impl Conflict {
    /// Where the calls stand that must be ordered, the earlier first: between two launches of graphs these are the
    /// launches, not the calls that made the nodes.
    #[must_use]
    pub fn sites(&self) -> (Site, Site) {
        let (earlier, later) = (&self.earlier.0, &self.later.0);
        let of = |actor: &Actor| match actor.graph {
            Some((_, launch)) if earlier.graph != later.graph => launch,
            _ => actor.site,
        };
        (of(earlier), of(later))
    }
}
