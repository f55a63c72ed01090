//! Bits: logic, shifts, fields, counting (PTX ISA, «Logic and Shift Instructions» and the bit
//! instructions among «Integer Arithmetic Instructions»).

use super::{Results, extend, signed, unsigned};
use crate::{Arithmetic, ArithmeticFlags, BooleanOperation, Operation, Type};

/// One operation on bits; sources as they come.
pub(super) fn bits(arithmetic: &Arithmetic, sources: &[u64]) -> Option<Results> {
    let (ty, flags) = (arithmetic.ty, arithmetic.flags);
    let width = ty.bits();
    let &[a, ref rest @ ..] = sources else { return None };
    let value = match (arithmetic.operation, rest) {
        (Operation::And, &[b]) => extend(a & b, ty),
        (Operation::Or, &[b]) => extend(a | b, ty),
        (Operation::Xor, &[b]) => extend(a ^ b, ty),
        (Operation::Not, []) => extend(!a, ty),
        (Operation::Cnot, []) => u64::from(unsigned(a, width) == 0),
        (Operation::Shl, &[b]) => {
            if b as u32 >= width {
                0
            } else {
                extend(a << (b as u32), ty)
            }
        }
        (Operation::Shr, &[b]) if ty.is_signed() => (signed(a, width) >> (b as u32).min(width - 1)) as u64,
        (Operation::Shr, &[b]) => unsigned(a, width).checked_shr(b as u32).unwrap_or(0),
        (Operation::Shf, &[b, c]) => {
            let wraps = flags.has(ArithmeticFlags::WRAP);
            let amount = if wraps { c as u32 & 31 } else { (c as u32).min(32) };
            let both = (unsigned(b, 32) << 32) | unsigned(a, 32);
            if flags.has(ArithmeticFlags::HIGH) {
                unsigned((u128::from(both) << amount >> 32) as u64, 32)
            } else {
                unsigned(both >> amount, 32)
            }
        }
        (Operation::Popc, []) => unsigned(a, width).count_ones().into(),
        (Operation::Clz, []) => (unsigned(a, width).leading_zeros() - (64 - width)).into(),
        (Operation::Brev, []) => unsigned(a, width).reverse_bits() >> (64 - width),
        (Operation::Bfind, []) => find_leading(ty, flags, a),
        (Operation::Fns, &[base, offset]) => find_nth_set(a as u32, base as u32, offset as i32)?.into(),
        (Operation::Bfe, &[b, c]) => extract_field(ty, a, place(ty, b), place(ty, c)),
        (Operation::Bfi, &[b, c, d]) => insert_field(ty, a, b, place(ty, c), place(ty, d)),
        (Operation::Bmsk, &[b]) => mask(flags, a as u32, b as u32).into(),
        (Operation::Szext, &[b]) => extend_bits(ty, flags, a as u32, b as u32),
        (Operation::Prmt, &[b, c]) => permute(a as u32, b as u32, selectors(flags.mode(), c as u32)).into(),
        (Operation::Lop3, &[b, c, table, ref rest @ ..]) => {
            let value = lookup(a, b, c, table as u8);
            let result = extend(value, ty);
            return match (arithmetic.combine, rest) {
                (BooleanOperation::None, []) => Some(Results::one(result)),
                (combine, &[q]) => {
                    let nonzero = unsigned(value, width) != 0;
                    Some(Results::two(result, u64::from(combine.apply(nonzero, q & 1 == 1))))
                }
                _ => None,
            };
        }
        _ => return None,
    };
    Some(Results::one(value))
}

/// Position of the highest bit that is not a sign bit, or the shift that brings it to the top.
fn find_leading(ty: Type, flags: ArithmeticFlags, a: u64) -> u64 {
    let width = ty.bits();
    let negative = ty.is_signed() && signed(a, width) < 0;
    let value = unsigned(if negative { !a } else { a }, width);
    match value.checked_ilog2() {
        None => u32::MAX.into(),
        Some(position) if flags.has(ArithmeticFlags::SHIFT_AMOUNT) => (width - 1 - position).into(),
        Some(position) => position.into(),
    }
}

