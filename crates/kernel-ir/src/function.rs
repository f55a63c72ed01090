//! A function's body: blocks, instructions, registers and the source map.

use crate::{Callee, FileId, FunctionId, Guard, Instruction, Operand, OperandRange, Register, Space, Type};

/// A basic block, by its index. Block 0 is the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// An instruction, by its index in the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstructionId(pub u32);

/// An entry of the source map; 0 is «unknown».
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct LocationId(pub u32);

/// A call, by its index in [`Function::calls`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u32);

/// An operation that is not understood, by its index in [`Function::opaque`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpaqueId(pub u32);

/// A function's body.
///
/// Instructions of one block are contiguous, and blocks stand in the order of the input, so that
/// instruction numbers grow with text order.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its place in the module.
    pub id: FunctionId,
    /// Basic blocks; the first is the entry.
    pub blocks: Vec<Block>,
    /// Instructions of all blocks.
    pub instructions: Vec<Instruction>,
    /// Operands of all instructions.
    pub operands: Vec<Operand>,
    /// Virtual registers.
    pub registers: Vec<RegisterInfo>,
    /// Formal parameters.
    pub parameters: Vec<Parameter>,
    /// Device functions: the registers that hold the pieces of the parameters at entry. A kernel's
    /// parameters are read from parameter space instead.
    pub parameter_pieces: Vec<Piece>,
    /// Device functions: the registers that hold the pieces of the results at return.
    pub result_pieces: Vec<Piece>,
    /// Variables of function scope (shared, local).
    pub variables: Vec<LocalVariable>,
    /// Calls.
    pub calls: Vec<CallSite>,
    /// Target lists of [`Terminator::Switch`], one after the other.
    pub switch_targets: Vec<BlockId>,
    /// Source map; entry 0 is «unknown».
    pub locations: Vec<Location>,
    /// Operations that were not understood.
    pub opaque: Vec<Opaque>,
}

/// A basic block.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// Its first instruction.
    pub first: u32,
    /// One past its last instruction.
    pub end: u32,
    /// How it ends.
    pub terminator: Terminator,
    /// Where the terminator stands in the source.
    pub location: LocationId,
    /// Byte offset of the terminator in the input.
    pub offset: u32,
}

/// How a block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminator {
    /// Always to one block.
    Jump(BlockId),
    /// To `taken` where the guard holds, else to `otherwise`.
    Branch {
        /// The condition for `taken`.
        guard: Guard,
        /// Where to when it holds.
        taken: BlockId,
        /// Where to when it does not.
        otherwise: BlockId,
    },
    /// By an index into a list of targets (`brx.idx`); an index past the end has no meaning.
    Switch {
        /// The index.
        index: Operand,
        /// First target in [`Function::switch_targets`].
        first: u32,
        /// Number of targets.
        count: u32,
    },
    /// Back to the caller; in a kernel the thread ends.
    Return,
    /// The thread ends (`exit`), also from within a call.
    Exit,
    /// The launch is aborted (`trap`), or control cannot come here.
    Trap,
}

/// A virtual register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterInfo {
    /// Declared type.
    pub ty: Type,
}

/// A formal parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Element type.
    pub ty: Type,
    /// Size in bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Declared as a pointer (`.ptr`), or not known.
    pub pointer: bool,
}

/// A scalar part of a parameter or result, held in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Position of the parameter or result.
    pub index: u32,
    /// Bytes from its start.
    pub offset: u32,
    /// The register that holds it.
    pub register: Register,
}

/// A variable of function scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalVariable {
    /// Name as in the input.
    pub name: String,
    /// Where it lies.
    pub space: Space,
    /// Element type.
    pub ty: Type,
    /// Size in bytes.
    pub bytes: u64,
    /// Alignment in bytes; 0 when not given.
    pub align: u32,
}

/// A call. The instruction's destinations are the registers of `results`, in order, its sources
/// those of `arguments`; an indirect call's target is one more source, the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSite {
    /// Who is called.
    pub callee: Callee,
    /// What is passed.
    pub arguments: Vec<Piece>,
    /// What comes back.
    pub results: Vec<Piece>,
}

/// A place in the user's source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Location {
    /// The file.
    pub file: FileId,
    /// Line, from 1; 0 when unknown.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
    /// The call that this code was inlined into; `LocationId(0)` when it was not.
    pub inlined_at: LocationId,
}

impl Default for FileId {
    fn default() -> Self {
        FileId(u32::MAX)
    }
}

/// An operation that is not understood; its operands are kept in the instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opaque {
    /// The opcode with its modifiers, as in the input.
    pub mnemonic: String,
}

impl Function {
    /// The instructions of a block.
    pub fn instructions_of(&self, block: BlockId) -> &[Instruction] {
        self.blocks
            .get(block.0 as usize)
            .and_then(|block| self.instructions.get(block.first as usize..block.end as usize))
            .unwrap_or(&[])
    }

    /// What an instruction writes.
    pub fn destinations(&self, operands: OperandRange) -> &[Operand] {
        let start = operands.start as usize;
        self.operands.get(start..start + usize::from(operands.destinations)).unwrap_or(&[])
    }

    /// What an instruction reads (its guard not included).
    pub fn sources(&self, operands: OperandRange) -> &[Operand] {
        let start = operands.start as usize + usize::from(operands.destinations);
        self.operands.get(start..start + usize::from(operands.sources)).unwrap_or(&[])
    }

    /// Where each parameter of a kernel lies in parameter space, in bytes, and last their size together (PTX ISA,
    /// «Kernel Function Parameters»).
    pub fn parameter_offsets(&self) -> Vec<u32> {
        let mut end = 0u32;
        let mut offsets = Vec::with_capacity(self.parameters.len() + 1);
        for parameter in &self.parameters {
            let align = if parameter.align == 0 { parameter.ty.bytes() } else { parameter.align };
            let offset = end.checked_next_multiple_of(align.max(1)).unwrap_or(end);
            offsets.push(offset);
            end = offset.saturating_add(parameter.bytes);
        }
        offsets.push(end);
        offsets
    }

    /// The source place of an entry of the map.
    pub fn location(&self, id: LocationId) -> Location {
        self.locations.get(id.0 as usize).copied().unwrap_or_default()
    }

    /// Calls `visit` for each successor of a block, in the order taken, otherwise.
    pub fn successors(&self, block: BlockId, mut visit: impl FnMut(BlockId)) {
        let Some(block) = self.blocks.get(block.0 as usize) else { return };
        match block.terminator {
            Terminator::Jump(target) => visit(target),
            Terminator::Branch { taken, otherwise, .. } => {
                visit(taken);
                visit(otherwise);
            }
            Terminator::Switch { first, count, .. } => {
                let targets = self.switch_targets.get(first as usize..first as usize + count as usize);
                targets.unwrap_or(&[]).iter().copied().for_each(visit);
            }
            Terminator::Return | Terminator::Exit | Terminator::Trap => {}
        }
    }
}
