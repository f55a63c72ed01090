//! Statements: control flow, barriers, calls.

use naga::{Barrier, Block, Expression, Handle, Span, Statement, SwitchCase, SwitchValue};
use standstill_kernel_ir::{
    BarrierKind, BlockId, Comparison, FenceKind, Op, Operand, Order, Scope, Terminator, Type,
};

use crate::expression::pointee;
use crate::frame::{Around, Builder, Fault, Frame, Value};
use crate::operation::compare;
use crate::types::register_type;

impl<'a> Builder<'a> {
    pub(crate) fn block(&mut self, frame: &mut Frame<'a>, block: &'a Block) -> Result<(), Fault> {
        for (statement, &span) in block.span_iter() {
            self.check_size(span)?;
            self.statement(frame, statement, span)?;
        }
        Ok(())
    }

    fn statement(
        &mut self,
        frame: &mut Frame<'a>,
        statement: &'a Statement,
        span: Span,
    ) -> Result<(), Fault> {
        match *statement {
            Statement::Emit(ref range) => {
                for handle in range.clone() {
                    self.emit(frame, handle)?;
                }
            }
            Statement::Block(ref inner) => self.block(frame, inner)?,
            Statement::If { condition, ref accept, ref reject } => {
                self.choice(frame, condition, accept, reject, span)?;
            }
            Statement::Switch { selector, ref cases } => self.switch(frame, selector, cases, span)?,
            Statement::Loop { ref body, ref continuing, break_if } => {
                self.repeat(frame, body, continuing, break_if, span)?;
            }
            Statement::Break => {
                let exit = frame.around.last().map(|around| around.exit);
                self.jump(frame, exit, span);
            }
            Statement::Continue => {
                let next = frame.around.iter().rev().find_map(|around| around.continuing);
                self.jump(frame, next, span);
            }
            Statement::Return { value } => self.give_back(frame, value, span)?,
            Statement::Kill => {
                self.locate(frame, span);
                self.end(Terminator::Exit);
            }
            Statement::ControlBarrier(kind) => {
                self.locate(frame, span);
                self.barrier(kind);
            }
            Statement::MemoryBarrier(kind) => {
                self.locate(frame, span);
                let scope = if kind.contains(Barrier::STORAGE) { Scope::Gpu } else { Scope::Cta };
                self.push(
                    Op::Fence { kind: FenceKind::Thread, order: Order::AcquireRelease, scope },
                    &[],
                    &[],
                );
            }
            Statement::Store { pointer, value } => self.store_to(frame, pointer, value, span)?,
            Statement::Atomic { pointer, fun, value, result } => {
                self.locate(frame, span);
                self.atomic(frame, pointer, fun, value, result, span)?;
            }
            Statement::WorkGroupUniformLoad { pointer, result } => {
                self.locate(frame, span);
                let fault = || ("a load that is not known here".to_owned(), span);
                let inner = pointee(self, self.type_of(frame, pointer)).ok_or_else(fault)?;
                let Value::Pointer(place) = self.value(frame, pointer)? else { return Err(fault()) };
                self.barrier(Barrier::WORK_GROUP);
                let values = self.load_uniformly(&place, &inner).ok_or_else(fault)?;
                self.barrier(Barrier::WORK_GROUP);
                frame.values.insert(result, Value::Scalars(values));
            }
            Statement::Call { function, ref arguments, result } => {
                self.call(frame, function, arguments, result, span)?;
            }
            Statement::SubgroupBallot { result, predicate } => {
                self.locate(frame, span);
                self.ballot(frame, result, predicate)?;
            }
            Statement::SubgroupGather { mode, argument, result } => {
                self.locate(frame, span);
                self.gather(frame, mode, argument, result)?;
            }
            Statement::SubgroupCollectiveOperation { op, collective_op, argument, result } => {
                self.locate(frame, span);
                self.collective(frame, op, collective_op, argument, result)?;
            }
            ref other => {
                // Textures and ray queries: nothing that threads wait for.
                self.locate(frame, span);
                let name = format!("{other:?}");
                let name = name.split([' ', '{', '(']).next().unwrap_or("statement").to_owned();
                self.unknown(&name, &[], &[]);
            }
        }
        Ok(())
    }

