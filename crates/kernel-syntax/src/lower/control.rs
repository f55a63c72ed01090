//! Conditions, loops, and leaving them.

use standstill_kernel_ir::{
    BlockId, Comparison as IrComparison, Op, Operand, Operation, Register, Terminator, Type,
};

use super::arithmetic::arithmetic;
use super::body::{Binding, Lowering, Targets};
use crate::extent::Extent;
use crate::tree::{
    Arm, Block, Comparison, Expression, Kind, LocalId, Loop, LoopId, LoopKind, Range, Statement,
};
use crate::types::{Scalar, Ty};

impl Lowering<'_> {
    /// Branches on a condition. All branches of it stand at `whole`, the condition as it is written.
    fn decide(&mut self, condition: &Expression, taken: BlockId, otherwise: BlockId, whole: Extent) {
        match &condition.kind {
            Kind::Not(inner) => self.decide(inner, otherwise, taken, whole),
            Kind::Bool(truth) => {
                let to = if *truth { taken } else { otherwise };
                self.at(whole);
                self.builder.terminate(self.block, Terminator::Jump(to));
            }
            Kind::Lazy { and, left, right } => {
                let second = self.new_block();
                if *and {
                    self.decide(left, second, otherwise, whole);
                } else {
                    self.decide(left, taken, second, whole);
                }
                self.block = second;
                self.decide(right, taken, otherwise, whole);
            }
            _ => {
                let truth = self.expression(condition);
                let truth = self.in_register(Type::Pred, truth);
                self.mark(whole);
                self.branch(truth, taken, otherwise);
            }
        }
    }

    /// `&&` and `||` as values.
    pub(super) fn lazy(&mut self, it: &Expression) -> Operand {
        let (yes, no, after) = (self.new_block(), self.new_block(), self.new_block());
        let result = self.builder.register(Type::Pred);
        self.decide(it, yes, no, it.extent);
        for (block, truth) in [(yes, 1), (no, 0)] {
            self.block = block;
            self.copy(result, Type::Pred, Operand::Immediate(truth));
            self.jump(after, after);
        }
        result.into()
    }

    /// A register for the value of something with several ways.
    fn result_of(&mut self, ty: &Ty) -> Option<(Register, Type)> {
        let register = ty.scalar()?.register();
        Some((self.builder.register(register), register))
    }

    pub(super) fn if_else(
        &mut self,
        condition: &Expression,
        then: &Block,
        otherwise: Option<&Expression>,
        ty: &Ty,
    ) -> Operand {
        let (yes, after) = (self.new_block(), self.new_block());
        let no = if otherwise.is_some() { self.new_block() } else { after };
        let result = self.result_of(ty);
        if self.is_kernel() && (returns(then) || otherwise.is_some_and(returns_at_once)) {
            let place = self.at(condition.extent);
            self.early_return(place);
        }
        self.decide(condition, yes, no, condition.extent);
        self.block = yes;
        let value = self.statements(then);
        self.arrive(result, value, after);
        if let Some(otherwise) = otherwise {
            self.block = no;
            let value = self.expression(otherwise);
            self.arrive(result, value, after);
        }
        self.block = after;
        result.map_or(Operand::Absent, |(register, _)| register.into())
    }

    /// Goes on behind something with several ways, with this value.
    fn arrive(&mut self, result: Option<(Register, Type)>, value: Operand, after: BlockId) {
        if let (Some((register, ty)), true) = (result, value != Operand::Absent) {
            self.copy(register, ty, value);
        }
        self.builder.terminate(self.block, Terminator::Jump(after));
    }

    pub(super) fn match_on(&mut self, id: LocalId, arms: &[Arm], it: &Expression) -> Operand {
        let matched = self.local_type(id).scalar().unwrap_or(Scalar::U32);
        let value = match self.binding(id) {
            Binding::Value(value) => value,
            Binding::Register(register) => register.into(),
            _ => Operand::Immediate(0),
        };
        let value = if matched == Scalar::Bool { self.number_of(value, Type::U32).into() } else { value };
        let matched = if matched == Scalar::Bool { Scalar::U32 } else { matched };
        let result = self.result_of(&it.ty);
        let after = self.new_block();
        for arm in arms {
            let (body, next) = (self.new_block(), self.new_block());
            if arm.numbers.is_empty() {
                self.builder.terminate(self.block, Terminator::Jump(body));
            } else {
                for &range in &arm.numbers {
                    let another = self.new_block();
                    self.at(it.extent);
                    self.within(matched, value, range, body, another, it.extent);
                    self.block = another;
                }
                self.builder.terminate(self.block, Terminator::Jump(next));
            }
            self.block = body;
            if let Some(guard) = &arm.guard {
                let chosen = self.new_block();
                self.decide(guard, chosen, next, guard.extent);
                self.block = chosen;
            }
            self.at(arm.extent);
            let given = self.expression(&arm.value);
            self.arrive(result, given, after);
            self.block = next;
        }
        // The check has seen that some arm takes every value.
        self.block = after;
        result.map_or(Operand::Absent, |(register, _)| register.into())
    }

    /// Branches on whether a number lies in a range.
    fn within(
        &mut self,
        scalar: Scalar,
        value: Operand,
        (first, last): (i128, i128),
        inside: BlockId,
        outside: BlockId,
        whole: Extent,
    ) {
        let (least, greatest) = scalar.range();
        let number = |n: i128| Operand::Immediate(n as u64);
        let mut tests = Vec::new();
        if first == last {
            tests.push((Comparison::Equal, number(first)));
        } else {
            if first > least {
                tests.push((Comparison::GreaterOrEqual, number(first)));
            }
            if last < greatest {
                tests.push((Comparison::LessOrEqual, number(last)));
            }
        }
        for (comparison, bound) in tests {
            let holds = self.compare(comparison, scalar, value, bound);
            let next = self.new_block();
            self.mark(whole);
            self.branch(holds, next, outside);
            self.block = next;
        }
        self.builder.terminate(self.block, Terminator::Jump(inside));
    }

    pub(super) fn loop_of(&mut self, it: &Loop, ty: &Ty) -> Operand {
        let (head, next, after) = (self.new_block(), self.new_block(), self.new_block());
        let result = self.result_of(ty);
        let targets = Targets { leave: after, next, value: result.map(|(register, _)| register) };
        if let Some(frame) = self.frames.last_mut() {
            frame.loops.insert(it.id, targets);
        }
        match &it.kind {
            LoopKind::Forever => {
                self.jump(head, head);
                let _ = self.statements(&it.body);
                self.jump(next, next);
                self.builder.terminate(self.block, Terminator::Jump(head));
            }
            LoopKind::While(condition) => {
                let body = self.new_block();
                self.jump(head, head);
                self.loop_condition(condition.extent);
                self.decide(condition, body, after, condition.extent);
                self.block = body;
                let _ = self.statements(&it.body);
                self.jump(next, next);
                self.builder.terminate(self.block, Terminator::Jump(head));
            }
            LoopKind::Range(_) => self.range_loop(it, head, next, after),
        }
        self.block = after;
        result.map_or(Operand::Absent, |(register, _)| register.into())
    }

    fn range_loop(&mut self, it: &Loop, head: BlockId, next: BlockId, after: BlockId) {
        let LoopKind::Range(range) = &it.kind else { return };
        let Range { variable, start, end, inclusive, reversed, step, extent } = &**range;
        let scalar = self.local_type(*variable).scalar().unwrap_or(Scalar::U32);
        let ty = scalar.register();
        let first = self.expression(start);
        let first = self.fresh(ty, first);
        let last = self.expression(end);
        let last = self.fresh(ty, last);
        let step = step.as_ref().map(|step| {
            let value = self.expression(step);
            let value = self.convert(step.ty.scalar().unwrap_or(scalar), scalar, value);
            self.fresh(ty, value)
        });
        let body = self.new_block();
        self.loop_condition(*extent);
        // The counter is not the variable: the body may change its own.
        let counter = self.fresh(ty, if *reversed { last.into() } else { first.into() });
        self.jump(head, head);
        let more = match (reversed, inclusive) {
            (true, _) => self.set_if(IrComparison::Gt, ty, counter.into(), first.into()),
            (false, true) => self.set_if(IrComparison::Le, ty, counter.into(), last.into()),
            (false, false) => self.set_if(IrComparison::Lt, ty, counter.into(), last.into()),
        };
        self.mark(*extent);
        self.branch(more, body, after);
        self.block = body;
        let one = Operand::Immediate(1);
        if *reversed {
            self.push(Op::Arithmetic(arithmetic(Operation::Sub, ty)), &[counter], &[counter.into(), one]);
        }
        let binding = if self.is_mutable(*variable) {
            Binding::Register(self.fresh(ty, counter.into()))
        } else {
            Binding::Register(counter)
        };
        self.bind(*variable, binding);
        let _ = self.statements(&it.body);
        self.jump(next, next);
        self.at(*extent);
        let add = |lowering: &mut Self, by: Operand| {
            lowering.push(Op::Arithmetic(arithmetic(Operation::Add, ty)), &[counter], &[counter.into(), by]);
        };
        match (step, *inclusive, *reversed) {
            (_, _, true) => self.builder.terminate(self.block, Terminator::Jump(head)),
            (Some(step), ..) => {
                // Counting ends before it would pass the end, and so never wraps around.
                let left = self.compute(arithmetic(Operation::Sub, ty), ty, &[last.into(), counter.into()]);
                let more = self.set_if(IrComparison::Gt, ty, left.into(), step.into());
                let count = self.new_block();
                self.branch(more, count, after);
                self.block = count;
                add(self, step.into());
                self.builder.terminate(self.block, Terminator::Jump(head))
            }
            (None, true, _) => {
                let more = self.set_if(IrComparison::Lt, ty, counter.into(), last.into());
                let count = self.new_block();
                self.branch(more, count, after);
                self.block = count;
                add(self, one);
                self.builder.terminate(self.block, Terminator::Jump(head))
            }
            (None, false, _) => {
                add(self, one);
                self.builder.terminate(self.block, Terminator::Jump(head))
            }
        };
    }

    pub(super) fn leave(&mut self, id: LoopId, value: Operand, it: &Expression) -> Operand {
        let Some(targets) = self.targets(id) else { return Operand::Absent };
        if let (Some(register), true) = (targets.value, value != Operand::Absent)
            && let Kind::Break(_, Some(given)) = &it.kind
            && let Some(scalar) = given.ty.scalar()
        {
            self.copy(register, scalar.register(), value);
        }
        self.at(it.extent);
        let unreachable = self.new_block();
        self.jump(targets.leave, unreachable);
        Operand::Absent
    }

    pub(super) fn next(&mut self, id: LoopId, it: &Expression) -> Operand {
        let Some(targets) = self.targets(id) else { return Operand::Absent };
        self.at(it.extent);
        let unreachable = self.new_block();
        self.jump(targets.next, unreachable);
        Operand::Absent
    }

    fn targets(&self, id: LoopId) -> Option<Targets> {
        self.frames.last()?.loops.get(&id).copied()
    }

    pub(super) fn give_back(&mut self, value: Operand, it: &Expression) -> Operand {
        let (exit, result) = self.frames.last().map_or((None, None), |frame| (frame.exit, frame.result));
        if let (Some(result), true) = (result, value != Operand::Absent)
            && let Some(scalar) = self.frames.last().and_then(|frame| frame.body.result)
        {
            self.copy(result, scalar.register(), value);
        }
        self.at(it.extent);
        let unreachable = self.new_block();
        match exit {
            Some(exit) => self.jump(exit, unreachable),
            None => self.continue_in(Terminator::Return, unreachable),
        }
        Operand::Absent
    }
}

/// Whether a block ends in `return`.
fn returns(block: &Block) -> bool {
    match (&block.value, block.statements.last()) {
        (Some(value), _) => returns_at_once(value),
        (None, Some(Statement::Expression(last))) => returns_at_once(last),
        _ => false,
    }
}

fn returns_at_once(expression: &Expression) -> bool {
    match &expression.kind {
        Kind::Return(_) => true,
        Kind::Block(block) => returns(block),
        _ => false,
    }
}
