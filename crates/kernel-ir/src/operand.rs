//! What instructions read and write.

use std::num::NonZeroU32;

/// A virtual register of a function, by its dense index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(pub u32);

/// A variable: of the module ([`crate::Module::variables`]) or of the function
/// ([`crate::Function::variables`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbol {
    /// Index into the module's variables.
    Module(u32),
    /// Index into the function's variables.
    Local(u32),
    /// The address of a function.
    Function(u32),
}

/// One operand; 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register's value.
    Register(Register),
    /// A predicate register's negated value (`!%p1`).
    Negated(Register),
    /// A constant: integers sign-extended to 64 bits, floats as their bits (`0f3F800000` in the low 32).
    Immediate(u64),
    /// The address of a variable plus an offset in bytes.
    Symbol {
        /// The variable.
        symbol: Symbol,
        /// Bytes added to its address.
        offset: i32,
    },
    /// A register's value plus an offset in bytes, as an address.
    Address {
        /// The register that holds the base.
        base: Register,
        /// Bytes added to it.
        offset: i32,
    },
    /// A kernel's parameter in parameter space, plus an offset in bytes.
    Parameter {
        /// Position of the parameter, from 0.
        index: u32,
        /// Bytes from its start.
        offset: i32,
    },
    /// A special register.
    Special(Special),
    /// A destination that is thrown away (`_`), or an optional operand that is absent.
    Absent,
}

impl Operand {
    /// The register that reading this operand reads.
    pub fn register(self) -> Option<Register> {
        match self {
            Operand::Register(register)
            | Operand::Negated(register)
            | Operand::Address { base: register, .. } => Some(register),
            _ => None,
        }
    }
}

/// Operands of one instruction in its function's pool: destinations first, then sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct OperandRange {
    /// Index of the first destination.
    pub start: u32,
    /// Number of destinations.
    pub destinations: u16,
    /// Number of sources.
    pub sources: u16,
}

/// `@%p` or `@!%p`: the instruction takes effect only where the predicate holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guard(NonZeroU32);

impl Guard {
    /// A guard on a predicate register.
    pub fn new(register: Register, negated: bool) -> Guard {
        // Registers stay below 2^31 - 1: every one takes at least two bytes of a text below 4 GiB.
        let packed = (register.0 << 1 | u32::from(negated)).wrapping_add(1);
        Guard(NonZeroU32::new(packed).unwrap_or(NonZeroU32::MAX))
    }

    /// The predicate register.
    pub fn register(self) -> Register {
        Register((self.0.get() - 1) >> 1)
    }

    /// Whether the instruction runs where the predicate is false.
    pub fn negated(self) -> bool {
        (self.0.get() - 1) & 1 == 1
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "@{}{}", if self.negated() { "!" } else { "" }, self.register().0)
    }
}

/// A special register (PTX ISA, «Special Registers»). Vector ones carry their component, 0 to 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NwarpId,
    WarpSize,
    GridId,
    SmId,
    NsmId,
    ClusterId(u8),
    NclusterId(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    Clock,
    Clock64,
    GlobalTimer,
    DynamicSharedSize,
    TotalSharedSize,
    AggregateSharedSize,
    CurrentGraphExec,
    /// `%envreg0` to `%envreg31`; 1 and 2 hold the address of a cooperative grid's workspace.
    Environment(u8),
    /// `%pm0` and whatever else differs from read to read.
    Other,
}
