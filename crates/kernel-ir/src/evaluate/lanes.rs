//! The most frequent operations for the 32 lanes of a warp at a time.
//!
//! [`lanes`] chooses a function once, when an instruction is decoded; the function then has no branches on the
//! operation, and loops that a compiler can turn into vector instructions. It gives what [`super::execute`]
//! gives for each lane, which the tests check for every form; [`each`] does any other operation lane by
//! lane.

use super::execute;
use super::float::nan_of;
use super::softfloat::Format;
use crate::{Arithmetic, ArithmeticFlags as Flags, Comparison, Operation, Type};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// The values of a register in the lanes of a warp.
pub type Lanes = [u64; LANES];

/// Computes one destination for all lanes from the sources in order. With fewer sources than the operation has
/// the result is not touched.
pub type LaneFunction = fn(&[&Lanes], &mut Lanes);

/// Any operation, lane by lane, into the first destinations that it has. False when the value is unknown in
/// some lane of `mask`; lanes outside of it are not touched.
pub fn each(arithmetic: &Arithmetic, sources: &[&Lanes], results: &mut [&mut Lanes], mask: u32) -> bool {
    let destinations = results.len();
    let mut known = true;
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
        let mut values = [0u64; 8];
        for (value, source) in values.iter_mut().zip(sources) {
            *value = source.get(lane).copied().unwrap_or(0);
        }
        let Some(values) = values.get(..sources.len()) else { return false };
        match execute(arithmetic, values, destinations) {
            Some(found) => {
                for (result, &value) in results.iter_mut().zip(found.iter()) {
                    if let Some(slot) = result.get_mut(lane) {
                        *slot = value;
                    }
                }
            }
            None => known = false,
        }
    }
    known
}

macro_rules! unary {
    ($function:expr) => {{
        let function: LaneFunction = |sources, result| {
            if let &[a] = sources {
                for (result, &a) in result.iter_mut().zip(a) {
                    *result = $function(a);
                }
            }
        };
        (function, 1)
    }};
}

macro_rules! binary {
    ($function:expr) => {{
        let function: LaneFunction = |sources, result| {
            if let &[a, b] = sources {
                for ((result, &a), &b) in result.iter_mut().zip(a).zip(b) {
                    *result = $function(a, b);
                }
            }
        };
        (function, 2)
    }};
}

macro_rules! ternary {
    ($function:expr) => {{
        let function: LaneFunction = |sources, result| {
            if let &[a, b, c] = sources {
                for (((result, &a), &b), &c) in result.iter_mut().zip(a).zip(b).zip(c) {
                    *result = $function(a, b, c);
                }
            }
        };
        (function, 3)
    }};
}

/// Chooses the expression by integer type; `$t` is bound to the machine type.
macro_rules! by_integer {
    ($ty:expr, $t:ident => $body:expr) => {
        match $ty {
            Type::U16 | Type::B16 => {
                type $t = u16;
                Some($body)
            }
            Type::S16 => {
                type $t = i16;
                Some($body)
            }
            Type::U32 | Type::B32 => {
                type $t = u32;
                Some($body)
            }
            Type::S32 => {
                type $t = i32;
                Some($body)
            }
            Type::U64 | Type::B64 => {
                type $t = u64;
                Some($body)
            }
            Type::S64 => {
                type $t = i64;
                Some($body)
            }
            _ => None,
        }
    };
}

/// A function and the number of its sources.
type Quick = (LaneFunction, usize);

/// The function for an instruction with this many sources and one destination; `None` for one that has none here.
pub fn lanes(arithmetic: &Arithmetic, sources: usize, destinations: usize) -> Option<LaneFunction> {
    let (function, count) = quick(arithmetic)?;
    (count == sources && destinations == 1).then_some(function)
}

fn quick(arithmetic: &Arithmetic) -> Option<Quick> {
    let ty = arithmetic.ty;
    match ty {
        Type::F32 if !matches!(arithmetic.operation, Operation::Cvt | Operation::Mov | Operation::Selp) => {
            single(arithmetic)
        }
        Type::F64 if !matches!(arithmetic.operation, Operation::Cvt | Operation::Mov | Operation::Selp) => {
            double(arithmetic)
        }
        _ => match arithmetic.operation {
            Operation::Mov | Operation::Cvta if arithmetic.flags.0 == 0 => copy(ty),
            Operation::Selp => select(ty),
            Operation::Setp => compare(arithmetic),
            Operation::Cvt => convert(arithmetic),
            Operation::And | Operation::Or | Operation::Xor | Operation::Not if ty == Type::Pred => {
                predicate(arithmetic.operation)
            }
            _ => integer(arithmetic),
        },
    }
}

