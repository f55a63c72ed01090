use proptest::prelude::*;

use super::{check, cvt, one, op, unknown};
use crate::build::arithmetic;
use crate::evaluate::{evaluate, execute, keep};
use crate::{Arithmetic, ArithmeticFlags as Flags, BooleanOperation, Comparison, Operation, Type};

const MINUS_ONE: u64 = u64::MAX;

/// The only result, when it is known.
fn known(arithmetic: Arithmetic, sources: &[u64]) -> Option<u64> {
    evaluate(&arithmetic, sources, 1).map(|values| values[0])
}

/// The bits of a signed number.
fn s(value: i64) -> u64 {
    value as u64
}

#[test]
fn sums_and_products() {
    // Upper bits of sources do not matter; signed results are sign-extended.
    check(op(Operation::Add, Type::U32, 0), &[0xdead_0000_0000_0001, 0xffff_ffff], &[0]);
    check(op(Operation::Add, Type::S32, 0), &[0x7fff_ffff, 1], &[s(i32::MIN.into())]);
    check(op(Operation::Add, Type::S32, Flags::SATURATE), &[0x7fff_ffff, 1], &[0x7fff_ffff]);
    check(op(Operation::Sub, Type::S32, Flags::SATURATE), &[s(-2), 0x7fff_ffff], &[s(i32::MIN.into())]);
    check(op(Operation::Add, Type::U16x2, 0), &[0x0001_ffff, 0x0001_0001], &[0x0002_0000]);
    check(op(Operation::Min, Type::S16x2, 0), &[0x0001_ffff, 0xfffe_0005], &[0xfffe_ffff]);
    check(op(Operation::Min, Type::S16x2, Flags::RELU), &[0x0001_ffff, 0xfffe_0005], &[0]);
    check(op(Operation::Mul, Type::S32, Flags::WIDE), &[s(-3), 5], &[s(-15)]);
    check(op(Operation::Mul, Type::U32, Flags::WIDE), &[s(-1), 2], &[0x1_ffff_fffe]);
    check(op(Operation::Mul, Type::U16, Flags::WIDE), &[0xffff, 0xffff], &[0xfffe_0001]);
    check(op(Operation::Mul, Type::S64, Flags::HIGH), &[s(-1), 2], &[MINUS_ONE]);
    check(op(Operation::Mul, Type::U64, Flags::HIGH), &[s(-1), 2], &[1]);
    check(op(Operation::Mul, Type::U32, Flags::HIGH), &[0x8000_0000, 4], &[2]);
    check(op(Operation::Mad, Type::S32, Flags::WIDE), &[s(-3), 5, 1 << 40], &[(1 << 40) - 15]);
    check(op(Operation::Mad, Type::U32, Flags::LOW), &[3, 5, 0xffff_fff1], &[0]);
    check(
        op(Operation::Mad, Type::S32, Flags::HIGH | Flags::SATURATE),
        &[1 << 30, 4, 0x7fff_ffff],
        &[0x7fff_ffff],
    );
    check(op(Operation::Sad, Type::S32, 0), &[s(-5), 7, 100], &[112]);
    check(op(Operation::Sad, Type::U32, 0), &[s(-5), 7, 0], &[0xffff_fff4]);
    check(op(Operation::Abs, Type::S16, 0), &[0xfffe], &[2]);
    check(op(Operation::Neg, Type::S32, 0), &[1], &[MINUS_ONE]);
    check(op(Operation::Max, Type::U32, 0), &[s(-1), 1], &[0xffff_ffff]);
    check(op(Operation::Max, Type::S32, 0), &[0xffff_ffff, 1], &[1]);
}

