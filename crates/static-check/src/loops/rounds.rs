//! Running the part of a loop that decides its exits: exactly where all values are known, and as «the same as
//! before» where some are not.

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{Arithmetic, Op, Operand, Operation, Special, Type, ValueDef, ValueId, evaluate};

use super::cycle::{Cycle, is_steady};
use crate::threads::ThreadValues;

/// Most values that decide a loop's exits.
const MAXIMUM_VALUES: usize = 96;

/// Most rounds that are run for one set of start values.
const MAXIMUM_ROUNDS: u32 = 2048;

/// What running loops may cost, in evaluated instructions of one kernel.
pub(super) struct Budget {
    left: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { left: 2_000_000 }
    }
}

/// How a loop was shown never to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Never {
    /// Already the first round changes nothing.
    pub(super) unchanged: bool,
    /// The tests are known to fail in the first round, too.
    pub(super) certain: bool,
    /// The threads that it is shown for, when not for all.
    pub(super) threads: Option<Vec<u32>>,
}

/// A value as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Bits(u64),
    /// What a value from outside was before the loop.
    Start(ValueId),
    Unknown,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Bits(u64),
    Slot { slot: usize, negated: bool },
    Unknown,
}

struct Step {
    arithmetic: Arithmetic,
    sources: Vec<Source>,
    destinations: usize,
    destination: usize,
    slot: usize,
    register: Type,
}

/// A value that goes round the loop.
struct State {
    slot: usize,
    phi: ValueId,
    start: Option<ValueId>,
    next: usize,
}

/// The values that decide a loop's exits.
pub(super) struct Slice {
    slots: FxHashMap<ValueId, usize>,
    /// Values from outside.
    inputs: Vec<(usize, ValueId)>,
    /// Special registers read in the loop.
    specials: Vec<(usize, Special)>,
    states: Vec<State>,
    steps: Vec<Step>,
    /// Slot and leaving value of each exit's test.
    tests: Vec<(usize, bool)>,
}

impl Slice {
    /// `None` when something other than the loop's own arithmetic decides an exit.
    pub(super) fn new(cycle: &Cycle<'_>, tests: &[(ValueId, bool)]) -> Option<Slice> {
        let mut slice = Slice {
            slots: FxHashMap::default(),
            inputs: Vec::new(),
            specials: Vec::new(),
            states: Vec::new(),
            steps: Vec::new(),
            tests: Vec::new(),
        };
        let mut open: Vec<ValueId> = Vec::new();
        for &(condition, leaves) in tests {
            let slot = slice.visit(cycle, condition, &mut open, 0)?;
            slice.tests.push((slot, leaves));
        }
        let mut done = 0;
        while let Some(&next) = open.get(done) {
            let slot = slice.visit(cycle, next, &mut open, 0)?;
            slice.states.get_mut(done)?.next = slot;
            done += 1;
        }
        Some(slice)
    }

    /// Whether anything of the launch went into the verdict.
    pub(super) fn uses_launch(&self) -> bool {
        !self.inputs.is_empty() || !self.specials.is_empty()
    }

    fn fresh(&mut self, value: ValueId) -> usize {
        let slot = self.slots.len() + self.specials.len();
        self.slots.insert(value, slot);
        slot
    }

    fn visit(
        &mut self,
        cycle: &Cycle<'_>,
        value: ValueId,
        open: &mut Vec<ValueId>,
        depth: u32,
    ) -> Option<usize> {
        if let Some(&slot) = self.slots.get(&value) {
            return Some(slot);
        }
        if depth > 40 || self.slots.len() >= MAXIMUM_VALUES {
            return None;
        }
        if !cycle.is_inside(value) {
            let slot = self.fresh(value);
            self.inputs.push((slot, value));
            return Some(slot);
        }
        let body = cycle.body;
        if let Some(ValueDef::Phi { .. }) = body.ssa.definition(value) {
            let (start, next) = cycle.state(value)?;
            let slot = self.fresh(value);
            self.states.push(State { slot, phi: value, start, next: slot });
            open.push(next);
            return Some(slot);
        }
        let Some(ValueDef::Instruction { instruction, destination, previous: None }) =
            body.ssa.definition(value)
        else {
            return None;
        };
        let instruction = body.instruction(instruction)?;
        let Op::Arithmetic(arithmetic) = instruction.op else { return None };
        let mut sources = Vec::new();
        for index in 0..usize::from(instruction.operands.sources) {
            sources.push(match body.source(instruction, index) {
                Operand::Immediate(bits) => Source::Bits(bits),
                operand @ (Operand::Register(_) | Operand::Negated(_)) => {
                    let source = body.source_value(instruction, index)?;
                    let slot = self.visit(cycle, source, open, depth + 1)?;
                    Source::Slot { slot, negated: matches!(operand, Operand::Negated(_)) }
                }
                Operand::Special(special) if is_steady(special) => {
                    let slot = self.slots.len() + self.specials.len();
                    self.specials.push((slot, special));
                    Source::Slot { slot, negated: false }
                }
                Operand::Symbol { .. } => Source::Unknown,
                _ => return None,
            });
        }
        let register = body.function.destinations(instruction.operands).get(usize::from(destination))?;
        let register = body.register_type(register.register()?);
        let slot = self.fresh(value);
        self.steps.push(Step {
            arithmetic,
            sources,
            destinations: usize::from(instruction.operands.destinations),
            destination: usize::from(destination),
            slot,
            register,
        });
        Some(slot)
    }

