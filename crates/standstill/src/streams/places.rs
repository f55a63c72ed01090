//! Where the call sites of a trace stand in the program's source.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use standstill_report::{display_name, shorten};
use standstill_stream_order::{Place, Places};
use standstill_supervisor::resolve;
use standstill_trace::{Call, Frame, Record, Site};

use crate::call_sites::first_own_line;

/// A site with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) site: Site,
    pub(crate) file: String,
    pub(crate) line: u32,
}

/// The sites that a trace has named, and their places as far as they were asked for.
#[derive(Debug, Default)]
pub(super) struct KnownPlaces {
    objects: HashMap<u32, String>,
    sites: HashMap<Site, Vec<Frame>>,
    backward: HashSet<Site>,
    found: RefCell<HashMap<Site, Option<Place>>>,
}

impl KnownPlaces {
    pub(super) fn take(&mut self, record: &Record) {
        match &record.call {
            Call::NameObject { object, path } => {
                self.objects.insert(*object, path.clone());
            }
            Call::NameSite { site, frames } => {
                self.sites.insert(*site, frames.clone());
            }
            Call::PlaceSite { site, file, line } => {
                let place = Place { file: file.clone(), line: *line };
                self.found.borrow_mut().insert(*site, Some(place));
            }
            Call::ForBackward { site } => {
                self.backward.insert(*site);
            }
            _ => {}
        }
    }

    /// All sites that stand in the program's source.
    pub(super) fn resolved(&self) -> Vec<Resolved> {
        let mut sites: Vec<Site> = self.sites.keys().copied().collect();
        sites.sort_unstable();
        let place = |site| self.place(site).map(|Place { file, line }| Resolved { site, file, line });
        sites.into_iter().filter_map(place).collect()
    }

    fn look_up(&self, site: Site) -> Option<Place> {
        let frames = self.sites.get(&site)?;
        let named = |frame: &Frame| Some((self.objects.get(&frame.object)?.as_str(), frame.address));
        let frames: Vec<(&str, u64)> = frames.iter().filter_map(named).collect();
        let frames = resolve(&frames);
        let own = first_own_line(&frames)?;
        Some(Place { file: own.file.clone(), line: own.line })
    }
}

impl Places for KnownPlaces {
    fn place(&self, site: Site) -> Option<Place> {
        if let Some(known) = self.found.borrow().get(&site) {
            return known.clone();
        }
        let place = self.look_up(site);
        self.found.borrow_mut().insert(site, place.clone());
        place
    }

    fn is_for_backward(&self, site: Site) -> bool {
        self.backward.contains(&site)
    }

    fn readable(&self, symbol: &str) -> String {
        shorten(&display_name(symbol))
    }
}
