//! Control flow: labels, branches, and guards that become branches.

use standstill_kernel_ir::{
    Block, BlockId, Callee, FunctionId, Guard, Op, Opaque, OpaqueId, Operand as IrOperand, Terminator,
};

use crate::lower::function::Body;
use crate::lower::labels::{LabelId, Targets};
use crate::lower::opcode::{Action, Meaning};
use crate::span::offset;
use crate::syntax::operand::Operands;

/// Marks a block number that is a label until the body is complete.
const LABEL: u32 = 1 << 31;

impl<'m> Body<'_, 'm, '_> {
    /// Ends the block being built.
    pub(super) fn end_block(&mut self, terminator: Terminator, place: u32) {
        let end = offset(self.out.instructions.len());
        self.out.blocks.push(Block {
            first: self.block_first,
            end,
            terminator,
            location: self.location,
            offset: place,
        });
        self.block_first = end;
    }

    /// The block being built, plus `ahead`.
    fn block(&self, ahead: u32) -> BlockId {
        BlockId(offset(self.out.blocks.len()).saturating_add(ahead))
    }

    pub(super) fn label(&mut self, label: LabelId, place: u32) {
        if !self.labels.is_named(label) {
            return;
        }
        let has_instructions = offset(self.out.instructions.len()) > self.block_first;
        // The entry block gets no predecessors.
        if self.open && (has_instructions || self.out.blocks.is_empty()) {
            self.end_block(Terminator::Jump(self.block(1)), place);
        }
        self.open = true;
        let block = self.block(0).0;
        if let Some(slot) = self.label_blocks.get_mut(label.0 as usize) {
            *slot = Some(block);
        }
    }

    /// An instruction that ends a block, or whose guard does.
    pub(super) fn control(
        &mut self,
        meaning: &Meaning,
        guard: Option<Guard>,
        operands: Operands<'m>,
        place: u32,
    ) {
        if meaning.action == Action::Branch {
            let target = self.labels.next_use();
            let target = BlockId(self.labels.target(target).0 & !LABEL | LABEL);
            let terminator = match guard {
                Some(guard) => Terminator::Branch { guard, taken: target, otherwise: self.block(1) },
                None => Terminator::Jump(target),
            };
            self.end_block(terminator, place);
            self.open = guard.is_some();
            return;
        }
        if let Some(guard) = guard {
            let (taken, otherwise) = (self.block(1), self.block(2));
            self.end_block(Terminator::Branch { guard, taken, otherwise }, place);
        }
        let ends = match meaning.action {
            Action::Return => Some(Terminator::Return),
            Action::Exit => Some(Terminator::Exit),
            Action::Trap => Some(Terminator::Trap),
            Action::Switch => {
                let targets = self.labels.next_use();
                Some(self.switch(targets, operands))
            }
            Action::Call => {
                let list = self.labels.next_use();
                self.call(operands, list, place).then_some(Terminator::Trap)
            }
            Action::Op(op) => {
                self.operation(op, meaning, None, operands, place);
                None
            }
            Action::Opaque | Action::Branch => None,
        };
        match ends {
            Some(terminator) => self.end_block(terminator, place),
            None if guard.is_some() => self.end_block(Terminator::Jump(self.block(1)), place),
            None => {}
        }
        self.open = guard.is_some() || ends.is_none();
    }

    fn switch(&mut self, targets: Targets, operands: Operands<'m>) -> Terminator {
        let start = self.out.operands.len();
        if let Some(index) = operands.into_iter().next() {
            self.operand(index, standstill_kernel_ir::Type::None);
        }
        let index = self.out.operands.get(start).copied().unwrap_or(IrOperand::Absent);
        self.out.operands.truncate(start);
        if targets.count == 0 || !self.spend(targets.count) {
            // Without its list nothing is known of where it goes.
            self.list_unknown("brx.idx");
            return Terminator::Trap;
        }
        Terminator::Switch { index, first: targets.first, count: targets.count }
    }

    /// Takes from what the function may list more than once: targets of jumps and calls, pieces passed.
    /// Compilers list little; without a limit a text could make work that grows with its square.
    pub(super) fn spend(&mut self, count: u32) -> bool {
        match self.allowance.checked_sub(count) {
            Some(rest) => {
                self.allowance = rest;
                true
            }
            None => false,
        }
    }

    /// Lists something that could not be lowered.
    fn list_unknown(&mut self, what: &str) {
        self.out.opaque.push(Opaque { mnemonic: what.to_owned() });
        let id = OpaqueId(offset(self.out.opaque.len() - 1));
        let start = self.out.operands.len();
        self.push(Op::Opaque(id), None, start, 0, 0);
    }

    /// Ends the body and puts blocks in the place of labels.
    pub(super) fn close_body(&mut self, place: u32) {
        if self.open {
            self.end_block(Terminator::Return, place);
        }
        // The switch targets are all labels that any jump names.
        let targets = std::mem::take(&mut self.labels.targets);
        self.out.switch_targets = targets.iter().map(|label| BlockId(label.0 & !LABEL | LABEL)).collect();
        let mut lost = None;
        let blocks = self.out.blocks.len();
        for at in 0..blocks {
            let Some(block) = self.out.blocks.get(at) else { continue };
            let terminator = match block.terminator {
                Terminator::Jump(target) => Terminator::Jump(self.resolve(target, &mut lost)),
                Terminator::Branch { guard, taken, otherwise } => {
                    Terminator::Branch { guard, taken: self.resolve(taken, &mut lost), otherwise }
                }
                other => other,
            };
            if let Some(block) = self.out.blocks.get_mut(at) {
                block.terminator = terminator;
            }
        }
        for at in 0..self.out.switch_targets.len() {
            let Some(&target) = self.out.switch_targets.get(at) else { continue };
            let target = self.resolve(target, &mut lost);
            if let Some(slot) = self.out.switch_targets.get_mut(at) {
                *slot = target;
            }
        }
        if lost.is_some() {
            self.list_unknown("bra");
            self.end_block(Terminator::Trap, place);
        }
    }

    /// The block that a label begins. A branch to a label that is declared nowhere goes to a last block
    /// that traps and that is listed as not understood.
    fn resolve(&self, target: BlockId, lost: &mut Option<BlockId>) -> BlockId {
        if target.0 & LABEL == 0 {
            return target;
        }
        let label = target.0 & !LABEL;
        match self.label_blocks.get(label as usize).copied().flatten() {
            Some(block) => BlockId(block),
            None => *lost.get_or_insert(self.block(0)),
        }
    }

    /// Whether a callee never returns.
    pub(super) fn never_returns(&self, callee: &Callee) -> bool {
        let Callee::Direct(FunctionId(id)) = callee else { return false };
        self.lowering.ir.functions.get(*id as usize).is_some_and(|header| header.no_return)
    }
}
