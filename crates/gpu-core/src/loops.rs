//! The loop around a program counter, and what decides whether it ends.

use std::collections::BTreeSet;

use crate::code::{Code, Function};
use crate::outlook::{self, Outlook};
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
    /// What decides whether it ends, apart from what it polls.
    pub(crate) outlook: Outlook,
    /// Whether what it reads, or where, hangs on a register that it carries from round to round.
    pub(crate) carries: bool,
    /// The instructions of a recurrence of whole numbers with the branch back, when nothing else can leave.
    pub(crate) recurrence: Vec<Instruction>,
}

/// An access that decides whether a loop ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Polled {
    pub(crate) pc: u64,
    pub(crate) address: Address,
    /// The place in constant bank 0 from which the loop loads the address anew in each round.
    pub(crate) constant: Option<u32>,
    /// The loop works out the same address anew in each round, so its registers may hold something else by now.
    pub(crate) anew: bool,
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

/// Whether a way leads from one instruction to another. Jumps to places that are not known may lead anywhere.
pub(crate) fn leads_to(body: &[Instruction], from: u64, to: u64) -> bool {
    let mut open = vec![from];
    let mut seen: BTreeSet<u64> = BTreeSet::new();
    while let Some(pc) = open.pop() {
        if pc == to {
            return true;
        }
        if !seen.insert(pc) {
            continue;
        }
        let at = body.partition_point(|instruction| instruction.pc < pc);
        let Some(instruction) = body.get(at) else { continue };
        let ends = match instruction.op {
            Op::Branch(target) => {
                open.push(target);
                true
            }
            Op::IndirectBranch => return true,
            Op::Exit | Op::Return => true,
            _ => false,
        };
        if !ends || !instruction.guard.is_always() || instruction.leaves_when_apart() {
            open.push(pc.saturating_add(SIZE));
        }
    }
    false
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
    let Slice { accesses, carried, taken } = deciding(body, &exits);
    let taken = outlook::narrowed(body, &taken, &exits);
    let outlook = outlook::of(body, &taken, !accesses.is_empty());
    let weak = accesses.iter().all(|(_, kind, _)| *kind == AccessKind::Load);
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
        let polled = Polled { pc: *pc, address: *address, constant: None, anew: false };
        if address.register == RZ {
            return Some(polled);
        }
        if let Some(constant) = loaded((*pc, address.register)) {
            return Some(Polled { constant: Some(constant), ..polled });
        }
        let upper = address.register.checked_add(1).filter(|_| address.space != Space::Shared);
        let registers = [Some(address.register), upper];
        let anew = registers.iter().flatten().any(|register| written.contains(register));
        let mut fuel = FUEL;
        let same = registers.iter().flatten().all(|register| is_steady(body, *pc, *register, &mut fuel));
        same.then_some(Polled { anew, ..polled })
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
        // A sum over what is read is work, not waiting.
        polled: if (weak && carried) || outlook == Outlook::Counts {
            Vec::new()
        } else {
            accesses.iter().filter_map(polled).collect()
        },
        mbarrier,
        has_exit: !exits.is_empty(),
        decided_at: exits.first().map_or(last, |instruction| instruction.pc),
        writes: kind(&[AccessKind::Store]),
        has_barrier: body.iter().any(|instruction| matches!(instruction.op, Op::Barrier { .. })),
        outlook,
        carries: carried || carries(body, &taken),
        recurrence: outlook::recurrence(body, &taken, &exits),
        swaps: accesses.iter().any(|(_, kind, _)| *kind == AccessKind::CompareAndSwap),
    }
}

/// What decides whether a loop ends.
struct Slice {
    /// Accesses whose values flow into the decision.
    accesses: Vec<(u64, AccessKind, Address)>,
    /// Whether a register that the loop carries from round to round does too.
    carried: bool,
    /// The instructions that take part.
    taken: BTreeSet<u64>,
}

/// How many operands of an address are followed before it counts as changing.
const FUEL: u32 = 256;

/// Whether a register holds the same in every round when the instruction at `pc` reads it: the loop does not write it,
/// or works it out from what stays the same. Jumps within the loop are not followed.
fn is_steady(body: &[Instruction], pc: u64, register: u8, fuel: &mut u32) -> bool {
    let Some(rest) = fuel.checked_sub(1) else { return false };
    *fuel = rest;
    let writes = |instruction: &&Instruction| {
        instruction.writes().is_some_and(|(first, n)| (first..first.saturating_add(n)).contains(&register))
    };
    let Some(last) = body.iter().rev().filter(|instruction| instruction.pc < pc).find(writes) else {
        return body.iter().find(writes).is_none();
    };
    if last.reads_constant().is_some() {
        return true;
    }
    last.guard.is_always()
        && last.is_steady()
        && last.reads().all(|register| is_steady(body, last.pc, register, fuel))
}

