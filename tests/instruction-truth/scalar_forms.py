"""Forms of arithmetic, logic, comparison and selection.

A form is a name, the register types of its results, its sources as «register type:kind of value», and PTX text
that reads `%s0…` and writes `%d0…`.
"""

INTEGERS = ["u16", "s16", "u32", "s32", "u64", "s64"]
ROUNDINGS = ["rn", "rz", "rm", "rp"]


def width(ty):
    return 32 if ty.endswith("x2") and ty != "f32x2" else 64 if ty == "f32x2" else int(ty.lstrip("usfb"))


def bits(ty):
    return "pred" if ty == "pred" else f"b{width(ty)}"


def source(ty):
    if ty == "pred":
        return "pred:pred"
    if ty.endswith("x2"):
        return f"{bits(ty)}:{'i16x2' if ty[0] in 'us' else ty}"
    kind = ty if ty.startswith(("f", "bf")) else f"i{width(ty)}"
    return f"{bits(ty)}:{kind}"


def simple(opcode, result, *sources):
    """One instruction with one result and register sources."""
    operands = ", ".join(f"%s{number}" for number in range(len(sources)))
    return opcode, [result], list(sources), f"{opcode} %d0, {operands};"


def integers():
    for ty in INTEGERS:
        b, s = bits(ty), source(ty)
        double = {16: "b32", 32: "b64"}.get(width(ty))
        for op in ("add", "sub", "div", "rem", "min", "max"):
            yield simple(f"{op}.{ty}", b, s, s)
        for part in ("lo", "hi"):
            yield simple(f"mul.{part}.{ty}", b, s, s)
            yield simple(f"mad.{part}.{ty}", b, s, s, s)
        if double:
            yield simple(f"mul.wide.{ty}", double, s, s)
            yield simple(f"mad.wide.{ty}", double, s, s, f"{double}:i{double[1:]}")
        yield simple(f"sad.{ty}", b, s, s, s)
        if ty[0] == "s":
            yield simple(f"abs.{ty}", b, s)
            yield simple(f"neg.{ty}", b, s)
    i32 = "b32:i32"
    for name in ("add.sat.s32", "sub.sat.s32", "min.relu.s32", "max.relu.s32"):
        yield simple(name, "b32", i32, i32)
    yield simple("mad.hi.sat.s32", "b32", i32, i32, i32)
    for ty in ("u16x2", "s16x2"):
        s = source(ty)
        for op in ("add", "min", "max"):
            yield simple(f"{op}.{ty}", "b32", s, s)
    for op in ("min", "max"):
        yield simple(f"{op}.relu.s16x2", "b32", "b32:i16x2", "b32:i16x2")
    for ty in ("u32", "s32"):
        for part in ("lo", "hi"):
            yield simple(f"mul24.{part}.{ty}", "b32", i32, i32)
            yield simple(f"mad24.{part}.{ty}", "b32", i32, i32, i32)
        for other in ("u32", "s32"):
            yield simple(f"dp4a.{ty}.{other}", "b32", i32, i32, i32)
            for part in ("lo", "hi"):
                yield simple(f"dp2a.{part}.{ty}.{other}", "b32", i32, i32, i32)
    yield simple("mad24.hi.sat.s32", "b32", i32, i32, i32)
    for w in ("32", "64"):
        s, b = f"b{w}:i{w}", f"b{w}"
        for op in ("add", "sub"):
            for signed in "us":
                ty = f"{signed}{w}"
                text = f"{op}.cc.{ty} %d0, %s0, %s1; {op}c.cc.{ty} %d1, %s2, %s3; {op}c.{ty} %d2, %s4, %s5;"
                yield f"{op}.cc.{ty}", [b, b, b], [s] * 6, text
        for low, high in (("lo", "hi"), ("hi", "lo"), ("lo", "lo"), ("hi", "hi")):
            for signed in "us":
                ty = f"{signed}{w}"
                text = (f"mad.{low}.cc.{ty} %d0, %s0, %s1, %s2; madc.{high}.cc.{ty} %d1, %s3, %s4, %s5;"
                        f" addc.{ty} %d2, %s0, %s3;")
                yield f"mad.{low}.cc.{high}.{ty}", [b, b, b], [s] * 6, text


