//! Floating-point arithmetic (PTX ISA, «Floating-Point Instructions», «Half Precision Floating-Point
//! Instructions»). Everything here is exact to the bit except for NaNs; see [`super`].

use super::softfloat::{self, Format, Rounding};
use super::unsigned;
use crate::{Arithmetic, ArithmeticFlags, Operation, Type};

/// The rounding that an instruction names.
pub(super) fn rounding(flags: ArithmeticFlags) -> Option<Rounding> {
    let named = [
        (ArithmeticFlags::NEAREST, Rounding::Nearest),
        (ArithmeticFlags::TOWARD_ZERO, Rounding::Zero),
        (ArithmeticFlags::DOWN, Rounding::Down),
        (ArithmeticFlags::UP, Rounding::Up),
    ];
    named.into_iter().find(|&(flag, _)| flags.has(flag)).map(|(_, rounding)| rounding)
}

/// The NaN that an operation makes from operands that are none.
pub(super) fn canonical_nan(format: Format) -> u64 {
    match format {
        Format::F64 => 0xfff8_0000_0000_0000,
        other => other.sign_bit() - 1,
    }
}

/// The NaN that an operation returns for these operands.
pub(crate) fn nan_of(format: Format, operands: &[u64]) -> u64 {
    let quiet = 1 << (format.precision - 2);
    // The second operand goes before the third, and the first comes last.
    let (first, rest) = operands.split_at(operands.len().min(1));
    match rest.iter().chain(first).find(|&&operand| format.is_nan(operand)) {
        Some(&operand) if format == Format::F64 => operand | quiet,
        _ => canonical_nan(format),
    }
}

/// The NaN that an operation returns: a division in double precision keeps the dividend's payload first.
fn nan_from(operation: Operation, format: Format, operands: &[u64]) -> u64 {
    match (operation, operands) {
        (Operation::Div, &[a, b]) => nan_of(format, &[b, a]),
        _ => nan_of(format, operands),
    }
}

/// Arithmetic on a floating-point type; sources as they come.
pub(super) fn arithmetic(arithmetic: &Arithmetic, sources: &[u64]) -> Option<u64> {
    let format = Format::of(arithmetic.ty)?;
    let flags = arithmetic.flags;
    if flags.has(ArithmeticFlags::APPROXIMATE | ArithmeticFlags::FULL) {
        return None;
    }
    let flush = flags.has(ArithmeticFlags::FLUSH) && format != Format::F64;
    let widened: [u64; 3];
    let sources = match (arithmetic.from, arithmetic.ty, sources) {
        // Mixed precision: all but the last source are narrower.
        (Type::F16 | Type::Bf16, Type::F32, &[ref narrow @ .., last]) => {
            let narrower = Format::of(arithmetic.from)?;
            let wide = |&bits: &u64| match softfloat::unpack(narrower, unsigned(bits, narrower.width)) {
                Some(number) => softfloat::pack(format, number, Rounding::Nearest),
                None => canonical_nan(format),
            };
            widened = match *narrow {
                [ref a] => [wide(a), last, 0],
                [ref a, ref b] => [wide(a), wide(b), last],
                _ => return None,
            };
            widened.get(..sources.len())?
        }
        _ => sources,
    };
    let mut values = [0u64; 3];
    let values = values.get_mut(..sources.len())?;
    for (value, &source) in values.iter_mut().zip(sources) {
        let bits = unsigned(source, format.width);
        *value = if flush { format.flush(bits) } else { bits };
    }
    let result = match (arithmetic.operation, &*values) {
        (Operation::Neg | Operation::Abs, &[a]) if format.is_nan(a) => return Some(nan_of(format, &[a])),
        (Operation::Neg, &[a]) => return Some(a ^ format.sign_bit()),
        (Operation::Abs, &[a]) => return Some(format.magnitude(a)),
        (Operation::Copysign, &[a, b]) => return Some((a & format.sign_bit()) | format.magnitude(b)),
        (Operation::Min | Operation::Max, _) => {
            let minimum = arithmetic.operation == Operation::Min;
            let propagates = flags.has(ArithmeticFlags::NAN);
            let by_magnitude = flags.has(ArithmeticFlags::XORSIGN);
            let sign = values.iter().fold(0, |sign, &value| sign ^ value) & format.sign_bit();
            let mut rest =
                values.iter().map(|&value| if by_magnitude { format.magnitude(value) } else { value });
            let first = rest.next()?;
            let value = rest.fold(first, |a, b| extreme(format, minimum, propagates, a, b));
            if by_magnitude && !format.is_nan(value) { value ^ sign } else { value }
        }
        _ => round(arithmetic, format, values)?,
    };
    let result = if flush { format.flush(result) } else { result };
    Some(limit(format, flags, result))
}

