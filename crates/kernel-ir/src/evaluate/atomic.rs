//! What atomics write (PTX ISA, «Parallel Synchronization and Communication Instructions: atom, red»).

use super::softfloat::Format;
use super::{exact, extend, signed, unsigned};
use crate::{
    Arithmetic, ArithmeticFlags, AtomicOperation, BooleanOperation, Comparison, Operation, Space, Type,
};

/// The new value of a location that held `old`. For [`AtomicOperation::CompareExchange`] `operand` is what is
/// compared and `second` the value to store; `second` is not looked at otherwise. Values are in the low
/// bits; the result is zero-extended. `None` for an operation that the type does not have.
///
/// `space` is where the address lies, which an engine finds out for a generic one.
///
/// Additions of single precision in global memory flush subnormal numbers; those in shared memory do not.
pub fn atomic(
    operation: AtomicOperation,
    ty: Type,
    space: Space,
    old: u64,
    operand: u64,
    second: u64,
) -> Option<u64> {
    let bits = ty.bits();
    if !matches!(bits, 1..=64) {
        return None;
    }
    let (left, right) = (unsigned(old, bits), unsigned(operand, bits));
    let new = match operation {
        AtomicOperation::Exchange => right,
        AtomicOperation::CompareExchange => {
            if left == right {
                second
            } else {
                left
            }
        }
        AtomicOperation::And => left & right,
        AtomicOperation::Or => left | right,
        AtomicOperation::Xor => left ^ right,
        AtomicOperation::Inc if left >= right => 0,
        AtomicOperation::Inc => left.wrapping_add(1),
        AtomicOperation::Dec if left == 0 || left > right => right,
        AtomicOperation::Dec => left.wrapping_sub(1),
        AtomicOperation::Add if ty.is_float() => float(Operation::Add, ty, space, left, right)?,
        AtomicOperation::Min if ty.is_float() => float(Operation::Min, ty, space, left, right)?,
        AtomicOperation::Max if ty.is_float() => float(Operation::Max, ty, space, left, right)?,
        AtomicOperation::Add => left.wrapping_add(right),
        AtomicOperation::Min | AtomicOperation::Max => {
            let first =
                if ty.is_signed() { signed(left, bits) <= signed(right, bits) } else { left <= right };
            if first == (operation == AtomicOperation::Min) { left } else { right }
        }
    };
    Some(unsigned(new, bits))
}

/// The same for 128-bit locations, which can be exchanged and compared.
pub fn atomic_wide(operation: AtomicOperation, old: u128, operand: u128, second: u128) -> Option<u128> {
    match operation {
        AtomicOperation::Exchange => Some(operand),
        AtomicOperation::CompareExchange => Some(if old == operand { second } else { old }),
        _ => None,
    }
}

fn float(operation: Operation, ty: Type, space: Space, old: u64, operand: u64) -> Option<u64> {
    // The unit beside the cache hands a NaN on as it is.
    let outside = !matches!(space, Space::Shared | Space::SharedCluster);
    if let Some(&nan) = [operand, old].iter().find(|&&value| Format::F64.is_nan(value))
        && outside
        && ty == Type::F64
    {
        return Some(nan);
    }
    let flushes = ty == Type::F32 && outside;
    let rounding = if operation == Operation::Add { ArithmeticFlags::NEAREST } else { 0 };
    let flags = ArithmeticFlags(rounding | if flushes { ArithmeticFlags::FLUSH } else { 0 });
    let arithmetic = Arithmetic {
        operation,
        ty,
        from: ty,
        comparison: Comparison::None,
        combine: BooleanOperation::None,
        flags,
    };
    exact(&arithmetic, &[operand, old], 1)?.first().map(|&value| extend(value, ty))
}

/// Whether an operation on a type is exact in any order: then the result of many threads does not
/// depend on which came first.
pub fn commutes(operation: AtomicOperation, ty: Type) -> bool {
    match operation {
        AtomicOperation::Add => Format::of(ty).is_none() && !ty.is_float(),
        AtomicOperation::And
        | AtomicOperation::Or
        | AtomicOperation::Xor
        | AtomicOperation::Min
        | AtomicOperation::Max => true,
        _ => false,
    }
}