    /// Shows that the loop never ends, if that can be shown.
    pub(super) fn decide(
        &self,
        cycle: &Cycle<'_>,
        values: &mut Option<ThreadValues<'_>>,
        budget: &mut Budget,
    ) -> Option<Never> {
        let mut vectors = FxHashMap::default();
        let outside = self.inputs.iter().map(|&(_, value)| value);
        let outside = outside.chain(self.states.iter().filter_map(|state| state.start));
        for value in outside {
            if let Some(vector) = values.as_mut().and_then(|values| values.vector(value)) {
                vectors.insert(value, vector);
            }
        }
        let specials: Vec<_> = self
            .specials
            .iter()
            .map(|&(_, special)| values.as_ref().and_then(|values| values.special(special)))
            .collect();
        let uniform = |vector: &[u64]| match vector.split_first() {
            Some((first, rest)) if rest.iter().all(|bits| bits == first) => Known::Bits(*first),
            _ => Known::Unknown,
        };
        let of_all = |value: ValueId| match vectors.get(&value).map(|vector| uniform(vector)) {
            Some(Known::Bits(bits)) => Known::Bits(bits),
            _ => cycle.body.constant_value(value).map_or(Known::Start(value), Known::Bits),
        };
        let special_of_all =
            |index: usize| specials.get(index).and_then(|v| v.as_deref()).map_or(Known::Unknown, uniform);
        // Threads may start differently.
        if !vectors.values().any(|vector| uniform(vector) == Known::Unknown) {
            return self.run(&of_all, &special_of_all, budget);
        }
        let threads = cycle.kernel.launch.threads()?;
        let mut stuck = Vec::new();
        let mut result: Option<Never> = None;
        let mut seen: FxHashMap<Vec<u64>, Option<Never>> = FxHashMap::default();
        for thread in 0..threads {
            let of_one = |value: ValueId| {
                let own = vectors.get(&value).and_then(|vector| vector.get(thread as usize));
                own.map_or_else(|| of_all(value), |&bits| Known::Bits(bits))
            };
            let special_of_one = |index: usize| {
                let own = specials.get(index).and_then(|v| v.as_ref()).and_then(|v| v.get(thread as usize));
                own.map_or(Known::Unknown, |&bits| Known::Bits(bits))
            };
            let key: Vec<u64> =
                vectors.values().filter_map(|vector| vector.get(thread as usize).copied()).collect();
            let own = match seen.get(&key) {
                Some(own) => own.clone(),
                None => {
                    let own = self.run(&of_one, &special_of_one, budget);
                    seen.insert(key, own.clone());
                    own
                }
            };
            if let Some(own) = own {
                stuck.push(thread);
                let known = result.get_or_insert_with(|| own.clone());
                known.unchanged &= own.unchanged;
                known.certain &= own.certain;
            }
        }
        let all = stuck.len() == threads as usize;
        result.map(|never| Never { threads: (!all).then_some(stuck), ..never })
    }

    /// Whether every value that goes round only counts by a constant other than zero: such a loop ends.
    fn only_counts(&self, of: &dyn Fn(ValueId) -> Known) -> bool {
        self.states.iter().all(|state| {
            let Some(step) = self.steps.iter().find(|step| step.slot == state.next) else { return false };
            let by = |source: &Source| match *source {
                Source::Bits(bits) => bits != 0,
                Source::Slot { slot, .. } => {
                    let input = self.inputs.iter().find(|(known, _)| *known == slot);
                    input.is_some_and(|&(_, value)| !matches!(of(value), Known::Bits(0)))
                }
                Source::Unknown => false,
            };
            let own = |source: &Source| matches!(source, Source::Slot { slot, .. } if *slot == state.slot);
            !step.arithmetic.ty.is_float()
                && matches!(step.arithmetic.operation, Operation::Add | Operation::Sub)
                && step.sources.iter().any(own)
                && step.sources.iter().filter(|source| !own(source)).all(by)
        })
    }

