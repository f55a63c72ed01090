//! Video instructions (PTX ISA, «Scalar Video Instructions», «SIMD Video Instructions»).

use super::compare::holds;
use super::integer::saturate;
use super::{signed, unsigned};
use crate::{Arithmetic, ArithmeticFlags, Type, VideoOperation};

/// The value of a video instruction; sources are whole registers.
pub(super) fn value(operation: VideoOperation, arithmetic: &Arithmetic, sources: &[u64]) -> Option<u64> {
    let &[a, b, ref rest @ ..] = sources else { return None };
    let flags = arithmetic.flags;
    if !matches!(rest.len(), 0 | 1) || arithmetic.ty.bits() != 32 || arithmetic.from.bits() != 32 {
        return None;
    }
    let (width, accumulates) = match flags.mode() {
        mode @ 0..=3 => (32, mode != 0),
        mode @ 4..=5 => (16, mode == 5),
        mode => (8, mode == 7),
    };
    let c = rest.first().copied();
    let mut whole = 0;
    let mut sum = 0i64;
    for at in (0..32).step_by(width as usize) {
        let lane = lane(operation, arithmetic, width, a >> at, b >> at, c)?;
        sum = sum.wrapping_add(lane);
        whole |= unsigned(lane as u64, width) << at;
    }
    if !accumulates {
        return Some(whole);
    }
    let c = c?;
    let wide = |value: u64| {
        if arithmetic.ty.is_signed() { signed(value, 32) } else { unsigned(value, 32) as i64 }
    };
    // A difference without a sign is not taken for a negative number.
    let first = if operation == VideoOperation::AbsDiff { whole as i64 } else { wide(whole) };
    let result = match flags.mode() {
        2 => first.min(wide(c)),
        3 => first.max(wide(c)),
        1 => wide(whole).wrapping_add(wide(c)),
        _ => sum.wrapping_add(wide(c)),
    };
    Some(unsigned(result as u64, 32))
}

/// One lane, saturated if asked for.
fn lane(
    operation: VideoOperation,
    arithmetic: &Arithmetic,
    width: u32,
    a: u64,
    b: u64,
    c: Option<u64>,
) -> Option<i64> {
    let flags = arithmetic.flags;
    let read = |value: u64, is_signed: bool| {
        if is_signed { signed(value, width) } else { unsigned(value, width) as i64 }
    };
    let left = read(a, arithmetic.from.is_signed());
    let right = read(b, flags.has(ArithmeticFlags::SECOND_SIGNED));
    let shift = match flags.has(ArithmeticFlags::WRAP) {
        true => b as u32 & 31,
        false => (b as u32).min(32),
    };
    let value = match operation {
        VideoOperation::Add => left + right,
        VideoOperation::Sub => left - right,
        VideoOperation::AbsDiff => (left - right).abs(),
        VideoOperation::Min => left.min(right),
        VideoOperation::Max => left.max(right),
        // Halves are rounded away from zero.
        VideoOperation::Average => (left + right + i64::from(left + right >= 0)) >> 1,
        VideoOperation::Shl => left << shift,
        VideoOperation::Shr => left >> shift,
        VideoOperation::Mad => left.wrapping_mul(right).wrapping_add(c? as u32 as i32 as i64),
        VideoOperation::Set => {
            let flags = ArithmeticFlags(0);
            holds(arithmetic.comparison, Type::S64, flags, left as u64, right as u64)?.into()
        }
    };
    if !flags.has(ArithmeticFlags::SATURATE) {
        return Some(value);
    }
    let ty = match (arithmetic.ty.is_signed(), width) {
        (true, 8) => Type::S8,
        (true, 16) => Type::S16,
        (true, _) => Type::S32,
        (false, 8) => Type::U8,
        (false, 16) => Type::U16,
        (false, _) => Type::U32,
    };
    Some(saturate(ty, value.into()) as i64)
}
