//! Products of matrices, with the rounding of the card's matrix units.
//!
//! Integer and bit products are exact modulo 2³², or saturate. Double precision is a chain of fused
//! multiply-adds in the order of k. The PTX ISA leaves the order and rounding of the other forms open. What the
//! H200 (sm_90) does, found by comparing recorded results with models, and followed here to the bit:
//! each product is exact; products and c are aligned to the greatest exponent among them, where a
//! product's exponent is the sum of its factors' and everything more than 25 places below is cut off
//! (towards zero) in each term; the sum of the aligned terms is exact and cut off to single
//! precision. All k of an `mma` go into one such sum; `wmma` in tf32 takes four at a time. Results in half
//! precision are the same sum rounded to nearest. Subnormal numbers count in full. Any NaN is `0x7fffffff`
//! (or `0x7fff`). Eight-bit factors become half precision and take two sums that start from zero, of
//! the lower and of the upper half of every four consecutive k; c is then added with rounding to nearest.
//! Other generations keep fewer places (Volta 23, Ampere 24) and split k.

use super::layout::Tile;
use super::{Fragment, LANES, MatrixMultiply, MatrixOperation};
use crate::Type;
use crate::evaluate::float::nan_of;
use crate::evaluate::narrow;
use crate::evaluate::softfloat::{Finite, Format, Number, Rounding, add, pack, unpack};

/// Places kept below the greatest exponent.
const PLACES: i32 = 25;

/// Computes d from the registers of a, b and c, in the order of the instruction's sources. `None` when
/// the form is not modelled or registers are missing; `results` are then not touched.
pub fn multiply(form: &MatrixMultiply, sources: &[[u64; LANES]], results: &mut [[u64; LANES]]) -> Option<()> {
    let shape = (form.m.into(), form.n.into(), form.k.into());
    let tile = |fragment, ty| Tile::new(fragment, shape, ty, form.wmma);
    let (a, b) = (tile(Fragment::A, form.a)?, tile(Fragment::B, form.b)?);
    let (c, d) = (tile(Fragment::C, form.c)?, tile(Fragment::C, form.d)?);
    let (of_a, rest) = sources.split_at_checked(a.registers as usize)?;
    let (of_b, of_c) = rest.split_at_checked(b.registers as usize)?;
    if of_c.len() < c.registers as usize || results.len() < d.registers as usize {
        return None;
    }
    let matrices = Matrices {
        n: form.n.into(),
        k: form.k.into(),
        a: a.gather(of_a),
        b: transposed(&b.gather(of_b), form.n.into()),
        c: c.gather(of_c),
    };
    d.scatter(&elements(form, &matrices)?, results);
    Some(())
}

/// The elements of the factors and of the accumulator; b by columns.
struct Matrices {
    n: usize,
    k: usize,
    a: Vec<u64>,
    b: Vec<u64>,
    c: Vec<u64>,
}

impl Matrices {
    /// Every element of d from a row of a, a column of b and an element of c.
    fn each<A, B>(&self, a: &[A], b: &[B], element: impl Fn(&[A], &[B], u64) -> u64) -> Vec<u64> {
        let mut d = Vec::with_capacity(self.c.len());
        for (row, accumulators) in a.chunks(self.k.max(1)).zip(self.c.chunks(self.n.max(1))) {
            for (column, &c) in b.chunks(self.k.max(1)).zip(accumulators) {
                d.push(element(row, column, c));
            }
        }
        d
    }
}

fn transposed(elements: &[u64], columns: usize) -> Vec<u64> {
    (0..columns).flat_map(|column| elements.iter().copied().skip(column).step_by(columns.max(1))).collect()
}

