//! The source map of one function.

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{FileId, Location, LocationId};

use crate::span::offset;
use crate::syntax::statement::Inlined;

/// Locations as `.loc` directives name them, each kept once.
pub(super) struct Locations {
    entries: Vec<Location>,
    /// The last entry for a file, line and column: what `inlined_at` refers to.
    last: FxHashMap<(u32, u32, u32), LocationId>,
}

impl Locations {
    pub(super) fn new() -> Self {
        Self { entries: vec![Location::default()], last: FxHashMap::default() }
    }

    /// The entry for a `.loc`.
    pub(super) fn add(&mut self, file: u32, line: u32, column: u16, inlined: Option<Inlined>) -> LocationId {
        let inlined_at = match inlined {
            None => LocationId(0),
            Some(call) if call.line == 0 => LocationId(0),
            Some(call) => {
                let place = (call.file, call.line, u32::from(call.column));
                match self.last.get(&place) {
                    Some(&id) => id,
                    None => self.entry(place, LocationId(0)),
                }
            }
        };
        self.entry((file, line, u32::from(column)), inlined_at)
    }

    pub(super) fn finish(self) -> Vec<Location> {
        self.entries
    }

    fn entry(&mut self, (file, line, column): (u32, u32, u32), inlined_at: LocationId) -> LocationId {
        let location = Location { file: FileId(file), line, column, inlined_at };
        if let Some(&id) = self.last.get(&(file, line, column))
            && self.entries.get(id.0 as usize) == Some(&location)
        {
            return id;
        }
        let id = LocationId(offset(self.entries.len()));
        self.entries.push(location);
        self.last.insert((file, line, column), id);
        id
    }
}
