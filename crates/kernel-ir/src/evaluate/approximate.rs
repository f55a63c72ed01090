//! The best value of what the PTX ISA does not determine, for engines: approximate functions with a bound of
//! their error, and results that are unspecified while the cards all give the same.
//!
//! Zeros, infinities, NaNs and flushed subnormal numbers are as on the card. Elsewhere the value is the
//! correctly rounded one, which the card's differs from by less than [`error`] says.

use super::softfloat::{self, Format, Number, Rounding};
use super::{extend, float, packed, unsigned};
use crate::{Arithmetic, ArithmeticFlags, Operation, Type};

/// How far a card's value may be from the one given here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Error {
    /// In units of the last place of the given value.
    Places(f64),
    /// Relative to the given value.
    Relative(f64),
    /// In all.
    Absolute(f64),
    /// Relative to the given value, or in all where that is more.
    RelativeOrAbsolute(f64, f64),
}

/// The bound of the error of an approximate function; `None` for functions that are exact. The bounds are the PTX
/// ISA's, of its text for each instruction, plus what rounding the value here adds.
pub fn error(arithmetic: &Arithmetic) -> Option<Error> {
    let flags = arithmetic.flags;
    let approximate = flags.has(ArithmeticFlags::APPROXIMATE | ArithmeticFlags::FULL);
    let ty = packed(arithmetic.ty).map_or(arithmetic.ty, |(lane, _)| lane);
    Some(match (arithmetic.operation, ty) {
        (Operation::Div, Type::F32) if approximate => Error::Places(2.5),
        (Operation::Rcp, Type::F32) if approximate => Error::Places(1.5),
        (Operation::Sqrt, Type::F32) if approximate => Error::Relative(1.5 * 2f64.powi(-23)),
        (Operation::Rsqrt, Type::F32) => Error::Relative(1.5 * 2f64.powi(-23)),
        (Operation::Rcp, Type::F64) if approximate => Error::Relative(2f64.powi(-20)),
        (Operation::Rsqrt, Type::F64) if flags.has(ArithmeticFlags::FLUSH) => Error::Relative(2f64.powi(-20)),
        (Operation::Rsqrt, Type::F64) => Error::Places(2.0),
        (Operation::Sin | Operation::Cos, _) => Error::Absolute(2f64.powf(-20.5)),
        (Operation::Lg2, _) => Error::RelativeOrAbsolute(2f64.powi(-22), 2f64.powi(-22)),
        (Operation::Ex2, Type::F32) => Error::Relative(2f64.powi(-22)),
        (Operation::Ex2, Type::F16) => Error::Relative(2f64.powf(-9.5)),
        (Operation::Ex2, Type::Bf16) => Error::Relative(2f64.powi(-7)),
        (Operation::Tanh, Type::F32) => Error::Relative(2f64.powf(-10.9)),
        (Operation::Tanh, Type::F16) => Error::Absolute(2f64.powf(-10.5)),
        (Operation::Tanh, Type::Bf16) => Error::Relative(2f64.powi(-7)),
        _ => return None,
    })
}

/// The value of an instruction that [`super::evaluate`] leaves open; `None` where nothing is known.
#[inline(never)]
pub fn value(arithmetic: &Arithmetic, sources: &[u64]) -> Option<u64> {
    let ty = arithmetic.ty;
    if let Some((lane, width)) = packed(ty) {
        let scalar = Arithmetic { ty: lane, from: lane, ..*arithmetic };
        let mut high = [0; 3];
        let high = high.get_mut(..sources.len())?;
        for (high, &source) in high.iter_mut().zip(sources) {
            *high = source >> width;
        }
        return Some(
            unsigned(value(&scalar, sources)?, width) | unsigned(value(&scalar, high)?, width) << width,
        );
    }
    if ty.is_float() {
        return floating(arithmetic, sources);
    }
    match (arithmetic.operation, sources) {
        // Division by zero gives all ones, as quotient and as remainder.
        (Operation::Div | Operation::Rem, &[_, b]) if unsigned(b, ty.bits()) == 0 => {
            Some(extend(u64::MAX, ty))
        }
        (Operation::Fns, &[..]) => Some(u64::from(u32::MAX)),
        _ => None,
    }
}

