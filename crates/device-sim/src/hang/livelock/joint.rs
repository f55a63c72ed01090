//! The joint state of threads: where each one is, and what decides how it goes on.
//!
//! Registers count only where their values may still matter to a loop's course, so that a counter which only counts
//! hides no repetition. Memory is not part of it; see [`super::ledger`].

use crate::decode::code::Place;
use crate::exec::core::lanes;
use crate::exec::warp::{Group, State, Warp};
use crate::grid::Grid;
use crate::hang::spy::mix;

/// Local memory of a warp beyond this is not compared.
const MOST_LOCAL: usize = 1 << 16;

/// Visits what makes the state of these blocks (all of them for `None`), until `visit` says that it is enough;
/// `None` when it holds something that cannot be compared.
pub(super) fn each(grid: &Grid, slots: Option<&[usize]>, visit: &mut dyn FnMut(u64) -> bool) -> Option<bool> {
    for (slot, block) in grid.slots.iter().enumerate() {
        let Some(block) = block else { continue };
        if slots.is_some_and(|slots| !slots.contains(&slot)) {
            continue;
        }
        if !visit(u64::from(block.place.index) << 32 | u64::from(block.reached)) {
            return Some(false);
        }
        for barrier in lanes(block.reached).filter_map(|id| block.barriers.get(id)) {
            if !barrier.state().into_iter().all(&mut *visit) {
                return Some(false);
            }
        }
        for warp in &block.warps {
            if !warp_state(warp, visit)? {
                return Some(false);
            }
        }
    }
    Some(true)
}

/// The state of these blocks as one number.
pub(super) fn hash(grid: &Grid, slots: Option<&[usize]>) -> Option<u64> {
    let mut hash = 0;
    let complete = each(grid, slots, &mut |value| {
        hash = mix(hash, value);
        true
    });
    complete.map(|_| hash)
}

/// The state of all blocks, to be compared exactly.
pub(super) fn snapshot(grid: &Grid) -> Option<Vec<u64>> {
    let mut values = Vec::new();
    let complete = each(grid, None, &mut |value| {
        values.push(value);
        true
    });
    complete.map(|_| values)
}

/// Whether the state is exactly this one.
pub(super) fn is(grid: &Grid, values: &[u64]) -> bool {
    let mut rest = values.iter();
    let same = each(grid, None, &mut |value| rest.next() == Some(&value));
    same == Some(true) && rest.next().is_none()
}

fn warp_state(warp: &Warp, visit: &mut dyn FnMut(u64) -> bool) -> Option<bool> {
    let mut groups: Vec<&Group> = warp.flow.groups.iter().collect();
    groups.sort_unstable_by_key(|group| group.mask);
    if !visit(u64::from(warp.flow.live) << 32 | groups.len() as u64) {
        return Some(false);
    }
    for group in groups {
        let doing = match &group.state {
            // A thread that waits in its loop would go round it in the same way.
            State::Ready | State::Delayed(_) | State::Parked(_) => 0,
            State::Converging => 1,
            State::Arriving => 2,
            State::AtBarrier(id) => 3 | u64::from(*id) << 8,
            State::AtCollective(named) => 4 | u64::from(*named) << 8,
            State::AtCluster => return None,
        };
        let here = [u64::from(group.mask) << 32 | u64::from(group.pc), doing];
        if !here.into_iter().all(&mut *visit) || !registers(warp, group, visit)? {
            return Some(false);
        }
    }
    let local = warp.local_bytes();
    if local.len() > MOST_LOCAL {
        return None;
    }
    let (words, rest) = local.as_chunks::<8>();
    let all = words.iter().all(|word| visit(u64::from_le_bytes(*word)));
    Some(all && rest.iter().all(|&byte| visit(byte.into())))
}

/// The registers of a group that decide how it goes on.
fn registers(warp: &Warp, group: &Group, visit: &mut dyn FnMut(u64) -> bool) -> Option<bool> {
    let frame = warp.flow.frames.get(group.frame as usize)?;
    let code = &frame.code.0;
    let mut value =
        |&place: &Place| lanes(group.mask).all(|lane| visit(warp.value(group.frame, place, lane)));
    if frame.caller.is_none() {
        return Some(code.slices.before(code, group.pc).rows.iter().all(&mut value));
    }
    // Of functions that are called, and of their callers, everything counts.
    let mut chain = Some(frame);
    while let Some(call) = chain {
        if !visit(u64::from(call.code.0.function.id.0) << 32 | u64::from(call.back)) {
            return Some(false);
        }
        chain = call.caller.and_then(|caller| warp.flow.frames.get(caller as usize));
    }
    let end = frame.base + code.frame;
    let narrow = warp.registers.narrow.get(..end.narrow)?;
    let wide = warp.registers.wide.get(..end.wide)?;
    let predicates = warp.registers.predicates.get(..end.predicates)?;
    let mask = group.mask;
    let all =
        narrow.iter().all(|row| lanes(mask).all(|lane| row.0.get(lane).is_some_and(|&v| visit(v.into()))))
            && wide.iter().all(|row| lanes(mask).all(|lane| row.0.get(lane).is_some_and(|&v| visit(v))))
            && predicates.iter().all(|&bits| visit(u64::from(bits & mask)));
    Some(all)
}

/// The kernel's outermost loop that a group is in, whatever it calls there: the position of its head.
pub(super) fn outermost(warp: &Warp, group: &Group) -> Option<u32> {
    let mut position = group.pc;
    let mut frame = warp.flow.frames.get(group.frame as usize)?;
    while let Some(caller) = frame.caller {
        position = frame.back.checked_sub(1)?;
        frame = warp.flow.frames.get(caller as usize)?;
    }
    let code = &frame.code.0;
    code.slices.before(code, position).head
}
