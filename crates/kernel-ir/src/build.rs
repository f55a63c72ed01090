//! Making functions by hand, for tests and front ends.

use crate::{
    Arithmetic, ArithmeticFlags, Block, BlockId, BooleanOperation, Comparison, Function, FunctionId, Guard,
    Instruction, InstructionId, Location, LocationId, Op, Operand, OperandRange, Operation, Register,
    RegisterInfo, Terminator, Type,
};

/// Collects registers, blocks and instructions, and puts them together.
///
/// ```
/// use standstill_kernel_ir::{build::{FunctionBuilder, integer}, Operand, Operation, Terminator, Type};
///
/// let mut builder = FunctionBuilder::new();
/// let (a, b) = (builder.register(Type::U32), builder.register(Type::U32));
/// let entry = builder.block();
/// builder.push(entry, integer(Operation::Mov), &[a], &[Operand::Immediate(1)]);
/// builder.push(entry, integer(Operation::Add), &[b], &[a.into(), a.into()]);
/// builder.terminate(entry, Terminator::Return);
/// assert_eq!(builder.finish().instructions.len(), 2);
/// ```
#[derive(Debug, Clone)]
pub struct FunctionBuilder {
    function: Function,
    instructions: Vec<Vec<Instruction>>,
    location: LocationId,
}

impl Default for FunctionBuilder {
    fn default() -> Self {
        FunctionBuilder::new()
    }
}

impl FunctionBuilder {
    /// A function without blocks.
    pub fn new() -> FunctionBuilder {
        let function = Function {
            id: FunctionId(0),
            blocks: Vec::new(),
            instructions: Vec::new(),
            operands: Vec::new(),
            registers: Vec::new(),
            parameters: Vec::new(),
            parameter_pieces: Vec::new(),
            result_pieces: Vec::new(),
            variables: Vec::new(),
            calls: Vec::new(),
            switch_targets: Vec::new(),
            locations: vec![Location::default()],
            opaque: Vec::new(),
        };
        FunctionBuilder { function, instructions: Vec::new(), location: LocationId(0) }
    }

    /// A new register.
    pub fn register(&mut self, ty: Type) -> Register {
        self.function.registers.push(RegisterInfo { ty });
        Register(self.function.registers.len() as u32 - 1)
    }

    /// A new block; the first is the entry. It ends in a trap until [`FunctionBuilder::terminate`].
    pub fn block(&mut self) -> BlockId {
        self.instructions.push(Vec::new());
        let location = self.location;
        self.function.blocks.push(Block {
            first: 0,
            end: 0,
            terminator: Terminator::Trap,
            location,
            offset: 0,
        });
        BlockId(self.function.blocks.len() as u32 - 1)
    }

    /// What follows stands at this place in the source.
    pub fn at(&mut self, location: Location) -> &mut Self {
        self.function.locations.push(location);
        self.location = LocationId(self.function.locations.len() as u32 - 1);
        self
    }

    /// Adds an instruction at the end of a block.
    pub fn push(
        &mut self,
        block: BlockId,
        op: Op,
        destinations: &[Register],
        sources: &[Operand],
    ) -> &mut Self {
        let destinations: Vec<Operand> = destinations.iter().map(|&register| register.into()).collect();
        self.push_guarded(block, None, op, &destinations, sources)
    }

    /// Adds an instruction that may have a guard and absent destinations. Blocks that do not exist
    /// and operands past 65,535 are left out.
    pub fn push_guarded(
        &mut self,
        block: BlockId,
        guard: Option<Guard>,
        op: Op,
        destinations: &[Operand],
        sources: &[Operand],
    ) -> &mut Self {
        let limit = usize::from(u16::MAX);
        let destinations = destinations.get(..limit).unwrap_or(destinations);
        let sources = sources.get(..limit).unwrap_or(sources);
        if let Some(instructions) = self.instructions.get_mut(block.0 as usize) {
            let operands = OperandRange {
                start: self.function.operands.len() as u32,
                destinations: destinations.len() as u16,
                sources: sources.len() as u16,
            };
            self.function.operands.extend_from_slice(destinations);
            self.function.operands.extend_from_slice(sources);
            instructions.push(Instruction { op, guard, operands, location: self.location, offset: 0 });
        }
        self
    }

