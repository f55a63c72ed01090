//! The quick functions for 32 lanes give what `execute` gives for each.

use proptest::prelude::*;

use crate::evaluate::execute;
use crate::evaluate::lanes::{Lanes, each, fused_single, lanes};
use crate::{Arithmetic, ArithmeticFlags as Flags, BooleanOperation, Comparison, Operation, Type};

const OPERATIONS: &[Operation] = {
    use Operation::*;
    &[
        Mov, Cvt, Cvta, Add, Sub, Mul, Mad, Div, Rcp, Sqrt, Fma, Abs, Neg, Min, Max, Setp, Selp, And, Or,
        Xor, Not, Shl, Shr, AddCarry, Sad, Rem, Popc, Clz, Brev, Shf, Lop3, Dp4a, Rsqrt, Ex2, Lg2,
    ]
};

const TYPES: &[Type] = {
    use Type::*;
    &[Pred, B16, B32, B64, U8, U16, U32, U64, S8, S16, S32, S64, F16, F16x2, Bf16, Bf16x2, F32, F64, S16x2]
};

const FLAGS: &[u32] = &[
    0,
    Flags::LOW,
    Flags::HIGH,
    Flags::WIDE,
    Flags::NEAREST,
    Flags::FLUSH,
    Flags::NEAREST | Flags::FLUSH,
    Flags::NEAREST | Flags::SATURATE,
    Flags::ZERO_INTEGER,
    Flags::DOWN,
    Flags::APPROXIMATE,
    Flags::APPROXIMATE | Flags::FLUSH,
    Flags::WRAP,
    Flags::WRAP | Flags::HIGH,
    Flags::SATURATE,
];

const COMPARISONS: &[Comparison] = {
    use Comparison::*;
    &[None, Eq, Ne, Lt, Le, Gt, Ge, Lo, Ls, Hi, Hs, Equ, Neu, Ltu, Num, Nan]
};

/// Compares the two for one set of sources; how many forms had a quick function.
fn compare(sources: [Lanes; 4]) -> usize {
    let mut found = 0;
    for &operation in OPERATIONS {
        for &ty in TYPES {
            for &flags in FLAGS {
                let comparisons = if operation == Operation::Setp { COMPARISONS } else { &COMPARISONS[..1] };
                let others = if operation == Operation::Cvt { TYPES } else { &[ty][..] };
                for (&comparison, &from) in comparisons
                    .iter()
                    .flat_map(|comparison| others.iter().map(move |from| (comparison, from)))
                {
                    let flags = Flags(flags);
                    let combine = BooleanOperation::None;
                    let arithmetic = Arithmetic { operation, ty, from, comparison, combine, flags };
                    for count in 1..=4 {
                        let Some(function) = lanes(&arithmetic, count, 1) else { continue };
                        found += 1;
                        let mut quick = [0; 32];
                        let borrowed: Vec<&Lanes> = sources[..count].iter().collect();
                        function(&borrowed, &mut quick);
                        for lane in 0..32 {
                            let values: Vec<u64> = borrowed.iter().map(|source| source[lane]).collect();
                            let expected = execute(&arithmetic, &values, 1).map(|values| values[0]);
                            assert_eq!(Some(quick[lane]), expected, "{arithmetic:?} of {values:x?}");
                        }
                    }
                }
            }
        }
    }
    found
}

#[test]
fn edges() {
    let edges: [u64; 16] = [
        0,
        1,
        u64::MAX,
        1 << 63,
        1 << 31,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0001,
        0x7ff0 << 48,
        0xfff8 << 48,
        1 << 15,
        0x3f80_0000,
        0x4f00_0000,
        0x0080_0000,
        0x3ff0 << 48,
        33,
    ];
    let mut found = usize::MAX;
    for shift in 0..16 {
        let row = |by: usize| std::array::from_fn(|lane| edges[(lane * by + shift) % 16]);
        found = compare([row(1), row(3), row(5), [edges[shift] ^ 0x6a; 32]]);
    }
    assert!(found > 150, "{found}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn random(seed in any::<[u64; 32]>(), other in any::<[u64; 32]>(), third in any::<[u64; 32]>()) {
        let table = [seed[0]; 32];
        compare([seed, other, third, table]);
        compare([other.map(|value| value & 0x7fff_7fff), seed, third.map(|value| value & 0x8fff_8fff), table]);
        // Small numbers, and shifts within the width.
        compare([seed, other.map(|value| value & 63), third.map(|value| value >> 40), table]);
    }

    #[test]
    fn fused_single_is_rounded_once(a in any::<u32>(), b in any::<u32>(), c in any::<u32>(), near in 0u32..64) {
        for c in [c, (f32::from_bits(a) * f32::from_bits(b)).to_bits().wrapping_sub(near) ^ 0x8000_0000] {
            let (a, b, c) = (f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
            let (ours, host) = (fused_single(a, b, c), a.mul_add(b, c));
            prop_assert!(ours.to_bits() == host.to_bits() || ours.is_nan() && host.is_nan(), "{a:e} {b:e} {c:e}");
        }
    }
}

#[test]
fn other_operations_lane_by_lane() {
    let arithmetic = Arithmetic { from: Type::U32, ..super::op(Operation::Popc, Type::B32, 0) };
    let source = std::array::from_fn(|lane| lane as u64);
    let mut result = [77; 32];
    assert!(each(&arithmetic, &[&source], &mut [&mut result], 0b1001));
    assert_eq!((result[0], result[1], result[3]), (0, 77, 2));
    // Nothing is known of the block's rank here.
    assert!(!each(&super::op(Operation::GetCtaRank, Type::U32, 0), &[&source], &mut [&mut result], 1));
}
