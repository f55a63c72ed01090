//! Which row each register is kept in: registers that are never alive together share one.
//!
//! Lanes run by themselves, but each follows the same control flow graph, so what is alive at a place is
//! alive there for every lane.

use std::collections::BinaryHeap;

use standstill_kernel_ir::{BlockId, Function, Op, Operand, Terminator};

use super::code::{Frame, Place, Plane, Slot};

/// From the first to the last position where a register is alive.
#[derive(Clone, Copy)]
struct Interval {
    register: u32,
    start: u32,
    end: u32,
}

/// Bits of registers, by block.
struct Bits {
    words: usize,
    bits: Vec<u64>,
}

impl Bits {
    fn new(blocks: usize, registers: usize) -> Bits {
        let words = registers.div_ceil(64);
        Bits { words, bits: vec![0; words * blocks] }
    }

    fn of(&mut self, block: usize) -> &mut [u64] {
        self.bits.get_mut(block * self.words..(block + 1) * self.words).unwrap_or(&mut [])
    }

    fn set(&mut self, block: usize, register: u32) {
        if let Some(word) = self.of(block).get_mut(register as usize / 64) {
            *word |= 1 << (register % 64);
        }
    }

    fn has(&mut self, block: usize, register: u32) -> bool {
        self.of(block).get(register as usize / 64).is_some_and(|word| word >> (register % 64) & 1 != 0)
    }
}

/// The registers that a terminator reads.
pub(crate) fn terminator_reads(function: &Function, terminator: Terminator, mut visit: impl FnMut(u32)) {
    match terminator {
        Terminator::Branch { guard, .. } => visit(guard.register().0),
        Terminator::Switch { index, .. } => {
            index.register().into_iter().for_each(|register| visit(register.0))
        }
        Terminator::Return => function.result_pieces.iter().for_each(|piece| visit(piece.register.0)),
        Terminator::Jump(_) | Terminator::Exit | Terminator::Trap => {}
    }
}

/// The registers that are alive where each block begins, and where it ends.
fn live(function: &Function, order: &[BlockId]) -> (Bits, Bits) {
    let count = function.registers.len();
    let mut live_in = Bits::new(function.blocks.len(), count);
    let mut defined = Bits::new(function.blocks.len(), count);
    for &block in order {
        let at = block.0 as usize;
        let read = |register: u32, live_in: &mut Bits, defined: &mut Bits| {
            if !defined.has(at, register) {
                live_in.set(at, register);
            }
        };
        for instruction in function.instructions_of(block) {
            for register in
                function.sources(instruction.operands).iter().filter_map(|operand| operand.register())
            {
                read(register.0, &mut live_in, &mut defined);
            }
            if let Some(guard) = instruction.guard {
                read(guard.register().0, &mut live_in, &mut defined);
            }
            for register in
                function.destinations(instruction.operands).iter().filter_map(|operand| operand.register())
            {
                // Where the guard does not hold, the old value stays.
                if instruction.guard.is_some() {
                    read(register.0, &mut live_in, &mut defined);
                }
                defined.set(at, register.0);
            }
        }
        if let Some(block) = function.blocks.get(at) {
            terminator_reads(function, block.terminator, |register| {
                read(register, &mut live_in, &mut defined)
            });
        }
    }
    let mut live_out = Bits::new(function.blocks.len(), count);
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().rev() {
            let at = block.0 as usize;
            let mut out = live_out.of(at).to_vec();
            function.successors(block, |next| {
                for (out, word) in out.iter_mut().zip(live_in.of(next.0 as usize).iter()) {
                    *out |= word;
                }
            });
            for ((word, out), defined) in live_in.of(at).iter_mut().zip(&out).zip(defined.of(at).iter()) {
                let wider = *word | (out & !defined);
                changed |= wider != *word;
                *word = wider;
            }
            live_out.of(at).copy_from_slice(&out);
        }
    }
    (live_in, live_out)
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
    let all: Vec<BlockId> = (0..function.blocks.len() as u32).map(BlockId).collect();
    function.instructions.iter().any(|instruction| across(&instruction.op))
        || live(function, &all).0.of(0).iter().any(|&word| word != 0)
}

/// Gives each register of the blocks in `order` a row, and the rows that a frame has.
pub(crate) fn allocate(function: &Function, order: &[BlockId]) -> (Vec<Place>, Frame) {
    let (mut live_in, mut live_out) = live(function, order);
    let intervals = intervals(function, order, &mut live_in, &mut live_out);
    scan(function, intervals)
}

fn intervals(
    function: &Function,
    order: &[BlockId],
    live_in: &mut Bits,
    live_out: &mut Bits,
) -> Vec<Interval> {
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
        let at = block.0 as usize;
        each(live_in.of(at), |register| extend(register, position));
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
        if let Some(block) = function.blocks.get(at) {
            terminator_reads(function, block.terminator, |register| extend(register, position));
        }
        each(live_out.of(at), |register| extend(register, position));
        position += 1;
    }
    found.into_iter().flatten().collect()
}

/// Calls `visit` for each bit that is set.
fn each(words: &[u64], mut visit: impl FnMut(u32)) {
    for (&word, index) in words.iter().zip(0u32..) {
        let mut rest = word;
        while rest != 0 {
            visit(index * 64 + rest.trailing_zeros());
            rest &= rest - 1;
        }
    }
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
