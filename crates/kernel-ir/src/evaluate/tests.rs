//! The semantics against tables and against the host's own arithmetic.

mod floats;
mod integers;
mod lanes;
mod warps;

use super::evaluate;
use crate::build::arithmetic;
use crate::{Arithmetic, ArithmeticFlags, Operation, Type};

/// An operation on a type with modifiers.
fn op(operation: Operation, ty: Type, flags: u32) -> Arithmetic {
    Arithmetic { flags: ArithmeticFlags(flags), ..arithmetic(operation, ty) }
}

/// A conversion.
fn cvt(to: Type, from: Type, flags: u32) -> Arithmetic {
    Arithmetic { from, ..op(Operation::Cvt, to, flags) }
}

/// All results of an operation with one destination.
#[track_caller]
fn check(arithmetic: Arithmetic, sources: &[u64], expected: &[u64]) {
    let found = evaluate(&arithmetic, sources, 1);
    let found = found.as_deref().map(|values| values.iter().map(|value| format!("{value:#x}")).collect());
    let expected: Vec<String> = expected.iter().map(|value| format!("{value:#x}")).collect();
    assert_eq!(found, Some(expected), "{arithmetic:?} of {sources:#x?}");
}

/// The value of an operation is not known.
#[track_caller]
fn unknown(arithmetic: Arithmetic, sources: &[u64]) {
    assert_eq!(evaluate(&arithmetic, sources, 1), None, "{arithmetic:?}");
}

/// The only result.
fn one(arithmetic: Arithmetic, sources: &[u64]) -> u64 {
    evaluate(&arithmetic, sources, 1).map_or(0xbad, |values| values[0])
}
