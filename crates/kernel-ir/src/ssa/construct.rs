//! Building the view.
//!
//! Most registers have one definition that dominates all uses, and are settled by one look at each
//! operand. The others get phis where different values meet and one of them is read (pruned form:
//! liveness and dominance frontiers, as bit sets over a batch of registers at a time), and their uses
//! are settled by a walk down the dominator tree.

use super::{ABSENT, Layout, Ssa, ValueDef, ValueId};
use crate::{
    BlockId, ControlFlow, Dominators, Function, InstructionId, Lists, Operand, Register, Terminator,
};

/// Registers handled by one pass of the liveness analysis, in words of 64.
const BATCH_WORDS: usize = 4;

/// What is known of a register.
#[derive(Clone, Copy)]
struct Definitions {
    /// The value of the only definition.
    value: u32,
    /// Its instruction; [`ABSENT`] for a value that is there at entry.
    instruction: u32,
    block: BlockId,
    count: u32,
    /// Not settled by one definition that dominates all uses.
    complex: bool,
}

/// A read or a write of a complex register.
#[derive(Clone, Copy)]
struct Event {
    slot: u32,
    register: Register,
    kind: EventKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EventKind {
    Read,
    Write,
    /// A write that keeps the previous value where the guard does not hold.
    Merge,
}

/// Registers of one block as bits.
type Bits = [u64; BATCH_WORDS];

/// Positions of the bits that are set.
fn set_bits(bits: Bits) -> impl Iterator<Item = usize> {
    bits.into_iter().enumerate().flat_map(|(word, mut bits)| {
        std::iter::from_fn(move || {
            let bit = bits.checked_ilog2()? as usize;
            bits ^= 1 << bit;
            Some(word * 64 + bit)
        })
    })
}

struct Builder<'a> {
    function: &'a Function,
    flow: &'a ControlFlow,
    dominators: &'a Dominators,
    registers: Vec<Definitions>,
    /// Value of each register before anything is written to it, when something reads it.
    initial: Vec<u32>,
    ssa: Ssa,
    /// Events of each block.
    events: Lists<Event>,
}

impl Ssa {
    /// Builds the view of a function.
    pub fn build(function: &Function, flow: &ControlFlow, dominators: &Dominators) -> Ssa {
        let layout = Layout::of(function);
        let unknown =
            Definitions { value: ABSENT, instruction: ABSENT, block: BlockId(0), count: 0, complex: false };
        let mut builder = Builder {
            function,
            flow,
            dominators,
            registers: vec![unknown; function.registers.len()],
            initial: vec![ABSENT; function.registers.len()],
            ssa: Ssa {
                slots: vec![ABSENT; layout.size()],
                layout,
                values: Vec::with_capacity(function.instructions.len() + 16),
                ..Ssa::default()
            },
            events: Lists::default(),
        };
        builder.number_definitions();
        // A use before the definition makes a register complex, and earlier uses of it then count too.
        if !builder.settle_uses() {
            builder.settle_uses();
        }
        if !builder.events.items().is_empty() {
            builder.place_phis();
            builder.rename();
        }
        builder.ssa
    }
}

