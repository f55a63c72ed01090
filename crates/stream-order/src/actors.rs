//! Who does something, and what is kept of that.

use std::rc::Rc;

use rustc_hash::FxHashSet;
use standstill_trace::{Site, StreamKind};

use crate::conflict::{Actor, Name};
use crate::history::Before;

/// An actor and what is needed to judge it.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) actor: Actor,
    pub(crate) kind: Option<StreamKind>,
    pub(crate) host_function: bool,
    /// An access of the host's own that was seen to happen.
    pub(crate) seen: bool,
    /// A copy whose call has returned with its source in a staging buffer.
    pub(crate) staged: bool,
    /// The records at which it began and ended, where that is known.
    pub(crate) began: Option<u64>,
    pub(crate) ended: Option<u64>,
    /// What comes before it, where it may have to wait for the host.
    pub(crate) waits_behind: Option<Before>,
    /// It comes behind a wait for a value of which it is not known what ends it.
    pub(crate) unanswered: bool,
}

impl Known {
    /// An actor of which nothing else is known.
    pub(crate) fn of(actor: Actor) -> Known {
        Known {
            actor,
            kind: None,
            host_function: false,
            seen: false,
            staged: false,
            began: None,
            ended: None,
            waits_behind: None,
            unanswered: false,
        }
    }
}

/// Names that were met, each once.
#[derive(Debug, Default)]
pub(crate) struct Names(FxHashSet<Rc<str>>);

impl Names {
    pub(crate) fn get(&mut self, name: &str) -> Rc<str> {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let name: Rc<str> = name.into();
        self.0.insert(name.clone());
        name
    }
}

/// Who called, and where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) thread: u32,
    pub(crate) site: Site,
    pub(crate) record: u64,
}

impl Caller {
    pub(crate) fn actor(self, stream: Option<u64>, name: Name) -> Actor {
        Actor { stream, thread: self.thread, site: self.site, record: self.record, name, graph: None }
    }
}