fn elements(form: &MatrixMultiply, matrices: &Matrices) -> Option<Vec<u64>> {
    let Matrices { a, b, .. } = matrices;
    match (form.operation, form.a, form.d) {
        (MatrixOperation::Unknown, ..) => None,
        (MatrixOperation::MultiplyAdd, Type::F64, Type::F64) => {
            Some(matrices.each(a, b, |row, column, c| {
                row.iter().zip(column).fold(c, |sum, (&a, &b)| {
                    let next = f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(sum));
                    if next.is_nan() { nan_of(Format::F64, &[a, b, sum]) } else { next.to_bits() }
                })
            }))
        }
        (MatrixOperation::MultiplyAdd, ty, Type::F32 | Type::F16) if ty.is_float() => {
            let factors = |elements: &[u64], ty| -> Option<Vec<Factor>> {
                elements.iter().map(|&bits| Factor::of(ty, bits)).collect()
            };
            let (a, b) = (factors(a, form.a)?, factors(b, form.b)?);
            let accumulator = Format::of(form.c)?;
            let format = Format::of(form.d)?;
            let steps = match ty {
                Type::E4m3 | Type::E5m2 => Steps::Halves,
                Type::Tf32 if form.wmma => Steps::Fours,
                _ => Steps::One,
            };
            let single = Format::F32;
            Some(matrices.each(&a, &b, |row, column, c| match steps {
                Steps::One => sum(row, column, Factor::new(accumulator, c), format),
                Steps::Fours => row.chunks(4).zip(column.chunks(4)).fold(c, |sum_so_far, (row, column)| {
                    sum(row, column, Factor::new(accumulator, sum_so_far), format)
                }),
                Steps::Halves => {
                    let half = |factors: &[Factor], upper: bool| -> Vec<Factor> {
                        let chosen = |at: usize| (at / 2 % 2 == 1) == upper;
                        factors.iter().enumerate().filter(|&(at, _)| chosen(at)).map(|(_, &f)| f).collect()
                    };
                    let zero = Factor::new(single, 0);
                    let lower = sum(&half(row, false), &half(column, false), zero, format);
                    let lower = Factor::new(format, lower);
                    let both = sum(&half(row, true), &half(column, true), lower, format);
                    add(format, both, c, Rounding::Nearest).unwrap_or(format.sign_bit() - 1)
                }
            }))
        }
        (operation, ..) if !form.a.is_float() && form.d == Type::S32 => {
            let integers = |elements: &[u64], ty: Type| -> Vec<i64> {
                let unused = 64 - ty.bits().clamp(1, 64);
                let signed = ty.is_signed();
                elements
                    .iter()
                    .map(|&bits| if signed { ((bits << unused) as i64) >> unused } else { bits as i64 })
                    .collect()
            };
            let (a, b) = (integers(a, form.a), integers(b, form.b));
            Some(matrices.each(&a, &b, |row, column, c| {
                let products = row.iter().zip(column).map(|(&a, &b)| match operation {
                    MatrixOperation::XorPopulationCount => a ^ b,
                    _ => a * b,
                });
                let sum = i64::from(c as u32 as i32) + products.sum::<i64>();
                let sum = if form.saturates { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
                u64::from(sum as u32)
            }))
        }
        _ => None,
    }
}

/// Which elements go into one sum.
#[derive(Debug, Clone, Copy)]
enum Steps {
    One,
    Fours,
    Halves,
}

/// A factor taken apart: `significand × 2^(exponent - places)`.
#[derive(Debug, Clone, Copy)]
struct Factor {
    significand: i64,
    exponent: i32,
    places: i32,
    class: Class,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Finite,
    Infinite,
    Nan,
}

impl Factor {
    fn of(ty: Type, bits: u64) -> Option<Factor> {
        let (format, bits) = match ty {
            Type::Tf32 => (Format::TF32, bits >> 13),
            Type::E4m3 | Type::E5m2 => return Some(Factor::from_number(narrow::unpack(ty, bits), ty)),
            _ => (Format::of(ty)?, bits),
        };
        Some(Factor::new(format, bits))
    }

