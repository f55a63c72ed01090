//! Accesses of a block's shared memory between two of its barriers that cannot meet each other: they are only listed.
//! The barrier puts them all behind what comes, and then the list is forgotten, so most never get into the shadow.
//!
//! As soon as something comes that may meet one of them, or that has to look at the shadow, they are put into the shadow
//! in their order, which then is as if there had been no list.

use standstill_kernel_ir::Space;

use super::clock::{Clock, Thread};
use super::plan::Plan;
use super::shape::UNKEPT;
use super::touch::{Place, Places, run};
use super::{BlockState, Memory, Race};
use crate::address::{SHARED, SHARED_STEP};
use crate::decode::code::LANES;

/// Most accesses of a list, and of one with writes, in which each new access has to be compared with the others.
const MOST_READS: usize = 4096;
const MOST_WITH_WRITES: usize = 96;
/// Most atomics of a list.
const MOST_ATOMICS: usize = 512;
/// Set in the number of a layout where the addresses are an atomic's, each kept as it is.
const ATOMIC: u32 = 1 << 31;
/// So many barriers after a list was of no use there is none.
const PAUSE: u32 = 8;

/// An access of a warp whose lanes know what all of the block did up to the last barrier, and nothing else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quiet {
    pub(super) warp: u32,
    pub(super) time: u32,
    pub(super) site: u32,
    pub(super) flags: u32,
    pub(super) write: bool,
    /// The address of the first active lane, and the number of the layout.
    pub(super) base: u32,
    pub(super) layout: u32,
    /// From the first byte up to behind the last one.
    pub(super) bytes: [u32; 2],
    /// Bytes of an element.
    pub(super) size: u32,
}

/// The offsets of an atomic's active lanes in shared memory.
#[derive(Debug, Clone, Copy)]
struct Offsets {
    active: u32,
    at: [u32; LANES],
}

impl Offsets {
    /// With their lowest and highest; `None` where one is no whole element of the block's own shared memory.
    #[inline(always)]
    fn new(at: &[u64; LANES], active: u32, plan: &Plan) -> Option<(Offsets, [u32; 2])> {
        let generic = plan.access.space == Space::Generic;
        let first = at[active.trailing_zeros() as usize % LANES];
        let mut offsets = Offsets { active, at: [0; LANES] };
        let (mut strange, mut low, mut high) = (0u64, u32::MAX, 0);
        for lane in 0..LANES {
            let address = if active >> lane & 1 != 0 { at[lane] } else { first };
            let offset = (address as u32).wrapping_sub(SHARED as u32);
            let beyond = if generic { address >> 32 } else { 0 };
            strange |= beyond
                | u64::from(offset & !(SHARED_STEP as u32 - 1))
                | (u64::from(offset) & (plan.bytes - 1));
            (low, high) = (low.min(offset), high.max(offset));
            offsets.at[lane] = offset;
        }
        (strange == 0).then_some((offsets, [low, high]))
    }
}

/// Bytes from one address up to behind another one.
#[derive(Debug, Clone, Copy)]
struct Bytes([u32; 2]);

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes([u32::MAX, 0])
    }
}

impl Bytes {
    fn meets(&self, other: [u32; 2]) -> bool {
        self.0[0] < other[1] && other[0] < self.0[1]
    }

    fn add(&mut self, other: [u32; 2]) {
        self.0 = [self.0[0].min(other[0]), self.0[1].max(other[1])];
    }
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
    /// Atomics of one block mean each other, in whatever order they come.
    atomics: Vec<Offsets>,
    /// Where plain accesses are, and where atomics are.
    plain_bytes: Bytes,
    atomic_bytes: Bytes,
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
        if !self.is_open(floor) || access.layout == UNKEPT || self.atomic_bytes.meets(access.bytes) {
            return false;
        }
        let most = if access.write || !self.writes.is_empty() { MOST_WITH_WRITES } else { MOST_READS };
        let others = if access.write { &self.all } else { &self.writes };
        if self.all.len() >= most || others.iter().any(|other| other.may_meet(&access)) {
            return false;
        }
        self.all.push(access);
        self.plain_bytes.add(access.bytes);
        if access.write {
            self.writes.push(access);
        }
        true
    }

    /// Takes an atomic when it meets none of the plain accesses.
    #[inline]
    fn takes_atomic(&mut self, access: Quiet, offsets: &Offsets, floor: u32) -> bool {
        let index = self.atomics.len();
        if !self.is_open(floor) || index >= MOST_ATOMICS || self.plain_bytes.meets(access.bytes) {
            return false;
        }
        self.atomics.push(*offsets);
        self.atomic_bytes.add(access.bytes);
        self.all.push(Quiet { layout: ATOMIC | index as u32, ..access });
        true
    }

    #[inline(always)]
    fn is_open(&mut self, floor: u32) -> bool {
        if self.all.is_empty() {
            self.floor = floor;
        }
        !self.closed && self.pause == 0 && floor == self.floor
    }

    fn empty(&mut self) {
        self.all.clear();
        self.writes.clear();
        self.atomics.clear();
        (self.plain_bytes, self.atomic_bytes) = Default::default();
    }

    /// Nothing was there.
    pub(super) fn renew(&mut self) {
        self.forget();
        (self.floor, self.pause) = (0, 0);
    }

    /// Everything in the shadow and in the list is behind what comes.
    pub(super) fn forget(&mut self) {
        self.empty();
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

    /// The same for an atomic that orders nothing and whose result nobody looks at.
    #[inline(always)]
    pub(super) fn is_quiet_atomic(
        &mut self,
        (block, warp): (u32, u32),
        plan: &Plan,
        (at, active): (&[u64; LANES], u32),
    ) -> bool {
        if plan.access.space == Space::Global || self.cluster != [1; 3] || !self.life.is_empty() {
            return false;
        }
        let Some((offsets, [low, high])) = Offsets::new(at, active, plan) else { return false };
        let BlockState { warps, quiet, .. } = self.block(block);
        let Some(of) = warps.get(warp as usize).filter(|of| of.knows_alike()) else { return false };
        let clock = of.clock(0);
        let access = Quiet {
            warp,
            time: of.time,
            site: plan.writes,
            flags: plan.flags,
            write: true,
            base: low,
            layout: ATOMIC,
            bytes: [low, high + plan.bytes as u32],
            size: plan.bytes as u32,
        };
        clock.knows_only_its_block() && quiet.takes_atomic(access, &offsets, clock.floor())
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
            let thread = Thread { block, warp: access.warp, lane: 0 };
            let place = Place { thread, time: access.time, warps, settled: true, narrow: false };
            let what = (access.site, access.flags, access.write);
            let size = access.size.into();
            if access.layout & ATOMIC == 0 {
                if let Some(layout) = layouts.get(access.layout) {
                    let places = Places::Rows(layout, access.layout, access.base.into());
                    run(shadow, &clock, place, what, (places, size));
                }
            } else if let Some(Offsets { active, at }) = quiet.atomics.get((access.layout & !ATOMIC) as usize)
            {
                run(shadow, &clock, place, what, (Places::Apart(&at.map(u64::from), *active), size));
            }
        }
        quiet.empty();
        self.plans.layouts = layouts;
    }
}
