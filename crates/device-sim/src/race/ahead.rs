//! Blocks that run ahead of their turn, on a thread of their own.
//!
//! What their threads do in the block's own memory is looked at there and then. What they do in global memory is listed,
//! and looked at when all blocks before them have ended, as if they had run only then. It is all thrown away, and the
//! blocks run again in their turn, where anything else came in that blocks could notice of each other: a fault, a fence,
//! a release.

use std::sync::Arc;

use super::clock::{Clock, Thread};
use super::shape::{Layout, UNKEPT};
use super::touch::{Place, Places, run};
use super::{BlockState, Race, UNDER_WAY};
use crate::decode::code::LANES;

/// Most accesses that are listed.
const MOST: usize = 1 << 20;

/// Where an access went.
#[derive(Debug, Clone, Copy)]
enum Where {
    /// A layout by its number, and the address that it begins at.
    Known(u32, u64),
    /// One of the list's own.
    Own(u32, u64),
    /// Addresses and active lanes.
    Apart(u32),
}

/// An access of lanes of a warp to global memory.
#[derive(Debug, Clone, Copy)]
struct Listed {
    thread: Thread,
    time: u32,
    /// What the lanes knew.
    clock: u32,
    site: u32,
    flags: u32,
    write: bool,
    bytes: u64,
    place: Where,
}

/// What blocks ahead did in global memory.
#[derive(Debug, Default)]
pub(super) struct Log {
    all: Vec<Listed>,
    clocks: Vec<Arc<Clock>>,
    layouts: Vec<Arc<Layout>>,
    addresses: Vec<([u64; LANES], u32)>,
    /// The time and the number of places in the code at the beginning.
    began: u32,
    sites: usize,
    /// Something came in that needs the blocks before.
    pub(super) failed: bool,
}

impl Log {
    /// Lists an access.
    #[inline]
    pub(super) fn add(
        &mut self,
        clock: &Arc<Clock>,
        (thread, time): (Thread, u32),
        (site, flags, write): (u32, u32, bool),
        (places, bytes): (Places<'_>, u64),
    ) {
        self.failed |= self.all.len() >= MOST;
        if self.failed {
            return;
        }
        if !self.clocks.last().is_some_and(|last| Arc::ptr_eq(last, clock)) {
            self.clocks.push(Arc::clone(clock));
        }
        let place = match places {
            Places::Rows(layout, UNKEPT, base) => {
                self.layouts.push(Arc::clone(layout));
                Where::Own(self.layouts.len() as u32 - 1, base)
            }
            Places::Rows(_, number, base) => Where::Known(number, base),
            Places::Apart(at, active) => {
                self.addresses.push((*at, active));
                Where::Apart(self.addresses.len() as u32 - 1)
            }
        };
        let clock = self.clocks.len() as u32 - 1;
        self.all.push(Listed { thread, time, clock, site, flags, write, bytes, place });
    }
}

impl BlockState {
    /// Whether its threads have taken part in nothing but barriers and accesses.
    pub(super) fn is_simple(&self) -> bool {
        let lanes = self.warps.iter().all(|warp| warp.lanes.is_empty());
        lanes && self.hints.is_empty() && self.acquired.is_empty() && !self.copies
    }
}

impl Race {
    /// Whether nothing is known but who accessed what.
    fn is_simple(&self) -> bool {
        self.stale.is_none()
            && self.found.is_empty()
            && self.variables.is_empty()
            && self.phases.is_empty()
            && self.clusters.is_empty()
            && self.unchanged.is_empty()
            && self.life.is_empty()
    }

    /// The same for blocks that run ahead; `None` when none can.
    pub(crate) fn ahead(&self) -> Option<Box<Race>> {
        if !self.is_simple() || self.now > UNDER_WAY / 2 {
            return None;
        }
        let mut ahead = Race::new((self.grid, self.threads, self.cluster), 0, false, true)?;
        (ahead.seed, ahead.now, ahead.narrow) = (self.seed, self.now, self.narrow);
        ahead.sites.clone_from(&self.sites);
        ahead.site_numbers.clone_from(&self.site_numbers);
        ahead.plans = self.plans.clone();
        ahead.log = Some(Box::new(Log { began: self.now, sites: self.sites.len(), ..Log::default() }));
        Some(ahead)
    }

    /// Whether what was done ahead is of no use.
    pub(crate) fn has_failed(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.failed)
    }

    /// What blocks ahead do cannot be told without those before.
    #[inline]
    pub(super) fn fail(&mut self) {
        if let Some(log) = &mut self.log {
            log.failed = true;
        }
    }

    /// Whether nothing is known of blocks ahead but what is listed, nor of those before but who accessed what.
    fn can_join(&self, ahead: &Race) -> bool {
        let fits = |log: &Log| !log.failed && ahead.sites.len() == log.sites;
        let late = ahead.now > UNDER_WAY / 2 || self.now > UNDER_WAY / 2;
        ahead.log.as_ref().is_some_and(|log| fits(log)) && ahead.is_simple() && self.is_simple() && !late
    }

    /// Takes over what blocks did ahead, as if they had run now. Nothing of it when an access meets another one: then
    /// false.
    pub(crate) fn join(&mut self, ahead: &Race) -> bool {
        let Some(log) = ahead.log.as_ref().filter(|_| self.can_join(ahead)) else { return false };
        let by = self.now - log.began.min(self.now);
        let (warps, narrow) = (self.warps, self.narrow);
        let mut known: Option<(u32, Clock)> = None;
        self.global.note_changes();
        for listed in &log.all {
            let clock = match &known {
                Some((number, clock)) if *number == listed.clock => clock,
                _ => {
                    let Some(clock) = log.clocks.get(listed.clock as usize) else { return false };
                    &known.insert((listed.clock, clock.later(by))).1
                }
            };
            let places = match listed.place {
                Where::Known(number, base) => {
                    ahead.plans.layouts.get(number).map(|layout| Places::Rows(layout, number, base))
                }
                Where::Own(at, base) => {
                    log.layouts.get(at as usize).map(|layout| Places::Rows(layout, UNKEPT, base))
                }
                Where::Apart(at) => log.addresses.get(at as usize).map(|(at, on)| Places::Apart(at, *on)),
            };
            let Some(places) = places else { return false };
            let Listed { thread, site, flags, write, bytes, .. } = *listed;
            let place = Place { thread, time: listed.time + by, warps, settled: false, narrow };
            let found = run(&mut self.global, clock, place, (site, flags, write), (places, bytes));
            if !found.is_empty() {
                self.global.undo_changes();
                return false;
            }
        }
        self.global.keep_changes();
        self.now += ahead.now - log.began;
        for (site, of) in self.sites.iter_mut().zip(&ahead.sites) {
            site.contended |= of.contended;
        }
        true
    }
}