fn copy(ty: Type) -> Option<Quick> {
    Some(match ty {
        Type::S16x2 => return None,
        Type::S16 => unary!(|a: u64| a as i16 as u64),
        Type::S32 => unary!(|a: u64| a as i32 as u64),
        Type::Pred => unary!(|a: u64| a & 1),
        _ => match ty.bits() {
            16 => unary!(|a: u64| a & 0xffff),
            32 => unary!(|a: u64| a & 0xffff_ffff),
            64 => unary!(|a: u64| a),
            _ => return None,
        },
    })
}

fn select(ty: Type) -> Option<Quick> {
    Some(match ty {
        Type::S32 => ternary!(|a: u64, b: u64, c: u64| (if c & 1 == 1 { a } else { b }) as i32 as u64),
        Type::S16 | Type::S16x2 => return None,
        _ => match ty.bits() {
            32 => ternary!(|a: u64, b: u64, c: u64| (if c & 1 == 1 { a } else { b }) & 0xffff_ffff),
            64 => ternary!(|a: u64, b: u64, c: u64| if c & 1 == 1 { a } else { b }),
            _ => return None,
        },
    })
}

fn predicate(operation: Operation) -> Option<Quick> {
    Some(match operation {
        Operation::And => binary!(|a: u64, b: u64| a & b & 1),
        Operation::Or => binary!(|a: u64, b: u64| (a | b) & 1),
        Operation::Xor => binary!(|a: u64, b: u64| (a ^ b) & 1),
        _ => unary!(|a: u64| !a & 1),
    })
}

fn compare(arithmetic: &Arithmetic) -> Option<Quick> {
    if arithmetic.combine != crate::BooleanOperation::None || arithmetic.flags.0 != 0 {
        return None;
    }
    macro_rules! test {
        ($t:ident, $($comparison:ident $operator:tt),*) => {
            match arithmetic.comparison {
                $(Comparison::$comparison => Some(binary!(|a, b| u64::from((a as $t) $operator (b as $t)))),)*
                _ => None,
            }
        };
    }
    match arithmetic.ty {
        Type::S32 => test!(i32, Eq ==, Ne !=, Lt <, Le <=, Gt >, Ge >=),
        Type::U32 | Type::B32 => {
            test!(u32, Eq ==, Ne !=, Lt <, Le <=, Gt >, Ge >=, Lo <, Ls <=, Hi >, Hs >=)
        }
        Type::S64 => test!(i64, Eq ==, Ne !=, Lt <, Le <=, Gt >, Ge >=),
        Type::U64 | Type::B64 => {
            test!(u64, Eq ==, Ne !=, Lt <, Le <=, Gt >, Ge >=, Lo <, Ls <=, Hi >, Hs >=)
        }
        Type::U16 | Type::B16 => test!(u16, Eq ==, Ne !=, Lt <, Le <=, Gt >, Ge >=),
        Type::S16 => test!(i16, Eq ==, Ne !=, Lt <, Le <=, Gt >, Ge >=),
        _ => None,
    }
}

fn convert(arithmetic: &Arithmetic) -> Option<Quick> {
    let (to, from, flags) = (arithmetic.ty, arithmetic.from, arithmetic.flags.0);
    let nearest = flags == Flags::NEAREST;
    Some(match (to, from) {
        (Type::U32 | Type::U64, Type::U16) if flags == 0 => unary!(|a: u64| a & 0xffff),
        (Type::U32 | Type::U64, Type::U8) if flags == 0 => unary!(|a: u64| a & 0xff),
        (Type::U64, Type::U32) if flags == 0 => unary!(|a: u64| a & 0xffff_ffff),
        (Type::S64 | Type::U64, Type::S32) if flags == 0 => unary!(|a: u64| a as i32 as u64),
        (Type::U32, Type::U64 | Type::S64 | Type::S32) if flags == 0 => unary!(|a: u64| a & 0xffff_ffff),
        (Type::S32, Type::U64 | Type::S64 | Type::U32) if flags == 0 => unary!(|a: u64| a as i32 as u64),
        (Type::F32, Type::S32) if nearest => unary!(|a: u64| u64::from((a as i32 as f32).to_bits())),
        (Type::F32, Type::U32) if nearest => unary!(|a: u64| u64::from((a as u32 as f32).to_bits())),
        (Type::F64, Type::S32) if nearest => unary!(|a: u64| f64::from(a as i32).to_bits()),
        (Type::F64, Type::U32) if nearest => unary!(|a: u64| f64::from(a as u32).to_bits()),
        // Rust's conversions saturate and make a NaN zero, as PTX's of single precision do.
        (Type::S32, Type::F32) if flags == Flags::ZERO_INTEGER => {
            unary!(|a: u64| f32::from_bits(a as u32) as i32 as u64)
        }
        (Type::U32, Type::F32) if flags == Flags::ZERO_INTEGER => {
            unary!(|a: u64| u64::from(f32::from_bits(a as u32) as u32))
        }
        _ => return None,
    })
}

