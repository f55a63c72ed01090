//! Asynchronous copies: their writes are under way until somebody has waited for them.

use std::collections::VecDeque;

use standstill_kernel_ir::{BulkCompletion, BulkDirection, MatrixKind, Op, Space};

use super::clock::Thread;
use super::shadow::Mark;
use super::{Actor, Memory, Race, UNDER_WAY};
use crate::decode::code::Micro;
use crate::exec::core::{Core, lanes};

/// The small copies of a thread.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Not yet in a group.
    open: Vec<Piece>,
    groups: VecDeque<Vec<Piece>>,
}

impl Copies {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.groups.iter().all(Vec::is_empty)
    }
}

/// Where a copy writes, and what it left in the shadow.
#[derive(Debug, Clone, Copy)]
struct Piece {
    memory: Memory,
    address: u64,
    bytes: u64,
    mark: Mark,
}

/// The largest elements that make up so many bytes, each aligned.
fn elements(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let (mut at, end) = (address, address.saturating_add(bytes));
    std::iter::from_fn(move || {
        let fits = |size: &u64| at.is_multiple_of(*size) && at.saturating_add(*size) <= end;
        let size = [8, 4, 2, 1].into_iter().find(fits)?;
        at += size;
        Some((at - size, size))
    })
}

impl Race {
    /// `cp.async`.
    pub(super) fn copy(&mut self, core: &mut Core<'_>, op: &Micro, position: usize, bytes: u64) {
        let site = self.site(core, position, None, true, true);
        let reads = self.site(core, position, None, false, true);
        let (block, warp) = (core.place.block, core.place.warp);
        let code = std::sync::Arc::clone(core.code);
        let Some(whole) = code.operations.get(op.x as usize) else { return };
        for lane in lanes(core.active) {
            let bytes = if bytes == 0 { core.read(whole.source(2), lane) } else { bytes }.min(16);
            let given =
                if whole.source(3).is_some() { core.read(whole.source(3), lane).min(bytes) } else { bytes };
            let (to, from) = (core.read(whole.source(0), lane), core.read(whole.source(1), lane));
            let Some(actor) = self.actor(block, warp, lane) else { return };
            if let Some((memory, address)) = self.memory(block, Space::Global, from) {
                self.range(
                    memory,
                    address,
                    given,
                    &actor,
                    Mark { thread: actor.number, time: actor.time, site: reads },
                    false,
                );
            }
            let Some((memory, address)) = self.memory(block, Space::Shared, to) else { continue };
            let mark = Mark { thread: actor.number, time: UNDER_WAY, site };
            self.range(memory, address, bytes, &actor, mark, true);
            if let Some(state) = self.block(block).warps.get_mut(warp as usize) {
                state.lane(lane).copies.open.push(Piece { memory, address, bytes, mark });
            }
        }
    }

    /// An access of many bytes, in pieces that lie in one page.
    fn range(&mut self, memory: Memory, address: u64, bytes: u64, actor: &Actor, mark: Mark, write: bool) {
        for (at, size) in elements(address, bytes) {
            self.touch_as(memory, at, size, actor, (mark, 0), write);
        }
    }

    /// `cp.async.commit_group`.
    pub(super) fn commit(&mut self, core: &Core<'_>) {
        let (block, warp) = (core.place.block, core.place.warp);
        let Some(state) = self.block(block).warps.get_mut(warp as usize) else { return };
        for lane in lanes(core.active) {
            let copies = &mut state.lane(lane).copies;
            let group = std::mem::take(&mut copies.open);
            copies.groups.push_back(group);
        }
    }

    /// `cp.async.wait_group` and `wait_all`.
    pub(super) fn wait(&mut self, core: &Core<'_>, op: &Micro) {
        let (block, warp) = (core.place.block, core.place.warp);
        let Some(whole) = core.code.operations.get(op.x as usize) else { return };
        let newest = whole.source(0);
        for lane in lanes(core.active) {
            let keep = if newest.is_some() { Some(core.read(newest, lane)) } else { None };
            self.finish_copies(block, warp, lane, keep);
        }
    }

    /// All but the newest groups are done; `None` means everything.
    fn finish_copies(&mut self, block: u32, warp: u32, lane: usize, keep: Option<u64>) {
        let Some(state) = self.block(block).warps.get_mut(warp as usize) else { return };
        let time = state.time;
        let copies = &mut state.lane(lane).copies;
        let mut done = Vec::new();
        while copies.groups.len() as u64 > keep.unwrap_or(0) {
            done.extend(copies.groups.pop_front().unwrap_or_default());
        }
        if keep.is_none() {
            done.append(&mut copies.open);
        }
        for piece in done {
            self.settle(&piece, time);
        }
    }

