use proptest::prelude::*;

use super::{check, cvt, one, op, unknown};
use crate::evaluate::softfloat::{self, Format, Rounding};
use crate::{ArithmeticFlags as Flags, Operation, Type};

const RN: u32 = Flags::NEAREST;
const NAN: u64 = 0x7fff_ffff;

fn f(value: f32) -> u64 {
    value.to_bits().into()
}

fn d(value: f64) -> u64 {
    value.to_bits()
}

#[test]
fn single_precision() {
    check(op(Operation::Add, Type::F32, RN), &[f(0.1), f(0.2)], &[f(0.1 + 0.2)]);
    check(op(Operation::Sub, Type::F32, 0), &[f(1.0), f(1.0)], &[0]);
    check(op(Operation::Sub, Type::F32, Flags::DOWN), &[f(1.0), f(1.0)], &[f(-0.0)]);
    check(op(Operation::Add, Type::F32, RN), &[f(f32::INFINITY), f(f32::NEG_INFINITY)], &[NAN]);
    check(op(Operation::Mul, Type::F32, RN | Flags::SATURATE), &[f(2.0), f(3.0)], &[f(1.0)]);
    check(op(Operation::Mul, Type::F32, RN | Flags::SATURATE), &[f(-2.0), f(3.0)], &[0]);
    check(op(Operation::Add, Type::F32, RN | Flags::SATURATE), &[f(f32::NAN), f(3.0)], &[0]);
    // Subnormal inputs and results are flushed to zero with their sign.
    check(op(Operation::Add, Type::F32, RN | Flags::FLUSH), &[0x8000_0001, 0x8000_0001], &[0x8000_0000]);
    check(op(Operation::Mul, Type::F32, RN | Flags::FLUSH), &[f(-1e-30), f(1e-10)], &[f(-0.0)]);
    check(op(Operation::Add, Type::F32, RN), &[1, 1], &[2]);
    check(op(Operation::Neg, Type::F32, 0), &[f(1.5)], &[f(-1.5)]);
    check(op(Operation::Abs, Type::F32, Flags::FLUSH), &[0x8000_0001], &[0]);
    check(op(Operation::Copysign, Type::F32, 0), &[f(-1.0), f(2.0)], &[f(-2.0)]);
    check(op(Operation::Div, Type::F32, RN), &[f(1.0), f(-0.0)], &[f(f32::NEG_INFINITY)]);
    check(op(Operation::Rcp, Type::F32, RN), &[f(3.0)], &[f(1.0 / 3.0)]);
    check(op(Operation::Sqrt, Type::F32, RN), &[f(-1.0)], &[NAN]);
    check(op(Operation::Sqrt, Type::F32, RN), &[f(-0.0)], &[f(-0.0)]);
    check(
        op(Operation::Fma, Type::F32x2, RN),
        &[f(2.0) << 32 | f(3.0), f(5.0) << 32 | f(7.0), 0],
        &[f(10.0) << 32 | f(21.0)],
    );
    for (operation, flags) in [
        (Operation::Div, Flags::FULL),
        (Operation::Div, 0),
        (Operation::Rcp, Flags::APPROXIMATE),
        (Operation::Sqrt, Flags::APPROXIMATE),
        (Operation::Sin, Flags::APPROXIMATE),
        (Operation::Ex2, Flags::APPROXIMATE),
    ] {
        unknown(
            op(operation, Type::F32, flags),
            &[f(1.0), f(1.0)][..if operation == Operation::Div { 2 } else { 1 }],
        );
    }
}

#[test]
fn minimum_and_maximum() {
    let (min, max) = (op(Operation::Min, Type::F32, 0), op(Operation::Max, Type::F32, 0));
    check(min, &[f(0.0), f(-0.0)], &[f(-0.0)]);
    check(max, &[f(-0.0), f(0.0)], &[f(0.0)]);
    check(min, &[f(f32::NAN), f(3.0)], &[f(3.0)]);
    check(max, &[f(3.0), f(f32::NAN)], &[f(3.0)]);
    check(max, &[f(f32::NAN), f(f32::NAN)], &[NAN]);
    check(op(Operation::Max, Type::F32, Flags::NAN), &[f(3.0), f(f32::NAN)], &[NAN]);
    check(min, &[f(-2.0), f(-3.0)], &[f(-3.0)]);
    check(max, &[f(f32::NEG_INFINITY), f(-3.0)], &[f(-3.0)]);
    check(op(Operation::Max, Type::F64, 0), &[d(1.0), d(2.0)], &[d(2.0)]);
    check(op(Operation::Min, Type::F16x2, 0), &[0x3c00_4000, 0x4000_3c00], &[0x3c00_3c00]);
}

