//! The most frequent operations for the 32 lanes of a warp at a time.
//!
//! [`lanes`] chooses a function once, when an instruction is decoded; the function then has no branches on the
//! operation, and loops that a compiler can turn into vector instructions. It gives what [`super::execute`]
//! gives for each lane, which the tests check for every form; [`each`] does any other operation lane by
//! lane.

use super::execute;
use crate::{Arithmetic, ArithmeticFlags as Flags, BooleanOperation, Comparison, Operation, Type};

macro_rules! unary {
    ($function:expr) => {{
        let function: crate::evaluate::lanes::LaneFunction = |sources, result| {
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
        let function: crate::evaluate::lanes::LaneFunction = |sources, result| {
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
        let function: crate::evaluate::lanes::LaneFunction = |sources, result| {
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

mod double;
mod half;
mod integer;
mod single;

pub use single::fused_single;

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

/// A function and the number of its sources.
type Quick = (LaneFunction, usize);

/// The function for an instruction with this many sources and one destination; `None` for one that has none here.
pub fn lanes(arithmetic: &Arithmetic, sources: usize, destinations: usize) -> Option<LaneFunction> {
    let (function, count) = quick(arithmetic)?;
    (count == sources && destinations == 1).then_some(function)
}

fn quick(arithmetic: &Arithmetic) -> Option<Quick> {
    let ty = arithmetic.ty;
    match (arithmetic.operation, ty) {
        (Operation::Mov | Operation::Cvta, _) if arithmetic.flags.0 == 0 => copy(ty),
        (Operation::Selp, _) => select(ty),
        (Operation::Cvt, _) => convert(arithmetic),
        (_, Type::F32) => single::quick(arithmetic),
        (_, Type::F64) => double::quick(arithmetic),
        (_, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) => half::quick(arithmetic),
        (Operation::Setp, _) => compare(arithmetic),
        (Operation::And | Operation::Or | Operation::Xor | Operation::Not, Type::Pred) => {
            predicate(arithmetic.operation)
        }
        _ => integer::quick(arithmetic),
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
    if arithmetic.combine != BooleanOperation::None || arithmetic.flags.0 != 0 {
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
        (Type::F32, Type::F16) if flags == 0 => half::to_single(),
        (Type::F16, Type::F32) if nearest => half::from_single(),
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
