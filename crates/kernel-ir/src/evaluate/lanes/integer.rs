//! Integers and bits.

use super::{LaneFunction, Quick};
use crate::{Arithmetic, ArithmeticFlags as Flags, BooleanOperation, Operation, Type};

#[allow(clippy::unnecessary_cast, reason = "one text for all integer types")]
pub(super) fn quick(arithmetic: &Arithmetic) -> Option<Quick> {
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
        (Operation::Rem, 0) => match ty {
            Type::U32 => {
                Some(binary!(|a, b| u64::from((a as u32).checked_rem(b as u32).unwrap_or(u32::MAX))))
            }
            Type::S32 => Some(binary!(|a, b| match b as i32 {
                0 => u64::MAX,
                b => (a as i32).wrapping_rem(b) as u64,
            })),
            _ => None,
        },
        (Operation::Div, 0) => match ty {
            Type::U32 => {
                Some(binary!(|a, b| u64::from((a as u32).checked_div(b as u32).unwrap_or(u32::MAX))))
            }
            Type::S32 => Some(binary!(|a, b| match b as i32 {
                0 => u64::MAX,
                b => (a as i32).wrapping_div(b) as u64,
            })),
            _ => None,
        },
        (Operation::Abs, 0) => match ty {
            Type::S32 => Some(unary!(|a| (a as i32).wrapping_abs() as u64)),
            Type::S64 => Some(unary!(|a| (a as i64).wrapping_abs() as u64)),
            _ => None,
        },
        (Operation::Popc, 0) if ty == Type::B32 => Some(unary!(|a| u64::from((a as u32).count_ones()))),
        (Operation::Clz, 0) if ty == Type::B32 => Some(unary!(|a| u64::from((a as u32).leading_zeros()))),
        (Operation::Brev, 0) if ty == Type::B32 => Some(unary!(|a| u64::from((a as u32).reverse_bits()))),
        (Operation::Shf, Flags::WRAP) => Some(ternary!(|a: u64, b: u64, c: u64| {
            (b << 32 | (a & 0xffff_ffff)) >> (c as u32 & 31) & 0xffff_ffff
        })),
        (Operation::Shf, flags) if flags == Flags::WRAP | Flags::HIGH => {
            Some(ternary!(|a: u64, b: u64, c: u64| {
                (b << 32 | (a & 0xffff_ffff)) << (c as u32 & 31) >> 32
            }))
        }
        (Operation::Lop3, 0) if arithmetic.combine == BooleanOperation::None && ty == Type::B32 => {
            Some(lookup())
        }
        _ => None,
    }
}

/// `lop3`, whose table is the same for all lanes.
fn lookup() -> Quick {
    let function: LaneFunction = |sources, result| {
        if let &[a, b, c, table] = sources {
            let table = table.first().copied().unwrap_or(0);
            // All ones for each row that the table has.
            let rows: [u64; 8] = std::array::from_fn(|row| (table >> row & 1).wrapping_neg());
            for (((result, &a), &b), &c) in result.iter_mut().zip(a).zip(b).zip(c) {
                let value = (rows[0] & !a & !b & !c)
                    | (rows[1] & !a & !b & c)
                    | (rows[2] & !a & b & !c)
                    | (rows[3] & !a & b & c)
                    | (rows[4] & a & !b & !c)
                    | (rows[5] & a & !b & c)
                    | (rows[6] & a & b & !c)
                    | (rows[7] & a & b & c);
                *result = value & 0xffff_ffff;
            }
        }
    };
    (function, 4)
}
