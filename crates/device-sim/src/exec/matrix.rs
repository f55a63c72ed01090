//! Matrix operations of a warp; `kernel_ir::matrix` says what they compute and move.
//!
//! Those of several warps (`wgmma`, `tcgen05`) have no values: their results are unknown.

use standstill_kernel_ir::matrix::{self, Piece};
use standstill_kernel_ir::{MatrixFragment, MatrixKind, Op};

use super::core::{Core, Step, lanes};
use super::general;
use crate::decode::code::{LANES, Micro, Place, Row64, Whole};
use crate::fault::FaultKind;

/// `mma`, `wmma`, `ldmatrix`, `stmatrix`, `movmatrix` and their like.
pub(crate) fn operate(core: &mut Core<'_>, op: &Micro) -> Step {
    let code = core.code;
    let Some(whole) = code.operations.get(op.x as usize) else { return Step::Next };
    let Op::Matrix(kind) = whole.op else { return Step::Next };
    let of_a_warp =
        matches!(kind, MatrixKind::Mma(_) | MatrixKind::Load(_) | MatrixKind::Store(_) | MatrixKind::Move);
    if of_a_warp && core.active | core.spare != u32::MAX {
        return Step::Collective;
    }
    let known = match kind {
        MatrixKind::Mma(form) => {
            let sources: Vec<Row64> = whole.sources.iter().map(|&place| row(core, place)).collect();
            let mut results = vec![[0; LANES]; whole.destinations.len()];
            let known = matrix::multiply(&form, &sources, &mut results);
            known.map(|()| write(core, whole, &results))
        }
        MatrixKind::Move => {
            let moved = matrix::transpose(&row(core, whole.source(0)));
            write(core, whole, &[moved]);
            Some(())
        }
        MatrixKind::Load(fragment) => match load(core, whole, &fragment) {
            Ok(known) => known,
            Err((kind, lane)) => return core.fail(kind, lane),
        },
        MatrixKind::Store(fragment) => match store(core, whole, &fragment) {
            Ok(known) => known,
            Err((kind, lane)) => return core.fail(kind, lane),
        },
        _ => (!whole.destinations.iter().any(|place| place.is_some())).then_some(()),
    };
    if known.is_none() {
        write(core, whole, &vec![[0; LANES]; whole.destinations.len()]);
        return general::not_known(core, code, op, &format!("{kind:?}"));
    }
    Step::Next
}

/// A source in all lanes.
fn row(core: &Core<'_>, place: Place) -> Row64 {
    let mut row = [0; LANES];
    for lane in lanes(core.active) {
        row[lane] = core.read(place, lane);
    }
    row
}

fn write(core: &mut Core<'_>, whole: &Whole, results: &[Row64]) {
    for (&place, row) in whole.destinations.iter().zip(results) {
        for lane in lanes(core.active) {
            core.write(place, lane, row[lane]);
        }
    }
}

/// The stride operand, when there is one.
fn stride(core: &Core<'_>, place: Place) -> Option<u64> {
    place.is_some().then(|| core.read(place, core.active.trailing_zeros() as usize) & 0xffff_ffff)
}

type Moved = Result<Option<()>, (FaultKind, usize)>;

fn pieces(fragment: &MatrixFragment, stride: Option<u64>) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    matrix::pieces(fragment, stride, |piece| pieces.push(piece))?;
    Some(pieces)
}

fn load(core: &mut Core<'_>, whole: &Whole, fragment: &MatrixFragment) -> Moved {
    let Some(pieces) = pieces(fragment, stride(core, whole.source(1))) else { return Ok(None) };
    let mut results = vec![[0u64; LANES]; whole.destinations.len()];
    for piece in pieces {
        let address = core.read(whole.source(0), piece.address_lane).wrapping_add(piece.offset);
        let value = core.read_memory(fragment.space, piece.lane, address, piece.bytes);
        let value = value.map_err(|kind| (kind, piece.address_lane))?;
        if let Some(register) = results.get_mut(piece.register).and_then(|row| row.get_mut(piece.lane)) {
            *register |= value << piece.shift;
        }
    }
    write(core, whole, &results);
    Ok(Some(()))
}

fn store(core: &mut Core<'_>, whole: &Whole, fragment: &MatrixFragment) -> Moved {
    let Some(registers) = fragment.registers() else { return Ok(None) };
    let Some(pieces) = pieces(fragment, stride(core, whole.source(1 + registers))) else { return Ok(None) };
    for piece in pieces {
        let address = core.read(whole.source(0), piece.address_lane).wrapping_add(piece.offset);
        let value = core.read(whole.source(1 + piece.register), piece.lane) >> piece.shift;
        let stored = core.write_memory(fragment.space, piece.lane, address, piece.bytes, value);
        stored.map_err(|kind| (kind, piece.address_lane))?;
    }
    Ok(Some(()))
}