/// An approximate function of floating-point numbers.
fn floating(arithmetic: &Arithmetic, sources: &[u64]) -> Option<u64> {
    let format = Format::of(arithmetic.ty)?;
    let flush = arithmetic.flags.has(ArithmeticFlags::FLUSH);
    let read = |bits: u64| {
        let bits = unsigned(bits, format.width);
        if flush { format.flush(bits) } else { bits }
    };
    let bits = match *sources {
        [a] => function(arithmetic, format, read(a))?,
        [a, b] if arithmetic.operation == Operation::Div && format == Format::F32 => {
            divide(arithmetic, read(a), read(b))
        }
        _ => return None,
    };
    let result = if flush { format.flush(bits) } else { bits };
    Some(float::limit(format, arithmetic.flags, result))
}

/// A function of one number. The flags are applied by the caller.
fn function(arithmetic: &Arithmetic, format: Format, a: u64) -> Option<u64> {
    // These forms of double precision see and give the upper half only.
    let halved = format == Format::F64 && arithmetic.flags.has(ArithmeticFlags::FLUSH);
    let a = if halved { a >> 32 << 32 } else { a };
    if format.is_nan(a) {
        return Some(if halved { 0x7fff_ffff << 32 } else { float::nan_of(format, &[a]) });
    }
    let x = to_double(format, a);
    let exact = match arithmetic.operation {
        Operation::Rcp => 1.0 / x,
        Operation::Sqrt => x.sqrt(),
        Operation::Rsqrt => 1.0 / x.sqrt(),
        Operation::Sin => libm::sin(turn(x)),
        Operation::Cos => libm::cos(turn(x)),
        Operation::Lg2 => libm::log2(x),
        Operation::Ex2 => libm::exp2(x),
        Operation::Tanh => libm::tanh(x),
        _ => return None,
    };
    if halved {
        return Some(if exact.is_nan() { 0x7fff_ffff << 32 } else { exact.to_bits() >> 32 << 32 });
    }
    Some(from_double(format, exact))
}

/// The card first takes an angle as a fraction of a turn, in single precision.
fn turn(x: f64) -> f64 {
    let per_turn = f64::from(0.159_154_94_f32);
    // The product of two single-precision numbers is exact here.
    let product = x * per_turn;
    let fraction = softfloat::unpack(Format::F64, product.to_bits())
        .map(|number| softfloat::pack(Format::F32, number, Rounding::Zero))
        .map_or(f64::NAN, |bits| to_double(Format::F32, Format::F32.flush(bits)));
    let whole = fraction.round();
    (fraction - whole) * std::f64::consts::TAU
}

/// `div.approx` multiplies by the reciprocal, which is zero for numbers above 2¹²⁶; `div.full` scales its
/// operands first.
fn divide(arithmetic: &Arithmetic, a: u64, b: u64) -> u64 {
    let (a, b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
    let reciprocal = 1.0 / b;
    let quotient = if reciprocal.is_subnormal() && !arithmetic.flags.has(ArithmeticFlags::FULL) {
        f64::from(a * 0.0f32.copysign(reciprocal))
    } else {
        f64::from(a) / f64::from(b)
    };
    from_double(Format::F32, quotient)
}

/// A number of at most 64 bits as a double, exactly.
fn to_double(format: Format, bits: u64) -> f64 {
    if format == Format::F32 {
        return f32::from_bits(bits as u32).into();
    }
    match softfloat::unpack(format, bits) {
        Some(number) => f64::from_bits(softfloat::pack(Format::F64, number, Rounding::Nearest)),
        None => f64::NAN,
    }
}

fn from_double(format: Format, value: f64) -> u64 {
    if format == Format::F32 && !value.is_nan() {
        return (value as f32).to_bits().into();
    }
    match softfloat::unpack(Format::F64, value.to_bits()) {
        Some(Number::Zero { negative }) => {
            softfloat::pack(format, Number::Zero { negative }, Rounding::Nearest)
        }
        Some(number) => softfloat::pack(format, number, Rounding::Nearest),
        None => float::canonical_nan(format),
    }
}
