//! How many lanes of a warp come to a loop, and whether they bring different addresses.

use standstill_findings::{Finding, Known, Outcome, Platform, PlatformRow, Severity};
use standstill_kernel_ir::{
    AtomicOperation, BlockId, BooleanOperation, Comparison, Instruction, Op, Operand, Operation, Special,
    Terminator, ValueId,
};

use super::cycle::Cycle;
use crate::arrivals::{Arrivals, leads_to};
use crate::divergence::guilty;
use crate::launch::{Launch, WARP_SIZE};
use crate::threads::ThreadValues;
use crate::uniformity::Agreement;

/// The block that is taken for one whose shape is not known: two warps.
const TYPICAL_BLOCK: [u32; 3] = [64, 1, 1];

/// Two or more lanes of a warp that come to a loop.
pub(super) struct Lanes {
    /// Whether they come depends on a condition that is not known.
    pub(super) undecided: bool,
}

/// How the values of the lanes of one warp differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Distance {
    /// All are the same.
    Same,
    /// No two are the same.
    Apart,
    Unknown,
}

/// What happens where one lane of a warp waits for another: it comes on only where lanes have program counters
/// of their own.
pub(super) fn lockstep() -> PlatformRow {
    PlatformRow::new(&[
        (Platform::Nvidia, Outcome::Completes),
        (Platform::NvidiaOld, Outcome::Hangs),
        (Platform::Amd, Outcome::Hangs),
        (Platform::Others, Outcome::MayHang),
        (Platform::Specification, Outcome::Undefined),
    ])
}

impl Lanes {
    /// `None` when no warp comes with more than one lane.
    pub(super) fn at(cycle: &Cycle<'_>) -> Option<Lanes> {
        let kernel = cycle.kernel;
        let branches = guilty(kernel, cycle.header, Agreement::Warp);
        if branches.iter().any(|&branch| picks_one(cycle, branch)) {
            return None;
        }
        let mut launch: Launch = kernel.launch.clone();
        launch.block = Some(launch.block.unwrap_or(TYPICAL_BLOCK));
        let threads = launch.threads()?;
        let mut values = ThreadValues::new(cycle.body, &launch)?;
        let arrivals = Arrivals::of(cycle.body, &mut values, threads, cycle.header);
        let come = |warp: u32| {
            let last = (warp + WARP_SIZE).min(threads);
            (warp..last).filter(|&thread| arrivals.may.contains(thread as usize)).count()
        };
        let several = (0..threads).step_by(WARP_SIZE as usize).any(|warp| come(warp) > 1);
        several.then_some(Lanes { undecided: arrivals.undecided && !branches.is_empty() })
    }

    /// Says how a fault between the lanes is known. `as_written`: whether the source, too, has the release behind
    /// the loop; `None` where it cannot be read.
    pub(super) fn judge(&self, finding: &mut Finding, as_written: Option<bool>) {
        let (reason, severity) = if as_written.is_none() {
            (
                "the source cannot be read, and a compiler may have moved the release out of the loop",
                Severity::Note,
            )
        } else if self.undecided {
            ("more than one lane of a warp may come to the lock", Severity::Warning)
        } else {
            return;
        };
        finding.known = Known::Possible { reason: reason.into() };
        finding.severity = severity;
    }

    /// How the lanes' addresses differ.
    pub(super) fn distance_of_address(&self, cycle: &Cycle<'_>, instruction: &Instruction) -> Distance {
        match cycle.body.source(instruction, 0) {
            Operand::Symbol { .. } => Distance::Same,
            _ => match cycle.body.source_value(instruction, 0) {
                Some(value) => distance(cycle, value, 0),
                None => Distance::Unknown,
            },
        }
    }
}