/// Position of the n-th set bit from a base; `None` for a base past 31, which is undefined.
fn find_nth_set(mask: u32, base: u32, offset: i32) -> Option<u32> {
    if base > 31 {
        return None;
    }
    if offset == 0 {
        return Some(if mask >> base & 1 == 1 { base } else { u32::MAX });
    }
    let skipped = offset.unsigned_abs() as usize - 1;
    let is_set = |position: &u32| mask >> position & 1 == 1;
    let found = if offset > 0 {
        (base..32).filter(is_set).nth(skipped)
    } else {
        (0..=base).rev().filter(is_set).nth(skipped)
    };
    Some(found.unwrap_or(u32::MAX))
}

/// A position or length of a field. The ISA says that the low eight bits count; cards do so for 32 bits,
/// while for 64 bits, which they put together from smaller steps, all bits count.
fn place(ty: Type, value: u64) -> u32 {
    if ty.bits() == 64 { (value as u32).min(255) } else { value as u32 & 255 }
}

fn extract_field(ty: Type, a: u64, position: u32, length: u32) -> u64 {
    let width = ty.bits();
    if length == 0 {
        return 0;
    }
    let end = (position + length).min(width);
    if ty.is_signed() {
        // The field's top bit, or that of the whole value when the field reaches past it.
        let value = signed(a, width) << (64 - end) >> (64 - end);
        extend((value >> position.min(63)) as u64, ty)
    } else {
        unsigned(a, end).checked_shr(position).unwrap_or(0)
    }
}

fn insert_field(ty: Type, a: u64, b: u64, position: u32, length: u32) -> u64 {
    if position >= ty.bits() {
        return extend(b, ty);
    }
    let field = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    extend((b & !(field << position)) | ((a & field) << position), ty)
}

fn mask(flags: ArithmeticFlags, a: u32, b: u32) -> u32 {
    let clamps = flags.has(ArithmeticFlags::CLAMP);
    if clamps && a >= 32 {
        return 0;
    }
    let (first, count) = (a & 31, b & 31);
    let from = u32::MAX << first;
    let end = first + count;
    if end >= 32 || (clamps && b >= 32) { from } else { from & !(u32::MAX << end) }
}

fn extend_bits(ty: Type, flags: ArithmeticFlags, a: u32, b: u32) -> u64 {
    let count = if b >= 32 && flags.has(ArithmeticFlags::CLAMP) { 32 } else { b & 31 };
    let value = u64::from(a);
    match (count, ty.is_signed()) {
        (0, _) => 0,
        (_, true) => signed(value, count) as u64,
        (_, false) => unsigned(value, count),
    }
}

/// The selectors of a mode of `prmt`; only the two lowest bits of the control count then.
fn selectors(mode: u32, control: u32) -> u32 {
    let row: [u32; 4] = match mode {
        1 => [0x3210, 0x4321, 0x5432, 0x6543],
        2 => [0x5670, 0x6701, 0x7012, 0x0123],
        3 => [0x0000, 0x1111, 0x2222, 0x3333],
        4 => [0x3210, 0x3211, 0x3222, 0x3333],
        5 => [0x0000, 0x1110, 0x2210, 0x3210],
        6 => [0x1010, 0x3232, 0x1010, 0x3232],
        _ => return control,
    };
    row.get(control as usize & 3).copied().unwrap_or(control)
}

fn permute(a: u32, b: u32, control: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    (0..4).fold(0, |result, index| {
        let select = control >> (4 * index);
        let byte = (bytes >> (8 * (select & 7))) as u8;
        let byte = if select & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 };
        result | u32::from(byte) << (8 * index)
    })
}

/// Any function of three bits, by its table.
fn lookup(a: u64, b: u64, c: u64, table: u8) -> u64 {
    (0..8u8).filter(|row| table >> row & 1 == 1).fold(0, |result, row| {
        let term = |value: u64, bit: u8| if row >> bit & 1 == 1 { value } else { !value };
        result | (term(a, 2) & term(b, 1) & term(c, 0))
    })
}