/// Applies `.sat` and `.relu`.
pub(super) fn limit(format: Format, flags: ArithmeticFlags, value: u64) -> u64 {
    if flags.has(ArithmeticFlags::SATURATE) {
        return if format.is_nan(value) || format.is_negative(value) { 0 } else { value.min(format.one()) };
    }
    if flags.has(ArithmeticFlags::RELU) {
        if format.is_nan(value) {
            return canonical_nan(format);
        }
        return if format.is_negative(value) { 0 } else { value };
    }
    value
}

/// The smaller or greater of two; -0 is below +0, and a NaN gives way unless it is to be kept.
fn extreme(format: Format, minimum: bool, propagates: bool, a: u64, b: u64) -> u64 {
    match (format.is_nan(a), format.is_nan(b)) {
        (false, false) => {}
        (true, false) if !propagates => return b,
        (false, true) if !propagates => return a,
        _ => return nan_of(format, &[a, b]),
    }
    let key = |bits: u64| {
        let magnitude = format.magnitude(bits) as i64;
        if format.is_negative(bits) { -1 - magnitude } else { magnitude }
    };
    if (key(a) <= key(b)) == minimum { a } else { b }
}

/// The operations that round.
fn round(arithmetic: &Arithmetic, format: Format, values: &[u64]) -> Option<u64> {
    let named = rounding(arithmetic.flags);
    // Without a rounding modifier these are correctly rounded only in double precision; single
    // precision then has the approximate forms of old targets.
    let must_name =
        matches!(arithmetic.operation, Operation::Div | Operation::Rcp | Operation::Sqrt | Operation::Mad)
            && format != Format::F64;
    if must_name && named.is_none() {
        return None;
    }
    let mode = named.unwrap_or(Rounding::Nearest);
    if mode == Rounding::Nearest {
        match format {
            Format::F32 => return native_f32(arithmetic.operation, values),
            Format::F64 => return native_f64(arithmetic.operation, values),
            _ => {}
        }
    }
    let result = match (arithmetic.operation, values) {
        (Operation::Add, &[a, b]) => softfloat::add(format, a, b, mode),
        (Operation::Sub, &[a, b]) => softfloat::add(format, a, b ^ format.sign_bit(), mode),
        (Operation::Mul, &[a, b]) => softfloat::multiply(format, a, b, mode),
        (Operation::Fma | Operation::Mad, &[a, b, c]) => softfloat::fused(format, a, b, c, mode),
        (Operation::Div, &[a, b]) => softfloat::divide(format, a, b, mode),
        (Operation::Rcp, &[a]) => softfloat::divide(format, format.one(), a, mode),
        (Operation::Sqrt, &[a]) => softfloat::square_root(format, a, mode),
        _ => return None,
    };
    Some(result.unwrap_or_else(|| nan_from(arithmetic.operation, format, values)))
}

fn native_f32(operation: Operation, values: &[u64]) -> Option<u64> {
    let read = |bits: u64| f32::from_bits(bits as u32);
    let result = match (operation, values) {
        (Operation::Add, &[a, b]) => read(a) + read(b),
        (Operation::Sub, &[a, b]) => read(a) - read(b),
        (Operation::Mul, &[a, b]) => read(a) * read(b),
        (Operation::Fma | Operation::Mad, &[a, b, c]) => read(a).mul_add(read(b), read(c)),
        (Operation::Div, &[a, b]) => read(a) / read(b),
        (Operation::Rcp, &[a]) => 1.0 / read(a),
        (Operation::Sqrt, &[a]) => read(a).sqrt(),
        _ => return None,
    };
    Some(if result.is_nan() { canonical_nan(Format::F32) } else { result.to_bits().into() })
}

fn native_f64(operation: Operation, values: &[u64]) -> Option<u64> {
    let read = f64::from_bits;
    let result = match (operation, values) {
        (Operation::Add, &[a, b]) => read(a) + read(b),
        (Operation::Sub, &[a, b]) => read(a) - read(b),
        (Operation::Mul, &[a, b]) => read(a) * read(b),
        (Operation::Fma | Operation::Mad, &[a, b, c]) => read(a).mul_add(read(b), read(c)),
        (Operation::Div, &[a, b]) => read(a) / read(b),
        (Operation::Rcp, &[a]) => 1.0 / read(a),
        (Operation::Sqrt, &[a]) => read(a).sqrt(),
        _ => return None,
    };
    Some(if result.is_nan() { nan_from(operation, Format::F64, values) } else { result.to_bits() })
}
