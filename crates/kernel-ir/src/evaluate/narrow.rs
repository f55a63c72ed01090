//! Eight-bit floating point (PTX ISA, «Alternate Floating-Point Data Formats»).

use super::float::rounding;
use super::softfloat::{self, Format, Number, Rounding};
use crate::{ArithmeticFlags, Type};

/// E4M3 has no infinities: its greatest exponent is that of ordinary numbers. Scaled by 2⁻⁸ its numbers
/// have the same bits in this wider format.
const WIDER: Format = Format { width: 9, precision: 4 };
const SCALE: i32 = 8;
const E5M2: Format = Format { width: 8, precision: 3 };

/// Takes a number apart; `None` for NaN.
pub(crate) fn unpack(ty: Type, bits: u64) -> Option<Number> {
    let bits = bits & 0xff;
    if ty == Type::E5m2 {
        return softfloat::unpack(E5M2, bits);
    }
    if bits & 0x7f == 0x7f {
        return None;
    }
    let wider = (bits & 0x80) << 1 | bits & 0x7f;
    match softfloat::unpack(WIDER, wider) {
        Some(Number::Finite(finite)) => {
            Some(Number::Finite(softfloat::Finite { exponent: finite.exponent + SCALE, ..finite }))
        }
        other => other,
    }
}

/// Rounds a number of another format and saturates it to finite values.
pub(super) fn pack(ty: Type, from: Format, flags: ArithmeticFlags, bits: u64) -> Option<u64> {
    let rounding = rounding(flags).unwrap_or(Rounding::Nearest);
    let relu = flags.has(ArithmeticFlags::RELU);
    let Some(number) = softfloat::unpack(from, bits) else { return Some(0x7f) };
    if relu && from.is_negative(bits) {
        return Some(0);
    }
    let (format, number, greatest) = match (ty, number) {
        (Type::E4m3, Number::Finite(finite)) => {
            let scaled = softfloat::Finite { exponent: finite.exponent - SCALE, ..finite };
            (WIDER, Number::Finite(scaled), 0x7e)
        }
        (Type::E4m3, other) => (WIDER, other, 0x7e),
        (Type::E5m2, other) => (E5M2, other, 0x7b),
        _ => return None,
    };
    let packed = softfloat::pack(format, number, rounding);
    let magnitude = format.magnitude(packed).min(greatest);
    Some(if format.is_negative(packed) { magnitude | 0x80 } else { magnitude })
}
