//! The width that an operation reads each of its sources in, for constants.

use standstill_kernel_ir::{Arithmetic, ArithmeticFlags, Operation, Type};

use super::code::Plane;

/// The plane of a source by its position among `count`.
pub(crate) fn of_source(arithmetic: &Arithmetic, index: usize, count: usize) -> Plane {
    let Arithmetic { operation, ty, from, flags, .. } = *arithmetic;
    match operation {
        Operation::Selp if index == 2 => Plane::Predicate,
        Operation::Slct if index == 2 => Plane::of(from),
        Operation::Setp | Operation::Set => {
            let of = if operation == Operation::Setp { ty } else { from };
            if index < 2 { Plane::of(of) } else { Plane::Predicate }
        }
        Operation::Shl | Operation::Shr if index == 1 => Plane::Narrow,
        Operation::Bfe if index > 0 => Plane::Narrow,
        Operation::Bfi if index > 1 => Plane::Narrow,
        Operation::Cvt => Plane::of(from),
        Operation::Mad if index == 2 && flags.has(ArithmeticFlags::WIDE) && ty.bits() == 32 => Plane::Wide,
        Operation::Mov if count > 1 => match ty.bits() / count as u32 {
            64 => Plane::Wide,
            _ => Plane::Narrow,
        },
        Operation::Isspacep if index == 1 => Plane::Narrow,
        Operation::Isspacep | Operation::Cvta if ty == Type::None => Plane::Wide,
        _ => Plane::of(ty),
    }
}
