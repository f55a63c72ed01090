//! Calls: of the program's own functions, and of what the device provides.

use std::sync::Arc;

use smallvec::SmallVec;
use standstill_kernel_ir::FunctionId;

use super::core::{Core, lanes};
use super::flow::{Flow, Running};
use super::printf;
use super::warp::State;
use crate::address;
use crate::decode::code::{Builtin, Call, Code, LANES, Place, Row64, Target};
use crate::fault::FaultKind;
use crate::follow::marks::Mark;

type Refused = (FaultKind, u32);

/// Values on their way from one frame to another.
type Passed = SmallVec<[(Place, Row64, Mark); 8]>;

/// Enters a function; gives its first position, or `None` for one that the device provides.
pub(super) fn call(
    flow: &mut Flow,
    core: &mut Core<'_>,
    group: &mut Running,
    code: &Arc<Code>,
    index: u32,
    pc: u32,
) -> Result<Option<u32>, Refused> {
    let Some(site) = code.calls.get(index as usize) else { return Ok(None) };
    let first = core.mask.trailing_zeros();
    let callee = match &site.target {
        Target::Function(id) => *id,
        Target::Builtin(builtin) => {
            core.active = core.mask;
            return provided(core, *builtin, site).map(|()| None);
        }
        Target::Missing(name) => return Err((FaultKind::InvalidCall(name.clone()), first)),
        Target::Address(place) => {
            let target = core.read(*place, first as usize);
            let same = lanes(core.mask)
                .filter(|&lane| core.read(*place, lane) == target)
                .fold(0u32, |same, lane| same | 1 << lane);
            if same != core.mask {
                flow.add(group.part(core.mask & !same, pc, State::Ready));
                (group.mask, core.mask) = (same, same);
            }
            let index = target.wrapping_sub(address::FUNCTIONS) / address::FUNCTION_STEP;
            match u32::try_from(index) {
                Ok(index) => FunctionId(index),
                Err(_) => return Err((FaultKind::InvalidCall(format!("address {target:#x}")), first)),
            }
        }
    };
    let Some(entered) = core.kernel.code(callee) else {
        return Err((FaultKind::InvalidCall(format!("function {}", callee.0)), first));
    };
    let Some(frame) = flow.frame(group.frame, pc, index, entered) else {
        return Err((FaultKind::StackOverflow, first));
    };
    let passed = collect(core, &site.arguments, &entered.parameters);
    let Some(known) = flow.frames.get(frame as usize) else { return Err((FaultKind::StackOverflow, first)) };
    core.registers.reserve(known.base + entered.frame);
    if !core.local.reserve(known.local_base.saturating_add(entered.local_bytes) as usize) {
        return Err((FaultKind::StackOverflow, first));
    }
    (core.base, core.local_base) = (known.base, known.local_base);
    core.code = entered;
    core.marks.enter(core.base, core.mask);
    group.frame = frame;
    deliver(core, passed);
    Ok(Some(0))
}

/// Leaves a function; gives the position in the caller, or `None` at the end of the kernel.
pub(super) fn leave(flow: &mut Flow, core: &mut Core<'_>, group: &mut Running) -> Option<u32> {
    let frame = flow.frames.get(group.frame as usize)?;
    let caller = flow.frames.get(frame.caller? as usize)?;
    let (frame, caller) = (frame.clone(), caller.clone());
    let results = caller.code.0.calls.get(frame.call as usize).map_or(&[][..], |site| &site.results);
    let passed = collect(core, &frame.code.0.results, results);
    (core.base, core.local_base) = (caller.base, caller.local_base);
    core.code = core.kernel.code(caller.function)?;
    let left = std::mem::replace(&mut group.frame, frame.caller?);
    deliver(core, passed);
    flow.forget(left);
    Some(frame.back)
}

/// Reads the pieces that the other side takes.
fn collect(core: &Core<'_>, given: &[(u32, u32, Place)], taken: &[(u32, u32, Place)]) -> Passed {
    let mut passed = Passed::new();
    for &(index, offset, to) in taken {
        let from = given.iter().find(|&&(other, at, _)| (other, at) == (index, offset));
        let Some(&(_, _, from)) = from else { continue };
        let mut row = [0; LANES];
        for lane in lanes(core.mask) {
            row[lane] = core.read(from, lane);
        }
        passed.push((to, row, core.marks.of(core.base, from)));
    }
    passed
}

fn deliver(core: &mut Core<'_>, passed: Passed) {
    for (to, row, mark) in passed {
        core.marks.set(core.base, to, core.mask, mark);
        for lane in lanes(core.mask) {
            core.write(to, lane, row[lane]);
        }
    }
}

/// What the device provides, one lane after the other.
fn provided(core: &mut Core<'_>, builtin: Builtin, site: &Call) -> Result<(), Refused> {
    let argument = |index: u32| {
        site.arguments
            .iter()
            .find(|&&(at, offset, _)| (at, offset) == (index, 0))
            .map_or(Place::NONE, |&(.., place)| place)
    };
    let result = site.results.first().map_or(Place::NONE, |&(.., place)| place);
    core.marks.set(core.base, result, core.mask, Mark::default());
    for lane in lanes(core.mask) {
        let value = |core: &Core<'_>, index| core.read(argument(index), lane);
        // What happens here is seen outside.
        core.spy.effect = true;
        match builtin {
            Builtin::Printf => {
                let (format, values) = (value(core, 0), value(core, 1));
                let format = core.read_text(lane, format);
                let text = printf::format(core, lane, &format, values);
                if let Some(sink) = &mut core.grid.sink {
                    sink.print(&text.0);
                }
                core.write(result, lane, text.1);
            }
            Builtin::Malloc => {
                let bytes = value(core, 0);
                let address = core.grid.device.memory().allocate(bytes).unwrap_or(0);
                if let Some(reach) = &mut core.grid.reach {
                    reach.leave_out(address..address.saturating_add(bytes));
                }
                core.grid.refresh();
                core.write(result, lane, address);
            }
            Builtin::Free => {
                let address = value(core, 0);
                if address != 0 && core.grid.device.memory().free(address).is_err() {
                    let text = format!("free of {address:#x}, which is not allocated");
                    return Err((FaultKind::IllegalInstruction(text), lane as u32));
                }
                core.grid.refresh();
            }
            Builtin::AssertFail => {
                let text = |core: &mut Core<'_>, index| {
                    let address = core.read(argument(index), lane);
                    String::from_utf8_lossy(&core.read_text(lane, address)).into_owned()
                };
                let line = value(core, 2) as u32;
                let (message, file, function) = (text(core, 0), text(core, 1), text(core, 3));
                return Err((FaultKind::Assertion { message, file, line, function }, lane as u32));
            }
        }
    }
    Ok(())
}
