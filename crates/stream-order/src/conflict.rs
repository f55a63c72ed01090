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
    /// Their memory became usable.
    Begin,
    /// Their memory was given back.
    End,
}

impl Deed {
    /// Whether two of them need no order.
    pub(crate) fn agrees_with(self, other: Deed) -> bool {
        self == other && matches!(self, Deed::Read | Deed::Update)
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
    /// Whether both really touch them, and not only wider ranges around.
    pub exact: bool,
    /// What stands between the two that looks like order and is none: a place and what is to be seen there.
    pub hints: Vec<(Site, String)>,
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
