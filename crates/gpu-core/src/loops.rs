//! The loop around a program counter, and what decides whether it ends.

use std::collections::BTreeSet;

use crate::code::{Code, Function};
use crate::sass::{AccessKind, Address, Instruction, Op, RZ, SIZE, Space};

/// Larger functions are looked at around the program counter only.
const MOST_INSTRUCTIONS: u64 = 1 << 16;

/// A loop: the instructions from a branch's target to the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loop {
    /// Address of the first instruction.
    pub(crate) first: u64,
    /// Address of the branch back.
    pub(crate) last: u64,
    /// Accesses that decide whether the loop ends, at addresses that it does not change.
    pub(crate) polled: Vec<Polled>,
    /// The mbarrier that it waits on: place, word, register with the parity.
    pub(crate) mbarrier: Option<(u64, Address, u8)>,
    /// Whether there is any way out.
    pub(crate) has_exit: bool,
    /// Where the way out is decided: the first branch that leaves.
    pub(crate) decided_at: u64,
    /// Whether an access at an address that the loop changes takes part in the decision.
    pub(crate) reads_along: bool,
    /// Whether the loop writes memory.
    pub(crate) writes: bool,
    /// Whether it waits at a block barrier.
    pub(crate) has_barrier: bool,
    /// Whether a compare-and-swap decides it.
    pub(crate) swaps: bool,
}

/// An access that decides whether a loop ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Polled {
    pub(crate) pc: u64,
    pub(crate) address: Address,
    /// The place in constant bank 0 from which the loop loads the address anew in each round.
    pub(crate) constant: Option<u32>,
}

/// Decodes the instructions of a function, as far as they are there.
pub(crate) fn decode(code: &Code, function: &Function) -> Vec<Instruction> {
    let count = (function.size / SIZE).min(MOST_INSTRUCTIONS);
    let at = |n: u64| function.start.checked_add(n * SIZE);
    (0..count)
        .filter_map(at)
        .map_while(|pc| code.instruction(pc).map(|raw| Instruction::decode(pc, raw)))
        .collect()
}

/// The address that stands for `pc` in the source: of a copy that only lanes apart run, the operation that it is a
/// copy of, because the compiler gives all such copies the line of one.
pub(crate) fn stands_for(body: &[Instruction], pc: u64) -> u64 {
    /// Instructions between the branch to the copy and the operation itself.
    const NEAR: usize = 8;
    let apart = body.iter().filter(|instruction| instruction.leaves_when_apart());
    let with_target = apart.filter_map(|instruction| match instruction.op {
        Op::Branch(target) if target <= pc => Some((target, instruction.pc)),
        _ => None,
    });
    let Some((target, branch)) = with_target.max() else { return pc };
    let straight =
        |instruction: &Instruction| !matches!(instruction.op, Op::Branch(_) | Op::Exit | Op::Return);
    let between = body.iter().filter(|instruction| target <= instruction.pc && instruction.pc < pc);
    if !between.into_iter().all(straight) {
        return pc;
    }
    let behind = body.iter().filter(|instruction| instruction.pc > branch).take(NEAR);
    behind.filter(|i| matches!(i.op, Op::WarpOperation(_))).map(|i| i.pc).next().unwrap_or(pc)
}

/// The innermost loop around `pc`.
pub(crate) fn around(body: &[Instruction], pc: u64) -> Option<Loop> {
    let back = body.iter().filter_map(|instruction| match instruction.op {
        Op::Branch(target) if target <= pc && pc <= instruction.pc => Some((target, instruction.pc)),
        _ => None,
    });
    let (first, last) = back.min_by_key(|(first, last)| last - first)?;
    let start = body.partition_point(|instruction| instruction.pc < first);
    let end = body.partition_point(|instruction| instruction.pc <= last);
    Some(describe(body.get(start..end)?, first, last))
}

