//! Kernels mean what Rust means: the same functions run on the host, compiled by rustc, and on the software GPU.
#![allow(
    clippy::all,
    unreachable_pub,
    reason = "the functions are what kernels look like, not what the host's do"
)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by it")]

use standstill_kernel::{Device, cells};

/// A function of two values: once for the host, once as a helper of a kernel that applies it to all pairs.
macro_rules! same {
    ($name:ident($a:ident, $b:ident: $from:ident) -> $to:ident { $($body:tt)* }) => {
        mod $name {
            pub(super) fn host($a: $from, $b: $from) -> $to { $($body)* }

            #[standstill_kernel::kernels]
            pub(super) mod device {
                use standstill_kernel::Space;

                #[device]
                fn apply($a: $from, $b: $from) -> $to { $($body)* }

                #[kernel]
                pub fn run(space: Space, left: &[$from], right: &[$from], out: &mut [$to]) {
                    if space.in_bounds_x() {
                        out[space.x] = apply(left[space.x], right[space.x]);
                    }
                }
            }
        }
    };
}

/// Compares both for all pairs of these values; floating-point results by their bits.
macro_rules! compare {
    ($name:ident, $values:expr, $bits:expr) => {{
        let values = $values;
        let pairs = || values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b)));
        let (left, right): (Vec<_>, Vec<_>) = pairs().unzip();
        let device = Device::software();
        let (a, b) = (device.buffer(&left).unwrap(), device.buffer(&right).unwrap());
        let mut out = device.zeros(left.len()).unwrap();
        let launched = $name::device::run::launch(&device, cells(left.len() as u32), 64, &a, &b, &mut out);
        launched.unwrap_or_else(|error| panic!("{}: {error}", stringify!($name)));
        for ((a, b), got) in pairs().zip(out.read().unwrap()) {
            let expected = $name::host(a, b);
            let bits = $bits;
            assert_eq!(
                bits(got),
                bits(expected),
                "{}({a:?}, {b:?}): {got:?}, {expected:?}",
                stringify!($name)
            );
        }
    }};
    ($name:ident, $values:expr) => {
        compare!($name, $values, |value| value)
    };
}

const SINGLES: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.1,
    2.5,
    -2.5,
    3.0e9,
    -3.0e9,
    1.0e-40,
    1.0e20,
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    16_777_217.0,
];
const DOUBLES: [f64; 10] =
    [0.0, -0.0, 1.0, -1.5, 0.1, 4.0e9, -9.3e18, 1.9e19, f64::INFINITY, f64::MIN_POSITIVE];
const UNSIGNED: [u32; 9] = [0, 1, 2, 3, 31, 32, 255, 0x8000_0000, u32::MAX];
const SIGNED: [i32; 9] = [0, 1, -1, 2, 7, -7, 127, i32::MAX, i32::MIN];
const LONG: [i64; 8] = [0, 1, -1, 63, -1_000_000_007, 1 << 40, i64::MAX, i64::MIN];
const TINY: [i8; 7] = [0, 1, -1, 5, -100, i8::MAX, i8::MIN];
const SHORT: [u16; 6] = [0, 1, 7, 255, 0x8000, u16::MAX];

