//! Which registers are alive where blocks begin and end.

use crate::{BlockId, Function, Guard, Instruction, Register, Terminator};

/// The registers whose values may still be read, at the beginning and the end of each block. A set is given as bits, 64 registers a
/// word.
///
/// Lanes run by themselves, but each follows the same control flow graph, so what is alive at a place is alive there for every lane.
#[derive(Debug, Clone)]
pub struct Liveness {
    words: usize,
    entry: Vec<u64>,
    exit: Vec<u64>,
}

impl Liveness {
    /// Of all blocks of a function.
    pub fn build(function: &Function) -> Liveness {
        let words = function.registers.len().div_ceil(64);
        let none = vec![0; words * function.blocks.len()];
        let mut live = Liveness { words, entry: none.clone(), exit: none.clone() };
        let mut written = none;
        let blocks = (0..function.blocks.len() as u32).map(BlockId);
        for block in blocks.clone() {
            let range = live.range(block);
            let mut reads = vec![0; words];
            let writes = written.get_mut(range.clone()).unwrap_or(&mut []);
            let mut read = |register: Register, writes: &[u64]| {
                if !has(writes, register) {
                    add(&mut reads, register);
                }
            };
            for instruction in function.instructions_of(block) {
                reads_of(function, instruction, |register| read(register, writes));
                function
                    .destinations(instruction.operands)
                    .iter()
                    .filter_map(|operand| operand.register())
                    .for_each(|register| add(writes, register));
            }
            if let Some(block) = function.blocks.get(block.0 as usize) {
                function.terminator_reads(block.terminator, |register| read(register, writes));
            }
            if let Some(entry) = live.entry.get_mut(range) {
                entry.copy_from_slice(&reads);
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for block in blocks.clone().rev() {
                let mut out = live.exit(block).to_vec();
                function.successors(block, |next| {
                    out.iter_mut().zip(live.entry(next)).for_each(|(out, word)| *out |= word);
                });
                let range = live.range(block);
                let entry = live.entry.get_mut(range.clone()).unwrap_or(&mut []);
                let writes = written.get(range.clone()).unwrap_or(&[]);
                for ((word, out), writes) in entry.iter_mut().zip(&out).zip(writes) {
                    let wider = *word | (out & !writes);
                    changed |= wider != *word;
                    *word = wider;
                }
                if let Some(exit) = live.exit.get_mut(range) {
                    exit.copy_from_slice(&out);
                }
            }
        }
        live
    }

    fn range(&self, block: BlockId) -> std::ops::Range<usize> {
        let start = block.0 as usize * self.words;
        start..start + self.words
    }

    /// Those alive before the first instruction of a block.
    pub fn entry(&self, block: BlockId) -> &[u64] {
        self.entry.get(self.range(block)).unwrap_or(&[])
    }

    /// Those alive behind the terminator of a block.
    pub fn exit(&self, block: BlockId) -> &[u64] {
        self.exit.get(self.range(block)).unwrap_or(&[])
    }

    /// Those alive at each place of a block: before each of its instructions, and before its terminator, last.
    pub fn within(&self, function: &Function, block: BlockId) -> Vec<Box<[u64]>> {
        let mut now = self.exit(block).to_vec();
        if let Some(block) = function.blocks.get(block.0 as usize) {
            function.terminator_reads(block.terminator, |register| add(&mut now, register));
        }
        let mut places = vec![now.clone().into_boxed_slice()];
        for instruction in function.instructions_of(block).iter().rev() {
            for register in
                function.destinations(instruction.operands).iter().filter_map(|operand| operand.register())
            {
                if let Some(word) = now.get_mut(register.0 as usize / 64) {
                    *word &= !(1 << (register.0 % 64));
                }
            }
            reads_of(function, instruction, |register| add(&mut now, register));
            places.push(now.clone().into_boxed_slice());
        }
        places.reverse();
        places
    }
}

/// The registers of a set, in ascending order.
pub fn registers(set: &[u64]) -> impl Iterator<Item = Register> {
    set.iter().zip(0u32..).flat_map(|(&word, index)| {
        (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| Register(index * 64 + bit))
    })
}

fn has(set: &[u64], register: Register) -> bool {
    set.get(register.0 as usize / 64).is_some_and(|word| word >> (register.0 % 64) & 1 != 0)
}

fn add(set: &mut [u64], register: Register) {
    if let Some(word) = set.get_mut(register.0 as usize / 64) {
        *word |= 1 << (register.0 % 64);
    }
}

/// The registers whose values an instruction may need. Where its guard does not hold, what it writes keeps its value.
fn reads_of(function: &Function, instruction: &Instruction, mut visit: impl FnMut(Register)) {
    let sources = function.sources(instruction.operands).iter();
    sources.filter_map(|operand| operand.register()).for_each(&mut visit);
    if let Some(guard) = instruction.guard {
        visit(Guard::register(guard));
        let destinations = function.destinations(instruction.operands).iter();
        destinations.filter_map(|operand| operand.register()).for_each(&mut visit);
    }
}

impl Function {
    /// The registers that a terminator reads.
    pub fn terminator_reads(&self, terminator: Terminator, mut visit: impl FnMut(Register)) {
        match terminator {
            Terminator::Branch { guard, .. } => visit(guard.register()),
            Terminator::Switch { index, .. } => index.register().into_iter().for_each(visit),
            Terminator::Return => self.result_pieces.iter().for_each(|piece| visit(piece.register)),
            Terminator::Jump(_) | Terminator::Exit | Terminator::Trap => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{FunctionBuilder, integer};
    use crate::{Operand, Operation, Type};

    #[test]
    fn what_a_loop_goes_round_with_is_alive_in_it() {
        let mut builder = FunctionBuilder::new();
        let [sum, step, dead, go] =
            [Type::U32, Type::U32, Type::U32, Type::Pred].map(|ty| builder.register(ty));
        let [entry, body, end] = [(); 3].map(|()| builder.block());
        builder.push(entry, integer(Operation::Mov), &[sum], &[Operand::Immediate(0)]);
        builder.terminate(entry, Terminator::Jump(body));
        builder.push(body, integer(Operation::Add), &[sum], &[sum.into(), step.into()]);
        builder.push(body, integer(Operation::Mov), &[dead], &[sum.into()]);
        let guard = Guard::new(go, false);
        builder.terminate(body, Terminator::Branch { guard, taken: body, otherwise: end });
        builder.terminate(end, Terminator::Return);
        let function = builder.finish();
        let live = Liveness::build(&function);
        let list = |set: &[u64]| registers(set).collect::<Vec<_>>();
        assert_eq!(list(live.entry(entry)), [step, go]);
        assert_eq!(list(live.exit(entry)), [sum, step, go]);
        assert!(list(live.entry(end)).is_empty());
        let places: Vec<_> = live.within(&function, body).iter().map(|set| list(set)).collect();
        assert_eq!(places, [[sum, step, go], [sum, step, go], [sum, step, go]]);
    }
}
