//! One element of a product in floating point: the sum of exact products and an accumulator as the card's matrix
//! units round it. See [`super::multiply`].

use crate::Type;
use crate::evaluate::narrow;
use crate::evaluate::softfloat::{Finite, Format, Number, Rounding, pack, unpack};

/// Places kept below the greatest exponent.
const PLACES: u32 = 25;

/// Exponents of what is no finite number but zero; sums of two stay apart from those of numbers.
const ZERO: i32 = -(1 << 20);
const INFINITE: i32 = 1 << 20;
const NAN: i32 = 1 << 22;

/// A number taken apart: `significand × 2^(exponent - places)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factor {
    significand: i32,
    exponent: i32,
}

/// Rows of the left factor, or columns of the right one.
pub(super) struct Factors {
    factors: Vec<Factor>,
    length: usize,
    /// Places of a significand below the exponent's.
    pub(super) places: u32,
}

impl Factors {
    /// Takes elements apart. Those of eight bits become half precision, and in every row come first the lower
    /// and then the upper halves of every four.
    pub(super) fn new(ty: Type, elements: &[u64], length: usize) -> Option<Factors> {
        let narrow = matches!(ty, Type::E4m3 | Type::E5m2);
        let format = match ty {
            Type::Tf32 => Format::TF32,
            _ if narrow => Format::F16,
            _ => Format::of(ty)?,
        };
        let take = |&bits: &u64| match ty {
            Type::Tf32 => Factor::new(format, bits >> 13),
            _ if narrow => match narrow::unpack(ty, bits) {
                Some(number) => Factor::new(format, pack(format, number, Rounding::Nearest)),
                None => Factor { significand: 0, exponent: NAN },
            },
            _ => Factor::new(format, bits),
        };
        let factors = match narrow {
            false => elements.iter().map(take).collect(),
            true => elements
                .chunks(length.max(1))
                .flat_map(|row| {
                    let half = |upper: bool| {
                        row.iter().enumerate().filter(move |(at, _)| (at / 2 % 2 == 1) == upper)
                    };
                    half(false).chain(half(true)).map(|(_, bits)| take(bits))
                })
                .collect(),
        };
        Some(Factors { factors, length: length.max(1), places: format.precision - 1 })
    }

    /// Each row.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[Factor]> {
        self.factors.chunks(self.length)
    }
}

impl Factor {
    fn new(format: Format, bits: u64) -> Factor {
        let signed = |negative: bool, value: i32| if negative { -value } else { value };
        match unpack(format, bits) {
            None => Factor { significand: 0, exponent: NAN },
            Some(Number::Zero { .. }) => Factor { significand: 0, exponent: ZERO },
            Some(Number::Infinite { negative }) => {
                Factor { significand: signed(negative, 1), exponent: INFINITE }
            }
            Some(Number::Finite(Finite { negative, significand, exponent })) => Factor {
                significand: signed(negative, significand as i32),
                exponent: exponent + format.precision as i32 - 1,
            },
        }
    }
}

/// One element of d. `places` are those of a product; c has the format `accumulator`, the result `format`.
pub(super) fn sum(
    row: &[Factor],
    column: &[Factor],
    places: u32,
    accumulator: Format,
    c: u64,
    format: Format,
) -> u64 {
    let c = Factor::new(accumulator, c);
    let greatest =
        row.iter().zip(column).fold(c.exponent, |greatest, (a, b)| greatest.max(a.exponent + b.exponent));
    // Zero times infinity adds up to a number's exponent, but then the largest single one tells.
    let largest = row.iter().chain(column).fold(c.exponent, |largest, factor| largest.max(factor.exponent));
    if largest >= INFINITE {
        return special(row, column, c, format);
    }
    if greatest <= ZERO / 2 {
        return 0;
    }
    let mut total = cut(c.significand.into(), PLACES + 1 - accumulator.precision, greatest - c.exponent);
    let scale = PLACES.saturating_sub(places);
    for (a, b) in row.iter().zip(column) {
        let product = i64::from(a.significand) * i64::from(b.significand);
        total += cut(product, scale, greatest - (a.exponent + b.exponent));
    }
    round(total, greatest - PLACES as i32, format)
}

/// A number moved up and then down, cut off towards zero.
#[inline]
fn cut(significand: i64, up: u32, down: i32) -> i64 {
    let sign = significand >> 63;
    let magnitude = (significand.unsigned_abs() << up) >> down.clamp(0, 63);
    (magnitude as i64 ^ sign) - sign
}

/// `total × 2^last` in a format: single precision cuts off, others round to nearest.
fn round(total: i64, last: i32, format: Format) -> u64 {
    if total == 0 {
        return 0;
    }
    let magnitude = total.unsigned_abs();
    if format == Format::F32 {
        let sign = u64::from(total < 0) << 31;
        let top = 63 - magnitude.leading_zeros() as i32;
        let exponent = last + top;
        if exponent > 127 {
            return sign | format.infinity();
        }
        if exponent >= -126 {
            let significand = if top >= 23 { magnitude >> (top - 23) } else { magnitude << (23 - top) };
            return sign | ((exponent + 127) as u64) << 23 | significand & 0x7f_ffff;
        }
    }
    let number =
        Number::Finite(Finite { negative: total < 0, significand: magnitude.into(), exponent: last });
    let rounding = if format == Format::F32 { Rounding::Zero } else { Rounding::Nearest };
    pack(format, number, rounding)
}

/// A sum with infinities or NaNs among its terms.
#[cold]
fn special(row: &[Factor], column: &[Factor], c: Factor, format: Format) -> u64 {
    let nan = format.sign_bit() - 1;
    if c.exponent == NAN {
        return nan;
    }
    let mut infinite = (c.exponent == INFINITE).then_some(c.significand < 0);
    for (a, b) in row.iter().zip(column) {
        if a.exponent < INFINITE && b.exponent < INFINITE {
            continue;
        }
        let negative = (a.significand < 0) != (b.significand < 0);
        // A NaN, infinity times zero, or infinities of both signs.
        if a.exponent == NAN
            || b.exponent == NAN
            || a.significand == 0
            || b.significand == 0
            || infinite.is_some_and(|before| before != negative)
        {
            return nan;
        }
        infinite = Some(negative);
    }
    match infinite {
        Some(negative) => pack(format, Number::Infinite { negative }, Rounding::Zero),
        None => nan,
    }
}
