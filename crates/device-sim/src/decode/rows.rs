//! Which row each register is kept in: registers that are never alive together share one.

use std::collections::BinaryHeap;

use standstill_kernel_ir::liveness::{self, Liveness};
use standstill_kernel_ir::{BlockId, Function, Op, Operand};

use super::code::{Frame, Place, Plane, Slot};

/// From the first to the last position where a register is alive.
#[derive(Clone, Copy)]
struct Interval {
    register: u32,
    start: u32,
    end: u32,
}

/// Whether a lane may read a register before it has written it, or another lane's that does not run.
pub(crate) fn reads_unwritten(function: &Function) -> bool {
    let across = |op: &Op| {
        matches!(
            op,
            Op::Shuffle(_)
                | Op::Vote(_)
                | Op::Match { .. }
                | Op::WarpReduce { .. }
                | Op::Elect
                | Op::Matrix(_)
        )
    };
    function.instructions.iter().any(|instruction| across(&instruction.op))
        || Liveness::build(function).entry(BlockId(0)).iter().any(|&word| word != 0)
}

/// Gives each register of the blocks in `order` a row, and the rows that a frame has.
pub(crate) fn allocate(function: &Function, order: &[BlockId]) -> (Vec<Place>, Frame) {
    scan(function, intervals(function, order))
}

fn intervals(function: &Function, order: &[BlockId]) -> Vec<Interval> {
    let live = Liveness::build(function);
    let mut found: Vec<Option<Interval>> = vec![None; function.registers.len()];
    let mut extend = |register: u32, position: u32| {
        if let Some(slot) = found.get_mut(register as usize) {
            let interval = slot.get_or_insert(Interval { register, start: position, end: position });
            interval.start = interval.start.min(position);
            interval.end = interval.end.max(position);
        }
    };
    for piece in &function.parameter_pieces {
        extend(piece.register.0, 0);
    }
    let mut position = 1;
    for &block in order {
        liveness::registers(live.entry(block)).for_each(|register| extend(register.0, position));
        for instruction in function.instructions_of(block) {
            position += 2;
            for register in
                function.sources(instruction.operands).iter().filter_map(|operand| operand.register())
            {
                extend(register.0, position);
            }
            if let Some(guard) = instruction.guard {
                extend(guard.register().0, position);
            }
            let destinations = function.destinations(instruction.operands);
            // What is written in several steps must not share a row with what is still to be read.
            let steps = !matches!(instruction.op, Op::Arithmetic(_)) || destinations.len() > 1;
            for register in destinations.iter().filter_map(|operand| operand.register()) {
                extend(register.0, if steps { position } else { position + 1 });
            }
        }
        position += 2;
        if let Some(block) = function.blocks.get(block.0 as usize) {
            function.terminator_reads(block.terminator, |register| extend(register.0, position));
        }
        liveness::registers(live.exit(block)).for_each(|register| extend(register.0, position));
        position += 1;
    }
    found.into_iter().flatten().collect()
}

/// Linear scan: rows of intervals that have ended are used again.
fn scan(function: &Function, mut intervals: Vec<Interval>) -> (Vec<Place>, Frame) {
    intervals.sort_by_key(|interval| (interval.start, interval.register));
    let mut places = vec![Place::NONE; function.registers.len()];
    let mut ends: [BinaryHeap<std::cmp::Reverse<(u32, u32)>>; 3] = Default::default();
    let mut free: [Vec<u32>; 3] = Default::default();
    let mut rows = [0u32; 3];
    for interval in intervals {
        let Some(info) = function.registers.get(interval.register as usize) else { continue };
        let plane = Plane::of(info.ty);
        let of = plane as usize;
        let (Some(ends), Some(free), Some(rows)) = (ends.get_mut(of), free.get_mut(of), rows.get_mut(of))
        else {
            continue;
        };
        while let Some(&std::cmp::Reverse((end, row))) = ends.peek() {
            if end >= interval.start {
                break;
            }
            ends.pop();
            free.push(row);
        }
        let row = free.pop().unwrap_or_else(|| {
            *rows += 1;
            *rows - 1
        });
        ends.push(std::cmp::Reverse((interval.end, row)));
        if let Some(place) = places.get_mut(interval.register as usize) {
            *place = Place { plane, slot: Slot(row), ty: info.ty };
        }
    }
    let [narrow, wide, predicates] = rows.map(|rows| rows as usize);
    (places, Frame { narrow, wide, predicates })
}

/// The register that an operand writes.
pub(crate) fn written(operand: &Operand) -> Option<u32> {
    match operand {
        Operand::Register(register) => Some(register.0),
        _ => None,
    }
}
