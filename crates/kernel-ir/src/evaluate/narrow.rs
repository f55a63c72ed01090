//! Floating point of eight bits and less (PTX ISA, «Alternate Floating-Point Data Formats»).

use super::float::rounding;
use super::softfloat::{self, Finite, Format, Number, Rounding};
use crate::{ArithmeticFlags, Type};

/// A narrow format. All but E5M2 have no infinities: their greatest exponent is that of ordinary numbers.
/// Scaled down, their numbers have the same bits in a format whose exponent is one bit longer.
struct Narrow {
    format: Format,
    /// The power of two by which numbers are scaled down.
    scale: i32,
    /// Bits of a number, sign included.
    bits: u32,
    greatest: u64,
    /// What a NaN becomes.
    nan: u64,
}

fn narrow(ty: Type) -> Option<Narrow> {
    let wider = |exponent: u32, precision: u32| Format { width: exponent + precision + 1, precision };
    Some(match ty {
        Type::E4m3 => Narrow { format: wider(4, 4), scale: 8, bits: 8, greatest: 0x7e, nan: 0x7f },
        Type::E5m2 => {
            Narrow { format: Format { width: 8, precision: 3 }, scale: 0, bits: 8, greatest: 0x7b, nan: 0x7f }
        }
        Type::E2m3 => Narrow { format: wider(2, 4), scale: 2, bits: 6, greatest: 0x1f, nan: 0x1f },
        Type::E3m2 => Narrow { format: wider(3, 3), scale: 4, bits: 6, greatest: 0x1f, nan: 0x1f },
        Type::E2m1 => Narrow { format: wider(2, 2), scale: 2, bits: 4, greatest: 0x7, nan: 0x7 },
        _ => return None,
    })
}

/// Whether a type is one number of these formats.
pub(super) fn is_narrow(ty: Type) -> bool {
    narrow(ty).is_some()
}

/// Takes a number apart; `None` for NaN and for other types.
pub(crate) fn unpack(ty: Type, bits: u64) -> Option<Number> {
    let narrow = narrow(ty)?;
    let sign = bits >> (narrow.bits - 1) & 1;
    let magnitude = bits & ((1 << (narrow.bits - 1)) - 1);
    if ty == Type::E4m3 && magnitude == narrow.nan {
        return None;
    }
    match softfloat::unpack(narrow.format, sign << (narrow.format.width - 1) | magnitude) {
        Some(Number::Finite(finite)) => {
            Some(Number::Finite(Finite { exponent: finite.exponent + narrow.scale, ..finite }))
        }
        other => other,
    }
}

/// Rounds a number of another format and saturates it to finite values.
pub(super) fn pack(ty: Type, from: Format, flags: ArithmeticFlags, bits: u64) -> Option<u64> {
    let narrow = narrow(ty)?;
    let rounding = rounding(flags).unwrap_or(Rounding::Nearest);
    let Some(number) = softfloat::unpack(from, bits) else { return Some(narrow.nan) };
    if flags.has(ArithmeticFlags::RELU) && from.is_negative(bits) {
        return Some(0);
    }
    let number = match number {
        Number::Finite(finite) => {
            Number::Finite(Finite { exponent: finite.exponent - narrow.scale, ..finite })
        }
        other => other,
    };
    let packed = softfloat::pack(narrow.format, number, rounding);
    let magnitude = narrow.format.magnitude(packed).min(narrow.greatest);
    let sign = u64::from(narrow.format.is_negative(packed)) << (narrow.bits - 1);
    Some(sign | magnitude)
}