fn describe(body: &[Instruction], first: u64, last: u64) -> Loop {
    let inside = |target: u64| first <= target && target <= last;
    let leaves = |instruction: &&Instruction| match instruction.op {
        Op::Exit | Op::Return | Op::IndirectBranch => true,
        Op::Branch(target) if inside(target) => instruction.pc == last && !instruction.guard.is_always(),
        Op::Branch(_) => true,
        _ => false,
    };
    let exits: Vec<&Instruction> = body.iter().filter(leaves).collect();
    let accesses = deciding(body, &exits);
    let written: BTreeSet<u8> = body
        .iter()
        .filter(|instruction| instruction.reads_constant().is_none())
        .filter_map(Instruction::writes)
        .flat_map(|(start, count)| start..=start.saturating_add(count - 1))
        .collect();
    let loaded = |(pc, register): (u64, u8)| {
        let writes = |i: &&Instruction| {
            i.writes().is_some_and(|(first, n)| (first..first.saturating_add(n)).contains(&register))
        };
        let last = body.iter().rev().filter(|instruction| instruction.pc < pc).find(writes);
        last.and_then(Instruction::reads_constant)
    };
    let polled = |(pc, _, address): &(u64, AccessKind, Address)| {
        if address.register == RZ {
            return Some(Polled { pc: *pc, address: *address, constant: None });
        }
        if let Some(constant) = loaded((*pc, address.register)) {
            return Some(Polled { pc: *pc, address: *address, constant: Some(constant) });
        }
        let second = address.register.saturating_add(1);
        let moves = written.contains(&address.register)
            || address.space != Space::Shared && written.contains(&second);
        (!moves).then_some(Polled { pc: *pc, address: *address, constant: None })
    };
    let mbarrier = body.iter().find_map(|instruction| match instruction.op {
        Op::MbarrierTry { address, parity } => Some((instruction.pc, address, parity)),
        _ => None,
    });
    let kind = |wanted: &[AccessKind]| {
        let is = |instruction: &&Instruction| matches!(instruction.op, Op::Access { kind, .. } if wanted.contains(&kind));
        body.iter().any(|instruction| is(&instruction))
    };
    Loop {
        first,
        last,
        reads_along: accesses.iter().any(|access| polled(access).is_none()),
        polled: accesses.iter().filter_map(polled).collect(),
        mbarrier,
        has_exit: !exits.is_empty(),
        decided_at: exits.first().map_or(last, |instruction| instruction.pc),
        writes: kind(&[AccessKind::Store]),
        has_barrier: body.iter().any(|instruction| matches!(instruction.op, Op::Barrier { .. })),
        swaps: accesses.iter().any(|(_, kind, _)| *kind == AccessKind::CompareAndSwap),
    }
}

/// The accesses whose values flow into the decision to leave: a backward slice over registers and predicates.
fn deciding(body: &[Instruction], exits: &[&Instruction]) -> Vec<(u64, AccessKind, Address)> {
    let guard = |instruction: &&Instruction| instruction.guard;
    let always = |guard: &crate::sass::Guard| !guard.is_always();
    let mut predicates: BTreeSet<u8> =
        exits.iter().map(guard).filter(always).map(|guard| guard.predicate).collect();
    let mut registers: BTreeSet<u8> = BTreeSet::new();
    let mut found: Vec<(u64, AccessKind, Address)> = Vec::new();
    let mut taken: BTreeSet<u64> = BTreeSet::new();
    loop {
        let before = taken.len();
        for instruction in body {
            if taken.contains(&instruction.pc) {
                continue;
            }
            let written = instruction.writes().is_some_and(|(start, count)| {
                registers.range(start..=start.saturating_add(count - 1)).next().is_some()
            });
            let decides = instruction.writes_predicates().iter().flatten().any(|p| predicates.contains(p));
            if !written && !decides {
                continue;
            }
            taken.insert(instruction.pc);
            predicates.extend(instruction.reads_predicates());
            match instruction.op {
                // What is read decides; the address it is read from is looked at apart.
                Op::Access { kind, address } if kind != AccessKind::Store => {
                    found.push((instruction.pc, kind, address));
                }
                _ => registers.extend(instruction.reads()),
            }
        }
        if taken.len() == before {
            break;
        }
    }
    let strong = |kind: AccessKind| {
        matches!(kind, AccessKind::StrongLoad | AccessKind::Atomic | AccessKind::CompareAndSwap)
    };
    // One thread reads for all and hands the value on through shared memory: what it reads is waited for.
    let has_barrier = body.iter().any(|instruction| matches!(instruction.op, Op::Barrier { .. }));
    let seen = || -> Vec<(u64, AccessKind, Address)> {
        let access = |instruction: &Instruction| match instruction.op {
            Op::Access { kind, address } if strong(kind) => Some((instruction.pc, kind, address)),
            _ => None,
        };
        body.iter().filter_map(access).collect()
    };
    if has_barrier && !seen().is_empty() {
        return seen();
    }
    // Decisions that go through uniform registers or votes are not followed: what must see other threads'
    // writes is what is waited for.
    if found.is_empty() && !exits.is_empty() {
        return seen();
    }
    found.sort_by_key(|(pc, _, _)| *pc);
    found
}
