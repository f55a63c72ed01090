//! What is doubtful of registers, lane by lane.

use rustc_hash::FxHashMap;

use crate::decode::code::{Frame, Place, Plane};

/// The doubt about one register; empty for nearly all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Lanes whose value is what stood in memory that nobody wrote.
    pub(crate) unwritten: u32,
    /// Of these, the lanes whose value was computed from it, and not only moved.
    pub(crate) computed: u32,
    /// Lanes whose value the software GPU has no model for.
    pub(crate) unknown: u32,
    /// Where the first of it came from.
    pub(crate) origin: u32,
}

impl Mark {
    /// Lanes with any doubt.
    pub(crate) fn lanes(self) -> u32 {
        self.unwritten | self.unknown
    }

    /// The mark in some lanes only.
    pub(crate) fn only(self, lanes: u32) -> Mark {
        Mark {
            unwritten: self.unwritten & lanes,
            computed: self.computed & lanes,
            unknown: self.unknown & lanes,
            origin: self.origin,
        }
    }

    /// What two marks together doubt.
    pub(crate) fn or(self, other: Mark) -> Mark {
        let origin = if self.lanes() != 0 { self.origin } else { other.origin };
        Mark {
            unwritten: self.unwritten | other.unwritten,
            computed: self.computed | other.computed,
            unknown: self.unknown | other.unknown,
            origin,
        }
    }
}

/// The marks of a warp's registers. Nearly always there are none, and then it is small: it is moved in every turn.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    rows: Option<Box<FxHashMap<(Plane, usize), Mark>>>,
}

/// The row among all rows of a warp.
fn row(base: Frame, place: Place) -> (Plane, usize) {
    let start = match place.plane {
        Plane::Narrow => base.narrow,
        Plane::Wide => base.wide,
        Plane::Predicate => base.predicates,
    };
    (place.plane, start + place.slot.row())
}

impl Marks {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_none()
    }

    pub(crate) fn of(&self, base: Frame, place: Place) -> Mark {
        let Some(rows) = &self.rows else { return Mark::default() };
        if !place.is_some() || place.slot.is_constant() {
            return Mark::default();
        }
        rows.get(&row(base, place)).copied().unwrap_or_default()
    }

    /// The register has been written in these lanes.
    pub(crate) fn set(&mut self, base: Frame, place: Place, lanes: u32, mark: Mark) {
        if !place.is_some() || place.slot.is_constant() || (self.is_empty() && mark.lanes() == 0) {
            return;
        }
        let rows = self.rows.get_or_insert_default();
        let key = row(base, place);
        let whole = mark.only(lanes).or(rows.get(&key).copied().unwrap_or_default().only(!lanes));
        if whole.lanes() == 0 {
            rows.remove(&key);
        } else {
            rows.insert(key, whole);
        }
        self.tidy();
    }

    /// A function is entered whose frame begins here: its registers hold nothing of the one before.
    pub(crate) fn enter(&mut self, base: Frame, lanes: u32) {
        let Some(rows) = &mut self.rows else { return };
        rows.retain(|(plane, at), mark| {
            let start = match plane {
                Plane::Narrow => base.narrow,
                Plane::Wide => base.wide,
                Plane::Predicate => base.predicates,
            };
            if *at >= start {
                *mark = mark.only(!lanes);
            }
            mark.lanes() != 0
        });
        self.tidy();
    }

    fn tidy(&mut self) {
        if self.rows.as_ref().is_some_and(|rows| rows.is_empty()) {
            self.rows = None;
        }
    }
}