#[test]
fn double_precision_nans_keep_their_payload() {
    let payload = 0x7ff8_0000_0000_1234;
    check(op(Operation::Add, Type::F64, RN), &[d(1.0), payload], &[payload]);
    check(op(Operation::Mul, Type::F64, RN), &[0x7ff0_0000_0000_0001, d(1.0)], &[0x7ff8_0000_0000_0001]);
    check(op(Operation::Div, Type::F64, RN), &[0, 0], &[0xfff8_0000_0000_0000]);
}

#[test]
fn a_quotient_just_above_a_tie() {
    let below_one = 1.0f64.next_down();
    let found = softfloat::divide(Format::F64, d(1.0), d(below_one), Rounding::Nearest);
    assert_eq!(found, Some(d(1.0f64.next_up())));
}

#[test]
fn half_precision() {
    let (one, two, nan) = (0x3c00, 0x4000, 0x7fff);
    check(op(Operation::Add, Type::F16, RN), &[one, one], &[two]);
    check(op(Operation::Fma, Type::F16, RN | Flags::RELU), &[one, 0xbc00, 0], &[0]);
    check(op(Operation::Fma, Type::F16, RN | Flags::RELU), &[nan, one, one], &[nan]);
    check(op(Operation::Mul, Type::F16, RN), &[0x7bff, two], &[0x7c00]);
    check(op(Operation::Mul, Type::Bf16, RN), &[0x3f80, 0x4000], &[0x4000]);
    check(op(Operation::Add, Type::F16x2, RN), &[0x3c00_4000, 0x3c00_0000], &[0x4000_4000]);
}

#[test]
fn conversions() {
    let (rzi, rni, rmi, rpi) =
        (Flags::ZERO_INTEGER, Flags::NEAREST_INTEGER, Flags::DOWN_INTEGER, Flags::UP_INTEGER);
    for (flags, value, expected) in [
        (rzi, -1.5f32, -1i64),
        (rni, 2.5, 2),
        (rni, 3.5, 4),
        (rmi, -1.25, -2),
        (rpi, 1.25, 2),
        (rzi, 1e20, i32::MAX.into()),
        (rzi, f32::NEG_INFINITY, i32::MIN.into()),
        (rzi, f32::NAN, 0),
    ] {
        check(cvt(Type::S32, Type::F32, flags), &[f(value)], &[expected as u64]);
    }
    check(cvt(Type::U32, Type::F32, rzi), &[f(-5.0)], &[0]);
    check(cvt(Type::U8, Type::F32, rni), &[f(300.0)], &[255]);
    // Not a number: see the table of the ISA.
    check(cvt(Type::S64, Type::F32, rzi), &[f(f32::NAN)], &[1 << 63]);
    check(cvt(Type::S32, Type::F64, rzi), &[d(f64::NAN)], &[i32::MIN as i64 as u64]);
    check(cvt(Type::U32, Type::F64, rzi), &[d(f64::NAN)], &[1 << 31]);
    check(cvt(Type::S32, Type::F32, rpi), &[1], &[1]);
    check(cvt(Type::S32, Type::F32, rpi | Flags::FLUSH), &[1], &[0]);
    unknown(cvt(Type::S32, Type::F32, 0), &[0]);

    check(cvt(Type::F32, Type::S32, RN), &[i32::MAX as u64], &[f(i32::MAX as f32)]);
    check(cvt(Type::F32, Type::S32, Flags::TOWARD_ZERO), &[i32::MAX as u64], &[f(2147483520.0)]);
    check(cvt(Type::F32, Type::U64, Flags::UP), &[u64::MAX], &[f(u64::MAX as f32)]);
    check(cvt(Type::F16, Type::S32, RN), &[70000], &[0x7c00]);
    check(cvt(Type::F16, Type::S32, Flags::TOWARD_ZERO), &[70000], &[0x7bff]);

    check(cvt(Type::F32, Type::F64, RN), &[d(0.1)], &[f(0.1)]);
    check(cvt(Type::F64, Type::F32, 0), &[f(0.1)], &[d(0.1f32.into())]);
    check(cvt(Type::F32, Type::F64, Flags::UP), &[d(1e-60)], &[1]);
    check(cvt(Type::F32, Type::F64, RN), &[d(f64::NAN)], &[0x7fc0_0000]);
    check(cvt(Type::F32, Type::F32, rni), &[f(-0.4)], &[f(-0.0)]);
    check(cvt(Type::F32, Type::F32, rpi), &[f(1e30)], &[f(1e30)]);
    check(cvt(Type::F64, Type::F64, rmi), &[d(-2.5)], &[d(-3.0)]);
    check(cvt(Type::F32, Type::F32, Flags::SATURATE), &[f(1.5)], &[f(1.0)]);
    check(cvt(Type::F32, Type::F32, Flags::FLUSH), &[0x8000_0001], &[0x8000_0000]);
    check(cvt(Type::F16, Type::F32, RN), &[f(65520.0)], &[0x7c00]);
    check(cvt(Type::F16, Type::F32, RN), &[f(65519.0)], &[0x7bff]);
    check(cvt(Type::F16, Type::F32, RN | Flags::RELU), &[f(-2.0)], &[0]);
    check(cvt(Type::F32, Type::F16, 0), &[1], &[f(5.960_464_5e-8)]);
    check(cvt(Type::F32, Type::Bf16, 0), &[0x3f81], &[0x3f81_0000]);
    check(cvt(Type::Bf16, Type::F32, RN), &[0x3f80_8000], &[0x3f80]);
    check(cvt(Type::Bf16, Type::F32, RN), &[0x3f81_8000], &[0x3f82]);
    // The first source goes to the upper half.
    check(cvt(Type::F16x2, Type::F32, RN), &[f(1.0), f(2.0)], &[0x3c00_4000]);
    unknown(cvt(Type::F32, Type::F64, 0), &[0]);
    check(cvt(Type::Tf32, Type::F32, RN), &[0x3f80_1800], &[0x3f80_2000]);
}

