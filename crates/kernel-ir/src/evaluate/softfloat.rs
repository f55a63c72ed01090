//! Binary floating-point arithmetic in integers: any format up to 64 bits, any rounding.
//!
//! Results are correctly rounded (IEEE 754). NaNs are left to the caller.

use crate::Type;

/// A binary interchange format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bits of the whole number.
    pub(crate) width: u32,
    /// Bits of the significand, the hidden one included.
    pub(crate) precision: u32,
}

impl Format {
    pub(crate) const F16: Format = Format { width: 16, precision: 11 };
    pub(crate) const BF16: Format = Format { width: 16, precision: 8 };
    /// The upper 19 bits of single precision.
    pub(crate) const TF32: Format = Format { width: 19, precision: 11 };
    pub(crate) const F32: Format = Format { width: 32, precision: 24 };
    pub(crate) const F64: Format = Format { width: 64, precision: 53 };

    /// The format of a scalar floating-point type.
    pub(crate) fn of(ty: Type) -> Option<Format> {
        match ty {
            Type::F16 => Some(Format::F16),
            Type::Bf16 => Some(Format::BF16),
            Type::F32 => Some(Format::F32),
            Type::F64 => Some(Format::F64),
            _ => None,
        }
    }

    pub(crate) fn sign_bit(self) -> u64 {
        1 << (self.width - 1)
    }

    /// The bits of positive infinity; NaNs are above it once the sign is taken away.
    pub(crate) fn infinity(self) -> u64 {
        ((1 << (self.width - self.precision)) - 1) << (self.precision - 1)
    }

    pub(crate) fn bias(self) -> i32 {
        (1 << (self.width - self.precision - 1)) - 1
    }

    pub(crate) fn one(self) -> u64 {
        (self.bias() as u64) << (self.precision - 1)
    }

    pub(crate) fn magnitude(self, bits: u64) -> u64 {
        bits & (self.sign_bit() - 1)
    }

    pub(crate) fn is_negative(self, bits: u64) -> bool {
        bits & self.sign_bit() != 0
    }

    pub(crate) fn is_nan(self, bits: u64) -> bool {
        self.magnitude(bits) > self.infinity()
    }

    pub(crate) fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = self.magnitude(bits);
        magnitude != 0 && magnitude < 1 << (self.precision - 1)
    }

    /// Zero with the sign of a number where it is subnormal.
    pub(crate) fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) { bits & self.sign_bit() } else { bits }
    }

    fn signed_zero(self, negative: bool) -> u64 {
        if negative { self.sign_bit() } else { 0 }
    }

    fn signed_infinity(self, negative: bool) -> u64 {
        self.infinity() | self.signed_zero(negative)
    }
}

/// How an inexact result is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// To nearest, ties away from zero.
    NearestAway,
    Zero,
    Down,
    Up,
}

impl Rounding {
    /// Whether the magnitude goes up, where `rest` tells how what is cut off compares to a half.
    fn goes_up(self, negative: bool, odd: bool, exact: bool, rest: std::cmp::Ordering) -> bool {
        match self {
            Rounding::Nearest => rest.is_gt() || (rest.is_eq() && odd),
            Rounding::NearestAway => rest.is_ge(),
            Rounding::Zero => false,
            Rounding::Down => negative && !exact,
            Rounding::Up => !negative && !exact,
        }
    }
}

/// A number that is not NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Zero { negative: bool },
    Infinite { negative: bool },
    Finite(Finite),
}

/// `± significand × 2^exponent`, not zero. The lowest bit of the significand may stand for everything
/// below it when there are many more bits than any format has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finite {
    pub(crate) negative: bool,
    pub(crate) significand: u128,
    pub(crate) exponent: i32,
}

/// The highest bit that significands are moved to, so that a sum has room.
const TOP: u32 = 125;

impl Finite {
    /// The same number with its highest bit at [`TOP`]. Significands here have at most 106 bits.
    fn normalised(self) -> Finite {
        let shift = self.significand.leading_zeros() as i32 - (127 - TOP as i32);
        let significand = if shift >= 0 {
            self.significand << shift
        } else {
            shift_right(self.significand, shift.unsigned_abs())
        };
        Finite { significand, exponent: self.exponent - shift, ..self }
    }
}

/// Shifts right; what is lost is kept as a set lowest bit.
fn shift_right(significand: u128, by: u32) -> u128 {
    if by >= 128 {
        return u128::from(significand != 0);
    }
    let lost = significand & ((1u128 << by) - 1);
    (significand >> by) | u128::from(lost != 0)
}