def logic():
    for ty in ("pred", "b16", "b32", "b64"):
        b, s = bits(ty), source(ty)
        for op in ("and", "or", "xor"):
            yield simple(f"{op}.{ty}", b, s, s)
        yield simple(f"not.{ty}", b, s)
        if ty == "pred":
            continue
        yield simple(f"cnot.{ty}", b, s)
        yield simple(f"shl.{ty}", b, s, "b32:shift")
        for sign in "bus":
            yield simple(f"shr.{sign}{ty[1:]}", b, s, "b32:shift")
    for w in ("32", "64"):
        s, b = f"b{w}:i{w}", f"b{w}"
        for op in ("popc", "clz"):
            yield simple(f"{op}.b{w}", "b32", s)
        yield simple(f"brev.b{w}", b, s)
        yield simple(f"bfi.b{w}", b, s, s, "b32:shift", "b32:shift")
        for sign in "us":
            yield simple(f"bfind.{sign}{w}", "b32", s)
            yield simple(f"bfind.shiftamt.{sign}{w}", "b32", s)
            yield simple(f"bfe.{sign}{w}", b, s, "b32:shift", "b32:shift")
    for table in (0x80, 0xFE, 0x96, 0xE8, 0xCA, 0x1D, 0x6A, 0x01):
        text = f"lop3.b32 %d0, %s0, %s1, %s2, {table:#x};"
        yield f"lop3.b32.{table:#x}", ["b32"], ["b32:i32"] * 3, text
    for op in ("and", "or"):
        text = f"lop3.{op}.b32 %d0|%d1, %s0, %s1, %s2, 0x80, %s3;"
        yield f"lop3.{op}.b32", ["b32", "pred"], ["b32:i32"] * 3 + ["pred:pred"], text
    for side in "lr":
        for mode in ("clamp", "wrap"):
            yield simple(f"shf.{side}.{mode}.b32", "b32", "b32:i32", "b32:i32", "b32:shift")
    yield simple("prmt.b32", "b32", "b32:bits", "b32:bits", "b32:bits")
    for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        yield simple(f"prmt.b32.{mode}", "b32", "b32:bits", "b32:bits", "b32:bits")
    for mode in ("clamp", "wrap"):
        yield simple(f"bmsk.{mode}.b32", "b32", "b32:shift", "b32:shift")
        for sign in "us":
            yield simple(f"szext.{mode}.{sign}32", "b32", "b32:i32", "b32:shift")
    yield simple("fns.b32", "b32", "b32:bits", "b32:lane", "b32:lane")
    text = "neg.s32 %s2, %s2; fns.b32 %d0, %s0, %s1, %s2;"
    yield "fns.b32.down", ["b32"], ["b32:bits", "b32:lane", "b32:lane"], text


def floats():
    f = "b32:f32"
    for ftz in ("", ".ftz"):
        for rounding in ROUNDINGS:
            for sat in ("", ".sat"):
                for op in ("add", "sub", "mul"):
                    yield simple(f"{op}.{rounding}{ftz}{sat}.f32", "b32", f, f)
                yield simple(f"fma.{rounding}{ftz}{sat}.f32", "b32", f, f, f)
            yield simple(f"div.{rounding}{ftz}.f32", "b32", f, f)
            for op in ("rcp", "sqrt"):
                yield simple(f"{op}.{rounding}{ftz}.f32", "b32", f)
        for op in ("div.approx", "div.full"):
            yield simple(f"{op}{ftz}.f32", "b32", f, f)
        for op in ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"):
            yield simple(f"{op}.approx{ftz}.f32", "b32", f)
        for op in ("abs", "neg"):
            yield simple(f"{op}{ftz}.f32", "b32", f)
        for op in ("min", "max"):
            for nan in ("", ".NaN"):
                for sign in ("", ".xorsign.abs"):
                    yield simple(f"{op}{ftz}{nan}{sign}.f32", "b32", f, f)
    yield simple("tanh.approx.f32", "b32", f)
    d = "b64:f64"
    for rounding in ROUNDINGS:
        for op in ("add", "sub", "mul", "div"):
            yield simple(f"{op}.{rounding}.f64", "b64", d, d)
        yield simple(f"fma.{rounding}.f64", "b64", d, d, d)
        for op in ("rcp", "sqrt"):
            yield simple(f"{op}.{rounding}.f64", "b64", d)
    for op in ("min", "max"):
        yield simple(f"{op}.f64", "b64", d, d)
    for op in ("abs", "neg", "rsqrt.approx", "rcp.approx.ftz", "rsqrt.approx.ftz"):
        yield simple(f"{op}.f64", "b64", d)
    for ty in ("f32", "f64"):
        for test in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield simple(f"testp.{test}.{ty}", "pred", source(ty))
        yield simple(f"copysign.{ty}", bits(ty), source(ty), source(ty))