    fn new(format: Format, bits: u64) -> Factor {
        let number = unpack(format, bits);
        let mut factor = Factor::from_number(number, Type::None);
        if let Some(Number::Finite(finite)) = number {
            factor.places = format.precision as i32 - 1;
            factor.exponent = finite.exponent + factor.places;
        }
        factor
    }

    /// With the places of half precision for narrower types, which go through it.
    fn from_number(number: Option<Number>, ty: Type) -> Factor {
        let signed = |negative: bool, value: i64| if negative { -value } else { value };
        let zero = Factor { significand: 0, exponent: 0, places: 0, class: Class::Finite };
        match number {
            None => Factor { class: Class::Nan, ..zero },
            Some(Number::Zero { .. }) => zero,
            Some(Number::Infinite { negative }) => {
                Factor { significand: signed(negative, 1), class: Class::Infinite, ..zero }
            }
            Some(Number::Finite(Finite { negative, significand, exponent })) => {
                let significand = significand as i64;
                let factor = Factor { significand: signed(negative, significand), exponent, ..zero };
                if matches!(ty, Type::E4m3 | Type::E5m2) {
                    // All of these are normal numbers of half precision.
                    let places = 63 - significand.leading_zeros() as i32;
                    return Factor { exponent: exponent + places, places, ..factor };
                }
                factor
            }
        }
    }
}

/// One element of d.
fn sum(row: &[Factor], column: &[Factor], c: Factor, format: Format) -> u64 {
    let nan = format.sign_bit() - 1;
    let mut greatest = if c.significand == 0 { i32::MIN } else { c.exponent };
    let mut infinite = (c.class == Class::Infinite).then_some(c.significand < 0);
    let mut ordinary = c.class == Class::Finite;
    if c.class == Class::Nan {
        return nan;
    }
    for (a, b) in row.iter().zip(column) {
        let sign = a.significand.signum() * b.significand.signum();
        if a.class != Class::Finite || b.class != Class::Finite {
            ordinary = false;
            // NaN, or infinity times zero.
            if a.class == Class::Nan || b.class == Class::Nan || sign == 0 {
                return nan;
            }
            if infinite.is_some_and(|negative| negative != (sign < 0)) {
                return nan;
            }
            infinite = Some(sign < 0);
        } else if sign != 0 {
            greatest = greatest.max(a.exponent + b.exponent);
        }
    }
    if let Some(negative) = infinite {
        return pack(format, Number::Infinite { negative }, Rounding::Zero);
    }
    if !ordinary || greatest == i32::MIN {
        return 0;
    }
    let last = greatest - PLACES;
    let mut total = aligned(c.significand, c.exponent - c.places, last);
    for (a, b) in row.iter().zip(column) {
        let exponent = a.exponent - a.places + b.exponent - b.places;
        total += aligned(a.significand * b.significand, exponent, last);
    }
    if total == 0 {
        return 0;
    }
    let number = Number::Finite(Finite {
        negative: total < 0,
        significand: total.unsigned_abs().into(),
        exponent: last,
    });
    if format == Format::F32 {
        let bits = pack(format, number, Rounding::Zero);
        // What is too great becomes infinite all the same.
        return if format.magnitude(bits) + 1 == format.infinity() && exceeds(total, last) {
            bits + 1
        } else {
            bits
        };
    }
    pack(format, number, Rounding::Nearest)
}

/// Whether `total × 2^last` is 2¹²⁸ or more in size.
fn exceeds(total: i64, last: i32) -> bool {
    last + 64 - total.unsigned_abs().leading_zeros() as i32 > 128
}

/// A number in units of `2^last`, cut off towards zero.
#[inline]
fn aligned(significand: i64, exponent: i32, last: i32) -> i64 {
    let shift = exponent - last;
    if shift >= 0 {
        significand << shift.min(62)
    } else if shift > -63 {
        let magnitude = (significand.unsigned_abs() >> -shift) as i64;
        if significand < 0 { -magnitude } else { magnitude }
    } else {
        0
    }
}
