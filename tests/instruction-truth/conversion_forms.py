"""Forms of `cvt`: every pair of types with every rounding and modifier that the card has."""

from scalar_forms import ROUNDINGS, simple

WIDTHS = {"8": "b32", "16": "b16", "32": "b32", "64": "b64"}
INTEGERS = [sign + width for width in WIDTHS for sign in "us"]
FLOATS = {"f16": "b16", "bf16": "b16", "f32": "b32", "f64": "b64"}
TO_INTEGER = ["rni", "rzi", "rmi", "rpi"]


def register(ty):
    return FLOATS.get(ty) or WIDTHS[ty[1:]]


def source(ty):
    return f"{register(ty)}:{ty if ty in FLOATS else 'i' + ty[1:]}"


def cvt(modifiers, to, origin):
    return simple(f"cvt{modifiers}.{to}.{origin}", register(to), source(origin))


def plain():
    for origin in INTEGERS:
        for to in INTEGERS:
            if to != origin:
                yield cvt("", to, origin)
                # Saturation exists only where the range shrinks or the sign changes.
                yield cvt(".sat", to, origin)
        for to in FLOATS:
            for rounding in ROUNDINGS:
                yield cvt(f".{rounding}", to, origin)
    for origin in FLOATS:
        for to in INTEGERS:
            for rounding in TO_INTEGER:
                yield cvt(f".{rounding}", to, origin)
            if origin == "f32":
                yield cvt(".rzi.ftz", to, origin)
                yield cvt(".rni.ftz.sat", to, origin)
        for rounding in TO_INTEGER:
            if origin in ("f16", "f32", "f64"):
                yield cvt(f".{rounding}", origin, origin)


def between_floats():
    for sat in ("", ".sat"):
        for ftz in ("", ".ftz"):
            yield cvt(f"{ftz}{sat}", "f32", "f16")
            yield cvt(f"{ftz}{sat}", "f64", "f32")
            yield cvt(f".rni{ftz}{sat}", "f32", "f32")
            for rounding in ROUNDINGS:
                yield cvt(f".{rounding}{ftz}{sat}", "f16", "f32")
                yield cvt(f".{rounding}{ftz}{sat}", "f32", "f64")
        yield cvt(sat, "f64", "f16")
        for rounding in ROUNDINGS:
            yield cvt(f".{rounding}{sat}", "f16", "f64")
    yield cvt("", "f32", "bf16")
    yield cvt(".rn", "f64", "bf16")
    for rounding in ROUNDINGS:
        yield cvt(f".{rounding}", "bf16", "f64")
        yield cvt(f".{rounding}", "bf16", "f16")
        yield cvt(f".{rounding}", "f16", "bf16")
        yield cvt(f".{rounding}", "f32", "bf16")
    for rounding in ("rn", "rz"):
        for relu in ("", ".relu"):
            for satfinite in ("", ".satfinite"):
                yield cvt(f".{rounding}{relu}{satfinite}", "f16", "f32")
                yield cvt(f".{rounding}{relu}{satfinite}", "bf16", "f32")
                for to in ("f16x2", "bf16x2"):
                    yield simple(f"cvt.{rounding}{relu}{satfinite}.{to}.f32", "b32", "b32:f32", "b32:f32")


def narrow():
    for relu in ("", ".relu"):
        for satfinite in ("", ".satfinite"):
            for rounding in ("rn", "rz"):
                yield simple(f"cvt.{rounding}{relu}{satfinite}.tf32.f32", "b32", "b32:f32")
        for to in ("e4m3x2", "e5m2x2"):
            yield simple(f"cvt.rn.satfinite{relu}.{to}.f32", "b16", "b32:f32", "b32:f32")
            yield simple(f"cvt.rn.satfinite{relu}.{to}.f16x2", "b16", "b32:f16x2")
            yield simple(f"cvt.rn{relu}.f16x2.{to}", "b32", "b16:bits")
    for satfinite in ("", ".satfinite"):
        yield simple(f"cvt.rna{satfinite}.tf32.f32", "b32", "b32:f32")
    for to in ("u16", "s16"):
        yield simple(f"cvt.pack.sat.{to}.s32", "b32", "b32:i32", "b32:i32")
    for to in ("u8", "s8", "u4", "s4", "u2", "s2"):
        yield simple(f"cvt.pack.sat.{to}.s32.b32", "b32", "b32:i32", "b32:i32", "b32:bits")


def all_forms():
    yield from plain()
    yield from between_floats()
    yield from narrow()
