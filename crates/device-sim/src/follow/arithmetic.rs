//! What an operation makes of doubtful values.
//!
//! A result is doubtful where a source is, unless the other sources decide it alone: nothing remains of a value that is
//! masked away, multiplied by zero, not selected, or combined with a condition that holds or fails by itself.

use standstill_kernel_ir::{Arithmetic, BooleanOperation, Operation};

use super::marks::Mark;
use crate::decode::code::{LANES, Place, Plane};
use crate::exec::core::{Core, lanes};

/// The mark of a result, before the operation is executed.
pub(super) fn result(core: &Core<'_>, arithmetic: &Arithmetic, sources: &[Place]) -> Mark {
    let marks: Vec<Mark> = sources.iter().map(|&place| core.marks.of(core.base, place)).collect();
    let all = marks.iter().fold(Mark::default(), |all, &mark| all.or(mark));
    let doubtful = all.lanes() & core.active;
    if doubtful == 0 {
        return Mark::default();
    }
    let same = |one: usize, two: usize| sources.get(one) == sources.get(two);
    if matches!(arithmetic.operation, Operation::Xor | Operation::Sub)
        && same(0, 1)
        && !arithmetic.ty.is_float()
    {
        return Mark::default();
    }
    let mut kept = Mark { origin: all.origin, ..Mark::default() };
    for lane in lanes(doubtful) {
        let lane_marks = Lane { core, arithmetic, sources, marks: &marks, lane };
        let bit = 1 << lane;
        if lane_marks.decides(|mark| mark.unwritten) {
            kept.unwritten |= all.unwritten & bit;
        }
        if lane_marks.decides(|mark| mark.unknown) {
            kept.unknown |= all.unknown & bit;
        }
    }
    let moved = matches!(arithmetic.operation, Operation::Mov | Operation::Selp | Operation::Prmt);
    kept.computed = if moved { all.computed & kept.unwritten } else { kept.unwritten };
    kept
}

/// One lane of an operation.
struct Lane<'a> {
    core: &'a Core<'a>,
    arithmetic: &'a Arithmetic,
    sources: &'a [Place],
    marks: &'a [Mark],
    lane: usize,
}

impl Lane<'_> {
    fn value(&self, index: usize) -> u64 {
        let place = self.sources.get(index).copied().unwrap_or(Place::NONE);
        let value = self.core.read(place, self.lane % LANES);
        if place.plane == Plane::Predicate { value & 1 } else { value }
    }

    /// Whether doubtful sources of a kind decide anything of the result.
    fn decides(&self, kind: impl Fn(Mark) -> u32) -> bool {
        let doubtful =
            |index: usize| self.marks.get(index).is_some_and(|&mark| kind(mark) >> self.lane & 1 != 0);
        let any = (0..self.sources.len()).any(doubtful);
        let absorbed = |by: u64| {
            let known = |index: usize| !doubtful(index) && self.value(index) == by;
            known(0) || known(1)
        };
        let float = self.arithmetic.ty.is_float();
        let ones = match self.sources.first().map(|place| place.plane) {
            Some(Plane::Predicate) => 1,
            Some(Plane::Narrow) => u64::from(u32::MAX),
            _ => u64::MAX,
        };
        match self.arithmetic.operation {
            Operation::And => any && !absorbed(0),
            Operation::Or => any && !absorbed(ones),
            Operation::Mul if !float => any && !absorbed(0),
            Operation::Mad if !float => doubtful(2) || ((doubtful(0) || doubtful(1)) && !absorbed(0)),
            Operation::Selp => match doubtful(2) {
                true => doubtful(0) || doubtful(1) || self.value(0) != self.value(1),
                false => doubtful(if self.value(2) != 0 { 0 } else { 1 }),
            },
            Operation::Setp | Operation::Set => match self.arithmetic.combine {
                BooleanOperation::And if !doubtful(2) => any && self.value(2) != 0,
                BooleanOperation::Or if !doubtful(2) => any && self.value(2) == 0,
                _ => any,
            },
            Operation::Lop3 => self.table_decides(&doubtful),
            _ => any,
        }
    }

    /// Whether some bit of a three-way table's result changes with the doubtful sources.
    fn table_decides(&self, doubtful: &impl Fn(usize) -> bool) -> bool {
        let table = self.value(3);
        let result = |[a, b, c]: [u64; 3]| {
            (0..8).filter(|row| table >> row & 1 != 0).fold(0, |result, row: u64| {
                let side = |value: u64, bit: u64| if row >> bit & 1 != 0 { value } else { !value };
                result | (side(a, 2) & side(b, 1) & side(c, 0))
            }) & u64::from(u32::MAX)
        };
        let chosen = |choice: usize| {
            let side = |index: usize| match doubtful(index) {
                true if choice >> index & 1 != 0 => u64::MAX,
                true => 0,
                false => self.value(index),
            };
            result([side(0), side(1), side(2)])
        };
        (1..8).any(|choice| chosen(choice) != chosen(0))
    }
}