def nans():
    """Double precision with many NaNs: which operand's payload is kept."""
    d = "b64:nan"
    for op in ("add", "sub", "mul", "div"):
        name, *rest = simple(f"{op}.rn.f64", "b64", d, d)
        yield f"{name}.nans", *rest
    for op in ("min", "max"):
        name, *rest = simple(f"{op}.f64", "b64", d, d)
        yield f"{name}.nans", *rest
    name, *rest = simple("fma.rn.f64", "b64", d, d, d)
    yield f"{name}.nans", *rest
    for name in ("add.f32", "sub.f32", "mul.f32", "mad.rn.f32"):
        sources = ["b32:f32"] * (3 if name[0] in "mf" and name[1] in "am" else 2)
        name, *rest = simple(name, "b32", *sources)
        yield f"{name}.plain", *rest


def halves():
    for ty in ("f16", "f16x2", "bf16", "bf16x2"):
        b, s = bits(ty.replace("bf16", "f16")), source_half(ty)
        flush = ("", ".ftz") if ty[0] == "f" else ("",)
        for ftz in flush:
            for sat in ("", ".sat") if ty[0] == "f" else ("",):
                for op in ("add", "sub", "mul"):
                    yield simple(f"{op}.rn{ftz}{sat}.{ty}", b, s, s)
                yield simple(f"fma.rn{ftz}{sat}.{ty}", b, s, s, s)
            yield simple(f"fma.rn{ftz}.relu.{ty}", b, s, s, s)
            for op in ("abs", "neg"):
                yield simple(f"{op}{ftz}.{ty}", b, s)
            for op in ("min", "max"):
                for nan in ("", ".NaN"):
                    for sign in ("", ".xorsign.abs"):
                        yield simple(f"{op}{ftz}{nan}{sign}.{ty}", b, s, s)
        yield simple(f"tanh.approx.{ty}", b, s)
        yield simple(f"ex2.approx{'' if ty[0] == 'f' else '.ftz'}.{ty}", b, s)


def source_half(ty):
    return f"{'b32' if ty.endswith('x2') else 'b16'}:{ty}"


def comparisons():
    signed, plain = ("eq", "ne", "lt", "le", "gt", "ge"), ("eq", "ne")
    unsigned = ("eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs")
    float_tests = signed + ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
    types = [(f"u{w}", unsigned) for w in (16, 32, 64)] + [(f"s{w}", signed) for w in (16, 32, 64)]
    types += [(f"b{w}", plain) for w in (16, 32, 64)]
    for ty, tests in types:
        for test in tests:
            text = f"setp.{test}.{ty} %d0|%d1, %s0, %s1;"
            yield f"setp.{test}.{ty}", ["pred", "pred"], [source(ty)] * 2, text
    for ty, ftzs in (("f32", ("", ".ftz")), ("f64", ("",))):
        for ftz in ftzs:
            for test in float_tests:
                text = f"setp.{test}{ftz}.{ty} %d0|%d1, %s0, %s1;"
                yield f"setp.{test}{ftz}.{ty}", ["pred", "pred"], [source(ty)] * 2, text
    for ty, ftzs in (("f16", ("", ".ftz")), ("f16x2", ("", ".ftz")), ("bf16", ("",)), ("bf16x2", ("",))):
        for ftz in ftzs:
            for test in float_tests:
                if ty.endswith("x2"):
                    text = f"setp.{test}{ftz}.{ty} %d0|%d1, %s0, %s1;"
                    yield f"setp.{test}{ftz}.{ty}", ["pred", "pred"], [source_half(ty)] * 2, text
                else:
                    text = f"setp.{test}{ftz}.{ty} %d0, %s0, %s1;"
                    yield f"setp.{test}{ftz}.{ty}", ["pred"], [source_half(ty)] * 2, text
    for combine in ("and", "or", "xor"):
        for negated in ("", "!"):
            text = f"setp.lt.{combine}.s32 %d0|%d1, %s0, %s1, {negated}%s2;"
            name = f"setp.lt.{combine}.s32{'.not' if negated else ''}"
            yield name, ["pred", "pred"], ["b32:i32", "b32:i32", "pred:pred"], text
            text = f"setp.gtu.{combine}.f32 %d0|%d1, %s0, %s1, {negated}%s2;"
            name = f"setp.gtu.{combine}.f32{'.not' if negated else ''}"
            yield name, ["pred", "pred"], ["b32:f32", "b32:f32", "pred:pred"], text


