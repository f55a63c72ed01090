//! Control: choices, loops with labels, early ends, helpers.

use super::{Case, pairs};

const SIGNED: [i32; 11] = [0, 1, -1, 2, 7, -7, 10, 127, 4000, i32::MAX, i32::MIN];
const UNSIGNED: [u32; 10] = [0, 1, 2, 3, 9, 31, 32, 255, 0x8000_0000, u32::MAX];

pairs!(choices(a, b: i32) -> i32 {
    match a {
        i32::MIN..=-2 => 1,
        -1 | 1 => 2,
        0 => match b { 0 => 30, n if n < 0 => 31, _ => 32 },
        2..=7 if b > 0 => 4,
        8..=20 => { let half = a / 2; half * 3 }
        n => n ^ 5,
    }
} of SIGNED);
pairs!(truth_choices(a, b: u32) -> u32 {
    let first = match a > b { true => 10, false => 20 };
    let second = match b as u8 { 0 => 1u32, 1..=31 => 2, 255 => 3, _ => 4 };
    first + second
} of UNSIGNED);
pairs!(loops(a, b: u32) -> u32 {
    let mut sum = 0u32;
    'outer: for i in 0..a % 9 {
        for j in (0..b % 7).rev() {
            if j == i { continue 'outer; }
            if i * j > 20 { break 'outer; }
            sum = sum.wrapping_mul(31).wrapping_add(i * 7 + j);
        }
    }
    sum
} of UNSIGNED);
pairs!(ranges(a, b: u32) -> u32 {
    let mut sum = 0u32;
    for i in (a % 10..50).step_by(7) { sum = sum.wrapping_mul(2) + i; }
    for k in a % 4..=6 { sum ^= k << (b % 5); }
    for n in -3..(b % 4) as i32 { sum = sum.wrapping_add((n * n) as u32); }
    sum
} of UNSIGNED);
pairs!(whiles(a, b: u32) -> u32 {
    let mut left = b % 13;
    let found = loop {
        if left * left > 30 { break left; }
        left += 1;
    };
    let mut sum = a % 100;
    while left > 0 && sum % 3 != 1 { left -= 1; sum += left; }
    let mut value = a % 1000 + 1;
    let mut steps = 0;
    'collatz: while value != 1 {
        value = if value % 2 == 0 { value / 2 } else { value * 3 + 1 };
        steps += 1;
        if steps > 200 { break 'collatz; }
    }
    sum * 10000 + found * 1000 + steps
} of UNSIGNED);
pairs!(early(a, b: i32) -> i32 {
    if a > b { return a; }
    let c = { let d = b.wrapping_sub(a); d / 2 };
    let e = if c > 10 || a == b && b != 1 { c } else { return -7; };
    if e == 3 { 1 } else if e == 4 { 2 } else if e < 100 { 3 } else { e ^ a }
} of SIGNED);
pairs!(lazily(a, b: u32) -> u32 {
    let list = [4u32, 5, 6];
    let seen = (a as usize) < list.len() && list[a as usize] > 4;
    let other = !(b > 2 || list[b as usize] == 5);
    (seen as u32) << 1 | (other as u32)
} of UNSIGNED);
pairs!(assignments(a, b: u32) -> u32 {
    let mut x = a;
    x = x.wrapping_add(b);
    x ^= b << 3;
    x |= 1;
    x &= 0xffff_fff7;
    x >>= 1;
    x <<= b % 3;
    x /= 3;
    x %= 1000;
    x += 5;
    x -= 2;
    x *= 7;
    let y = x + { x = x + 1; x };
    y ^ x
} of UNSIGNED);

pub(super) const CASES: &[Case] = &[
    choices::CASE,
    truth_choices::CASE,
    loops::CASE,
    ranges::CASE,
    whiles::CASE,
    early::CASE,
    lazily::CASE,
    assignments::CASE,
];
