"""The inputs of the instruction truth test: fixed interesting values and seeded random ones.

`crates/ptx/tests/truth/values.rs` draws the same values; both follow this text:
a value depends on the form's name, the number of the source and the index of the thread only.
"""

import struct

MASK = (1 << 64) - 1


def splitmix(state):
    """One step of SplitMix64 from a state."""
    z = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def seed_of(name):
    """FNV-1a of a form's name."""
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = ((state ^ byte) * 0x100000001B3) & MASK
    return state


# Bits of the fraction and of the exponent.
FORMATS = {"f16": (10, 5), "bf16": (7, 8), "tf32": (23, 8), "f32": (23, 8), "f64": (52, 11)}


def special_floats(fraction, exponent):
    width = 1 + fraction + exponent
    sign = 1 << (width - 1)
    infinity = ((1 << exponent) - 1) << fraction
    bias = (1 << (exponent - 1)) - 1
    one = bias << fraction
    near = lambda power, bits=0: ((bias + power) << fraction) + bits
    half = 1 << (fraction - 1)
    quarter = 1 << (fraction - 2)
    positive = [
        0, infinity, infinity | half, infinity | half | 5, infinity | 3, sign - 1, 1, 2, (1 << fraction) - 1,
        1 << fraction, (1 << fraction) + 1, infinity - 1, one, one + 1, one - 1, near(-1), near(-1, 1), near(-2),
        near(0, half), near(1), near(1, quarter), near(1, half), near(2, quarter >> 1), near(-1, half),
        near(7), near(7, -1), near(8), near(8, -1), near(4), near(5, 3), near(fraction), near(fraction, 1),
        near(fraction - 1, 1), near(fraction + 1, 1), near(min(15, bias)), near(min(15, bias), -1),
    ]
    if exponent > 5:
        positive += [near(power, bits) for power in (16, 31, 32, 63, 64) for bits in (0, -1, 1)]
        # The largest numbers of the narrower formats, and what is just beyond them.
        for number in (65504.0, 65519.0, 65520.0, 448.0, 464.0, 465.0, 57344.0, 61440.0, 61441.0, 2.0**-24,
                       2.0**-25, 2.0**-14, 2.0**-9, 2.0**-10, 2.0**-16, 2.0**-17, 6.1e-5, 3.1415927, 0.1):
            bits = struct.unpack("<Q", struct.pack("<d", number))[0]
            if fraction < 52:
                bits = struct.unpack("<I", struct.pack("<f", number))[0] >> (23 - fraction)
            positive.append(bits)
    return [value for magnitude in positive for value in (magnitude, magnitude | sign)]


def special_integers(width):
    top = 1 << (width - 1)
    values = [0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 63, 64, 100, 127, 128, 255, 256, 0x5555, 0xAAAA, 0x7FFF, 0x8000,
              top - 1, top, top + 1, top | top >> 1, (1 << width) - 1, (1 << width) - 2, (1 << width) - 8]
    values += [0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678, 0x100000000]
    return [value & ((1 << width) - 1) for value in values]


SPECIALS = {name: special_floats(*shape) for name, shape in FORMATS.items()}
SPECIALS |= {f"i{width}": special_integers(width) for width in (8, 16, 32, 64)}


def floating(kind, x, index, first):
    fraction, exponent = FORMATS[kind]
    specials = SPECIALS[kind]
    bias = (1 << (exponent - 1)) - 1
    random = splitmix(x)
    fraction_mask = (1 << fraction) - 1
    sign = (x >> 2 & 1) << (fraction + exponent)
    if first and index < len(specials):
        return specials[index]
    match x & 3:
        case 0:
            return specials[(x >> 8) % len(specials)]
        case 1:
            return random & ((1 << (1 + fraction + exponent)) - 1)
        case 2:
            power = bias + (x >> 3) % 17 - 8
            return sign | power << fraction | random & fraction_mask
        case _:
            power = bias + (x >> 3) % 3 - 1
            return sign | power << fraction | (random & 7) << (fraction - 3)


def moderate(kind, x, wide):
    """For matrices: some with few bits, some with all, a few zero; near one, or of very different sizes."""
    fraction, exponent = FORMATS[kind]
    bias = (1 << (exponent - 1)) - 1
    random = splitmix(x)
    if x & 31 == 7:
        return 0
    sign = (x >> 8 & 1) << (fraction + exponent)
    power = bias + (x >> 9) % 9 - 4
    if wide:
        power = (x >> 9) % 31 if exponent == 5 else bias + (x >> 9) % 61 - 30
    bits = random & ((1 << fraction) - 1)
    if kind == "tf32":
        bits &= ~0x1FFF
    if x & 3 == 0:
        bits = bits >> (fraction - 3) << (fraction - 3)
    return sign | power << fraction | bits


def integer(width, x, index, first):
    specials = SPECIALS[f"i{width}"]
    mask = (1 << width) - 1
    random = splitmix(x)
    if first and index < len(specials):
        return specials[index]
    match x & 3:
        case 0:
            return specials[(x >> 8) % len(specials)]
        case 1:
            return random & mask
        case 2:
            return ((x >> 8) % 33 - 16) & mask
        case _:
            signed = random - (1 << 64) if random >> 63 else random
            return (signed >> (64 - width + (x >> 2) % width)) & mask


def draw(kind, seed, source, index, first=None):
    """The value of a source for a thread."""
    first = source == 0 if first is None else first
    x = splitmix(seed ^ splitmix(source << 32 | index))
    random = splitmix(x)
    if kind in FORMATS:
        return floating(kind, x, index, first)
    if kind.startswith("i") and kind[1:].isdigit():
        return integer(int(kind[1:]), x, index, first)
    if kind[1] == ":":
        wide, kind = kind[0] == "w", kind[2:]
        if kind.endswith("x2"):
            low, high = moderate(kind[:-2], x, wide), moderate(kind[:-2], splitmix(x + 1), wide)
            return low | high << 16
        return moderate(kind, x, wide)
    match kind:
        case "pred":
            return x >> 7 & 1
        case "shift":
            return random & 0xFFFFFFFF if x & 7 == 0 else (x >> 3) % 70
        case "lane":
            return (x >> 3) % 36
        case "clamp":
            return [0x1F, 0, 0x181F, 0x1C03, 0x1007, 0x0F, 0x100F, 0x1E01][(x >> 3) % 8]
        case "nan":
            # Signs, payloads and quiet bits of all kinds; some ordinary numbers and infinities.
            lead = [0x7FF8, 0xFFF8, 0x7FF0, 0xFFF0, 0x3FF0, 0xBFF8, 0x7FF4, 0x4000][(x >> 3) % 8]
            return lead << 48 | (random & 0xFF if x & 3 else 0)
        case "few":
            return (x >> 3) % 4
        case "bits":
            return random
    if kind.endswith("x2"):
        inner = kind[:-2]
        width = 32 if inner == "f32" else 16
        low = draw(inner, splitmix(seed), source, index, first)
        high = draw(inner, splitmix(seed ^ 0x5DEECE66D), source, index, False)
        return low | high << width
    raise ValueError(kind)
