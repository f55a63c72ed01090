//! Floating-point numbers: rounding, NaN, subnormal numbers, conversions.

use super::{Case, pairs};

const SINGLES: [f32; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.1,
    1.000_000_1,
    2.5,
    -2.5,
    255.7,
    -129.2,
    70_000.6,
    3.0e9,
    -3.0e9,
    16_777_217.0,
    1.0e-40,
    -7.0e-45,
    1.0e20,
    f32::MIN_POSITIVE,
    f32::MAX,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];
const DOUBLES: [f64; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    0.300_000_000_000_000_04,
    255.9,
    -32_769.5,
    4.0e9,
    -9.3e18,
    1.9e19,
    1.0e-310,
    -5.0e-324,
    1.000_000_059_604_645,
    3.5e38,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];
const LONG: [i64; 12] = [
    0,
    1,
    -1,
    16_777_217,
    -33_554_435,
    9_007_199_254_740_993,
    -9_007_199_254_740_995,
    1 << 40,
    0x7fff_ff80_0000_0001,
    i64::MAX,
    i64::MIN,
    -2,
];

pairs!(single_sums(a, b: f32) -> f32 { (a + b) * 0.75 - b } of SINGLES);
pairs!(single_products(a, b: f32) -> f32 { a * b } of SINGLES);
pairs!(single_quotients(a, b: f32) -> f32 { a / b } of SINGLES);
pairs!(single_remainders(a, b: f32) -> f32 { a % b } of [0.0f32, -0.0, 1.0, -1.0, 2.5, 0.1, 0.75, 17.0, -33.25, 1.0e6, f32::INFINITY, f32::NAN]);
pairs!(double_remainders(a, b: f64) -> f64 { a % b } of [0.0f64, 1.0, -1.0, 0.1, 0.3, 0.75, -7.0e9, 1.0e12, f64::NEG_INFINITY]);
pairs!(double_sums(a, b: f64) -> f64 { (a + b) * 0.75 - b } of DOUBLES);
pairs!(double_products(a, b: f64) -> f64 { a * b } of DOUBLES);
pairs!(double_quotients(a, b: f64) -> f64 { -a / b } of DOUBLES);
pairs!(single_functions(a, b: f32) -> f32 {
    let parts = a.abs().sqrt() + b.floor() - a.ceil() + b.trunc();
    let ends = (a.min(b) + 0.0) * 0.5 - (a.max(b) + 0.0);
    if b > 1.0 { parts } else { ends }
} of SINGLES);
pairs!(double_functions(a, b: f64) -> f64 {
    let parts = a.abs().sqrt() + b.floor() - a.ceil() + b.trunc();
    let ends = (a.min(b) + 0.0) * 0.5 - (a.max(b) + 0.0);
    if b > 1.0 { parts } else { ends }
} of DOUBLES);
pairs!(single_fused(a, b: f32) -> f32 { a.mul_add(b, 1.000_000_1) } of SINGLES);
pairs!(double_fused(a, b: f64) -> f64 { a.mul_add(b, -1.0) } of DOUBLES);
pairs!(single_roots(a, b: f32) -> f32 { (a * a + b * b).sqrt() } of SINGLES);
pairs!(float_order(a, b: f32) -> u32 {
    let wide = a as f64;
    let other = b as f64;
    (a < b) as u32 | ((a <= b) as u32) << 1 | ((a == b) as u32) << 2 | ((a != b) as u32) << 3
        | ((a > b) as u32) << 4 | ((a >= b) as u32) << 5 | (a.is_nan() as u32) << 6
        | ((wide < other) as u32) << 7 | ((wide != other) as u32) << 8 | ((wide >= other) as u32) << 9
        | (wide.is_nan() as u32) << 10
} of SINGLES);
pairs!(float_bits(a, b: f32) -> u64 {
    let mixed = f32::from_bits((a.to_bits() & 0x8000_0000) | (b.to_bits() & 0x7fff_ffff));
    let wide = f64::from_bits((b.to_bits() as u64) << 32 | a.to_bits() as u64);
    (mixed.to_bits() as u64) ^ wide.to_bits()
} of SINGLES);
pairs!(single_to_integer(a, b: f32) -> u64 {
    let mut all = a as i8 as u64;
    all = all.wrapping_mul(31) ^ (b as u8 as u64);
    all = all.wrapping_mul(31) ^ (a as i16 as u64);
    all = all.wrapping_mul(31) ^ (b as u16 as u64);
    all = all.wrapping_mul(31) ^ (a as i32 as u64);
    all = all.wrapping_mul(31) ^ (b as u32 as u64);
    all = all.wrapping_mul(31) ^ (a as i64 as u64);
    all.wrapping_mul(31) ^ (b as u64)
} of SINGLES);
pairs!(double_to_integer(a, b: f64) -> u64 {
    let mut all = a as i8 as u64;
    all = all.wrapping_mul(31) ^ (b as u8 as u64);
    all = all.wrapping_mul(31) ^ (a as i16 as u64);
    all = all.wrapping_mul(31) ^ (b as u16 as u64);
    all = all.wrapping_mul(31) ^ (a as i32 as u64);
    all = all.wrapping_mul(31) ^ (b as u32 as u64);
    all = all.wrapping_mul(31) ^ (a as i64 as u64);
    all.wrapping_mul(31) ^ (b as u64)
} of DOUBLES);
pairs!(integer_to_float(a, b: i64) -> u64 {
    let single = (a as f32).to_bits() ^ (b as u64 as f32).to_bits() << 1 ^ (a as i32 as f32).to_bits() << 2;
    let narrow = (a as i8 as f32).to_bits() ^ (b as u16 as f32).to_bits();
    let double = (a as f64).to_bits() ^ (b as u64 as f64).to_bits() << 1 ^ (b as u32 as f64).to_bits() << 2;
    double.wrapping_mul(31) ^ (single as u64) ^ (narrow as u64) << 32
} of LONG);
pairs!(between_floats(a, b: f64) -> f64 { (a as f32) as f64 * 0.5 + (b as f32) as f64 } of DOUBLES);

pub(super) const CASES: &[Case] = &[
    single_sums::CASE,
    single_products::CASE,
    single_quotients::CASE,
    single_remainders::CASE,
    double_remainders::CASE,
    double_sums::CASE,
    double_products::CASE,
    double_quotients::CASE,
    single_functions::CASE,
    double_functions::CASE,
    single_fused::CASE,
    double_fused::CASE,
    single_roots::CASE,
    float_order::CASE,
    float_bits::CASE,
    single_to_integer::CASE,
    double_to_integer::CASE,
    integer_to_float::CASE,
    between_floats::CASE,
];
