//! Half precision and bfloat16, alone and in pairs, by way of double precision.
//!
//! Products of two are exact in double precision, sums are rounded to odd there; so the only rounding that counts
//! is the last.

use super::Quick;
use super::single::sum_to_odd;
use crate::{Arithmetic, ArithmeticFlags as Flags, Operation, Type};

/// A 16-bit format.
trait Half {
    /// The number as a double.
    fn widen(bits: u64) -> f64;
    /// Bits of the fraction of a double that are cut off.
    const CUT: u32;
    /// The difference of the exponents' biases, in units of the last place.
    const BIAS: u64;
    /// The least normal number.
    const NORMAL: f64;
    /// A power of two in whose last place the subnormal numbers' last place is.
    const SUBNORMAL: f64;
    const INFINITY: u64;

    /// Rounds to nearest.
    #[inline]
    fn narrow(value: f64) -> u64 {
        let magnitude = value.abs();
        let sign = value.to_bits() >> 63 << 15;
        let bits = magnitude.to_bits();
        let rounded = (bits + ((1 << (Self::CUT - 1)) - 1) + (bits >> Self::CUT & 1)) >> Self::CUT;
        let normal = rounded.wrapping_sub(Self::BIAS).min(Self::INFINITY);
        let subnormal = (magnitude + Self::SUBNORMAL).to_bits() & 0x7fff;
        let result = sign | if magnitude < Self::NORMAL { subnormal } else { normal };
        if value.is_nan() { 0x7fff } else { result }
    }
}

struct F16;

impl Half for F16 {
    const CUT: u32 = 42;
    const BIAS: u64 = (1023 - 15) << 10;
    const NORMAL: f64 = 1.0 / 16384.0;
    const SUBNORMAL: f64 = (1u64 << 28) as f64;
    const INFINITY: u64 = 0x7c00;

    #[inline]
    fn widen(bits: u64) -> f64 {
        let magnitude = bits & 0x7fff;
        // With the exponent moved to a double's place the number is 2¹⁰⁰⁸ times too small.
        let scale = f64::from_bits((1023 + 1008) << 52);
        let finite = (f64::from_bits(magnitude << 42) * scale).to_bits();
        let special = 0x7ff << 52 | magnitude << 42;
        f64::from_bits((bits >> 15 & 1) << 63 | if magnitude < 0x7c00 { finite } else { special })
    }
}

struct Bf16;

impl Half for Bf16 {
    const CUT: u32 = 45;
    const BIAS: u64 = (1023 - 127) << 7;
    const NORMAL: f64 = f32::MIN_POSITIVE as f64;
    const SUBNORMAL: f64 = f64::from_bits((1023 - 81) << 52);
    const INFINITY: u64 = 0x7f80;

    #[inline]
    fn widen(bits: u64) -> f64 {
        f32::from_bits((bits as u32) << 16).into()
    }
}

#[inline]
fn add<T: Half>(a: u64, b: u64) -> u64 {
    T::narrow(sum_to_odd(T::widen(a), T::widen(b)))
}

#[inline]
fn subtract<T: Half>(a: u64, b: u64) -> u64 {
    T::narrow(sum_to_odd(T::widen(a), -T::widen(b)))
}

#[inline]
fn multiply<T: Half>(a: u64, b: u64) -> u64 {
    T::narrow(T::widen(a) * T::widen(b))
}

#[inline]
fn fused<T: Half>(a: u64, b: u64, c: u64) -> u64 {
    T::narrow(sum_to_odd(T::widen(a) * T::widen(b), T::widen(c)))
}

/// `cvt.f32.f16`.
pub(super) fn to_single() -> Quick {
    unary!(|a: u64| {
        let value = F16::widen(a & 0xffff);
        if value.is_nan() { 0x7fff_ffff } else { u64::from((value as f32).to_bits()) }
    })
}

/// `cvt.rn.f16.f32`.
pub(super) fn from_single() -> Quick {
    unary!(|a: u64| F16::narrow(f32::from_bits(a as u32).into()))
}

macro_rules! pairs {
    ($function:expr, $a:expr, $b:expr) => {
        $function($a & 0xffff, $b & 0xffff) | $function($a >> 16 & 0xffff, $b >> 16 & 0xffff) << 16
    };
}

fn of<T: Half>(operation: Operation, pair: bool) -> Option<Quick> {
    Some(match (operation, pair) {
        (Operation::Add, false) => binary!(|a: u64, b: u64| add::<T>(a & 0xffff, b & 0xffff)),
        (Operation::Sub, false) => binary!(|a: u64, b: u64| subtract::<T>(a & 0xffff, b & 0xffff)),
        (Operation::Mul, false) => binary!(|a: u64, b: u64| multiply::<T>(a & 0xffff, b & 0xffff)),
        (Operation::Fma, false) => {
            ternary!(|a: u64, b: u64, c: u64| { fused::<T>(a & 0xffff, b & 0xffff, c & 0xffff) })
        }
        (Operation::Add, true) => binary!(|a: u64, b: u64| pairs!(add::<T>, a, b)),
        (Operation::Sub, true) => binary!(|a: u64, b: u64| pairs!(subtract::<T>, a, b)),
        (Operation::Mul, true) => binary!(|a: u64, b: u64| pairs!(multiply::<T>, a, b)),
        (Operation::Fma, true) => ternary!(|a: u64, b: u64, c: u64| {
            fused::<T>(a & 0xffff, b & 0xffff, c & 0xffff)
                | fused::<T>(a >> 16 & 0xffff, b >> 16 & 0xffff, c >> 16 & 0xffff) << 16
        }),
        _ => return None,
    })
}

pub(super) fn quick(arithmetic: &Arithmetic) -> Option<Quick> {
    if arithmetic.flags.0 & !Flags::NEAREST != 0 {
        return None;
    }
    match arithmetic.ty {
        Type::F16 => of::<F16>(arithmetic.operation, false),
        Type::F16x2 => of::<F16>(arithmetic.operation, true),
        Type::Bf16 => of::<Bf16>(arithmetic.operation, false),
        Type::Bf16x2 => of::<Bf16>(arithmetic.operation, true),
        _ => None,
    }
}