#[test]
fn carries() {
    let carry = Flags::CARRY_OUT;
    check(op(Operation::Add, Type::U32, carry), &[0xffff_ffff, 1], &[0, 1]);
    check(op(Operation::Add, Type::S32, carry), &[0x7fff_ffff, 1], &[s(i32::MIN.into()), 0]);
    check(op(Operation::AddCarry, Type::U64, carry), &[MINUS_ONE, 0, 1], &[0, 1]);
    check(op(Operation::AddCarry, Type::U32, 0), &[1, 2, 1], &[4]);
    check(op(Operation::Sub, Type::U32, carry), &[0, 1], &[0xffff_ffff, 1]);
    check(op(Operation::SubCarry, Type::U32, carry), &[5, 5, 1], &[0xffff_ffff, 1]);
    check(op(Operation::SubCarry, Type::U64, carry), &[5, 4, 1], &[0, 0]);
    check(op(Operation::SubCarry, Type::U64, carry), &[0, MINUS_ONE, 1], &[0, 1]);
    check(op(Operation::Mad, Type::U32, Flags::LOW | carry), &[0x1_0000, 0xffff, 0x1_0000], &[0, 1]);
    check(
        op(Operation::MadCarry, Type::U32, Flags::HIGH | carry),
        &[0xffff_ffff, 0xffff_ffff, 1, 1],
        &[0, 1],
    );
}

#[test]
fn division() {
    check(op(Operation::Div, Type::S32, 0), &[s(-7), 2], &[s(-3)]);
    check(op(Operation::Rem, Type::S32, 0), &[s(-7), 2], &[s(-1)]);
    check(op(Operation::Div, Type::U32, 0), &[s(-7), 2], &[0x7fff_fffc]);
    check(op(Operation::Div, Type::S32, 0), &[0x8000_0000, s(-1)], &[s(i32::MIN.into())]);
    check(op(Operation::Rem, Type::S64, 0), &[s(i64::MIN), s(-1)], &[0]);
    for ty in [Type::U16, Type::S16, Type::U32, Type::S32, Type::U64, Type::S64] {
        unknown(op(Operation::Div, ty, 0), &[1, 0]);
        // Zero in the type's bits.
        unknown(op(Operation::Rem, ty, 0), &[1, if ty.bits() < 64 { 1 << ty.bits() } else { 0 }]);
    }
}

#[test]
fn shifts_are_clamped() {
    check(op(Operation::Shl, Type::B32, 0), &[1, 31], &[0x8000_0000]);
    check(op(Operation::Shl, Type::B32, 0), &[1, 32], &[0]);
    check(op(Operation::Shl, Type::B64, 0), &[1, 0xffff_ffff], &[0]);
    check(op(Operation::Shr, Type::U32, 0), &[s(-1), 32], &[0]);
    check(op(Operation::Shr, Type::U32, 0), &[s(-1), 40], &[0]);
    check(op(Operation::Shr, Type::S32, 0), &[0x8000_0000, 100], &[MINUS_ONE]);
    check(op(Operation::Shr, Type::S64, 0), &[s(-8), 1], &[s(-4)]);
    check(op(Operation::Shr, Type::B16, 0), &[0xffff_8000, 15], &[1]);
    let left = Flags::HIGH;
    check(op(Operation::Shf, Type::B32, left | Flags::WRAP), &[0x8000_0000, 1, 33], &[3]);
    check(op(Operation::Shf, Type::B32, left | Flags::CLAMP), &[0x1234, 1, 40], &[0x1234]);
    check(op(Operation::Shf, Type::B32, Flags::WRAP), &[0x10, 0x1, 4], &[0x1000_0001]);
    check(op(Operation::Shf, Type::B32, Flags::CLAMP), &[0x10, 0x77, 32], &[0x77]);
    check(op(Operation::Shf, Type::B32, Flags::WRAP), &[0x10, 0x77, 32], &[0x10]);
}