impl Builder<'_> {
    /// Gives every destination a value, and counts definitions.
    fn number_definitions(&mut self) {
        for piece in &self.function.parameter_pieces {
            if let Some(register) = self.registers.get_mut(piece.register.0 as usize)
                && register.count == 0
            {
                let value = self.ssa.values.len() as u32;
                self.ssa.values.push(ValueDef::Entry(piece.register));
                self.initial[piece.register.0 as usize] = value;
                *register = Definitions { value, count: 1, ..*register };
            }
        }
        for (index, instruction) in self.function.instructions.iter().enumerate() {
            let id = InstructionId(index as u32);
            let Some(block) = self.flow.instruction_block(id) else { continue };
            let reachable = self.flow.is_reachable(block);
            let destinations = self.function.destinations(instruction.operands);
            for (destination, operand) in destinations.iter().enumerate() {
                let Operand::Register(register) = *operand else { continue };
                let Some(known) = self.registers.get_mut(register.0 as usize) else { continue };
                let value = self.ssa.values.len() as u32;
                let destination = destination as u16;
                self.ssa.values.push(ValueDef::Instruction { instruction: id, destination, previous: None });
                let slot = instruction.operands.start as usize + usize::from(destination);
                self.ssa.slots[slot] = value;
                if reachable {
                    known.count += 1;
                    known.complex |= known.count > 1 || instruction.guard.is_some();
                    (known.value, known.instruction, known.block) = (value, index as u32, block);
                }
            }
        }
    }

    /// Settles the uses of simple registers, and lists the events of complex ones. False when a register
    /// turned out to be complex on the way.
    fn settle_uses(&mut self) -> bool {
        self.events = Lists::with_capacity(self.function.blocks.len(), 0);
        let mut complete = true;
        for (index, block) in self.function.blocks.iter().enumerate() {
            let own = BlockId(index as u32);
            let (guards, terminators) = (self.ssa.layout.guards, self.ssa.layout.terminators);
            for number in block.first..block.end {
                let Some(instruction) = self.function.instructions.get(number as usize) else { break };
                let operands = instruction.operands;
                if let Some(guard) = instruction.guard {
                    complete &= self.settle(guards + number, guard.register(), own, number);
                }
                let first = operands.start + u32::from(operands.destinations);
                for (slot, source) in (first..).zip(self.function.sources(operands)) {
                    if let Some(register) = source.register() {
                        complete &= self.settle(slot, register, own, number);
                    }
                }
                let kind = if instruction.guard.is_some() { EventKind::Merge } else { EventKind::Write };
                for (slot, destination) in (operands.start..).zip(self.function.destinations(operands)) {
                    if let Operand::Register(register) = *destination
                        && self.registers.get(register.0 as usize).is_some_and(|known| known.complex)
                        && self.flow.is_reachable(own)
                    {
                        self.events.push(Event { slot, register, kind });
                    }
                }
            }
            let read = match block.terminator {
                Terminator::Branch { guard, .. } => Some(guard.register()),
                Terminator::Switch { index, .. } => index.register(),
                _ => None,
            };
            if let Some(register) = read {
                complete &= self.settle(terminators + index as u32, register, own, ABSENT);
            }
            if block.terminator == Terminator::Return
                && let Some(slots) = self.ssa.layout.results_of(own)
            {
                let function = self.function;
                let last = slots + self.ssa.layout.pieces;
                for (slot, piece) in (slots..last).zip(&function.result_pieces) {
                    complete &= self.settle(slot, piece.register, own, ABSENT);
                }
            }
            self.events.end_list();
        }
        complete
    }

    /// Settles one use before instruction `number` of a block. False when the register was taken for
    /// simple and is not.
    fn settle(&mut self, slot: u32, register: Register, block: BlockId, number: u32) -> bool {
        let Some(known) = self.registers.get_mut(register.0 as usize) else { return true };
        let reachable = self.flow.is_reachable(block);
        if known.complex && reachable {
            self.events.push(Event { slot, register, kind: EventKind::Read });
            return true;
        }
        if known.count == 0 || !reachable {
            self.ssa.slots[slot as usize] = self.undefined(register);
            return true;
        }
        let before = if known.instruction == ABSENT {
            true
        } else if known.block == block {
            known.instruction < number
        } else {
            self.dominators.dominates(known.block, block)
        };
        if before {
            self.ssa.slots[slot as usize] = known.value;
        } else {
            known.complex = true;
        }
        before
    }

    /// The value of a register before anything is written to it.
    fn undefined(&mut self, register: Register) -> u32 {
        let initial = &mut self.initial[register.0 as usize];
        if *initial == ABSENT {
            *initial = self.ssa.values.len() as u32;
            self.ssa.values.push(ValueDef::Undefined(register));
        }
        *initial
    }

    /// Adds the phis of all complex registers that are read in a block that does not write them first.
    fn place_phis(&mut self) {
        let count = self.function.blocks.len();
        // Registers that matter beyond one block get numbers.
        let mut number = vec![ABSENT; self.registers.len()];
        let mut crossing: Vec<Register> = Vec::new();
        let mut written_in = vec![ABSENT; self.registers.len()];
        for (block, events) in self.events.iter().enumerate() {
            for event in events {
                let register = event.register.0 as usize;
                if event.kind != EventKind::Write
                    && written_in[register] != block as u32
                    && number[register] == ABSENT
                {
                    number[register] = crossing.len() as u32;
                    crossing.push(event.register);
                }
                if event.kind != EventKind::Read {
                    written_in[register] = block as u32;
                }
            }
        }
        let joins: Vec<BlockId> = self
            .flow
            .reverse_postorder()
            .iter()
            .copied()
            .filter(|&block| {
                let predecessors = self.flow.predecessors(block).len();
                predecessors > 1 || (block.0 == 0 && predecessors > 0)
            })
            .collect();
        let mut pairs: Vec<(u32, ValueId)> = Vec::new();
        if !joins.is_empty() {
            for (batch, registers) in crossing.chunks(BATCH_WORDS * 64).enumerate() {
                let first = (batch * BATCH_WORDS * 64) as u32;
                self.place_batch(first, registers, &number, &joins, &mut pairs);
            }
        }
        self.ssa.phis = Lists::from_pairs(count, &pairs);
    }

    /// Places the phis of one batch of registers, whose numbers begin at `first`.
    fn place_batch(
        &mut self,
        first: u32,
        registers: &[Register],
        number: &[u32],
        joins: &[BlockId],
        pairs: &mut Vec<(u32, ValueId)>,
    ) {
        let count = self.function.blocks.len();
        let order = self.flow.reverse_postorder();
        let mut written = vec![Bits::default(); count];
        let mut live = vec![Bits::default(); count];
        for (block, events) in self.events.iter().enumerate() {
            for event in events {
                let bit = number[event.register.0 as usize].wrapping_sub(first) as usize;
                if bit >= registers.len() {
                    continue;
                }
                let (word, mask) = (bit / 64, 1u64 << (bit % 64));
                if event.kind != EventKind::Write && written[block][word] & mask == 0 {
                    live[block][word] |= mask;
                }
                if event.kind != EventKind::Read {
                    written[block][word] |= mask;
                }
            }
        }
        // Live at the start of each block.
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.iter().rev() {
                let index = block.0 as usize;
                let mut bits = live[index];
                for &to in self.flow.successors(block) {
                    for word in 0..BATCH_WORDS {
                        bits[word] |= live[to.0 as usize][word] & !written[index][word];
                    }
                }
                changed |= bits != live[index];
                live[index] = bits;
            }
        }
        // A join needs a phi when a block between it and its immediate dominator writes the register
        // or has a phi of it, and so on.
        let mut phis = vec![Bits::default(); count];
        let mut seen_for = vec![ABSENT; count];
        let mut round = 0u32;
        let mut changed = true;
        while changed {
            changed = false;
            for &join in joins {
                round += 1;
                let index = join.0 as usize;
                let stop = self.dominators.immediate(join);
                let mut bits = phis[index];
                for &from in self.flow.predecessors(join) {
                    let mut runner = Some(from);
                    while runner != stop
                        && let Some(block) = runner
                        && std::mem::replace(&mut seen_for[block.0 as usize], round) != round
                    {
                        for (word, bits) in bits.iter_mut().enumerate() {
                            let here = written[block.0 as usize][word] | phis[block.0 as usize][word];
                            *bits |= here & live[index][word];
                        }
                        runner = self.dominators.immediate(block);
                    }
                }
                changed |= bits != phis[index];
                phis[index] = bits;
            }
        }
        for &join in joins {
            let predecessors = self.flow.predecessors(join).len() + usize::from(join.0 == 0);
            for &register in set_bits(phis[join.0 as usize]).filter_map(|bit| registers.get(bit)) {
                let first = self.ssa.incoming.len() as u32;
                let incoming = (Ssa::OUTSIDE, ValueId(ABSENT));
                self.ssa.incoming.resize(first as usize + predecessors, incoming);
                let value = ValueId(self.ssa.values.len() as u32);
                let count = predecessors as u32;
                self.ssa.values.push(ValueDef::Phi { block: join, register, first, count });
                pairs.push((join.0, value));
            }
        }
    }

    /// Walks down the dominator tree with the current value of each complex register.
    fn rename(&mut self) {
        let mut current = vec![ABSENT; self.registers.len()];
        // What was overwritten, to go back to when a subtree is left: (depth, register, value).
        let mut undo: Vec<(u32, Register, u32)> = Vec::new();
        // Number of incoming values that each block's phis have.
        let mut received = vec![0u32; self.function.blocks.len()];
        let (events, phis) = (std::mem::take(&mut self.events), std::mem::take(&mut self.ssa.phis));
        if !phis.get(0).is_empty() {
            self.receive(phis.get(0), Ssa::OUTSIDE, 0, &current);
            received[0] = 1;
        }
        let dominators = self.dominators;
        for &block in dominators.preorder() {
            let depth = dominators.depth(block);
            while let Some(&(level, register, value)) = undo.last()
                && level >= depth
            {
                current[register.0 as usize] = value;
                undo.pop();
            }
            let mut write = |current: &mut [u32], register: Register, value: u32| {
                undo.push((depth, register, current[register.0 as usize]));
                current[register.0 as usize] = value;
            };
            for &phi in phis.get(block.0) {
                if let Some(&ValueDef::Phi { register, .. }) = self.ssa.values.get(phi.0 as usize) {
                    write(&mut current, register, phi.0);
                }
            }
            for event in events.get(block.0) {
                let before = match event.kind {
                    EventKind::Write => ABSENT,
                    _ => self.value_of(event.register, &current),
                };
                if event.kind == EventKind::Read {
                    self.ssa.slots[event.slot as usize] = before;
                    continue;
                }
                let value = self.ssa.slots[event.slot as usize];
                if event.kind == EventKind::Merge
                    && let Some(ValueDef::Instruction { previous, .. }) =
                        self.ssa.values.get_mut(value as usize)
                {
                    *previous = Some(ValueId(before));
                }
                write(&mut current, event.register, value);
            }
            let flow = self.flow;
            for &to in flow.successors(block) {
                let phis = phis.get(to.0);
                if !phis.is_empty() {
                    self.receive(phis, block, received[to.0 as usize], &current);
                    received[to.0 as usize] += 1;
                }
            }
        }
        self.ssa.phis = phis;
    }

    fn value_of(&mut self, register: Register, current: &[u32]) -> u32 {
        match current[register.0 as usize] {
            ABSENT => self.undefined(register),
            value => value,
        }
    }

    /// Gives phis their `index`-th incoming value.
    fn receive(&mut self, phis: &[ValueId], from: BlockId, index: u32, current: &[u32]) {
        for phi in phis {
            if let Some(&ValueDef::Phi { register, first, .. }) = self.ssa.values.get(phi.0 as usize) {
                let value = ValueId(self.value_of(register, current));
                self.ssa.incoming[(first + index) as usize] = (from, value);
            }
        }
    }
}