def selections():
    for to in ("u32", "s32", "f32"):
        for ty in ("u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"):
            yield simple(f"set.lt.{to}.{ty}", "b32", source(ty), source(ty))
        yield simple(f"set.geu.ftz.{to}.f32", "b32", "b32:f32", "b32:f32")
        for combine in ("and", "or", "xor"):
            yield simple(f"set.ne.{combine}.{to}.s32", "b32", "b32:i32", "b32:i32", "pred:pred")
    for to, register in (("f16", "b16"), ("u16", "b16"), ("s16", "b16"), ("u32", "b32"), ("s32", "b32")):
        for ftz in ("", ".ftz"):
            yield simple(f"set.le{ftz}.{to}.f16", register, "b16:f16", "b16:f16")
    for to, register in (("bf16", "b16"), ("u16", "b16"), ("s32", "b32")):
        yield simple(f"set.le.{to}.bf16", register, "b16:bf16", "b16:bf16")
    for test in ("lt", "neu"):
        for ftz in ("", ".ftz"):
            yield simple(f"set.{test}{ftz}.f16x2.f16x2", "b32", "b32:f16x2", "b32:f16x2")
        yield simple(f"set.{test}.bf16x2.bf16x2", "b32", "b32:bf16x2", "b32:bf16x2")
    for ty in ("b16", "b32", "b64", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"):
        yield simple(f"selp.{ty}", bits(ty), source(ty), source(ty), "pred:pred")
        yield simple(f"slct.{ty}.s32", bits(ty), source(ty), source(ty), "b32:i32")
        for ftz in ("", ".ftz"):
            yield simple(f"slct{ftz}.{ty}.f32", bits(ty), source(ty), source(ty), "b32:f32")


def moves():
    for whole, part, count in (("32", "16", 2), ("64", "32", 2), ("64", "16", 4)):
        names = lambda letter: "{" + ", ".join(f"%{letter}{number}" for number in range(count)) + "}"
        yield f"mov.b{whole}.pack{count}", [f"b{whole}"], [f"b{part}:bits"] * count, f"mov.b{whole} %d0, {names('s')};"
        yield f"mov.b{whole}.unpack{count}", [f"b{part}"] * count, [f"b{whole}:bits"], f"mov.b{whole} {names('d')}, %s0;"
    yield "mov.b128", ["b64", "b64"], ["b64:bits", "b64:bits"], (
        "{ .reg .b128 %w; mov.b128 %w, {%s0, %s1}; mov.b128 {%d1, %d0}, %w; }")


def video():
    """Scalar video instructions with their byte and half-word selectors, and packed ones."""
    for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
        for types in ("s32.s32.s32", "u32.u32.u32") + (("s32.u32.s32",) if op == "vadd" else ()):
            for sat in ("", ".sat"):
                if op in ("vadd", "vabsdiff"):
                    yield (f"{op}.{types}{sat}.parts", ["b32"], ["b32:bits", "b32:bits"],
                           f"{op}.{types}{sat} %d0, %s0.b1, %s1.h1;")
                yield f"{op}.{types}{sat}", ["b32"], ["b32:i32", "b32:i32"], f"{op}.{types}{sat} %d0, %s0, %s1;"
        for second in ("add", "min", "max"):
            yield (f"{op}.s32.s32.s32.{second}", ["b32"], ["b32:i32", "b32:i32", "b32:i32"],
                   f"{op}.s32.s32.s32.{second} %d0, %s0, %s1, %s2;")
    for op in ("vshl", "vshr"):
        for mode in ("clamp", "wrap"):
            for types in ("u32.u32.u32", "s32.s32.u32"):
                yield (f"{op}.{types}.{mode}", ["b32"], ["b32:i32", "b32:shift"],
                       f"{op}.{types}.{mode} %d0, %s0, %s1;")
    for lanes in ("2", "4"):
        for op in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"):
            for types in ("u32.u32.u32", "s32.s32.s32"):
                for sat in ("", ".sat") if op != "vavrg" else ("",):
                    name = f"{op}{lanes}.{types}{sat}"
                    yield name, ["b32"], ["b32:bits"] * 3, f"{name} %d0, %s0, %s1, %s2;"
        for test in ("lt", "eq"):
            name = f"vset{lanes}.s32.s32.{test}"
            yield name, ["b32"], ["b32:bits"] * 3, f"{name} %d0, %s0, %s1, %s2;"
    for test in ("lt", "ne"):
        yield (f"vset.s32.s32.{test}", ["b32"], ["b32:i32", "b32:i32"], f"vset.s32.s32.{test} %d0, %s0, %s1;")
    yield "vmad.s32.s32.s32", ["b32"], ["b32:i32"] * 3, "vmad.s32.s32.s32 %d0, %s0, %s1, %s2;"


def all_forms():
    for group in (integers, logic, floats, nans, halves, comparisons, selections, moves, video):
        yield from group()