/// The value of a half-precision number by definition; `None` when not finite.
fn half_value(bits: u64) -> Option<f64> {
    let (sign, field, fraction) = (bits >> 15, (bits >> 10 & 31) as i32, (bits & 1023) as f64);
    let magnitude = match field {
        31 => return None,
        0 => fraction * 2f64.powi(-24),
        _ => (1024.0 + fraction) * 2f64.powi(field - 25),
    };
    Some(if sign == 1 { -magnitude } else { magnitude })
}

const MODES: [(Rounding, u32); 4] = [
    (Rounding::Nearest, Flags::NEAREST),
    (Rounding::Zero, Flags::TOWARD_ZERO),
    (Rounding::Down, Flags::DOWN),
    (Rounding::Up, Flags::UP),
];

/// Rounds to half precision by search among its positive numbers.
fn nearest_half(value: f64, rounding: Rounding) -> u64 {
    let magnitude = value.abs();
    let sign = u64::from(value.is_sign_negative()) << 15;
    // The largest number that is not greater; infinity stands for 65536.
    let number = |bits: u64| half_value(bits).unwrap_or(65536.0);
    let mut below =
        (0..0x7c00u64).collect::<Vec<_>>().partition_point(|&bits| number(bits) <= magnitude) as u64 - 1;
    let exact = number(below) == magnitude;
    let (to_below, to_above) = (magnitude - number(below), number(below + 1) - magnitude);
    let up = match rounding {
        Rounding::Nearest => to_above < to_below || (to_above == to_below && below & 1 == 1),
        Rounding::NearestAway => to_above <= to_below,
        Rounding::Zero => false,
        Rounding::Down => sign != 0,
        Rounding::Up => sign == 0,
    };
    if !exact && up {
        below += 1;
    }
    sign | below
}

#[test]
fn every_half_precision_number_survives() {
    for bits in 0..=0xffffu64 {
        let single = one(cvt(Type::F32, Type::F16, 0), &[bits]);
        if let Some(value) = half_value(bits) {
            assert_eq!(f64::from(f32::from_bits(single as u32)).to_bits(), value.to_bits());
            assert_eq!(one(cvt(Type::F16, Type::F32, RN), &[single]), bits);
            assert_eq!(one(cvt(Type::F16, Type::F64, RN), &[d(value)]), bits);
        }
        let single = one(cvt(Type::F32, Type::Bf16, 0), &[bits]);
        if !f32::from_bits(single as u32).is_nan() {
            assert_eq!(single, bits << 16);
            assert_eq!(one(cvt(Type::Bf16, Type::F32, RN), &[single]), bits);
        }
    }
}

