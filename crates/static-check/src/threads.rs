//! Values as functions of the thread's place in its block: exact where the block's shape is known, and as
//! «thread part plus uniform part» where some of it is not.

mod coming;
mod divisor;
mod split;

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use standstill_kernel_ir::{
    Arithmetic, ArithmeticFlags, BlockId, BooleanOperation, Comparison, Instruction, Op, Operand, Operation,
    Space, Special, ValueDef, ValueId, evaluate,
};

use split::{Split, gcd};

use crate::body::Body;
use crate::launch::{Launch, MAXIMUM_BLOCK, WARP_SIZE};
use crate::uniformity::{Agreement, Proved, Uniformity};

/// How deep an expression is followed.
const MAXIMUM_DEPTH: u32 = 64;

/// Evaluates values of a kernel for every thread of a block.
pub(crate) struct ThreadValues<'a> {
    body: &'a Body,
    launch: &'a Launch,
    shape: [u32; 3],
    threads: u32,
    /// The block's shape is not known; it is taken to be rows of whole warps.
    rows: bool,
    known: FxHashMap<ValueId, Option<Rc<[u64]>>>,
    splits: FxHashMap<ValueId, Option<Split>>,
    /// The same for the first warp alone: what differs there differs in the block, and costs less to see.
    first_warp: Option<Box<ThreadValues<'a>>>,
    /// Values that were to be proved already.
    asked: FxHashSet<ValueId>,
}