    fn jump(&mut self, frame: &Frame<'a>, to: Option<BlockId>, span: Span) {
        self.locate(frame, span);
        match to {
            Some(to) => self.end(Terminator::Jump(to)),
            None => self.end(Terminator::Trap),
        }
    }

    fn choice(
        &mut self,
        frame: &mut Frame<'a>,
        condition: Handle<Expression>,
        accept: &'a Block,
        reject: &'a Block,
        span: Span,
    ) -> Result<(), Fault> {
        let holds = self.scalar(frame, condition)?;
        let guard = self.guard(holds);
        self.locate_condition(frame, condition, span);
        let from = (self.at, self.open);
        let yes = self.out.block();
        self.begin(yes);
        self.open = from.1;
        self.block(frame, accept)?;
        let after_yes = (self.at, self.open);
        let no = self.out.block();
        self.begin(no);
        self.open = from.1;
        self.block(frame, reject)?;
        let after_no = (self.at, self.open);
        let place = self.place_of(frame.function.expressions.get_span(condition));
        if returns(accept) || returns(reject) {
            self.early_returns.extend(place);
        }
        // What other loops become: a condition that leaves them.
        if breaks(accept) || breaks(reject) {
            self.loops.extend(place);
        }
        let end = self.out.block();
        for (at, open) in [after_yes, after_no] {
            if open {
                self.out.terminate(at, Terminator::Jump(end));
            }
        }
        if from.1 {
            self.locate_condition(frame, condition, span);
            self.out.terminate(from.0, Terminator::Branch { guard, taken: yes, otherwise: no });
        }
        self.begin(end);
        self.open = after_yes.1 || after_no.1;
        Ok(())
    }

    /// A branch stands where its condition does.
    fn locate_condition(&mut self, frame: &Frame<'a>, condition: Handle<Expression>, span: Span) {
        let own = frame.function.expressions.get_span(condition);
        self.forget_place();
        self.locate(frame, if own.is_defined() { own } else { span });
    }

    fn switch(
        &mut self,
        frame: &mut Frame<'a>,
        selector: Handle<Expression>,
        cases: &'a [SwitchCase],
        span: Span,
    ) -> Result<(), Fault> {
        let value = self.scalar(frame, selector)?;
        let (from, open) = (self.at, self.open);
        let exit = self.out.block();
        let starts: Vec<BlockId> = cases.iter().map(|_| self.out.block()).collect();
        // A chain of comparisons, in the order of the cases.
        self.at = from;
        let default = cases.iter().position(|case| case.value == SwitchValue::Default);
        for (case, &start) in cases.iter().zip(&starts) {
            let wanted = match case.value {
                SwitchValue::I32(number) => i64::from(number).cast_unsigned(),
                SwitchValue::U32(number) => u64::from(number),
                SwitchValue::Default => continue,
            };
            self.locate_condition(frame, selector, span);
            let equal = self.result(
                compare(Comparison::Eq, Type::S32),
                Type::Pred,
                &[value, Operand::Immediate(wanted)],
            );
            let guard = self.guard(equal);
            let next = self.out.block();
            self.end(Terminator::Branch { guard, taken: start, otherwise: next });
            self.begin(next);
            self.open = open;
        }
        self.locate_condition(frame, selector, span);
        let otherwise = default.and_then(|at| starts.get(at)).copied().unwrap_or(exit);
        self.end(Terminator::Jump(otherwise));
        frame.around.push(Around { continuing: None, exit });
        for (index, case) in cases.iter().enumerate() {
            let Some(&start) = starts.get(index) else { continue };
            self.begin(start);
            self.open = open;
            self.block(frame, &case.body)?;
            let next = if case.fall_through { starts.get(index + 1).copied() } else { None };
            self.end(Terminator::Jump(next.unwrap_or(exit)));
        }
        frame.around.pop();
        self.begin(exit);
        self.open = open;
        Ok(())
    }