/// What directed rounding gives when rounding to nearest gave `nearest` and the exact value is greater
/// by something of the sign of `residual`.
fn directed(nearest: f64, residual: f64, rounding: Rounding) -> f64 {
    let up = match rounding {
        Rounding::Nearest | Rounding::NearestAway => return nearest,
        Rounding::Zero => nearest < 0.0,
        Rounding::Down => false,
        Rounding::Up => true,
    };
    if up && residual > 0.0 {
        nearest.next_up()
    } else if !up && residual < 0.0 {
        nearest.next_down()
    } else {
        nearest
    }
}

/// A rounding to whole numbers.
type Round = fn(f64) -> f64;

/// Same number, or both NaN.
fn same(found: Option<u64>, expected: f64) -> bool {
    match found {
        None => expected.is_nan(),
        Some(bits) => bits == expected.to_bits(),
    }
}

/// Numbers of which many are special or close to each other.
fn doubles() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        (any::<i32>(), -60i32..60).prop_map(|(value, power)| f64::from(value) * 2f64.powi(power)),
        prop::sample::select(vec![
            0.0,
            -0.0,
            1.0,
            -1.0,
            f64::INFINITY,
            f64::MIN_POSITIVE,
            f64::MAX,
            5e-324,
            1.0f64.next_down()
        ]),
    ]
}