/// The accesses whose values flow into the decision to leave, by a backward slice over registers and predicates, and
/// whether a register that the loop carries from round to round does too.
fn deciding(body: &[Instruction], exits: &[&Instruction]) -> Slice {
    let guard = |instruction: &&Instruction| instruction.guard;
    let always = |guard: &crate::sass::Guard| !guard.is_always();
    let mut predicates: BTreeSet<u8> =
        exits.iter().map(guard).filter(always).map(|guard| guard.predicate).collect();
    let mut registers: BTreeSet<u8> = BTreeSet::new();
    let mut found: Vec<(u64, AccessKind, Address)> = Vec::new();
    let mut taken: BTreeSet<u64> = BTreeSet::new();
    let mut carried = false;
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
                _ => {
                    carried |= instruction.reads().any(|register| is_carried(body, instruction.pc, register));
                    registers.extend(instruction.reads());
                }
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
        return Slice { accesses: seen(), carried: false, taken };
    }
    // Decisions that go through uniform registers or votes are not followed: what must see other threads'
    // writes is what is waited for.
    if found.is_empty() && !exits.is_empty() {
        return Slice { accesses: seen(), carried: false, taken };
    }
    found.sort_by_key(|(pc, _, _)| *pc);
    Slice { accesses: found, carried, taken }
}

/// Whether a slice, with what its addresses are worked out from, reads what the round before left in a register.
fn carries(body: &[Instruction], slice: &BTreeSet<u64>) -> bool {
    let mut open: Vec<&Instruction> = body.iter().filter(|i| slice.contains(&i.pc)).collect();
    let mut seen: BTreeSet<u64> = slice.clone();
    while let Some(instruction) = open.pop() {
        let upper = |register: u8| register.checked_add(1).filter(|_| instruction.reads_wide_address());
        for register in instruction.reads().flat_map(|register| [Some(register), upper(register)]).flatten() {
            if is_carried(body, instruction.pc, register) {
                return true;
            }
            let writes = |i: &&Instruction| {
                i.writes().is_some_and(|(first, n)| (first..first.saturating_add(n)).contains(&register))
            };
            open.extend(body.iter().filter(writes).filter(|writer| seen.insert(writer.pc)));
        }
    }
    false
}

