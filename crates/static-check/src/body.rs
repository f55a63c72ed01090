//! A kernel with everything that the rules look at: graphs, the SSA view, and what addresses are made of.

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{
    BlockId, ControlDependence, ControlFlow, Dominators, Function, Instruction, InstructionId, Location,
    LocationId, Loops, Op, Operand, Operation, PostDominators, Program, Register, Space, Ssa, Symbol,
    ValueDef, ValueId,
};

use crate::inline::{self, Helpers, Unresolved};

/// A kernel ready to be checked.
pub(crate) struct Body {
    /// The kernel with its synchronising helpers copied in and its aborting branches taken out.
    pub(crate) function: Function,
    /// Calls that could not be looked into.
    pub(crate) unresolved: Vec<Unresolved>,
    /// Control flow.
    pub(crate) flow: ControlFlow,
    /// Dominators.
    pub(crate) dominators: Dominators,
    /// Post-dominators.
    pub(crate) post_dominators: PostDominators,
    /// For each block, the branches that decide whether it runs.
    pub(crate) control_dependence: ControlDependence,
    /// Loops.
    pub(crate) loops: Loops,
    /// The SSA view.
    pub(crate) ssa: Ssa,
    /// Stores to the thread's own stack.
    pub(crate) local_stores: Vec<InstructionId>,
    variable_spaces: std::sync::Arc<[Space]>,
    bases: RefCell<FxHashMap<u32, Base>>,
}

/// What an address is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Base {
    /// A variable.
    Symbol(Symbol),
    /// A pointer that a kernel's parameter holds: the parameter's position and a byte offset in it.
    Parameter(u32, i32),
    /// The workspace of a cooperative grid (`%envreg1`, `%envreg2`).
    Workspace,
    /// Not known.
    Unknown,
}

/// How many steps an address is followed back.
const MAXIMUM_STEPS: usize = 48;

/// The state of following one address back.
#[derive(Default)]
struct Following {
    /// The values being followed, outermost first.
    open: Vec<u32>,
    /// Values with a base that rests on an open one, and the outermost such one's place among the open.
    provisional: Vec<(u32, Base, usize)>,
}

impl Body {
    /// Prepares one kernel.
    pub(crate) fn new(program: &dyn Program, helpers: &Helpers, kernel: Function) -> Body {
        let inlined = inline::inline(program, helpers, kernel);
        let mut function = inlined.function;
        inline::without_aborts(&mut function);
        let flow = ControlFlow::build(&function);
        let dominators = Dominators::build(&flow);
        let mut post_dominators = PostDominators::build(&flow);
        let endless = endless(&flow, &post_dominators);
        if endless.contains(&true) {
            // Whoever goes into an endless loop is that loop's fault: what the others do does not depend on it.
            let mut ending = function.clone();
            inline::without(&mut ending, &endless);
            post_dominators = PostDominators::build(&ControlFlow::build(&ending));
        }
        let control_dependence = ControlDependence::build(&flow, &post_dominators);
        let loops = Loops::build(&flow);
        let ssa = Ssa::build(&function, &flow, &dominators);
        let local_stores = function
            .instructions
            .iter()
            .enumerate()
            .filter(|(_, i)| matches!(i.op, Op::Store(access) if access.space == Space::Local))
            .map(|(index, _)| InstructionId(index as u32))
            .collect();
        Body {
            function,
            unresolved: inlined.unresolved,
            flow,
            dominators,
            post_dominators,
            control_dependence,
            loops,
            ssa,
            local_stores,
            variable_spaces: helpers.variable_spaces.clone(),
            bases: RefCell::default(),
        }
    }

    /// An instruction; `None` only for a number that is not one of this function.
    pub(crate) fn instruction(&self, id: InstructionId) -> Option<&Instruction> {
        self.function.instructions.get(id.0 as usize)
    }

