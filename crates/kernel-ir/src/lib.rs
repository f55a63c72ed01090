//! Kernel IR: what a GPU kernel does, close to PTX and free of any file format.
//!
//! Belongs here: types, instructions with their memory order and scope, explicit synchronisation,
//! control flow graphs with dominators and loops, the def-use view, scalar semantics of arithmetic,
//! the source map and the launch shape.
//! Does not belong here: reading a file format, and any rule about what is right or wrong.
//!
//! A kernel is functions of basic blocks over typed virtual registers. It is not in SSA form, since
//! it is also executed; SSA is a view that analyses build.

mod function;
mod instruction;
pub mod launch;
mod module;
mod operand;
mod types;

pub use function::{
    Block, BlockId, CallId, CallSite, Function, InstructionId, LocalVariable, Location, LocationId, OpaqueId,
    Opaque, Parameter, Piece, RegisterInfo, Terminator,
};
pub use instruction::{
    Access, Arithmetic, ArithmeticFlags, AtomicOperation, BarrierKind, BooleanOperation, BulkCompletion,
    BulkDirection, Callee, Comparison, FenceKind, Instruction, MatrixKind, MbarrierOperation, Op, Operation,
    Order, Scope, ShuffleMode, VoteMode,
};
pub use module::{FileId, FunctionHeader, FunctionId, FunctionKind, LaunchBounds, Module, Program, Variable};
pub use operand::{Guard, Operand, OperandRange, Register, Special, Symbol};
pub use types::{Space, Type};
