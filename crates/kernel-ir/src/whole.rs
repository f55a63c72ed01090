//! Whether a function is whole: all that it refers to is there. Readers of any input must give such functions only, which their tests and
//! fuzz targets ask for.

use crate::{BlockId, Function};

impl Function {
    /// What is wrong with its references, of which analyses take for granted that they lead somewhere; nothing when it is whole.
    pub fn flaw(&self) -> Option<&'static str> {
        let mut next = 0;
        let mut flaw = self.blocks.is_empty().then_some("it has no blocks");
        for (block, number) in self.blocks.iter().zip(0..) {
            if block.first != next || block.end < block.first {
                return Some("the instructions of its blocks do not follow each other");
            }
            next = block.end;
            self.successors(BlockId(number), |target| {
                if target.0 == 0 {
                    flaw = Some("the entry block has a predecessor");
                } else if target.0 as usize >= self.blocks.len() {
                    flaw = Some("a branch leads nowhere");
                }
            });
        }
        if next as usize != self.instructions.len() {
            return Some("instructions are in no block");
        }
        flaw.or_else(|| self.flaw_of_instructions())
    }

    fn flaw_of_instructions(&self) -> Option<&'static str> {
        let is_register = |register: crate::Register| (register.0 as usize) < self.registers.len();
        for instruction in &self.instructions {
            let range = instruction.operands;
            let count = usize::from(range.destinations) + usize::from(range.sources);
            if range.start as usize + count > self.operands.len() {
                return Some("an instruction's operands are not there");
            }
            if instruction.location.0 as usize >= self.locations.len() {
                return Some("an instruction's place is not there");
            }
            if !instruction.guard.is_none_or(|guard| is_register(guard.register())) {
                return Some("a guard's register is not there");
            }
        }
        if !self.operands.iter().filter_map(|operand| operand.register()).all(is_register) {
            return Some("an operand's register is not there");
        }
        let is_place = |place: &crate::Location| (place.inlined_at.0 as usize) < self.locations.len();
        (!self.locations.iter().all(is_place)).then_some("the place of a call is not there")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{FunctionBuilder, integer};
    use crate::{Guard, LocationId, Operand, Operation, Register, Terminator, Type};

    /// What is wrong with a loop of two blocks behind an entry after a change.
    #[track_caller]
    fn check(change: impl Fn(&mut Function), expected: Option<&str>) {
        let mut builder = FunctionBuilder::new();
        let one = builder.register(Type::U32);
        let (entry, around, end) = (builder.block(), builder.block(), builder.block());
        builder.push(entry, integer(Operation::Mov), &[one], &[Operand::Immediate(1)]);
        builder.terminate(entry, Terminator::Jump(around));
        builder.push(around, integer(Operation::Add), &[one], &[one.into(), one.into()]);
        let guard = Guard::new(one, false);
        builder.terminate(around, Terminator::Branch { guard, taken: around, otherwise: end });
        builder.terminate(end, Terminator::Return);
        let mut function = builder.finish();
        change(&mut function);
        assert_eq!(function.flaw(), expected);
    }

    #[test]
    fn each_flaw_is_told() {
        check(|_| {}, None);
        check(|f| f.blocks.clear(), Some("instructions are in no block"));
        check(
            |f| {
                f.blocks.clear();
                f.instructions.clear();
            },
            Some("it has no blocks"),
        );
        check(|f| f.blocks[1].first = 0, Some("the instructions of its blocks do not follow each other"));
        check(|f| f.blocks[2].end = 1, Some("the instructions of its blocks do not follow each other"));
        let jump = |to| move |f: &mut Function| f.blocks[2].terminator = Terminator::Jump(BlockId(to));
        check(jump(0), Some("the entry block has a predecessor"));
        check(jump(3), Some("a branch leads nowhere"));
        check(|f| f.operands.truncate(4), Some("an instruction's operands are not there"));
        check(|f| f.instructions[1].location = LocationId(9), Some("an instruction's place is not there"));
        let guard = Guard::new(Register(7), true);
        check(|f| f.instructions[0].guard = Some(guard), Some("a guard's register is not there"));
        check(|f| f.operands[0] = Register(1).into(), Some("an operand's register is not there"));
        check(|f| f.locations[0].inlined_at = LocationId(1), Some("the place of a call is not there"));
    }
}