/// Whether a branch lets at most one lane of each warp go on to the loop.
fn picks_one(cycle: &Cycle<'_>, branch: BlockId) -> bool {
    let body = cycle.body;
    let block = body.function.blocks.get(branch.0 as usize);
    let Some(Terminator::Branch { guard, taken, otherwise }) = block.map(|block| block.terminator) else {
        return false;
    };
    let Some(condition) = body.ssa.terminator(branch) else { return false };
    let by_taken = leads_to(body, taken, cycle.header, branch);
    let by_otherwise = leads_to(body, otherwise, cycle.header, branch);
    by_taken != by_otherwise && holds_for_one(cycle, condition, by_taken != guard.negated(), 0)
}

/// Whether a predicate has a value in at most one lane of a warp.
fn holds_for_one(cycle: &Cycle<'_>, condition: ValueId, wanted: bool, depth: u32) -> bool {
    let body = cycle.body;
    let Some((_, instruction)) = body.definition(condition) else { return false };
    if depth > 16 || instruction.guard.is_some() {
        return false;
    }
    let of_source = |index: usize, wanted: bool| {
        let wanted = wanted != matches!(body.source(instruction, index), Operand::Negated(_));
        body.source_value(instruction, index)
            .is_some_and(|source| holds_for_one(cycle, source, wanted, depth + 1))
    };
    let arithmetic = match instruction.op {
        Op::Elect => return wanted && body.destination_value(instruction, 1) == Some(condition),
        Op::Arithmetic(arithmetic) => arithmetic,
        _ => return false,
    };
    match arithmetic.operation {
        Operation::Not => of_source(0, !wanted),
        Operation::Mov => of_source(0, wanted),
        Operation::And => wanted && (of_source(0, true) || of_source(1, true)),
        Operation::Or => !wanted && (of_source(0, false) || of_source(1, false)),
        Operation::Setp if body.destination_value(instruction, 0) == Some(condition) => {
            let own = match arithmetic.comparison {
                Comparison::Eq => wanted,
                Comparison::Ne => !wanted,
                _ => false,
            };
            match arithmetic.combine {
                BooleanOperation::None => own && equal_in_one(cycle, instruction),
                BooleanOperation::And => {
                    wanted && (own && equal_in_one(cycle, instruction) || of_source(2, true))
                }
                BooleanOperation::Or => {
                    !wanted && (own && equal_in_one(cycle, instruction) || of_source(2, false))
                }
                BooleanOperation::Xor => false,
            }
        }
        // `selp r, 1, 0, p; setp r, 0` comes from the `elect.sync` of CUTLASS-like code.
        Operation::Selp => of_source(2, wanted),
        _ => false,
    }
}

/// Whether the two sides of a comparison are equal in at most one lane of a warp.
fn equal_in_one(cycle: &Cycle<'_>, instruction: &Instruction) -> bool {
    let body = cycle.body;
    let common = |index: usize| match body.source(instruction, index) {
        Operand::Immediate(_) => true,
        Operand::Special(Special::Ntid(_) | Special::Nctaid(_) | Special::WarpSize | Special::Ctaid(_)) => {
            true
        }
        Operand::Register(_) => body.source_value(instruction, index).is_some_and(|value| {
            cycle.kernel.uniformity.value(value) >= Agreement::Warp || body.rests_on(value, &elects)
        }),
        _ => false,
    };
    (0..2).any(|index| {
        let other = 1 - index;
        let differs = match body.source(instruction, index) {
            Operand::Special(special) => is_lane(cycle, special),
            Operand::Register(_) => body.source_value(instruction, index).is_some_and(|value| {
                distance(cycle, value, 0) == Distance::Apart || body.rests_on(value, &ranks)
            }),
            _ => false,
        };
        differs && common(other)
    }) || (0..2).any(|index| {
        // An elected predicate that went through a register.
        let constant = body.constant(instruction, 1 - index);
        constant == Some(1)
            && body
                .source_value(instruction, index)
                .is_some_and(|value| body.rests_on(value, &|i| matches!(i.op, Op::Elect)))
    })
}

/// What the lanes of a warp find out together.
fn elects(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::ActiveMask | Op::Vote(_) | Op::Match { .. } | Op::Shuffle(_) | Op::Elect)
}

