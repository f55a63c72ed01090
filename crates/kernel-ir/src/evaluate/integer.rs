//! Integer arithmetic (PTX ISA, «Integer Arithmetic Instructions», «Extended-Precision Integer
//! Arithmetic Instructions»).

use super::{Results, extend, range, signed, unsigned};
use crate::{Arithmetic, ArithmeticFlags, Operation, Type};

/// Arithmetic on an integer type; sources as they come.
pub(super) fn arithmetic(arithmetic: &Arithmetic, sources: &[u64]) -> Option<Results> {
    let (ty, flags) = (arithmetic.ty, arithmetic.flags);
    let &[a, ref rest @ ..] = sources else { return None };
    match (arithmetic.operation, rest) {
        (Operation::Add, &[b]) => add(ty, flags, a, b, 0),
        (Operation::AddCarry, &[b, carry]) => add(ty, flags, a, b, carry & 1),
        (Operation::Sub, &[b]) => subtract(ty, flags, a, b, 0),
        (Operation::SubCarry, &[b, carry]) => subtract(ty, flags, a, b, carry & 1),
        (Operation::Mul, &[b]) => multiply(ty, flags, a, b).map(Results::one),
        (Operation::Mad, &[b, c]) => multiply_add(ty, flags, a, b, c, 0),
        (Operation::MadCarry, &[b, c, carry]) => multiply_add(ty, flags, a, b, c, carry & 1),
        (Operation::Sad, &[b, c]) => {
            let difference = if ty.is_signed() {
                signed(a, ty.bits()).abs_diff(signed(b, ty.bits()))
            } else {
                unsigned(a, ty.bits()).abs_diff(unsigned(b, ty.bits()))
            };
            Some(Results::one(extend(difference.wrapping_add(c), ty)))
        }
        (Operation::Div, &[b]) => divide(ty, a, b).map(|(quotient, _)| Results::one(quotient)),
        (Operation::Rem, &[b]) => divide(ty, a, b).map(|(_, remainder)| Results::one(remainder)),
        (Operation::Abs, []) => Some(Results::one(extend(signed(a, ty.bits()).wrapping_abs() as u64, ty))),
        (Operation::Neg, []) => Some(Results::one(extend(a.wrapping_neg(), ty))),
        (Operation::Min | Operation::Max, &[b]) => {
            let minimum = arithmetic.operation == Operation::Min;
            let value = if ty.is_signed() {
                let (a, b) = (signed(a, ty.bits()), signed(b, ty.bits()));
                let value = if minimum { a.min(b) } else { a.max(b) };
                if flags.has(ArithmeticFlags::RELU) { value.max(0) as u64 } else { value as u64 }
            } else {
                let (a, b) = (unsigned(a, ty.bits()), unsigned(b, ty.bits()));
                if minimum { a.min(b) } else { a.max(b) }
            };
            Some(Results::one(value))
        }
        _ => None,
    }
}

/// A sum, and the carry where it is asked for.
#[inline]
fn add(ty: Type, flags: ArithmeticFlags, a: u64, b: u64, carry: u64) -> Option<Results> {
    if !flags.has(ArithmeticFlags::CARRY_OUT | ArithmeticFlags::SATURATE) {
        return Some(Results::one(extend(a.wrapping_add(b).wrapping_add(carry), ty)));
    }
    if flags.has(ArithmeticFlags::SATURATE) {
        return Some(Results::one(saturate(ty, wide(ty, a) + wide(ty, b))));
    }
    let bits = ty.bits();
    let sum = u128::from(unsigned(a, bits)) + u128::from(unsigned(b, bits)) + u128::from(carry);
    Some(Results::two(extend(sum as u64, ty), (sum >> bits) as u64 & 1))
}

/// A difference, and the borrow where it is asked for.
#[inline]
fn subtract(ty: Type, flags: ArithmeticFlags, a: u64, b: u64, borrow: u64) -> Option<Results> {
    if !flags.has(ArithmeticFlags::CARRY_OUT | ArithmeticFlags::SATURATE) {
        return Some(Results::one(extend(a.wrapping_sub(b).wrapping_sub(borrow), ty)));
    }
    if flags.has(ArithmeticFlags::SATURATE) {
        return Some(Results::one(saturate(ty, wide(ty, a) - wide(ty, b))));
    }
    let (left, right) = (unsigned(a, ty.bits()), unsigned(b, ty.bits()));
    let borrows = u128::from(left) < u128::from(right) + u128::from(borrow);
    Some(Results::two(extend(left.wrapping_sub(right).wrapping_sub(borrow), ty), u64::from(borrows)))
}

