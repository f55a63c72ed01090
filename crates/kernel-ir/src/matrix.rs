//! The matrix instructions of a warp: which element lies in which register of which lane, and what
//! products are (PTX ISA, «Warp Level Matrix Multiply-Accumulate Instructions»).
//!
//! An engine gives registers as arrays over the 32 lanes; [`multiply`] computes `mma.sync` and
//! `wmma.mma`, [`pieces`] says what `ldmatrix`, `stmatrix`, `wmma.load` and `wmma.store` move, and
//! [`transpose`] is `movmatrix`.
//!
//! What is known of the rounding stands in [`multiply`]'s module.

mod layout;
mod movement;
mod multiply;
mod sum;
#[cfg(test)]
mod tests;

pub use movement::{Piece, pieces, transpose};
pub use multiply::multiply;

use crate::{Space, Type};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// `d = a × b + c` by a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatrixMultiply {
    /// Rows of a, c and d.
    pub m: u8,
    /// Columns of b, c and d.
    pub n: u8,
    /// Columns of a and rows of b.
    pub k: u16,
    /// Type of the result's elements.
    pub d: Type,
    /// Type of a's elements.
    pub a: Type,
    /// Type of b's elements.
    pub b: Type,
    /// Type of c's elements.
    pub c: Type,
    /// How elements are combined.
    pub operation: MatrixOperation,
    /// `.satfinite`: integer sums saturate.
    pub saturates: bool,
    /// `wmma.mma`, whose fragments are those of `wmma.load`.
    pub wmma: bool,
}

/// How a matrix product combines elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatrixOperation {
    /// Products and their sum.
    MultiplyAdd,
    /// The number of bits that differ.
    XorPopulationCount,
    /// The number of bits set in both.
    AndPopulationCount,
    /// A form whose values are not modelled (sparse, block-scaled).
    Unknown,
}

/// A part of a matrix that a warp loads or stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatrixFragment {
    /// Which matrix, and so how it lies in the registers.
    pub fragment: Fragment,
    /// Where in memory.
    pub space: Space,
    /// Type of the elements.
    pub ty: Type,
    /// Rows of the whole product.
    pub m: u8,
    /// Columns of the whole product.
    pub n: u8,
    /// Depth of the product, or for 8×8 matrices their number.
    pub k: u8,
    /// Transposed 8×8 matrices (`.trans`), or a matrix whose columns lie together (`.col`).
    pub column: bool,
}

/// Which matrix a fragment belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fragment {
    /// 8×8 matrices of 16-bit elements (`ldmatrix`, `stmatrix`): every lane gives the address of a row.
    Rows,
    /// The left factor.
    A,
    /// The right factor.
    B,
    /// The accumulator or the result.
    C,
    /// A form that is not modelled.
    Unknown,
}