/// Takes a number apart; `None` for NaN.
pub(crate) fn unpack(format: Format, bits: u64) -> Option<Number> {
    let negative = format.is_negative(bits);
    let magnitude = format.magnitude(bits);
    if magnitude == 0 {
        return Some(Number::Zero { negative });
    }
    if magnitude >= format.infinity() {
        return (magnitude == format.infinity()).then_some(Number::Infinite { negative });
    }
    let fraction_bits = format.precision - 1;
    let fraction = magnitude & ((1 << fraction_bits) - 1);
    let field = (magnitude >> fraction_bits) as i32;
    let hidden = if field == 0 { 0 } else { 1 << fraction_bits };
    let exponent = field.max(1) - format.bias() - fraction_bits as i32;
    Some(Number::Finite(Finite { negative, significand: u128::from(fraction | hidden), exponent }))
}

/// Rounds to a format.
pub(crate) fn pack(format: Format, number: Number, rounding: Rounding) -> u64 {
    let finite = match number {
        Number::Zero { negative } => return format.signed_zero(negative),
        Number::Infinite { negative } => return format.signed_infinity(negative),
        Number::Finite(finite) => finite.normalised(),
    };
    let sign = format.signed_zero(finite.negative);
    let fraction_bits = format.precision - 1;
    let least = 1 - format.bias();
    let exponent = finite.exponent + TOP as i32;
    // The exponent of the result's last place.
    let last = exponent.max(least) - fraction_bits as i32;
    let shift = (last - finite.exponent) as u32;
    let (mut significand, exact, rest) = if shift > TOP + 1 {
        (0, false, std::cmp::Ordering::Less)
    } else {
        let rest = finite.significand & ((1 << shift) - 1);
        ((finite.significand >> shift) as u64, rest == 0, rest.cmp(&(1 << (shift - 1))))
    };
    if rounding.goes_up(finite.negative, significand & 1 == 1, exact, rest) {
        significand += 1;
    }
    if significand < 1 << fraction_bits {
        return sign | significand;
    }
    let field = (last + fraction_bits as i32 + format.bias()) as u64;
    // A significand that was rounded up to the next power of two carries into the exponent.
    let bits = (field << fraction_bits) + (significand - (1 << fraction_bits));
    if bits < format.infinity() {
        return sign | bits;
    }
    let to_infinity = match rounding {
        Rounding::Nearest | Rounding::NearestAway => true,
        Rounding::Zero => false,
        Rounding::Down => finite.negative,
        Rounding::Up => !finite.negative,
    };
    sign | (format.infinity() - u64::from(!to_infinity))
}

/// The exact product; `None` for zero times infinity.
fn product(left: Number, right: Number) -> Option<Number> {
    let negative = is_negative(left) != is_negative(right);
    Some(match (left, right) {
        (Number::Zero { .. }, Number::Infinite { .. }) | (Number::Infinite { .. }, Number::Zero { .. }) => {
            return None;
        }
        (Number::Infinite { .. }, _) | (_, Number::Infinite { .. }) => Number::Infinite { negative },
        (Number::Zero { .. }, _) | (_, Number::Zero { .. }) => Number::Zero { negative },
        (Number::Finite(left), Number::Finite(right)) => Number::Finite(Finite {
            negative,
            significand: left.significand * right.significand,
            exponent: left.exponent + right.exponent,
        }),
    })
}

fn is_negative(number: Number) -> bool {
    match number {
        Number::Zero { negative } | Number::Infinite { negative } => negative,
        Number::Finite(finite) => finite.negative,
    }
}

/// The sum; `None` for infinities of opposite signs.
fn sum(left: Number, right: Number, rounding: Rounding) -> Option<Number> {
    let (left, right) = match (left, right) {
        (Number::Infinite { negative }, Number::Infinite { negative: other }) if negative != other => {
            return None;
        }
        (Number::Infinite { .. }, _) => return Some(left),
        (_, Number::Infinite { .. }) => return Some(right),
        (Number::Zero { negative }, Number::Zero { negative: other }) => {
            let both = negative && other;
            let either = negative || other;
            return Some(Number::Zero { negative: if rounding == Rounding::Down { either } else { both } });
        }
        (Number::Zero { .. }, _) => return Some(right),
        (_, Number::Zero { .. }) => return Some(left),
        (Number::Finite(left), Number::Finite(right)) => (left.normalised(), right.normalised()),
    };
    let (large, small) = if left.exponent >= right.exponent { (left, right) } else { (right, left) };
    // With at most 106 bits each, nothing is lost where leading digits can cancel.
    let moved = shift_right(small.significand, large.exponent.abs_diff(small.exponent));
    let exponent = large.exponent;
    if large.negative == small.negative {
        let significand = large.significand + moved;
        return Some(Number::Finite(Finite { negative: large.negative, significand, exponent }));
    }
    let significand = large.significand.abs_diff(moved);
    if significand == 0 {
        return Some(Number::Zero { negative: rounding == Rounding::Down });
    }
    let negative = if large.significand > moved { large.negative } else { small.negative };
    Some(Number::Finite(Finite { negative, significand, exponent }))
}

