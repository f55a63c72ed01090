//! Comparison and selection (PTX ISA, «Comparison and Selection Instructions»).

use std::cmp::Ordering;

use super::softfloat::Format;
use super::{Results, extend, packed, signed, unsigned};
use crate::{Arithmetic, ArithmeticFlags, BooleanOperation, Comparison, Operation, Type};

impl BooleanOperation {
    /// Combines a comparison with a predicate; without an operation the comparison stands.
    pub fn apply(self, compared: bool, predicate: bool) -> bool {
        match self {
            BooleanOperation::None => compared,
            BooleanOperation::And => compared && predicate,
            BooleanOperation::Or => compared || predicate,
            BooleanOperation::Xor => compared != predicate,
        }
    }
}

/// How two values of a type compare; `None` when a NaN is among them.
fn order(ty: Type, flags: ArithmeticFlags, a: u64, b: u64) -> Option<Ordering> {
    let Some(format) = Format::of(ty) else {
        return Some(if ty.is_signed() {
            signed(a, ty.bits()).cmp(&signed(b, ty.bits()))
        } else {
            unsigned(a, ty.bits()).cmp(&unsigned(b, ty.bits()))
        });
    };
    let read = |bits: u64| {
        let bits = unsigned(bits, format.width);
        if flags.has(ArithmeticFlags::FLUSH) && format != Format::F64 { format.flush(bits) } else { bits }
    };
    let (a, b) = (read(a), read(b));
    if format.is_nan(a) || format.is_nan(b) {
        return None;
    }
    let key = |bits: u64| {
        let magnitude = format.magnitude(bits) as i64;
        if format.is_negative(bits) { -magnitude } else { magnitude }
    };
    Some(key(a).cmp(&key(b)))
}

/// Whether a comparison holds; `None` for one that the type does not have.
pub(super) fn holds(
    comparison: Comparison,
    ty: Type,
    flags: ArithmeticFlags,
    a: u64,
    b: u64,
) -> Option<bool> {
    use Comparison as C;
    if ty.bits() == 0 || (ty.is_float() && Format::of(ty).is_none()) {
        return None;
    }
    // Unsigned forms compare any integer as unsigned.
    let unsigned_form = matches!(comparison, C::Lo | C::Ls | C::Hi | C::Hs);
    if unsigned_form && ty.is_float() {
        return None;
    }
    let order = if unsigned_form {
        Some(unsigned(a, ty.bits()).cmp(&unsigned(b, ty.bits())))
    } else {
        order(ty, flags, a, b)
    };
    let ordered = |test: fn(Ordering) -> bool| order.is_some_and(test);
    let unordered = |test: fn(Ordering) -> bool| order.is_none_or(test);
    Some(match comparison {
        C::None => return None,
        C::Eq => ordered(Ordering::is_eq),
        C::Ne => ordered(Ordering::is_ne),
        C::Lt | C::Lo => ordered(Ordering::is_lt),
        C::Le | C::Ls => ordered(Ordering::is_le),
        C::Gt | C::Hi => ordered(Ordering::is_gt),
        C::Ge | C::Hs => ordered(Ordering::is_ge),
        C::Equ => unordered(Ordering::is_eq),
        C::Neu => unordered(Ordering::is_ne),
        C::Ltu => unordered(Ordering::is_lt),
        C::Leu => unordered(Ordering::is_le),
        C::Gtu => unordered(Ordering::is_gt),
        C::Geu => unordered(Ordering::is_ge),
        C::Num => order.is_some(),
        C::Nan => order.is_none(),
    })
}

/// `setp`: the comparison and its complement, each combined with the predicate; for packed types the
/// comparison of the low and of the high halves.
pub(super) fn set_predicate(arithmetic: &Arithmetic, sources: &[u64]) -> Option<Results> {
    let (a, b, predicate) = operands(sources)?;
    let (ty, flags) = (arithmetic.ty, arithmetic.flags);
    let combine = |compared| u64::from(arithmetic.combine.apply(compared, predicate));
    if let Some((lane, width)) = packed(ty) {
        let low = holds(arithmetic.comparison, lane, flags, a, b)?;
        let high = holds(arithmetic.comparison, lane, flags, a >> width, b >> width)?;
        return Some(Results::two(combine(low), combine(high)));
    }
    let compared = holds(arithmetic.comparison, ty, flags, a, b)?;
    Some(Results::two(combine(compared), combine(!compared)))
}

/// `set`: all ones or 1.0 where the comparison holds.
pub(super) fn set(arithmetic: &Arithmetic, sources: &[u64]) -> Option<u64> {
    let (a, b, predicate) = operands(sources)?;
    let (ty, from, flags) = (arithmetic.ty, arithmetic.from, arithmetic.flags);
    if let (Some((lane, width)), Some((from_lane, from_width))) = (packed(ty), packed(from)) {
        let scalar = Arithmetic { ty: lane, from: from_lane, ..*arithmetic };
        let combined = u64::from(predicate);
        let low = set(&scalar, &[a, b, combined])?;
        let high = set(&scalar, &[a >> from_width, b >> from_width, combined])?;
        return Some(unsigned(low, width) | unsigned(high, width) << width);
    }
    let compared = holds(arithmetic.comparison, from, flags, a, b)?;
    if !arithmetic.combine.apply(compared, predicate) {
        return Some(0);
    }
    match Format::of(ty) {
        Some(format) => Some(format.one()),
        None if ty.is_float() => None,
        None => Some(extend(u64::MAX, ty)),
    }
}

fn operands(sources: &[u64]) -> Option<(u64, u64, bool)> {
    match *sources {
        [a, b] => Some((a, b, true)),
        [a, b, predicate] => Some((a, b, predicate & 1 == 1)),
        _ => None,
    }
}

/// `selp` and `slct`.
pub(super) fn select(arithmetic: &Arithmetic, sources: &[u64]) -> Option<u64> {
    let &[a, b, c] = sources else { return None };
    let first = if arithmetic.operation == Operation::Selp {
        c & 1 == 1
    } else if matches!(arithmetic.from, Type::S32 | Type::F32) {
        order(arithmetic.from, arithmetic.flags, c, 0).is_some_and(Ordering::is_ge)
    } else {
        return None;
    };
    Some(extend(if first { a } else { b }, arithmetic.ty))
}

/// `testp`: a property of a number, by the mode or as a comparison.
pub(super) fn test_property(arithmetic: &Arithmetic, sources: &[u64]) -> Option<u64> {
    let &[a] = sources else { return None };
    let format = Format::of(arithmetic.ty)?;
    let bits = unsigned(a, format.width);
    let magnitude = format.magnitude(bits);
    let (infinite, nan, subnormal) =
        (magnitude == format.infinity(), format.is_nan(bits), format.is_subnormal(bits));
    let holds = match (arithmetic.flags.mode(), arithmetic.comparison) {
        (1, _) => !infinite && !nan,
        (2, _) => infinite,
        (3, _) | (0, Comparison::Num) => !nan,
        (4, _) | (0, Comparison::Nan) => nan,
        // Zero counts as normal.
        (5, _) => !infinite && !nan && !subnormal,
        (6, _) => subnormal,
        _ => return None,
    };
    Some(u64::from(holds))
}