fn singles() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<u32>().prop_map(f32::from_bits),
        (any::<i16>(), -60i32..60).prop_map(|(value, power)| f32::from(value) * 2f32.powi(power)),
        prop::sample::select(vec![
            0.0,
            -0.0,
            1.0,
            -1.0,
            f32::INFINITY,
            f32::MIN_POSITIVE,
            f32::MAX,
            1e-45,
            1.0f32.next_down()
        ]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

    #[test]
    fn double_precision_as_the_host_does(a in doubles(), b in doubles(), c in doubles()) {
        let nearest = Rounding::Nearest;
        let format = Format::F64;
        prop_assert!(same(softfloat::add(format, d(a), d(b), nearest), a + b));
        prop_assert!(same(softfloat::multiply(format, d(a), d(b), nearest), a * b));
        prop_assert!(same(softfloat::fused(format, d(a), d(b), d(c), nearest), a.mul_add(b, c)));
        prop_assert!(same(softfloat::divide(format, d(a), d(b), nearest), a / b));
        prop_assert!(same(softfloat::square_root(format, d(a), nearest), a.sqrt()));
    }

    #[test]
    fn single_precision_as_the_host_does(a in singles(), b in singles(), c in singles()) {
        let nearest = Rounding::Nearest;
        let format = Format::F32;
        let same = |found: Option<u64>, expected: f32| match found {
            None => expected.is_nan(),
            Some(bits) => bits == f(expected),
        };
        prop_assert!(same(softfloat::add(format, f(a), f(b), nearest), a + b));
        prop_assert!(same(softfloat::multiply(format, f(a), f(b), nearest), a * b));
        prop_assert!(same(softfloat::fused(format, f(a), f(b), f(c), nearest), a.mul_add(b, c)));
        prop_assert!(same(softfloat::divide(format, f(a), f(b), nearest), a / b));
        prop_assert!(same(softfloat::square_root(format, f(a), nearest), a.sqrt()));
        // The whole path, with its fast side.
        let sum = one(op(Operation::Add, Type::F32, RN), &[f(a), f(b)]);
        prop_assert_eq!(sum, if (a + b).is_nan() { NAN } else { f(a + b) });
    }

    #[test]
    fn directed_rounding_is_exact(
        a in -1e9f64..1e9, b in -1e9f64..1e9, c in -1e9f64..1e9, small in -80i32..80,
    ) {
        let b = b * 2f64.powi(small);
        prop_assume!(a != 0.0 && b != 0.0);
        for (rounding, flags) in MODES {
            let sum = a + b;
            // The exact error of a sum (Knuth).
            let part = sum - a;
            let error = (a - (sum - part)) + (b - part);
            let expected = directed(sum, error, rounding);
            if sum != 0.0 {
                prop_assert_eq!(one(op(Operation::Add, Type::F64, flags), &[d(a), d(b)]), d(expected));
            }
            let product = a * b;
            let expected = directed(product, a.mul_add(b, -product), rounding);
            prop_assert_eq!(one(op(Operation::Mul, Type::F64, flags), &[d(a), d(b)]), d(expected));
            let quotient = a / b;
            let residual = (-quotient).mul_add(b, a) * b.signum();
            let expected = directed(quotient, residual, rounding);
            prop_assert_eq!(one(op(Operation::Div, Type::F64, flags), &[d(a), d(b)]), d(expected));
            let root = a.abs().sqrt();
            let expected = directed(root, (-root).mul_add(root, a.abs()), rounding);
            prop_assert_eq!(one(op(Operation::Sqrt, Type::F64, flags), &[d(a.abs())]), d(expected));
            // A single-precision product is exact in double precision.
            let (x, y) = (a as f32, c as f32);
            let exact = f64::from(x) * f64::from(y);
            let nearest = exact as f32;
            let expected = match directed(0.0, exact - f64::from(nearest), rounding) {
                _ if rounding == Rounding::Nearest => nearest,
                _ if rounding == Rounding::Zero && nearest.abs() as f64 > exact.abs() => {
                    f32::from_bits(nearest.to_bits() - 1)
                }
                step if step > 0.0 && rounding == Rounding::Up => nearest.next_up(),
                step if step < 0.0 && rounding == Rounding::Down => nearest.next_down(),
                _ => nearest,
            };
            prop_assert_eq!(one(op(Operation::Mul, Type::F32, flags), &[f(x), f(y)]), f(expected));
            prop_assert_eq!(one(cvt(Type::F32, Type::F64, flags), &[d(exact)]), f(expected));
        }
    }

    #[test]
    fn conversions_to_integers_as_the_host_does(a in doubles(), b in singles()) {
        let modes: [(u32, Round); 4] = [
            (Flags::ZERO_INTEGER, f64::trunc),
            (Flags::NEAREST_INTEGER, f64::round_ties_even),
            (Flags::DOWN_INTEGER, f64::floor),
            (Flags::UP_INTEGER, f64::ceil),
        ];
        for (flags, round) in modes {
            if !a.is_nan() {
                prop_assert_eq!(one(cvt(Type::S64, Type::F64, flags), &[d(a)]), round(a) as i64 as u64);
                prop_assert_eq!(one(cvt(Type::U64, Type::F64, flags), &[d(a)]), round(a) as u64);
                prop_assert_eq!(one(cvt(Type::F64, Type::F64, flags), &[d(a)]), d(round(a)));
            }
            let value = round(b.into());
            prop_assert_eq!(one(cvt(Type::S32, Type::F32, flags), &[f(b)]), value as i32 as i64 as u64);
            prop_assert_eq!(one(cvt(Type::U16, Type::F32, flags), &[f(b)]), u64::from(value as u16));
        }
    }

    #[test]
    fn conversions_from_integers_as_the_host_does(value: u64, shift in 0u32..64) {
        let value = value >> shift;
        prop_assert_eq!(one(cvt(Type::F32, Type::U64, RN), &[value]), f(value as f32));
        prop_assert_eq!(one(cvt(Type::F64, Type::S64, RN), &[value]), d(value as i64 as f64));
        prop_assert_eq!(one(cvt(Type::F32, Type::S32, RN), &[value]), f(value as i32 as f32));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn half_precision_rounds_to_its_neighbours(a in 0u64..0x1_0000, b in 0u64..0x1_0000, value in -70000f32..70000.0, power in 0i32..35) {
        let value = value * 2f32.powi(-power);
        for (rounding, flags) in MODES {
            let expected = nearest_half(value.into(), rounding);
            if value.abs() < 65504.0 {
                prop_assert_eq!(one(cvt(Type::F16, Type::F32, flags), &[f(value)]), expected);
            }
        }
        if let (Some(x), Some(y)) = (half_value(a), half_value(b)) {
            // Sums and products of half-precision numbers are exact in double precision.
            for (operation, exact) in [(Operation::Add, x + y), (Operation::Mul, x * y)] {
                if exact.abs() < 65504.0 && (exact != 0.0 || operation == Operation::Mul) {
                    prop_assert_eq!(one(op(operation, Type::F16, RN), &[a, b]), nearest_half(exact, Rounding::Nearest));
                }
            }
        }
    }
}