/// `a + b`; `None` where the result is NaN.
pub(crate) fn add(format: Format, a: u64, b: u64, rounding: Rounding) -> Option<u64> {
    Some(pack(format, sum(unpack(format, a)?, unpack(format, b)?, rounding)?, rounding))
}

/// `a × b`; `None` where the result is NaN.
pub(crate) fn multiply(format: Format, a: u64, b: u64, rounding: Rounding) -> Option<u64> {
    Some(pack(format, product(unpack(format, a)?, unpack(format, b)?)?, rounding))
}

/// `a × b + c`, rounded once; `None` where the result is NaN.
pub(crate) fn fused(format: Format, a: u64, b: u64, c: u64, rounding: Rounding) -> Option<u64> {
    let product = product(unpack(format, a)?, unpack(format, b)?)?;
    Some(pack(format, sum(product, unpack(format, c)?, rounding)?, rounding))
}

/// `a ÷ b`; `None` where the result is NaN.
pub(crate) fn divide(format: Format, a: u64, b: u64, rounding: Rounding) -> Option<u64> {
    let (left, right) = (unpack(format, a)?, unpack(format, b)?);
    let negative = is_negative(left) != is_negative(right);
    let quotient = match (left, right) {
        (Number::Zero { .. }, Number::Zero { .. }) | (Number::Infinite { .. }, Number::Infinite { .. }) => {
            return None;
        }
        (Number::Zero { .. }, _) | (_, Number::Infinite { .. }) => Number::Zero { negative },
        (_, Number::Zero { .. }) | (Number::Infinite { .. }, _) => Number::Infinite { negative },
        (Number::Finite(left), Number::Finite(right)) => {
            let left = left.normalised();
            let significand = left.significand / right.significand;
            let exact = left.significand % right.significand == 0;
            let significand = significand | u128::from(!exact);
            Number::Finite(Finite { negative, significand, exponent: left.exponent - right.exponent })
        }
    };
    Some(pack(format, quotient, rounding))
}

/// The square root; `None` where the result is NaN.
pub(crate) fn square_root(format: Format, a: u64, rounding: Rounding) -> Option<u64> {
    let root = match unpack(format, a)? {
        Number::Finite(finite) if !finite.negative => {
            let mut finite = finite.normalised();
            if finite.exponent % 2 != 0 {
                finite.significand <<= 1;
                finite.exponent -= 1;
            }
            let root = finite.significand.isqrt();
            let exact = root * root == finite.significand;
            // One more bit below the root keeps what is cut off apart from a half.
            let significand = root << 1 | u128::from(!exact);
            Number::Finite(Finite { negative: false, significand, exponent: finite.exponent / 2 - 1 })
        }
        Number::Finite(_) | Number::Infinite { negative: true } => return None,
        other => other,
    };
    Some(pack(format, root, rounding))
}

/// Rounds to an integer, saturated to what 128 bits hold; infinities saturate too.
pub(crate) fn to_integer(number: Number, rounding: Rounding) -> i128 {
    let finite = match number {
        Number::Zero { .. } => return 0,
        Number::Infinite { negative: true } => return i128::MIN,
        Number::Infinite { negative: false } => return i128::MAX,
        Number::Finite(finite) => finite,
    };
    let magnitude = if finite.exponent >= 0 {
        // A significand of at most 53 bits.
        if finite.exponent > 70 { i128::MAX } else { (finite.significand << finite.exponent) as i128 }
    } else {
        let shift = finite.exponent.unsigned_abs();
        let (whole, exact, rest) = if shift > 120 {
            (0, false, std::cmp::Ordering::Less)
        } else {
            let rest = finite.significand & ((1 << shift) - 1);
            (finite.significand >> shift, rest == 0, rest.cmp(&(1 << (shift - 1))))
        };
        whole as i128 + i128::from(rounding.goes_up(finite.negative, whole & 1 == 1, exact, rest))
    };
    if finite.negative { -magnitude } else { magnitude }
}

/// An integer as a number.
pub(crate) fn from_integer(value: i128) -> Number {
    if value == 0 {
        return Number::Zero { negative: false };
    }
    Number::Finite(Finite { negative: value < 0, significand: value.unsigned_abs(), exponent: 0 })
}
