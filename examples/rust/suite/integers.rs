//! Integers of each width, truth values, and conversions between them.

use super::{Case, pairs};

/// Everything that an integer can do; sums and products wrap around, what would divide by zero is left out.
macro_rules! integers {
    ($($name:ident $ty:ident $values:expr;)*) => { $(
        pairs!($name(a, b: $ty) -> u64 {
            let mut all = a.wrapping_add(b) as u64;
            all = all.wrapping_mul(31) ^ a.wrapping_sub(b) as u64;
            all = all.wrapping_mul(31) ^ a.wrapping_mul(b) as u64;
            if b != 0 && b.wrapping_add(1) != 0 {
                all = all.wrapping_mul(31) ^ (a / b) as u64;
                all = all.wrapping_mul(31) ^ (a % b) as u64;
            }
            let amount = (b & 7) as u32;
            all = all.wrapping_mul(31) ^ ((a & b) | (a ^ !b)) as u64;
            all = all.wrapping_mul(31) ^ (a << amount) as u64;
            all = all.wrapping_mul(31) ^ (a >> amount) as u64;
            all = all.wrapping_mul(31) ^ a.wrapping_shl(b as u32) as u64;
            all = all.wrapping_mul(31) ^ a.wrapping_shr(b as u32) as u64;
            all = all.wrapping_mul(31) ^ a.min(b) as u64;
            all = all.wrapping_mul(31) ^ a.max(b) as u64;
            let order = (a < b) as u32 | ((a <= b) as u32) << 1 | ((a == b) as u32) << 2 | ((a != b) as u32) << 3
                | ((a > b) as u32) << 4 | ((a >= b) as u32) << 5;
            let bits = a.count_ones() * 10000 + b.leading_zeros() * 100 + a.trailing_zeros();
            all.wrapping_mul(31).wrapping_add((order + bits) as u64)
        } of $values);
    )* };
}

integers! {
    signed_8 i8 [0i8, 1, -1, 5, -7, 100, -100, i8::MAX, i8::MIN];
    signed_16 i16 [0i16, 1, -1, 7, -300, 12345, i16::MAX, i16::MIN];
    signed_32 i32 [0i32, 1, -1, 2, 7, -7, 1_000_003, 0x1234_5678, i32::MAX, i32::MIN];
    signed_64 i64 [0i64, 1, -1, 63, -1_000_000_007, 1 << 40, -(1 << 33), i64::MAX, i64::MIN];
    signed_size isize [0isize, 1, -1, 999_999_999_999, isize::MAX, isize::MIN];
    unsigned_8 u8 [0u8, 1, 2, 7, 31, 128, 200, u8::MAX];
    unsigned_16 u16 [0u16, 1, 7, 255, 256, 0x8000, 54321, u16::MAX];
    unsigned_32 u32 [0u32, 1, 2, 3, 31, 32, 255, 1_000_000_007, 0x8000_0000, u32::MAX];
    unsigned_64 u64 [0u64, 1, 3, 64, 1 << 32, 0xdead_beef_cafe_f00d, 1 << 63, u64::MAX];
    unsigned_size usize [0usize, 1, 10, 1 << 33, 12_345_678_901_234, usize::MAX];
}

pairs!(truths(a, b: bool) -> u32 {
    let mut all = (a & b) as u32 | ((a | b) as u32) << 1 | ((a ^ b) as u32) << 2 | ((!a) as u32) << 3;
    all |= ((a && b) as u32) << 4 | ((a || !b) as u32) << 5 | ((a == b) as u32) << 6 | ((a != b) as u32) << 7;
    let chosen = if a { b } else { !b };
    all | (chosen as u32) << 8
} of [false, true]);

pairs!(negation(a, b: i32) -> i64 {
    let negative = if a == i32::MIN { 0 } else { -a };
    let narrow = if b as i8 == -128 { 0i8 } else { -(b as i8) };
    let wide = -((a as i64) << 20);
    let size = if a == i32::MIN { 3 } else { a.abs() };
    wide ^ (negative as i64) ^ (narrow as i64) << 3 ^ (size as i64) << 5
} of [0, 1, -1, 77, -128, 128, 100_000, i32::MAX, i32::MIN]);

pairs!(integer_casts(a, b: i64) -> u64 {
    let mut all = a as i8 as u64;
    all = all.wrapping_mul(31) ^ (a as u8 as u64);
    all = all.wrapping_mul(31) ^ (a as i16 as i64 as u64);
    all = all.wrapping_mul(31) ^ (b as u16 as i32 as u64);
    all = all.wrapping_mul(31) ^ (a as i32 as u32 as u64);
    all = all.wrapping_mul(31) ^ (b as u32 as i64 as u64);
    all = all.wrapping_mul(31) ^ (b as i8 as u32 as u64);
    all = all.wrapping_mul(31) ^ (a as u8 as i8 as i16 as u16 as u64);
    all.wrapping_mul(31) ^ (b as usize as u64) ^ (a as isize as u64) ^ ((a > b) as u8 as u64)
} of [0, 1, -1, 127, 128, -129, 255, 40_000, -40_000, 0x7fff_ffff, 0x8000_0000, -0x8000_0001, i64::MAX, i64::MIN]);

pub(super) const CASES: &[Case] = &[
    signed_8::CASE,
    signed_16::CASE,
    signed_32::CASE,
    signed_64::CASE,
    signed_size::CASE,
    unsigned_8::CASE,
    unsigned_16::CASE,
    unsigned_32::CASE,
    unsigned_64::CASE,
    unsigned_size::CASE,
    truths::CASE,
    negation::CASE,
    integer_casts::CASE,
];