#[allow(clippy::unnecessary_cast, reason = "one text for all integer types")]
fn integer(arithmetic: &Arithmetic) -> Option<Quick> {
    let (ty, flags) = (arithmetic.ty, arithmetic.flags.0);
    match (arithmetic.operation, flags) {
        (Operation::Add, 0) => by_integer!(ty, T => binary!(|a, b| (a as T).wrapping_add(b as T) as u64)),
        (Operation::Sub, 0) => by_integer!(ty, T => binary!(|a, b| (a as T).wrapping_sub(b as T) as u64)),
        (Operation::Mul, Flags::LOW) => {
            by_integer!(ty, T => binary!(|a, b| (a as T).wrapping_mul(b as T) as u64))
        }
        (Operation::Mad, Flags::LOW) => {
            by_integer!(ty, T => ternary!(|a, b, c| (a as T).wrapping_mul(b as T).wrapping_add(c as T) as u64))
        }
        (Operation::Mul, Flags::WIDE) => match ty {
            Type::U32 => Some(binary!(|a: u64, b: u64| (a & 0xffff_ffff) * (b & 0xffff_ffff))),
            Type::S32 => Some(binary!(|a: u64, b: u64| (i64::from(a as i32) * i64::from(b as i32)) as u64)),
            _ => None,
        },
        (Operation::Mad, Flags::WIDE) => match ty {
            Type::U32 => Some(ternary!(|a: u64, b: u64, c: u64| {
                ((a & 0xffff_ffff) * (b & 0xffff_ffff)).wrapping_add(c)
            })),
            Type::S32 => Some(ternary!(|a: u64, b: u64, c: u64| {
                (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64
            })),
            _ => None,
        },
        (Operation::Min, 0) => by_integer!(ty, T => binary!(|a, b| (a as T).min(b as T) as u64)),
        (Operation::Max, 0) => by_integer!(ty, T => binary!(|a, b| (a as T).max(b as T) as u64)),
        (Operation::And, 0) => by_integer!(ty, T => binary!(|a, b| (a as T & b as T) as u64)),
        (Operation::Or, 0) => by_integer!(ty, T => binary!(|a, b| (a as T | b as T) as u64)),
        (Operation::Xor, 0) => by_integer!(ty, T => binary!(|a, b| (a as T ^ b as T) as u64)),
        (Operation::Not, 0) => by_integer!(ty, T => unary!(|a| !(a as T) as u64)),
        (Operation::Neg, 0) => by_integer!(ty, T => unary!(|a| (0 as T).wrapping_sub(a as T) as u64)),
        (Operation::Shl, 0) => by_integer!(ty, T => binary!(|a, b| {
            (a as T).checked_shl(b as u32).unwrap_or(0) as u64
        })),
        (Operation::Shr, 0) => by_integer!(ty, T => binary!(|a, b| {
            // Past the width the sign fills a signed value, zeros an unsigned one.
            let last = T::BITS - 1;
            let value = a as T;
            if b as u32 > last { ((value >> last) >> 1) as u64 } else { (value >> b as u32) as u64 }
        })),
        _ => None,
    }
}

const F32_NAN: u64 = 0x7fff_ffff;

/// A single-precision result; every NaN is the same.
#[inline]
fn single_bits(value: f32) -> u64 {
    if value.is_nan() { F32_NAN } else { value.to_bits().into() }
}

/// `a × b + c` in single precision, rounded once. The product is exact in double precision; the sum is
/// rounded to odd there, so that the second rounding sees what was cut off.
#[inline]
pub fn fused_single(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    // What the sum lost (Knuth's two-sum); NaN where the sum is not finite.
    let part = sum - product;
    let lost = (product - (sum - part)) + (c - part);
    let bits = sum.to_bits();
    let away = (lost > 0.0) == (sum > 0.0);
    let odd = if away { bits | 1 } else { bits.wrapping_sub(1) | 1 };
    let inexact = lost != 0.0 && !lost.is_nan() && bits & 1 == 0;
    f64::from_bits(if inexact { odd } else { bits }) as f32
}

/// Zero with the sign of a number where it is subnormal.
#[inline]
fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0.0f32.copysign(value) } else { value }
}

