//! Accesses of a block's shared memory between two of its barriers that cannot meet each other: they are only listed.
//! The barrier puts them all behind what comes, and then the list is forgotten, so most never get into the shadow.
//!
//! As soon as something comes that may meet one of them, or that has to look at the shadow, they are put into the shadow
//! in their order, which then is as if there had been no list.

use super::clock::{Clock, Thread};
use super::shape::UNKEPT;
use super::touch::{Place, run};
use super::{BlockState, Memory, Race};

/// Most accesses of a list, and of one with writes, in which each new access has to be compared with the others.
const MOST_READS: usize = 4096;
const MOST_WITH_WRITES: usize = 96;
/// So many barriers after a list was of no use there is none.
const PAUSE: u32 = 8;

/// An access of a warp whose lanes know what all of the block did up to the last barrier, and nothing else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quiet {
    pub(super) warp: u32,
    pub(super) time: u32,
    pub(super) site: u32,
    pub(super) write: bool,
    /// The address of the first active lane, and the number of the layout.
    pub(super) base: u32,
    pub(super) layout: u32,
    /// From the first byte up to behind the last one.
    pub(super) bytes: [u32; 2],
    /// Bytes of an element.
    pub(super) size: u32,
}

impl Quiet {
    fn may_meet(&self, other: &Quiet) -> bool {
        let overlap = self.bytes[0] < other.bytes[1] && other.bytes[0] < self.bytes[1];
        // Each lane comes to its own place once more.
        let same = (self.warp, self.base, self.layout) == (other.warp, other.base, other.layout);
        overlap && (self.write || other.write) && !same
    }
}

/// The list of a block.
#[derive(Debug, Default)]
pub(super) struct QuietList {
    all: Vec<Quiet>,
    writes: Vec<Quiet>,
    /// Up to when everything of the block is behind those in the list.
    floor: u32,
    /// Something is in the shadow.
    closed: bool,
    pause: u32,
}

impl QuietList {
    /// Takes an access when it meets none of the others.
    #[inline]
    fn takes(&mut self, access: Quiet, floor: u32) -> bool {
        if self.closed || self.pause > 0 || access.layout == UNKEPT {
            return false;
        }
        if self.all.is_empty() {
            self.floor = floor;
        }
        if floor != self.floor {
            return false;
        }
        let most = if access.write || !self.writes.is_empty() { MOST_WITH_WRITES } else { MOST_READS };
        let others = if access.write { &self.all } else { &self.writes };
        if self.all.len() >= most || others.iter().any(|other| other.may_meet(&access)) {
            return false;
        }
        self.all.push(access);
        if access.write {
            self.writes.push(access);
        }
        true
    }

    /// Everything in the shadow and in the list is behind what comes.
    pub(super) fn forget(&mut self) {
        self.all.clear();
        self.writes.clear();
        self.closed = false;
        self.pause = self.pause.saturating_sub(1);
    }
}

impl Race {
    /// Lists an access of a warp, of which all lanes know the same. False when that cannot be.
    #[inline(always)]
    pub(super) fn is_quiet(&mut self, block: u32, access: Quiet) -> bool {
        if self.cluster != [1; 3] {
            return false;
        }
        let BlockState { warps, quiet, .. } = self.block(block);
        let Some(of) = warps.get(access.warp as usize) else { return false };
        let clock = of.clock(0);
        clock.knows_only_its_block() && quiet.takes(Quiet { time: of.time, ..access }, clock.floor())
    }

    /// Puts the listed accesses of a block into the shadow.
    #[inline(always)]
    pub(super) fn wake(&mut self, memory: Memory) {
        if let Memory::Shared(block) = memory
            && !self.block(block).quiet.closed
        {
            self.wake_block(block);
        }
    }

    #[cold]
    fn wake_block(&mut self, block: u32) {
        let layouts = std::mem::take(&mut self.plans.layouts);
        let warps = self.warps;
        let BlockState { shadow, quiet, .. } = self.block(block);
        quiet.closed = true;
        if !quiet.all.is_empty() {
            quiet.pause = PAUSE;
        }
        let clock = Clock::of_block(block, warps, quiet.floor);
        for access in &quiet.all {
            let Some(layout) = layouts.get(access.layout) else { continue };
            let thread = Thread { block, warp: access.warp, lane: 0 };
            let place = Place { thread, time: access.time, warps, settled: true, narrow: false };
            run(shadow, &clock, place, (access.site, 0, access.write), |together| {
                together.rows(layout, access.base.into(), access.size.into());
            });
        }
        quiet.all.clear();
        quiet.writes.clear();
        self.plans.layouts = layouts;
    }
}
