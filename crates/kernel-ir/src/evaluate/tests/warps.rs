//! Operations across a warp, atomics, approximate functions and eight-bit numbers.

use super::{check, cvt, op};
use crate::evaluate::approximate::{Error, error};
use crate::evaluate::atomic::{atomic, atomic_wide, commutes};
use crate::evaluate::{evaluate, execute, warp};
use crate::{
    ArithmeticFlags as Flags, AtomicOperation as Atomic, Operation, ShuffleMode, Space, Type, VoteMode,
};

#[test]
fn shuffles() {
    let source = |mode, lane, by, clamp| warp::shuffle_source(mode, lane, by, clamp);
    assert_eq!(source(ShuffleMode::Down, 3, 2, 0x1f), (5, true));
    assert_eq!(source(ShuffleMode::Down, 31, 1, 0x1f), (31, false));
    assert_eq!(source(ShuffleMode::Up, 3, 2, 0), (1, true));
    assert_eq!(source(ShuffleMode::Up, 1, 2, 0), (1, false));
    assert_eq!(source(ShuffleMode::Bfly, 5, 4, 0x1f), (1, true));
    assert_eq!(source(ShuffleMode::Idx, 9, 3, 0x181f), (11, true));
}

#[test]
fn votes_matches_and_sums() {
    assert_eq!(warp::vote(VoteMode::All, 0b0110, 0b0110), 1);
    assert_eq!(warp::vote(VoteMode::Any, 0b1000, 0b0110), 0);
    assert_eq!(warp::vote(VoteMode::Uni, 0b1000, 0b0110), 1);
    assert_eq!(warp::vote(VoteMode::Ballot, 0b1110, 0b0110), 0b0110);
    let values: [u64; 32] = std::array::from_fn(|lane| lane as u64 % 3);
    assert_eq!(warp::match_any(&values, 32, 0b111_1111)[0], 0b100_1001);
    assert_eq!(warp::match_all(&values, 32, 0b1001), (0b1001, true));
    assert_eq!(warp::match_all(&values, 32, 0b11), (0, false));
    assert_eq!(warp::reduce(Atomic::Add, Type::U32, &values, u32::MAX), Some(31));
    let negative = values.map(|value| value.wrapping_neg());
    assert_eq!(warp::reduce(Atomic::Min, Type::S32, &negative, u32::MAX), Some((-2i64) as u64));
    assert_eq!(warp::reduce(Atomic::Max, Type::S32, &negative, 0), None);
}

#[test]
fn atomics() {
    let new = |operation, ty, old, operand| atomic(operation, ty, Space::Global, old, operand, 0);
    assert_eq!(new(Atomic::Add, Type::U32, u32::MAX.into(), 2), Some(1));
    assert_eq!(new(Atomic::Inc, Type::U32, 5, 5), Some(0));
    assert_eq!(new(Atomic::Dec, Type::U32, 0, 5), Some(5));
    assert_eq!(new(Atomic::Min, Type::S32, 0xffff_ffff, 3), Some(0xffff_ffff));
    assert_eq!(new(Atomic::Max, Type::F16x2, 0x3c00_0000, 0x0000_3c00), Some(0x3c00_3c00));
    // Subnormal numbers are flushed in global memory only.
    assert_eq!(atomic(Atomic::Add, Type::F32, Space::Global, 1, 1, 0), Some(0));
    assert_eq!(atomic(Atomic::Add, Type::F32, Space::Shared, 1, 1, 0), Some(2));
    assert_eq!(atomic(Atomic::CompareExchange, Type::B16, Space::Global, 7, 7, 9), Some(9));
    assert_eq!(atomic(Atomic::CompareExchange, Type::B16, Space::Global, 8, 7, 9), Some(8));
    assert_eq!(atomic(Atomic::Add, Type::Pred, Space::Global, 0, 0, 0), Some(0));
    assert_eq!(atomic(Atomic::Add, Type::B128, Space::Global, 0, 0, 0), None);
    assert_eq!(atomic_wide(Atomic::CompareExchange, 1 << 100, 1 << 100, 3), Some(3));
    assert_eq!(atomic_wide(Atomic::Add, 1, 1, 3), None);
    assert!(commutes(Atomic::Add, Type::S32) && !commutes(Atomic::Add, Type::F32));
}

#[test]
fn only_execution_approximates() {
    let reciprocal = op(Operation::Rcp, Type::F32, Flags::APPROXIMATE);
    let three = u64::from(3.0f32.to_bits());
    assert_eq!(evaluate(&reciprocal, &[three], 1), None);
    let value = execute(&reciprocal, &[three], 1).map(|values| values[0]);
    assert_eq!(value, Some(u64::from((1.0f32 / 3.0).to_bits())));
    assert_eq!(error(&reciprocal), Some(Error::Places(1.5)));
    assert_eq!(error(&op(Operation::Rcp, Type::F32, Flags::NEAREST)), None);
    let divide = op(Operation::Div, Type::U32, 0);
    assert_eq!(evaluate(&divide, &[5, 0], 1), None);
    assert_eq!(execute(&divide, &[5, 0], 1).map(|values| values[0]), Some(0xffff_ffff));
    // A modifier that nobody knows stays unknown to both.
    assert_eq!(execute(&op(Operation::Add, Type::U32, Flags::OTHER), &[1, 1], 1), None);
    let product = op(Operation::Mul, Type::U32, Flags::OTHER | Flags::MODELLED | Flags::TWENTY_FOUR);
    assert_eq!(evaluate(&product, &[1, 1], 1), None);
    assert_eq!(execute(&product, &[0x0100_0003, 5], 1).map(|values| values[0]), Some(15));
}

#[test]
fn eight_bit_numbers() {
    let single = |value: f32| u64::from(value.to_bits());
    let saturating = Flags::NEAREST | Flags::FINITE;
    check(cvt(Type::E4m3x2, Type::F32, saturating), &[single(448.0), single(-1e9)], &[0x7efe]);
    check(cvt(Type::E5m2x2, Type::F32, saturating), &[single(1.0), single(f32::NAN)], &[0x3c7f]);
    check(cvt(Type::F16x2, Type::E4m3x2, Flags::NEAREST), &[0x7e01], &[0x5f00_1800]);
    check(cvt(Type::F16x2, Type::E5m2x2, Flags::NEAREST), &[0x7b80], &[0x7b00_8000]);
    // Less than a byte: 6.0 and 0.5 are the greatest and least of E2M1, 7.5 and 28.0 of the others.
    check(cvt(Type::E2m1x2, Type::F32, saturating), &[single(100.0), single(-0.5)], &[0x79]);
    check(cvt(Type::E2m1x2, Type::F32, saturating), &[single(f32::NAN), single(0.25)], &[0x70]);
    check(cvt(Type::E2m3x2, Type::F32, saturating), &[single(7.5), single(-0.125)], &[0x1f21]);
    check(cvt(Type::E3m2x2, Type::F32, saturating), &[single(28.0), single(0.0625)], &[0x1f01]);
    check(cvt(Type::F16x2, Type::E2m1x2, Flags::NEAREST), &[0x79], &[0x4600_b800]);
    check(cvt(Type::F16x2, Type::E3m2x2, Flags::NEAREST), &[0x1f01], &[0x4f00_2c00]);
}