same!(sums(a, b: u32) -> u32 { a.wrapping_add(b).wrapping_mul(a ^ b).wrapping_sub(a & b | 5) });
same!(quotients(a, b: i32) -> i32 {
    if b == 0 || b == -1 { 0 } else { (a / b) ^ (a % b).wrapping_mul(3) }
});
same!(unsigned_quotients(a, b: u32) -> u32 { if b == 0 { a } else { (a / b) ^ (a % b) } });
same!(shifts(a, b: u32) -> u32 { (a << (b & 31)) | (a >> (b & 31)) });
same!(signed_shifts(a, b: i32) -> i32 { (a >> (b & 31)) ^ (a << (b & 7)) });
same!(wrapping_shifts(a, b: u32) -> u32 { a.wrapping_shl(b) ^ a.wrapping_shr(b) });
same!(long_products(a, b: i64) -> i64 { a.wrapping_mul(b) ^ (a >> (b & 63)) });
same!(comparisons(a, b: i32) -> u32 {
    (a < b) as u32 | ((a <= b) as u32) << 1 | ((a == b) as u32) << 2 | ((a != b) as u32) << 3
        | ((a > b) as u32) << 4 | ((a >= b) as u32) << 5
});
same!(unsigned_comparisons(a, b: u32) -> bool { a < b });
same!(float_comparisons(a, b: f32) -> u32 {
    let nan = a - a + b;
    (a < b) as u32 | ((nan == b) as u32) << 1 | ((nan != b) as u32) << 2 | (nan.is_nan() as u32) << 3
});
same!(float_sums(a, b: f32) -> f32 { a * b + a - b * 0.5 });
same!(float_quotients(a, b: f32) -> f32 { a / b });
same!(float_functions(a, b: f32) -> f32 {
    a.mul_add(b, 1.0) + a.abs().sqrt() + b.floor() - a.ceil() + b.trunc() + a.min(b) - a.max(b)
});
same!(doubles(a, b: f64) -> f64 { (a + b) * (a - b) / (b.abs() + 1.0) });
same!(to_signed(a, b: f32) -> i32 { (a as i32) ^ (b as i8 as i32) ^ (a as i16 as i32) });
same!(to_unsigned(a, b: f32) -> u64 { (a as u64) ^ (b as u8 as u64) ^ (a as u32 as u64) });
same!(doubles_to_integers(a, b: f64) -> i64 { (a as i64) ^ (b as u64 as i64) ^ (a as i32 as i64) });
same!(to_floats(a, b: i64) -> f32 { a as f32 + b as i32 as f32 + (b as u64) as f32 });
same!(narrowing(a, b: i64) -> i64 {
    (a as u8 as i64) ^ (b as i16 as i64) ^ (a as u32 as i64) ^ (b as i8 as u64 as i64)
});
same!(tiny(a, b: i8) -> i8 { a.wrapping_add(b).wrapping_mul(3) ^ (b >> 2) });
same!(tiny_negatives(a, b: i8) -> i32 { if a == -128 { 0 } else { -a as i32 * b as i32 + !b as i32 } });
same!(short(a, b: u16) -> u16 { a.wrapping_sub(b).wrapping_mul(a | 1) >> 3 });
same!(bits(a, b: u32) -> u32 { a.count_ones() * 10000 + b.leading_zeros() * 100 + (a ^ b).trailing_zeros() });
same!(short_bits(a, b: u16) -> u32 { a.count_ones() * 10000 + b.leading_zeros() * 100 + a.trailing_zeros() });
same!(tiny_bits(a, b: i8) -> u32 { a.count_ones() * 10000 + b.leading_zeros() * 100 + b.trailing_zeros() });
same!(float_bits(a, b: f32) -> f32 { f32::from_bits((a.to_bits() & 0x8000_0000) | (b.to_bits() & 0x7fff_ffff)) });
same!(matches(a, b: i32) -> i32 {
    match a {
        i32::MIN..=-2 => 1,
        -1 | 1 => 2,
        0 => match b { 0 => 30, n if n < 0 => 31, _ => 32 },
        2..=7 if b > 0 => 4,
        n => n ^ 5,
    }
});
same!(loops(a, b: u32) -> u32 {
    let mut sum = 0u32;
    'outer: for i in 0..a % 9 {
        for j in (0..b % 7).rev() {
            if j == i { continue 'outer; }
            if i * j > 20 { break 'outer; }
            sum = sum.wrapping_mul(31).wrapping_add(i * 7 + j);
        }
    }
    sum
});
same!(steps(a, b: u32) -> u32 {
    let mut sum = 0;
    for i in (a % 10..50).step_by(7) { sum = sum * 2 + i; }
    let mut left = b % 13;
    let found = loop {
        if left * left > 30 { break left; }
        left += 1;
    };
    while left > 0 && sum % 3 != 1 { left -= 1; sum += left; }
    for k in a % 4..=6 { sum ^= k; }
    sum + found
});
same!(early(a, b: i32) -> i32 {
    if a > b { return a; }
    let c = { let d = b.wrapping_sub(a); d / 2 };
    let e = if c > 10 || a == b && b != 1 { c } else { return -7; };
    e ^ a
});
same!(arrays(a, b: u32) -> u32 {
    let mut table = [[1u32; 3]; 4];
    let weights = [3, 5, 7, 11];
    for row in 0..4usize {
        for column in 0..3usize {
            table[row][column] = weights[(row + column) % 4] + a % 10;
        }
    }
    table[b as usize % 4][a as usize % 3] *= 2;
    let mut long = [0u64; 40];
    long[b as usize % 40] = 9;
    let mut sum = 0u64;
    for i in 0..40usize { sum += long[i] * i as u64; }
    for row in 0..4usize { for column in 0..3usize { sum += table[row][column] as u64; } }
    sum as u32
});
same!(lazily(a, b: u32) -> u32 {
    let list = [4u32, 5, 6];
    let seen = (a as usize) < list.len() && list[a as usize] > 4;
    let other = !(b > 2 || list[b as usize] == 5);
    (seen as u32) << 1 | (other as u32)
});

#[test]
fn integers() {
    compare!(sums, UNSIGNED);
    compare!(quotients, SIGNED);
    compare!(unsigned_quotients, UNSIGNED);
    compare!(shifts, UNSIGNED);
    compare!(signed_shifts, SIGNED);
    compare!(wrapping_shifts, UNSIGNED);
    compare!(long_products, LONG);
    compare!(comparisons, SIGNED);
    compare!(unsigned_comparisons, UNSIGNED);
    compare!(tiny, TINY);
    compare!(tiny_negatives, TINY);
    compare!(short, SHORT);
    compare!(bits, UNSIGNED);
    compare!(short_bits, SHORT);
    compare!(tiny_bits, TINY);
}

#[test]
fn floating_point() {
    compare!(float_comparisons, SINGLES);
    // Which NaN an operation gives is nobody's promise.
    let bits = |value: f32| if value.is_nan() { u32::MAX } else { value.to_bits() };
    compare!(float_sums, SINGLES, bits);
    compare!(float_quotients, SINGLES, bits);
    compare!(float_functions, SINGLES, bits);
    compare!(float_bits, SINGLES, bits);
    let bits = |value: f64| if value.is_nan() { u64::MAX } else { value.to_bits() };
    compare!(doubles, DOUBLES, bits);
}

#[test]
fn conversions() {
    compare!(to_signed, SINGLES);
    compare!(to_unsigned, SINGLES);
    compare!(doubles_to_integers, DOUBLES);
    compare!(to_floats, LONG, f32::to_bits);
    compare!(narrowing, LONG);
}

#[test]
fn control_flow() {
    compare!(matches, SIGNED);
    compare!(loops, UNSIGNED);
    compare!(steps, UNSIGNED);
    compare!(early, SIGNED);
    compare!(lazily, UNSIGNED);
}

#[test]
fn arrays_in_memory() {
    compare!(arrays, UNSIGNED);
}

#[standstill_kernel::kernel]
fn approximate(space: standstill_kernel::Space, input: &[f32], out: &mut [f32]) {
    let x = input[space.x];
    let all = &mut out[space.x * 7..space.x * 7 + 7];
    all[0] = x.exp2();
    all[1] = x.exp();
    all[2] = x.abs().log2();
    all[3] = x.abs().ln();
    all[4] = x.sin();
    all[5] = x.cos();
    all[6] = x.tanh();
}

/// What the language promises of functions that cards compute approximately.
#[test]
fn approximate_functions_keep_their_bounds() {
    let values: Vec<f32> = (0..64).map(|i| (i as f32 - 31.5) * 0.097).collect();
    let device = Device::software();
    let input = device.buffer(&values).unwrap();
    let mut out = device.zeros(values.len() * 7).unwrap();
    approximate::launch(&device, cells(64), 64, &input, &mut out).unwrap();
    for (x, got) in values.iter().zip(out.read().unwrap().chunks(7)) {
        let x = f64::from(*x);
        let relative = 2f64.powi(-21) + x.abs() * 2f64.powi(-23);
        let expected = [
            (x.exp2(), relative * x.exp2()),
            (x.exp(), relative * x.exp()),
            (x.abs().log2(), 2f64.powi(-21).max(x.abs().log2().abs() * 2f64.powi(-21))),
            (x.abs().ln(), 2f64.powi(-21).max(x.abs().ln().abs() * 2f64.powi(-21))),
            (x.sin(), 2f64.powi(-20)),
            (x.cos(), 2f64.powi(-20)),
            (x.tanh(), x.tanh().abs() * 2f64.powi(-10)),
        ];
        for (at, (got, (value, error))) in got.iter().zip(expected).enumerate() {
            assert!((f64::from(*got) - value).abs() <= error, "function {at} of {x}: {got}, {value}");
        }
    }
    assert!(approximate::ptx("sm_90").unwrap().contains("ex2.approx.f32"));
}
