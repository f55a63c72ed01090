//! Which bytes of global memory a grid has touched, and how.
//!
//! Belongs here: the set of bytes. Does not belong here: who touched them, and in which order (`race`).

use std::ops::Range;

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{Access, FenceKind, Op, Order, Scope, Space};

use crate::address::{Window, window};
use crate::decode::code::{Micro, Origin, Slot};
use crate::exec::core::{Core, lanes};
use crate::exec::memory::{addresses, element_bytes};
use crate::grid::WORKSPACE;

/// Bytes of a page: one bit for each.
const PAGE: u64 = 4096;
const WORDS: usize = PAGE as usize / 64;

/// What was done to bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touched {
    /// They were read.
    Read,
    /// They were written.
    Written,
    /// They were changed by atomic operations.
    Updated,
    /// They were also accessed by operations that the host can take part in: volatile ones, and strong ones of system
    /// scope. In a grid that has executed a fence of system scope, or such an acquire or release, all bytes that were
    /// touched count.
    Signalled,
}

#[derive(Debug)]
struct Page([[u64; WORDS]; 4]);

/// Whether the host can synchronise with such an access (PTX ISA, «Memory Consistency Model», scopes).
fn signals(access: &Access) -> bool {
    match access.order {
        Order::Weak => false,
        Order::Volatile | Order::Mmio => true,
        _ => access.scope == Scope::Sys,
    }
}

/// Whether such an access orders what stands before or behind it for the host, too.
fn orders(access: &Access) -> bool {
    let orders = matches!(
        access.order,
        Order::Acquire | Order::Release | Order::AcquireRelease | Order::SequentiallyConsistent
    );
    orders && access.scope == Scope::Sys
}

/// The bytes that a grid has touched so far.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    pages: FxHashMap<u64, Box<Page>>,
    /// Memory of the grid's own, which nobody outside has a part in.
    own: Vec<Range<u64>>,
    /// Whether a fence of system scope was executed.
    fenced: bool,
    /// Whether an operation was met whose addresses are not followed.
    incomplete: bool,
}

/// Sees an operation of a warp before it is executed.
#[inline]
pub(crate) fn note(core: &mut Core<'_>, op: &Micro, position: usize) {
    if core.grid.reach.is_none() {
        return;
    }
    let Some(Origin::Instruction(id)) = core.code.origins.get(position) else { return };
    let Some(what) = core.code.function.instructions.get(id.0 as usize).map(|instruction| instruction.op)
    else {
        return;
    };
    let handled = |access: &Access| matches!(access.space, Space::Global | Space::Generic);
    match what {
        // The copy of an address that a vector overwrites is no access.
        Op::Load(access) | Op::Store(access) if handled(&access) && op.c != Slot::NONE => {
            let how = if matches!(what, Op::Load(_)) { Touched::Read } else { Touched::Written };
            let Some(bytes) = element_bytes(access.ty) else { return };
            let at = addresses(core, op);
            let active = core.active;
            if let Some(reach) = &mut core.grid.reach {
                reach.fenced |= orders(&access);
                reach.warp(&at, active, bytes.into(), how);
                if signals(&access) {
                    reach.warp(&at, active, bytes.into(), Touched::Signalled);
                }
            }
        }
        Op::Atomic { access, .. } if handled(&access) => {
            let bytes = u64::from(access.ty.bytes()) * u64::from(access.elements.max(1));
            if let Some(reach) = &mut core.grid.reach {
                reach.fenced |= orders(&access);
            }
            lane_by_lane(core, op, 0, |_| bytes, Touched::Updated);
            if signals(&access) {
                lane_by_lane(core, op, 0, |_| bytes, Touched::Signalled);
            }
        }
        Op::AsyncCopy { bytes: 0 } => lane_by_lane(core, op, 1, |size| size, Touched::Read),
        Op::AsyncCopy { bytes } => lane_by_lane(core, op, 1, |_| bytes.into(), Touched::Read),
        Op::Fence { kind: FenceKind::Thread, scope: Scope::Sys, .. } => {
            if let Some(reach) = &mut core.grid.reach {
                reach.fenced = true;
            }
        }
        Op::BulkCopy { .. } => {
            if let Some(reach) = &mut core.grid.reach {
                reach.incomplete = true;
            }
        }
        _ => {}
    }
}

