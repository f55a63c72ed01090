//! Which stores write back what was read from memory: by the code alone.

use rustc_hash::{FxHashMap, FxHashSet};
use standstill_kernel_ir::ssa::{Ssa, Uses, ValueDef, ValueId};
use standstill_kernel_ir::{AtomicOperation, ControlFlow, Dominators, Function, Op, Order};

/// The reads and writes of a function that belong together, by instruction.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pub(super) updates: FxHashMap<u32, Update>,
    noted: FxHashSet<u32>,
    /// Reads that a compare-and-swap checks.
    guesses: FxHashSet<u32>,
    /// Atomics whose results nobody uses.
    unobserved: FxHashSet<u32>,
    pub(super) positions: Vec<u32>,
}

/// A store or a compare-and-swap whose new value comes from reads.
#[derive(Debug, Default, Clone)]
pub(super) struct Update {
    /// The reads that the new value comes from.
    pub(super) from: FxHashSet<u32>,
    /// The reads that the expected value comes from.
    pub(super) expected: FxHashSet<u32>,
    /// Nobody looks at whether the compare-and-swap succeeded.
    pub(super) ignored: bool,
    /// The new value was read by way of the expected one.
    pub(super) chases: bool,
}

impl Pairs {
    /// Whether the operation at a position is part of a pair.
    #[inline]
    pub(super) fn is_noted(&self, position: usize) -> bool {
        self.positions.get(position).is_some_and(|id| self.noted.contains(id))
    }

    /// Whether what is read at a position is only the first guess of a compare-and-swap, as in the loops of the
    /// CUDA C++ Programming Guide («Atomic Functions»): an old or torn value makes it try again.
    pub(super) fn is_guess(&self, position: usize) -> bool {
        self.positions.get(position).is_some_and(|id| self.guesses.contains(id))
    }

    /// Whether somebody uses what the atomic at a position gives.
    pub(super) fn is_observed(&self, position: usize) -> bool {
        self.positions.get(position).is_none_or(|id| !self.unobserved.contains(id))
    }

    pub(super) fn build(function: &Function) -> Pairs {
        let flow = ControlFlow::build(function);
        let dominators = Dominators::build(&flow);
        let ssa = Ssa::build(function, &flow, &dominators);
        let uses = Uses::build(function, &ssa);
        let mut pairs = Pairs::default();
        for (instruction, id) in function.instructions.iter().zip(0u32..) {
            let first = instruction.operands.start + u32::from(instruction.operands.destinations);
            let value = |source: u32| ssa.at(first + source);
            if matches!(instruction.op, Op::Atomic { .. }) {
                let results = instruction.operands.start..first;
                if results.filter_map(|at| ssa.at(at)).all(|result| uses.of(result).is_empty()) {
                    pairs.unobserved.insert(id);
                }
            }
            let update = match instruction.op {
                // Of weak accesses a race tells enough.
                Op::Store(access) if access.elements <= 1 && access.order != Order::Weak => {
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
                    let chases =
                        from.iter().filter(|read| !expected.contains(read) && **read != id).any(|&read| {
                            address_reads(function, &ssa, read).iter().any(|by| expected.contains(by))
                        });
                    Update { from, expected, ignored, chases }
                }
                _ => continue,
            };
            if update.from.is_empty() {
                continue;
            }
            pairs.noted.insert(id);
            pairs.guesses.extend(&update.expected);
            pairs.noted.extend(update.from.iter().chain(&update.expected));
            pairs.updates.insert(id, update);
        }
        pairs
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
