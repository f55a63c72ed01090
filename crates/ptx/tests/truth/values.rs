//! The inputs of the recorded forms: the same values that `tests/instruction-truth/values.py` draws.

use std::collections::HashMap;

pub(crate) fn splitmix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

pub(crate) fn seed_of(name: &str) -> u64 {
    name.bytes()
        .fold(0xCBF2_9CE4_8422_2325, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}

/// Lists of interesting values by kind, from the head of the list of forms.
pub(crate) type Specials = HashMap<String, Vec<u64>>;

/// Bits of the fraction and of the exponent.
fn format(kind: &str) -> Option<(u32, u32)> {
    Some(match kind {
        "f16" => (10, 5),
        "bf16" => (7, 8),
        "tf32" | "f32" => (23, 8),
        "f64" => (52, 11),
        _ => return None,
    })
}

fn floating(specials: &Specials, kind: &str, x: u64, index: u64, first: bool) -> u64 {
    let (fraction, exponent) = format(kind).unwrap();
    let specials = &specials[kind];
    let bias = (1u64 << (exponent - 1)) - 1;
    let random = splitmix(x);
    let sign = (x >> 2 & 1) << (fraction + exponent);
    if first && (index as usize) < specials.len() {
        return specials[index as usize];
    }
    match x & 3 {
        0 => specials[((x >> 8) % specials.len() as u64) as usize],
        1 => random & (u64::MAX >> (63 - fraction - exponent)),
        2 => sign | (bias + (x >> 3) % 17 - 8) << fraction | random & ((1 << fraction) - 1),
        _ => sign | (bias + (x >> 3) % 3 - 1) << fraction | (random & 7) << (fraction - 3),
    }
}

fn moderate(kind: &str, x: u64, wide: bool) -> u64 {
    let (fraction, exponent) = format(kind).unwrap();
    let bias = (1u64 << (exponent - 1)) - 1;
    if x & 31 == 7 {
        return 0;
    }
    let sign = (x >> 8 & 1) << (fraction + exponent);
    let power = match (wide, exponent) {
        (false, _) => bias + (x >> 9) % 9 - 4,
        (true, 5) => (x >> 9) % 31,
        (true, _) => bias + (x >> 9) % 61 - 30,
    };
    let mut bits = splitmix(x) & ((1 << fraction) - 1);
    if kind == "tf32" {
        bits &= !0x1FFF;
    }
    if x & 3 == 0 {
        bits = bits >> (fraction - 3) << (fraction - 3);
    }
    sign | power << fraction | bits
}

fn integer(specials: &Specials, width: u32, x: u64, index: u64, first: bool) -> u64 {
    let specials = &specials[&format!("i{width}")];
    let mask = u64::MAX >> (64 - width);
    let random = splitmix(x);
    if first && (index as usize) < specials.len() {
        return specials[index as usize];
    }
    match x & 3 {
        0 => specials[((x >> 8) % specials.len() as u64) as usize],
        1 => random & mask,
        2 => ((x >> 8) % 33).wrapping_sub(16) & mask,
        _ => ((random as i64) >> (u64::from(64 - width) + (x >> 2) % u64::from(width))) as u64 & mask,
    }
}

/// The value of a source for a thread.
pub(crate) fn draw(specials: &Specials, kind: &str, seed: u64, source: u64, index: u64) -> u64 {
    draw_one(specials, kind, seed, source, index, source == 0)
}

fn draw_one(specials: &Specials, kind: &str, seed: u64, source: u64, index: u64, first: bool) -> u64 {
    let x = splitmix(seed ^ splitmix(source << 32 | index));
    let random = splitmix(x);
    if format(kind).is_some() {
        return floating(specials, kind, x, index, first);
    }
    if let Some(width) = kind.strip_prefix('i').and_then(|digits| digits.parse().ok()) {
        return integer(specials, width, x, index, first);
    }
    if let Some((size, kind)) = kind.split_once(':') {
        let wide = size == "w";
        return match kind.strip_suffix("x2") {
            Some(half) => moderate(half, x, wide) | moderate(half, splitmix(x.wrapping_add(1)), wide) << 16,
            None => moderate(kind, x, wide),
        };
    }
    match kind {
        "pred" => return x >> 7 & 1,
        "shift" if x & 7 == 0 => return random & 0xFFFF_FFFF,
        "shift" => return (x >> 3) % 70,
        "lane" => return (x >> 3) % 36,
        "clamp" => {
            let all = [0x1F, 0, 0x181F, 0x1C03, 0x1007, 0x0F, 0x100F, 0x1E01];
            return all[((x >> 3) % 8) as usize];
        }
        "nan" => {
            let leads = [0x7FF8, 0xFFF8, 0x7FF0, 0xFFF0, 0x3FF0, 0xBFF8, 0x7FF4, 0x4000];
            let payload = if x & 3 == 0 { 0 } else { random & 0xFF };
            return leads[((x >> 3) % 8) as usize] << 48 | payload;
        }
        "few" => return (x >> 3) % 4,
        "bits" => return random,
        _ => {}
    }
    let inner = kind.strip_suffix("x2").unwrap();
    let width = if inner == "f32" { 32 } else { 16 };
    let low = draw_one(specials, inner, splitmix(seed), source, index, first);
    let high = draw_one(specials, inner, splitmix(seed ^ 0x5_DEEC_E66D), source, index, false);
    low | high << width
}