/// A value as a wide integer.
fn wide(ty: Type, value: u64) -> i128 {
    if ty.is_signed() { signed(value, ty.bits()).into() } else { unsigned(value, ty.bits()).into() }
}

/// The nearest value of a type.
pub(super) fn saturate(ty: Type, value: i128) -> u64 {
    let (least, greatest) = range(ty);
    value.clamp(least, greatest) as u64
}

/// The chosen part of a product.
#[inline]
fn multiply(ty: Type, flags: ArithmeticFlags, a: u64, b: u64) -> Option<u64> {
    let bits = ty.bits();
    if flags.has(ArithmeticFlags::WIDE) {
        // 16 and 32 bits only: the product fits 64.
        return match (bits, ty.is_signed()) {
            (16 | 32, true) => Some(signed(a, bits).wrapping_mul(signed(b, bits)) as u64),
            (16 | 32, false) => Some(unsigned(a, bits).wrapping_mul(unsigned(b, bits))),
            _ => None,
        };
    }
    if flags.has(ArithmeticFlags::HIGH) {
        let high = if ty.is_signed() {
            ((i128::from(signed(a, bits)) * i128::from(signed(b, bits))) >> bits) as u64
        } else {
            ((u128::from(unsigned(a, bits)) * u128::from(unsigned(b, bits))) >> bits) as u64
        };
        return Some(extend(high, ty));
    }
    Some(extend(a.wrapping_mul(b), ty))
}

fn multiply_add(ty: Type, flags: ArithmeticFlags, a: u64, b: u64, c: u64, carry: u64) -> Option<Results> {
    let product = multiply(ty, flags, a, b)?;
    if flags.has(ArithmeticFlags::WIDE) {
        let double = match ty {
            Type::U16 => Type::U32,
            Type::S16 => Type::S32,
            Type::U32 => Type::U64,
            _ => Type::S64,
        };
        return add(double, ArithmeticFlags(0), product, c, 0);
    }
    add(ty, flags, product, c, carry)
}

/// Quotient and remainder, rounded towards zero; `None` for division by zero, whose result is
/// unspecified. The one quotient that does not fit, the least value by -1, wraps around.
fn divide(ty: Type, a: u64, b: u64) -> Option<(u64, u64)> {
    let bits = ty.bits();
    if ty.is_signed() {
        let (a, b) = (signed(a, bits), signed(b, bits));
        if b == 0 {
            return None;
        }
        Some((extend(a.wrapping_div(b) as u64, ty), extend(a.wrapping_rem(b) as u64, ty)))
    } else {
        let (a, b) = (unsigned(a, bits), unsigned(b, bits));
        Some((a.checked_div(b)?, a.checked_rem(b)?))
    }
}

/// `mul24` and `mad24`: the low or high 32 bits of a product of 24-bit numbers, which has 48.
pub(super) fn multiply_24(arithmetic: &Arithmetic, sources: &[u64]) -> Option<u64> {
    let (ty, flags) = (arithmetic.ty, arithmetic.flags);
    let &[a, b, ref rest @ ..] = sources else { return None };
    if !matches!(ty, Type::U32 | Type::S32) {
        return None;
    }
    let product = if ty.is_signed() {
        signed(a, 24).wrapping_mul(signed(b, 24)) as u64
    } else {
        unsigned(a, 24).wrapping_mul(unsigned(b, 24))
    };
    let part = if flags.has(ArithmeticFlags::HIGH) { product >> 16 } else { product };
    match *rest {
        [] => Some(extend(part, ty)),
        [c] => add(ty, flags, part, c, 0)?.first().copied(),
        _ => None,
    }
}

/// `dp4a` and `dp2a`: a's elements have the type, b's the source type.
pub(super) fn dot_product(arithmetic: &Arithmetic, sources: &[u64]) -> Option<u64> {
    let &[a, b, c] = sources else { return None };
    let left_signed = arithmetic.ty.is_signed();
    let right_signed = match arithmetic.from {
        Type::None => left_signed,
        from => from.is_signed(),
    };
    let element = |value: u64, bits: u32, index: u32, is_signed: bool| {
        let value = value >> (bits * index);
        if is_signed { signed(value, bits) } else { unsigned(value, bits) as i64 }
    };
    let (count, bits, first) = match arithmetic.operation {
        Operation::Dp4a => (4, 8, 0),
        _ if arithmetic.flags.has(ArithmeticFlags::HIGH) => (2, 16, 2),
        _ => (2, 16, 0),
    };
    let total = (0..count).fold(c as i64, |total, index| {
        let product = element(a, bits, index, left_signed) * element(b, 8, first + index, right_signed);
        total.wrapping_add(product)
    });
    let ty = if left_signed || right_signed { Type::S32 } else { Type::U32 };
    Some(extend(total as u64, ty))
}
