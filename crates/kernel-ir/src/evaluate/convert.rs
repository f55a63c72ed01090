//! Conversions (PTX ISA, «Data Movement and Conversion Instructions: cvt»).

use super::float::{canonical_nan, limit, rounding};
use super::integer::saturate;
use super::softfloat::{Format, Number, Rounding, from_integer, pack, to_integer, unpack};
use super::{extend, narrow, packed, signed, unsigned};
use crate::{Arithmetic, ArithmeticFlags, Type};

/// `cvt`: from the source type to the type.
pub(super) fn convert(arithmetic: &Arithmetic, sources: &[u64]) -> Option<u64> {
    let (to, from, flags) = (arithmetic.ty, arithmetic.from, arithmetic.flags);
    match (packed(to), packed(from), sources) {
        // Two numbers into one register; the first goes to the upper half.
        (Some((lane, width)), None, &[a, b]) => {
            let high = scalar(lane, from, flags, a)?;
            let low = scalar(lane, from, flags, b)?;
            Some(unsigned(high, width) << width | unsigned(low, width))
        }
        (Some((lane, width)), Some((from, from_width)), &[a]) => {
            let high = scalar(lane, from, flags, a >> from_width)?;
            let low = scalar(lane, from, flags, a)?;
            Some(unsigned(high, width) << width | unsigned(low, width))
        }
        (None, None, &[a]) => scalar(to, from, flags, a),
        // `cvt.pack`: saturated integers side by side, below them what was packed before.
        (None, None, &[a, b, ref rest @ ..]) if to.bits() < 32 && from == Type::S32 => {
            let width = to.bits();
            let narrowed = |value| unsigned(saturate(to, signed(value, 32).into()), width);
            let before = rest.first().map_or(0, |&c| c << (2 * width));
            Some(unsigned(narrowed(a) << width | narrowed(b) | before, 32))
        }
        _ => None,
    }
}

fn scalar(to: Type, from: Type, flags: ArithmeticFlags, value: u64) -> Option<u64> {
    let is_integer = |ty: Type| !ty.is_float() && matches!(ty.bits(), 8..=64);
    if to == Type::Tf32 && from == Type::F32 {
        return to_tf32(flags, value);
    }
    if narrow::is_narrow(to) {
        let from = Format::of(from)?;
        return narrow::pack(to, from, flags, unsigned(value, from.width));
    }
    if narrow::is_narrow(from) {
        let to = Format::of(to)?;
        let result = match narrow::unpack(from, value) {
            Some(number) => pack(to, number, Rounding::Nearest),
            None => canonical_nan(to),
        };
        return Some(limit(to, flags, result));
    }
    match (Format::of(to), Format::of(from)) {
        (None, None) if is_integer(to) && is_integer(from) => Some(between_integers(to, from, flags, value)),
        (Some(to), None) if is_integer(from) => {
            let number = if from.is_signed() {
                from_integer(signed(value, from.bits()).into())
            } else {
                from_integer(unsigned(value, from.bits()).into())
            };
            let result = pack(to, number, rounding(flags).unwrap_or(Rounding::Nearest));
            Some(limit(to, flags, result))
        }
        (None, Some(from)) if is_integer(to) => to_integer_type(to, from, flags, value),
        (Some(to), Some(from)) => between_floats(to, from, flags, value),
        _ => None,
    }
}

/// `cvt.tf32.f32`: the upper 19 bits, rounded.
fn to_tf32(flags: ArithmeticFlags, value: u64) -> Option<u64> {
    let bits = unsigned(value, 32);
    let away = flags.has(ArithmeticFlags::NEAREST_AWAY).then_some(Rounding::NearestAway);
    let rounding = away.or(rounding(flags))?;
    let result = match unpack(Format::F32, bits) {
        Some(number) => pack(Format::TF32, number, rounding) << 13,
        // Rounding to nearest with ties away only takes bits off.
        None if away.is_some() => bits & !0x1fff,
        None => canonical_nan(Format::F32) & !0x1fff,
    };
    // `.satfinite` takes one step off infinities, and off NaNs as well.
    let beyond = Format::F32.magnitude(result) >= Format::F32.infinity();
    let result = if flags.has(ArithmeticFlags::FINITE) && beyond { result - (1 << 13) } else { result };
    Some(if flags.has(ArithmeticFlags::RELU) && Format::F32.is_negative(result) { 0 } else { result })
}

/// `.satfinite`: the greatest finite number instead of infinity.
fn finite(format: Format, bits: u64) -> u64 {
    if format.magnitude(bits) == format.infinity() { bits - 1 } else { bits }
}

