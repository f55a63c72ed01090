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
use super::sum::{Factor, Factors, sum};
use super::{Fragment, LANES, MatrixMultiply, MatrixOperation};
use crate::Type;
use crate::evaluate::float::nan_of;
use crate::evaluate::softfloat::{Format, Rounding, add};

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
    let short = |ty: Type| ty.bits() <= if ty == Type::Tf32 { 32 } else { 16 };
    if form.d != Type::F64 && !(short(form.a) && short(form.b) && form.c.bits() <= 32) {
        return None;
    }
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
            let (a, b) = (Factors::new(form.a, a, matrices.k)?, Factors::new(form.b, b, matrices.k)?);
            let (accumulator, format) = (Format::of(form.c)?, Format::of(form.d)?);
            let steps = match ty {
                Type::E4m3 | Type::E5m2 => Steps::Halves,
                Type::Tf32 if form.wmma => Steps::Fours,
                _ => Steps::One,
            };
            let mut d = Vec::with_capacity(matrices.c.len());
            for (row, accumulators) in a.rows().zip(matrices.c.chunks(matrices.n.max(1))) {
                for (column, &c) in b.rows().zip(accumulators) {
                    let places = a.places + b.places;
                    let sum = |(row, column): (&[Factor], &[Factor]), accumulator, c| {
                        sum(row, column, places, accumulator, c, format)
                    };
                    d.push(match steps {
                        Steps::One => sum((row, column), accumulator, c),
                        Steps::Fours => row
                            .chunks(4)
                            .zip(column.chunks(4))
                            .fold(c, |sum_so_far, part| sum(part, accumulator, sum_so_far)),
                        Steps::Halves => {
                            let (low, high) =
                                (row.split_at(row.len() / 2), column.split_at(column.len() / 2));
                            let both = sum((low.1, high.1), format, sum((low.0, high.0), format, 0));
                            add(format, both, c, Rounding::Nearest).unwrap_or(format.sign_bit() - 1)
                        }
                    });
                }
            }
            Some(d)
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