    fn repeat(
        &mut self,
        frame: &mut Frame<'a>,
        body: &'a Block,
        continuing: &'a Block,
        break_if: Option<Handle<Expression>>,
        span: Span,
    ) -> Result<(), Fault> {
        let open = self.open;
        let (start, next, exit) = (self.out.block(), self.out.block(), self.out.block());
        self.locate(frame, span);
        self.end(Terminator::Jump(start));
        frame.around.push(Around { continuing: Some(next), exit });
        self.begin(start);
        self.open = open;
        self.block(frame, body)?;
        self.end(Terminator::Jump(next));
        self.begin(next);
        self.open = open;
        self.block(frame, continuing)?;
        match break_if {
            Some(condition) => {
                let holds = self.scalar(frame, condition)?;
                self.loops.extend(self.place_of(frame.function.expressions.get_span(condition)));
                let guard = self.guard(holds);
                self.locate_condition(frame, condition, span);
                self.end(Terminator::Branch { guard, taken: exit, otherwise: start });
            }
            None => self.end(Terminator::Jump(start)),
        }
        frame.around.pop();
        self.begin(exit);
        self.open = open;
        Ok(())
    }

    fn give_back(
        &mut self,
        frame: &mut Frame<'a>,
        value: Option<Handle<Expression>>,
        span: Span,
    ) -> Result<(), Fault> {
        let values = match value {
            Some(value) => self.scalars(frame, value)?,
            None => Vec::new(),
        };
        self.locate(frame, span);
        match frame.back.clone() {
            None => self.end(Terminator::Return),
            Some((exit, into)) => {
                self.hand_over(&into, &values);
                self.end(Terminator::Jump(exit));
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        frame: &mut Frame<'a>,
        function: Handle<naga::Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
        span: Span,
    ) -> Result<(), Fault> {
        let callee = &self.module.functions[function];
        let mut passed = Vec::with_capacity(arguments.len());
        for &argument in arguments {
            passed.push(self.value(frame, argument)?);
        }
        let called_at = self.locate(frame, span);
        let into = match &callee.result {
            Some(result) => self.registers(self.types.inner(result.ty)).unwrap_or_default(),
            None => Vec::new(),
        };
        let open = self.open;
        let exit = self.out.block();
        self.function(callee, passed, Some((exit, into.clone())), called_at)?;
        self.forget_place();
        self.locate(frame, span);
        self.end(Terminator::Jump(exit));
        self.begin(exit);
        self.open = open;
        if let Some(result) = result {
            frame.values.insert(result, Value::Scalars(into.into_iter().map(Operand::from).collect()));
        }
        Ok(())
    }

    /// A barrier for all invocations of the workgroup, or of a subgroup.
    fn barrier(&mut self, kind: Barrier) {
        if kind == Barrier::SUB_GROUP {
            self.push(Op::WarpSync, &[], &[Operand::Immediate(u64::from(u32::MAX))]);
            return;
        }
        let op = Op::Barrier { kind: BarrierKind::Sync, aligned: true, reduction: None };
        self.push(op, &[], &[Operand::Immediate(0), Operand::Absent, Operand::Absent]);
    }

    /// The registers of a value of these types.
    pub(crate) fn register_types(&self, frame: &Frame<'a>, handle: Handle<Expression>) -> Vec<Type> {
        let slots = self.types.slots(self.type_of(frame, handle)).unwrap_or_default();
        slots.iter().map(|slot| register_type(slot.scalar)).collect()
    }
}

/// Whether a block returns from its function, as it stands. A return that the parser put at the end has no place.
fn returns(block: &Block) -> bool {
    block.span_iter().any(|(statement, span)| match statement {
        Statement::Return { .. } => span.is_defined(),
        Statement::Block(inner) => returns(inner),
        _ => false,
    })
}

/// Whether a block leaves the loop around it, as it stands.
fn breaks(block: &Block) -> bool {
    block.iter().any(|statement| match statement {
        Statement::Break => true,
        Statement::Block(inner) => breaks(inner),
        _ => false,
    })
}
