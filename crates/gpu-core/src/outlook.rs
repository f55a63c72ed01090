//! Whether a loop can be ordinary work: what its exit test looks at, by the slice of the test.
//!
//! A snapshot shows a loop in the middle. Whoever counts, reads the clock or walks through memory gets on; a test for
//! exact equality of rounded numbers, or of whole numbers that no step of the loop counts, may never be met.

use std::collections::{BTreeMap, BTreeSet};

use crate::loops::Loop;
use crate::sass::{Instruction, Op};
use crate::values::Values;

/// What decides whether a loop ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// A counter or the clock: it gets on.
    Counts,
    /// A test for exact equality of floating-point numbers.
    Exact,
    /// Whole numbers that change in another way than by adding.
    Recurs,
    /// Memory, at a place that stays.
    Reads,
    /// Anything else, or what was not followed.
    Open,
}

/// Judges a loop by the instructions that decide about its end.
pub(crate) fn of(body: &[Instruction], slice: &BTreeSet<u64>, reads: bool) -> Outlook {
    let taken = || body.iter().filter(|instruction| slice.contains(&instruction.pc));
    let clock = || taken().any(Instruction::reads_clock);
    let uniform = || taken().next().is_none() || taken().all(|i| i.writes().is_none());
    let in_memory = || taken().any(Instruction::counts_in_memory);
    if clock() || in_memory() || counter(body, slice) {
        return Outlook::Counts;
    }
    // Decisions in uniform registers are not followed.
    let uniform_counts = body.iter().filter(|instruction| instruction.is_uniform_count()).count() > 1;
    if uniform() && uniform_counts {
        return Outlook::Counts;
    }
    let compared: Vec<_> = taken().filter_map(Instruction::comparison).collect();
    if !compared.is_empty() && compared.iter().all(|comparison| comparison.float && comparison.exact) {
        return Outlook::Exact;
    }
    if reads {
        return Outlook::Reads;
    }
    if !compared.is_empty() && compared.iter().all(|comparison| !comparison.float) {
        return Outlook::Recurs;
    }
    Outlook::Open
}

/// Whether a whole number that the loop adds to decides about its end: an addition whose result comes back to it
/// through additions and moves alone.
fn counter(body: &[Instruction], slice: &BTreeSet<u64>) -> bool {
    let counts: BTreeSet<u64> =
        body.iter().filter(|i| slice.contains(&i.pc) && i.counts()).map(|i| i.pc).collect();
    body.iter()
        .filter(|instruction| counts.contains(&instruction.pc) && !instruction.moves())
        .any(|start| comes_back(body, &counts, start))
}

/// Whether an addition reads its own result of a round before: by what was written last before each read, around the
/// loop where nothing was written before it in the same round.
fn comes_back(body: &[Instruction], counts: &BTreeSet<u64>, start: &Instruction) -> bool {
    let mut open: Vec<(&Instruction, bool)> = vec![(start, false)];
    let mut seen: BTreeSet<(u64, bool)> = BTreeSet::new();
    while let Some((instruction, around)) = open.pop() {
        for register in instruction.reads() {
            let writes = |i: &&Instruction| {
                i.writes().is_some_and(|(first, n)| (first..first.saturating_add(n)).contains(&register))
            };
            let before = body.iter().rev().filter(|i| i.pc < instruction.pc).find(writes);
            let Some(writer) = before.or_else(|| body.iter().rev().find(writes)) else { continue };
            let around = around || before.is_none();
            if writer.pc == start.pc && around {
                return true;
            }
            if counts.contains(&writer.pc) && seen.insert((writer.pc, around)) {
                open.push((writer, around));
            }
        }
    }
    false
}

/// The instructions of a slice that still decide when each read takes what was written last before it. Where the loop
/// branches inside, all of them are kept.
pub(crate) fn narrowed(body: &[Instruction], slice: &BTreeSet<u64>, exits: &[&Instruction]) -> BTreeSet<u64> {
    let (Some(first), Some(last)) = (body.first(), body.last()) else { return slice.clone() };
    let inner = |i: &&Instruction| match i.op {
        Op::Branch(target) => i.pc != last.pc && first.pc <= target && target <= last.pc,
        _ => false,
    };
    if body.iter().any(|i| inner(&i)) {
        return slice.clone();
    }
    let mut kept: BTreeSet<u64> = BTreeSet::new();
    let mut open: Vec<&Instruction> = exits.to_vec();
    while let Some(reader) = open.pop() {
        for predicate in reader.reads_predicates() {
            let writes = |i: &Instruction| i.writes_predicates().contains(&Some(predicate));
            open.extend(
                reaching(body, reader.pc, writes).into_iter().filter(|writer| kept.insert(writer.pc)),
            );
        }
        if matches!(reader.op, Op::Access { .. }) {
            continue;
        }
        for register in reader.reads() {
            let writes = |i: &Instruction| {
                i.writes().is_some_and(|(first, n)| (first..first.saturating_add(n)).contains(&register))
            };
            open.extend(
                reaching(body, reader.pc, writes).into_iter().filter(|writer| kept.insert(writer.pc)),
            );
        }
    }
    kept.intersection(slice).copied().collect()
}