/// Operations whose address is one of their operands; `bytes` is given the third one.
fn lane_by_lane(core: &mut Core<'_>, op: &Micro, operand: usize, bytes: impl Fn(u64) -> u64, how: Touched) {
    let code = core.code;
    let Some(whole) = code.operations.get(op.x as usize) else { return };
    for lane in lanes(core.active) {
        let address = core.read(whole.source(operand), lane);
        let size = if whole.source(2).is_some() { core.read(whole.source(2), lane) } else { 0 };
        if let Some(reach) = &mut core.grid.reach {
            reach.add(address, bytes(size).min(16), how);
        }
    }
}

impl Reach {
    /// Nothing so far; a cooperative grid's workspace will not count.
    pub(crate) fn without(workspace: u64) -> Reach {
        let own =
            (workspace != 0).then(|| workspace..workspace.saturating_add(WORKSPACE)).into_iter().collect();
        Reach { own, ..Reach::default() }
    }

    /// Memory that the grid has allocated for itself does not count: the next one may get the same.
    pub(crate) fn leave_out(&mut self, range: Range<u64>) {
        self.own.push(range);
    }

    /// Adds what other blocks of the grid have touched.
    pub(crate) fn join(&mut self, other: &Reach) {
        for (number, theirs) in &other.pages {
            let page = self.pages.entry(*number).or_insert_with(|| Box::new(Page([[0; WORDS]; 4])));
            let words = page.0.as_flattened_mut().iter_mut().zip(theirs.0.as_flattened());
            words.for_each(|(word, theirs)| *word |= theirs);
        }
        self.own.extend(other.own.iter().cloned());
        self.fenced |= other.fenced;
        self.incomplete |= other.incomplete;
    }

    fn warp(&mut self, at: &[u64], active: u32, bytes: u64, how: Touched) {
        // Neighbours in the order of the lanes are one range.
        let mut run: Option<(u64, u64)> = None;
        for lane in lanes(active) {
            let Some(&address) = at.get(lane) else { return };
            run = match run {
                Some((start, end)) if end == address => Some((start, end + bytes)),
                Some((start, end)) if start <= address && address + bytes <= end => Some((start, end)),
                Some((start, end)) => {
                    self.add(start, end - start, how);
                    Some((address, address.saturating_add(bytes)))
                }
                None => Some((address, address.saturating_add(bytes))),
            };
        }
        if let Some((start, end)) = run {
            self.add(start, end - start, how);
        }
    }

    fn add(&mut self, address: u64, bytes: u64, how: Touched) {
        if !matches!(window(address), Window::Global) {
            return;
        }
        let (mut at, end) = (address, address.saturating_add(bytes));
        while at < end {
            let page = self.pages.entry(at / PAGE).or_insert_with(|| Box::new(Page([[0; WORDS]; 4])));
            let border = (at / PAGE + 1).saturating_mul(PAGE).min(end);
            let bits = page.0.get_mut(how as usize).map(<[u64; WORDS]>::as_mut_slice).unwrap_or_default();
            set(bits, (at % PAGE)..(at % PAGE + (border - at)));
            at = border;
        }
    }

    /// The ranges, by address; `None` when some are not known.
    pub(crate) fn ranges(&self) -> Option<Vec<(Touched, Range<u64>)>> {
        if self.incomplete {
            return None;
        }
        let mut numbers: Vec<u64> = self.pages.keys().copied().collect();
        numbers.sort_unstable();
        let mut ranges: Vec<(Touched, Range<u64>)> = Vec::new();
        for how in [Touched::Read, Touched::Written, Touched::Updated, Touched::Signalled] {
            let first = ranges.len();
            for number in &numbers {
                let Some(page) = self.pages.get(number) else { continue };
                let [read, written, updated, signalled] = &page.0;
                for word in 0..WORDS {
                    let [read, written, updated, signalled] =
                        [read, written, updated, signalled].map(|bits| bits.get(word).copied().unwrap_or(0));
                    // A byte that is written is written, whatever else is done to it.
                    let bits = match how {
                        Touched::Read => read & !written,
                        Touched::Written => written,
                        Touched::Updated => updated & !written,
                        Touched::Signalled if self.fenced => read | written | updated,
                        Touched::Signalled => signalled,
                    };
                    runs(bits, number * PAGE + word as u64 * 64, |range| match ranges.get_mut(first..) {
                        Some([.., (_, last)]) if last.end == range.start => last.end = range.end,
                        _ => ranges.push((how, range)),
                    });
                }
            }
        }
        if !self.own.is_empty() {
            ranges.retain(|(_, range)| !self.own.iter().any(|own| own.contains(&range.start)));
        }
        ranges.sort_by_key(|(how, range)| (range.start, *how));
        Some(ranges)
    }
}