#[test]
fn bit_fields() {
    check(op(Operation::Bfe, Type::U32, 0), &[0x1234_5678, 8, 8], &[0x56]);
    check(op(Operation::Bfe, Type::S32, 0), &[0x0000_8000, 8, 8], &[s(-128)]);
    check(op(Operation::Bfe, Type::S32, 0), &[0x8000_0000, 28, 8], &[s(-8)]);
    check(op(Operation::Bfe, Type::S32, 0), &[0x8000_0000, 40, 4], &[MINUS_ONE]);
    check(op(Operation::Bfe, Type::U64, 0), &[MINUS_ONE, 60, 255], &[15]);
    check(op(Operation::Bfe, Type::S64, 0), &[MINUS_ONE, 3, 0], &[0]);
    check(op(Operation::Bfe, Type::U32, 0), &[MINUS_ONE, 0x108, 0x104], &[15]);
    check(op(Operation::Bfi, Type::B32, 0), &[0xff, 0x1111_1111, 4, 8], &[0x1111_1ff1]);
    check(op(Operation::Bfi, Type::B32, 0), &[0xff, 7, 32, 8], &[7]);
    check(op(Operation::Bfi, Type::B64, 0), &[MINUS_ONE, 0, 1, 255], &[MINUS_ONE - 1]);
    check(op(Operation::Bmsk, Type::B32, Flags::WRAP), &[1, 2], &[6]);
    check(op(Operation::Bmsk, Type::B32, Flags::CLAMP), &[32, 4], &[0]);
    check(op(Operation::Bmsk, Type::B32, Flags::CLAMP), &[4, 32], &[0xffff_fff0]);
    check(op(Operation::Bmsk, Type::B32, Flags::WRAP), &[4, 32], &[0]);
    check(op(Operation::Szext, Type::S32, Flags::CLAMP), &[0xff, 8], &[MINUS_ONE]);
    check(op(Operation::Szext, Type::U32, Flags::WRAP), &[0xffff_ffff, 0], &[0]);
    check(op(Operation::Szext, Type::U32, Flags::CLAMP), &[0xffff_ffff, 32], &[0xffff_ffff]);
    check(op(Operation::Szext, Type::S32, Flags::WRAP), &[0xff, 36], &[MINUS_ONE]);
}

#[test]
fn counting_and_searching() {
    check(op(Operation::Popc, Type::B64, 0), &[MINUS_ONE], &[64]);
    check(op(Operation::Clz, Type::B32, 0), &[0], &[32]);
    check(op(Operation::Clz, Type::B64, 0), &[1], &[63]);
    check(op(Operation::Brev, Type::B32, 0), &[1], &[0x8000_0000]);
    check(op(Operation::Bfind, Type::U32, 0), &[0x10], &[4]);
    check(op(Operation::Bfind, Type::U32, 0), &[0], &[0xffff_ffff]);
    check(op(Operation::Bfind, Type::S32, 0), &[s(-1)], &[0xffff_ffff]);
    check(op(Operation::Bfind, Type::S64, Flags::SHIFT_AMOUNT), &[s(-2)], &[63]);
    check(op(Operation::Bfind, Type::U32, Flags::SHIFT_AMOUNT), &[0x10], &[27]);
    for (base, offset, expected) in
        [(3, 1, 3), (3, -1, 3), (2, 1, 3), (2, -1, 1), (1, 3, 5), (1, 0, 1), (0, 0, -1)]
    {
        let expected = s(expected) & 0xffff_ffff;
        check(op(Operation::Fns, Type::B32, 0), &[0xaaaa_aaaa, base, s(offset)], &[expected]);
    }
    unknown(op(Operation::Fns, Type::B32, 0), &[1, 32, 1]);
    check(op(Operation::Prmt, Type::B32, 0), &[0x3322_1180, 0x7766_5544, 0x7180], &[0x7711_ff80]);
    check(op(Operation::Lop3, Type::B32, 0), &[0xf0, 0xcc, 0xaa, 0x1a], &[0x1a]);
    let logic = Arithmetic { combine: BooleanOperation::And, ..op(Operation::Lop3, Type::B32, 0) };
    check(logic, &[0xf0, 0xcc, 0xaa, 0x80, 1], &[0x80, 1]);
}

#[test]
fn logic_and_predicates() {
    check(op(Operation::Not, Type::Pred, 0), &[1], &[0]);
    check(op(Operation::Not, Type::B32, 0), &[0], &[0xffff_ffff]);
    check(op(Operation::Xor, Type::Pred, 0), &[1, 1], &[0]);
    check(op(Operation::Cnot, Type::B32, 0), &[0x1_0000_0000], &[1]);
    check(op(Operation::Selp, Type::B32, 0), &[7, 8, 0], &[8]);
    let select = |ty, from| Arithmetic { from, ..arithmetic(Operation::Slct, ty) };
    check(select(Type::B32, Type::S32), &[7, 8, s(-1)], &[8]);
    check(select(Type::B32, Type::F32), &[7, 8, 0x8000_0000], &[7]);
    check(select(Type::B32, Type::F32), &[7, 8, 0x7fc0_0000], &[8]);
}

