//! Single precision.

use super::Quick;
use crate::{Arithmetic, ArithmeticFlags as Flags, BooleanOperation, Comparison, Operation, Type};

const F32_NAN: u64 = 0x7fff_ffff;

/// A single-precision result; every NaN is the same.
#[inline]
fn single_bits(value: f32) -> u64 {
    if value.is_nan() { F32_NAN } else { value.to_bits().into() }
}

/// `a × b + c` in single precision, rounded once: the product is exact in double precision, and the sum is
/// rounded to odd there, so that the second rounding sees what was cut off.
#[inline]
pub fn fused_single(a: f32, b: f32, c: f32) -> f32 {
    sum_to_odd(f64::from(a) * f64::from(b), c.into()) as f32
}

/// The sum of two numbers; where it is not exact, of its two neighbours the one whose last bit is set.
#[inline]
pub(super) fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // What the sum lost (Knuth's two-sum); NaN where the sum is not finite.
    let part = sum - a;
    let lost = (a - (sum - part)) + (b - part);
    let bits = sum.to_bits();
    let inexact = u64::from(lost.abs() > 0.0);
    let step = 1i64 - 2 * ((bits ^ lost.to_bits()) >> 63) as i64;
    let moves = (inexact & !bits & 1).wrapping_neg();
    f64::from_bits(bits.wrapping_add(step as u64 & moves))
}

/// Zero with the sign of a number where it is subnormal.
#[inline]
fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0.0f32.copysign(value) } else { value }
}

macro_rules! of_single {
    (unary $function:expr) => {
        unary!(|a: u64| single_bits($function(f32::from_bits(a as u32))))
    };
    (binary $function:expr) => {
        binary!(|a: u64, b: u64| single_bits($function(f32::from_bits(a as u32), f32::from_bits(b as u32))))
    };
    (ternary $function:expr) => {
        ternary!(|a: u64, b: u64, c: u64| {
            let read = |bits: u64| f32::from_bits(bits as u32);
            single_bits($function(read(a), read(b), read(c)))
        })
    };
}

#[allow(clippy::double_comparisons, reason = "a NaN is neither")]
pub(super) fn quick(arithmetic: &Arithmetic) -> Option<Quick> {
    let flags = arithmetic.flags.0;
    let flushes = arithmetic.flags.has(Flags::FLUSH);
    if arithmetic.flags.has(Flags::APPROXIMATE) {
        return approximate(arithmetic.operation, flags);
    }
    let mixed = matches!(arithmetic.from, Type::F16 | Type::Bf16);
    if flags & !(Flags::NEAREST | Flags::FLUSH) != 0 || mixed {
        return None;
    }
    let named = flags == Flags::NEAREST;
    Some(match arithmetic.operation {
        Operation::Setp if flags == 0 && arithmetic.combine == BooleanOperation::None => {
            return test_floats!(arithmetic, |bits: u64| f32::from_bits(bits as u32));
        }
        Operation::Add if flushes => of_single!(binary | a, b | flushed(flushed(a) + flushed(b))),
        Operation::Sub if flushes => of_single!(binary | a, b | flushed(flushed(a) - flushed(b))),
        Operation::Mul if flushes => of_single!(binary | a, b | flushed(flushed(a) * flushed(b))),
        Operation::Fma if flushes => {
            of_single!(ternary | a, b, c | flushed(fused_single(flushed(a), flushed(b), flushed(c))))
        }
        Operation::Add => of_single!(binary |a: f32, b: f32| a + b),
        Operation::Sub => of_single!(binary |a: f32, b: f32| a - b),
        Operation::Mul => of_single!(binary |a: f32, b: f32| a * b),
        Operation::Fma => of_single!(ternary fused_single),
        Operation::Div if named => of_single!(binary |a: f32, b: f32| a / b),
        Operation::Rcp if named => of_single!(unary |a: f32| 1.0 / a),
        Operation::Abs if flags == 0 => of_single!(unary f32::abs),
        Operation::Neg if flags == 0 => of_single!(unary |a: f32| -a),
        Operation::Sqrt if named => of_single!(unary |a: f32| a.sqrt()),
        _ => return None,
    })
}

/// Approximate functions, correctly rounded; see [`crate::evaluate::approximate`].
fn approximate(operation: Operation, flags: u32) -> Option<Quick> {
    let flushes = match flags & !Flags::APPROXIMATE {
        0 => false,
        Flags::FLUSH => true,
        _ => return None,
    };
    Some(match (operation, flushes) {
        (Operation::Rcp, false) => of_single!(unary |a: f32| 1.0 / a),
        (Operation::Rcp, true) => of_single!(unary |a: f32| flushed(1.0 / flushed(a))),
        (Operation::Sqrt, false) => of_single!(unary |a: f32| a.sqrt()),
        (Operation::Sqrt, true) => of_single!(unary |a: f32| flushed(flushed(a).sqrt())),
        (Operation::Rsqrt, false) => of_single!(unary |a: f32| (1.0 / f64::from(a).sqrt()) as f32),
        (Operation::Rsqrt, true) => {
            of_single!(unary |a: f32| flushed((1.0 / f64::from(flushed(a)).sqrt()) as f32))
        }
        (Operation::Ex2, false) => of_single!(unary |a: f32| libm::exp2(a.into()) as f32),
        (Operation::Ex2, true) => of_single!(unary |a: f32| flushed(libm::exp2(flushed(a).into()) as f32)),
        (Operation::Lg2, false) => of_single!(unary |a: f32| libm::log2(a.into()) as f32),
        (Operation::Lg2, true) => of_single!(unary |a: f32| flushed(libm::log2(flushed(a).into()) as f32)),
        _ => return None,
    })
}