macro_rules! test_floats {
    ($arithmetic:expr, $read:expr) => {{
        macro_rules! test {
            ($test:expr) => {
                Some(binary!(|a: u64, b: u64| u64::from($test($read(a), $read(b)))))
            };
        }
        match $arithmetic.comparison {
            Comparison::Eq => test!(|a, b| a == b),
            Comparison::Ne => test!(|a, b| a < b || a > b),
            Comparison::Lt => test!(|a, b| a < b),
            Comparison::Le => test!(|a, b| a <= b),
            Comparison::Gt => test!(|a, b| a > b),
            Comparison::Ge => test!(|a, b| a >= b),
            Comparison::Neu => test!(|a, b| a != b),
            _ => None,
        }
    }};
}

macro_rules! of_single {
    (unary $function:expr) => {
        unary!(|a: u64| single_bits($function(f32::from_bits(a as u32))))
    };
    (binary $function:expr) => {
        binary!(|a: u64, b: u64| single_bits($function(f32::from_bits(a as u32), f32::from_bits(b as u32))))
    };
    (ternary $function:expr) => {
        ternary!(|a: u64, b: u64, c: u64| {
            let read = |bits: u64| f32::from_bits(bits as u32);
            single_bits($function(read(a), read(b), read(c)))
        })
    };
}

fn single(arithmetic: &Arithmetic) -> Option<Quick> {
    let flags = arithmetic.flags.0;
    let flushes = arithmetic.flags.has(Flags::FLUSH);
    let mixed = matches!(arithmetic.from, Type::F16 | Type::Bf16);
    if flags & !(Flags::NEAREST | Flags::FLUSH) != 0 || mixed {
        return None;
    }
    let named = flags == Flags::NEAREST;
    Some(match arithmetic.operation {
        Operation::Setp if flags == 0 && arithmetic.combine == crate::BooleanOperation::None => {
            return test_floats!(arithmetic, |bits: u64| f32::from_bits(bits as u32));
        }
        Operation::Add if flushes => of_single!(binary | a, b | flushed(flushed(a) + flushed(b))),
        Operation::Sub if flushes => of_single!(binary | a, b | flushed(flushed(a) - flushed(b))),
        Operation::Mul if flushes => of_single!(binary | a, b | flushed(flushed(a) * flushed(b))),
        Operation::Fma if flushes => {
            of_single!(ternary | a, b, c | flushed(fused_single(flushed(a), flushed(b), flushed(c))))
        }
        Operation::Add => of_single!(binary |a: f32, b: f32| a + b),
        Operation::Sub => of_single!(binary |a: f32, b: f32| a - b),
        Operation::Mul => of_single!(binary |a: f32, b: f32| a * b),
        Operation::Fma => of_single!(ternary fused_single),
        Operation::Div if named => of_single!(binary |a: f32, b: f32| a / b),
        Operation::Rcp if named => of_single!(unary |a: f32| 1.0 / a),
        Operation::Sqrt if named => of_single!(unary |a: f32| a.sqrt()),
        _ => return None,
    })
}

macro_rules! of_double {
    (binary $function:expr) => {
        binary!(|a: u64, b: u64| {
            let value: f64 = $function(f64::from_bits(a), f64::from_bits(b));
            if value.is_nan() { nan_of(Format::F64, &[a, b]) } else { value.to_bits() }
        })
    };
    (ternary $function:expr) => {
        ternary!(|a: u64, b: u64, c: u64| {
            let value: f64 = $function(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
            if value.is_nan() { nan_of(Format::F64, &[a, b, c]) } else { value.to_bits() }
        })
    };
}

fn double(arithmetic: &Arithmetic) -> Option<Quick> {
    if arithmetic.flags.0 & !Flags::NEAREST != 0 {
        return None;
    }
    Some(match arithmetic.operation {
        Operation::Setp if arithmetic.combine == crate::BooleanOperation::None => {
            return test_floats!(arithmetic, f64::from_bits);
        }
        Operation::Add => of_double!(binary |a: f64, b: f64| a + b),
        Operation::Sub => of_double!(binary |a: f64, b: f64| a - b),
        Operation::Mul => of_double!(binary |a: f64, b: f64| a * b),
        Operation::Div => of_double!(binary |a: f64, b: f64| a / b),
        Operation::Fma => of_double!(ternary f64::mul_add),
        _ => return None,
    })
}
