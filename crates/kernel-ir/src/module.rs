//! A module: what its functions share.

use crate::{Function, Space, Type};

/// A source file, by its index in [`Module::files`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A function, by its index in [`Module::functions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// A translation unit.
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// Source files as the line table names them; index 0 may be unused.
    pub files: Vec<String>,
    /// Variables of module scope.
    pub variables: Vec<Variable>,
    /// Every function that is defined or declared.
    pub functions: Vec<FunctionHeader>,
    /// The target, such as `sm_90a`.
    pub target: String,
    /// Width of an address in bits, 32 or 64.
    pub address_bits: u32,
}

/// A variable of module scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Name as in the input.
    pub name: String,
    /// Where it lies.
    pub space: Space,
    /// Element type.
    pub ty: Type,
    /// Size in bytes; 0 when it is extern or unsized (dynamic shared memory).
    pub bytes: u64,
    /// Alignment in bytes; 0 when not given.
    pub align: u32,
}

/// What kind of function it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// Launched from the host.
    Kernel,
    /// Called from other functions.
    Device,
}

/// What is known of a function without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionHeader {
    /// Name as in the input (mangled).
    pub name: String,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// Whether there is a body.
    pub defined: bool,
    /// What the code promises of its launches.
    pub bounds: LaunchBounds,
    /// Byte offset of its header in the input.
    pub offset: u32,
    /// `.noreturn`: it never returns to its caller.
    pub no_return: bool,
}

/// What a kernel's directives say of its launches (PTX ISA, «Performance-Tuning Directives»,
/// «Cluster Dimension Directives»).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaunchBounds {
    /// `.reqntid`: the block shape of every launch.
    pub required_block: Option<[u32; 3]>,
    /// `.maxntid`: no launch has more threads per block than the product of these.
    pub maximum_block: Option<[u32; 3]>,
    /// `.minnctapersm`.
    pub minimum_blocks_per_multiprocessor: Option<u32>,
    /// `.maxnreg`.
    pub maximum_registers: Option<u32>,
    /// `.explicitcluster`.
    pub explicit_cluster: bool,
    /// `.reqnctapercluster`.
    pub required_cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`.
    pub maximum_cluster_rank: Option<u32>,
}

/// A module whose functions are had one at a time, so that a large module is never lowered whole.
pub trait Program: Sync {
    /// What the functions share.
    fn module(&self) -> &Module;

    /// The body of a function; `None` when it is only declared.
    fn function(&self, id: FunctionId) -> Option<Function>;

    /// The instruction at a byte offset of the input, as it is written there; `None` where the input has no text.
    fn excerpt(&self, offset: u32) -> Option<String> {
        let _ = offset;
        None
    }
}