    /// Says how a block ends.
    pub fn terminate(&mut self, block: BlockId, terminator: Terminator) -> &mut Self {
        if let Some(block) = self.function.blocks.get_mut(block.0 as usize) {
            block.terminator = terminator;
            block.location = self.location;
        }
        self
    }

    /// Ends a block by a choice among targets.
    pub fn switch(&mut self, block: BlockId, index: Operand, targets: &[BlockId]) -> &mut Self {
        let first = self.function.switch_targets.len() as u32;
        self.function.switch_targets.extend_from_slice(targets);
        self.terminate(block, Terminator::Switch { index, first, count: targets.len() as u32 })
    }

    /// The function so far, for tables that have no method here (parameters, variables, calls).
    pub fn tables(&mut self) -> &mut Function {
        &mut self.function
    }

    /// Puts the blocks together. Byte offsets count instructions and terminators, ten each.
    pub fn finish(mut self) -> Function {
        let mut offset = 0;
        for (block, instructions) in self.function.blocks.iter_mut().zip(&mut self.instructions) {
            block.first = self.function.instructions.len() as u32;
            for mut instruction in instructions.drain(..) {
                instruction.offset = offset;
                offset += 10;
                self.function.instructions.push(instruction);
            }
            block.end = self.function.instructions.len() as u32;
            block.offset = offset;
            offset += 10;
        }
        self.function
    }
}

impl From<Register> for Operand {
    fn from(register: Register) -> Operand {
        Operand::Register(register)
    }
}

/// Arithmetic without modifiers.
pub fn arithmetic(operation: Operation, ty: Type) -> Arithmetic {
    Arithmetic {
        operation,
        ty,
        from: Type::None,
        comparison: Comparison::None,
        combine: BooleanOperation::None,
        flags: ArithmeticFlags(0),
    }
}

/// Arithmetic on unsigned 32-bit integers without modifiers.
pub fn integer(operation: Operation) -> Op {
    Op::Arithmetic(arithmetic(operation, Type::U32))
}

/// A comparison of unsigned 32-bit integers that writes a predicate.
pub fn compare(comparison: Comparison) -> Op {
    Op::Arithmetic(Arithmetic { comparison, ..arithmetic(Operation::Setp, Type::U32) })
}

/// A function without instructions whose blocks have these successors: none is a return, two a
/// branch on register 0, more a switch on register 1.
pub fn graph<L: AsRef<[u32]>>(successors: &[L]) -> Function {
    let mut builder = FunctionBuilder::new();
    let guard = Guard::new(builder.register(Type::Pred), false);
    let index = builder.register(Type::U32);
    for targets in successors {
        let block = builder.block();
        match *targets.as_ref() {
            [] => builder.terminate(block, Terminator::Return),
            [target] => builder.terminate(block, Terminator::Jump(BlockId(target))),
            [taken, otherwise] => {
                let (taken, otherwise) = (BlockId(taken), BlockId(otherwise));
                builder.terminate(block, Terminator::Branch { guard, taken, otherwise })
            }
            ref targets => {
                let targets: Vec<BlockId> = targets.iter().map(|&target| BlockId(target)).collect();
                builder.switch(block, index.into(), &targets)
            }
        };
    }
    builder.finish()
}

/// The instructions of a block by number, for tests that name them.
pub fn instruction_ids(function: &Function, block: BlockId) -> impl Iterator<Item = InstructionId> + use<> {
    let range = function.blocks.get(block.0 as usize).map_or(0..0, |block| block.first..block.end);
    range.map(InstructionId)
}