fn between_integers(to: Type, from: Type, flags: ArithmeticFlags, value: u64) -> u64 {
    if flags.has(ArithmeticFlags::SATURATE) {
        let value = if from.is_signed() {
            signed(value, from.bits()).into()
        } else {
            i128::from(unsigned(value, from.bits()))
        };
        return saturate(to, value);
    }
    extend(extend(value, from), to)
}

/// The rounding to an integer that an instruction names.
fn integer_rounding(flags: ArithmeticFlags) -> Option<Rounding> {
    let named = [
        (ArithmeticFlags::NEAREST_INTEGER, Rounding::Nearest),
        (ArithmeticFlags::ZERO_INTEGER, Rounding::Zero),
        (ArithmeticFlags::DOWN_INTEGER, Rounding::Down),
        (ArithmeticFlags::UP_INTEGER, Rounding::Up),
    ];
    named.into_iter().find(|&(flag, _)| flags.has(flag)).map(|(_, rounding)| rounding)
}

/// The bits of a source, flushed where the instruction says so; only single precision has subnormal
/// numbers that `cvt.ftz` flushes.
fn read(format: Format, flags: ArithmeticFlags, value: u64) -> u64 {
    let bits = unsigned(value, format.width);
    if flags.has(ArithmeticFlags::FLUSH) && format == Format::F32 { format.flush(bits) } else { bits }
}

/// Saturates always. A NaN becomes 0, or the highest bit alone where the source is double precision or
/// the destination has 64 bits.
fn to_integer_type(to: Type, from: Format, flags: ArithmeticFlags, value: u64) -> Option<u64> {
    let rounding = integer_rounding(flags)?;
    match unpack(from, read(from, flags, value)) {
        Some(number) => Some(saturate(to, to_integer(number, rounding))),
        None if from == Format::F64 || to.bits() == 64 => Some(extend(1 << (to.bits() - 1), to)),
        None => Some(0),
    }
}

fn between_floats(to: Format, from: Format, flags: ArithmeticFlags, value: u64) -> Option<u64> {
    // Half precision keeps what is subnormal in single precision apart from zero.
    let bits = if to == Format::F16 { unsigned(value, from.width) } else { read(from, flags, value) };
    let Some(number) = unpack(from, bits) else {
        return Some(limit(to, flags, converted_nan(to, from, flags, bits)));
    };
    let result = if let Some(rounding) = integer_rounding(flags) {
        let whole = match number {
            // Beyond this every number is whole.
            Number::Finite(finite) if finite.exponent < 0 => from_integer(to_integer(number, rounding)),
            other => other,
        };
        let whole = match whole {
            Number::Zero { .. } => Number::Zero { negative: from.is_negative(bits) },
            other => other,
        };
        pack(to, whole, Rounding::Nearest)
    } else {
        let narrower = to.precision < from.precision || to == Format::F16 && from == Format::BF16;
        let rounding = match rounding(flags) {
            Some(rounding) => rounding,
            None if narrower => return None,
            None => Rounding::Nearest,
        };
        pack(to, number, rounding)
    };
    let result =
        if flags.has(ArithmeticFlags::FLUSH) && to == Format::F32 { to.flush(result) } else { result };
    let result = if flags.has(ArithmeticFlags::FINITE) { finite(to, result) } else { result };
    Some(limit(to, flags, result))
}

/// What a NaN becomes: conversions from and to double precision and those from bfloat16 keep the upper bits of its
/// payload.
fn converted_nan(to: Format, from: Format, flags: ArithmeticFlags, bits: u64) -> u64 {
    if from == to {
        return if to == Format::F64 { bits | 1 << 51 } else { canonical_nan(to) };
    }
    let flushes = flags.has(ArithmeticFlags::FLUSH) && from == Format::F32;
    let bits = if flushes { canonical_nan(from) } else { bits };
    let keeps = from == Format::F64 || to == Format::F64 || (from, to) == (Format::BF16, Format::F32);
    if !keeps {
        return canonical_nan(to);
    }
    let (own, other) = (to.precision - 1, from.precision - 1);
    let payload = bits & ((1 << other) - 1);
    let payload = if own >= other { payload << (own - other) } else { payload >> (other - own) };
    let sign = if from.is_negative(bits) { to.sign_bit() } else { 0 };
    let quiet = if to == Format::F64 || from == Format::F64 { 1 << (own - 1) } else { 0 };
    sign | to.infinity() | payload | quiet
}
