//! Operations of the lanes of a warp that a mask names.
//!
//! A lane waits until every lane that its mask names, and that still lives, has come to the same operation.
//! Handlers here execute the operation when that is so for all running lanes, and otherwise leave it to the
//! warp, which makes the lanes wait.

use std::sync::Arc;

use smallvec::SmallVec;
use standstill_kernel_ir::Op;
use standstill_kernel_ir::evaluate::warp;

use super::core::{Core, Step, lanes};
use crate::decode::code::{LANES, Micro, Place, Plane, Row64, Whole};
use crate::fault::FaultKind;

/// Lanes that execute an operation together.
type Teams = SmallVec<[u32; 2]>;

/// The masks of all active lanes; those of lanes without one are the running lanes.
fn masks(core: &Core<'_>, mask: Place) -> [u32; LANES] {
    let mut masks = [core.mask; LANES];
    if mask.is_some() {
        for lane in lanes(core.active) {
            masks[lane] = core.read(mask, lane) as u32;
        }
    }
    masks
}

/// The running lanes by team, when all teams are complete.
fn teams(core: &mut Core<'_>, mask: Place) -> Result<Teams, Step> {
    let live = !core.spare;
    if mask.is_some() && mask.slot.is_constant() && core.read(mask, 0) as u32 & live == core.active {
        return Ok(smallvec::smallvec![core.active]);
    }
    let masks = masks(core, mask);
    let mut teams = Teams::new();
    let mut rest = core.active;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        let named = masks[lane];
        if named >> lane & 1 == 0 {
            let text = format!("lane {lane} is not in its own mask {named:#010x}");
            return Err(core.fail(FaultKind::IllegalInstruction(text), lane));
        }
        let team = named & live;
        if team & !core.active != 0 || lanes(team).any(|other| masks[other] != named) {
            return Err(Step::Collective);
        }
        teams.push(team);
        rest &= !team;
    }
    Ok(teams)
}

/// The operation `x`.
fn whole<'c>(code: &'c Arc<crate::decode::code::Code>, op: &Micro) -> Option<&'c Whole> {
    code.operations.get(op.x as usize)
}

/// Executes an operation for each complete team.
fn together(core: &mut Core<'_>, op: &Micro, mask: usize, act: impl Fn(&mut Core<'_>, &Whole, u32)) -> Step {
    let code = core.code;
    let Some(whole) = whole(code, op) else { return Step::Next };
    match teams(core, whole.source(mask)) {
        Ok(teams) => {
            for team in teams {
                act(core, whole, team);
            }
            Step::Next
        }
        Err(step) => step,
    }
}

/// Where the mask of an operation stands among its sources.
pub(crate) fn mask_position(op: Op) -> usize {
    match op {
        Op::WarpSync | Op::Elect => 0,
        Op::Shuffle(_) => 3,
        // They have no mask: all lanes take part.
        Op::Matrix(_) => usize::MAX,
        _ => 1,
    }
}

/// `bar.warp.sync`: a caller that its mask leaves out does not wait (measured on an H200).
pub(crate) fn sync(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = core.code;
    let Some(whole) = whole(code, op) else { return Step::Next };
    let masks = masks(core, whole.source(0));
    let live = !core.spare;
    let complete = lanes(core.active).all(|lane| {
        let named = masks[lane];
        named >> lane & 1 == 0 || named & live & !core.active == 0
    });
    if complete { Step::Next } else { Step::Collective }
}

/// The values of a source in all lanes.
fn row(core: &Core<'_>, place: Place) -> Row64 {
    let mut row = [0; LANES];
    for lane in lanes(core.mask) {
        row[lane] = core.read(place, lane);
    }
    row
}

/// `shfl` (PTX ISA, «shfl.sync»).
pub(crate) fn shuffle(core: &mut Core<'_>, op: &Micro) -> Step {
    together(core, op, 3, |core, whole, team| {
        let Op::Shuffle(mode) = whole.op else { return };
        let (value, into) = (whole.source(0), whole.destination(0));
        let plain = value.plane == Plane::Narrow && into.is_some() && into.ty.bits() == 32;
        if plain && !whole.destination(1).is_some() {
            let values = *core.narrow(value.slot);
            let mut moved = *core.narrow(into.slot);
            for lane in lanes(team) {
                let (by, clamp) = (core.read(whole.source(1), lane), core.read(whole.source(2), lane));
                let (from, _) = warp::shuffle_source(mode, lane as u32, by, clamp);
                moved[lane] = values[from % LANES];
            }
            *core.narrow_mut(into.slot) = moved;
            return;
        }
        let values = row(core, whole.source(0));
        for lane in lanes(team) {
            let (by, clamp) = (core.read(whole.source(1), lane), core.read(whole.source(2), lane));
            let (from, inside) = warp::shuffle_source(mode, lane as u32, by, clamp);
            core.write(whole.destination(0), lane, values[from % LANES]);
            core.write(whole.destination(1), lane, inside.into());
        }
    })
}

/// `vote`.
pub(crate) fn vote(core: &mut Core<'_>, op: &Micro) -> Step {
    together(core, op, 1, |core, whole, team| {
        let Op::Vote(mode) = whole.op else { return };
        let source = whole.source(0);
        let holds =
            lanes(team).fold(0u32, |holds, lane| holds | (core.read(source, lane) as u32 & 1) << lane);
        let value = warp::vote(mode, holds, team);
        for lane in lanes(team) {
            core.write(whole.destination(0), lane, value);
        }
    })
}

/// `match`.
pub(crate) fn matches(core: &mut Core<'_>, op: &Micro) -> Step {
    together(core, op, 1, |core, whole, team| {
        let Op::Match { all } = whole.op else { return };
        let values = row(core, whole.source(0));
        let bits = if whole.source(0).plane == Plane::Wide { 64 } else { 32 };
        let (of_all, agree) = warp::match_all(&values, bits, team);
        let of_any = warp::match_any(&values, bits, team);
        for lane in lanes(team) {
            core.write(whole.destination(0), lane, if all { of_all } else { of_any[lane] });
            core.write(whole.destination(1), lane, agree.into());
        }
    })
}

/// `redux`.
pub(crate) fn reduce(core: &mut Core<'_>, op: &Micro) -> Step {
    together(core, op, 1, |core, whole, team| {
        let Op::WarpReduce { operation, ty } = whole.op else { return };
        let values = row(core, whole.source(0));
        let value = warp::reduce(operation, ty, &values, team).unwrap_or(0);
        for lane in lanes(team) {
            core.write(whole.destination(0), lane, value);
        }
    })
}

/// `activemask`.
pub(crate) fn active_mask(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = core.code;
    let Some(whole) = whole(code, op) else { return Step::Next };
    let active = core.active;
    for lane in lanes(active) {
        core.write(whole.destination(0), lane, active.into());
    }
    Step::Next
}

/// `elect`: the lowest lane of the team.
pub(crate) fn elect(core: &mut Core<'_>, op: &Micro) -> Step {
    together(core, op, 0, |core, whole, team| {
        let leader = team.trailing_zeros() as usize;
        for lane in lanes(team) {
            core.write(whole.destination(0), lane, leader as u64);
            core.write(whole.destination(1), lane, (lane == leader).into());
        }
    })
}