/// Whether the instruction at `pc` reads what the round before left in a register.
fn is_carried(body: &[Instruction], pc: u64, register: u8) -> bool {
    let mut writers = body.iter().filter(|instruction| {
        instruction.writes().is_some_and(|(first, n)| (first..first.saturating_add(n)).contains(&register))
    });
    writers.next().is_some_and(|first| first.pc >= pc)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loop of these instructions, halves of 128 bits as `nvdisasm -hex` prints them.
    fn loop_of(first: u64, words: &[(u64, u64)]) -> Loop {
        let raw = |(high, low): &(u64, u64)| u128::from(*high) << 64 | u128::from(*low);
        let pcs = (first..).step_by(SIZE as usize);
        let body: Vec<Instruction> =
            pcs.zip(words).map(|(pc, words)| Instruction::decode(pc, raw(words))).collect();
        around(&body, first).unwrap()
    }

    /// `while (ready == 0) {}` on a volatile variable, compiled with `-G`: the address is worked out in every round.
    #[test]
    fn a_spin_without_optimisation_polls() {
        let found = loop_of(
            0x8f0,
            &[
                (0x000fc00003800000, 0x0000000000007946),
                (0x000fc00000000f00, 0x0000000000007802),
                (0x000fc00000000f00, 0x0000040000037802),
                (0x000fc00007ffe0ff, 0x0000000300007210),
                (0x000fc00000008800, 0x0000000000037919),
                (0x000fc000078ec0ff, 0x0000000003007211),
                (0x000fc00000000f00, 0x0000000000007202),
                (0x000fc00000000f00, 0x0000000000007202),
                (0x000fc00000000f00, 0x0000000000047202),
                (0x000fc00000000f00, 0x000000ff00057202),
                (0x000fc00000000f00, 0x0000000400047202),
                (0x000fc00000000f00, 0x0000000500057202),
                (0x000fc00000002f00, 0x0000000000007919),
                (0x000fc00000000f00, 0x0000000400037202),
                (0x000fc00000000f00, 0x0000000500047202),
                (0x000fc00000000f00, 0x0000000300047202),
                (0x000fc00000000f00, 0x0000000000057202),
                (0x000fc00000000f00, 0x0000000400047202),
                (0x000fc00000000f00, 0x0000000500057202),
                (0x000fc000000e0000, 0x00000000120472ca),
                (0x000fc000000e0000, 0x00000000130572ca),
                (0x000fc0000c115900, 0x0000000404047980),
                (0x000fc00003f02270, 0x000000ff0400720c),
                (0x000fc0000070e170, 0x000000000000781c),
                (0x000fc00003800000, 0x0000000000080947),
                (0x000fc00003800000, 0x0000000000007947),
                (0x000fc0000383ffff, 0xfffffffc00947947),
            ],
        );
        let polled: Vec<(u64, bool)> = found.polled.iter().map(|polled| (polled.pc, polled.anew)).collect();
        assert_eq!(polled, [(0xa40, true)]);
        assert!(found.has_exit);
    }

    /// `while (x != 1.0f) { x += in[i]; ++count; }`, compiled with `-G`: it reads the same place in every round and is
    /// no wait.
    #[test]
    fn a_sum_over_the_same_place_is_no_spin() {
        let found = loop_of(
            0x270,
            &[
                (0x000fc00000000f00, 0x0000000900087202),
                (0x000fc00000000f00, 0x0000000700067202),
                (0x000fc00000000f00, 0x0000000800087202),
                (0x000fc00000000f00, 0x0000000600067202),
                (0x000fc00003f0d000, 0x3f8000000800780b),
                (0x000fc0000070e170, 0x000000000000781c),
                (0x000fc00003800000, 0x0000000000680947),
                (0x000fc00003800000, 0x0000000000007947),
                (0x000fc00000000f00, 0x00000005000a7202),
                (0x000fc0000001140a, 0x0000001fff0b7819),
                (0x000fc00000000f00, 0x0000000a00077202),
                (0x000fc00000000f00, 0x00000007000a7202),
                (0x000fc00000000f00, 0x0000000b000b7202),
                (0x000fc0000001020b, 0x000000020a0b7819),
                (0x000fc000000006ff, 0x000000020a0a7819),
                (0x000fc00007f1e0ff, 0x0000000a030a7210),
                (0x000fc000007fe4ff, 0x0000000b040b7210),
                (0x000fc00000000f00, 0x0000000a000a7202),
                (0x000fc00000000f00, 0x0000000b000b7202),
                (0x000fc00000000f00, 0x0000000a000a7202),
                (0x000fc00000000f00, 0x0000000b000b7202),
                (0x000fc000000e0000, 0x000000000c0472ca),
                (0x000fc000000e0000, 0x000000000d0572ca),
                (0x000fc0000c101900, 0x000000040a0a7980),
                (0x000fc00000000000, 0x0000000a080a7221),
                (0x000fc00000000f00, 0x0000000a000a7202),
                (0x000fc00007ffe0ff, 0x0000000106077810),
                (0x000fc00000000f00, 0x0000000700087202),
                (0x000fc00000000f00, 0x0000000800077202),
                (0x000fc00000000f00, 0x0000000700077202),
                (0x000fc00000000f00, 0x0000000a00097202),
                (0x000fc00000000f00, 0x0000000900097202),
                (0x000fc0000383ffff, 0xfffffffc007c7947),
            ],
        );
        assert_eq!(found.polled, []);
        assert!(found.has_exit);
    }

    /// `while (f[b ^ 1] == 0) {}` on a volatile array, compiled with `-G`: the carry of the address shares the predicate
    /// of the exit test.
    #[test]
    fn a_spin_on_the_element_of_another_block_polls() {
        let found = loop_of(
            0x160,
            &[
                (0x003fde0003800000, 0x0000000000007946),
                (0x003fde00078e3cff, 0x0000000100047812),
                (0x003fde0000000f00, 0x0000000400047202),
                (0x003fde0000011404, 0x0000001fff057819),
                (0x003fde0000000f00, 0x0000000400087202),
                (0x003fde0000000f00, 0x0000000800047202),
                (0x003fde0000000f00, 0x0000000500057202),
                (0x003fde0000010205, 0x0000000204057819),
                (0x003fde00000006ff, 0x0000000204047819),
                (0x003fde0007f1e0ff, 0x0000000403047210),
                (0x003fde00007fe4ff, 0x0000000502057210),
                (0x003fde0000000f00, 0x0000000400047202),
                (0x003fde0000000f00, 0x0000000500057202),
                (0x003fde0000000f00, 0x0000000400047202),
                (0x003fde0000000f00, 0x0000000500057202),
                (0x003fde00000e0000, 0x00000000060472ca),
                (0x003fde00000e0000, 0x00000000070572ca),
                (0x00321e000c115900, 0x0000000404047980),
                (0x003fde0003f02270, 0x000000ff0400720c),
                (0x003fde000070e170, 0x000000000000781c),
                (0x003fde0003800000, 0x0000000000080947),
                (0x003fde0003800000, 0x0000000000007947),
                (0x003fde000383ffff, 0xfffffffc00a47947),
            ],
        );
        let polled: Vec<u64> = found.polled.iter().map(|polled| polled.pc).collect();
        assert_eq!((found.outlook, found.reads_along, polled), (Outlook::Reads, false, vec![0x270]));
    }
}