impl<'a> ThreadValues<'a> {
    /// `None` when the block's shape is not known.
    pub(crate) fn new(body: &'a Body, launch: &'a Launch) -> Option<ThreadValues<'a>> {
        let shape = launch.block?;
        let threads = launch.threads()?;
        Some(Self::of_threads(body, launch, shape, threads, false))
    }

    /// For a block whose shape is not known: its warps are taken to lie along x, as they do in blocks of one
    /// dimension and wherever the width is a multiple of the warp size. That tells what threads of a warp
    /// agree on, and nothing of the block.
    pub(crate) fn of_rows(body: &'a Body, launch: &'a Launch) -> ThreadValues<'a> {
        Self::of_threads(body, launch, [MAXIMUM_BLOCK, 1, 1], MAXIMUM_BLOCK, true)
    }

    fn of_threads(
        body: &'a Body,
        launch: &'a Launch,
        shape: [u32; 3],
        threads: u32,
        rows: bool,
    ) -> ThreadValues<'a> {
        let (known, splits, asked) = Default::default();
        ThreadValues { body, launch, shape, threads, rows, known, splits, first_warp: None, asked }
    }

    /// The value in each thread of the block, where the thread's place and constants determine it.
    pub(crate) fn vector(&mut self, value: ValueId) -> Option<Rc<[u64]>> {
        self.follow(value, 0)
    }

    fn follow(&mut self, value: ValueId, depth: u32) -> Option<Rc<[u64]>> {
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        if depth > MAXIMUM_DEPTH {
            return None;
        }
        // Around a loop a value is not determined by the thread's place alone.
        self.known.insert(value, None);
        let body = self.body;
        let vector = body.definition(value).and_then(|(_, instruction)| match body.ssa.definition(value) {
            Some(ValueDef::Instruction { previous: None, destination, .. }) => {
                self.instruction(instruction, usize::from(destination), depth)
            }
            _ => None,
        });
        self.known.insert(value, vector.clone());
        vector
    }

    fn instruction(
        &mut self,
        instruction: &Instruction,
        destination: usize,
        depth: u32,
    ) -> Option<Rc<[u64]>> {
        match instruction.op {
            Op::Arithmetic(arithmetic) => {
                let count = usize::from(instruction.operands.sources);
                let destinations = usize::from(instruction.operands.destinations);
                let sources: Option<Vec<Rc<[u64]>>> =
                    (0..count).map(|index| self.source(instruction, index, depth + 1)).collect();
                let sources = sources?;
                let mut result = Vec::with_capacity(self.threads as usize);
                let mut bits = vec![0u64; count];
                for thread in 0..self.threads as usize {
                    for (slot, source) in bits.iter_mut().zip(&sources) {
                        *slot = source.get(thread).copied()?;
                    }
                    result.push(
                        evaluate::evaluate(&arithmetic, &bits, destinations)?.get(destination).copied()?,
                    );
                }
                Some(result.into())
            }
            Op::Load(access) if access.space == Space::Param => match self.body.source(instruction, 0) {
                Operand::Parameter { index, offset: 0 } => {
                    let value = *self.launch.shape.parameters.get(&(index as usize))?;
                    let mask = if access.ty.bits() >= 64 { u64::MAX } else { (1 << access.ty.bits()) - 1 };
                    Some(vec![value as u64 & mask; self.threads as usize].into())
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn source(&mut self, instruction: &Instruction, index: usize, depth: u32) -> Option<Rc<[u64]>> {
        match self.body.source(instruction, index) {
            Operand::Register(_) => self.follow(self.body.source_value(instruction, index)?, depth),
            Operand::Negated(_) => {
                let vector = self.follow(self.body.source_value(instruction, index)?, depth)?;
                Some(vector.iter().map(|bits| bits & 1 ^ 1).collect())
            }
            Operand::Immediate(bits) => Some(vec![bits; self.threads as usize].into()),
            Operand::Special(special) => self.special(special),
            _ => None,
        }
    }

    /// A special register in each thread of the block.
    pub(crate) fn special(&self, special: Special) -> Option<Rc<[u64]>> {
        let [x, y, _] = self.shape;
        let grid = |axis: u8, of: Option<[u32; 3]>| of.and_then(|of| of.get(usize::from(axis)).copied());
        let each = |f: &dyn Fn(u32) -> u32| Some((0..self.threads).map(|t| u64::from(f(t))).collect());
        match special {
            Special::Tid(1..) | Special::Ntid(_) | Special::WarpId if self.rows => None,
            Special::Tid(0) => each(&|t| t % x),
            Special::Tid(1) => each(&|t| t / x % y),
            Special::Tid(_) => each(&|t| t / x / y),
            Special::Ntid(axis) => {
                let extent = grid(axis, Some(self.shape))?;
                each(&|_| extent)
            }
            Special::Nctaid(axis) => {
                let extent = grid(axis, self.launch.grid)?;
                each(&|_| extent)
            }
            Special::Ctaid(axis) if grid(axis, self.launch.grid) == Some(1) => each(&|_| 0),
            Special::LaneId => each(&|t| t % WARP_SIZE),
            Special::WarpId => each(&|t| t / WARP_SIZE),
            Special::WarpSize => each(&|_| WARP_SIZE),
            _ => None,
        }
    }

    /// Evaluates a condition and the conditions that it is put together from; keeps in `proved` what is more
    /// uniform than its operands tell.
    pub(crate) fn prove(&mut self, uniformity: &Uniformity, condition: ValueId, proved: &mut Proved) {
        let wanted = if self.rows { Agreement::Warp } else { Agreement::Block };
        let mut first_warp = self.first_warp.take().or_else(|| {
            let warp = Self::of_threads(self.body, self.launch, self.shape, WARP_SIZE, self.rows);
            (self.threads > WARP_SIZE).then(|| Box::new(warp))
        });
        let mut stack = vec![condition];
        while let Some(value) = stack.pop() {
            let before = uniformity.value(value);
            if before >= wanted || !self.asked.insert(value) {
                continue;
            }
            let in_warp =
                first_warp.as_mut().map_or(Agreement::Grid, |warp| warp.agreement(uniformity, value));
            let after = if in_warp > before { self.agreement(uniformity, value) } else { before };
            if after > before {
                proved.insert(value, after);
            }
            match self.body.definition(value) {
                Some((_, instruction)) if matches!(instruction.op, Op::Arithmetic(_) | Op::Load(_)) => {
                    for index in 0..usize::from(instruction.operands.sources) {
                        stack.extend(self.body.source_value(instruction, index));
                    }
                }
                Some(_) => {}
                None => {
                    stack.extend(self.body.ssa.incoming(value).iter().map(|&(_, incoming)| incoming));
                }
            }
        }
        self.first_warp = first_warp;
    }

    /// Who agrees on a value in each thread, as far as the thread's place tells.
    fn agreement(&mut self, uniformity: &Uniformity, value: ValueId) -> Agreement {
        let agreement = match self.vector(value) {
            Some(vector) => agreement_of(&vector),
            None if !self.rows && self.comparison_is_uniform(uniformity, value) => Agreement::Block,
            None => match self.split(uniformity, value, 0) {
                Some(split) if split.lowest == split.highest => Agreement::Block,
                Some(split) => agreement_of(&split.parts),
                None => Agreement::Thread,
            },
        };
        if self.rows { agreement.min(Agreement::Warp) } else { agreement }
    }

    /// Whether a comparison comes out the same for every thread although its sides differ: `i < n` with
    /// `i` = thread + a multiple of the block size, and `n` a multiple of it too.
    fn comparison_is_uniform(&mut self, uniformity: &Uniformity, condition: ValueId) -> bool {
        let Some((_, instruction)) = self.body.definition(condition) else { return false };
        let Op::Arithmetic(Arithmetic { operation: Operation::Setp, comparison, combine, ty, .. }) =
            instruction.op
        else {
            return false;
        };
        if combine != BooleanOperation::None || ty.is_float() || self.reads_left_over(uniformity, condition) {
            return false;
        }
        let (Some(left), Some(right)) = (
            self.split_source(uniformity, instruction, 0, 0),
            self.split_source(uniformity, instruction, 1, 0),
        ) else {
            return false;
        };
        let Some(difference) = left.minus(&right) else { return false };
        let (shift, equality) = match comparison {
            Comparison::Lt | Comparison::Lo | Comparison::Ge | Comparison::Hs => (0, false),
            Comparison::Le | Comparison::Ls | Comparison::Gt | Comparison::Hi => (1, false),
            Comparison::Eq | Comparison::Ne => (0, true),
            _ => return false,
        };
        if difference.lowest == difference.highest {
            return true;
        }
        // The side changes between two threads only where the uniform part lies in this range.
        let first = -(difference.highest - shift);
        let last = if equality { -(difference.lowest - shift) } else { -(difference.lowest - shift) - 1 };
        match i64::try_from(difference.divisor) {
            Ok(0) => first > 0 || last < 0,
            Ok(divisor) => {
                last.div_euclid(divisor)
                    < first.div_euclid(divisor) + i64::from(first.rem_euclid(divisor) != 0)
            }
            Err(_) => false,
        }
    }

    /// Whether a value is made of one that threads took out of a loop in different rounds: there each has its own.
    fn reads_left_over(&self, uniformity: &Uniformity, value: ValueId) -> bool {
        let body = self.body;
        let Some(reader) = body.ssa.block(value, &body.flow) else { return false };
        let left_over = |source: ValueId| {
            let mut around = body.ssa.block(source, &body.flow).and_then(|block| body.loops.innermost(block));
            while let Some(id) = around.filter(|&id| !body.loops.contains(id, reader)) {
                let parts = |&(from, _): &(BlockId, BlockId)| uniformity.branch(from) < Agreement::Block;
                if body.loops.exits(id).iter().any(parts) {
                    return true;
                }
                around = body.loops.get(id).and_then(|l| l.parent);
            }
            false
        };
        match body.definition(value) {
            Some((_, instruction)) => (0..usize::from(instruction.operands.sources))
                .any(|index| body.source_value(instruction, index).is_some_and(left_over)),
            None => body.ssa.incoming(value).iter().any(|&(_, incoming)| left_over(incoming)),
        }
    }

    fn split_source(
        &mut self,
        uniformity: &Uniformity,
        instruction: &Instruction,
        index: usize,
        depth: u32,
    ) -> Option<Split> {
        match self.body.source(instruction, index) {
            Operand::Register(_) => {
                self.split(uniformity, self.body.source_value(instruction, index)?, depth)
            }
            Operand::Immediate(bits) => Some(Split::exact(self.threads, bits as i64)),
            operand @ Operand::Special(special) => match self.special(special) {
                Some(vector) => Split::of(&vector),
                None if Self::block_agrees(operand) => {
                    Some(Split::uniform(self.threads, self.divisor_of_operand(operand)))
                }
                None => None,
            },
            _ => None,
        }
    }

    fn block_agrees(operand: Operand) -> bool {
        matches!(operand, Operand::Special(Special::Ctaid(_) | Special::Nctaid(_) | Special::Ntid(_)))
    }

    fn split(&mut self, uniformity: &Uniformity, value: ValueId, depth: u32) -> Option<Split> {
        if let Some(known) = self.splits.get(&value) {
            return known.clone();
        }
        if depth > 24 {
            return None;
        }
        // Around a loop a value has no split, but for counters, whose steps are looked at apart.
        self.splits.insert(value, None);
        let split = self.find_split(uniformity, value, depth);
        self.splits.insert(value, split.clone());
        split
    }

    fn find_split(&mut self, uniformity: &Uniformity, value: ValueId, depth: u32) -> Option<Split> {
        if let Some(vector) = self.vector(value) {
            return Split::of(&vector);
        }
        if uniformity.value(value) >= Agreement::Block {
            return Some(Split::uniform(self.threads, self.divisor(value, 0)));
        }
        if self.reads_left_over(uniformity, value) {
            return None;
        }
        if let Some(ValueDef::Phi { .. }) = self.body.ssa.definition(value) {
            return self.split_induction(uniformity, value, depth);
        }
        let (_, instruction) = self.body.definition(value)?;
        let Op::Arithmetic(arithmetic) = instruction.op else { return None };
        if arithmetic.ty.is_float() || instruction.guard.is_some() {
            return None;
        }
        match arithmetic.operation {
            Operation::Mov | Operation::Cvt => self.split_source(uniformity, instruction, 0, depth + 1),
            Operation::Add | Operation::Sub => {
                let left = self.split_source(uniformity, instruction, 0, depth + 1)?;
                let right = self.split_source(uniformity, instruction, 1, depth + 1)?;
                if arithmetic.operation == Operation::Add { left.plus(&right) } else { left.minus(&right) }
            }
            Operation::Mad if !arithmetic.flags.has(ArithmeticFlags::HIGH) => {
                let product = self.product(uniformity, instruction, depth)?;
                product.plus(&self.split_source(uniformity, instruction, 2, depth + 1)?)
            }
            Operation::Mul if !arithmetic.flags.has(ArithmeticFlags::HIGH) => {
                self.product(uniformity, instruction, depth)
            }
            Operation::Shl => {
                let by = self.body.constant(instruction, 1).filter(|&by| by < 32)?;
                self.split_source(uniformity, instruction, 0, depth + 1)?.times(1 << by)
            }
            Operation::Shr => {
                let by = self.body.constant(instruction, 1).filter(|&by| by < 32)?;
                self.split_source(uniformity, instruction, 0, depth + 1)?.divided_by(1 << by)
            }
            Operation::Div => {
                let by = i64::try_from(self.body.constant(instruction, 1)?).ok().filter(|&by| by > 0)?;
                self.split_source(uniformity, instruction, 0, depth + 1)?.divided_by(by)
            }
            _ => None,
        }
    }

    fn product(&mut self, uniformity: &Uniformity, instruction: &Instruction, depth: u32) -> Option<Split> {
        let (constant, other) = match (self.body.constant(instruction, 0), self.body.constant(instruction, 1))
        {
            (_, Some(constant)) => (constant, 0),
            (Some(constant), None) => (constant, 1),
            (None, None) => {
                let left = self.split_source(uniformity, instruction, 0, depth + 1)?;
                let right = self.split_source(uniformity, instruction, 1, depth + 1)?;
                return left.times_uniform(&right);
            }
        };
        self.split_source(uniformity, instruction, other, depth + 1)?.times(constant as i32 as i64)
    }

    /// A loop counter: the start's thread part stays, every round adds something uniform.
    fn split_induction(&mut self, uniformity: &Uniformity, phi: ValueId, depth: u32) -> Option<Split> {
        let incoming = self.body.ssa.incoming(phi).to_vec();
        let mut result: Option<Split> = None;
        let mut step = 0u64;
        for (_, value) in incoming {
            match self.step_from(uniformity, phi, value) {
                Some(divisor) => step = gcd(step, divisor),
                None => {
                    let start = self.split(uniformity, value, depth + 1)?;
                    if result.is_some() {
                        return None;
                    }
                    result = Some(start);
                }
            }
        }
        let start = result?;
        Some(Split { divisor: gcd(start.divisor, step), ..start })
    }
}

fn agreement_of<T: PartialEq>(vector: &[T]) -> Agreement {
    let alike = |values: &[T]| values.windows(2).all(|pair| pair.first() == pair.last());
    if alike(vector) {
        Agreement::Block
    } else if vector.chunks(WARP_SIZE as usize).all(alike) {
        Agreement::Warp
    } else {
        Agreement::Thread
    }
}
