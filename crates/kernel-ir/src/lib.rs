//! Kernel IR: what a GPU kernel does, close to PTX and free of any file format.
//!
//! Belongs here: types, instructions with their memory order and scope, explicit synchronisation,
//! control flow graphs with dominators and loops, the def-use view, scalar semantics of arithmetic,
//! the source map and the launch shape.
//! Does not belong here: reading a file format, and any rule about what is right or wrong.
//!
//! A kernel is functions of basic blocks over typed virtual registers. It is not in SSA form, since
//! it is also executed; SSA is a view that analyses build.

mod arithmetic;
pub mod build;
mod call_graph;
mod cfg;
mod components;
mod control_dependence;
mod dominators;
pub mod evaluate;
mod function;
mod image;
mod instruction;
pub mod launch;
mod lists;
pub mod liveness;
mod loops;
pub mod matrix;
mod module;
mod operand;
mod reach;
pub mod ssa;
mod structure;
mod types;
mod updates;
mod whole;

pub use arithmetic::{Arithmetic, ArithmeticFlags, BooleanOperation, Comparison, Operation, VideoOperation};
pub use call_graph::{CallGraph, CallGraphBuilder};
pub use cfg::ControlFlow;
pub use components::strongly_connected;
pub use control_dependence::{ControlDependence, Influence};
pub use dominators::{Dominators, PostDominators};
pub use function::{
    Block, BlockId, CallId, CallSite, Function, InstructionId, LocalVariable, Location, LocationId, Opaque,
    OpaqueId, Parameter, Piece, RegisterInfo, Terminator,
};
pub use image::{Pointer, VariableImage};
pub use instruction::{
    Access, AtomicOperation, BarrierKind, BarrierReduction, BulkCompletion, BulkDirection, Callee, FenceKind,
    Instruction, MatrixKind, MbarrierOperation, Op, Order, Scope, ShuffleMode, VoteMode,
};
pub use lists::Lists;
pub use loops::{Loop, LoopId, Loops};
pub use matrix::{Fragment, MatrixFragment, MatrixMultiply, MatrixOperation};
pub use module::{FileId, FunctionHeader, FunctionId, FunctionKind, LaunchBounds, Module, Program, Variable};
pub use operand::{Guard, Operand, OperandRange, Register, Special, Symbol};
pub use reach::Reachability;
pub use ssa::{Ssa, User, Uses, ValueDef, ValueId};
pub use structure::{OperationMark, StructureOperation};
pub use types::{Space, Type};
pub use updates::{Update, Updates};
