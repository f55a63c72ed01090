//! Which stores write back what was read from memory: by the code alone.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ssa::{Ssa, Uses, ValueDef, ValueId};
use crate::{AtomicOperation, ControlFlow, Dominators, Function, Op, Order};

/// The reads and writes of a function that belong together, by the index of the instruction.
#[derive(Debug, Default)]
pub struct Updates {
    /// Stores, exchanges and compare-and-swaps whose new value comes from reads.
    pub updates: FxHashMap<u32, Update>,
    /// All that is part of an update.
    pub noted: FxHashSet<u32>,
    /// Reads that a compare-and-swap checks.
    pub guesses: FxHashSet<u32>,
    /// Atomics whose results nobody uses.
    pub unobserved: FxHashSet<u32>,
}

/// A store, an exchange or a compare-and-swap whose new value comes from reads.
#[derive(Debug, Default, Clone)]
pub struct Update {
    /// The reads that the new value comes from.
    pub from: FxHashSet<u32>,
    /// The reads that the expected value comes from.
    pub expected: FxHashSet<u32>,
    /// Nobody looks at whether the compare-and-swap succeeded.
    pub ignored: bool,
    /// Of the reads that the new value comes from, those that were read by way of the expected value.
    pub chased: FxHashSet<u32>,
}

impl Updates {
    /// Finds the updates of a function.
    pub fn build(function: &Function) -> Updates {
        let flow = ControlFlow::build(function);
        let dominators = Dominators::build(&flow);
        let ssa = Ssa::build(function, &flow, &dominators);
        let uses = Uses::build(function, &ssa);
        let mut found = Updates::default();
        for (instruction, id) in function.instructions.iter().zip(0u32..) {
            let first = instruction.operands.start + u32::from(instruction.operands.destinations);
            let value = |source: u32| ssa.at(first + source);
            if matches!(instruction.op, Op::Atomic { .. }) {
                let results = instruction.operands.start..first;
                if results.filter_map(|at| ssa.at(at)).all(|result| uses.of(result).is_empty()) {
                    found.unobserved.insert(id);
                }
            }
            let update = match instruction.op {
                // Of weak accesses a race tells enough.
                Op::Store(access) if access.elements <= 1 && access.order != Order::Weak => {
                    let from = value(1).map(|value| reads(function, &ssa, value)).unwrap_or_default();
                    Update { from, ..Update::default() }
                }
                // Whoever looks at what an exchange gives can see what came in between.
                Op::Atomic { operation: AtomicOperation::Exchange, access }
                    if access.elements <= 1 && found.unobserved.contains(&id) =>
                {
                    let from = value(1).map(|value| reads(function, &ssa, value)).unwrap_or_default();
                    Update { from, ..Update::default() }
                }
                Op::Atomic { operation: AtomicOperation::CompareExchange, .. } => {
                    let from = value(2).map(|value| reads(function, &ssa, value)).unwrap_or_default();
                    let expected = value(1).map(|value| reads(function, &ssa, value)).unwrap_or_default();
                    let result = if instruction.operands.destinations > 0 {
                        ssa.at(instruction.operands.start)
                    } else {
                        None
                    };
                    let ignored = result.is_none_or(|result| uses.of(result).is_empty());
                    let by_way = |read: &u32| {
                        address_reads(function, &ssa, *read).iter().any(|by| expected.contains(by))
                    };
                    let others = from.iter().copied().filter(|read| !expected.contains(read) && *read != id);
                    let chased = others.filter(by_way).collect();
                    Update { from, expected, ignored, chased }
                }
                _ => continue,
            };
            found.guesses.extend(&update.expected);
            if update.from.is_empty() {
                continue;
            }
            found.noted.insert(id);
            found.noted.extend(update.from.iter().chain(&update.expected));
            found.updates.insert(id, update);
        }
        found
    }
}

/// The reads that a value comes from, by arithmetic alone.
fn reads(function: &Function, ssa: &Ssa, value: ValueId) -> FxHashSet<u32> {
    let mut found = FxHashSet::default();
    let mut seen = FxHashSet::default();
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        if !seen.insert(value) || seen.len() > 4096 {
            continue;
        }
        match ssa.definition(value) {
            Some(ValueDef::Instruction { instruction, previous, .. }) => {
                rest.extend(previous);
                let Some(of) = function.instructions.get(instruction.0 as usize) else { continue };
                match of.op {
                    Op::Load(_) | Op::Atomic { .. } => {
                        found.insert(instruction.0);
                    }
                    Op::Arithmetic(_) => {
                        let first = of.operands.start + u32::from(of.operands.destinations);
                        rest.extend((0..u32::from(of.operands.sources)).filter_map(|at| ssa.at(first + at)));
                    }
                    _ => {}
                }
            }
            Some(ValueDef::Phi { .. }) => rest.extend(ssa.incoming(value).iter().map(|(_, value)| *value)),
            _ => {}
        }
    }
    found
}

/// The reads that a read's address comes from.
fn address_reads(function: &Function, ssa: &Ssa, read: u32) -> FxHashSet<u32> {
    let Some(of) = function.instructions.get(read as usize) else { return FxHashSet::default() };
    let first = of.operands.start + u32::from(of.operands.destinations);
    ssa.at(first).map(|value| reads(function, ssa, value)).unwrap_or_default()
}