#[test]
fn comparisons() {
    let setp =
        |comparison, combine, ty| Arithmetic { comparison, combine, ..arithmetic(Operation::Setp, ty) };
    let (none, and, or, xor) =
        (BooleanOperation::None, BooleanOperation::And, BooleanOperation::Or, BooleanOperation::Xor);
    check(setp(Comparison::Lt, none, Type::S32), &[s(-1), 1], &[1, 0]);
    check(setp(Comparison::Lt, none, Type::U32), &[s(-1), 1], &[0, 1]);
    check(setp(Comparison::Lo, none, Type::S32), &[s(-1), 1], &[0, 1]);
    check(setp(Comparison::Eq, none, Type::B32), &[0x1_0000_0001, 1], &[1, 0]);
    check(setp(Comparison::Ge, and, Type::S32), &[1, 1, 0], &[0, 0]);
    check(setp(Comparison::Ge, and, Type::S32), &[0, 1, 1], &[0, 1]);
    check(setp(Comparison::Ge, or, Type::S32), &[0, 1, 1], &[1, 1]);
    check(setp(Comparison::Ge, xor, Type::S32), &[1, 1, 1], &[0, 1]);
    let nan = 0x7fc0_0000;
    let one = 0x3f80_0000;
    for (comparison, a, b, expected) in [
        (Comparison::Eq, 0x8000_0000, 0, 1),
        (Comparison::Lt, 0x8000_0000, 0, 0),
        (Comparison::Ne, nan, one, 0),
        (Comparison::Neu, nan, one, 1),
        (Comparison::Equ, nan, one, 1),
        (Comparison::Ltu, one, nan, 1),
        (Comparison::Lt, 0xbf80_0000, one, 1),
        (Comparison::Num, one, one, 1),
        (Comparison::Nan, one, nan, 1),
    ] {
        check(setp(comparison, none, Type::F32), &[a, b], &[expected, 1 - expected]);
    }
    let flushed = Arithmetic { flags: Flags(Flags::FLUSH), ..setp(Comparison::Eq, none, Type::F32) };
    check(flushed, &[1, 0], &[1, 0]);
    check(setp(Comparison::Lt, none, Type::F16x2), &[0x3c00_4000, 0x4000_3c00], &[0, 1]);
    let set = |ty, from| Arithmetic { from, comparison: Comparison::Lt, ..arithmetic(Operation::Set, ty) };
    check(set(Type::U32, Type::S32), &[s(-1), 0], &[0xffff_ffff]);
    check(set(Type::F32, Type::U32), &[0, 1], &[one]);
    check(set(Type::F32, Type::U32), &[1, 1], &[0]);
    unknown(setp(Comparison::Lo, none, Type::F32), &[0, 0]);
}

#[test]
fn moves() {
    let mov = |ty| arithmetic(Operation::Mov, ty);
    check(mov(Type::B64), &[1, 2], &[0x2_0000_0001]);
    check(mov(Type::B32), &[1, 2, 3, 0xfff4], &[0xf403_0201]);
    let parts = |ty, value, count| evaluate(&mov(ty), &[value], count).map(|results| results.to_vec());
    assert_eq!(parts(Type::B64, 0x4444_3333_2222_1111, 4), Some(vec![0x1111, 0x2222, 0x3333, 0x4444]));
    assert_eq!(parts(Type::B32, 0xffff_8001, 2), Some(vec![0x8001, 0xffff]));
    assert_eq!(parts(Type::B128, 0, 2), None);
    check(mov(Type::Pred), &[1], &[1]);
    check(arithmetic(Operation::Cvta, Type::U64), &[77], &[77]);
    unknown(op(Operation::Add, Type::U32, Flags::OTHER), &[1, 2]);
}