/// The instructions whose result a read at `pc` may take: backwards around the loop to the first that always happens.
fn reaching(body: &[Instruction], pc: u64, writes: impl Fn(&Instruction) -> bool) -> Vec<&Instruction> {
    let here = body.partition_point(|instruction| instruction.pc < pc);
    let (before, behind) = body.split_at(here);
    let mut found = Vec::new();
    for instruction in before.iter().rev().chain(behind.iter().rev()).filter(|i| writes(i)) {
        found.push(instruction);
        if instruction.guard.is_always() {
            break;
        }
    }
    found
}

/// The instructions of a slice in their order, with the branch back, when that branch is the only way out and all of
/// them happen in every round.
pub(crate) fn recurrence(
    body: &[Instruction],
    slice: &BTreeSet<u64>,
    exits: &[&Instruction],
) -> Vec<Instruction> {
    let last = body.last().map(|instruction| instruction.pc);
    let jumps = body.iter().filter(|i| matches!(i.op, Op::Branch(_) | Op::IndirectBranch | Op::Call));
    let straight = jumps.count() == 1 && exits.iter().all(|exit| Some(exit.pc) == last);
    let kept = || body.iter().filter(|i| slice.contains(&i.pc) || Some(i.pc) == last);
    if !straight || kept().any(|i| Some(i.pc) != last && !i.guard.is_always()) {
        return Vec::new();
    }
    kept().copied().collect()
}

/// Whether a recurrence of whole numbers comes back to a state without leaving: from the values of a thread at `pc`,
/// round after round.
pub(crate) fn repeats(around: &Loop, values: &Values, pc: u64) -> bool {
    /// Longer sequences are left open.
    const MOST_ROUNDS: u32 = 1 << 10;
    let Some((branch, steps)) = around.recurrence.split_last() else { return false };
    let mut state = State { values, registers: BTreeMap::new(), predicates: BTreeMap::new() };
    let mut from = pc;
    let (mut anchor, mut until) = (BTreeMap::new(), 1u32);
    for round in 1..=MOST_ROUNDS {
        for step in steps.iter().filter(|step| step.pc >= from) {
            if state.step(step).is_none() {
                return false;
            }
        }
        from = 0;
        let guard = branch.guard;
        let holds = match state.predicates.get(&guard.predicate) {
            Some(value) => *value != guard.negated,
            None if round == 1 => values.holds(branch),
            None => return false,
        };
        if !holds {
            return false;
        }
        // A whole round has been made, so that the registers are all of the state.
        if round > 1 && state.registers == anchor {
            return true;
        }
        if round == until {
            anchor.clone_from(&state.registers);
            until = until.saturating_mul(2);
        }
    }
    false
}

/// Registers as a recurrence changes them.
struct State<'a> {
    values: &'a Values,
    registers: BTreeMap<u8, u32>,
    predicates: BTreeMap<u8, bool>,
}

impl State<'_> {
    fn get(&self, register: u8) -> Option<u32> {
        self.registers.get(&register).copied().or_else(|| self.values.register(register))
    }

    /// The value of the second operand.
    fn second(&self, step: &Instruction) -> Option<u32> {
        match step.form() {
            1 => self.get(step.field(32)),
            4 => step.immediate(),
            6 => self.values.uniform(step.field(32) & 0x3f),
            _ => None,
        }
    }

    /// Carries out one instruction; `None` for one that is not known.
    fn step(&mut self, step: &Instruction) -> Option<()> {
        let (first, third, flags) = (self.get(step.field(24))?, step.field(64), step.field(72));
        let result = match step.base() {
            // IMAD: the constant may stand in the place of the third operand.
            0x024 if matches!(flags, 0 | 2) => match step.form() {
                2 => first.wrapping_mul(self.get(third)?).wrapping_add(step.field_of_32(32)),
                _ => first.wrapping_mul(self.second(step)?).wrapping_add(self.get(third)?),
            },
            // LOP3: a table of eight bits.
            0x012 => {
                let (second, third) = (self.second(step)?, self.get(third)?);
                let pick = |at: u32| {
                    let row = (first >> at & 1) << 2 | (second >> at & 1) << 1 | (third >> at & 1);
                    u32::from(flags >> row & 1) << at
                };
                (0..32).map(pick).fold(0, |all, bit| all | bit)
            }
            // LEA.HI: the upper half of a shifted pair, added.
            0x011 if step.field(80) & 1 == 1 && flags & 7 == 0 => {
                let pair = u64::from(self.get(third)?) << 32 | u64::from(first);
                ((pair << (flags >> 3)) >> 32) as u32
            }
            .wrapping_add(self.second(step)?),
            // ISETP, joined with nothing.
            0x00c if step.field(87) & 0xf == 7 => {
                let second = self.second(step)?;
                let order =
                    if flags & 2 == 2 { (first as i32).cmp(&(second as i32)) } else { first.cmp(&second) };
                let holds = match step.field(76) & 7 {
                    1 => order.is_lt(),
                    2 => order.is_eq(),
                    3 => order.is_le(),
                    4 => order.is_gt(),
                    5 => order.is_ne(),
                    6 => order.is_ge(),
                    _ => return None,
                };
                self.predicates.insert(step.field(81) & 7, holds);
                return Some(());
            }
            _ => return None,
        };
        let (written, _) = step.writes()?;
        self.registers.insert(written, result);
        Some(())
    }
}
