//! Any arithmetic, one lane at a time, by `kernel_ir::evaluate`.

use smallvec::SmallVec;
use standstill_kernel_ir::{Arithmetic, Operation, Space, evaluate};

use super::core::{Core, Step, lanes};
use crate::address::{self, Window};
use crate::decode::code::{Code, Micro};
use crate::fault::FaultKind;

/// Executes the operation `x` of the code's list in the active lanes.
pub(crate) fn arithmetic(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = core.code;
    let Some(general) = code.general.get(op.x as usize) else { return Step::Next };
    let mut sources: SmallVec<[u64; 8]> = SmallVec::new();
    let mut unknown = false;
    for lane in lanes(core.active) {
        sources.clear();
        sources.extend(general.sources.iter().map(|&source| core.read(source, lane)));
        match value(core, &general.arithmetic, &sources, general.destinations.len()) {
            Some(results) => {
                for (&place, value) in general.destinations.iter().zip(results) {
                    core.write(place, lane, value);
                }
            }
            None => {
                unknown = true;
                for &place in &general.destinations {
                    core.write(place, lane, 0);
                }
            }
        }
    }
    if unknown {
        return not_known(core, code, op, &format!("{:?}", general.arithmetic.operation));
    }
    Step::Next
}

/// Notes that results are not known, or ends the launch for it.
pub(crate) fn not_known(core: &mut Core<'_>, code: &Code, op: &Micro, what: &str) -> Step {
    core.grid.unknown(code, op);
    match core.grid.strict {
        true => core.fail(FaultKind::NotSupported(format!("the value of {what}")), 0),
        false => {
            // From here on it is followed; a turn in which that was not so ends.
            let followed = core.grid.follow.is_some();
            crate::follow::not_known(core, code.position(op), what);
            if followed { Step::Next } else { Step::Sleep }
        }
    }
}

/// The results of one lane; `None` where they are not known.
fn value(
    core: &Core<'_>,
    arithmetic: &Arithmetic,
    sources: &[u64],
    destinations: usize,
) -> Option<SmallVec<[u64; 4]>> {
    let one = |value: u64| Some(SmallVec::from_slice(&[value]));
    match (arithmetic.operation, sources) {
        (Operation::Isspacep, &[address, space]) => {
            let found = match address::window(address) {
                Window::Global => space == Space::Global as u64 || space == Space::Const as u64,
                Window::Shared { rank: None, .. } => {
                    space == Space::Shared as u64 || space == Space::SharedCluster as u64
                }
                Window::Shared { .. } => space == Space::SharedCluster as u64,
                Window::Local(_) => space == Space::Local as u64,
                Window::Parameters(_) => space == Space::Param as u64,
            };
            one(found.into())
        }
        (Operation::Mapa, &[address, rank]) => {
            let offset = match address::shared(address as u32) {
                Window::Shared { offset, .. } => u64::from(offset),
                _ => 0,
            };
            one(address::SHARED + ((rank & 0xff) + 1) * address::SHARED_STEP + offset)
        }
        (Operation::GetCtaRank, &[address]) => match address::shared(address as u32) {
            Window::Shared { rank: Some(rank), .. } => one(rank.into()),
            _ => one(core.place.cluster_rank.into()),
        },
        _ => {
            evaluate::execute(arithmetic, sources, destinations).map(|results| SmallVec::from_slice(&results))
        }
    }
}
