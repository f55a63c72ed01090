//! Loops that a whole block goes round together, with a barrier in each turn.
//!
//! No warp of such a block waits by itself: each goes on when the others come. But when all live threads meet at
//! a barrier with the values that they had there before, and in between memory was not changed, then every
//! further round is the same: the block waits for what it read.

use std::sync::Arc;

use super::slice::Slice;
use super::spy::Read;
use super::watch::Parked;
use crate::decode::code::Place;
use crate::exec::core::lanes;
use crate::exec::warp::{State, Warp};
use crate::grid::block::Block;

/// Openings of barriers between two looks are at least and at most this many.
const LEAST: u64 = 8;
const MOST: u64 = 1024;
/// Openings that one look lasts.
const WINDOW: u64 = 8;

/// The watch of a block.
#[derive(Debug, Default)]
pub(crate) struct BlockWatch {
    /// Barriers that have opened.
    opened: u64,
    /// When to look again.
    next: u64,
    distance: u64,
    target: Option<Round>,
}

/// What is compared.
#[derive(Debug)]
struct Round {
    values: Vec<u64>,
    until: u64,
    recording: bool,
}

impl BlockWatch {
    /// Looks at nothing for a while, or again.
    pub(crate) fn suspend(&mut self, suspended: bool) {
        self.target = None;
        self.next = if suspended { u64::MAX } else { self.opened + LEAST };
    }
}

impl Block {
    /// All live threads meet at a barrier: whether this round was the same as the one before, and changed nothing.
    pub(crate) fn repeats(&mut self, id: u32) -> bool {
        let watch = &mut self.watch;
        watch.opened += 1;
        let opened = watch.opened;
        if opened < LEAST || opened < watch.next {
            return false;
        }
        let Some(before) = &self.watch.target else {
            let mut values = Vec::new();
            let keep = |value| {
                values.push(value);
                true
            };
            if self.each_value(id, keep).is_some() {
                self.watch.target = Some(Round { values, until: opened + WINDOW, recording: false });
                self.watch.next = 0;
            } else {
                self.end_round();
            }
            return false;
        };
        let mut rest = before.values.iter();
        let same = self.each_value(id, |value| rest.next() == Some(&value));
        let until = before.until;
        if same != Some(true) || rest.next().is_some() {
            if same.is_none() || opened >= until {
                self.end_round();
            }
            return false;
        }
        let Some(round) = &mut self.watch.target else { return false };
        if !round.recording {
            round.recording = true;
            round.until = opened + WINDOW;
            for warp in &mut self.warps {
                warp.flow.watch.left_to_block(true);
                warp.spy.start();
            }
            return false;
        }
        if self.warps.iter().any(|warp| warp.spy.effect) {
            self.end_round();
            return false;
        }
        true
    }

    /// Parks all threads of the block, which have just passed a barrier, for what they have read.
    pub(crate) fn park(&mut self) {
        let mut reads: Vec<Read> = Vec::new();
        for read in self.warps.iter_mut().flat_map(|warp| std::mem::take(&mut warp.spy.reads)) {
            if !reads.iter().any(|other| other.address == read.address && other.bytes == read.bytes) {
                reads.push(read);
            }
        }
        let timed = self.warps.iter().any(|warp| warp.spy.timed);
        for warp in &mut self.warps {
            for index in 0..warp.flow.groups.len() {
                let group = warp.flow.groups.get(index).map(|group| (group.frame, group.pc));
                let slice = group.and_then(|(frame, pc)| slice(warp, frame, pc.checked_sub(1)?));
                let head = slice.and_then(|slice| slice.head);
                if let Some(group) = warp.flow.groups.get_mut(index) {
                    let parked =
                        Parked { reads: reads.clone(), timed, head: head.unwrap_or(group.pc), steps: false };
                    group.state = State::Parked(Box::new(parked));
                }
            }
        }
        self.end_round();
    }

    /// Stops watching for a while.
    fn end_round(&mut self) {
        for warp in &mut self.warps {
            warp.spy.stop();
            warp.flow.watch.left_to_block(false);
        }
        let watch = &mut self.watch;
        watch.target = None;
        watch.distance = (watch.distance * 2).clamp(LEAST, MOST);
        watch.next = watch.opened + watch.distance;
    }

    /// Visits the places and the values that matter, until `visit` says that it is enough, which gives false; `None` when
    /// not all live threads wait at this barrier inside of a loop.
    fn each_value(&self, id: u32, mut visit: impl FnMut(u64) -> bool) -> Option<bool> {
        for warp in &self.warps {
            for group in &warp.flow.groups {
                if !matches!(group.state, State::AtBarrier(at) if at == id) {
                    return None;
                }
                let slice = slice(warp, group.frame, group.pc)?;
                slice.head?;
                let place = [u64::from(group.frame), u64::from(group.pc), u64::from(group.mask)];
                let value =
                    |&place: &Place| lanes(group.mask).map(move |lane| warp.value(group.frame, place, lane));
                // Of callers everything matters.
                let base = warp.flow.frames.get(group.frame as usize)?.base;
                let narrow =
                    warp.registers.narrow.get(..base.narrow)?.iter().flat_map(|row| row.0.map(u64::from));
                let wide = warp.registers.wide.get(..base.wide)?.iter().flat_map(|row| row.0);
                let predicates =
                    warp.registers.predicates.get(..base.predicates)?.iter().map(|&bits| bits.into());
                let mut all = place
                    .into_iter()
                    .chain(slice.rows.iter().flat_map(value))
                    .chain(narrow)
                    .chain(wide)
                    .chain(predicates);
                if !all.all(&mut visit) {
                    return Some(false);
                }
            }
        }
        Some(true)
    }
}

/// What matters behind an operation.
fn slice(warp: &Warp, frame: u32, position: u32) -> Option<Arc<Slice>> {
    let code = &warp.flow.frames.get(frame as usize)?.code.0;
    Some(code.slices.behind(code, position))
}