    /// All instructions of reachable blocks with their numbers, in text order.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = (InstructionId, &Instruction)> {
        self.function.instructions.iter().enumerate().filter_map(|(index, instruction)| {
            let id = InstructionId(index as u32);
            let block = self.flow.instruction_block(id)?;
            self.flow.is_reachable(block).then_some((id, instruction))
        })
    }

    /// The block that an instruction stands in.
    pub(crate) fn block_of(&self, id: InstructionId) -> BlockId {
        self.flow.instruction_block(id).unwrap_or(BlockId(0))
    }

    /// The position in the operand pool of an instruction's source, from 0.
    pub(crate) fn source_position(instruction: &Instruction, index: usize) -> u32 {
        instruction.operands.start + u32::from(instruction.operands.destinations) + index as u32
    }

    /// One source of an instruction.
    pub(crate) fn source(&self, instruction: &Instruction, index: usize) -> Operand {
        self.function.sources(instruction.operands).get(index).copied().unwrap_or(Operand::Absent)
    }

    /// The value that a source reads, when it is a register.
    pub(crate) fn source_value(&self, instruction: &Instruction, index: usize) -> Option<ValueId> {
        self.ssa.at(Self::source_position(instruction, index))
    }

    /// The value of a destination.
    pub(crate) fn destination_value(&self, instruction: &Instruction, index: usize) -> Option<ValueId> {
        (index < usize::from(instruction.operands.destinations))
            .then(|| self.ssa.at(instruction.operands.start + index as u32))
            .flatten()
    }

    /// The instruction that defines a value.
    pub(crate) fn definition(&self, value: ValueId) -> Option<(InstructionId, &Instruction)> {
        match self.ssa.definition(value)? {
            ValueDef::Instruction { instruction, .. } => Some((instruction, self.instruction(instruction)?)),
            _ => None,
        }
    }

    /// The constant that a source is, through copies.
    pub(crate) fn constant(&self, instruction: &Instruction, index: usize) -> Option<u64> {
        match self.source(instruction, index) {
            Operand::Immediate(bits) => Some(bits),
            Operand::Register(_) => self.constant_value(self.source_value(instruction, index)?),
            _ => None,
        }
    }

    /// The constant that a value is, through copies.
    pub(crate) fn constant_value(&self, value: ValueId) -> Option<u64> {
        let mut value = value;
        for _ in 0..MAXIMUM_STEPS {
            let (_, instruction) = self.definition(value)?;
            let Op::Arithmetic(arithmetic) = instruction.op else { return None };
            if instruction.guard.is_some()
                || arithmetic.operation != Operation::Mov
                || instruction.operands.sources != 1
                || instruction.operands.destinations != 1
            {
                return None;
            }
            match self.source(instruction, 0) {
                Operand::Immediate(bits) => return Some(bits),
                Operand::Register(_) => value = self.source_value(instruction, 0)?,
                _ => return None,
            }
        }
        None
    }

    /// What the address of a memory operation (its first source) is computed from.
    pub(crate) fn base(&self, id: InstructionId) -> Base {
        self.instruction(id).map_or(Base::Unknown, |instruction| self.base_of_source(instruction, 0))
    }

    /// What an address operand is computed from.
    pub(crate) fn base_of_source(&self, instruction: &Instruction, index: usize) -> Base {
        match self.source(instruction, index) {
            Operand::Symbol { symbol, .. } => Base::Symbol(symbol),
            Operand::Parameter { index, .. } => Base::Parameter(index, i32::MIN),
            Operand::Special(standstill_kernel_ir::Special::Environment(1 | 2)) => Base::Workspace,
            Operand::Register(_) | Operand::Address { .. } => {
                self.source_value(instruction, index).map_or(Base::Unknown, |value| self.base_of_value(value))
            }
            _ => Base::Unknown,
        }
    }

    /// What a value, taken as an address, is computed from.
    pub(crate) fn base_of_value(&self, value: ValueId) -> Base {
        self.follow(value, &mut Following::default()).0.unwrap_or(Base::Unknown)
    }

    /// The base of a value, and the outermost value still being followed that it depends on. There is no
    /// base yet where that is all it depends on.
    fn follow(&self, value: ValueId, following: &mut Following) -> (Option<Base>, usize) {
        if let Some(known) = self.bases.borrow().get(&value.0) {
            return (Some(*known), usize::MAX);
        }
        if let Some(depth) = following.open.iter().position(|&open| open == value.0) {
            return (None, depth);
        }
        if let Some(&(_, base, outermost)) = following.provisional.iter().find(|known| known.0 == value.0) {
            return (Some(base), outermost);
        }
        let depth = following.open.len();
        if depth >= MAXIMUM_STEPS {
            return (Some(Base::Unknown), usize::MAX);
        }
        following.open.push(value.0);
        let (base, outermost) = self.follow_definition(value, following);
        following.open.pop();
        if outermost >= depth {
            // What was found inside a cycle before its start was known may not hold seen from there.
            following.provisional.retain(|known| known.2 < depth);
            self.bases.borrow_mut().insert(value.0, base.unwrap_or(Base::Unknown));
            return (Some(base.unwrap_or(Base::Unknown)), usize::MAX);
        }
        if let Some(base) = base {
            following.provisional.push((value.0, base, outermost));
        }
        (base, outermost)
    }

    fn follow_definition(&self, value: ValueId, following: &mut Following) -> (Option<Base>, usize) {
        match self.ssa.definition(value) {
            Some(ValueDef::Instruction { instruction, previous: None, .. }) => {
                match self.instruction(instruction) {
                    Some(instruction) => self.follow_instruction(instruction, following),
                    None => (Some(Base::Unknown), usize::MAX),
                }
            }
            Some(ValueDef::Phi { .. }) => {
                let mut found = None;
                let mut outermost = usize::MAX;
                for &(_, incoming) in self.ssa.incoming(value) {
                    let (base, depends) = self.follow(incoming, following);
                    outermost = outermost.min(depends);
                    match (base, found) {
                        (None, _) => {}
                        (Some(base), None) => found = Some(base),
                        (Some(base), Some(other)) if base == other => {}
                        _ => return (Some(Base::Unknown), outermost),
                    }
                }
                (found, outermost)
            }
            _ => (Some(Base::Unknown), usize::MAX),
        }
    }

    fn follow_instruction(
        &self,
        instruction: &Instruction,
        following: &mut Following,
    ) -> (Option<Base>, usize) {
        let unknown = (Some(Base::Unknown), usize::MAX);
        match instruction.op {
            Op::Load(access) if access.space == Space::Param => match self.source(instruction, 0) {
                Operand::Parameter { index, offset } => (Some(Base::Parameter(index, offset)), usize::MAX),
                _ => unknown,
            },
            Op::Arithmetic(arithmetic) => {
                let sources = usize::from(instruction.operands.sources);
                let carries = match arithmetic.operation {
                    Operation::Mov | Operation::Cvta | Operation::Cvt | Operation::Mapa => 0..1,
                    Operation::Add => 0..2,
                    Operation::Sub => 0..1,
                    Operation::Mad => 2..3,
                    Operation::Selp | Operation::Bfi => 0..2,
                    Operation::And => 0..1,
                    _ => return unknown,
                };
                let mut found = Base::Unknown;
                let mut outermost = usize::MAX;
                let mut pending = false;
                for index in carries.start..carries.end.min(sources) {
                    let base = match self.source(instruction, index) {
                        Operand::Register(_) => match self.source_value(instruction, index) {
                            Some(value) => {
                                let (base, depends) = self.follow(value, following);
                                outermost = outermost.min(depends);
                                pending |= base.is_none();
                                base.unwrap_or(Base::Unknown)
                            }
                            None => Base::Unknown,
                        },
                        _ => self.base_of_source(instruction, index),
                    };
                    match (found, base) {
                        (_, Base::Unknown) => {}
                        (Base::Unknown, base) => found = base,
                        (a, b) if a == b => {}
                        _ => return (Some(Base::Unknown), outermost),
                    }
                }
                if pending && found == Base::Unknown { (None, outermost) } else { (Some(found), outermost) }
            }
            _ => unknown,
        }
    }

    /// Whether a value is computed, through whatever arithmetic, from something that `wanted` accepts.
    pub(crate) fn rests_on(&self, value: ValueId, wanted: &dyn Fn(&Instruction) -> bool) -> bool {
        let mut seen = vec![value];
        let mut next = 0;
        while let Some(&value) = seen.get(next) {
            next += 1;
            let mut visit = |v: ValueId| {
                if !seen.contains(&v) && seen.len() < 256 {
                    seen.push(v);
                }
            };
            if let Some((_, instruction)) = self.definition(value) {
                if wanted(instruction) {
                    return true;
                }
                if matches!(instruction.op, Op::Arithmetic(_)) {
                    for index in 0..usize::from(instruction.operands.sources) {
                        if let Some(v) = self.source_value(instruction, index) {
                            visit(v);
                        }
                    }
                }
            } else {
                self.ssa.incoming(value).iter().for_each(|&(_, v)| visit(v));
            }
        }
        false
    }

    /// The source place of an instruction or terminator; where the compiler gave line 0, the nearest one
    /// before it in the text.
    pub(crate) fn location(&self, id: LocationId) -> Location {
        self.function.location(id)
    }

    /// Whether a variable lies in memory that the threads of a block share.
    pub(crate) fn is_shared_symbol(&self, symbol: Symbol) -> bool {
        let space = match symbol {
            Symbol::Module(index) => self.variable_spaces.get(index as usize).copied(),
            Symbol::Local(index) => {
                self.function.variables.get(index as usize).map(|variable| variable.space)
            }
            Symbol::Function(_) => None,
        };
        space.is_some_and(inline::is_shared)
    }

    /// The declared type of a register.
    pub(crate) fn register_type(&self, register: Register) -> standstill_kernel_ir::Type {
        self.function
            .registers
            .get(register.0 as usize)
            .map_or(standstill_kernel_ir::Type::None, |info| info.ty)
    }
}

/// The blocks from which no end of the kernel can be reached.
fn endless(flow: &ControlFlow, post_dominators: &PostDominators) -> Vec<bool> {
    if post_dominators.endless().is_empty() {
        return Vec::new();
    }
    let mut endless = vec![true; flow.block_count()];
    let mut queue: Vec<BlockId> =
        flow.reverse_postorder().iter().copied().filter(|&block| flow.successors(block).is_empty()).collect();
    while let Some(block) = queue.pop() {
        if let Some(flag) = endless.get_mut(block.0 as usize)
            && std::mem::replace(flag, false)
        {
            queue.extend_from_slice(flow.predecessors(block));
        }
    }
    endless
}