/// What gives every thread a number of its own, or its place among some lanes.
fn ranks(instruction: &Instruction) -> bool {
    matches!(
        instruction.op,
        Op::Atomic { operation: AtomicOperation::Add | AtomicOperation::Inc | AtomicOperation::Dec, .. }
    )
}

/// Whether a special register differs between the lanes of a warp.
fn is_lane(cycle: &Cycle<'_>, special: Special) -> bool {
    match special {
        Special::LaneId => true,
        Special::Tid(0) => {
            cycle.kernel.launch.block.is_none_or(|[x, y, z]| x.is_multiple_of(WARP_SIZE) || y * z == 1)
        }
        _ => false,
    }
}

/// How a value differs between the lanes of a warp.
fn distance(cycle: &Cycle<'_>, value: ValueId, depth: u32) -> Distance {
    match factor(cycle, value, depth) {
        Some(0) => Distance::Same,
        Some(factor) if factor.unsigned_abs() < 1 << 26 => Distance::Apart,
        _ => cut_to_lane(cycle, value),
    }
}

/// Whether a value is the lane index, cut out of the thread index (`threadIdx.x & 31`).
fn cut_to_lane(cycle: &Cycle<'_>, value: ValueId) -> Distance {
    let body = cycle.body;
    let Some((_, instruction)) = body.definition(value) else { return Distance::Unknown };
    let Op::Arithmetic(arithmetic) = instruction.op else { return Distance::Unknown };
    let of_source = || body.source_value(instruction, 0).and_then(|value| factor(cycle, value, 1));
    let whole = match (arithmetic.operation, body.constant(instruction, 1)) {
        (Operation::And, Some(mask)) => mask & 31 == 31,
        (Operation::Rem, Some(by)) => by > 0 && by.is_multiple_of(32),
        (Operation::Cvt, _) => {
            return body
                .source_value(instruction, 0)
                .map_or(Distance::Unknown, |value| cut_to_lane(cycle, value));
        }
        _ => false,
    };
    if whole && of_source() == Some(1) { Distance::Apart } else { Distance::Unknown }
}

/// The factor of the lane index in a value that is otherwise the same for the lanes of a warp.
fn factor(cycle: &Cycle<'_>, value: ValueId, depth: u32) -> Option<i64> {
    if cycle.kernel.uniformity.value(value) >= Agreement::Warp {
        return Some(0);
    }
    let body = cycle.body;
    let (_, instruction) = body.definition(value)?;
    let Op::Arithmetic(arithmetic) = instruction.op else { return None };
    if depth > 24 || instruction.guard.is_some() || arithmetic.ty.is_float() {
        return None;
    }
    let of_source = |index: usize| match body.source(instruction, index) {
        Operand::Immediate(_) | Operand::Symbol { .. } => Some(0),
        Operand::Special(special) if is_lane(cycle, special) => Some(1),
        Operand::Special(Special::Ctaid(_) | Special::Ntid(_) | Special::Nctaid(_) | Special::WarpSize) => {
            Some(0)
        }
        Operand::Register(_) => factor(cycle, body.source_value(instruction, index)?, depth + 1),
        _ => None,
    };
    let product = || match (body.constant(instruction, 0), body.constant(instruction, 1)) {
        (_, Some(by)) => of_source(0)?.checked_mul(by as i64),
        (Some(by), None) => of_source(1)?.checked_mul(by as i64),
        _ => None,
    };
    match arithmetic.operation {
        Operation::Mov | Operation::Cvt | Operation::Cvta if instruction.operands.sources == 1 => {
            of_source(0)
        }
        Operation::Add => of_source(0)?.checked_add(of_source(1)?),
        Operation::Sub => of_source(0)?.checked_sub(of_source(1)?),
        Operation::Mul => product(),
        Operation::Mad => product()
            .or_else(|| if (of_source(0), of_source(1)) == (Some(0), Some(0)) { Some(0) } else { None })?
            .checked_add(of_source(2)?),
        Operation::Shl => {
            let by = body.constant(instruction, 1).filter(|&by| by < 32)?;
            of_source(0)?.checked_mul(1 << by)
        }
        _ => None,
    }
}
