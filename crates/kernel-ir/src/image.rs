//! What variables hold before any code runs.

use crate::Symbol;

/// The first bytes of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableImage {
    /// Index into the module's variables.
    pub variable: u32,
    /// Bytes from its start; the rest is zero.
    pub bytes: Vec<u8>,
    /// Addresses to put in.
    pub pointers: Vec<Pointer>,
}

/// An address in a variable's first value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pointer {
    /// Where it stands in the variable.
    pub offset: u32,
    /// Its size, 4 or 8 bytes.
    pub bytes: u8,
    /// What it points at.
    pub symbol: Symbol,
    /// Bytes added to that address.
    pub addend: i64,
}