/// Sets a range of bits.
fn set(words: &mut [u64], range: Range<u64>) {
    let mut at = range.start;
    while at < range.end {
        let (word, bit) = (at as usize / 64, at % 64);
        let count = (64 - bit).min(range.end - at);
        let mask = if count == 64 { u64::MAX } else { ((1 << count) - 1) << bit };
        if let Some(word) = words.get_mut(word) {
            *word |= mask;
        }
        at += count;
    }
}

/// The runs of set bits in a word, as addresses from `base` on.
fn runs(mut bits: u64, base: u64, mut take: impl FnMut(Range<u64>)) {
    let mut at = 0;
    while bits != 0 {
        let skip = bits.trailing_zeros();
        bits >>= skip;
        at += u64::from(skip);
        let count = bits.trailing_ones();
        take(base + at..base + at + u64::from(count));
        bits = if count == 64 { 0 } else { bits >> count };
        at += u64::from(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_exact_and_joined_over_words_and_pages() {
        let mut reach = Reach::default();
        let base = 0x7f00_0000_0000;
        reach.add(base + 60, PAGE, Touched::Read);
        reach.add(base + 100, 4, Touched::Written);
        reach.add(base + 100, 8, Touched::Updated);
        let expected = vec![
            (Touched::Read, base + 60..base + 100),
            (Touched::Written, base + 100..base + 104),
            (Touched::Read, base + 104..base + PAGE + 60),
            (Touched::Updated, base + 104..base + 108),
        ];
        assert_eq!(reach.ranges(), Some(expected));
    }

    #[test]
    fn what_the_host_can_take_part_in_is_told_besides() {
        let mut reach = Reach::default();
        let base = 0x7f00_0000_0000;
        reach.add(base, 4, Touched::Written);
        reach.add(base + 8, 4, Touched::Read);
        reach.add(base + 8, 4, Touched::Signalled);
        let plain = [(Touched::Written, base..base + 4), (Touched::Read, base + 8..base + 12)];
        let with = |signals: &[u64]| {
            let mut all = plain.to_vec();
            all.extend(signals.iter().map(|start| (Touched::Signalled, *start..*start + 4)));
            all.sort_by_key(|(how, range)| (range.start, *how));
            Some(all)
        };
        assert_eq!(reach.ranges(), with(&[base + 8]));
        reach.fenced = true;
        assert_eq!(reach.ranges(), with(&[base, base + 8]));
    }

    #[test]
    fn memory_of_the_grids_own_is_left_out() {
        let base = 0x7f00_0000_0000;
        let mut reach = Reach::without(base);
        reach.leave_out(base + 8192..base + 8200);
        for at in [base + 4, base + 4096, base + 8192] {
            reach.add(at, 4, Touched::Updated);
        }
        assert_eq!(reach.ranges(), Some(vec![(Touched::Updated, base + 4096..base + 4100)]));
    }

    #[test]
    fn a_warp_of_neighbours_is_one_range() {
        let mut reach = Reach::default();
        let base = 0x7f00_0000_0000;
        let at: Vec<u64> = (0..32).map(|lane| base + lane * 4).collect();
        reach.warp(&at, 0xffff_0fff, 4, Touched::Read);
        let expected = vec![(Touched::Read, base..base + 48), (Touched::Read, base + 64..base + 128)];
        assert_eq!(reach.ranges(), Some(expected));
    }
}