    fn run(
        &self,
        of: &dyn Fn(ValueId) -> Known,
        special: &dyn Fn(usize) -> Known,
        budget: &mut Budget,
    ) -> Option<Never> {
        let mut slots = vec![Known::Unknown; self.slots.len() + self.specials.len()];
        let mut set = |slot: usize, value: Known| {
            if let Some(place) = slots.get_mut(slot) {
                *place = value;
            }
        };
        for &(slot, value) in &self.inputs {
            set(slot, of(value));
        }
        for (index, &(slot, _)) in self.specials.iter().enumerate() {
            set(slot, special(index));
        }
        for state in &self.states {
            set(state.slot, state.start.map_or(Known::Start(state.phi), of));
        }
        let counts = self.only_counts(of);
        let mut saved: Vec<Known> = Vec::new();
        let mut power = 1;
        for round in 1..=MAXIMUM_ROUNDS {
            budget.left = budget.left.checked_sub(self.steps.len() as u64 + 1)?;
            let before: Vec<Known> = self.current(&slots);
            for step in &self.steps {
                let value = step.value(&slots);
                if let Some(place) = slots.get_mut(step.slot) {
                    *place = value;
                }
            }
            let mut certain = true;
            for &(slot, leaves) in &self.tests {
                match slots.get(slot) {
                    Some(Known::Bits(bits)) if (bits & 1 == 1) == leaves => return None,
                    Some(Known::Bits(_)) => {}
                    _ => certain = false,
                }
            }
            let after: Vec<Known> =
                self.states.iter().map(|s| slots.get(s.next).copied().unwrap_or(Known::Unknown)).collect();
            if after.contains(&Known::Unknown) {
                return None;
            }
            if after == before {
                let unchanged = round == 1;
                return (unchanged || certain).then_some(Never { unchanged, certain, threads: None });
            }
            // Only a run whose tests are all known says that the earlier rounds did not leave.
            if !certain || counts {
                return None;
            }
            if after == saved {
                return Some(Never { unchanged: false, certain, threads: None });
            }
            if round == power {
                saved.clone_from(&after);
                power *= 2;
            }
            for (state, value) in self.states.iter().zip(after) {
                if let Some(place) = slots.get_mut(state.slot) {
                    *place = value;
                }
            }
        }
        None
    }

    fn current(&self, slots: &[Known]) -> Vec<Known> {
        self.states.iter().map(|state| slots.get(state.slot).copied().unwrap_or(Known::Unknown)).collect()
    }
}

impl Step {
    fn value(&self, slots: &[Known]) -> Known {
        let sources: Vec<Known> = self
            .sources
            .iter()
            .map(|source| match *source {
                Source::Bits(bits) => Known::Bits(bits),
                Source::Unknown => Known::Unknown,
                Source::Slot { slot, negated } => match slots.get(slot).copied().unwrap_or(Known::Unknown) {
                    Known::Bits(bits) if negated => Known::Bits(bits & 1 ^ 1),
                    Known::Start(_) if negated => Known::Unknown,
                    known => known,
                },
            })
            .collect();
        let bits: Option<Vec<u64>> = sources
            .iter()
            .map(|source| match source {
                Known::Bits(bits) => Some(*bits),
                _ => None,
            })
            .collect();
        if let Some(bits) = bits {
            let results = evaluate::evaluate(&self.arithmetic, &bits, self.destinations);
            let result = results.and_then(|results| results.get(self.destination).copied());
            return result.map_or(Known::Unknown, |bits| Known::Bits(evaluate::keep(bits, self.register)));
        }
        self.identity(&sources)
    }

    /// What stays as it was although it is not known.
    fn identity(&self, sources: &[Known]) -> Known {
        let arithmetic = self.arithmetic;
        if arithmetic.ty.is_float() && arithmetic.operation != Operation::Mov {
            return Known::Unknown;
        }
        let zero = Known::Bits(0);
        match (arithmetic.operation, sources) {
            (Operation::Mov, &[value]) if self.destinations == 1 => value,
            (Operation::Add | Operation::Or | Operation::Xor, &[value, other] | &[other, value])
                if other == zero =>
            {
                value
            }
            (Operation::Sub | Operation::Shl | Operation::Shr, &[value, other]) if other == zero => value,
            (Operation::Mul | Operation::And, &[_, other] | &[other, _]) if other == zero => zero,
            (Operation::Mul, &[value, Known::Bits(1)] | &[Known::Bits(1), value])
                if arithmetic.flags.has(standstill_kernel_ir::ArithmeticFlags::LOW) =>
            {
                value
            }
            (Operation::Min | Operation::Max | Operation::And | Operation::Or, &[a, b]) if a == b => a,
            (Operation::Selp, &[a, b, _]) if a == b => a,
            _ => Known::Unknown,
        }
    }
}