    fn settle(&mut self, piece: &Piece, time: u32) {
        let Piece { memory, address, bytes, mark } = *piece;
        let shadow = self.shadow(memory);
        for (at, size) in elements(address, bytes) {
            let range = shadow.range(at, size);
            shadow.settle(range, mark, time);
        }
    }

    /// `cp.async.mbarrier.arrive`: whoever waits at the mbarrier knows of the thread's copies.
    pub(super) fn copies_arrive(&mut self, core: &mut Core<'_>, position: usize, lane: usize) {
        let (block, warp) = (core.place.block, core.place.warp);
        self.finish_copies(block, warp, lane, None);
        let address = self.saved.addresses[lane];
        self.phase_arrive(core, position, lane, Space::Generic, address & 0xffff_ffff);
        self.phase_look(core, lane, Space::Generic, address & 0xffff_ffff);
    }

    /// Copies that tell of their end by an mbarrier, before they are done.
    pub(super) fn asynchronous(&mut self, core: &mut Core<'_>, op: &Micro, position: usize, what: Op) {
        let code = std::sync::Arc::clone(core.code);
        let Some(whole) = code.operations.get(op.x as usize) else { return };
        self.saved.addresses = [0; 32];
        match what {
            Op::BulkCopy { direction, tensor: false, completion, reduction: None, multicast: false } => {
                let (to_space, from_space) = match direction {
                    BulkDirection::GlobalToShared => (Space::Shared, Space::Global),
                    BulkDirection::SharedToShared => (Space::Shared, Space::Shared),
                    // What a bulk group waits for is not followed.
                    _ => return,
                };
                if completion != BulkCompletion::Mbarrier {
                    return;
                }
                let site = self.site(core, position, None, true, true);
                let reads = self.site(core, position, None, false, true);
                for lane in lanes(core.active) {
                    let [to, from, bytes, barrier] =
                        [0, 1, 2, 3].map(|index| core.read(whole.source(index), lane));
                    let bytes = bytes.min(1 << 20);
                    self.saved.addresses[lane] = barrier;
                    let Some(issuer) = self.actor(core.place.block, core.place.warp, lane) else { return };
                    if let Some((memory, address)) = self.memory(core.place.block, from_space, from) {
                        let mark = Mark { thread: issuer.number, time: issuer.time, site: reads };
                        self.range(memory, address, bytes, &issuer, mark, false);
                    }
                    let Some((memory, address)) = self.memory(core.place.block, to_space, to) else {
                        continue;
                    };
                    let copier = self.copier(core.place.block, barrier);
                    self.block(core.place.block).copies = true;
                    let time = self.tick();
                    let mark = Mark { thread: self.number(copier), time, site };
                    self.range(memory, address, bytes, &issuer, mark, true);
                    self.phase_copied(core.place.block, barrier, copier, time);
                }
            }
            Op::BulkCopy { tensor: true, completion: BulkCompletion::Mbarrier, multicast, .. } => {
                let behind = 1 + usize::from(multicast);
                let Some(index) = whole.sources.len().checked_sub(behind) else { return };
                self.save(core, op, index, index);
            }
            Op::BulkCopy { completion: BulkCompletion::Mbarrier, .. } => self.save(core, op, 3, 3),
            Op::AsyncStore { access, .. } => {
                let last = 1 + usize::from(access.elements.max(1));
                self.save(core, op, last, last);
            }
            Op::Matrix(MatrixKind::TensorCommit) => self.save(core, op, 0, 0),
            _ => {}
        }
    }

    /// Who stands for the copies that an mbarrier is told of.
    fn copier(&self, block: u32, barrier: u64) -> Thread {
        Thread { block, warp: self.warps, lane: (barrier / 8 % 32) as u32 }
    }

    /// After copies: their mbarriers may have gone on.
    pub(super) fn phases_after_copies(&mut self, core: &mut Core<'_>, what: Op) {
        if let Op::Matrix(kind) = what
            && kind != MatrixKind::TensorCommit
        {
            return;
        }
        for lane in lanes(core.active) {
            let address = self.saved.addresses[lane];
            if address != 0 {
                self.phase_look(core, lane, Space::Shared, address);
            }
        }
    }
}
