//! Ends of blocks: branches, and what they hand to phi instructions.

use rspirv::spirv::Op;
use rustc_hash::FxHashSet;
use standstill_kernel_ir::{BlockId, Comparison, Operand, Register, Terminator, Type};

use super::kernel::{Fault, Frame, Kernel, Short};
use super::words::Instruction;
use crate::operation::compare;
use crate::types::register_type;

impl Kernel<'_> {
    pub(crate) fn terminator(
        &mut self,
        frame: &mut Frame,
        instruction: Instruction<'_>,
        merge: Option<u32>,
    ) -> Result<(), Fault> {
        let operand = |index: usize| instruction.operand(index).ok_or("a branch without a target".to_owned());
        match instruction.op {
            Some(Op::Branch) => {
                let to = operand(0)?;
                self.hand_to(frame, to)?;
                self.emit.end(Terminator::Jump(frame.block(to)?));
            }
            Some(Op::BranchConditional) => {
                let (yes, no) = (operand(1)?, operand(2)?);
                let condition = self.scalar(frame, operand(0)?)?;
                let guard = self.emit.guard(condition);
                self.note_branch(frame, instruction, merge, &[yes, no]);
                let (taken, otherwise) = (self.edge(frame, yes)?, self.edge(frame, no)?);
                self.emit.end(Terminator::Branch { guard, taken, otherwise });
            }
            Some(Op::Switch) => self.switch(frame, instruction, merge)?,
            Some(Op::Return | Op::ReturnValue) => match frame.back.clone() {
                None => self.emit.end(Terminator::Return),
                Some((exit, into)) => {
                    if instruction.op == Some(Op::ReturnValue) && !into.is_empty() {
                        let values = self.scalars(frame, operand(0)?)?;
                        self.emit.hand_over(&into, &values);
                    }
                    self.emit.end(Terminator::Jump(exit));
                }
            },
            Some(Op::Unreachable) => self.emit.end(Terminator::Trap),
            _ => self.emit.end(Terminator::Exit),
        }
        Ok(())
    }

    fn switch(
        &mut self,
        frame: &mut Frame,
        instruction: Instruction<'_>,
        merge: Option<u32>,
    ) -> Result<(), Fault> {
        let fault = || "a switch without targets".to_owned();
        let [selector, default, cases @ ..] = instruction.operands() else { return Err(fault()) };
        let kind = self.module.scalar(self.module.type_of(*selector)).ok_or_else(fault)?;
        let value = self.scalar(frame, *selector)?;
        let words = if kind.width == 8 { 2 } else { 1 };
        let mut targets = vec![*default];
        // A chain of comparisons, in the order of the cases.
        for case in cases.chunks_exact(words + 1) {
            let (Some(&low), Some(&to)) = (case.first(), case.last()) else { continue };
            let high = if words == 2 { case.get(1).copied().unwrap_or(0) } else { 0 };
            let wanted = Operand::Immediate(u64::from(high) << 32 | u64::from(low));
            let equal =
                self.emit.result(compare(Comparison::Eq, register_type(kind)), Type::Pred, &[value, wanted]);
            let guard = self.emit.guard(equal);
            let taken = self.edge(frame, to)?;
            let otherwise = self.emit.out.block();
            self.emit.end(Terminator::Branch { guard, taken, otherwise });
            self.emit.begin(otherwise);
            targets.push(to);
        }
        self.note_branch(frame, instruction, merge, &targets);
        self.hand_to(frame, *default)?;
        self.emit.end(Terminator::Jump(frame.block(*default)?));
        Ok(())
    }

    /// The block that an edge leads to: one that hands over the values of the target's phi instructions first.
    fn edge(&mut self, frame: &mut Frame, to: u32) -> Result<BlockId, Fault> {
        let target = frame.block(to)?;
        if !frame.phis.contains_key(&to) {
            return Ok(target);
        }
        let at = self.emit.at;
        let between = self.emit.out.block();
        self.emit.begin(between);
        self.hand_to(frame, to)?;
        self.emit.end(Terminator::Jump(target));
        self.emit.begin(at);
        Ok(between)
    }

    /// Hands over the values of the target's phi instructions, all read before any is written.
    fn hand_to(&mut self, frame: &Frame, to: u32) -> Result<(), Fault> {
        let Some(phis) = frame.phis.get(&to) else { return Ok(()) };
        let (mut into, mut values) = (Vec::new(), Vec::new());
        for phi in phis.iter().filter(|phi| !phi.registers.is_empty()) {
            let Some(&(source, _)) = phi.sources.iter().find(|(_, from)| *from == frame.label) else {
                continue;
            };
            self.steps += phi.sources.len() / 8;
            let scalars = self.scalars(frame, source)?;
            into.extend(phi.registers.iter().copied().take(scalars.len()));
            values.extend(scalars.into_iter().take(phi.registers.len()));
        }
        let all: FxHashSet<Register> = into.iter().copied().collect();
        let written = |value: &Operand| value.register().is_some_and(|register| all.contains(&register));
        if into.len() > 1 && values.iter().any(written) {
            let kinds: Vec<Type> = into.iter().map(|&register| self.register_type(register)).collect();
            values = values.iter().zip(kinds).map(|(&value, ty)| self.emit.copy(ty, value)).collect();
        }
        self.emit.hand_over(&into, &values);
        Ok(())
    }

    fn register_type(&mut self, register: Register) -> Type {
        self.emit.out.tables().registers.get(register.0 as usize).map_or(Type::U32, |info| info.ty)
    }

    /// Keeps what readers are told of a branch: whether invocations return behind it, whether it ends a loop.
    fn note_branch(
        &mut self,
        frame: &Frame,
        instruction: Instruction<'_>,
        merge: Option<u32>,
        targets: &[u32],
    ) {
        let place = (self.here.line, self.here.column);
        let ends_loop = |to: &u32| match frame.short.get(to) {
            _ if frame.loop_ends.contains(to) => true,
            Some(Short::Jump(next)) => frame.loop_ends.contains(next),
            _ => false,
        };
        let returns = |&to: &u32| Some(to) != merge && frame.short.get(&to) == Some(&Short::Return);
        if targets.iter().any(ends_loop) {
            self.loops.push(place);
        }
        if targets.iter().any(returns) && targets.len() > 1 {
            self.early_returns.push(place);
        }
        let words = format!("in function `{}`", self.module.name(frame.id));
        self.name_place(instruction, words);
    }
}