#[test]
fn dot_products() {
    let dot = |operation, ty, from, flags| Arithmetic { from, ..op(operation, ty, flags) };
    check(dot(Operation::Dp4a, Type::U32, Type::U32, 0), &[0x0102_0304, 0x0101_0102, 10], &[24]);
    check(dot(Operation::Dp4a, Type::S32, Type::S32, 0), &[0xff, 0xff, 0], &[1]);
    check(dot(Operation::Dp4a, Type::U32, Type::S32, 0), &[0xff, 0xff, 0], &[s(-255)]);
    check(dot(Operation::Dp2a, Type::U32, Type::U32, Flags::LOW), &[0x0002_0003, 0x0505_0107, 1], &[24]);
    check(dot(Operation::Dp2a, Type::U32, Type::U32, Flags::HIGH), &[0x0002_0003, 0x0506_0107, 0], &[28]);
}

#[test]
fn integer_conversions() {
    check(cvt(Type::S64, Type::S32, 0), &[0xffff_fffe], &[s(-2)]);
    check(cvt(Type::U64, Type::U32, 0), &[s(-2)], &[0xffff_fffe]);
    check(cvt(Type::U64, Type::S32, 0), &[s(-2)], &[s(-2)]);
    check(cvt(Type::U16, Type::U32, 0), &[0x1_2345], &[0x2345]);
    check(cvt(Type::S8, Type::S32, 0), &[0x80], &[s(-128)]);
    check(cvt(Type::U8, Type::S32, Flags::SATURATE), &[s(-5)], &[0]);
    check(cvt(Type::U8, Type::S32, Flags::SATURATE), &[300], &[255]);
    check(cvt(Type::S32, Type::U64, Flags::SATURATE), &[MINUS_ONE], &[0x7fff_ffff]);
    // A register wider than the type receives the extended value.
    assert_eq!(keep(one(cvt(Type::S8, Type::S32, 0), &[0x80]), Type::B32), 0xffff_ff80);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn as_the_host_does(a: u64, b: u64, c: u64, shift in 0u32..70, length in 0u32..70) {
        let (a32, b32, c32) = (a as u32, b as u32, c as u32);
        let signed = |value: i32| value as i64 as u64;
        let at = |operation, ty, flags| op(operation, ty, flags);
        prop_assert_eq!(one(at(Operation::Add, Type::U32, 0), &[a, b]), u64::from(a32.wrapping_add(b32)));
        prop_assert_eq!(one(at(Operation::Sub, Type::S32, 0), &[a, b]), signed((a32 as i32).wrapping_sub(b32 as i32)));
        prop_assert_eq!(one(at(Operation::Mul, Type::U64, Flags::LOW), &[a, b]), a.wrapping_mul(b));
        let high = (i128::from(a as i64) * i128::from(b as i64)) >> 64;
        prop_assert_eq!(one(at(Operation::Mul, Type::S64, Flags::HIGH), &[a, b]), high as u64);
        prop_assert_eq!(
            one(at(Operation::Mul, Type::S32, Flags::HIGH), &[a, b]),
            signed(((i64::from(a32 as i32) * i64::from(b32 as i32)) >> 32) as i32)
        );
        prop_assert_eq!(
            one(at(Operation::Mad, Type::U32, Flags::LOW), &[a, b, c]),
            u64::from(a32.wrapping_mul(b32).wrapping_add(c32))
        );
        let quotient = a32.checked_div(b32).map(u64::from);
        prop_assert_eq!(known(at(Operation::Div, Type::U32, 0), &[a, b]), quotient);
        let remainder = if b32 == 0 { None } else { Some(signed((a32 as i32).wrapping_rem(b32 as i32))) };
        prop_assert_eq!(known(at(Operation::Rem, Type::S32, 0), &[a, b]), remainder);
        // Table 0xca: a selects b or c.
        let selected = u64::from((a32 & b32) | (!a32 & c32));
        prop_assert_eq!(one(at(Operation::Lop3, Type::B32, 0), &[a, b, c, 0xca]), selected);
        // The ISA's own definition of bfe, bit by bit.
        for (ty, bits) in [(Type::U32, 32u32), (Type::S32, 32), (Type::U64, 64), (Type::S64, 64)] {
            let sign = if !ty.is_signed() || length == 0 { 0 } else { a >> (shift + length - 1).min(bits - 1) & 1 };
            let mut expected = 0u64;
            for bit in 0..bits {
                let taken = if bit < length && shift + bit < bits { a >> (shift + bit) & 1 } else { sign };
                expected |= taken << bit;
            }
            prop_assert_eq!(keep(one(at(Operation::Bfe, ty, 0), &[a, shift.into(), length.into()]), ty), expected);
        }
        for (ty, bits) in [(Type::B32, 32u32), (Type::B64, 64)] {
            let mut expected = keep(b, ty);
            for bit in 0..length {
                if shift + bit < bits && bit < 64 {
                    expected = (expected & !(1 << (shift + bit))) | ((a >> bit & 1) << (shift + bit));
                }
            }
            prop_assert_eq!(one(at(Operation::Bfi, ty, 0), &[a, b, shift.into(), length.into()]), expected);
        }
        // A 128-bit sum and difference from two halves.
        let low = evaluate(&at(Operation::Add, Type::U64, Flags::CARRY_OUT), &[a, c], 2).unwrap();
        let high = one(at(Operation::AddCarry, Type::U64, 0), &[b, a, low[1]]);
        let (left, right) = (u128::from(b) << 64 | u128::from(a), u128::from(a) << 64 | u128::from(c));
        prop_assert_eq!(u128::from(high) << 64 | u128::from(low[0]), left.wrapping_add(right));
        let low = evaluate(&at(Operation::Sub, Type::U64, Flags::CARRY_OUT), &[a, c], 2).unwrap();
        let high = one(at(Operation::SubCarry, Type::U64, 0), &[b, a, low[1]]);
        prop_assert_eq!(u128::from(high) << 64 | u128::from(low[0]), left.wrapping_sub(right));
    }

    /// Any operation on any number of sources of any type gives some answer.
    #[test]
    fn nothing_panics(
        sources in prop::collection::vec(any::<u64>(), 0..6),
        flags: u32,
        from in 0usize..41,
        destinations in 0usize..9,
    ) {
        use Operation::*;
        use crate::VideoOperation as V;
        let types = [
            Type::Pred, Type::B8, Type::B16, Type::B32, Type::B64, Type::B128, Type::U8, Type::U16, Type::U32,
            Type::U64, Type::S8, Type::S16, Type::S32, Type::S64, Type::F16, Type::F16x2, Type::Bf16,
            Type::Bf16x2, Type::Tf32, Type::F32, Type::F32x2, Type::F64, Type::U16x2, Type::S16x2, Type::Narrow,
            Type::E4m3, Type::E5m2, Type::E4m3x2, Type::E5m2x2, Type::U4, Type::S4, Type::U2, Type::S2,
            Type::E2m3, Type::E3m2, Type::E2m1, Type::E2m3x2, Type::E3m2x2, Type::E2m1x2, Type::B1,
            Type::None,
        ];
        let operations = [
            Mov, Cvt, Cvta, Mapa, GetCtaRank, Isspacep, Add, Sub, Mul, Mad, Sad, Div, Rem, Abs, Neg, Min, Max,
            Popc, Clz, Bfind, Fns, Brev, Bfe, Bfi, Bmsk, Szext, Dp4a, Dp2a, AddCarry, SubCarry, MadCarry, Fma,
            Rcp, Sqrt, Rsqrt, Sin, Cos, Lg2, Ex2, Tanh, Copysign, Testp, Setp, Set, Selp, Slct, And, Or, Xor,
            Not, Cnot, Lop3, Shl, Shr, Shf, Prmt, Video(V::Add), Video(V::AbsDiff), Video(V::Average),
            Video(V::Shl), Video(V::Shr), Video(V::Set), Video(V::Mad),
        ];
        for ty in types {
            for operation in operations {
                let base = op(operation, ty, flags & !Flags::OTHER);
                let from = types[from];
                let comparison = if flags & 1 == 0 { Comparison::Ge } else { Comparison::Hi };
                let arithmetic = Arithmetic { from, comparison, ..base };
                let _ = evaluate(&arithmetic, &sources, destinations);
                let _ = execute(&arithmetic, &sources, destinations);
            }
        }
    }
}
